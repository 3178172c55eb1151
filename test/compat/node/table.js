'use strict';

// One table of the server under test, with calls short enough that a case fits on a screen. All of them go through
// the public methods of the SDK's client.
//
// Keys are arrays of values in key order; key columns are called k1, k2, ... Cells are [name, value] or
// [name, value, timestamp].

const TableStore = require('tablestore');
const { toSdk, fromSdk } = require('./values');

const MIN = TableStore.INF_MIN;
const MAX = TableStore.INF_MAX;
const AUTO = TableStore.PK_AUTO_INCR;

function condition({ expect = 'IGNORE', when = null } = {}) {
  return new TableStore.Condition(TableStore.RowExistenceExpectation[expect], when);
}

function putCell([name, value, timestamp]) {
  const cell = { [name]: toSdk(value) };
  if (timestamp !== undefined) {
    cell.timestamp = timestamp;
  }
  return cell;
}

// changes: { put: [cells], remove: [[name, timestamp]], removeAll: [names], increment: [cells] }
function updateList({ put, remove, removeAll, increment }) {
  const list = [];
  if (put) list.push({ PUT: put.map(putCell) });
  if (remove) list.push({ DELETE: remove.map(([name, timestamp]) => ({ [name]: TableStore.Long.fromNumber(timestamp) })) });
  if (removeAll) list.push({ DELETE_ALL: removeAll });
  if (increment) list.push({ INCREMENT: increment.map(putCell) });
  return list;
}

// null for "no row", else { key: [values], cells: [[name, value, timestamp]] } in the order of the answer.
function readRow(row) {
  if (!row || !row.primaryKey || row.primaryKey.length === 0) {
    return null;
  }
  return {
    key: row.primaryKey.map((column) => fromSdk(column.value)),
    cells: (row.attributes || []).map((cell) => [cell.columnName, fromSdk(cell.columnValue), Number(fromSdk(cell.timestamp))]),
  };
}

function readOptions({ columns, filter, versions, time, from, to } = {}) {
  return {
    columnsToGet: columns, columnFilter: filter, maxVersions: versions, timeRange: time, startColumn: from, endColumn: to,
  };
}

class Table {
  constructor(client, name, { key = ['INTEGER'], ttl = -1, versions = 1, deviation, allowUpdate, defined, stream } = {}) {
    this.client = client;
    this.name = name;
    this.spec = {
      tableMeta: { tableName: name, primaryKey: key.map((type, i) => this.keyColumn(type, i)), definedColumn: defined },
      reservedThroughput: { capacityUnit: { read: 0, write: 0 } },
      tableOptions: { timeToLive: ttl, maxVersions: versions, maxTimeDeviation: deviation, allowUpdate },
      streamSpecification: stream,
    };
  }

  // 'AUTO' stands for an INTEGER column that the server numbers.
  keyColumn(type, i) {
    return type === 'AUTO' ? { name: `k${i + 1}`, type: 'INTEGER', option: 'AUTO_INCREMENT' } : { name: `k${i + 1}`, type };
  }

  key(values) {
    return values.map((value, i) => ({ [`k${i + 1}`]: toSdk(value) }));
  }

  create() { return this.client.createTable(this.spec); }

  drop() { return this.client.deleteTable({ tableName: this.name }); }

  describe() { return this.client.describeTable({ tableName: this.name }); }

  change(tableOptions, more = {}) {
    return this.client.updateTable({ tableName: this.name, tableOptions, ...more });
  }

  putRequest(key, cells, options = {}) {
    return {
      tableName: this.name, primaryKey: this.key(key), attributeColumns: cells.map(putCell), condition: condition(options),
      returnContent: options.returns,
    };
  }

  put(key, cells = [], options = {}) { return this.client.putRow(this.putRequest(key, cells, options)); }

  update(key, changes, options = {}) {
    return this.client.updateRow({
      tableName: this.name, primaryKey: this.key(key), updateOfAttributeColumns: updateList(changes),
      condition: condition(options), returnContent: options.returns,
    });
  }

  remove(key, options = {}) {
    return this.client.deleteRow({ tableName: this.name, primaryKey: this.key(key), condition: condition(options) });
  }

  async get(key, options = {}) {
    const answer = await this.client.getRow({ tableName: this.name, primaryKey: this.key(key), ...readOptions(options) });
    return readRow(answer.row);
  }

  async getCost(key, options = {}) {
    const answer = await this.client.getRow({ tableName: this.name, primaryKey: this.key(key), ...readOptions(options) });
    return cost(answer);
  }

  // The newest value of each column, which is all that most cases look at.
  async columns(key, options = {}) {
    const row = await this.get(key, options);
    return row && Object.fromEntries(row.cells.map(([name, value]) => [name, value]).reverse());
  }

  async page(from, to, { direction = 'FORWARD', limit, ...read } = {}) {
    const answer = await this.client.getRange({
      tableName: this.name, direction, limit,
      inclusiveStartPrimaryKey: this.key(from), exclusiveEndPrimaryKey: this.key(to), ...readOptions(read),
    });
    const next = answer.nextStartPrimaryKey;
    return {
      rows: answer.rows.map(readRow), next: next && next.map((column) => fromSdk(column.value)), cost: cost(answer),
    };
  }

  // Follows next until the range is exhausted.
  async scan(from, to, options = {}) {
    const rows = [];
    let pages = 0;
    for (let start = from; start; pages += 1) {
      const page = await this.page(start, to, options);
      rows.push(...page.rows);
      start = page.next;
    }
    return { rows, pages };
  }

  // One entry of a BatchWriteRow request.
  static putItem(table, key, cells, options = {}) {
    return {
      type: 'PUT', primaryKey: table.key(key), attributeColumns: cells.map(putCell), condition: condition(options),
      returnContent: options.returns,
    };
  }

  static updateItem(table, key, changes, options = {}) {
    return {
      type: 'UPDATE', primaryKey: table.key(key), attributeColumns: updateList(changes), condition: condition(options),
      returnContent: options.returns,
    };
  }

  static removeItem(table, key, options = {}) {
    return { type: 'DELETE', primaryKey: table.key(key), condition: condition(options) };
  }

  // -> [{ isOk, errorCode, errorMessage, key, cost }] in request order
  async write(items) {
    const answer = await this.client.batchWriteRow({ tables: [{ tableName: this.name, rows: items }] });
    return answer.tables.map(batchResult);
  }

  async batchGet(keys, options = {}) {
    const request = { tableName: this.name, primaryKey: keys.map((key) => this.key(key)), ...readOptions(options) };
    const answer = await this.client.batchGetRow({ tables: [request] });
    return answer.tables[0].map(batchResult);
  }
}

function cost(answer) {
  const { read, write } = answer.consumed.capacityUnit;
  return [read, write];
}

function batchResult(item) {
  return {
    isOk: item.isOk, errorCode: item.errorCode, errorMessage: item.errorMessage, row: readRow(item),
    cost: item.capacityUnit ? [item.capacityUnit.read, item.capacityUnit.write] : null,
  };
}

module.exports = { Table, MIN, MAX, AUTO, cost, readRow, condition };
