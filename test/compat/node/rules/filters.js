'use strict';

const { describe, it } = require('node:test');
const { equal, refused } = require('../expect');
const { col, and, or, not, page } = require('../filter');
const { LIMIT, sharedTable, withServer } = require('../server');
const { Table, MIN, MAX } = require('../table');

// Rows 0 to 9: even rows have a column even; every row has n (INTEGER), half (DOUBLE) and name (STRING).
const SELECTIONS = [
  ['n = 3', col('n', '=', 3n), [3n]],
  ['n > 6', col('n', '>', 6n), [7n, 8n, 9n]],
  ['half <= 1.0', col('half', '<=', 1), [0n, 1n, 2n]],
  ["name >= 'row 8'", col('name', '>=', 'row 8'), [8n, 9n]],
  ['odd = true', col('odd', '=', true), [1n, 3n, 5n, 7n, 9n]],
  ['even passes if missing', col('even', '=', 4n), [1n, 3n, 4n, 5n, 7n, 9n]],
  ['even fails if missing', col('even', '=', 4n, { passIfMissing: false }), [4n]],
  ['even != 4 fails if missing', col('even', '!=', 4n, { passIfMissing: false }), [0n, 2n, 6n, 8n]],
  ['n > 2 AND n < 5', and(col('n', '>', 2n), col('n', '<', 5n)), [3n, 4n]],
  ['n < 2 OR n > 7', or(col('n', '<', 2n), col('n', '>', 7n)), [0n, 1n, 8n, 9n]],
  ['NOT n > 1', not(col('n', '>', 1n)), [0n, 1n]],
  ['three levels', and(
    or(col('n', '=', 1n), col('n', '=', 2n), col('n', '=', 3n)), not(and(col('odd', '=', true), col('n', '<', 2n)))), [2n, 3n]],
  ['another type never matches', col('name', '=', 3n), []],
  ['a key column', col('k1', '=', 6n, { passIfMissing: false }), [6n]],
];

describe('rules/filters', () => {
  withServer();
  const table = sharedTable();
  const versioned = sharedTable({ versions: 5 });
  const wide = sharedTable();

  it('rows are loaded', LIMIT, async () => {
    await table.write(Array.from({ length: 10 }, (_, i) => {
      const cells = [['n', BigInt(i)], ['half', i / 2], ['name', `row ${i}`], ['odd', i % 2 === 1]];
      return Table.putItem(table, [BigInt(i)], i % 2 ? cells : [...cells, ['even', BigInt(i)]]);
    }));
    await wide.put([1n], ['a', 'b', 'c', 'd', 'e'].map((name) => [name, name]));
  });

  for (const [title, filter, expected] of SELECTIONS) {
    it(`GetRange: ${title}`, LIMIT, async () => {
      const { rows } = await table.scan([MIN], [MAX], { filter });
      equal(rows.map(({ key }) => key[0]), expected);
    });
  }

  it('GetRow: a row filtered out reads as empty', LIMIT, async () => {
    equal(await table.get([3n], { filter: col('n', '=', 4n) }), null);
    equal((await table.get([3n], { filter: col('n', '=', 3n) })).key, [3n]);
  });

  it('BatchGetRow: a row filtered out is ok and empty', LIMIT, async () => {
    const results = await table.batchGet([[3n], [4n]], { filter: col('n', '=', 4n) });
    equal(results.map(({ isOk, row }) => [isOk, row && row.key]), [[true, null], [true, [4n]]]);
  });

  it('limit counts the rows returned', LIMIT, async () => {
    const { rows } = await table.scan([MIN], [MAX], { filter: col('odd', '=', true), limit: 2 });
    equal(rows.map(({ key }) => key[0]), [1n, 3n, 5n, 7n, 9n]);
  });

  it('a filter column that is not read counts as missing', LIMIT, async () => {
    equal((await table.get([3n], { columns: ['name'], filter: col('n', '=', 4n) })).key, [3n], 'passes if missing');
    equal(await table.get([3n], { columns: ['name'], filter: col('n', '=', 3n, { passIfMissing: false }) }), null);
  });

  it('latestVersionOnly looks at the newest version, else at all', LIMIT, async () => {
    const now = Date.now();
    await versioned.put([1n], [['c', 'old', now - 1], ['c', 'new', now]]);
    equal(await versioned.get([1n], { versions: 5, filter: col('c', '=', 'old') }), null);
    const any = await versioned.get([1n], { versions: 5, filter: col('c', '=', 'old', { latestVersionOnly: false }) });
    equal(any.cells.map(([, value]) => value), ['new', 'old']);
  });

  it('the pagination filter takes columns in name order', LIMIT, async () => {
    const names = async (limit, offset, more) => {
      const row = await wide.get([1n], { filter: page(limit, offset), ...more });
      return row && row.cells.map(([name]) => name);
    };
    equal(await names(2, 0), ['a', 'b']);
    equal(await names(2, 2), ['c', 'd']);
    equal(await names(9, 4), ['e']);
    equal(await names(2, 1, { from: 'b' }), ['c', 'd'], 'after the start column');
  });

  it('NOT takes exactly one filter', LIMIT, () => refused(
    table.get([1n], { filter: not(col('n', '=', 1n), col('n', '=', 2n)) }),
    400, 'OTSParameterInvalid', 'Invalid NOT operator: the number of sub-filters must be 1.'));

  it('AND and OR take two filters or more', LIMIT, async () => {
    for (const filter of [and(col('n', '=', 1n)), or(col('n', '=', 1n))]) {
      await refused(table.get([1n], { filter }), 400, 'Invalid AND/OR operator: the number of sub-filters must be more than 1.');
    }
  });

  it('32 filters are accepted and 33 refused', LIMIT, async () => {
    const list = (count) => Array.from({ length: count }, (_, i) => col('n', '=', BigInt(i)));
    equal((await table.get([3n], { filter: or(...list(31)) })).key, [3n]);
    await refused(table.get([3n], { filter: or(...list(32)) }), 400,
      'OTSParameterInvalid', 'The count of filter exceeds the max: 32.');
  });
});
