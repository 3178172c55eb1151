'use strict';

const { describe, it } = require('node:test');
const { equal, ok, refused } = require('../expect');
const { LIMIT, newTable, sharedTable, withServer } = require('../server');

const HOUR = 3600 * 1000;
const DAY = 24 * HOUR;

describe('rules/versions', () => {
  withServer();
  const table = sharedTable({ versions: 3, deviation: 10 * 86400 });
  const now = Date.now() - 1000; // whole second below, so that no case depends on the server's clock by milliseconds

  async function fill(key, stamps) {
    await table.put(key, stamps.map((stamp) => ['c', BigInt(stamp), stamp]));
  }
  const stampsOf = (row) => row && row.cells.map(([, , stamp]) => stamp);

  it('versions come newest first', LIMIT, async () => {
    await fill([1n], [now - 2, now, now - 1]);
    equal(stampsOf(await table.get([1n], { versions: 10 })), [now, now - 1, now - 2]);
  });

  it('only the newest MaxVersions are kept', LIMIT, async () => {
    await fill([2n], [now - 4, now - 3, now - 2, now - 1, now]);
    equal(stampsOf(await table.get([2n], { versions: 10 })), [now, now - 1, now - 2]);
  });

  it('an old version does not push out newer ones', LIMIT, async () => {
    await fill([3n], [now - 2, now - 1, now]);
    await table.update([3n], { put: [['c', 0n, now - 9]] });
    equal(stampsOf(await table.get([3n], { versions: 10 })), [now, now - 1, now - 2]);
  });

  it('a read may ask for fewer versions', LIMIT, async () => {
    await fill([4n], [now - 2, now - 1, now]);
    equal(stampsOf(await table.get([4n], { versions: 2 })), [now, now - 1]);
  });

  it('the limit of versions counts for each column', LIMIT, async () => {
    await table.put([5n], [['a', 1n, now - 1], ['a', 2n, now], ['b', 1n, now - 3], ['b', 2n, now - 2]]);
    const { cells } = await table.get([5n], { versions: 1 });
    equal(cells, [['a', 2n, now], ['b', 2n, now - 2]]);
  });

  it('a time range includes its start and excludes its end', LIMIT, async () => {
    await fill([6n], [now - 2, now - 1, now]);
    const row = await table.get([6n], { versions: 10, time: { startTime: now - 2, endTime: now } });
    equal(stampsOf(row), [now - 1, now - 2]);
  });

  it('time range and number of versions together', LIMIT, async () => {
    await fill([7n], [now - 2, now - 1, now]);
    const row = await table.get([7n], { versions: 1, time: { startTime: now - 2, endTime: now } });
    equal(stampsOf(row), [now - 1]);
  });

  it('one specific time', LIMIT, async () => {
    await fill([8n], [now - 2, now - 1, now]);
    equal(stampsOf(await table.get([8n], { time: { specificTime: now - 1 } })), [now - 1]);
  });

  it('a time range without cells leaves the key', LIMIT, async () => {
    await fill([9n], [now]);
    equal(await table.get([9n], { time: { specificTime: now - 77 } }), { key: [9n], cells: [] });
  });

  it('a time range and columns to get without cells leave no row', LIMIT, async () => {
    await fill([10n], [now]);
    equal(await table.get([10n], { columns: ['c'], time: { specificTime: now - 77 } }), null);
  });

  it('specific time together with start and end is refused', LIMIT, async () => {
    await refused(table.get([1n], { time: { startTime: 1, endTime: 2, specificTime: 1 } }), 400, 'OTSParameterInvalid');
  });

  it('writing one timestamp twice replaces the cell', LIMIT, async () => {
    await table.put([11n], [['c', 'first', now]]);
    await table.update([11n], { put: [['c', 'second', now]] });
    equal((await table.get([11n], { versions: 10 })).cells, [['c', 'second', now]]);
  });

  it('versions may have different types', LIMIT, async () => {
    await table.put([12n], [['c', 1n, now - 2], ['c', 'text', now - 1], ['c', true, now]]);
    equal((await table.get([12n], { versions: 10 })).cells.map(([, value]) => value), [true, 'text', 1n]);
  });

  it('three updates without timestamps make three versions', LIMIT, async () => {
    for (const value of [1n, 2n, 3n]) await table.update([13n], { put: [['c', value]] });
    equal((await table.get([13n], { versions: 10 })).cells.map(([, value]) => value), [3n, 2n, 1n]);
  });

  it('cells of one request without timestamps share theirs', LIMIT, async () => {
    await table.put([14n], [['a', 1n], ['b', 2n]]);
    const [first, second] = stampsOf(await table.get([14n]));
    equal(first, second);
  });

  it('deleting a version that is not there is no error', LIMIT, async () => {
    await fill([15n], [now]);
    await table.update([15n], { remove: [['c', now - 500]] });
    equal(stampsOf(await table.get([15n], { versions: 10 })), [now]);
  });

  it('a deleted version may be written again', LIMIT, async () => {
    await fill([16n], [now - 1, now]);
    await table.update([16n], { remove: [['c', now]] });
    await table.update([16n], { put: [['c', 'again', now]] });
    equal((await table.get([16n], { versions: 1 })).cells, [['c', 'again', now]]);
  });

  it('a deleted column may be written again', LIMIT, async () => {
    await fill([17n], [now - 1, now]);
    await table.update([17n], { removeAll: ['c'] });
    equal((await table.get([17n], { versions: 10 })).cells, [], 'after the deletion');
    await table.update([17n], { put: [['c', 'again', now]] });
    equal((await table.get([17n], { versions: 10 })).cells, [['c', 'again', now]]);
  });

  it('a timestamp outside of the deviation is refused, and so is its row', LIMIT, async () => {
    const narrow = newTable({ deviation: 3600 });
    await narrow.create();
    for (const stamp of [Date.now() - 2 * HOUR, Date.now() + 2 * HOUR]) {
      const put = narrow.put([1n], [['good', 1n], ['late', 1n, stamp]]);
      await refused(put, 400, 'OTSParameterInvalid', 'Invalid timestamp. Cell:late.');
    }
    equal(await narrow.get([1n]), null);
    await narrow.put([1n], [['c', 1n, Date.now() - HOUR / 2]]);
  });

  it('lowering MaxVersions hides the oldest versions at once', LIMIT, async () => {
    const shrinking = newTable({ versions: 5 });
    await shrinking.create();
    await shrinking.put([1n], [0, 1, 2, 3].map((back) => ['c', BigInt(back), now - back]));
    await shrinking.change({ maxVersions: 2 });
    equal((await shrinking.get([1n], { versions: 10 })).cells.map(([, value]) => value), [0n, 1n]);
  });

  it('cells older than the TTL are hidden at once', LIMIT, async () => {
    const expiring = newTable({ ttl: 86400, versions: 5, deviation: 10 * 86400 });
    await expiring.create();
    await expiring.put([1n], [['c', 'fresh', now - HOUR], ['c', 'stale', now - 2 * DAY], ['d', 'stale', now - 3 * DAY]]);
    equal((await expiring.get([1n], { versions: 10 })).cells, [['c', 'fresh', now - HOUR]]);
  });

  it('shortening the TTL hides old cells at once', LIMIT, async () => {
    const expiring = newTable({ deviation: 10 * 86400 });
    await expiring.create();
    await expiring.put([1n], [['new', 1n], ['old', 1n, now - 2 * DAY]]);
    ok('old' in (await expiring.columns([1n])), 'the old cell is there before');
    await expiring.change({ timeToLive: 86400 });
    equal(await expiring.columns([1n]), { new: 1n });
  });
});
