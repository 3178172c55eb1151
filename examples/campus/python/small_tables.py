"""Five purchases under five kinds of key, each table printed in the order that its key gives.

Text keys sort byte by byte. What joins two parts of a key, and how long the parts are, therefore decides the order:
  - 16 and 167 joined with ':' come out as 167: then 16:, because '7' is 0x37 and ':' is 0x3A;
  - zeros in front of the device make that right, but a100 and a1001 still come out as a1001: then a100:;
  - ',' is 0x2C, below every digit and letter, so a shorter part comes first, as one expects;
  - a hash in front spreads the rows over the whole range of keys, and so gives up their order.
"""

import collections
import hashlib
import sys

import tablestore as ts

from tables import PREFIX, connect, read_range, report
import tables

Record = collections.namedtuple('Record', 'OrderNumber DeviceID SellerID CardID')

RECORDS = [
    Record(200001, 16, 'a100', 66661),
    Record(200002, 167, 'a101', 283408),
    Record(200003, 54, 'a100', 6777),
    Record(200004, 54, 'a1001', 6777),
    Record(200005, 167, 'a101', 66661),
]


def splice(connector, digits):
    return lambda r: connector.join([str(r.DeviceID).zfill(digits), r.SellerID, str(r.CardID), str(r.OrderNumber)])


def hash_prefix(record):
    # The digits with a line end behind them, as `echo 200001 | md5sum` has it.
    return hashlib.md5(b'%d\n' % record.OrderNumber).hexdigest()[:4] + str(record.OrderNumber)


TABLES = [  # name, what it is, the key of a record, order numbers in key order
    ('plain', 'a plain integer', lambda r: r.OrderNumber, [200001, 200002, 200003, 200004, 200005]),
    ('colon', "joined with ':'", splice(':', 0), [200002, 200005, 200001, 200004, 200003]),
    ('colon_padded', "joined with ':', devices padded", splice(':', 6), [200001, 200004, 200003, 200002, 200005]),
    ('comma_padded', "joined with ',', devices padded", splice(',', 6), [200001, 200003, 200004, 200002, 200005]),
    ('hash', 'behind a hash', hash_prefix, [200004, 200003, 200005, 200002, 200001]),
]

client = connect()


def build(name, key):
    table = PREFIX + '_small_' + name
    if table in client.list_table():
        client.delete_table(table)
    key_type = 'INTEGER' if isinstance(key(RECORDS[0]), int) else 'STRING'
    client.create_table(ts.TableMeta(table, [('Key', key_type)]), ts.TableOptions(),
                        ts.ReservedThroughput(ts.CapacityUnit(0, 0)))
    for record in RECORDS:
        client.put_row(table, ts.Row([('Key', key(record))], list(record._asdict().items())))
    return table


def main():
    for name, what, key, order in TABLES:
        rows = list(read_range(client, build(name, key), ['Key']))
        print('\n%s:' % what)
        for row in rows:
            print('  %s' % row['Key'])
        found = [row['OrderNumber'] for row in rows]
        right = found == order and all(row['Key'] == key(Record(*(row[f] for f in Record._fields))) for row in rows)
        report('small table, ' + what, None if right else 'order %s, not %s' % (found, order))
    return 1 if tables.failures else 0


if __name__ == '__main__':
    sys.exit(main())
