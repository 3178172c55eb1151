'use strict';

const { describe, it } = require('node:test');
const { equal, refused } = require('../expect');
const { LIMIT, newTable, sharedTable, withServer } = require('../server');

const BAD_TABLE_NAMES = ['0', '#', '中文', 'T#', 'T中文', '3t', '-', 'x'.repeat(256)];
const ODD_COLUMN_NAMES = [
  '.', ':', "'", '"', '$', '&', '*', '(', ')', '/', '\\', '\n', '\r', ' ', 'a b', 'x.y:z', '0', '9lives', '-', 'a#',
];

describe('rules/names', () => {
  withServer();
  const table = sharedTable();

  for (const name of BAD_TABLE_NAMES) {
    const shown = name.length > 20 ? `of ${name.length} letters` : name;
    it(`table name ${shown} is refused`, LIMIT, async () => {
      const bad = newTable();
      bad.name = name;
      bad.spec.tableMeta.tableName = name;
      const text = `Invalid table name: '${name}'.`;
      await refused(bad.create(), 400, 'OTSParameterInvalid', text);
      await refused(bad.describe(), 400, 'OTSParameterInvalid', text);
      await refused(bad.get([1n]), 400, 'OTSParameterInvalid', text);
    });
  }

  it('table names that start with an underscore, and of 255 letters', LIMIT, async () => {
    for (const longer of [(name) => `_${name}`, (name) => 'x'.repeat(255 - name.length) + name]) {
      const good = newTable();
      good.name = longer(good.name);
      good.spec.tableMeta.tableName = good.name;
      await good.create();
      equal((await good.describe()).tableMeta.tableName, good.name);
    }
  });

  it('column names of odd characters', LIMIT, async () => {
    const columns = ODD_COLUMN_NAMES.map((name, i) => [name, BigInt(i)]);
    await table.put([1n], columns);
    equal(await table.columns([1n]), Object.fromEntries(columns));
  });

  it('an odd column can be asked for', LIMIT, async () => {
    await table.put([2n], [['a b', 1n], ['c', 2n]]);
    equal(await table.columns([2n], { columns: ['a b'] }), { 'a b': 1n });
  });

  for (const name of ['#', '#abc', '# ']) {
    it(`column name "${name}" is refused`, LIMIT, async () => {
      const text = `Invalid column name: '${name}'.`;
      await refused(table.put([3n], [[name, 1n]]), 400, 'OTSParameterInvalid', text);
      await refused(table.get([3n], { columns: [name] }), 400, 'OTSParameterInvalid', text);
    });
  }

  it('column names of 255 bytes are accepted and of 256 refused', LIMIT, async () => {
    await table.put([4n], [['c'.repeat(255), 1n]]);
    equal(await table.columns([4n]), { ['c'.repeat(255)]: 1n });
    await refused(table.put([4n], [['c'.repeat(256), 1n]]), 400, 'OTSParameterInvalid', 'Invalid column name: ');
  });

  it('an attribute named like a key column is refused', LIMIT, () => refused(
    table.put([5n], [['k1', 1n]]), 400, 'OTSParameterInvalid', 'Duplicated attribute column name with primary key column'));

  it('names differ by the case of their letters', LIMIT, async () => {
    await table.put([6n], [['C', 1n], ['c', 2n]]);
    equal(await table.columns([6n]), { C: 1n, c: 2n });
  });
});
