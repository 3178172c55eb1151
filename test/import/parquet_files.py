"""Makes Parquet files of the same rows as pyarrow and DuckDB write them, with each codec, encoding and page form, and the
rows as JSON Lines, as `widerow export` prints them.

    parquet_files.py FOLDER          the files, FOLDER/want.jsonl
    parquet_files.py --same A B      are the rows of two JSON Lines files the same, types included?"""
import base64
import datetime
import decimal
import json
import random
import sys

ROWS = 3000
EPOCH = datetime.datetime(1970, 1, 1)


def same(a, b):
    left, right = ([json.loads(line) for line in open(path)] for path in (a, b))
    assert len(left) == len(right) > 0, (len(left), len(right))
    for x, y in zip(left, right):
        assert x == y and [type(v) for v in x.values()] == [type(v) for v in y.values()], (x, y)


def table():
    import pyarrow as pa

    rnd = random.Random(1)

    def some(make, kind):
        return pa.array([None if rnd.random() < 0.2 else make(i) for i in range(ROWS)], kind)

    def data(size):
        return bytes(rnd.randrange(256) for _ in range(size))

    return pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "i8": some(lambda i: rnd.randint(-128, 127), pa.int8()),
            "i32": some(lambda i: rnd.randint(-(2**31), 2**31 - 1), pa.int32()),
            "u32": some(lambda i: rnd.randint(0, 2**32 - 1), pa.uint32()),
            "i64": some(lambda i: rnd.randint(-(2**63), 2**63 - 1), pa.int64()),
            "f": some(lambda i: rnd.randint(-999, 999) / 8, pa.float32()),
            "d": some(lambda i: rnd.random(), pa.float64()),
            "b": some(lambda i: rnd.random() < 0.5, pa.bool_()),
            "s": some(lambda i: "é%d" % rnd.randint(0, 50) * rnd.randint(0, 3), pa.string()),
            "long": some(lambda i: "common prefix %06d %s" % (i, "x" * rnd.randint(0, 40)), pa.string()),
            "raw": some(lambda i: data(rnd.randint(0, 9)), pa.binary()),
            "fix": some(lambda i: data(7), pa.binary(7)),
            "dec": some(lambda i: decimal.Decimal(rnd.randint(-(10**17), 10**17)).scaleb(-3), pa.decimal128(20, 3)),
            "day": some(lambda i: datetime.date(1900, 1, 1) + datetime.timedelta(days=rnd.randint(0, 99999)), pa.date32()),
            "ts": some(lambda i: datetime.datetime(1950, 1, 1) + datetime.timedelta(microseconds=rnd.randint(0, 9 * 10**15)), pa.timestamp("us")),
            "nul": pa.nulls(ROWS),
        }
    )


def shown(name, value, texts):
    if name in ("raw", "fix"):
        return {"base64": base64.b64encode(value).decode()}
    if name == "dec":
        return format(value, "f")
    if texts and name in ("day", "ts"):
        return str(value).rstrip("0").rstrip(".") if "." in str(value) else str(value)
    if name == "day":
        return (value - EPOCH.date()).days
    if name == "ts":
        past = value - EPOCH
        return (past.days * 86400 + past.seconds) * 10**6 + past.microseconds
    return value


def write_rows(path, rows, texts):
    with open(path, "w") as f:
        for row in rows:
            names = ["id"] + sorted(k for k in row if k != "id")
            cells = {k: shown(k, row[k], texts) for k in names if row[k] is not None}
            f.write(json.dumps(cells, ensure_ascii=False) + "\n")


def write_files(folder):
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq

    t = table()
    write_rows(folder + "/want.jsonl", t.to_pylist(), False)
    write_rows(folder + "/texts.jsonl", t.to_pylist(), True)
    for codec, form, dictionary in (
        ("none", "1.0", True),
        ("none", "2.0", False),
        ("snappy", "1.0", True),
        ("snappy", "2.0", False),
        ("gzip", "1.0", False),
        ("zstd", "2.0", True),
        ("lz4", "1.0", False),
        ("lz4", "2.0", True),
    ):
        pq.write_table(
            t,
            "%s/arrow-%s-%s.parquet" % (folder, codec, form),
            compression=codec,
            data_page_version=form,
            use_dictionary=dictionary,
            row_group_size=1700,
            data_page_size=3000,
            write_page_checksum=dictionary,
        )
    deltas = {
        "id": "DELTA_BINARY_PACKED",
        "i8": "DELTA_BINARY_PACKED",
        "i32": "DELTA_BINARY_PACKED",
        "u32": "BYTE_STREAM_SPLIT",
        "i64": "DELTA_BINARY_PACKED",
        "f": "BYTE_STREAM_SPLIT",
        "d": "BYTE_STREAM_SPLIT",
        "b": "RLE",
        "s": "DELTA_LENGTH_BYTE_ARRAY",
        "long": "DELTA_BYTE_ARRAY",
        "raw": "DELTA_BYTE_ARRAY",
        "fix": "BYTE_STREAM_SPLIT",
        "ts": "DELTA_BINARY_PACKED",
        "day": "DELTA_BINARY_PACKED",
        "dec": "DELTA_BYTE_ARRAY",
    }
    for form in ("1.0", "2.0"):
        pq.write_table(
            t,
            "%s/arrow-deltas-%s.parquet" % (folder, form),
            use_dictionary=False,
            column_encoding=deltas,
            data_page_version=form,
            data_page_size=5000,
        )
    con = duckdb.connect()
    con.register("t", t)
    for codec, form in (("uncompressed", "v1"), ("snappy", "v2"), ("gzip", "v1"), ("zstd", "v2"), ("lz4_raw", "v1"), ("snappy", "v1")):
        con.execute(
            "COPY t TO '%s/duck-%s-%s.parquet' (FORMAT parquet, CODEC '%s', PARQUET_VERSION %s, ROW_GROUP_SIZE 2048)"
            % (folder, codec, form, codec, form)
        )
    # What Spark writes where it is asked for its older forms: timestamps of 96 bits.
    old = t.select(["id", "ts"])
    pq.write_table(old, folder + "/int96.parquet", use_deprecated_int96_timestamps=True)
    write_rows(folder + "/int96.jsonl", [{"id": r["id"], "ts": r["ts"]} for r in old.to_pylist()], False)
    pq.write_table(pa.table({"id": [1], "list": [[1, 2]]}), folder + "/list.parquet")
    pq.write_table(pa.table({"id": [1], "place": [{"x": 1}]}), folder + "/struct.parquet")
    pq.write_table(pa.table({"id": [1]}), folder + "/brotli.parquet", compression="brotli")
    pq.write_table(pa.table({"id": pa.array([1, 2, 3]), "u": pa.array([7, 2**63 + 1, None], pa.uint64())}), folder + "/unsigned.parquet")
    pq.write_table(pa.table({"id": pa.array([1, None, 3])}), folder + "/nokey.parquet")
    pq.write_table(pa.table({"id": pa.array([], pa.int64()), "s": pa.array([], pa.string())}), folder + "/empty.parquet")
    rnd = random.Random(2)
    keys = sorted(rnd.sample(range(10**9), 60000))
    big = pa.table({"id": keys, "s": ["row %d" % k for k in keys]})
    pq.write_table(big, folder + "/groups.parquet", row_group_size=3000)
    late = pa.table({"id": [None if i == 40000 else k for i, k in enumerate(keys)], "s": big["s"]})
    pq.write_table(late, folder + "/late.parquet", row_group_size=3000)


if sys.argv[1] == "--same":
    same(*sys.argv[2:])
else:
    write_files(sys.argv[1])
