"""Reads the three campus tables back and compares them with the file they were loaded from.

    python campus.py campus.csv

Of a large file only a part is read (ROWS_MAX rows of each table): the SDK decodes every row in Python.
"""

import csv
import itertools
import operator
import sys
import time

from tables import PREFIX, connect, read_range, report
import tables

ROWS_MAX = 40_000

BY_CARD = (PREFIX + '_by_card', ['CardID', 'SellerID', 'DeviceID', 'OrderNumber'])
BY_DEVICE = (PREFIX + '_by_device', ['DeviceID', 'OrderNumber'])
BY_SELLER = (PREFIX + '_by_seller', ['SellerID', 'time', 'DeviceID', 'OrderNumber'])

TYPES = {'CardID': int, 'SellerID': str, 'DeviceID': int, 'OrderNumber': int, 'amount': float, 'time': str}

client = connect()


def read_records(path):
    with open(path, newline='') as file:
        return [{name: TYPES[name](text) for name, text in line.items()} for line in csv.DictReader(file)]


def compare(table, expected, **range_):
    """Compares the rows of a range with the records that should be in it. Returns how many, or raises."""
    name, key = table
    count = 0
    for row, record in itertools.zip_longest(read_range(client, name, key, **range_), expected):
        if row != record:
            raise AssertionError('row %d is %s, not %s' % (count + 1, row, record))
        count += 1
    return count


def in_order_of(records, key):
    return sorted(records, key=operator.itemgetter(*key))


def first_column_range(table, records):
    """One range of the first key column: the whole table, or about ROWS_MAX rows from its middle."""
    column = table[1][0]
    expected = in_order_of(records, table[1])
    if len(expected) <= ROWS_MAX:
        return compare(table, expected)
    start = (len(expected) - ROWS_MAX) // 2
    first, last = expected[start][column], expected[start + ROWS_MAX - 1][column]
    part = [record for record in expected if first <= record[column] <= last]
    return compare(table, part, first=[first], last=[last])


def newest_first(table, records, limit):
    """The newest rows of each value of the first key column."""
    count = 0
    column = operator.itemgetter(table[1][0])
    for value, group in itertools.groupby(in_order_of(records, table[1]), column):
        newest = list(group)[::-1][:limit]
        count += compare(table, newest, first=[value], last=[value], backward=True, limit=limit)
    return count


def check(what, run, *args):
    start = time.monotonic()
    try:
        count = run(*args)
    except Exception as problem:
        report(what, problem)
    else:
        report('%s: %s rows in %.1f s' % (what, format(count, ','), time.monotonic() - start))


def main():
    records = read_records(sys.argv[1])
    check('by card, a range of CardID', first_column_range, BY_CARD, records)
    check('by device, a range of DeviceID', first_column_range, BY_DEVICE, records)
    check('by device, the 20 newest of each, newest first', newest_first, BY_DEVICE, records, 20)
    check('by seller, the 200 newest of each, newest first', newest_first, BY_SELLER, records, 200)
    return 1 if tables.failures else 0


if __name__ == '__main__':
    sys.exit(main())
