"""Instance x operation x key x table: every answer is compared with what the grants say."""
import pathlib
import re
import time

from client import BODIES, Connection, Key, base_headers, batch, field, fields, in_batch, row, signature, snapshot

INSTANCES = ("north", "south", "west")
GRANTS = {"all": "", "reader": "ro", "cards": "rw:cards*,orders", "mixed": "ro:logs*,rw:orders"}
TABLES = ("cards_a", "logs_a", "orders", "other")
OP_DEF = (pathlib.Path(__file__).resolve().parents[2] / "src/op.def").read_text()
OPS = re.findall(r'^OP\(\w+, \w+, "([\w/]+)", (\w+),', OP_DEF, re.M)
EMPTY = re.findall(r'^OP_EMPTY\("(\w+)"\)', OP_DEF, re.M)
NONE = re.findall(r'^OP_NONE\("(\w+)"\)', OP_DEF, re.M)
NO_TABLE = ("ListTable", "CommitTransaction", "AbortTransaction")
READS = ("GetRow", "BatchGetRow", "GetRange", "BulkExport")
NO_STREAM = {"DescribeStream": "OTSObjectNotExist", "GetShardIterator": "OTSObjectNotExist",
             "GetStreamRecord": "OTSParameterInvalid"}  # the ids name a table of the key, but no stream of it
NO_TUNNEL = [op for op, _ in OPS if op.startswith("tunnel/") and op not in ("tunnel/create", "tunnel/delete", "tunnel/list")]
NO_STREAM.update({op: "OTSParameterInvalid" for op in NO_TUNNEL})  # the same; it was deleted by then
# The tables are no series, and their key has no time: by then the key is known to be allowed.
NO_STREAM.update({op: "OTSParameterInvalid" for op in ("CreateSeries", "DescribeSeries", "ChangeSeries")})
NO_SEARCH = ("CreateSearchIndex", "UpdateSearchIndex", "DeleteSearchIndex", "DescribeSearchIndex", "Search", "ComputeSplits",
             "ParallelScan")  # of a schema without fields, and of an index that there is not
SEARCH_CODES = ("OTSUnsupportOperation", "OTSParameterInvalid", "OTSMetaNotMatch")
ON_NEW = ("CreateTable", "LoadTable", "UnloadTable", "AddDefinedColumn", "DeleteDefinedColumn", "CreateIndex", "DropIndex",
          "DeleteTable")


def make_keys():
    """A key of each kind in each instance; one that was given two of the three, with other grants in each; and one
    with the same secret, which was given the third."""
    keys = [Key(i, f"{i}-{name}", f"secret+of/{i}+{name}+4711", g) for i in INSTANCES for name, g in GRANTS.items()]
    both = "secret+of/both+4711"
    return keys + [Key("north", "both", both, "rw:cards*"), Key("south", "both", both, "ro"), Key("west", "like-both", both)]


def mark(instance):
    return f"row-of-{instance}"


def writes(op, kind):
    return kind in ("WRITE", "TABLE")


def fill(c, keys):
    for key in (k for k in keys if k.id.endswith("-all")):
        for table in TABLES:
            assert c.call(key, "CreateTable", BODIES["CreateTable"](table, "")).status == 200
            kept = field(1, table) + field(2, row("kept", [("v", mark(key.instance))])) + field(3, field(1, 0))
            assert c.call(key, "PutRow", kept).status == 200


def two_tables(op, one, other, text):
    if op == "BatchGetRow":
        return BODIES[op](one, text) + BODIES[op](other, text)
    return batch(one, in_batch(1, text)) + batch(other, in_batch(1, text))


