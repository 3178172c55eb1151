#!/usr/bin/env python3
"""Makes first inputs for every fuzz target, under corpus/<target>/: from the golden files, and some made by hand.

`run.sh --merge` runs it too, so these inputs always stay. Names are hashes, so nothing is made twice.
"""
import hashlib
import pathlib
import struct
import zlib

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden"
CORPUS = HERE / "corpus"
OPS = {  # wire name: target; as op.def has them
    name: member
    for member, name in (
        [part.strip().strip('"') for part in line[3:].split(",")[1:3]]
        for line in (HERE.parent.parent / "src/op.def").read_text().splitlines()
        if line.startswith("OP(") and '"' in line
    )
}


def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def part(number, content):
    """One protobuf field: a number or bytes."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def add(target, content):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha1(content).hexdigest()[:16]).write_bytes(content)


# ---- PlainBuffer


def crc8(data, crc=0):
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc << 1 & 0xFF ^ (7 if crc & 0x80 else 0)
    return crc


def sized(data):
    return struct.pack("<I", len(data)) + data


def bare(value):
    if value is None:
        return b"\x0b"  # choose one for me
    if isinstance(value, bool):
        return bytes([2, value])
    if isinstance(value, int):
        return struct.pack("<Bq", 0, value)
    if isinstance(value, float):
        return struct.pack("<Bd", 1, value)
    return (b"\3" if isinstance(value, str) else b"\7") + sized(value.encode() if isinstance(value, str) else value)


def cell(name, value, op=None, stamp=None):
    name, data = name.encode(), b"" if op in (1, 3) else bare(value)
    out = b"\3\4" + sized(name) + (b"\5" + sized(data) if data else b"")
    out += bytes([6, op]) if op else b""
    time = struct.pack("<q", stamp) if stamp is not None else b""
    crc = crc8(bytes([op]) if op else b"", crc8(name + data + time))
    return out + (b"\7" + time if time else b"") + bytes([10, crc]), crc


def row(key, cells=(), delete=False):
    keys, cells = [cell(*c) for c in key], [cell(*c) for c in cells]
    out = b"\x75\0\0\0\1" + b"".join(c for c, _ in keys)
    out += b"\2" + b"".join(c for c, _ in cells) if cells else b""
    crc = crc8(bytes(c for _, c in keys + cells))
    return out + (b"\x08" if delete else b"") + bytes([9, crc8(bytes([delete]), crc)])


def column_filter(name, value, comparator=1, missing=0, latest=1, regex=None, cast=None):
    rule = part(6, part(1, regex) + part(2, cast)) if regex else b""
    body = part(1, comparator) + part(2, name) + part(3, bare(value)) + part(4, missing) + part(5, latest) + rule
    return part(1, 1) + part(2, body)


def vectors(name="wire-vectors.txt"):
    for line in (GOLDEN / name).read_text().splitlines():
        if line and line[0] != "#":
            name, _, data = line.split("\t")
            yield name, bytes.fromhex(data)


def golden(name):
    for line in (GOLDEN / name).read_text().splitlines():
        if line and line[0] != "#":
            key, _, data = line.partition(" ")
            yield key, bytes.fromhex(data)


def seed_search():
    """What stands alone in a line is put where a Search or its answer has it."""
    ops = {"create": "CreateSearchIndex", "update": "UpdateSearchIndex", "delete": "DeleteSearchIndex", "list": "ListSearchIndex",
           "describe": "DescribeSearchIndex", "search": "Search", "splits": "ComputeSplits", "pscan": "ParallelScan"}
    fields = {"q": 4, "sort": 6, "agg": 10, "gb": 11, "highlight": 12}
    results = {"aggres": 7, "gbres": 8}
    for name, data in vectors("search-vectors.txt"):
        kind, _, rest = name.partition("_")
        op = ops.get(rest.split("_")[0])
        if kind == "req":
            add(OPS[op], data)
        elif kind == "resp":
            add("reply", part(1, data) + part(2, list(OPS).index(op)))
        elif kind in fields:
            add("search", part(1, b"t") + part(2, b"i") + part(4, part(fields[kind], data)))
        elif kind in results:
            add("reply", part(1, part(1, 0) + part(3, 1) + part(results[kind], data)) + part(2, list(OPS).index("Search")))


def seed_vectors():
    rows = b""
    for name, data in vectors():
        kind, _, rest = name.partition("_")
        op = OPS.get(rest.split("_")[0])
        if kind == "req" and op:
            add(op, data)
            add("http", part(1, b"/" + rest.split("_")[0].encode()) + part(3, data))
        elif kind == "resp":
            number = list(OPS.values()).index(op) if op else 0
            add("reply", part(1, data) + part(2, number))
        elif kind in ("pk", "put", "update", "delete", "node", "rows", "malformed", "stream"):
            add("plain", part(1, data))
            rows = data if name == "put_all_types" else rows
        elif kind in ("value", "pkval"):
            add("value", part(1, data))
        elif kind == "matrix":
            add("matrix", data)
            add("reply", part(1, part(2, data) + part(4, 1)) + part(2, list(OPS).index("BulkExport")))
        elif kind == "deflate" and name.endswith("body"):
            add("inflate", data)
    for name, data in vectors():
        if name.startswith("filter_"):
            add("filter", part(1, data) + part(2, rows))


def seed_requests():
    """Requests that meet the tables of fuzz_request.c."""
    for name in ("DescribeTable", "DeleteTable", "LoadTable", "UnloadTable"):
        add(OPS[name], part(1, b"t1"))
    add("add_defined_column", part(1, b"t1") + part(2, part(1, b"d1") + part(2, 1)))
    add("delete_defined_column", part(1, b"t1") + part(2, b"d1"))
    add("list_table", b"")
    body = part(1, b"t1")
    add("http", part(1, b"/DescribeTable") + part(3, body))
    add("http", part(1, b"/DescribeTable") + part(3, body) + part(4, 1))
    add("http", part(1, b"/DescribeTable") + part(3, body) + part(4, 2))
    add("http", part(1, b"/ListTable") + part(2, b"x-ots-response-compress-type: deflate"))
    add("http", part(1, b"/ListSearchIndex") + part(5, b"GET"))
    add("http", part(1, b"/CreateIndex"))
    size = b"x-ots-request-compress-type: deflate\nx-ots-request-compress-size: %d" % len(body)
    add("http", part(1, b"/DescribeTable") + part(2, size) + part(3, zlib.compress(body)))
    unsigned = (b"x-ots-apiversion: 2014-08-08\nx-ots-accesskeyid: test-id\nx-ots-instancename: test\n"
                b"x-ots-date: 2023-11-14T22:13:20.000Z\nx-ots-contentmd5: 1B2M2Y8AsgTpgAmy7PhCfg==\n"
                b"x-ots-signature: 0000000000000000000000000000")
    add("http", part(1, b"/ListTable") + part(2, unsigned) + part(4, 1))
    v4 = unsigned.replace(b"2014-08-08", b"2015-12-31").replace(b"x-ots-signature:", b"x-ots-signaturev4:")
    v4 += b"\nx-ots-signdate: 20231114\nx-ots-signregion: local"
    add("http", part(1, b"/ListTable") + part(2, v4) + part(4, 1))


def seed_rows():
    """Row operations on both tables of fuzz_request.c; t1's rows with an even key are wide."""
    key1, wide = [("pk0", 3)], [("pk0", 4)]
    key2 = [("pk0", "p"), ("pk1", b"\0q")]
    t1, t2, any_row = part(1, b"t1"), part(1, b"t2"), part(3, part(1, 0))
    add("put_row", t2 + part(2, row(key2 + [("pk2", None)], [("c", 1.5), ("d", True), ("e", b"x" * 20)])) + any_row
        + part(4, part(1, 1)))
    add("put_row", t1 + part(2, row(wide, [("c%d" % i, "v" * i) for i in range(9)])) + any_row)
    change = [("cnt", 5, 4), ("a", 0, 1), ("age", 0, 3, 1000), ("n", "text", None, 1700000000000)]
    for key in (key1, wide, [("pk0", 99)]):
        add("update_row", t1 + part(2, row(key, change)) + any_row + part(4, part(1, 2) + part(2, b"cnt")))
        condition = part(3, part(1, 1) + part(2, column_filter(b"a", 3)))
        add("delete_row", t1 + part(2, row(key, delete=True)) + condition)
    for extra in (b"", part(10, b"\1a"), part(8, b"b") + part(9, b"d"), part(4, part(3, 1000)), part(3, b"c") + part(3, b"a"),
                  part(7, part(1, 3) + part(2, part(1, 1) + part(2, 2)))):
        add("get_row", t1 + part(2, row(wide)) + part(5, 3) + extra)
        add("batch_get_row", part(1, t1 + part(2, row(wide)) + part(2, row(key1)) + part(3, b"\1a") + part(3, b"") + part(6, 1))
            + part(1, t2 + part(2, row(key2 + [("pk2", 1)])) + part(6, 2)))
    double = column_filter(b"c", 6.5, 3, regex=b"t1:([0-9.]+),", cast=1)
    tree = part(1, 2) + part(2, part(1, 3) + part(2, double) + part(2, part(1, 2) + part(2, part(1, 1) + part(2, double))))
    rows = row(key1, [("c", "t1:7.25,", None, 5), ("c", "x", None, 4), ("d", 1, None, 4)])
    add("filter", part(1, double) + part(2, rows))
    add("filter", part(1, tree) + part(2, rows))
    meta = part(1, part(1, b"t3") + part(2, part(1, b"a") + part(2, 2)))
    bounds = [b"\x09", bare("h"), bare("q"), b"\x0a"]
    add("create_table", meta + part(2, part(1, part(1, 0) + part(2, 0))) + part(3, part(1, 2**64 - 1) + part(2, 2))
        + b"".join(part(4, part(1, a) + part(2, b)) for a, b in zip(bounds, bounds[1:])))
    add("compute_split_points", t1 + part(2, 1) + part(3, 1) + part(4, 5))


