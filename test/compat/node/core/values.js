'use strict';

const { describe, it } = require('node:test');
const { equal } = require('../expect');
const { LIMIT, sharedTable, withServer } = require('../server');

const INT64_MAX = 9223372036854775807n;

// name -> value; a bigint is INTEGER, a number DOUBLE
const ATTRIBUTES = {
  'INTEGER zero': 0n,
  'INTEGER minus one': -1n,
  'INTEGER maximum': INT64_MAX,
  'INTEGER minimum': -INT64_MAX - 1n,
  'STRING empty': '',
  'STRING with letters beyond ASCII': 'grün 表格存储 \u{1F980}',
  'STRING with a NUL': 'a\0b',
  'STRING of 100 kB': 'x'.repeat(100000),
  'BINARY empty': Buffer.alloc(0),
  'BINARY with NULs': Buffer.from([0, 1, 0, 255, 0]),
  'BINARY of every byte': Buffer.from(Array.from({ length: 256 }, (_, i) => i)),
  'DOUBLE': 3.141592653589793,
  'DOUBLE zero': 0,
  'DOUBLE negative': -1e-300,
  'DOUBLE largest': Number.MAX_VALUE,
  'BOOLEAN true': true,
  'BOOLEAN false': false,
};

const KEYS = {
  INTEGER: [0n, -1n, INT64_MAX, -INT64_MAX - 1n],
  STRING: ['', 'a', 'grün 表格', 'a\0b', 'x'.repeat(1024)],
  BINARY: [Buffer.alloc(0), Buffer.from([0]), Buffer.from([255, 0, 254]), Buffer.alloc(1024, 7)],
};

describe('core/values', () => {
  withServer();
  const attributes = sharedTable();
  let row = 0n;

  for (const [name, value] of Object.entries(ATTRIBUTES)) {
    it(`${name} is read as it was written`, LIMIT, async () => {
      row += 1n;
      await attributes.put([row], [['c', value]]);
      const { cells } = await attributes.get([row]);
      equal(cells.map(([column, stored]) => [column, stored]), [['c', value]]);
    });
  }

  it('one row holds all types at once', LIMIT, async () => {
    const columns = Object.values(ATTRIBUTES).map((value, i) => [`c${String(i).padStart(2, '0')}`, value]);
    await attributes.put([0n], columns);
    const { cells } = await attributes.get([0n]);
    equal(cells.map(([name, value]) => [name, value]), columns);
  });

  for (const [type, values] of Object.entries(KEYS)) {
    const keyed = sharedTable({ key: [type] });
    it(`${type} keys address their own rows`, LIMIT, async () => {
      for (const [i, value] of values.entries()) {
        await keyed.put([value], [['n', BigInt(i)]]);
      }
      for (const [i, value] of values.entries()) {
        const found = await keyed.get([value]);
        equal([found.key, found.cells[0][1]], [[value], BigInt(i)], `row ${i}`);
      }
    });
  }

  const mixed = sharedTable({ key: ['STRING', 'INTEGER', 'BINARY', 'STRING'] });
  it('a key of four columns of all types', LIMIT, async () => {
    const key = ['表', -5n, Buffer.from([0, 9]), ''];
    await mixed.put(key, [['c', true]]);
    const found = await mixed.get(key);
    equal([found.key, found.cells[0][1]], [key, true]);
    equal(await mixed.get(['表', -5n, Buffer.from([0]), '']), null, 'a key that differs in one byte');
  });
});
