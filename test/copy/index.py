"""Makes an index of a table, of the rows that it has.

index.py ADDRESS INSTANCE KEY-ID SECRET TABLE INDEX KEY-COLUMN COVERED-COLUMN [scalar]
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "security"))
from client import Connection, Key, field  # noqa: E402

address, instance, key_id, secret, table, index, key, covered = sys.argv[1:9]
meta = field(1, index) + field(2, key) + field(3, covered) + field(4, 0) + field(5, 0)
body = field(1, table) + field(2, meta) + field(3, 1) + (field(1000, 1) if sys.argv[9:] else b"")
answer = Connection(address).call(Key(instance, key_id, secret), "CreateIndex", body)
assert answer.status == 200, answer.error()
