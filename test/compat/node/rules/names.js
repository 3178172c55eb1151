'use strict';

const { equal, refused } = require('../expect');

const BAD_TABLE_NAMES = ['0', '#', '中文', 'T#', 'T中文', '3t', '-', 'x'.repeat(256)];
const ODD_COLUMN_NAMES = [
  '.', ':', "'", '"', '$', '&', '*', '(', ')', '/', '\\', '\n', '\r', ' ', 'a b', 'x.y:z', '0', '9lives', '-', 'a#',
];

module.exports = (suite) => {
  const table = suite.table();

  for (const name of BAD_TABLE_NAMES) {
    const shown = name.length > 20 ? `of ${name.length} letters` : name;
    suite.case(`table name ${shown} is refused`, async () => {
      const bad = suite.newTable();
      bad.name = name;
      bad.spec.tableMeta.tableName = name;
      const text = `Invalid table name: '${name}'.`;
      await refused(bad.create(), 400, 'OTSParameterInvalid', text);
      await refused(bad.describe(), 400, 'OTSParameterInvalid', text);
      await refused(bad.get([1n]), 400, 'OTSParameterInvalid', text);
    });
  }

  suite.case('table names that start with an underscore, and of 255 letters', async () => {
    for (const longer of [(name) => `_${name}`, (name) => 'x'.repeat(255 - name.length) + name]) {
      const good = suite.newTable();
      good.name = longer(good.name);
      good.spec.tableMeta.tableName = good.name;
      await good.create();
      equal((await good.describe()).tableMeta.tableName, good.name);
    }
  });

  suite.case('column names of odd characters', async () => {
    const columns = ODD_COLUMN_NAMES.map((name, i) => [name, BigInt(i)]);
    await table.put([1n], columns);
    equal(await table.columns([1n]), Object.fromEntries(columns));
  });

  suite.case('an odd column can be asked for', async () => {
    await table.put([2n], [['a b', 1n], ['c', 2n]]);
    equal(await table.columns([2n], { columns: ['a b'] }), { 'a b': 1n });
  });

  for (const name of ['#', '#abc', '# ']) {
    suite.case(`column name "${name}" is refused`, async () => {
      const text = `Invalid column name: '${name}'.`;
      await refused(table.put([3n], [[name, 1n]]), 400, 'OTSParameterInvalid', text);
      await refused(table.get([3n], { columns: [name] }), 400, 'OTSParameterInvalid', text);
    });
  }

  suite.case('column names of 255 bytes are accepted and of 256 refused', async () => {
    await table.put([4n], [['c'.repeat(255), 1n]]);
    equal(await table.columns([4n]), { ['c'.repeat(255)]: 1n });
    await refused(table.put([4n], [['c'.repeat(256), 1n]]), 400, 'OTSParameterInvalid', 'Invalid column name: ');
  });

  suite.case('an attribute named like a key column is refused', () => refused(
    table.put([5n], [['k1', 1n]]), 400, 'OTSParameterInvalid', 'Duplicated attribute column name with primary key column'));

  suite.case('names differ by the case of their letters', async () => {
    await table.put([6n], [['C', 1n], ['c', 2n]]);
    equal(await table.columns([6n]), { C: 1n, c: 2n });
  });
};
