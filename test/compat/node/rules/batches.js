'use strict';

const { describe, it } = require('node:test');
const { equal, ok, refused } = require('../expect');
const { LIMIT, client, sharedTable, withServer } = require('../server');
const { Table } = require('../table');

describe('rules/batches', () => {
  withServer();
  const table = sharedTable();
  const numbers = (count) => Array.from({ length: count }, (_, i) => BigInt(i));

  it('one key several times: changes apply in order', LIMIT, async () => {
    const results = await table.write([
      Table.putItem(table, [1n], [['a', 1n], ['b', 1n]]),
      Table.updateItem(table, [1n], { put: [['a', 2n]] }),
      Table.updateItem(table, [1n], { removeAll: ['b'], put: [['c', 3n]] }),
    ]);
    equal(results.map(({ isOk }) => isOk), [true, true, true]);
    equal(await table.columns([1n]), { a: 2n, c: 3n });
  });

  it('one key put and then deleted is gone', LIMIT, async () => {
    await table.write([Table.putItem(table, [2n], [['a', 1n]]), Table.removeItem(table, [2n])]);
    equal(await table.get([2n]), null);
  });

  it('200 rows are written and 201 refused', LIMIT, async () => {
    const items = (count) => numbers(count).map((n) => Table.putItem(table, [1000n + n], [['n', n]]));
    const results = await table.write(items(200));
    equal(results.filter(({ isOk }) => isOk).length, 200);
    await refused(table.write(items(201)), 400, 'OTSParameterInvalid', 'Rows count exceeds the upper limit: 200.');
  });

  it('100 rows are read and 101 refused', LIMIT, async () => {
    const keys = (count) => numbers(count).map((n) => [1000n + n]);
    const results = await table.batchGet(keys(100));
    ok(results.every(({ isOk, row }, i) => isOk && row.key[0] === 1000n + BigInt(i)), 'all rows in order');
    await refused(table.batchGet(keys(101)), 400, 'OTSParameterInvalid', 'Rows count exceeds the upper limit: 100.');
  });

  it('one key read twice is answered twice', LIMIT, async () => {
    await table.put([3n], [['a', 1n]]);
    const results = await table.batchGet([[3n], [3n]]);
    equal(results.map(({ isOk, row }) => [isOk, row && row.key[0]]), [[true, 3n], [true, 3n]]);
  });

  it('a table without rows', LIMIT, () => refused(
    table.write([]), 400, 'OTSParameterInvalid', 'No operation is specified for table:'));

  it('no tables to read', LIMIT, () => refused(
    client.batchGetRow({ tables: [] }), 400, 'OTSParameterInvalid', 'No row specified in the request of BatchGetRow.'));

  it('an oversize value refuses the whole batch', LIMIT, async () => {
    const items = [Table.putItem(table, [4n], [['a', 1n]]), Table.putItem(table, [5n], [['a', 'x'.repeat(2097153)]])];
    await refused(table.write(items), 400, 'The length of attribute column: ');
    equal(await table.get([4n]), null);
  });

  it('4 MiB of data are accepted and one byte more refused', LIMIT, async () => {
    // 10 bytes of key and 1 byte of column name in each of the two rows
    const half = 4194304 / 2 - 11;
    const items = (size) => [
      Table.putItem(table, [6n], [['c', 'x'.repeat(half)]]), Table.putItem(table, [7n], [['c', 'x'.repeat(size)]]),
    ];
    equal((await table.write(items(half))).map(({ isOk }) => isOk), [true, true]);
    await refused(table.write(items(half + 1)), 400,
      'The total data size of BatchWriteRow request exceeds the limit, limit size: 4194304, data size: 4194305.');
  });

  it('conditions of a batch are checked row by row', LIMIT, async () => {
    await table.put([8n], [['a', 1n]]);
    await table.remove([9n]);
    const results = await table.write([
      Table.putItem(table, [8n], [['a', 2n]], { expect: 'EXPECT_NOT_EXIST' }),
      Table.putItem(table, [9n], [['a', 2n]], { expect: 'EXPECT_NOT_EXIST' }),
      Table.removeItem(table, [10n], { expect: 'EXPECT_EXIST' }),
    ]);
    equal(results.map(({ isOk }) => isOk), [false, true, false]);
    equal([await table.columns([8n]), await table.columns([9n])], [{ a: 1n }, { a: 2n }]);
  });
});