def seed_stored():
    types = {"boolean": 1, "tinyint": 2, "smallint": 3, "integer": 4, "bigint": 5, "ubigint": 6, "float": 7, "double": 8,
             "decimal": 9, "varchar": 10, "char": 11, "binary": 12, "varbinary": 13, "date": 14, "time": 15, "timestamp": 16}
    for name, data in golden("key.hex"):
        kind = types.get(name.split("_")[0])
        if kind:
            kind |= 0x80 if name.endswith("_desc") else 0
            add("key", part(1, bytes([kind])) + part(2, data) + part(3, data))
    add("key", part(1, bytes([10, 0x85, 13])) + 2 * part(2, dict(golden("key.hex"))["whole_key"][6:]))
    for _, data in golden("row.hex"):
        add("row", data)
    for _, data in golden("cell.hex"):
        add("cell", data)
    if (GOLDEN / "schema.hex").exists():
        for _, data in golden("schema.hex"):
            add("schema", data)
    for name, data in golden("stream.hex"):
        if name != "key" and not name.startswith("schema"):
            add("record", data)
    add("tunnel", dict(golden("tunnel.hex"))["state"])
    add("token", b"s5:t_1:0001:0000000000000005:2a0584ea7a41d1d2")
    add("token", bytes.fromhex("6200edb6d1d6d0a3d3f3"))
    add("iterator", b"t_1:0001:0000000000000005:2a0584ea7a41d1d2")
    add("schema", b"\1")


