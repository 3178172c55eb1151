'use strict';

const TableStore = require('tablestore');
const { equal, ok, refused } = require('../expect');
const { col } = require('../filter');
const { Table, AUTO, MIN, MAX, readRow } = require('../table');

const RETURN_KEY = { returns: { returnType: TableStore.ReturnType.Primarykey } };

module.exports = (suite) => {
  const table = suite.table({ key: ['STRING', 'AUTO'] });

  async function add(partition, cells) {
    return readRow((await table.put([partition, AUTO], cells, RETURN_KEY)).row).key;
  }

  suite.case('describe shows which column is numbered', async () => {
    const { tableMeta } = await table.describe();
    // the SDK fills in an option where none was sent, so only that of the numbered column says something
    equal(tableMeta.primaryKey.map(({ name, type }) => [name, type]), [['k1', 2], ['k2', 1]]);
    equal(tableMeta.primaryKey[1].option, TableStore.PrimaryKeyOption.AUTO_INCREMENT);
  });

  suite.case('the number is positive and rises', async () => {
    const keys = [];
    for (let i = 0; i < 5; i += 1) keys.push(await add('a', [['i', BigInt(i)]]));
    ok(keys.every(([text, n]) => text === 'a' && n > 0n), 'positive numbers', keys);
    ok(keys.every(([, n], i) => i === 0 || n > keys[i - 1][1]), 'rising numbers', keys);
    const { rows } = await table.scan(['a', MIN], ['a', MAX]);
    equal(rows.map(({ cells }) => cells[0][1]), [0n, 1n, 2n, 3n, 4n], 'rows in the order of writing');
  });

  suite.case('the row is read, updated and deleted by its number', async () => {
    const key = await add('b', [['c', 1n]]);
    await table.update(key, { put: [['c', 2n]] });
    equal(await table.columns(key), { c: 2n });
    await table.remove(key);
    equal(await table.get(key), null);
  });

  suite.case('without the request no key is returned', async () => {
    const answer = await table.put(['c', AUTO], [['c', 1n]]);
    equal(answer.row, {});
  });

  suite.case('numbers in a batch', async () => {
    const results = await table.write([1n, 2n, 3n].map((i) => Table.putItem(table, ['d', AUTO], [['i', i]], RETURN_KEY)));
    const numbers = results.map(({ row }) => row.key[1]);
    ok(numbers[0] < numbers[1] && numbers[1] < numbers[2], 'rising numbers', numbers);
  });

  suite.case('numbers are unique under concurrency', async () => {
    const keys = await Promise.all(Array.from({ length: 30 }, () => add('e', [['c', 1n]])));
    equal(new Set(keys.map(([, n]) => n)).size, 30);
  });

  suite.case('a placeholder allows no expectation and no condition', async () => {
    await refused(table.put(['f', AUTO], [], { expect: 'EXPECT_EXIST' }), 400,
      'OTSParameterInvalid', 'when modify row with pk auto increment');
    await refused(table.put(['f', AUTO], [], { when: col('c', '=', 1n) }), 400,
      "Can't set condition when modify row with pk auto increment");
  });

  suite.case('a placeholder cannot be read or deleted', async () => {
    await refused(table.get(['f', AUTO]), 400, "PKAutoIncr can't be used for read operations.");
    await refused(table.remove(['f', AUTO]), 400, 'OTSParameterInvalid');
  });

  suite.case('the numbered column may not come first', () => refused(
    suite.newTable({ key: ['AUTO', 'STRING'] }).create(), 400, "First primary key can't be auto increment"));

  suite.case('there may be one numbered column', () => refused(
    suite.newTable({ key: ['STRING', 'AUTO', 'AUTO'] }).create(), 400, 'AUTO_INCREMENT primary key count must <= 1.'));

  suite.case('the numbered column must be INTEGER', async () => {
    const odd = suite.newTable({ key: ['STRING', 'STRING'] });
    odd.spec.tableMeta.primaryKey[1].option = 'AUTO_INCREMENT';
    await refused(odd.create(), 400, 'AUTO_INCREMENT primary key must be integer.');
  });
};
