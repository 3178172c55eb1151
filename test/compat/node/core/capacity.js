'use strict';

const { describe, it } = require('node:test');
const { equal } = require('../expect');
const { LIMIT, sharedTable, withServer } = require('../server');
const { Table, cost } = require('../table');

// A key column k1 of type INTEGER counts 10 bytes, a column c its name and its value.
const OVERHEAD = 11;

describe('core/capacity', () => {
  withServer();
  const table = sharedTable();

  it('a small put costs one write unit', LIMIT, async () => {
    equal(cost(await table.put([1n], [['c', 'x']])), [0, 1]);
  });

  it('a put with an existence check also costs a read unit', LIMIT, async () => {
    equal(cost(await table.put([2n], [['c', 'x']], { expect: 'EXPECT_NOT_EXIST' })), [1, 1]);
  });

  it('a small update costs one write unit', LIMIT, async () => {
    equal(cost(await table.update([3n], { put: [['c', 'x']] })), [0, 1]);
  });

  it('a delete costs one write unit', LIMIT, async () => {
    equal(cost(await table.remove([4n])), [0, 1]);
  });

  it('reading a small row costs one read unit', LIMIT, async () => {
    await table.put([5n], [['c', 'x']]);
    equal(await table.getCost([5n]), [1, 0]);
  });

  it('reading an absent row costs one read unit', LIMIT, async () => {
    equal(await table.getCost([404n]), [1, 0]);
  });

  it('4096 bytes are one unit, 4097 are two', LIMIT, async () => {
    equal(cost(await table.put([6n], [['c', 'x'.repeat(4096 - OVERHEAD)]])), [0, 1], 'put of 4096');
    equal(await table.getCost([6n]), [1, 0], 'get of 4096');
    equal(cost(await table.put([7n], [['c', 'x'.repeat(4097 - OVERHEAD)]])), [0, 2], 'put of 4097');
    equal(await table.getCost([7n]), [2, 0], 'get of 4097');
  });

  it('only the columns read are charged', LIMIT, async () => {
    await table.put([8n], [['big', 'x'.repeat(9000)], ['c', 'x']]);
    equal(await table.getCost([8n], { columns: ['c'] }), [1, 0]);
  });

  it('a range is rounded up once, not for each row', LIMIT, async () => {
    for (let i = 100n; i < 110n; i += 1n) await table.put([i], [['c', 'x'.repeat(1000)]]);
    equal((await table.page([100n], [110n])).cost, [3, 0]);
    equal((await table.page([5000n], [6000n])).cost, [1, 0], 'empty range');
  });

  it('a batch charges each row by itself', LIMIT, async () => {
    const results = await table.write([
      Table.putItem(table, [201n], [['c', 'x']]), Table.putItem(table, [202n], [['c', 'x'.repeat(5000)]]),
    ]);
    equal(results.map((result) => result.cost), [[0, 1], [0, 2]]);
    const read = await table.batchGet([[201n], [202n], [999n]]);
    equal(read.map((result) => result.cost), [[1, 0], [2, 0], [1, 0]]);
  });
});
