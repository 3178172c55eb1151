'use strict';

// Short forms for the SDK's filter objects, which serve as read filters and as column conditions.

const TableStore = require('tablestore');
const { toSdk } = require('./values');

const COMPARATORS = {
  '=': 'EQUAL', '!=': 'NOT_EQUAL', '>': 'GREATER_THAN', '>=': 'GREATER_EQUAL', '<': 'LESS_THAN', '<=': 'LESS_EQUAL',
};

// passIfMissing and latestVersionOnly default to true, as in the SDK.
function col(name, comparator, value, { passIfMissing = true, latestVersionOnly = true } = {}) {
  return new TableStore.SingleColumnCondition(
    name, toSdk(value), TableStore.ComparatorType[COMPARATORS[comparator]], passIfMissing, latestVersionOnly);
}

function composite(operator, parts) {
  const filter = new TableStore.CompositeCondition(TableStore.LogicalOperator[operator]);
  parts.forEach((part) => filter.addSubCondition(part));
  return filter;
}

const and = (...parts) => composite('AND', parts);
const or = (...parts) => composite('OR', parts);
const not = (...parts) => composite('NOT', parts);
const page = (limit, offset) => new TableStore.ColumnPaginationFilter(limit, offset);

module.exports = { col, and, or, not, page };
