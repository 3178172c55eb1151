"""What both programs need: a client, and rows as dictionaries."""

import os

import tablestore as ts

# Tables of this example begin with this.
PREFIX = os.environ.get('CAMPUS_PREFIX', 'campus')

failures = 0


def connect():
    """Where the server is: the environment says, or the folder that widerowd keeps its data in."""
    env = os.environ
    if env.get('WIDEROW_ACCESS_KEY_ID'):
        instance, key_id, secret = (env['WIDEROW_INSTANCE'], env['WIDEROW_ACCESS_KEY_ID'],
                                    env['WIDEROW_ACCESS_KEY_SECRET'])
    else:
        with open(os.path.join(env.get('WIDEROW_DATA', 'data'), 'credentials')) as file:
            lines = [line for line in file if not line.startswith('#')]
        instance, key_id, secret = lines[0].split()
    endpoint = env.get('WIDEROW_ENDPOINT', 'http://127.0.0.1:8600')
    return ts.OTSClient(endpoint, key_id, secret, instance)


def to_dict(row):
    """{'CardID': 1, 'amount': 2.5} of a row."""
    cells = dict(row.primary_key)
    cells.update((name, value) for name, value, _timestamp in row.attribute_columns)
    return cells


def read_range(client, table, key, first=(), last=(), backward=False, limit=None):
    """The rows whose key begins with a value from `first` to `last`, in key order, or from last to first.

    Both are values for the first key columns: (5,) is all of device 5. The SDK's xget_range() asks for one page after
    the other.
    """
    def bound(values, rest):
        return [(name, values[i] if i < len(values) else rest) for i, name in enumerate(key)]

    low, high = bound(first, ts.INF_MIN), bound(last, ts.INF_MAX)
    start, end, direction = (high, low, 'BACKWARD') if backward else (low, high, 'FORWARD')
    consumed = ts.CapacityUnit(0, 0)
    for row in client.xget_range(table, direction, start, end, consumed, count=limit, max_version=1):
        yield to_dict(row)


def report(what, problem=None):
    """Prints "ok" or "FAIL" for one check."""
    global failures
    print('FAIL %s: %s' % (what, problem) if problem else 'ok   %s' % what, flush=True)
    if problem:
        failures += 1
