'use strict';

// Runs the cases one after the other and counts them. Not node's own runner: a request whose connection was dropped in
// the middle of an answer never ends in this SDK, so each case needs its own clock, and the last line has a fixed form.

const TableStore = require('tablestore');
const { Table } = require('./table');

const CASE_SECONDS = 20;
const SUITE_SECONDS = Number(process.env.SUITE_SECONDS || 120);

function connect(overrides = {}) {
  return new TableStore.Client({
    endpoint: process.env.WIDEROW_ENDPOINT,
    instancename: process.env.WIDEROW_INSTANCE,
    accessKeyId: process.env.WIDEROW_ACCESS_KEY_ID,
    secretAccessKey: process.env.WIDEROW_ACCESS_KEY_SECRET,
    httpOptions: { timeout: 15000 },
    maxRetries: 0, // a retry would hide a connection that the server dropped
    ...overrides,
  });
}

function within(seconds, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${seconds} s`)), seconds * 1000);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

class Suite {
  constructor() {
    this.client = connect();
    this.connect = connect;
    this.prefix = `compat_n_${process.pid}_${Math.random().toString(36).slice(2, 8)}`;
    this.created = [];
    this.counts = { passed: 0, failed: 0, skipped: 0 };
    this.deadline = Date.now() + SUITE_SECONDS * 1000;
  }

  // A table object with a name of its own; the end of the group drops it, whoever created it.
  newTable(options) {
    const table = new Table(this.client, `${this.prefix}_${this.created.length}`, options);
    this.created.push(table);
    return table;
  }

  // A file of cases is a function that registers with case() and tables().
  async group(name, define) {
    const cases = [];
    const ready = [];
    define({
      connect, client: this.client, newTable: (options) => this.newTable(options),
      // created once, before the first case of the file
      table: (options) => { const table = this.newTable(options); ready.push(table); return table; },
      case: (title, run) => cases.push({ title: `${name}: ${title}`, run }),
    });
    const wanted = cases.filter(({ title }) => title.includes(process.env.WIDEROW_COMPAT_ONLY || ''));
    if (wanted.length === 0) {
      return;
    }
    const problem = await this.attempt(async () => { for (const table of ready) await table.create(); });
    for (const { title, run } of wanted) {
      this.report(title, problem || await this.attempt(run));
    }
    await this.dropAll();
  }

  // -> null, or what went wrong
  async attempt(run) {
    if (Date.now() > this.deadline) {
      return new Error(`not run: the suite has only ${SUITE_SECONDS} s`);
    }
    try {
      await within(CASE_SECONDS, run());
      return null;
    } catch (err) {
      return err;
    }
  }

  report(title, problem) {
    if (!problem) {
      this.counts.passed += 1;
      return;
    }
    this.counts.failed += 1;
    const place = (problem.stack || '').split('\n').find((line) => /\/(core|rules)\//.test(line)) || '';
    console.log(`FAILED ${title}\n    ${problem.message}\n${place}`);
  }

  // Failures are ignored: some cases drop their table themselves, others never created it.
  async dropAll() {
    for (const table of this.created.filter(({ dropped }) => !dropped)) {
      table.dropped = true;
      await within(5, table.drop()).catch(() => {});
    }
  }
}

module.exports = { Suite, connect, within };