def refusals(t, c, keys):
    """All that no grant covers, and every key at every instance that is not its own."""
    n = 0
    for key in keys:
        given = {k.instance for k in keys if k.id == key.id}
        for instance in INSTANCES:
            if instance in given and instance != key.instance:
                continue  # that has its own turn
            for op, kind in OPS:
                for table in TABLES:
                    own = instance == key.instance
                    if own and (op in NO_TABLE or key.allows(table, writes(op, kind))):
                        continue
                    answer = c.call(key, op, BODIES[op](table, "crossed"), instance=instance)
                    code, text = answer.error()
                    named = not own or (f" {op} " in text and f"'{table}'" in text)
                    denied = "OTSPermissionDenied" if op.startswith("tunnel/") else "OTSNoPermissionAccess"
                    wanted = denied if own else "OTSAuthFailed"
                    ok = answer.status == 403 and code == wanted and named and answer.signed_by(key)
                    t.check(ok, f"matrix: {key.id} at {instance}, {op} {table}: {answer.status} {code} {text}")
                    n += 1
        for op in ("BatchGetRow", "BatchWriteRow"):
            for one, other in ((a, b) for a in TABLES for b in TABLES if a != b):
                if all(key.allows(x, op == "BatchWriteRow") for x in (one, other)):
                    continue
                answer = c.call(key, op, two_tables(op, one, other, "crossed"))
                ok = answer.status == 403 and answer.error()[0] == "OTSNoPermissionAccess"
                t.check(ok, f"matrix: {key.id}, {op} {one}+{other}: {answer.status}")
                n += 1
    return n


def moved(t, c, keys):
    """A request that was signed for one of a key's instances is none for the other."""
    n = 0
    both = [k for k in keys if k.id == "both"]
    for key, other in zip(both, reversed(both)):
        for v4 in (False, True):
            for op, kind in OPS:
                body = BODIES[op]("cards_a", "moved")
                headers = base_headers(key, body, v4)
                headers.append(signature(key.secret, "/" + op, headers, v4))
                headers = [(name, other.instance if name == "x-ots-instancename" else v) for name, v in headers]
                answer = c.ask("/" + op, headers, body)
                ok = answer.status == 403 and answer.error() == ("OTSAuthFailed", "Signature mismatch.")
                t.check(ok, f"matrix: {op} signed for {key.instance}, sent to {other.instance}: {answer.status}")
                n += 1
    return n


def transactions(t, c, keys):
    """A transaction is its key's alone, in its instance: to all others it is not there."""
    n = 0
    for owner in (k for k in keys if k.id.endswith("-all")):
        begun = c.call(owner, "StartLocalTransaction", BODIES["StartLocalTransaction"]("orders", "owner"))
        t.check(begun.status == 200, f"matrix: {owner.id} begins: {begun.status} {begun.error()}")
        body = begun.body  # the answer has the id where the requests have it
        for op in ("CommitTransaction", "AbortTransaction"):
            for key in keys:
                if key is not owner:
                    answer = c.call(key, op, body)
                    t.check(answer.error()[0] == "OTSSessionNotExist", f"matrix: {key.id}, {op} of {owner.id}: {answer.error()}")
                    n += 1
        t.check(c.call(owner, "AbortTransaction", body).status == 200, f"matrix: {owner.id} aborts")
    return n


STATEMENTS = (("select * from {}", False), ("select * from {} where k = 'kept'", False), ("describe {}", False),
              ("show index in {}", False), ("create table if not exists {} (k varchar(1024), v mediumtext, primary key(k))", True),
              ("select count(*) from {0} a join {0} b on a.k = b.k", False), ("alter table {} add column w bigint", True),
              ("drop mapping table {}", True))


def query(c, key, sql):
    return c.call(key, "SQLQuery", field(1, sql) + field(2, 2))


