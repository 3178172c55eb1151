"""A short way to say what the cases say, on top of the SDK's public client.

Keys are lists of values in key order, their columns are called k1, k2, ...; cells are (name, value) or
(name, value, timestamp). str is STRING, int INTEGER, bytearray BINARY, float DOUBLE, bool BOOLEAN.
"""

import collections
import contextlib
import os
import random
import string
import unittest

import tablestore as ts

PREFIX = 'compat_p_%d_%s' % (os.getpid(), ''.join(random.choices(string.ascii_lowercase, k=6)))
MIN, MAX, AUTO = ts.INF_MIN, ts.INF_MAX, ts.PK_AUTO_INCR

Found = collections.namedtuple('Found', 'key cells')
Page = collections.namedtuple('Page', 'rows next cost')


class FewRetries(ts.DefaultRetryPolicy):
    """The SDK's policy, but a server that keeps failing must not hold up the suite for a minute."""
    max_retry_times = 4


def connect(client=ts.OTSClient, key_id=None, secret=None, instance=None, **options):
    options.setdefault('socket_timeout', 15)
    return client(
        os.environ['WIDEROW_ENDPOINT'],
        key_id or os.environ['WIDEROW_ACCESS_KEY_ID'],
        secret or os.environ['WIDEROW_ACCESS_KEY_SECRET'],
        instance or os.environ['WIDEROW_INSTANCE'],
        logger_name='compat', retry_policy=FewRetries(), **options)


COMPARATORS = {
    '=': ts.ComparatorType.EQUAL, '!=': ts.ComparatorType.NOT_EQUAL, '>': ts.ComparatorType.GREATER_THAN,
    '>=': ts.ComparatorType.GREATER_EQUAL, '<': ts.ComparatorType.LESS_THAN, '<=': ts.ComparatorType.LESS_EQUAL,
}


def col(name, comparator, value, pass_if_missing=True, latest_version_only=True):
    return ts.SingleColumnCondition(name, value, COMPARATORS[comparator], pass_if_missing, latest_version_only)


def _composite(operator, parts):
    condition = ts.CompositeColumnCondition(operator)
    for part in parts:
        condition.add_sub_condition(part)
    return condition


def all_of(*parts):
    return _composite(ts.LogicalOperator.AND, parts)


def any_of(*parts):
    return _composite(ts.LogicalOperator.OR, parts)


def none_of(*parts):
    return _composite(ts.LogicalOperator.NOT, parts)


def key_of(values):
    return [('k%d' % (i + 1), value) for i, value in enumerate(values)]


def put_item(key, cells, expect='IGNORE', when=None, return_type=None):
    return ts.PutRowItem(ts.Row(key_of(key), cells), ts.Condition(expect, when), return_type)


def update_item(key, changes, expect='IGNORE', when=None):
    return ts.UpdateRowItem(ts.Row(key_of(key), changes), ts.Condition(expect, when))


def delete_item(key, expect='IGNORE', when=None):
    return ts.DeleteRowItem(ts.Row(key_of(key)), ts.Condition(expect, when))


def found(row):
    """None for "no row"; the SDK has several shapes for it."""
    if row is None or not row.primary_key:
        return None
    return Found([value for _, value in row.primary_key], [tuple(cell) for cell in row.attribute_columns or []])


def units(consumed):
    return (consumed.read, consumed.write)


