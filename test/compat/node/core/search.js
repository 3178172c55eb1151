'use strict';

const { after, before, describe, it } = require('node:test');
const TableStore = require('tablestore');
const { equal, ok, refused } = require('../expect');
const { LIMIT, client, newTable, withServer } = require('../server');

const { QueryType, AggregationType, GroupByType, ColumnReturnType, FieldType, SortOrder } = TableStore;
const INDEX = 'ix';
const ROWS = 20;
const LONG_LIMIT = { timeout: 60000 };
const ALL = { queryType: QueryType.MATCH_ALL_QUERY };

const { Long } = TableStore;
const term = (fieldName, value) => ({ queryType: QueryType.TERM_QUERY, query: { fieldName, term: value } });

describe('core/search', () => {
  withServer();

  let table;
  let none = false; // a server over a pool keeps no search indexes

  const on = (name, run) => it(name, LIMIT, (t) => (none ? t.skip('the server keeps no search indexes') : run()));

  async function search(searchQuery, columnToGet = { returnType: ColumnReturnType.RETURN_NONE }) {
    return client.search({
      tableName: table.name, indexName: INDEX, columnToGet, searchQuery: { query: ALL, getTotalCount: true, ...searchQuery },
    });
  }

  const numbers = (answer) => answer.rows.map((row) => row.primaryKey[0].value.toNumber());

  // Nothing tells when a write is found but a search that finds it.
  async function settle() {
    for (let tries = 0; tries < 400; tries += 1) {
      const { totalCounts } = await search({ limit: 0 });
      if (totalCounts === String(ROWS)) return;
      await new Promise((resolve) => { setTimeout(resolve, 100); });
    }
    throw new Error('the rows are not found');
  }

  before(async () => {
    table = newTable();
    await table.create();
    const field = (fieldName, fieldType, more = {}) => ({ fieldName, fieldType, index: true, enableSortAndAgg: true, store: true, ...more });
    const created = client.createSearchIndex({
      tableName: table.name,
      indexName: INDEX,
      schema: {
        fieldSchemas: [field('k', FieldType.KEYWORD), field('l', FieldType.LONG), field('d', FieldType.DOUBLE), field('g', FieldType.GEO_POINT),
          { fieldName: 't', fieldType: FieldType.TEXT, index: true, store: true }],
      },
    });
    await created.catch((err) => {
      none = String(err.message).includes('OTSUnsupportOperation');
      if (!none) throw err;
    });
    if (none) return;
    for (let i = 0; i < ROWS; i += 1) {
      await table.put([BigInt(i)], [['k', `k${i % 4}`], ['l', BigInt(i)], ['d', i + 0.5], ['g', `30.${i},120.${i}`], ['t', `row ${i}`]]);
    }
    await settle();
  }, LONG_LIMIT);

  after(() => none || client.deleteSearchIndex({ tableName: table.name, indexName: INDEX }), LIMIT);

  on('an index is listed and described', async () => {
    const { indices } = await client.listSearchIndex({ tableName: table.name });
    equal(indices.map((index) => index.indexName), [INDEX]);
    const answer = await client.describeSearchIndex({ tableName: table.name, indexName: INDEX });
    equal(answer.schema.fieldSchemas.map((f) => f.fieldName), ['k', 'l', 'd', 'g', 't']);
    equal(answer.indexStatus.status, 'running');
    equal(answer.timeToLive, -1);
  });

  on('queries', async () => {
    equal(numbers(await search({ query: term('l', Long.fromNumber(7)) })), [7]);
    equal(numbers(await search({ query: term('k', 'k1') })), [1, 5, 9, 13, 17]);
    equal(numbers(await search({ query: { queryType: QueryType.MATCH_QUERY, query: { fieldName: 't', text: '3' } } })), [3]);
    const range = { queryType: QueryType.RANGE_QUERY, query: { fieldName: 'l', rangeFrom: 17, includeLower: true } };
    equal(numbers(await search({ query: range })), [17, 18, 19]);
    const both = { queryType: QueryType.BOOL_QUERY, query: { mustQueries: [term('k', 'k1')], mustNotQueries: [range], minimumShouldMatch: 0 } };
    equal(numbers(await search({ query: both })), [1, 5, 9, 13]);
  });

  on('weights do not change what is found', async () => {
    const weighted = { queryType: QueryType.TERM_QUERY, query: { fieldName: 'k', term: 'k2', weight: 123.11 } };
    const query = { queryType: QueryType.BOOL_QUERY, query: { shouldQueries: [weighted, weighted], minimumShouldMatch: 0 } };
    equal((await search({ query, limit: 1 })).totalCounts, '5');
  });

  on('columns', async () => {
    const row = async (columnToGet) => (await search({ query: term('l', Long.fromNumber(1)) }, columnToGet)).rows[0].attributes.map((a) => a.columnName);
    equal(await row({ returnType: ColumnReturnType.RETURN_NONE, returnNames: ['k'] }), []);
    equal(await row({ returnType: ColumnReturnType.RETURN_SPECIFIED, returnNames: ['k'] }), ['k']);
    equal(await row({ returnType: ColumnReturnType.RETURN_ALL, returnNames: ['k'] }), ['d', 'g', 'k', 'l', 't']);
  });

  on('pages', async () => {
    const sort = { sorters: [{ fieldSort: { fieldName: 'l', order: SortOrder.SORT_ORDER_DESC } }] };
    const found = [];
    let answer = await search({ sort, limit: 6 });
    for (;;) {
      found.push(...numbers(answer));
      equal(answer.totalCounts, String(ROWS));
      if (!answer.nextToken || !answer.nextToken.length) break;
      answer = await search({ token: answer.nextToken, limit: 6 });
    }
    equal(found, Array.from({ length: ROWS }, (_, i) => ROWS - 1 - i));
  });

  on('many aggregations and groups in one request', async () => {
    const one = (name, type, body = { fieldName: 'l' }) => ({ name, type: AggregationType[type], body });
    const group = (name, type, body) => ({ name, type: GroupByType[type], body });
    const answer = await search({
      limit: 0,
      aggs: {
        aggs: [one('max', 'AGG_MAX'), one('min', 'AGG_MIN'), one('sum', 'AGG_SUM'), one('avg', 'AGG_AVG'), one('count', 'AGG_COUNT'),
          one('distinct', 'AGG_DISTINCT_COUNT', { fieldName: 'k' }), one('percentiles', 'AGG_PERCENTILES', { fieldName: 'l', percentiles: [0, 100] }),
          one('top', 'AGG_TOP_ROWS', { limit: 2, sort: { sorters: [{ primaryKeySort: { order: SortOrder.SORT_ORDER_DESC } }] } })],
      },
      groupBys: {
        groupBys: [
          group('field', 'GROUP_BY_FIELD', { fieldName: 'k', size: 3, sort: { sorters: [{ groupKeySort: { order: SortOrder.SORT_ORDER_DESC } }] },
            subAggs: { aggs: [one('max', 'AGG_MAX')] },
            subGroupBys: { groupBys: [group('range', 'GROUP_BY_RANGE', { fieldName: 'l', ranges: [{ from: 0, to: 10 }, { from: 10, to: 100 }] })] } }),
          group('range', 'GROUP_BY_RANGE', { fieldName: 'd', ranges: [{ from: 0, to: 3 }, { from: 3, to: 20 }] }),
          group('filter', 'GROUP_BY_FILTER', { filters: [term('k', 'k0'), term('l', Long.fromNumber(1))] }),
          group('distance', 'GROUP_BY_GEO_DISTANCE', { fieldName: 'g', origin: { lat: 30, lon: 120 }, ranges: [{ from: 0, to: 1e7 }] }),
          group('histogram', 'GROUP_BY_HISTOGRAM', { fieldName: 'l', interval: 10, fieldRange: { min: 0, max: 19 } }),
        ],
      },
    });
    equal(answer.aggs.aggResults.map((a) => a.name), ['max', 'min', 'sum', 'avg', 'count', 'distinct', 'percentiles', 'top']);
    equal(answer.groupBys.groupByResults.map((g) => g.name), ['field', 'range', 'filter', 'distance', 'histogram']);
    ok(answer.rows.length === 0, 'no rows', answer.rows);
  });

  on('composite groups end', async () => {
    const source = { name: 's', type: GroupByType.GROUP_BY_FIELD, body: { fieldName: 'k' } };
    let [groups, nextToken] = [0, undefined];
    for (let pages = 0; pages < 10; pages += 1) {
      const body = { sources: { groupBys: [source] }, size: 3, nextToken };
      const answer = await search({ limit: 0, groupBys: { groupBys: [{ name: 'c', type: GroupByType.GROUP_BY_COMPOSITE, body }] } });
      const result = answer.groupBys.groupByResults[0].groupByResult || answer.groupBys.groupByResults[0];
      groups += (result.items || result.groupByCompositeResultItems || []).length;
      ({ nextToken } = result);
      if (!nextToken) break;
    }
    equal(groups, 4);
  });

  on('a scan gives every row once', async () => {
    const { sessionId, splitsSize } = await client.computeSplits({ tableName: table.name, searchIndexSplitsOptions: { indexName: INDEX } });
    equal(splitsSize, 1);
    const found = [];
    let token;
    do {
      const answer = await client.parallelScan({
        tableName: table.name, indexName: INDEX, sessionId, columnToGet: { returnType: ColumnReturnType.RETURN_SPECIFIED, returnNames: ['l'] },
        scanQuery: { query: ALL, limit: 3, aliveTime: 30, token, currentParallelId: 0, maxParallel: 1 },
      });
      found.push(...numbers(answer));
      token = answer.nextToken;
    } while (token && token.length);
    equal(found.sort((a, b) => a - b), Array.from({ length: ROWS }, (_, i) => i));
  });

  on('what is not there', async () => {
    await refused(client.computeSplits({ tableName: table.name, searchIndexSplitsOptions: { indexName: 'none' } }), 400,
      'OTSMetaNotMatch', 'search index [none] does not exist');
    await refused(search({ query: term('nothing', 'x') }), 400, 'OTSParameterInvalid');
  });
});
