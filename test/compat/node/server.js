'use strict';

// The server under test, tables of the cases' own on it, and what a case may take.

const { after, before } = require('node:test');
const TableStore = require('tablestore');
const { Table } = require('./table');

// The limit of each case and hook: a request whose connection was dropped in the middle of an answer never ends in this SDK.
const LIMIT = { timeout: 20000 };

const PREFIX = `compat_n_${process.pid}_${Math.random().toString(36).slice(2, 8)}`;

const TABLE_OPERATIONS = ['createTable', 'updateTable', 'deleteTable', 'describeTable', 'listTable'];

// Servers pace table operations. The SDK is told not to retry, so that is done here, for this one reason.
async function paced(call) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (err) {
      if (tries === 50 || !String(err.message).includes('Too frequent table operations.')) throw err;
      await new Promise((resolve) => { setTimeout(resolve, 200); });
    }
  }
}

function connect(overrides = {}) {
  const opened = new TableStore.Client({
    endpoint: process.env.WIDEROW_ENDPOINT,
    instancename: process.env.WIDEROW_INSTANCE,
    accessKeyId: process.env.WIDEROW_ACCESS_KEY_ID,
    secretAccessKey: process.env.WIDEROW_ACCESS_KEY_SECRET,
    httpOptions: { timeout: 15000 },
    maxRetries: 0, // a retry would hide a connection that the server dropped
    ...overrides,
  });
  for (const name of TABLE_OPERATIONS) {
    const call = opened[name].bind(opened);
    opened[name] = (request) => paced(() => call(request));
  }
  return opened;
}

const client = connect();
const made = [];
let count = 0;

class OwnTable extends Table {
  create() {
    made.push(this);
    return super.create();
  }
}

// A table object with a name of its own; once created, it is dropped at the end of the group.
function newTable(options) {
  count += 1;
  return new OwnTable(client, `${PREFIX}_${count}`, options);
}

// A table that is there before the first case of the group.
function sharedTable(options) {
  const table = newTable(options);
  before(() => table.create(), LIMIT);
  return table;
}

// Each group of cases begins with it: the tables that its cases make are dropped behind them.
function withServer() {
  let clock;
  // Something to wait for: node takes a request that never ends for the end of all cases, not of one.
  before(() => { clock = setInterval(() => {}, 1000); });
  after(async () => {
    clearInterval(clock);
    for (const table of made.splice(0)) {
      await table.drop().catch(() => {}); // some cases drop their table themselves, others could not create it
    }
  }, LIMIT);
}

module.exports = { LIMIT, client, connect, newTable, sharedTable, withServer };
