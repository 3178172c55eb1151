'use strict';

const { describe, it } = require('node:test');
const TableStore = require('tablestore');
const { equal, ok, refused } = require('../expect');
const { LIMIT, newTable, sharedTable, withServer } = require('../server');

const { DCT_INTEGER, DCT_DOUBLE, DCT_BOOLEAN, DCT_STRING } = TableStore.DefinedColumnType;

describe('rules/tables', () => {
  withServer();
  const plain = sharedTable();

  it('defined columns are described as they were given', LIMIT, async () => {
    const defined = [
      { name: 'i', type: DCT_INTEGER }, { name: 'd', type: DCT_DOUBLE }, { name: 'b', type: DCT_BOOLEAN },
      { name: 's', type: DCT_STRING },
    ];
    const table = newTable({ defined });
    await table.create();
    const { tableMeta } = await table.describe();
    equal(tableMeta.definedColumn.map(({ name, type }) => ({ name, type })), defined);
    await table.put([1n], [['i', 1n], ['undefined_column', 'x']]);
  });

  it('33 defined columns are refused', LIMIT, () => {
    const defined = Array.from({ length: 33 }, (_, i) => ({ name: `d${i}`, type: DCT_STRING }));
    return refused(newTable({ defined }).create(), 400, 'The number of defined columns must be in range: [0, 32].');
  });

  it('one to four key columns', LIMIT, async () => {
    const fourTypes = ['STRING', 'INTEGER', 'BINARY', 'STRING'];
    await newTable({ key: fourTypes }).create();
    for (const key of [[], [...fourTypes, 'INTEGER']]) {
      await refused(newTable({ key }).create(), 400,
        'OTSParameterInvalid', 'The number of primary key columns must be in range: [1, 4].');
    }
  });

  it('a key column given twice is refused', LIMIT, async () => {
    const table = newTable({ key: ['STRING', 'STRING'] });
    table.spec.tableMeta.primaryKey[1].name = 'k1';
    await refused(table.create(), 400, 'OTSParameterInvalid', "Duplicated primary key name: 'k1'.");
  });

  it('TTL zero or below minus one is refused', LIMIT, async () => {
    for (const ttl of [0, -2]) {
      await refused(newTable({ ttl }).create(), 400, 'OTSParameterInvalid', 'TimeToLive cannot be 0 or less than -1.');
    }
  });

  it('MaxVersions zero is refused', LIMIT, () => refused(
    newTable({ versions: 0 }).create(), 400,
    'OTSParameterInvalid', 'The maximum versions cannot be less than or equal to 0'));

  it('the largest TTL is accepted', LIMIT, async () => {
    const table = newTable({ ttl: 2147483647 });
    await table.create();
    equal((await table.describe()).tableOptions.timeToLive, 2147483647);
  });

  it('update of the throughput', LIMIT, async () => {
    const answer = await plain.change({}, { reservedThroughput: { capacityUnit: { read: 3, write: 4 } } });
    const units = ({ capacityUnit: { read, write } }) => [read, write];
    equal(units(answer.reservedThroughputDetails), [3, 4], 'answer');
    const { reservedThroughputDetails } = await plain.describe();
    equal(units(reservedThroughputDetails), [3, 4], 'describe');
    const increased = Number(reservedThroughputDetails.lastIncreaseTime);
    ok(increased > 1600000000, 'time of the last increase in seconds', increased);
  });

  it('update of TTL, versions and deviation at once', LIMIT, async () => {
    const table = newTable();
    await table.create();
    await table.change({ timeToLive: 172800, maxVersions: 7, maxTimeDeviation: 3600 });
    const { tableOptions } = await table.describe();
    equal([tableOptions.timeToLive, tableOptions.maxVersions, Number(tableOptions.deviationCellVersionInSec)], [172800, 7, 3600]);
  });

  it('allowUpdate false refuses updates and nothing else', LIMIT, async () => {
    const table = newTable({ allowUpdate: false });
    await table.create();
    equal((await table.describe()).tableOptions.allowUpdate, false, 'described');
    await table.put([1n], [['a', 1n]]);
    await refused(table.update([1n], { put: [['a', 2n]] }), 400);
    equal(await table.columns([1n]), { a: 1n });
    await table.remove([1n]);
    await table.change({ allowUpdate: true });
    await table.update([1n], { put: [['a', 2n]] });
  });
});
