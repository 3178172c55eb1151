'use strict';

const { describe, it } = require('node:test');
const { equal, refused } = require('../expect');
const { LIMIT, sharedTable, withServer } = require('../server');

const TWO_MIB = 2097152;

describe('rules/limits', () => {
  withServer();
  const table = sharedTable();
  const texts = sharedTable({ key: ['STRING'] });
  const bytes = sharedTable({ key: ['BINARY'] });

  it('a STRING of 2 MiB is accepted and one byte more refused', LIMIT, async () => {
    await table.put([1n], [['c', 'x'.repeat(TWO_MIB)]]);
    equal((await table.columns([1n])).c.length, TWO_MIB);
    await refused(table.put([2n], [['c', 'x'.repeat(TWO_MIB + 1)]]), 400,
      'OTSParameterInvalid', "The length of attribute column: 'c' exceeds the MaxLength:2097152 with CurrentLength:2097153.");
    equal(await table.get([2n]), null);
  });

  it('a BINARY of 2 MiB is accepted and one byte more refused', LIMIT, async () => {
    await table.put([3n], [['c', Buffer.alloc(TWO_MIB, 5)]]);
    equal((await table.columns([3n])).c.equals(Buffer.alloc(TWO_MIB, 5)), true);
    await refused(table.update([3n], { put: [['c', Buffer.alloc(TWO_MIB + 1)]] }), 400,
      "The length of attribute column: 'c' exceeds the MaxLength:2097152 with CurrentLength:2097153.");
  });

  it('the limit counts bytes, not letters', LIMIT, () => refused(
    table.put([4n], [['c', '表'.repeat(TWO_MIB / 2)]]), 400, `CurrentLength:${(TWO_MIB / 2) * 3}.`));

  it('key values of 1024 bytes are accepted and of 1025 refused', LIMIT, async () => {
    const text = "The length of primary key column: 'k1' exceeds the MaxLength:1024 with CurrentLength:1025.";
    await texts.put(['x'.repeat(1024)]);
    await refused(texts.put(['x'.repeat(1025)]), 400, 'OTSParameterInvalid', text);
    await bytes.put([Buffer.alloc(1024)]);
    await refused(bytes.put([Buffer.alloc(1025)]), 400, 'OTSParameterInvalid', text);
  });

  it('1024 columns in one write are accepted and 1025 refused', LIMIT, async () => {
    const columns = (count) => Array.from({ length: count }, (_, i) => [`c${String(i).padStart(5, '0')}`, BigInt(i)]);
    await table.put([5n], columns(1024));
    equal((await table.get([5n])).cells.length, 1024);
    await refused(table.put([6n], columns(1025)), 400, 'OTSParameterInvalid',
      'The number of attribute columns exceeds the limit, limit count: 1024, column count: 1025.');
  });

  it('a row grows past 1024 columns by updates', LIMIT, async () => {
    for (const part of [0, 1, 2]) {
      const columns = Array.from({ length: 600 }, (_, i) => [`c${part}_${i}`, BigInt(i)]);
      await table.update([7n], { put: columns });
    }
    equal((await table.get([7n])).cells.length, 1800);
    equal((await table.columns([7n], { columns: ['c2_599'] })), { c2_599: 599n });
  });

  it('a row grows past 4 MB by updates', LIMIT, async () => {
    for (const name of ['a', 'b', 'c']) await table.update([8n], { put: [[name, Buffer.alloc(TWO_MIB, name)]] });
    for (const name of ['a', 'b', 'c']) {
      const found = await table.columns([8n], { columns: [name] });
      equal(found[name].equals(Buffer.alloc(TWO_MIB, name)), true, name);
    }
    await table.put([8n], [['a', 1n]]);
    equal(await table.columns([8n]), { a: 1n }, 'after it was replaced');
  });

  it('a put of more than 4 MB is refused', LIMIT, () => refused(
    table.put([9n], ['a', 'b', 'c'].map((name) => [name, 'x'.repeat(1500000)])), 400,
    'OTSParameterInvalid', 'The total data size of PutRow request exceeds the limit'));

  it('a body of more than 5 MB is 413, not a dropped connection', LIMIT, () => refused(
    table.put([10n], ['a', 'b', 'c', 'd'].map((name) => [name, 'x'.repeat(TWO_MIB)])), 413, 'OTSRequestBodyTooLarge'));

  it('NaN and infinities are refused', LIMIT, async () => {
    for (const value of [NaN, Infinity, -Infinity]) {
      await refused(table.put([11n], [['c', value]]), 400, 'OTSParameterInvalid');
    }
  });
});
