'use strict';

const { equal } = require('../expect');
const { Table } = require('../table');

module.exports = (suite) => {
  const table = suite.table();
  const other = suite.table({ key: ['STRING'] });

  suite.case('BatchWriteRow puts, updates and deletes', async () => {
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

  suite.case('BatchWriteRow: one failing row does not stop the others', async () => {
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

  suite.case('BatchWriteRow: a key that does not fit fails its row only', async () => {
    const results = await table.write([Table.putItem(table, ['text'], [['a', 1n]]), Table.putItem(table, [14n], [['a', 1n]])]);
    equal(results.map(({ isOk, errorCode }) => [isOk, errorCode]), [[false, 'OTSInvalidPK'], [true, null]]);
  });

  suite.case('BatchWriteRow over two tables', async () => {
    const answer = await suite.client.batchWriteRow({ tables: [
      { tableName: table.name, rows: [Table.putItem(table, [21n], [['a', 1n]])] },
      { tableName: other.name, rows: [Table.putItem(other, ['x'], [['a', 2n]])] },
    ] });
    equal(answer.tables.map(({ isOk, tableName }) => [isOk, tableName]), [[true, table.name], [true, other.name]]);
    equal([await table.columns([21n]), await other.columns(['x'])], [{ a: 1n }, { a: 2n }]);
  });

  suite.case('BatchGetRow answers in the order asked, absent rows included', async () => {
    await table.put([31n], [['a', 'one']]);
    await table.put([32n], [['a', 'two']]);
    const results = await table.batchGet([[32n], [99n], [31n]]);
    equal(results.map(({ isOk, row }) => [isOk, row && row.key]), [[true, [32n]], [true, null], [true, [31n]]]);
  });

  suite.case('BatchGetRow: a key that does not fit fails its row only', async () => {
    await table.put([33n], [['a', 1n]]);
    const results = await table.batchGet([['text'], [33n]]);
    equal(results.map(({ isOk, errorCode }) => [isOk, errorCode]), [[false, 'OTSInvalidPK'], [true, null]]);
  });

  suite.case('BatchGetRow over two tables, each with its own columns', async () => {
    await table.put([41n], [['a', 1n], ['b', 2n]]);
    await other.put(['y'], [['a', 3n], ['b', 4n]]);
    const answer = await suite.client.batchGetRow({ tables: [
      { tableName: table.name, primaryKey: [table.key([41n])], columnsToGet: ['a'] },
      { tableName: other.name, primaryKey: [other.key(['y'])], columnsToGet: ['b'] },
    ] });
    equal(answer.tables.map((rows) => rows[0].attributes.map(({ columnName }) => columnName)), [['a'], ['b']]);
  });
};
