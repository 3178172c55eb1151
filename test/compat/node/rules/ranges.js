'use strict';

const { equal, ok, refused } = require('../expect');
const { col } = require('../filter');
const { Table, MIN, MAX } = require('../table');

const FORWARD_ERROR = 'Begin key must less than end key in FORWARD';
const BACKWARD_ERROR = 'Begin key must more than end key in BACKWARD';

module.exports = (suite) => {
  const table = suite.table();
  const pairs = suite.table({ key: ['STRING', 'INTEGER'] });
  const many = suite.table();
  const big = suite.table();

  suite.case('a negative limit is refused', () => refused(
    table.page([MIN], [MAX], { limit: -1 }), 400, 'OTSParameterInvalid', 'The limit must be greater than 0.'));

  suite.case('equal bounds are refused in both directions', async () => {
    await refused(table.page([1n], [1n]), 400, 'OTSParameterInvalid', FORWARD_ERROR);
    await refused(table.page([1n], [1n], { direction: 'BACKWARD' }), 400, 'OTSParameterInvalid', BACKWARD_ERROR);
  });

  suite.case('bounds in the wrong order are refused in both directions', async () => {
    await refused(table.page([2n], [1n]), 400, FORWARD_ERROR);
    await refused(table.page([MIN], [MAX], { direction: 'BACKWARD' }), 400, BACKWARD_ERROR);
  });

  suite.case('bounds of the wrong type are refused', () => refused(
    table.page(['a'], ['b']), 400, 'OTSInvalidPK', 'Validate PK type fail. Input: VT_STRING, Meta: VT_INTEGER.'));

  suite.case('bounds with too few columns are refused', () => refused(
    pairs.page([MIN], [MAX]), 400, 'OTSInvalidPK', 'Validate PK size fail. Input: 1, Meta: 2.'));

  suite.case('values may follow INF_MIN and INF_MAX in a bound', async () => {
    for (const text of ['a', 'b', 'c']) for (const n of [1n, 2n]) await pairs.put([text, n]);
    const { rows } = await pairs.scan(['a', 2n], ['c', MIN]);
    equal(rows.map(({ key }) => key), [['a', 2n], ['b', 1n], ['b', 2n]]);
    equal((await pairs.page([MIN, 5n], ['a', 2n])).rows.map(({ key }) => key), [['a', 1n]]);
  });

  suite.case('following next gives every row once when rows are written in between', async () => {
    for (let n = 0n; n < 10n; n += 1n) await table.put([n * 10n]);
    const first = await table.page([MIN], [MAX], { limit: 5 });
    await table.put([5n]); // behind the reader
    await table.put([95n]); // ahead of it
    const { rows } = await table.scan(first.next, [MAX], { limit: 5 });
    equal(rows.map(({ key }) => key[0]), [50n, 60n, 70n, 80n, 90n, 95n]);
  });

  suite.case('a page ends after 5000 rows', async () => {
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

  suite.case('a page ends after 5000 rows scanned, whatever the filter leaves', async () => {
    const page = await many.page([MIN], [MAX], { filter: col('n', '=', -1n) });
    equal([page.rows.length, page.next], [0, [5000n]]);
  });

  suite.case('a page ends after 4 MB', async () => {
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
};
