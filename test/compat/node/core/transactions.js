'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { describe, it } = require('node:test');
const TableStore = require('tablestore');
const { equal, refused } = require('../expect');
const { LIMIT, client, newTable, withServer } = require('../server');
const { MIN, MAX, condition, readRow } = require('../table');

const WIDEROW = process.env.WIDEROW || path.join(__dirname, '../../../..', process.env.BUILD || 'build', 'widerow');
const CONFLICT = [409, 'OTSRowOperationConflict', 'Data is being modified by the other request.'];
const ENDED = [403, 'OTSSessionNotExist', 'Session not exist or may be timeout.'];

// This SDK has the operations, and no way to make a table for them.
class Orders {
  constructor() {
    this.table = newTable({ key: ['STRING', 'INTEGER'] });
    this.name = this.table.name;
    execFileSync(WIDEROW, ['create', this.name, '--key', 'k1:string,k2:integer', '--transactions',
      '--endpoint', process.env.WIDEROW_ENDPOINT, '--instance', process.env.WIDEROW_INSTANCE]);
  }

  async begin(key) {
    const { transactionId } = await client.startLocalTransaction({ tableName: this.name, primaryKey: this.table.key(key) });
    return transactionId;
  }

  request(key, transactionId) {
    return { tableName: this.name, primaryKey: this.table.key(key), condition: condition(), transactionId };
  }

  put(key, n, transactionId) {
    return client.putRow({ ...this.request(key, transactionId), attributeColumns: [{ n: TableStore.Long.fromNumber(n) }] });
  }

  remove(key, transactionId) { return client.deleteRow(this.request(key, transactionId)); }

  async n(key, transactionId) {
    const { row } = await client.getRow({ tableName: this.name, primaryKey: this.table.key(key), maxVersions: 1, transactionId });
    const found = readRow(row);
    return found && Number(found.cells[0][1]);
  }

  async lines(user, transactionId) {
    const { rows } = await client.getRange({
      tableName: this.name, direction: 'FORWARD', inclusiveStartPrimaryKey: this.table.key([user, MIN]),
      exclusiveEndPrimaryKey: this.table.key([user, MAX]), maxVersions: 1, transactionId,
    });
    return rows.map((row) => Number(readRow(row).key[1]));
  }
}

const skip = !!process.env.WIDEROW_NO_TRANSACTIONS || !fs.existsSync(WIDEROW);

describe('core/transactions', { skip }, () => {
  withServer();

  it('a commit shows what only the transaction saw', LIMIT, async () => {
    const orders = new Orders();
    await orders.put(['ann', 1n], 1);
    const transaction = await orders.begin(['ann']);
    await orders.put(['ann', 2n], 2, transaction);
    await orders.put(['ann', 1n], 10, transaction);
    equal([await orders.n(['ann', 1n], transaction), await orders.n(['ann', 2n], transaction)], [10, 2]);
    equal([await orders.n(['ann', 1n]), await orders.n(['ann', 2n])], [1, null]);
    await client.commitTransaction({ transactionId: transaction });
    equal([await orders.n(['ann', 1n]), await orders.n(['ann', 2n])], [10, 2]);
    await refused(client.commitTransaction({ transactionId: transaction }), ...ENDED);
  });

  it('a range inside has its changes', LIMIT, async () => {
    const orders = new Orders();
    await orders.put(['ann', 1n], 1);
    await orders.put(['ann', 3n], 3);
    const transaction = await orders.begin(['ann']);
    await orders.put(['ann', 2n], 2, transaction);
    await orders.remove(['ann', 3n], transaction);
    equal([await orders.lines('ann', transaction), await orders.lines('ann')], [[1, 2], [1, 3]]);
    await client.commitTransaction({ transactionId: transaction });
    equal(await orders.lines('ann'), [1, 2]);
  });

  it('an abort leaves nothing', LIMIT, async () => {
    const orders = new Orders();
    const transaction = await orders.begin(['ann']);
    await orders.put(['ann', 1n], 1, transaction);
    await client.abortTransaction({ transactionId: transaction });
    equal(await orders.lines('ann'), []);
    await orders.put(['ann', 1n], 1);
    await refused(client.abortTransaction({ transactionId: transaction }), ...ENDED);
  });

  it('others do not write its value', LIMIT, async () => {
    const orders = new Orders();
    const transaction = await orders.begin(['ann']);
    await refused(orders.put(['ann', 1n], 1), ...CONFLICT);
    await refused(orders.begin(['ann']), ...CONFLICT);
    await orders.put(['bob', 1n], 1);
    await refused(orders.put(['bob', 1n], 1, transaction), 400, 'OTSDataOutOfRange');
    await client.commitTransaction({ transactionId: transaction });
  });

  it('starts that are refused', LIMIT, async () => {
    const orders = new Orders();
    await refused(orders.begin(['ann', 1n]), 400, 'OTSParameterInvalid', 'StartLocalTransaction support only one primary key.');
    await refused(client.commitTransaction({ transactionId: 'fake_transaction_id' }), 400, 'TransactionID is invalid.');
  });
});
