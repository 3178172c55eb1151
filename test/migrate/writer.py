"""Writes to a table until the file STOP is there, whatever happens to the server: rows put, updated and deleted.

writer.py ADDRESS INSTANCE KEY-ID SECRET TABLE SEED STOP
"""
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "security"))
from client import IGNORE, Connection, Key, field, row  # noqa: E402

address, instance, key_id, secret, table, seed, stop = sys.argv[1:]
chance = random.Random(seed)
connection, key = None, Key(instance, key_id, secret)
done = 0
while not os.path.exists(stop):
    name = f"row-{chance.randrange(chance.choice((10, 3000)))}"
    columns = [(column, f"{seed}-{done}-{column}") for column in chance.sample("abcde", chance.randrange(1, 4))]
    operation = chance.choice(("PutRow", "UpdateRow", "UpdateRow", "DeleteRow"))
    change = row(name, [] if operation == "DeleteRow" else columns, delete=operation == "DeleteRow")
    try:
        connection = connection or Connection(address)
        answer = connection.call(key, operation, field(1, table) + field(2, change) + field(3, IGNORE))
    except Exception:  # killed; nobody counts what became of this one
        connection = None
        time.sleep(0.05)
        continue
    assert answer.status in (200, 503), answer.error()
    done += answer.status == 200
print(done)
