"""Writes to a table until the file STOP is there: rows put, updated and deleted, of which many are the same ones.

writers.py ADDRESS INSTANCE KEY-ID SECRET TABLE SEED STOP
"""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "security"))
from client import IGNORE, Connection, Key, field, row  # noqa: E402

address, instance, key_id, secret, table, seed, stop = sys.argv[1:]
chance = random.Random(seed)
connection, key = Connection(address), Key(instance, key_id, secret)
done = 0
while not os.path.exists(stop):
    name = f"row-{chance.randrange(chance.choice((10, 3000)))}"
    columns = [(column, f"{seed}-{done}-{column}") for column in chance.sample("abcde", chance.randrange(1, 4))]
    operation = chance.choice(("PutRow", "UpdateRow", "UpdateRow", "DeleteRow"))
    change = row(name, [] if operation == "DeleteRow" else columns, delete=operation == "DeleteRow")
    answer = connection.call(key, operation, field(1, table) + field(2, change) + field(3, IGNORE))
    assert answer.status == 200, answer.error()
    done += 1
print(done)
