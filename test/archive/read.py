"""Reads an archived period from its store as others do, without us: pyarrow over S3, and DuckDB's own reader over the same.

    read.py BUCKET/KEY ROWS.jsonl     ROWS are those of the period; the store is what AWS_… say"""
import json
import os
import sys

import duckdb
import pyarrow.fs
import pyarrow.parquet
from fsspec.implementations.arrow import ArrowFSWrapper

path, rows = sys.argv[1], [json.loads(line) for line in open(sys.argv[2], encoding="utf-8")]
scheme, place = os.environ["AWS_ENDPOINT_URL"].split("://")
store = pyarrow.fs.S3FileSystem(
    access_key=os.environ["AWS_ACCESS_KEY_ID"], secret_key=os.environ["AWS_SECRET_ACCESS_KEY"], region="us-east-1", scheme=scheme,
    endpoint_override=place)
names = ["card", "time", "amount", "where", "paid"]
want = sorted(tuple(row.get(name) for name in names) for row in rows)
assert len(want) > 100, len(want)

table = pyarrow.parquet.read_table(path, filesystem=store)
assert sorted(zip(*(table[name].to_pylist() for name in names))) == want, "pyarrow reads other rows"
some = pyarrow.parquet.read_table(path, filesystem=store, columns=["card"], filters=[("card", "<", 50)])
assert sorted(some["card"].to_pylist()) == [row[0] for row in want if row[0] < 50], "pyarrow reads other rows of a range"

duck = duckdb.connect()
duck.register_filesystem(ArrowFSWrapper(store))
listed = ", ".join('"%s"' % name for name in names)
got = duck.sql("SELECT %s FROM read_parquet('s3://%s')" % (listed, path)).fetchall()
assert sorted(got) == want, "DuckDB reads other rows"
[(count, total)] = duck.sql("SELECT count(*), sum(amount) FROM read_parquet('s3://%s') WHERE paid AND card >= 50" % path).fetchall()
paid = [row[2] for row in want if row[4] and row[0] >= 50]
assert count == len(paid) and abs(total - sum(paid)) < 1e-6, "DuckDB sums other rows"
print("%d rows" % len(want))
