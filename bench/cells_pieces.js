// A value in pieces of 1 MB through the official Node SDK, as clients do today: pieces in columns of one row, and a state
// column {id;done;todo} that every step updates under the condition that it is as the step before left it.
//   NODE_PATH=…/node_modules node bench/cells_pieces.js ENDPOINT FILE
'use strict';
const fs = require('fs');
const TableStore = require('tablestore');
const PIECE = 1000000, PER_CALL = 4;
const client = new TableStore.Client({
  endpoint: process.argv[2], instancename: process.env.WIDEROW_INSTANCE,
  accessKeyId: process.env.WIDEROW_ACCESS_KEY_ID, secretAccessKey: process.env.WIDEROW_ACCESS_KEY_SECRET,
  maxRetries: 0, httpOptions: { timeout: 30000 },
});
const call = (name, params) => new Promise((yes, no) =>
  client[name](params, (err, data) => (err ? no(err) : yes(data))));
const key = [{ pk: 'node' }];

function step(was, columns) {
  const column = was === null ? null : new TableStore.SingleColumnCondition('state', was, TableStore.ComparatorType.EQUAL, false);
  return call('updateRow', {
    tableName: 't', primaryKey: key, updateOfAttributeColumns: [{ PUT: columns }],
    condition: new TableStore.Condition(TableStore.RowExistenceExpectation.IGNORE, column),
  });
}

async function put(value, id) {
  const count = Math.ceil(value.length / PIECE);
  let was = `{${id};0;${count}}`;
  await step(null, [{ state: was }]);
  for (let at = 0; at < count; at += PER_CALL) {
    const columns = [], end = Math.min(at + PER_CALL, count);
    for (let i = at; i < end; i++) columns.push({ [`${id}.${i}`]: value.subarray(i * PIECE, (i + 1) * PIECE) });
    const next = `{${id};${end};${count - end}}`;
    columns.push({ state: next });
    await step(was, columns);
    was = next;
  }
}

async function get() {
  const read = (columns) => call('getRow', { tableName: 't', primaryKey: key, maxVersions: 1, columnsToGet: columns });
  const [id, done, todo] = (await read(['state'])).row.attributes[0].columnValue.slice(1, -1).split(';');
  if (todo !== '0') throw new Error('not whole');
  const pieces = [];
  for (let at = 0; at < +done; at += PER_CALL) {
    const names = [];
    for (let i = at; i < Math.min(at + PER_CALL, +done); i++) names.push(`${id}.${i}`);
    const found = new Map((await read(names)).row.attributes.map((a) => [a.columnName, a.columnValue]));
    for (const name of names) pieces.push(found.get(name));
  }
  return Buffer.concat(pieces);
}

(async () => {
  const value = fs.readFileSync(process.argv[3]);
  const line = (name, from) => {
    const s = Number(process.hrtime.bigint() - from) / 1e9;
    console.log(`${name.padEnd(46)} ${s.toFixed(2).padStart(9)} s ${(value.length / 1e6 / s).toFixed(1).padStart(9)} MB/s`);
  };
  let from = process.hrtime.bigint();
  await put(value, Date.now().toString(16));
  line('32 MB, pieces of 1 MB through the Node SDK, put', from);
  from = process.hrtime.bigint();
  const back = await get();
  line('32 MB, pieces of 1 MB through the Node SDK, get', from);
  if (!back.equals(value)) throw new Error('the value that came back is another one');
})().catch((err) => { console.error(err); process.exit(1); });
