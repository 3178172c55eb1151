'use strict';

// Five purchases under five kinds of key, each table printed in the order that its key gives.
//
// Text keys sort byte by byte. What joins two parts of a key, and how long the parts are, therefore decides the order:
//   - 16 and 167 joined with ':' come out as 167: then 16:, because '7' is 0x37 and ':' is 0x3A;
//   - zeros in front of the device make that right, but a100 and a1001 still come out as a1001: then a100:;
//   - ',' is 0x2C, below every digit and letter, so a shorter part comes first, as one expects;
//   - a hash in front spreads the rows over the whole range of keys, and so gives up their order.

const crypto = require('crypto');
const TableStore = require('tablestore');
const { connect, readRange, report, prefix, toSdk } = require('./tables');

const RECORDS = [
  { OrderNumber: 200001, DeviceID: 16, SellerID: 'a100', CardID: 66661 },
  { OrderNumber: 200002, DeviceID: 167, SellerID: 'a101', CardID: 283408 },
  { OrderNumber: 200003, DeviceID: 54, SellerID: 'a100', CardID: 6777 },
  { OrderNumber: 200004, DeviceID: 54, SellerID: 'a1001', CardID: 6777 },
  { OrderNumber: 200005, DeviceID: 167, SellerID: 'a101', CardID: 66661 },
];

const splice = (connector, digits) => ({ OrderNumber, DeviceID, SellerID, CardID }) =>
  [String(DeviceID).padStart(digits, '0'), SellerID, CardID, OrderNumber].join(connector);

// The digits with a line end behind them, as `echo 200001 | md5sum` has it.
const hashPrefix = ({ OrderNumber }) =>
  crypto.createHash('md5').update(`${OrderNumber}\n`).digest('hex').slice(0, 4) + OrderNumber;

const TABLES = [
  { name: 'plain', what: 'a plain integer', key: (record) => record.OrderNumber,
    order: [200001, 200002, 200003, 200004, 200005] },
  { name: 'colon', what: "joined with ':'", key: splice(':', 0),
    order: [200002, 200005, 200001, 200004, 200003] },
  { name: 'colon_padded', what: "joined with ':', devices padded", key: splice(':', 6),
    order: [200001, 200004, 200003, 200002, 200005] },
  { name: 'comma_padded', what: "joined with ',', devices padded", key: splice(',', 6),
    order: [200001, 200003, 200004, 200002, 200005] },
  { name: 'hash', what: 'behind a hash', key: hashPrefix,
    order: [200004, 200003, 200005, 200002, 200001] },
];

const client = connect();

async function build(table) {
  const tableName = `${prefix}_small_${table.name}`;
  const type = typeof table.key(RECORDS[0]) === 'number' ? 'INTEGER' : 'STRING';
  await client.deleteTable({ tableName }).catch((err) => {
    if (err.code !== 404) throw err; // there was none
  });
  await client.createTable({
    tableMeta: { tableName, primaryKey: [{ name: 'Key', type }] },
    reservedThroughput: { capacityUnit: { read: 0, write: 0 } },
    tableOptions: { timeToLive: -1, maxVersions: 1 },
  });
  for (const record of RECORDS) {
    await client.putRow({
      tableName,
      condition: new TableStore.Condition(TableStore.RowExistenceExpectation.IGNORE, null),
      primaryKey: [{ Key: toSdk(table.key(record)) }],
      attributeColumns: Object.entries(record).map(([name, value]) => ({ [name]: toSdk(value) })),
    });
  }
  return tableName;
}

async function main() {
  for (const table of TABLES) {
    const rows = [];
    for await (const row of readRange(client, await build(table), ['Key'], {})) rows.push(row);
    console.log(`\n${table.what}:`);
    for (const row of rows) console.log(`  ${row.Key}`);
    const order = rows.map((row) => row.OrderNumber);
    const right = String(order) === String(table.order) && rows.every((row) => row.Key === table.key(row));
    report(`small table, ${table.what}`, right ? '' : `order ${order}, not ${table.order}`);
  }
}

main().catch((err) => report('small tables', err.message));
