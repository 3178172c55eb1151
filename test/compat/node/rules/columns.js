'use strict';

const { describe, it } = require('node:test');
const { equal, refused } = require('../expect');
const { LIMIT, sharedTable, withServer } = require('../server');
const { MIN, MAX } = require('../table');

describe('rules/columns', () => {
  withServer();
  const table = sharedTable();
  const names = (row) => row && row.cells.map(([name]) => name);

  it('rows are loaded', LIMIT, async () => {
    await table.put([1n], ['a', 'b', 'c', 'd'].map((name) => [name, name]));
    await table.put([2n], [['z', 'z']]);
    await table.put([3n]);
  });

  it('columns to get, in any order and twice', LIMIT, async () => {
    equal(names(await table.get([1n], { columns: ['d', 'a', 'd', 'absent'] })), ['a', 'd']);
  });

  it('a key column among the columns to get stays a key column', LIMIT, async () => {
    equal(names(await table.get([1n], { columns: ['k1', 'a'] })), ['a']);
  });

  it('columns to get without a match give no row', LIMIT, async () => {
    equal(await table.get([1n], { columns: ['absent'] }), null);
  });

  it('start column is included and end column is not', LIMIT, async () => {
    equal(names(await table.get([1n], { from: 'b', to: 'd' })), ['b', 'c']);
    equal(names(await table.get([1n], { from: 'c' })), ['c', 'd']);
    equal(names(await table.get([1n], { to: 'b' })), ['a']);
  });

  it('GetRange leaves out rows without a wanted column', LIMIT, async () => {
    const { rows } = await table.scan([MIN], [MAX], { columns: ['z'] });
    equal(rows.map(({ key }) => key[0]), [2n]);
  });

  it('GetRange without columns to get returns rows of keys alone', LIMIT, async () => {
    const { rows } = await table.scan([MIN], [MAX]);
    equal(rows.map(({ key }) => key[0]), [1n, 2n, 3n]);
  });

  it('GetRange with start and end column', LIMIT, async () => {
    const { rows } = await table.page([1n], [2n], { from: 'b', to: 'c' });
    equal(names(rows[0]), ['b']);
  });

  it('BatchGetRow with columns to get', LIMIT, async () => {
    const results = await table.batchGet([[1n], [2n]], { columns: ['c'] });
    equal(results.map(({ isOk, row }) => [isOk, names(row)]), [[true, ['c']], [true, null]]);
  });

  it('1024 columns to get are accepted and 1025 refused', LIMIT, async () => {
    const list = (count) => Array.from({ length: count }, (_, i) => (i ? `absent${i}` : 'a'));
    equal(names(await table.get([1n], { columns: list(1024) })), ['a']);
    await refused(table.get([1n], { columns: list(1025) }), 400,
      'The number of columns from the request exceeds the limit, limit count: 1024, column count: 1025.');
  });
});
