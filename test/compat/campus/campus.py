"""The campus example on a small scale: generator, import, and the Node and Python programs. Each table that is loaded and each
line "ok" or "FAIL" that a program prints is a case."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[3]
RECORDS = '6000'
PREFIX = 'compat_campus_%d' % os.getpid()
WIDEROW = os.environ.get('WIDEROW') or str(ROOT / os.environ.get('BUILD', 'build') / 'widerow')


def run_step(step):
    """-> the exit code and all that the step prints"""
    done = subprocess.run([ROOT / 'examples/campus/run.sh', RECORDS, step], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, env={**os.environ, 'CAMPUS_PREFIX': PREFIX, 'WIDEROW': WIDEROW})
    return done.returncode, done.stdout


@pytest.fixture(scope='module')
def load():
    """The tables, filled; they are dropped in the end."""
    yield run_step('load')
    tables = subprocess.run([WIDEROW, 'tables'], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    for table in tables:
        if table.startswith(PREFIX + '_'):
            subprocess.run([WIDEROW, 'drop', table], check=True)


def test_load(load, subtests):
    code, said = load
    loaded = re.findall('^.* rows acknowledged .*$', said, re.M)
    for line in loaded:
        with subtests.test(line.strip()):
            assert RECORDS in line.replace(',', ''), line
    assert (code, len(loaded)) == (0, 3), said


@pytest.mark.parametrize('step, program', [('node', 'npm'), ('python', 'python3')])
def test_programs(load, subtests, step, program):
    if not shutil.which(program):
        pytest.skip('%s is not installed' % program)
    code, said = run_step(step)
    checks = re.findall('^(ok|FAIL) +(.*)$', said, re.M)
    for verdict, what in checks:
        with subtests.test(what):
            assert verdict == 'ok', what
    assert code == 0 and checks, said
