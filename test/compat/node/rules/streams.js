'use strict';

const { describe, it } = require('node:test');
const { equal, ok } = require('../expect');
const { LIMIT, newTable, withServer } = require('../server');

const ON = { enableStream: true, expirationTime: 24 };

describe('rules/streams', () => {
  withServer();
  it('a stream asked for at creation is described', LIMIT, async () => {
    const table = newTable({ stream: ON });
    await table.create();
    const { streamDetails } = await table.describe();
    equal([streamDetails.enableStream, streamDetails.expirationTime], [true, 24]);
    ok(streamDetails.streamId.length > 0, 'a stream id', streamDetails);
    ok(Number(streamDetails.lastEnableTime) > 1.6e15, 'time of enabling in microseconds', Number(streamDetails.lastEnableTime));
  });

  it('a stream is turned on and off again by update', LIMIT, async () => {
    const table = newTable();
    await table.create();
    const on = await table.change({}, { streamSpecification: ON });
    equal([on.streamDetails.enableStream, on.streamDetails.expirationTime], [true, 24], 'answer to turning it on');
    equal((await table.describe()).streamDetails.enableStream, true, 'described as on');
    const off = await table.change({}, { streamSpecification: { enableStream: false } });
    equal(off.streamDetails.enableStream, false, 'answer to turning it off');
    equal((await table.describe()).streamDetails.enableStream, false, 'described as off');
  });

  it('a table with a stream takes writes as any other', LIMIT, async () => {
    const table = newTable({ stream: ON });
    await table.create();
    await table.put([1n], [['a', 1n]]);
    await table.update([1n], { put: [['b', 2n]] });
    equal(await table.columns([1n]), { a: 1n, b: 2n });
    await table.remove([1n]);
    equal(await table.get([1n]), null);
  });
});
