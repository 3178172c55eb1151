'use strict';

const { describe, it } = require('node:test');
const { equal } = require('../expect');
const { LIMIT, client, sharedTable, withServer } = require('../server');
const { Table } = require('../table');

describe('core/batches', () => {
  withServer();
  const table = sharedTable();
  const other = sharedTable({ key: ['STRING'] });

  it('BatchWriteRow puts, updates and deletes', LIMIT, async () => {
    await table.put([2n], [['a', 1n]]);
    await table.put([3n], [['a', 1n]]);
    const results = await table.write([
      Table.putItem(table, [1n], [['a', 'put']]),
      Table.updateItem(table, [2n], { put: [['b', 'updated']] }),
      Table.removeItem(table, [3n]),
    ]);
    equal(results.map(({ isOk }) => isOk), [true, true, true]);
    const rows = await Promise.all([1n, 2n, 3n].map((n) => table.columns([n])));
    equal(rows, [{ a: 'put' }, { a: 1n, b: 'updated' }, null]);
  });

  it('BatchWriteRow: one failing row does not stop the others', LIMIT, async () => {
    await table.remove([12n]);
    const results = await table.write([
      Table.putItem(table, [11n], [['a', 1n]]),
      Table.updateItem(table, [12n], { put: [['a', 1n]] }, { expect: 'EXPECT_EXIST' }),
      Table.putItem(table, [13n], [['a', 1n]]),
    ]);
    equal(results.map(({ isOk, errorCode, errorMessage }) => [isOk, errorCode, errorMessage]), [
      [true, null, null], [false, 'OTSConditionCheckFail', 'Condition check failed.'], [true, null, null],
    ]);
    equal([await table.get([12n]), await table.columns([13n])], [null, { a: 1n }]);
  });

  it('BatchWriteRow: a key that does not fit fails its row only', LIMIT, async () => {
    const results = await table.write([Table.putItem(table, ['text'], [['a', 1n]]), Table.putItem(table, [14n], [['a', 1n]])]);
    equal(results.map(({ isOk, errorCode }) => [isOk, errorCode]), [[false, 'OTSInvalidPK'], [true, null]]);
  });

  it('BatchWriteRow over two tables', LIMIT, async () => {
    const answer = await client.batchWriteRow({ tables: [
      { tableName: table.name, rows: [Table.putItem(table, [21n], [['a', 1n]])] },
      { tableName: other.name, rows: [Table.putItem(other, ['x'], [['a', 2n]])] },
    ] });
    equal(answer.tables.map(({ isOk, tableName }) => [isOk, tableName]), [[true, table.name], [true, other.name]]);
    equal([await table.columns([21n]), await other.columns(['x'])], [{ a: 1n }, { a: 2n }]);
  });

  it('BatchGetRow answers in the order asked, absent rows included', LIMIT, async () => {
    await table.put([31n], [['a', 'one']]);
    await table.put([32n], [['a', 'two']]);
    const results = await table.batchGet([[32n], [99n], [31n]]);
    equal(results.map(({ isOk, row }) => [isOk, row && row.key]), [[true, [32n]], [true, null], [true, [31n]]]);
  });

  it('BatchGetRow: a key that does not fit fails its row only', LIMIT, async () => {
    await table.put([33n], [['a', 1n]]);
    const results = await table.batchGet([['text'], [33n]]);
    equal(results.map(({ isOk, errorCode }) => [isOk, errorCode]), [[false, 'OTSInvalidPK'], [true, null]]);
  });

  it('BatchGetRow over two tables, each with its own columns', LIMIT, async () => {
    await table.put([41n], [['a', 1n], ['b', 2n]]);
    await other.put(['y'], [['a', 3n], ['b', 4n]]);
    const answer = await client.batchGetRow({ tables: [
      { tableName: table.name, primaryKey: [table.key([41n])], columnsToGet: ['a'] },
      { tableName: other.name, primaryKey: [other.key(['y'])], columnsToGet: ['b'] },
    ] });
    equal(answer.tables.map((rows) => rows[0].attributes.map(({ columnName }) => columnName)), [['a'], ['b']]);
  });
});
