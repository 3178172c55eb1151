'use strict';

const { equal, ok, refused } = require('../expect');
const { fromSdk } = require('../values');

module.exports = (suite) => {
  const plain = suite.table({ key: ['STRING', 'INTEGER', 'BINARY'], ttl: 172800, versions: 3, deviation: 1000 });

  suite.case('a created table is listed', async () => {
    const { tableNames } = await suite.client.listTable({});
    ok(tableNames.includes(plain.name), `list contains ${plain.name}`, tableNames);
  });

  suite.case('describe returns the key as it was given', async () => {
    const { tableMeta } = await plain.describe();
    equal(tableMeta.tableName, plain.name);
    equal(tableMeta.primaryKey.map(({ name, type }) => [name, type]), [['k1', 2], ['k2', 1], ['k3', 3]]);
  });

  suite.case('describe returns the options as they were given', async () => {
    const { tableOptions } = await plain.describe();
    equal([tableOptions.timeToLive, tableOptions.maxVersions, fromSdk(tableOptions.deviationCellVersionInSec)], [172800, 3, 1000n]);
  });

  suite.case('describe returns status, throughput and stream state', async () => {
    const { tableStatus, reservedThroughputDetails, streamDetails } = await plain.describe();
    equal(tableStatus, 1, 'status ACTIVE');
    const { read, write } = reservedThroughputDetails.capacityUnit;
    equal([read, write], [0, 0], 'reserved throughput');
    equal(streamDetails.enableStream, false, 'stream');
  });

  suite.case('options that are not given have their defaults', async () => {
    const table = suite.newTable();
    await table.create();
    const { tableOptions } = await table.describe();
    equal(fromSdk(tableOptions.deviationCellVersionInSec), 86400n, 'deviation');
    equal(tableOptions.allowUpdate, true, 'allowUpdate');
  });

  suite.case('update changes what is sent and leaves the rest', async () => {
    const table = suite.newTable({ ttl: 172800, versions: 2 });
    await table.create();
    const answer = await table.change({ maxVersions: 5 });
    equal([answer.tableOptions.timeToLive, answer.tableOptions.maxVersions], [172800, 5], 'answer');
    const { tableOptions } = await table.describe();
    equal([tableOptions.timeToLive, tableOptions.maxVersions], [172800, 5], 'describe');
  });

  suite.case('the answer to update has throughput and stream details', async () => {
    const table = suite.newTable();
    await table.create();
    const answer = await table.change({ maxVersions: 2 });
    ok(answer.reservedThroughputDetails, 'reservedThroughputDetails is there', answer);
    equal(answer.streamDetails.enableStream, false, 'streamDetails.enableStream');
  });

  suite.case('a deleted table is gone from the list, and so are its rows', async () => {
    const table = suite.newTable();
    await table.create();
    await table.put([1n], [['c', 'x']]);
    await table.drop();
    const { tableNames } = await suite.client.listTable({});
    ok(!tableNames.includes(table.name), `list without ${table.name}`, tableNames);
    await table.create();
    equal(await table.get([1n]), null, 'row after the table was made anew');
  });

  suite.case('creating a table twice is 409 OTSObjectAlreadyExist', async () => {
    await refused(plain.create(), 409, 'OTSObjectAlreadyExist', 'Requested table already exists.');
  });

  suite.case('every answer carries a request id', async () => {
    const answer = await plain.describe();
    equal(answer.RequestId.length, 36, 'length of the request id');
  });
};
