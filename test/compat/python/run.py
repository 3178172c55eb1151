"""Runs all cases and prints one line of counts that the build reads."""

import logging
import os
import threading
import unittest

logging.disable(logging.CRITICAL)  # before the SDK is loaded: it logs what it lacks, and later every refused request

import fixture

MODULES = [
    'core.tables', 'core.values', 'core.rows', 'core.conditions', 'core.batches', 'core.ranges', 'core.capacity',
    'core.errors',
    'rules.versions', 'rules.filters', 'rules.columns', 'rules.counters', 'rules.autokeys', 'rules.batches',
    'rules.ranges', 'rules.tables', 'rules.names', 'rules.limits', 'rules.access', 'rules.clients',
]
SUITE_SECONDS = int(os.environ.get('SUITE_SECONDS', 120))


class Counting(unittest.TestResult):
    """Counts, and prints failures as they happen: a suite that hangs later has still said what it knew."""

    def __init__(self):
        super().__init__()
        self.passed = self.failed = self.skips = 0

    def addSuccess(self, test):
        self.passed += 1

    def addSkip(self, test, reason):
        self.skips += 1
        print('skipped %s: %s' % (test.id(), reason))

    def addFailure(self, test, err):
        self._complain(test, err)

    def addError(self, test, err):
        self._complain(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self._complain(subtest, err)

    def _complain(self, test, err):
        self.failed += 1
        print('FAILED %s\n    %s: %s%s' % (test.id(), err[0].__name__, str(err[1])[:2000], place(err[2])), flush=True)


def place(trace):
    """The lines of the case files only; the SDK's own frames tell nothing about the server."""
    here = os.path.dirname(os.path.abspath(__file__))
    lines = []
    while trace:
        path = trace.tb_frame.f_code.co_filename
        if path.startswith((os.path.join(here, 'core'), os.path.join(here, 'rules'))):
            lines.append('\n    at %s:%d' % (os.path.relpath(path, here), trace.tb_lineno))
        trace = trace.tb_next
    return ''.join(lines)


def finish(passed, failed, skipped):
    print('compat-python: %d passed, %d failed, %d skipped' % (passed, failed, skipped), flush=True)
    # not sys.exit: a thread of a hanging request would keep the process alive
    os._exit(0 if failed == 0 else 1)


def cases(only):
    def flat(suite):
        for item in suite:
            yield from flat(item) if isinstance(item, unittest.TestSuite) else [item]
    loaded = unittest.defaultTestLoader.loadTestsFromNames(MODULES)
    return unittest.TestSuite(case for case in flat(loaded) if only in case.id())


def main():
    try:
        fixture.connect(socket_timeout=5).list_table()
    except Exception as problem:
        print('FAILED: the server at %s does not list its tables: %s' % (os.environ['WIDEROW_ENDPOINT'], problem))
        finish(0, 1, 0)
    result = Counting()
    runner = threading.Thread(target=cases(os.environ.get('WIDEROW_COMPAT_ONLY', '')).run, args=(result,), daemon=True)
    runner.start()
    runner.join(SUITE_SECONDS)
    if runner.is_alive():
        print('FAILED: the suite has only %d s' % SUITE_SECONDS)
        result.failed += 1
    finish(result.passed, result.failed, result.skips)


if __name__ == '__main__':
    main()
