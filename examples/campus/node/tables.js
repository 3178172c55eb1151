'use strict';

// What both programs need: a client, and rows as plain objects.

const fs = require('fs');
const path = require('path');
const TableStore = require('tablestore');

const { Long, INF_MIN, INF_MAX } = TableStore;

// Where the server is: the environment says, or the folder that widerowd keeps its data in.
function connect() {
  const env = process.env;
  let [instance, id, secret] = [env.WIDEROW_INSTANCE, env.WIDEROW_ACCESS_KEY_ID, env.WIDEROW_ACCESS_KEY_SECRET];
  if (!id) {
    const file = path.join(env.WIDEROW_DATA || 'data', 'credentials');
    const lines = fs.readFileSync(file, 'utf8').split('\n').filter((line) => !line.startsWith('#'));
    [instance, id, secret] = lines[0].split(' ');
  }
  return new TableStore.Client({
    endpoint: env.WIDEROW_ENDPOINT || 'http://127.0.0.1:8600',
    instancename: instance,
    accessKeyId: id,
    secretAccessKey: secret,
  });
}

// The SDK has its own class for integers; a plain JavaScript number is stored as a double.
const toSdk = (value) => (Number.isInteger(value) ? Long.fromNumber(value) : value);
const fromSdk = (value) => (value !== null && typeof value === 'object' && value.toNumber ? value.toNumber() : value);

// { CardID: 1, amount: 2.5 } of a row.
function toObject(row) {
  const object = {};
  for (const { name, value } of row.primaryKey) object[name] = fromSdk(value);
  for (const { columnName, columnValue } of row.attributes) object[columnName] = fromSdk(columnValue);
  return object;
}

// The rows whose key begins with a value from `first` to `last`, in key order, or from last to first with `backward`.
// Both are arrays with values for the first key columns: [5] is all of device 5. The server answers in pages and says
// where the next one starts.
async function* readRange(client, tableName, keyColumns, { first = [], last = [], backward = false, limit = Infinity }) {
  const bound = (values, open) => keyColumns.map((name, i) => ({ [name]: i < values.length ? toSdk(values[i]) : open }));
  const [low, high] = [bound(first, INF_MIN), bound(last, INF_MAX)];
  let start = backward ? high : low;
  let left = limit;
  while (start && left > 0) {
    const page = await client.getRange({
      tableName,
      direction: backward ? TableStore.Direction.BACKWARD : TableStore.Direction.FORWARD,
      inclusiveStartPrimaryKey: start,
      exclusiveEndPrimaryKey: backward ? low : high,
      limit: Math.min(left, 5000),
      maxVersions: 1,
    });
    for (const row of page.rows) yield toObject(row);
    left -= page.rows.length;
    start = page.nextStartPrimaryKey && page.nextStartPrimaryKey.map(({ name, value }) => ({ [name]: value }));
  }
}

// Tables of this example begin with this.
const prefix = process.env.CAMPUS_PREFIX || 'campus';

// Prints "ok" or "FAIL" for one check; a failed one makes the program's exit code 1.
function report(what, problem = '') {
  problem = problem.replace(/[^ -~]+/g, ' ').trim(); // the SDK's messages are the bytes that the server sent
  console.log(problem ? `FAIL ${what}: ${problem}` : `ok   ${what}`);
  if (problem) process.exitCode = 1;
}

module.exports = { connect, readRange, report, prefix, toSdk };
