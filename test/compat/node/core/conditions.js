'use strict';

const { describe, it } = require('node:test');
const { equal, refused } = require('../expect');
const { col, and, or, not } = require('../filter');
const { LIMIT, sharedTable, withServer } = require('../server');

const FAILED = ['OTSConditionCheckFail', 'Condition check failed.'];

const WRITES = {
  put: (table, key, options) => table.put(key, [['c', 'new']], options),
  update: (table, key, options) => table.update(key, { put: [['c', 'new']] }, options),
  delete: (table, key, options) => table.remove(key, options),
};

// expectation -> is the write done on a row that [exists, does not]?
const EXISTENCE = { IGNORE: [true, true], EXPECT_EXIST: [true, false], EXPECT_NOT_EXIST: [false, true] };

// All are asked of the row { n: 5n, s: 'abc' }.
const COLUMN_CONDITIONS = [
  ['n = 5', col('n', '=', 5n), true],
  ['n = 6', col('n', '=', 6n), false],
  ['n != 6', col('n', '!=', 6n), true],
  ['n > 4', col('n', '>', 4n), true],
  ['n >= 5', col('n', '>=', 5n), true],
  ['n < 5', col('n', '<', 5n), false],
  ['n <= 5', col('n', '<=', 5n), true],
  ["s > 'abb'", col('s', '>', 'abb'), true],
  ['n = 5 AND s = abc', and(col('n', '=', 5n), col('s', '=', 'abc')), true],
  ['n = 5 AND s = xyz', and(col('n', '=', 5n), col('s', '=', 'xyz')), false],
  ['n = 6 OR s = abc', or(col('n', '=', 6n), col('s', '=', 'abc')), true],
  ['n = 6 OR s = xyz', or(col('n', '=', 6n), col('s', '=', 'xyz')), false],
  ['NOT n = 6', not(col('n', '=', 6n)), true],
  ['NOT n = 5', not(col('n', '=', 5n)), false],
  ['NOT (n = 5 AND (s = xyz OR n > 9))', not(and(col('n', '=', 5n), or(col('s', '=', 'xyz'), col('n', '>', 9n)))), true],
  ['an absent column passes by default', col('absent', '=', 1n), true],
  ['an absent column fails if told so', col('absent', '=', 1n, { passIfMissing: false }), false],
];

describe('core/conditions', () => {
  withServer();
  const table = sharedTable();
  let last = 0n;
  const freshKey = () => { last += 1n; return [last]; };

  for (const [write, run] of Object.entries(WRITES)) {
    for (const [expect, [onRow, onNothing]] of Object.entries(EXISTENCE)) {
      for (const [exists, done] of [[true, onRow], [false, onNothing]]) {
        const title = `${write} with ${expect} on ${exists ? 'a row' : 'no row'} is ${done ? 'done' : 'refused'}`;
        it(title, LIMIT, async () => {
          const key = freshKey();
          if (exists) await table.put(key, [['c', 'old']]);
          const before = await table.columns(key);
          if (done) {
            await run(table, key, { expect });
            equal(await table.columns(key), write === 'delete' ? null : { c: 'new' }, 'row afterwards');
          } else {
            await refused(run(table, key, { expect }), 403, ...FAILED);
            equal(await table.columns(key), before, 'row after the refusal');
          }
        });
      }
    }
  }

  for (const [title, when, passes] of COLUMN_CONDITIONS) {
    it(`column condition: ${title}`, LIMIT, async () => {
      const key = freshKey();
      await table.put(key, [['n', 5n], ['s', 'abc']]);
      const update = table.update(key, { put: [['done', true]] }, { when });
      if (passes) {
        await update;
      } else {
        await refused(update, 403, ...FAILED);
      }
      equal((await table.columns(key)).done, passes ? true : undefined, 'column "done"');
    });
  }

  for (const [write, run] of Object.entries(WRITES)) {
    it(`${write} obeys a column condition together with EXPECT_EXIST`, LIMIT, async () => {
      const key = freshKey();
      await table.put(key, [['n', 5n]]);
      await refused(run(table, key, { expect: 'EXPECT_EXIST', when: col('n', '=', 1n) }), 403, ...FAILED);
      await run(table, key, { expect: 'EXPECT_EXIST', when: col('n', '=', 5n) });
    });
  }
});
