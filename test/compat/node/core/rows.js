'use strict';

const { describe, it } = require('node:test');
const { equal, ok } = require('../expect');
const { LIMIT, sharedTable, withServer } = require('../server');

describe('core/rows', () => {
  withServer();
  const table = sharedTable({ versions: 3 });

  it('a row that is not there reads as empty', LIMIT, async () => {
    equal(await table.get([404n]), null);
  });

  it('a row may consist of its key alone', LIMIT, async () => {
    await table.put([1n]);
    equal(await table.get([1n]), { key: [1n], cells: [] });
  });

  it('put replaces the whole row', LIMIT, async () => {
    await table.put([2n], [['a', 1n], ['b', 2n]]);
    await table.put([2n], [['b', 3n]]);
    equal((await table.get([2n], { versions: 10 })).cells.map(([name, value]) => [name, value]), [['b', 3n]]);
  });

  it('update changes the named columns only', LIMIT, async () => {
    await table.put([3n], [['a', 1n], ['b', 2n]]);
    await table.update([3n], { put: [['b', 'new'], ['c', true]] });
    equal(await table.columns([3n]), { a: 1n, b: 'new', c: true });
  });

  it('update creates a row that is not there', LIMIT, async () => {
    await table.update([4n], { put: [['a', 1n]] });
    equal(await table.columns([4n]), { a: 1n });
  });

  it('update deletes a whole column', LIMIT, async () => {
    await table.put([5n], [['a', 1n], ['b', 2n]]);
    await table.update([5n], { removeAll: ['a'] });
    equal(await table.columns([5n]), { b: 2n });
  });

  it('update deletes one version and leaves the others', LIMIT, async () => {
    const now = Date.now();
    await table.put([6n], [['a', 'old', now - 2000], ['a', 'middle', now - 1000], ['a', 'new', now]]);
    await table.update([6n], { remove: [['a', now - 1000]] });
    equal((await table.get([6n], { versions: 10 })).cells, [['a', 'new', now], ['a', 'old', now - 2000]]);
  });

  it('put, delete and delete-all in one update', LIMIT, async () => {
    const now = Date.now();
    await table.put([7n], [['a', 1n, now - 1000], ['a', 2n, now], ['b', 1n], ['c', 1n]]);
    await table.update([7n], { put: [['d', 4n]], remove: [['a', now]], removeAll: ['b'] });
    equal(await table.columns([7n], { versions: 1 }), { a: 1n, c: 1n, d: 4n });
  });

  it('deleting all columns leaves the row', LIMIT, async () => {
    await table.put([8n], [['a', 1n]]);
    await table.update([8n], { removeAll: ['a'] });
    equal(await table.get([8n]), { key: [8n], cells: [] });
  });

  it('an update of deletes alone creates no row', LIMIT, async () => {
    await table.update([9n], { removeAll: ['a'] });
    equal(await table.get([9n]), null);
  });

  it('delete removes the row, and may be repeated', LIMIT, async () => {
    await table.put([10n], [['a', 1n]]);
    await table.remove([10n]);
    equal(await table.get([10n]), null);
    await table.remove([10n]);
  });

  it('columns come in the order of their bytes', LIMIT, async () => {
    await table.put([11n], [['b', 1n], ['a', 1n], ['B', 1n], ['_', 1n], ['aa', 1n]]);
    equal((await table.get([11n])).cells.map(([name]) => name), ['B', '_', 'a', 'aa', 'b']);
  });

  it('a cell written without a timestamp has the time of its writing', LIMIT, async () => {
    const before = Date.now();
    await table.put([12n], [['a', 1n]]);
    const [, , stamp] = (await table.get([12n])).cells[0];
    ok(Math.abs(stamp - before) < 60000, 'timestamp within a minute of now', [stamp, before]);
  });

  it('fifty rows written at once are all there', LIMIT, async () => {
    const keys = Array.from({ length: 50 }, (_, i) => BigInt(1000 + i));
    await Promise.all(keys.map((key) => table.put([key], [['n', key]])));
    const rows = await Promise.all(keys.map((key) => table.columns([key])));
    equal(rows, keys.map((key) => ({ n: key })));
  });
});
