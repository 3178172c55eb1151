'use strict';

const { describe, it } = require('node:test');
const TableStore = require('tablestore');
const { equal, ok, refused } = require('../expect');
const { col } = require('../filter');
const { LIMIT, newTable, sharedTable, withServer } = require('../server');
const { Table, AUTO, MIN, MAX, readRow } = require('../table');

const RETURN_KEY = { returns: { returnType: TableStore.ReturnType.Primarykey } };

describe('rules/autokeys', () => {
  withServer();
  const table = sharedTable({ key: ['STRING', 'AUTO'] });

  async function add(partition, cells) {
    return readRow((await table.put([partition, AUTO], cells, RETURN_KEY)).row).key;
  }

  it('describe shows which column is numbered', LIMIT, async () => {
    const { tableMeta } = await table.describe();
    // the SDK fills in an option where none was sent, so only that of the numbered column says something
    equal(tableMeta.primaryKey.map(({ name, type }) => [name, type]), [['k1', 2], ['k2', 1]]);
    equal(tableMeta.primaryKey[1].option, TableStore.PrimaryKeyOption.AUTO_INCREMENT);
  });

  it('the number is positive and rises', LIMIT, async () => {
    const keys = [];
    for (let i = 0; i < 5; i += 1) keys.push(await add('a', [['i', BigInt(i)]]));
    ok(keys.every(([text, n]) => text === 'a' && n > 0n), 'positive numbers', keys);
    ok(keys.every(([, n], i) => i === 0 || n > keys[i - 1][1]), 'rising numbers', keys);
    const { rows } = await table.scan(['a', MIN], ['a', MAX]);
    equal(rows.map(({ cells }) => cells[0][1]), [0n, 1n, 2n, 3n, 4n], 'rows in the order of writing');
  });

  it('the row is read, updated and deleted by its number', LIMIT, async () => {
    const key = await add('b', [['c', 1n]]);
    await table.update(key, { put: [['c', 2n]] });
    equal(await table.columns(key), { c: 2n });
    await table.remove(key);
    equal(await table.get(key), null);
  });

  it('without the request no key is returned', LIMIT, async () => {
    const answer = await table.put(['c', AUTO], [['c', 1n]]);
    equal(answer.row, {});
  });

  it('numbers in a batch', LIMIT, async () => {
    const results = await table.write([1n, 2n, 3n].map((i) => Table.putItem(table, ['d', AUTO], [['i', i]], RETURN_KEY)));
    const numbers = results.map(({ row }) => row.key[1]);
    ok(numbers[0] < numbers[1] && numbers[1] < numbers[2], 'rising numbers', numbers);
  });

  it('numbers are unique under concurrency', LIMIT, async () => {
    const keys = await Promise.all(Array.from({ length: 30 }, () => add('e', [['c', 1n]])));
    equal(new Set(keys.map(([, n]) => n)).size, 30);
  });

  it('a placeholder allows no expectation and no condition', LIMIT, async () => {
    await refused(table.put(['f', AUTO], [], { expect: 'EXPECT_EXIST' }), 400,
      'OTSParameterInvalid', 'when modify row with pk auto increment');
    await refused(table.put(['f', AUTO], [], { when: col('c', '=', 1n) }), 400,
      "Can't set condition when modify row with pk auto increment");
  });

  it('a placeholder cannot be read or deleted', LIMIT, async () => {
    await refused(table.get(['f', AUTO]), 400, "PKAutoIncr can't be used for read operations.");
    await refused(table.remove(['f', AUTO]), 400, 'OTSParameterInvalid');
  });

  it('the numbered column may not come first', LIMIT, () => refused(
    newTable({ key: ['AUTO', 'STRING'] }).create(), 400, "First primary key can't be auto increment"));

  it('there may be one numbered column', LIMIT, () => refused(
    newTable({ key: ['STRING', 'AUTO', 'AUTO'] }).create(), 400, 'AUTO_INCREMENT primary key count must <= 1.'));

  it('the numbered column must be INTEGER', LIMIT, async () => {
    const odd = newTable({ key: ['STRING', 'STRING'] });
    odd.spec.tableMeta.primaryKey[1].option = 'AUTO_INCREMENT';
    await refused(odd.create(), 400, 'AUTO_INCREMENT primary key must be integer.');
  });
});
