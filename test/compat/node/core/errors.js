'use strict';

const TableStore = require('tablestore');
const { equal, refused } = require('../expect');
const { Table, MIN, MAX } = require('../table');

const NO_TABLE = [404, 'OTSObjectNotExist', 'Requested table does not exist.'];
// What programs look for when they read rows of a table that may not be there yet.
const NO_TABLE_TO_READ = [400, 'OTSParameterInvalid', 'Requested table does not exist (table not exist).'];
const MATCH_ALL = { query: { queryType: TableStore.QueryType.MATCH_ALL_QUERY }, limit: 1, getTotalCount: false };

module.exports = (suite) => {
  const table = suite.table({ key: ['STRING', 'INTEGER'] });
  const missing = suite.newTable({ key: ['STRING', 'INTEGER'] });
  const key = ['a', 1n];

  const onMissing = {
    describe: () => missing.describe(),
    update: () => missing.change({ maxVersions: 2 }),
    delete: () => missing.drop(),
    GetRow: () => missing.get(key),
    PutRow: () => missing.put(key, [['c', 1n]]),
    UpdateRow: () => missing.update(key, { put: [['c', 1n]] }),
    DeleteRow: () => missing.remove(key),
    GetRange: () => missing.page([MIN, MIN], [MAX, MAX]),
  };
  for (const [operation, run] of Object.entries(onMissing)) {
    const expected = operation.startsWith('Get') ? NO_TABLE_TO_READ : NO_TABLE;
    suite.case(`${operation} of a table that does not exist is ${expected[0]}`, () => refused(run(), ...expected));
  }

  suite.case('a wrong secret is 403 OTSAuthFailed', async () => {
    const stranger = suite.connect({ secretAccessKey: 'not-the-secret' });
    await refused(stranger.listTable({}), 403, 'OTSAuthFailed');
  });

  suite.case('an unknown access key is 403 OTSAuthFailed', async () => {
    const stranger = suite.connect({ accessKeyId: 'nobody' });
    await refused(stranger.listTable({}), 403, 'OTSAuthFailed');
  });

  suite.case('an unknown instance is 403 OTSAuthFailed', async () => {
    const stranger = suite.connect({ instancename: 'no-such-one' });
    await refused(stranger.listTable({}), 403, 'OTSAuthFailed');
  });

  suite.case('a key of the wrong type', () => refused(
    table.get(['a', 'text']), 400, 'OTSInvalidPK', 'Validate PK type fail. Input: VT_STRING, Meta: VT_INTEGER.'));

  suite.case('a key with too few columns', () => refused(
    table.put(['a'], [['c', 1n]]), 400, 'OTSInvalidPK', 'Validate PK size fail. Input: 1, Meta: 2.'));

  suite.case('a key with a wrong name', () => refused(
    suite.client.getRow({ tableName: table.name, primaryKey: [{ k1: 'a' }, { other: TableStore.Long.fromNumber(1) }] }),
    400, 'OTSInvalidPK', 'Validate PK name fail. Input: other, Meta: k2.'));

  suite.case('INF_MIN outside of a range', () => refused(
    table.put(['a', MIN], [['c', 1n]]), 400, 'OTSParameterInvalid', 'VT_INF_MIN is an invalid type for the primary key.'));

  suite.case('ListSearchIndex answers an empty list', async () => {
    const answer = await suite.client.listSearchIndex({ tableName: table.name });
    equal(answer.indices, []);
  });

  suite.case('Search is refused by its name', () => refused(
    suite.client.search({
      tableName: table.name, indexName: 'none', searchQuery: MATCH_ALL,
      columnToGet: { returnType: TableStore.ColumnReturnType.RETURN_ALL },
    }), null, 'Search'));

  suite.case('ComputeSplits is refused by its name', () => refused(
    suite.client.computeSplits({ tableName: table.name, searchIndexSplitsOptions: { indexName: 'none' } }), null, 'ComputeSplits'));

  suite.case('an operation with a JSON body is refused by its name', () => refused(
    suite.client.createKnowledgeBase({ knowledgeBaseName: 'none' }), null, 'CreateKnowledgeBase'));

  suite.case('the connection still works after refused operations', async () => {
    await table.put(key, [['c', 1n]]);
    equal(await table.columns(key), { c: 1n });
    const results = await table.write([Table.removeItem(table, key)]);
    equal(results[0].isOk, true);
  });
};
