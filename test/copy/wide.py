"""Makes one row wider than a server with little memory for a request can answer at once.

wide.py ADDRESS INSTANCE KEY-ID SECRET TABLE ROW-KEY CELLS
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "security"))
from client import IGNORE, Connection, Key, field, row  # noqa: E402

address, instance, key_id, secret, table, key, cells = sys.argv[1:]
key_of = Key(instance, key_id, secret)
connection = Connection(address)
for start in range(0, int(cells), 1000):
    columns = [(f"c{i:06}", "x") for i in range(start, min(start + 1000, int(cells)))]
    body = field(1, table) + field(2, row(key, columns)) + field(3, IGNORE)
    answer = connection.call(key_of, "UpdateRow", body)
    assert answer.status == 200, answer.error()
