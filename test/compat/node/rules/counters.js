'use strict';

const { describe, it } = require('node:test');
const TableStore = require('tablestore');
const { equal, ok, refused } = require('../expect');
const { LIMIT, newTable, sharedTable, withServer } = require('../server');
const { Table, readRow } = require('../table');

const returning = (...names) => ({ returns: { returnType: TableStore.ReturnType.AfterModify, returnColumns: names } });

describe('rules/counters', () => {
  withServer();
  const table = sharedTable();

  it('a column that is absent counts from zero', LIMIT, async () => {
    await table.update([1n], { increment: [['n', 5n]] });
    equal(await table.columns([1n]), { n: 5n });
  });

  it('increments add up, negative ones too', LIMIT, async () => {
    await table.put([2n], [['n', 10n]]);
    await table.update([2n], { increment: [['n', 5n]] });
    await table.update([2n], { increment: [['n', -20n]] });
    equal(await table.columns([2n]), { n: -5n });
  });

  it('the new value is returned on request', LIMIT, async () => {
    await table.put([3n], [['n', 1n], ['other', 'x']]);
    const answer = await table.update([3n], { increment: [['n', 2n]] }, returning('n'));
    const row = readRow(answer.row);
    equal([row.key, row.cells.map(([name, value]) => [name, value])], [[3n], [['n', 3n]]]);
  });

  it('without the request nothing is returned', LIMIT, async () => {
    const answer = await table.update([4n], { increment: [['n', 2n]] });
    equal(answer.row, {});
  });

  it('increment and put in one update', LIMIT, async () => {
    await table.put([5n], [['n', 1n]]);
    await table.update([5n], { put: [['c', 'x']], increment: [['n', 1n], ['m', 7n]] });
    equal(await table.columns([5n]), { c: 'x', m: 7n, n: 2n });
  });

  it('an increment makes a new version', LIMIT, async () => {
    const versioned = newTable({ versions: 3 });
    await versioned.create();
    for (let i = 0; i < 3; i += 1) await versioned.update([1n], { increment: [['n', 1n]] });
    equal((await versioned.get([1n], { versions: 3 })).cells.map(([, value]) => value), [3n, 2n, 1n]);
  });

  it('a column of another type is refused and stays', LIMIT, async () => {
    await table.put([6n], [['n', 'text']]);
    await refused(table.update([6n], { increment: [['n', 1n]], put: [['c', 'x']] }), 400, 'OTSParameterInvalid');
    equal(await table.columns([6n]), { n: 'text' });
  });

  it('an overflow is refused and the value stays', LIMIT, async () => {
    const max = 9223372036854775807n;
    await table.put([7n], [['n', max]]);
    await refused(table.update([7n], { increment: [['n', 1n]] }), 400, 'OTSParameterInvalid');
    equal(await table.columns([7n]), { n: max });
  });

  it('an increment with a timestamp is refused', LIMIT, () => refused(
    table.update([8n], { increment: [['n', 1n, Date.now()]] }), 400, 'OTSParameterInvalid'));

  it('one column may not be put and incremented at once', LIMIT, () => refused(
    table.update([9n], { put: [['n', 1n]], increment: [['n', 1n]] }), 400, 'OTSParameterInvalid'));

  it('asking for a column that is not incremented is refused and writes nothing', LIMIT, async () => {
    await table.put([10n], [['n', 1n], ['other', 'x']]);
    await refused(table.update([10n], { increment: [['n', 1n]] }, returning('other')), 400);
    equal((await table.columns([10n])).n, 1n);
  });

  it('an increment obeys its condition', LIMIT, async () => {
    await refused(table.update([11n], { increment: [['n', 1n]] }, { expect: 'EXPECT_EXIST' }), 403, 'OTSConditionCheckFail');
    equal(await table.get([11n]), null);
  });

  it('increments in a batch, with the new value', LIMIT, async () => {
    const [result] = await table.write([Table.updateItem(table, [12n], { increment: [['n', 4n]] }, returning('n'))]);
    equal([result.isOk, result.row && result.row.cells[0].slice(0, 2)], [true, ['n', 4n]]);
  });

  it('DOUBLE columns count as well', LIMIT, async () => {
    await table.update([13n], { increment: [['d', 1.5]] });
    await table.update([13n], { increment: [['d', 0.25]] });
    equal(await table.columns([13n]), { d: 1.75 });
  });

  it('forty increments at once lose nothing', LIMIT, async () => {
    const increments = Array.from({ length: 40 }, () => table.update([14n], { increment: [['n', 1n]] }));
    const done = (await Promise.allSettled(increments)).filter(({ status }) => status === 'fulfilled').length;
    ok(done > 0, 'some increments succeed', done);
    equal(await table.columns([14n]), { n: BigInt(done) });
  });
});
