'use strict';

const { describe, it } = require('node:test');
const { equal, ok, refused } = require('../expect');
const { col } = require('../filter');
const { LIMIT, sharedTable, withServer } = require('../server');
const { Table, MIN, MAX } = require('../table');

const FORWARD_ERROR = 'Begin key must less than end key in FORWARD';
const BACKWARD_ERROR = 'Begin key must more than end key in BACKWARD';

describe('rules/ranges', () => {
  withServer();
  const table = sharedTable();
  const pairs = sharedTable({ key: ['STRING', 'INTEGER'] });
  const many = sharedTable();
  const big = sharedTable();

  it('a negative limit is refused', LIMIT, () => refused(
    table.page([MIN], [MAX], { limit: -1 }), 400, 'OTSParameterInvalid', 'The limit must be greater than 0.'));

  it('equal bounds are refused in both directions', LIMIT, async () => {
    await refused(table.page([1n], [1n]), 400, 'OTSParameterInvalid', FORWARD_ERROR);
    await refused(table.page([1n], [1n], { direction: 'BACKWARD' }), 400, 'OTSParameterInvalid', BACKWARD_ERROR);
  });

  it('bounds in the wrong order are refused in both directions', LIMIT, async () => {
    await refused(table.page([2n], [1n]), 400, FORWARD_ERROR);
    await refused(table.page([MIN], [MAX], { direction: 'BACKWARD' }), 400, BACKWARD_ERROR);
  });

  it('bounds of the wrong type are refused', LIMIT, () => refused(
    table.page(['a'], ['b']), 400, 'OTSInvalidPK', 'Validate PK type fail. Input: VT_STRING, Meta: VT_INTEGER.'));

  it('bounds with too few columns are refused', LIMIT, () => refused(
    pairs.page([MIN], [MAX]), 400, 'OTSInvalidPK', 'Validate PK size fail. Input: 1, Meta: 2.'));

  it('values may follow INF_MIN and INF_MAX in a bound', LIMIT, async () => {
    for (const text of ['a', 'b', 'c']) for (const n of [1n, 2n]) await pairs.put([text, n]);
    const { rows } = await pairs.scan(['a', 2n], ['c', MIN]);
    equal(rows.map(({ key }) => key), [['a', 2n], ['b', 1n], ['b', 2n]]);
    equal((await pairs.page([MIN, 5n], ['a', 2n])).rows.map(({ key }) => key), [['a', 1n]]);
  });

  it('following next gives every row once when rows are written in between', LIMIT, async () => {
    for (let n = 0n; n < 10n; n += 1n) await table.put([n * 10n]);
    const first = await table.page([MIN], [MAX], { limit: 5 });
    await table.put([5n]); // behind the reader
    await table.put([95n]); // ahead of it
    const { rows } = await table.scan(first.next, [MAX], { limit: 5 });
    equal(rows.map(({ key }) => key[0]), [50n, 60n, 70n, 80n, 90n, 95n]);
  });

  it('a page ends after 5000 rows', LIMIT, async () => {
    const total = 5100;
    for (let from = 0; from < total; from += 200) {
      const keys = Array.from({ length: Math.min(200, total - from) }, (_, i) => BigInt(from + i));
      await many.write(keys.map((n) => Table.putItem(many, [n], [['n', n]])));
    }
    const page = await many.page([MIN], [MAX], { limit: 10000 });
    equal([page.rows.length, page.next], [5000, [5000n]]);
    const { rows, pages } = await many.scan([MAX], [MIN], { direction: 'BACKWARD' });
    equal([rows.length, rows[0].key, rows[total - 1].key], [total, [BigInt(total - 1)], [0n]]);
    ok(pages >= 2, 'at least two pages', pages);
  });

  it('a page ends after 5000 rows scanned, whatever the filter leaves', LIMIT, async () => {
    const page = await many.page([MIN], [MAX], { filter: col('n', '=', -1n) });
    equal([page.rows.length, page.next], [0, [5000n]]);
  });

  it('a page ends after 4 MB', LIMIT, async () => {
    const size = 200000;
    const total = 30;
    for (let from = 0; from < total; from += 10) {
      await big.write(Array.from({ length: 10 }, (_, i) => Table.putItem(big, [BigInt(from + i)], [['c', Buffer.alloc(size, 1)]])));
    }
    const page = await big.page([MIN], [MAX]);
    ok(page.rows.length >= 15 && page.rows.length <= 22, '15 to 22 rows on the first page', page.rows.length);
    equal(page.next, [BigInt(page.rows.length)]);
    equal((await big.scan([MIN], [MAX])).rows.length, total);
  });
});