def seed_rest():
    for text in (b"", b"a" * 3000, bytes(range(256))):
        add("inflate", zlib.compress(text))
    add("inflate", zlib.compress(b"\0" * 200000))
    add("head", b"\7POST /PutRow HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nx-ots-date: b\r\n\r\nhello")
    add("head", b"\0GET http://a/b?c HTTP/1.0\r\nConnection: keep-alive, x\r\nTransfer-Encoding: chunked\r\n\r\n")
    add("chunks", b"\2" + b"5\r\nhello\r\n1a;x=y\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nA: b\r\n\r\nrest")
    add("config", part(1, b"# comment\nhttp = 127.0.0.1:0\nmemory = 2GiB\n\nslow=5\n") + part(2, b"--strict\0--data=x\0"))
    add("config", part(1, b"strict = yes\nfilters_max = 7\nengine = mem\n") + part(2, b"--set\0filters_max=5\0"))
    add("config", part(1, b"htp = 1\n") + part(3, b"WIDEROW_THREADS=3\0WIDEROW_SET=filters_max=3,regex_bytes_max=9\0"))
    add("config", part(2, b"--help\0"))
    for text in (b"rw", b"ro:logs,cards*", b"ro,rw:cards*,orders", b"rw:"):
        add("grant", part(1, text) + part(2, b"cards1"))
    add("config", part(3, b"WIDEROW_ACCESS_KEY_ID=a\0WIDEROW_ACCESS_KEY_SECRET=b\0WIDEROW_NO_SYNC=off\0"))


