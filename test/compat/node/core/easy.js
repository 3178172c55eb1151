'use strict';

// easy-tablestore: a library for Node.js that others built on the SDK, unmodified.
const { before, describe, it } = require('node:test');
const { default: EasyTableStore, TS } = require('easy-tablestore');
const TableStore = require('tablestore');
const { equal, ok } = require('../expect');
const { LIMIT, client, newTable, withServer } = require('../server');

const { FieldType } = TableStore;

describe('core/easy', () => {
  withServer();

  let table;
  let easy;

  before(async () => {
    table = newTable({ key: ['STRING', 'INTEGER'] });
    await table.create();
    easy = new EasyTableStore({
      endpoint: process.env.WIDEROW_ENDPOINT, instancename: process.env.WIDEROW_INSTANCE, accessKeyId: process.env.WIDEROW_ACCESS_KEY_ID,
      accessKeySecret: process.env.WIDEROW_ACCESS_KEY_SECRET, prefix: table.name.slice(0, 5),
    });
  }, LIMIT);

  it('rows are put, read, walked, changed and deleted as objects', LIMIT, async () => {
    const name = table.name.slice(5);
    for (let i = 0; i < 3; i += 1) await easy.putRow(name, { k1: 'a', k2: i }, { word: `w${i}`, n: i });
    const row = await easy.getRow(name, { k1: 'a', k2: 1 });
    equal([row.k1, Number(row.k2), row.word], ['a', 1, 'w1']);
    equal(await easy.getRow(name, [{ k1: 'a' }, { k2: 9 }]), null);
    const rows = await easy.getRows(name, { k1: 'a', k2: TS.INF_MIN }, { k1: 'a', k2: TS.INF_MAX });
    equal(rows.map((r) => r.word), ['w0', 'w1', 'w2']);
    await easy.updateRow(name, { k1: 'a', k2: 1 }, [{ PUT: [{ word: 'changed' }] }]);
    equal((await easy.getRow(name, { k1: 'a', k2: 1 })).word, 'changed');
    await easy.deleteRow(name, { k1: 'a', k2: 0 });
    equal(await easy.getRow(name, { k1: 'a', k2: 0 }), null);
  });

  it('rows are found by terms', LIMIT, async (t) => {
    const name = table.name.slice(5);
    const schema = { fieldSchemas: [{ fieldName: 'word', fieldType: FieldType.KEYWORD, index: true, enableSortAndAgg: true }] };
    const made = await client.createSearchIndex({ tableName: table.name, indexName: table.name.slice(0, 5) + 'ix', schema }).catch((err) => {
      if (!String(err.message).includes('OTSUnsupportOperation')) throw err;
    });
    if (!made) {
      t.skip('the server keeps no search indexes');
      return;
    }
    try {
      await easy.putRow(name, { k1: 'b', k2: 1 }, { word: 'needle' });
      let found = [];
      for (let tries = 0; tries < 400 && !found.length; tries += 1) {
        found = await easy.searchByTerms(name, 'ix', { word: 'needle' });
        if (!found.length) await new Promise((resolve) => { setTimeout(resolve, 50); });
      }
      ok(found.length === 1 && found[0].k1 === 'b', 'the row', found);
    } finally {
      await client.deleteSearchIndex({ tableName: table.name, indexName: table.name.slice(0, 5) + 'ix' });
    }
  });

});