def statements(t, c, keys):
    """SQLQuery is no row of OPS: what it asks for is what counts, table by table."""
    n = 0
    others = {k.instance: [mark(i).encode() for i in INSTANCES if i != k.instance] for k in keys}
    for key in keys:
        for table in TABLES:
            both = key.allows(table, True)
            for sql, change in STATEMENTS:
                if change and not both and not sql.startswith("create"):
                    continue  # there is no mapping to change
                answer = query(c, key, sql.format(table))
                allowed = key.allows(table, change)
                seen = answer.status == 200 and not any(m in answer.body for m in others[key.instance])
                ok = seen if allowed else answer.status == 403 and answer.error()[0] == "OTSNoPermissionAccess"
                t.check(ok and answer.signed_by(key), f"matrix: {key.id}, {sql.format(table)}: {answer.status} {answer.error()}")
                n += 1
        shown = query(c, key, "show tables").body
        for table in TABLES:
            t.check((table.encode() in shown) == key.allows(table, False), f"matrix: {key.id}, SHOW TABLES, {table}")
        elsewhere = next(i for i in INSTANCES if i != key.instance)
        answer = query(c, key, f"select * from {elsewhere}.cards_a")
        t.check(answer.status == 403, f"matrix: {key.id}, a table of {elsewhere}: {answer.status}")
        n += 1
    return n


def listed(c, key):
    return sorted(name.decode() for _, name in fields(c.call(key, "ListTable", b"").body))


def allowed(t, c, key):
    """All that the key's grants cover, which must work and show the own instance's rows only."""
    n = 0
    others = [mark(i).encode() for i in INSTANCES if i != key.instance]
    seen = [table for table in TABLES if key.allows(table, False)]
    t.check(listed(c, key) == sorted(seen), f"matrix: {key.id} lists {seen}")
    ordered = [o for o in OPS if o[0] != "DeleteTable"] + [o for o in OPS if o[0] == "DeleteTable"]
    for table in TABLES:
        for op, kind in ordered:
            name = table + "_new" if op in ON_NEW else table
            if op in NO_TABLE or not key.allows(name, writes(op, kind)):
                continue
            answer = c.call(key, op, BODIES[op](name, f"by-{key.id}"))
            own = op not in READS or mark(key.instance).encode() in answer.body
            if op in NO_SEARCH:
                t.check(answer.error()[0] in SEARCH_CODES, f"matrix: {key.id}, {op} {name}: {answer.error()}")
                n += 1
                continue
            if op in NO_STREAM:
                t.check(answer.error()[0] == NO_STREAM[op], f"matrix: {key.id}, {op} {name}: {answer.error()}")
                n += 1
                continue
            ok = answer.status == 200 and own and not any(m in answer.body for m in others)
            t.check(ok and answer.signed_by(key), f"matrix: {key.id}, {op} {name}: {answer.status} {answer.error()}")
            n += 1
    for op in EMPTY:
        t.check(c.call(key, op, b"").status == 200, f"matrix: {key.id}, {op}")
    for op in NONE:
        t.check(c.call(key, op, b"").error()[0] == "OTSUnsupportOperation", f"matrix: {key.id}, {op}")
    return n + len(EMPTY) + len(NONE)


def run(t, server, keys):
    for op, _ in OPS:
        t.check(op in BODIES, f"matrix: client.py knows a request for {op}")
    start = time.time()
    c = Connection(server.address)
    fill(c, keys)
    admins = [k for k in keys if k.id.endswith("-all")]
    before = {k.instance: snapshot(c, k) for k in admins}
    refused = refusals(t, c, keys) + moved(t, c, keys) + transactions(t, c, keys)
    served = statements(t, c, keys)
    for k in admins:
        t.check(snapshot(c, k) == before[k.instance], f"matrix: refused requests changed nothing in {k.instance}")
    for key in keys:
        before = {k.instance: snapshot(c, k) for k in admins}
        served += allowed(t, c, key)
        for k in admins:
            if k.instance != key.instance:
                t.check(snapshot(c, k) == before[k.instance], f"matrix: {key.id} changed nothing in {k.instance}")
    t.figure(f"matrix: {refused} requests refused, {served} served, in {time.time() - start:.1f} s")
