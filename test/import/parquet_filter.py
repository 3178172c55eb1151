"""Reads some rows of an exported file by a condition, as pyarrow, DuckDB and DataFusion do it with what the file tells of its row
groups and pages: the right rows, and DataFusion says that it has passed over the others' pages.

    parquet_filter.py FILE     id 0 to 399999, s of the number (id * 7919 % 400009), d = id // 4 + 0.5"""
import re
import sys

import datafusion
import duckdb
import pyarrow.parquet as pq

path = sys.argv[1]
# In the first page of its column, of the first group, which has more.
want = [(i, "%032d" % (i * 7919 % 400009), i // 4 + 0.5) for i in range(123456, 123556)]
meta = pq.ParquetFile(path).metadata
groups = meta.num_row_groups
assert groups > 1 and meta.num_rows == 400000
for g in range(groups):
    for k in range(3):
        chunk = meta.row_group(g).column(k)
        s = chunk.statistics
        assert chunk.has_column_index and chunk.has_offset_index and s.has_min_max and s.null_count == 0
first = [meta.row_group(g).column(0).statistics for g in range(groups)]
assert [s.min for s in first] == sorted(s.min for s in first) and first[0].min == 0 and first[-1].max == 399999

condition = [("id", ">=", 123456), ("id", "<", 123556)]
rows = pq.read_table(path, columns=["id", "s", "d"], filters=condition).to_pylist()
assert [tuple(r.values()) for r in rows] == want
where = "WHERE id >= 123456 AND id < 123556"
assert duckdb.sql("SELECT id, s, d FROM '%s' %s ORDER BY id" % (path, where)).fetchall() == want
for i in (0, 55, 99):
    assert duckdb.sql("SELECT id, s, d FROM '%s' WHERE s = '%s'" % (path, want[i][1])).fetchall() == [want[i]]
assert duckdb.sql("SELECT count(*) FROM '%s' WHERE d > 90000" % path).fetchall() == [(40000,)]

c = datafusion.SessionContext()
c.register_parquet("f", path)
rows = [tuple(r.values()) for b in c.sql("SELECT id, s, d FROM f " + where + " ORDER BY id").collect() for r in b.to_pylist()]
assert rows == want
plan = str(c.sql("EXPLAIN ANALYZE SELECT id, s, d FROM f " + where).collect()[0].column(1).to_pylist())


def pruned(name):
    """How much of it was passed over: "name=7", or "name=10 total → 3 matched"."""
    m = re.search(name + r"=([0-9.]+(?: [KM])?)(?: total → ([0-9.]+(?: [KM])?) matched)?", plan)
    number = lambda t: float(t.rstrip(" KM")) * {"K": 1e3, "M": 1e6}.get(t[-1], 1)
    assert m, plan
    return number(m[1]) - (number(m[2]) if m[2] else 0)


print("DataFusion has passed over %d row groups, and %d rows of the one that is left" % (
    pruned("row_groups_pruned_statistics"), pruned("page_index_rows_pruned")))
assert pruned("row_groups_pruned_statistics") == groups - 1 and pruned("page_index_rows_pruned") > 100000
