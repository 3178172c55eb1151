'use strict';

const { describe, it } = require('node:test');
const TableStore = require('tablestore');
const { equal, ok, refused } = require('../expect');
const { LIMIT, client, newTable, withServer } = require('../server');
const { MIN, MAX } = require('../table');
const { fromSdk } = require('../values');

const { DCT_INTEGER, DCT_STRING } = TableStore.DefinedColumnType;
const TYPES = { d0: DCT_INTEGER, d1: DCT_STRING };

async function indexed(name, primaryKey, more = {}) {
  const table = newTable({ defined: Object.entries(TYPES).map(([column, type]) => ({ name: column, type })) });
  await table.create();
  const index = `${table.name}_${name}`;
  await client.createIndex({
    mainTableName: table.name, indexMeta: { name: index, primaryKey, definedColumn: ['d1'], ...more }, includeBaseData: false,
  });
  return { table, index };
}

async function entries(index, names) {
  const bound = (value) => names.map((name) => ({ [name]: value }));
  const { rows } = await client.getRange({
    tableName: index, direction: 'FORWARD', inclusiveStartPrimaryKey: bound(MIN), exclusiveEndPrimaryKey: bound(MAX), maxVersions: 1,
  });
  return rows.map((row) => row.primaryKey.map((column) => Number(fromSdk(column.value))));
}

// Over a pool, as in the service, a global index follows its table: it comes to have these entries.
async function follows(index, names, expected) {
  for (let tries = 0; tries < 200; tries += 1) {
    if (JSON.stringify(await entries(index, names)) === JSON.stringify(expected)) {
      break;
    }
    await new Promise((resolve) => { setTimeout(resolve, 100); });
  }
  equal(await entries(index, names), expected);
}

describe('core/indexes', () => {
  withServer();

  it('an index follows its table', LIMIT, async () => {
    const { table, index } = await indexed('follows', ['d0']);
    await table.put([1n], [['d0', 7n], ['d1', 'x']]);
    await table.put([2n], [['d0', 5n]]);
    await follows(index, ['d0', 'k1'], [[5, 2], [7, 1]]);
    await table.remove([2n]);
    await follows(index, ['d0', 'k1'], [[7, 1]]);
  });

  it('a local index', LIMIT, async () => {
    const { table, index } = await indexed('local', ['k1', 'd0'], {
      indexType: TableStore.IndexType.IT_LOCAL_INDEX, indexUpdateMode: TableStore.IndexUpdateMode.IUM_SYNC_INDEX,
    });
    await table.put([1n], [['d0', 7n]]);
    equal(await entries(index, ['k1', 'd0']), [[1, 7]]);
  });

  it('an index is described, not written, and dropped', LIMIT, async () => {
    const { table, index } = await indexed('dropped', ['d0']);
    const { indexMetas } = await table.describe();
    equal([indexMetas[0].name, indexMetas[0].primaryKey, indexMetas[0].definedColumn], [index, ['d0'], ['d1']]);
    await refused(client.putRow({
      tableName: index, condition: new TableStore.Condition(TableStore.RowExistenceExpectation.IGNORE, null),
      primaryKey: [{ d0: TableStore.Long.fromNumber(1) }, { k1: TableStore.Long.fromNumber(1) }], attributeColumns: [],
    }), 400, "Can't write index table directly");
    await client.dropIndex({ mainTableName: table.name, indexName: index });
    const { tableNames } = await client.listTable({});
    ok(!tableNames.includes(index), `list without ${index}`, tableNames);
  });
});