STATEMENTS = """select 1 + 1 as two, 'x', 7 div 2, -7 mod 4, 1 / 0, not true xor false
select concat('a', 1), left('grüß', 3), reverse('x'), md5('x'), locate('b', 'ab'), hex(x'00ff'), if(1, 2, 3), database()
select case 2 when 1 then 'a' when 2 then 'b' else null end x, cast('5' as bigint), 'abc' like 'a%' escape '!'
select * from t where k = 'a' and n = 2
select t.*, count(*) c, sum(d), min(s), max(n), avg(d) from t where k > 'a' or (k, n) > ('a', 1) group by k having c > 0 order by c desc limit 5 offset 1
select /*+ _l_allow_filtering_, _l_force_index_('ts'), _l_operation_timeout_(500) */ distinct s from t where s in ('x', 'y') and d is not null
select x.n from (select n, k from t where k = 'a') x where x.n between 0 and 9 and exists (select 1 from a where k = 1)
select * from a where k = 1 and u > 18446744073709551614 and x < -12.4 and ts > '2024-02-29' and da = '2024-02-29'
select n from t where d = 1 allow filtering
select n + 1 as m from t having m > 1
select * from t where k = ? and n > ? limit ?
select group_concat(s), count(distinct s) from t where k like 'a%'
select * from t join a on t.n = a.k left join t u using (k)
insert into t (k, n, d, s) values ('c', 1, 1.5e3, 'it''s \\\\ "x"'), ('d', -1, null, concat('a', 'b'))
upsert /*+ _l_ts_(5) */ into a (k, x, ts, vb) values (2, 12.345, now(), x'ff')
insert into t (k, n) values (?, ?) on duplicate key update d = 1
update t set d = d + 1, s = null where k = 'a' and n = 1
delete from t where k = 'a' and n = 1
create table if not exists c (k varchar(10) not null, n bigint, v double default 1, primary key (hash32(k), k, n desc), key (v) include (n)) with (ttl = '100', versions = 2)
create table d like t
create table e (k varchar(1024), n bigint(20), primary key(k)) engine='tablestore', engine_attribute='{"consistency": "strong"}'
create index if not exists i using kv on t (d, s) include (k) sync
drop index i on t
alter table t add column z bigint, add y varchar
alter table t drop column if exists z
alter table t set 'TTL' = '1000'
drop table if exists d
truncate table t
show full tables from inst like 't%'
show full columns from t
show keys from t
show index from t
show create table a
show variables like 'v%'
describe t
explain select * from t where s = 'x'
select TABLE_NAME, COLUMN_TYPE from information_schema.COLUMNS c where c.TABLE_SCHEMA = 'inst' order by ORDINAL_POSITION
set session transaction isolation level read committed
set names utf8mb4, @@autocommit = 1
kill query 5
use `inst`
start transaction
select @@session.version, @@max_allowed_packet
select interval 1 day + now() -- a comment
select date(now()), from_unixtime(1.5), unix_timestamp('2024-02-29'), timediff('10:00:00', '09:00:00')""".splitlines()

