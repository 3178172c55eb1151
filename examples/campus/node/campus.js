'use strict';

// Reads the three campus tables back and compares every row with the file they were loaded from.
//
//   node campus.js campus.csv

const fs = require('fs');
const { connect, readRange, report, prefix } = require('./tables');

const CARDS = { name: `${prefix}_by_card`, key: ['CardID', 'SellerID', 'DeviceID', 'OrderNumber'] };
const DEVICES = { name: `${prefix}_by_device`, key: ['DeviceID', 'OrderNumber'] };
const SELLERS = { name: `${prefix}_by_seller`, key: ['SellerID', 'time', 'DeviceID', 'OrderNumber'] };
const COLUMNS = ['CardID', 'SellerID', 'DeviceID', 'OrderNumber', 'amount', 'time'];

const client = connect();

function readRecords(file) {
  const lines = fs.readFileSync(file, 'latin1').split('\n').slice(1);
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => {
    const [card, seller, device, order, amount, time] = line.split(',');
    return { CardID: +card, SellerID: seller, DeviceID: +device, OrderNumber: +order, amount: +amount, time };
  });
}

// Key order: column by column, numbers as numbers, text byte by byte.
function inOrderOf({ key }, records) {
  return records.slice().sort((a, b) => {
    const column = key.find((name) => a[name] !== b[name]);
    return column === undefined ? 0 : a[column] < b[column] ? -1 : 1;
  });
}

// Compares the rows of a range with the records that should be in it. -> how many rows, or throws.
async function compare(table, range, expected) {
  let count = 0;
  for await (const row of readRange(client, table.name, table.key, range)) {
    const record = expected[count++];
    if (!record || COLUMNS.some((name) => row[name] !== record[name])) {
      throw new Error(`row ${count} is ${JSON.stringify(row)}, not ${JSON.stringify(record)}`);
    }
  }
  if (count !== expected.length) throw new Error(`${count} rows, not ${expected.length}`);
  return count;
}

// Runs a check and prints what came of it, with the rows that it read.
async function check(what, run) {
  const start = Date.now();
  try {
    const count = await run();
    report(`${what}: ${count.toLocaleString('en')} rows in ${((Date.now() - start) / 1000).toFixed(1)} s`);
  } catch (err) {
    report(what, err.message);
  }
}

// The whole table, cut into ranges of the first key column that are read at the same time.
async function wholeTable(table, sorted, ranges) {
  const column = table.key[0];
  const parts = [];
  for (let start = 0; start < sorted.length;) {
    let end = Math.min(start + Math.ceil(sorted.length / ranges), sorted.length);
    while (end < sorted.length && sorted[end][column] === sorted[end - 1][column]) end += 1;
    // The first and the last range are open, so that rows nobody expects are found too.
    const range = {
      first: start === 0 ? [] : [sorted[start][column]],
      last: end === sorted.length ? [] : [sorted[end - 1][column]],
    };
    parts.push(compare(table, range, sorted.slice(start, end)));
    start = end;
  }
  return (await Promise.all(parts)).reduce((sum, count) => sum + count, 0);
}

// The records of each value of the first key column: [[value, records], ...].
function groupByFirstColumn(table, sorted) {
  const groups = new Map();
  for (const record of sorted) {
    const value = record[table.key[0]];
    if (!groups.has(value)) groups.set(value, []);
    groups.get(value).push(record);
  }
  return [...groups];
}

// All rows of a value of the first key column; of at most `count` values, spread over the table.
async function someValues(table, sorted, count) {
  const groups = groupByFirstColumn(table, sorted);
  const step = Math.ceil(groups.length / count);
  let rows = 0;
  for (let i = 0; i < groups.length; i += step) {
    const [value, expected] = groups[i];
    rows += await compare(table, { first: [value], last: [value] }, expected);
  }
  return rows;
}

// The newest `limit` rows of every value of the first key column, newest first.
async function newestFirst(table, sorted, limit) {
  let rows = 0;
  for (const [value, expected] of groupByFirstColumn(table, sorted)) {
    const newest = expected.slice(-limit).reverse();
    rows += await compare(table, { first: [value], last: [value], backward: true, limit }, newest);
  }
  return rows;
}

async function main() {
  const records = readRecords(process.argv[2]);

  const byCard = inOrderOf(CARDS, records);
  await check('by card, the whole table in ranges of CardID', () => wholeTable(CARDS, byCard, 8));
  await check('by card, all purchases of one card', () => someValues(CARDS, byCard, 100));

  const byDevice = inOrderOf(DEVICES, records);
  await check('by device, the whole table in ranges of DeviceID', () => wholeTable(DEVICES, byDevice, 8));
  await check('by device, the 100 newest of each, newest first', () => newestFirst(DEVICES, byDevice, 100));

  const bySeller = inOrderOf(SELLERS, records);
  await check('by seller, the 1,000 newest of each, newest first', () => newestFirst(SELLERS, bySeller, 1000));
}

main().catch((err) => report('reading the tables back', err.message));
