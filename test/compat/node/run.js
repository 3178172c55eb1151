'use strict';

const { Suite, connect, within } = require('./harness');

const GROUPS = [
  'core/tables', 'core/values', 'core/rows', 'core/conditions', 'core/batches', 'core/ranges', 'core/capacity', 'core/errors',
  'rules/versions', 'rules/filters', 'rules/columns', 'rules/counters', 'rules/autokeys', 'rules/batches', 'rules/ranges',
  'rules/tables', 'rules/names', 'rules/limits', 'rules/streams',
];

function finish({ passed, failed, skipped }) {
  console.log(`compat-node: ${passed} passed, ${failed} failed, ${skipped} skipped`);
  // not process.exitCode: an unanswered request would keep the process alive
  process.exit(failed === 0 ? 0 : 1);
}

async function main() {
  try {
    await within(10, connect().listTable({}));
  } catch (err) {
    console.log(`FAILED: the server at ${process.env.WIDEROW_ENDPOINT} does not list its tables: ${err.code} ${err.message}`);
    finish({ passed: 0, failed: 1, skipped: 0 });
  }
  const suite = new Suite();
  for (const name of GROUPS) {
    await suite.group(name, require(`./${name}`));
  }
  finish(suite.counts);
}

// An error thrown inside the SDK's own callbacks ends here; it must count, not vanish.
process.on('uncaughtException', (err) => {
  console.log(`FAILED outside of any case\n    ${err.stack}`);
  finish({ passed: 0, failed: 1, skipped: 0 });
});

main();