class Table:
    def __init__(self, client, name, key=('INTEGER',), ttl=-1, versions=1, deviation=86400, allow_update=None,
                 defined=None):
        self.client, self.name = client, name
        self.schema = [('k%d' % (i + 1), 'INTEGER', AUTO) if kind == 'AUTO' else ('k%d' % (i + 1), kind)
                       for i, kind in enumerate(key)]
        self.options = ts.TableOptions(ttl, versions, deviation, allow_update)
        self.defined = defined

    def create(self):
        meta = ts.TableMeta(self.name, self.schema, self.defined)
        self.client.create_table(meta, self.options, ts.ReservedThroughput(ts.CapacityUnit(0, 0)))
        return self

    def drop(self):
        self.client.delete_table(self.name)

    def describe(self):
        return self.client.describe_table(self.name)

    def change(self, **options):
        """Sends the options given and no others."""
        unset = dict(time_to_live=None, max_version=None, max_time_deviation=None)
        return self.client.update_table(self.name, ts.TableOptions(**{**unset, **options}))

    def put(self, key, cells=(), expect='IGNORE', when=None, return_type=None):
        row = ts.Row(key_of(key), list(cells))
        return self.client.put_row(self.name, row, ts.Condition(expect, when), return_type)

    def update(self, key, changes, expect='IGNORE', when=None, return_type=None):
        row = ts.Row(key_of(key), changes)
        return self.client.update_row(self.name, row, ts.Condition(expect, when), return_type)

    def delete(self, key, expect='IGNORE', when=None):
        return self.client.delete_row(self.name, ts.Row(key_of(key)), ts.Condition(expect, when))

    def _get(self, key, columns=None, filter=None, versions=1, time=None, start=None, end=None):
        return self.client.get_row(self.name, key_of(key), columns, filter, versions, time, start, end)

    def get(self, key, **read):
        return found(self._get(key, **read)[1])

    def get_cost(self, key, **read):
        return units(self._get(key, **read)[0])

    def columns(self, key, **read):
        """The newest value of each column, which is all that most cases look at."""
        row = self.get(key, **read)
        return None if row is None else {name: value for name, value, _ in reversed(row.cells)}

    def page(self, start_key, end_key, direction='FORWARD', limit=None, columns=None, filter=None, versions=1, time=None,
             start=None, end=None):
        consumed, next_key, rows, _ = self.client.get_range(
            self.name, direction, key_of(start_key), key_of(end_key), columns, limit, filter, versions, time, start, end)
        return Page([found(row) for row in rows], [value for _, value in next_key] if next_key else None, units(consumed))

    def scan(self, start_key, end_key, **read):
        """Follows next until the range is exhausted -> (rows, number of pages)"""
        rows, pages = [], 0
        while start_key:
            page = self.page(start_key, end_key, **read)
            rows += page.rows
            start_key, pages = page.next, pages + 1
        return rows, pages

    def write(self, items):
        """-> results in request order; the SDK sorts them by kind and keeps the index"""
        request = ts.BatchWriteRowRequest()
        request.add(ts.TableInBatchWriteRowItem(self.name, items))
        answer = self.client.batch_write_row(request)
        results = [result for kind in (answer.get_put_by_table, answer.get_update_by_table, answer.get_delete_by_table)
                   for result in kind(self.name)]
        return sorted(results, key=lambda result: result.index)

    def batch_get(self, keys, columns=None, filter=None, versions=1):
        request = ts.BatchGetRowRequest()
        request.add(ts.TableInBatchGetRowItem(self.name, [key_of(key) for key in keys], columns, filter, versions))
        return self.client.batch_get_row(request).get_result_by_table(self.name)


class Case(unittest.TestCase):
    """Cases of one class share the table that TABLE describes; None means that they make their own."""

    TABLE = {}
    longMessage = True
    maxDiff = 2000
    _count = 0

    @classmethod
    def setUpClass(cls):
        cls.client = connect()
        cls.made = []
        cls.table = None if cls.TABLE is None else cls.new_table(**cls.TABLE)

    @classmethod
    def tearDownClass(cls):
        # Failures are ignored: some cases drop their table themselves, others never created it.
        for table in cls.made:
            with contextlib.suppress(Exception):
                table.drop()

    @classmethod
    def unmade_table(cls, **options):
        Case._count += 1
        table = Table(cls.client, '%s_%d' % (PREFIX, Case._count), **options)
        cls.made.append(table)
        return table

    @classmethod
    def new_table(cls, **options):
        return cls.unmade_table(**options).create()

    def equal(self, actual, expected, what='value'):
        if actual != expected or type(actual) is not type(expected):
            self.fail('%s\n    expected: %s\n    actual:   %s' % (what, shorten(expected), shorten(actual)))

    def ok(self, condition, what, actual=False):
        if not condition:
            self.fail('%s\n    expected: true\n    actual:   %s' % (what, shorten(actual)))

    @contextlib.contextmanager
    def refused(self, status=None, code=None, message=None, part=None):
        """The block must end in an error of the server: message is its whole text, part a piece of it."""
        wanted = 'HTTP %s %s %r' % (status or 'any error', code or 'any code', message or part or 'any text')
        try:
            yield
        except ts.OTSServiceError as err:
            fits = (status in (None, err.http_status) and code in (None, err.code)
                    and message in (None, err.message) and (part is None or part in err.message))
            if not fits:
                self.fail('error\n    expected: %s\n    actual:   HTTP %s %s %r' % (
                    wanted, err.http_status, err.code, shorten(err.message)))
        except ts.OTSClientError as err:  # the SDK disliked the answer, or never sent the request
            self.fail('error\n    expected: %s\n    actual:   error of the SDK: %s' % (wanted, shorten(err.message)))
        else:
            self.fail('error\n    expected: %s\n    actual:   success' % wanted)


def shorten(value):
    text = repr(value)
    return text if len(text) <= 600 else '%s... (%d letters)' % (text[:600], len(text))
