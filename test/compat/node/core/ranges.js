'use strict';

const { describe, it } = require('node:test');
const { equal, ok } = require('../expect');
const { LIMIT, sharedTable, withServer } = require('../server');
const { Table, MIN, MAX } = require('../table');

const COUNT = 25;

describe('core/ranges', () => {
  withServer();
  const table = sharedTable();
  const wide = sharedTable({ key: ['STRING', 'INTEGER'] });
  const texts = sharedTable({ key: ['STRING'] });
  const bytes = sharedTable({ key: ['BINARY'] });
  const up = Array.from({ length: COUNT }, (_, i) => BigInt(i) - 5n); // negative keys must sort before zero
  const down = [...up].reverse();

  it('rows are loaded', LIMIT, async () => {
    const results = await table.write(down.map((n) => Table.putItem(table, [n], [['n', n]])));
    ok(results.every(({ isOk }) => isOk), 'all rows written', results);
  });

  it('forward over several pages', LIMIT, async () => {
    const { rows, pages } = await table.scan([MIN], [MAX], { limit: 7 });
    equal(rows.map(({ key }) => key[0]), up, 'keys');
    ok(pages >= 4, 'at least four pages', pages);
  });

  it('backward over several pages', LIMIT, async () => {
    const { rows, pages } = await table.scan([MAX], [MIN], { limit: 7, direction: 'BACKWARD' });
    equal(rows.map(({ key }) => key[0]), down, 'keys');
    ok(pages >= 4, 'at least four pages', pages);
  });

  it('a page that is cut names the row to go on with', LIMIT, async () => {
    const page = await table.page([MIN], [MAX], { limit: 7 });
    equal([page.rows.length, page.next], [7, [up[7]]]);
  });

  it('the start is inclusive and the end exclusive', LIMIT, async () => {
    const page = await table.page([3n], [6n]);
    equal([page.rows.map(({ key }) => key[0]), page.next], [[3n, 4n, 5n], null]);
  });

  it('backward the start is inclusive and the end exclusive', LIMIT, async () => {
    const page = await table.page([6n], [3n], { direction: 'BACKWARD' });
    equal([page.rows.map(({ key }) => key[0]), page.next], [[6n, 5n, 4n], null]);
  });

  it('a range without rows is empty and finished', LIMIT, async () => {
    const page = await table.page([1000n], [2000n]);
    equal([page.rows, page.next], [[], null]);
  });

  it('rows carry their columns', LIMIT, async () => {
    const { rows } = await table.page([0n], [2n]);
    equal(rows.map(({ cells }) => cells.map(([name, value]) => [name, value])), [[['n', 0n]], [['n', 1n]]]);
  });

  it('two key columns sort column by column', LIMIT, async () => {
    for (const key of [['b', 1n], ['a', 2n], ['a', 10n], ['', 3n], ['b', -1n]]) await wide.put(key);
    const { rows } = await wide.scan([MIN, MIN], [MAX, MAX], { limit: 2 });
    equal(rows.map(({ key }) => key), [['', 3n], ['a', 2n], ['a', 10n], ['b', -1n], ['b', 1n]]);
  });

  it('one partition key value between INF_MIN and INF_MAX', LIMIT, async () => {
    const { rows } = await wide.scan(['a', MIN], ['a', MAX]);
    equal(rows.map(({ key }) => key), [['a', 2n], ['a', 10n]]);
  });

  it('strings sort by bytes and a prefix comes first', LIMIT, async () => {
    const sorted = ['', 'A', 'a', 'a\0', 'a\0b', 'a!', 'aa', 'b', 'é', '表'];
    for (const text of [...sorted].reverse()) await texts.put([text]);
    const { rows } = await texts.scan([MIN], [MAX], { limit: 3 });
    equal(rows.map(({ key }) => key[0]), sorted);
  });

  it('binaries sort as unsigned bytes', LIMIT, async () => {
    const sorted = [[], [0], [0, 0], [0, 1], [1], [127], [128], [255], [255, 0]].map((list) => Buffer.from(list));
    for (const value of [...sorted].reverse()) await bytes.put([value]);
    const { rows } = await bytes.scan([MAX], [MIN], { limit: 4, direction: 'BACKWARD' });
    equal(rows.map(({ key }) => key[0]), [...sorted].reverse());
  });
});
