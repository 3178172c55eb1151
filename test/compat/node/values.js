'use strict';

// The SDK has its own class for INTEGER and takes plain numbers for DOUBLE. Cases write 5n for INTEGER and 5 for
// DOUBLE, and compare what they read in the same terms.

const { Long } = require('tablestore');

function toSdk(value) {
  return typeof value === 'bigint' ? Long.fromString(value.toString()) : value;
}

// int64-buffer objects (rows) and long.js objects (messages) both print themselves in decimal.
function fromSdk(value) {
  if (Buffer.isBuffer(value) || value === null || typeof value !== 'object') {
    return value;
  }
  const isInteger = typeof value.toNumber === 'function';
  return isInteger ? BigInt(value.toString()) : value;
}

module.exports = { toSdk, fromSdk };
