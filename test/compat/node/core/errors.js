'use strict';

const { describe, it } = require('node:test');
const TableStore = require('tablestore');
const { equal, refused } = require('../expect');
const { LIMIT, client, connect, newTable, sharedTable, withServer } = require('../server');
const { Table, MIN, MAX } = require('../table');

const NO_TABLE = [404, 'OTSObjectNotExist', 'Requested table does not exist.'];
// What programs look for when they read rows of a table that may not be there yet.
const NO_TABLE_TO_READ = [400, 'OTSParameterInvalid', 'Requested table does not exist (table not exist).'];
const MATCH_ALL = { query: { queryType: TableStore.QueryType.MATCH_ALL_QUERY }, limit: 1, getTotalCount: false };

describe('core/errors', () => {
  withServer();
  const table = sharedTable({ key: ['STRING', 'INTEGER'] });
  const missing = newTable({ key: ['STRING', 'INTEGER'] });
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
    it(`${operation} of a table that does not exist is ${expected[0]}`, LIMIT, () => refused(run(), ...expected));
  }

  it('a wrong secret is 403 OTSAuthFailed', LIMIT, async () => {
    const stranger = connect({ secretAccessKey: 'not-the-secret' });
    await refused(stranger.listTable({}), 403, 'OTSAuthFailed');
  });

  it('an unknown access key is 403 OTSAuthFailed', LIMIT, async () => {
    const stranger = connect({ accessKeyId: 'nobody' });
    await refused(stranger.listTable({}), 403, 'OTSAuthFailed');
  });

  it('an unknown instance is 403 OTSAuthFailed', LIMIT, async () => {
    const stranger = connect({ instancename: 'no-such-one' });
    await refused(stranger.listTable({}), 403, 'OTSAuthFailed');
  });

  it('a key of the wrong type', LIMIT, () => refused(
    table.get(['a', 'text']), 400, 'OTSInvalidPK', 'Validate PK type fail. Input: VT_STRING, Meta: VT_INTEGER.'));

  it('a key with too few columns', LIMIT, () => refused(
    table.put(['a'], [['c', 1n]]), 400, 'OTSInvalidPK', 'Validate PK size fail. Input: 1, Meta: 2.'));

  it('a key with a wrong name', LIMIT, () => refused(
    client.getRow({ tableName: table.name, primaryKey: [{ k1: 'a' }, { other: TableStore.Long.fromNumber(1) }] }),
    400, 'OTSInvalidPK', 'Validate PK name fail. Input: other, Meta: k2.'));

  it('INF_MIN outside of a range', LIMIT, () => refused(
    table.put(['a', MIN], [['c', 1n]]), 400, 'OTSParameterInvalid', 'VT_INF_MIN is an invalid type for the primary key.'));

  it('ListSearchIndex answers an empty list', LIMIT, async () => {
    const answer = await client.listSearchIndex({ tableName: table.name });
    equal(answer.indices, []);
  });

  it('Search names an index that is not there', LIMIT, () => refused(
    client.search({
      tableName: table.name, indexName: 'none', searchQuery: MATCH_ALL,
      columnToGet: { returnType: TableStore.ColumnReturnType.RETURN_ALL },
    }), 400, 'OTSMetaNotMatch', 'search index [none] does not exist'));

  it('ComputeSplits names an index that is not there', LIMIT, () => refused(
    client.computeSplits({ tableName: table.name, searchIndexSplitsOptions: { indexName: 'none' } }),
    400, 'OTSMetaNotMatch', 'search index [none] does not exist'));

  it('an operation with a JSON body is refused by its name', LIMIT, () => refused(
    client.createKnowledgeBase({ knowledgeBaseName: 'none' }), null, 'CreateKnowledgeBase'));

  it('the connection still works after refused operations', LIMIT, async () => {
    await table.put(key, [['c', 1n]]);
    equal(await table.columns(key), { c: 1n });
    const results = await table.write([Table.removeItem(table, key)]);
    equal(results[0].isOk, true);
  });
});