# What one session says, one after the other; a statement a line, an empty line between sessions.
SESSIONS = """start transaction
upsert into w (k, n, v) values ('a', 1, 2), ('a', 2, 3)
select n, v from w where k = 'a' for update
commit

begin work
update w set v = v * 2, j = json_set(j, '$.a', 1) where k = 'a' and n = 1
select count(*), sum(v) from w where k = 'a' and n > 0
rollback

set autocommit = off
delete from w where k = ? and n = 1
select * from w
truncate table w

start transaction read only
insert into w (k, n) values ('b', 1)
rollback to savepoint x

create table m (k varchar(3), c char(4) not null default 'none', at timestamp default now(), x decimal(5,2) default 1.5, j json, b binary(3), primary key (k)) with (transactions = 'true', compression = 'ZSTD', dynamic_columns = 'true', chs = '86400')
insert into m (k, other, x) values ('abc', 1.5, 999.99)
select *, other + 1 from m where k >= 'a' limit 3
alter table m set 'TTL' = '', 'CHS' = ''

create user if not exists app1 identified by 'secret'
grant read, write on database inst to app1
revoke all on table inst.t from app1
show grants for app1

alter user app1 set password = 'other'
create database if not exists shop
show users
drop user if exists app1

select /*+ _l_versions_(2), _l_ts_min_(1), _l_ts_max_(9999999999999) */ v, v_l_ts from w where k = 'a'
select /*+ _l_ignore_index_ */ json_extract(j, '$.a[0]') x, json_extract_long(j, '$.n'), json_contains(j, '1'), json_object('a', k), json_remove(j, '$.a') from w where k = 'a'
select date_format(now() + interval 3 day, '%Y-%m-%d'), datediff('2024-03-01', '2024-02-29'), cast('1' as decimal(5,2)), case when 1 then x'00' end, position('a' in 'ba')
explain plan for select k from w force index (wv) where v between 1 and 3""".splitlines()


def seed_sql():
    for statement in STATEMENTS:
        add("sql", part(1, statement.encode()) + part(2, b"a"))
    for session in "\n".join(SESSIONS).split("\n\n"):
        add("sql", b"".join(part(i, s.encode()) for i, s in zip((1, 3, 4, 5), session.split("\n"))) + part(2, b"a"))
    # A handshake of 4.1 with caching_sha2_password and a database; and values of each kind for question marks.
    method = b"caching_sha2_password\0"
    add("handshake", struct.pack("<IIB23x", 1 << 3 | 1 << 9 | 1 << 15 | 1 << 19 | 1 << 21, 1 << 24, 255) + b"id\0" + b"\x20" + bytes(32)
        + b"inst\0" + method)
    add("handshake", struct.pack("<IIB23x", 1 << 9 | 1 << 11, 1 << 24, 45))
    add("handshake", b"id\0\x14" + bytes(20) + b"inst\0\x21\0mysql_native_password\0")
    values = [(8, struct.pack("<q", -5)), (3, struct.pack("<i", 7)), (5, struct.pack("<d", 1.5)), (253, b"\3abc"), (252, b"\2\0\xff"),
              (12, b"\x0b" + struct.pack("<HBBBBBI", 2024, 2, 29, 3, 4, 5, 678000)), (10, b"\4" + struct.pack("<HBB", 2024, 2, 29)),
              (11, b"\x0c" + struct.pack("<BIBBBI", 0, 0, 3, 4, 5, 0)), (1, b"\1"), (6, b"")]
    types = b"".join(bytes([code, 0]) for code, _ in values)
    bitmap = bytes([0, 2])
    body = b"".join(value for _, value in values)
    add("parameters", part(1, bitmap + b"\1" + types + body) + part(2, len(values)) + part(3, bitmap + b"\0" + body))
    add("parameters", part(1, b"\0\1\xfd\0") + part(2, 1) + part(4, b"long"))


def seed_fields():
    text = "Hello 菊花茶 TableStore, 北京大学生 iPhone6 caf\u0065\u0301 ひらカタ".encode()
    for kind in range(5):
        add("analyzer", part(1, text) + part(2, kind) + part(3, b", ") + part(4, 1) + part(5, 3) + part(6, kind) + part(7, 3))
    for value, form in (
        (b"2022-05-29T01:02:03.123456789+08:00", b"yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSSXXX"),
        (b"08/7/4 11:59 PM", b"yy/M/d hh:mm a"),
        (b"1653782400", b"epoch_second"),
        (b"30.9, 112.0", b"K:s''X"),
        (b"192.168.1.1/24", b"yyyyMMdd"),
        (b"2001:db8::1", b"H"),
    ):
        add("field_value", part(1, value) + part(2, form) + part(3, b"+05:30") + part(4, 86400))
    add("field_value", part(1, b"2,-2") + part(2, b"y") + part(3, b"-2,2"))
    add("field_value", part(1, b"30.5,120.25") + part(2, b"y") + part(3, b"wtm"))


seed_vectors()
seed_search()
seed_requests()
seed_rows()
seed_stored()
seed_rest()
seed_sql()
seed_fields()
