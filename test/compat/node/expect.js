'use strict';

// What a case may say about an answer. Every complaint carries "expected" and "actual", because the one who reads
// it has no debugger on the server.

const util = require('util');

function show(value) {
  return util.inspect(value, { depth: 6, maxStringLength: 160, maxArrayLength: 24, breakLength: 110 });
}

function complain(what, expected, actual) {
  throw new Error(`${what}\n    expected: ${expected}\n    actual:   ${actual}`);
}

function equal(actual, expected, what = 'value') {
  if (!util.isDeepStrictEqual(actual, expected)) {
    complain(what, show(expected), show(actual));
  }
}

function ok(condition, what, actual) {
  if (!condition) {
    complain(what, 'true', actual === undefined ? 'false' : show(actual));
  }
}

// The SDK leaves the error message undecoded: err.code is the HTTP status and err.message the raw body. So an error
// is recognised by its status and by the texts that the body must contain. Status null stands for any answer of the
// server, as opposed to a broken connection.
async function refused(promise, status, ...texts) {
  let answer;
  try {
    answer = await promise;
  } catch (err) {
    const statusFits = status === null ? err.code && err.code !== 'NetworkingError' : err.code === status;
    if (!statusFits || !texts.every((text) => String(err.message).includes(text))) {
      complain('error', `HTTP ${status} with ${show(texts)}`, `${show(err.code)} with ${show(err.message)}`);
    }
    return err;
  }
  return complain('error', `HTTP ${status} with ${show(texts)}`, `success: ${show(answer)}`);
}

module.exports = { equal, ok, refused, show };
