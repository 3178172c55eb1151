'use strict';

const { describe, it } = require('node:test');
const { equal, ok, refused } = require('../expect');
const { LIMIT, client, newTable, sharedTable, withServer } = require('../server');
const { fromSdk } = require('../values');

describe('core/tables', () => {
  withServer();
  const plain = sharedTable({ key: ['STRING', 'INTEGER', 'BINARY'], ttl: 172800, versions: 3, deviation: 1000 });

  it('a created table is listed', LIMIT, async () => {
    const { tableNames } = await client.listTable({});
    ok(tableNames.includes(plain.name), `list contains ${plain.name}`, tableNames);
  });

  it('describe returns the key as it was given', LIMIT, async () => {
    const { tableMeta } = await plain.describe();
    equal(tableMeta.tableName, plain.name);
    equal(tableMeta.primaryKey.map(({ name, type }) => [name, type]), [['k1', 2], ['k2', 1], ['k3', 3]]);
  });

  it('describe returns the options as they were given', LIMIT, async () => {
    const { tableOptions } = await plain.describe();
    equal([tableOptions.timeToLive, tableOptions.maxVersions, fromSdk(tableOptions.deviationCellVersionInSec)], [172800, 3, 1000n]);
  });

  it('describe returns status, throughput and stream state', LIMIT, async () => {
    const { tableStatus, reservedThroughputDetails, streamDetails } = await plain.describe();
    equal(tableStatus, 1, 'status ACTIVE');
    const { read, write } = reservedThroughputDetails.capacityUnit;
    equal([read, write], [0, 0], 'reserved throughput');
    equal(streamDetails.enableStream, false, 'stream');
  });

  it('options that are not given have their defaults', LIMIT, async () => {
    const table = newTable();
    await table.create();
    const { tableOptions } = await table.describe();
    equal(fromSdk(tableOptions.deviationCellVersionInSec), 86400n, 'deviation');
    equal(tableOptions.allowUpdate, true, 'allowUpdate');
  });

  it('update changes what is sent and leaves the rest', LIMIT, async () => {
    const table = newTable({ ttl: 172800, versions: 2 });
    await table.create();
    const answer = await table.change({ maxVersions: 5 });
    equal([answer.tableOptions.timeToLive, answer.tableOptions.maxVersions], [172800, 5], 'answer');
    const { tableOptions } = await table.describe();
    equal([tableOptions.timeToLive, tableOptions.maxVersions], [172800, 5], 'describe');
  });

  it('the answer to update has throughput and stream details', LIMIT, async () => {
    const table = newTable();
    await table.create();
    const answer = await table.change({ maxVersions: 2 });
    ok(answer.reservedThroughputDetails, 'reservedThroughputDetails is there', answer);
    equal(answer.streamDetails.enableStream, false, 'streamDetails.enableStream');
  });

  it('a deleted table is gone from the list, and so are its rows', LIMIT, async () => {
    const table = newTable();
    await table.create();
    await table.put([1n], [['c', 'x']]);
    await table.drop();
    const { tableNames } = await client.listTable({});
    ok(!tableNames.includes(table.name), `list without ${table.name}`, tableNames);
    await table.create();
    equal(await table.get([1n]), null, 'row after the table was made anew');
  });

  it('creating a table twice is 409 OTSObjectAlreadyExist', LIMIT, async () => {
    await refused(plain.create(), 409, 'OTSObjectAlreadyExist', 'Requested table already exists.');
  });

  it('every answer carries a request id', LIMIT, async () => {
    const answer = await plain.describe();
    equal(answer.RequestId.length, 36, 'length of the request id');
  });
});
