"""What an operator does to a running server: keys come and go, grants are mistyped, certificates are renewed, clients
are too many."""
import os
import socket
import ssl
import subprocess
import threading
import time

from client import BODIES, Connection, Key, field, row, signature, base_headers
from server import COMMAND, Server, refused_start

# ---- keys


class Load:
    """Writers that sign with whatever keys stand in `keys` at the moment."""

    def __init__(self, address, keys, threads=4, context=None):
        self.keys, self.failures, self.count, self.quit = keys, [], 0, False
        self.args = address, context
        self.threads = [threading.Thread(target=self.run, args=(i,), daemon=True) for i in range(threads)]
        for thread in self.threads:
            thread.start()

    def run(self, number):
        c, n = Connection(*self.args), 0
        while not self.quit:
            keys = self.keys
            key = keys[(n + number) % len(keys)]
            try:
                answer = c.call(key, "PutRow", BODIES["PutRow"]("load", "x"))
                if answer.status != 200 or not answer.signed_by(key):
                    self.failures.append(f"{key.id}: {answer.status} {answer.error()}")
            except OSError as e:
                self.failures.append(f"{key.id}: {e}")
                c.close()
            n += 1
        c.close()
        self.count += n

    def stop(self):
        self.quit = True
        for thread in self.threads:
            thread.join()
        return self.count


def rotation(t, folder):
    rounds, sent = 6, 0
    pairs = [Key("turn", f"turn-{i}", f"rotated-secret-{i}-4711") for i in range(rounds + 1)]
    server = Server(folder, "rotation", pairs[:1])
    t.secrets += [k.secret for k in pairs]
    c = Connection(server.address)
    t.check(c.call(pairs[0], "CreateTable", BODIES["CreateTable"]("load", "")).status == 200, "rotation: table")
    load = Load(server.address, pairs[:1])
    for old, new in zip(pairs, pairs[1:]):
        server.write_keys([old, new])
        server.hangup("access keys read again")
        load.keys = [old, new]
        time.sleep(0.3)
        load.keys = [new]
        time.sleep(0.1)  # what was signed with the old key has its answer
        server.write_keys([new])
        server.hangup("access keys read again")
        answer = c.call(old, "ListTable", b"")
        t.check(answer.status == 403 and answer.error()[0] == "OTSAuthFailed", f"rotation: {old.id} is refused at once")
        t.check(c.call(new, "ListTable", b"").status == 200, f"rotation: {new.id} is taken")
    sent = load.stop()
    t.check(not load.failures, f"rotation: {len(load.failures)} of {sent} requests failed: {load.failures[:3]}")
    t.figure(f"{rounds} key rotations under {sent} requests, {len(load.failures)} failed")
    last = pairs[-1]
    for text, says in (
        (last.line() + "turn other secret-x rx\n", "credentials line 2: 'rx' is no grant"),
        (last.line() + "\nturn other secret-x rw:a*b\n", "credentials line 3: 'rw:a*b' is no grant"),
        (last.line() + "turn other secret-x rw extra\n", "credentials line 2: not"),
        ("# nothing\n", "holds no access key"),
    ):
        server.write_keys(text)
        logged = server.hangup("the access keys stay as they are")
        t.check(says in logged, f"grants: SIGHUP says '{says}': {logged}")
        t.check("secret-x" not in logged, "grants: the message does not show the secret")
        t.check(c.call(last, "ListTable", b"").status == 200, "grants: the old set stays")
        t.check(c.call(Key("turn", "other", "secret-x"), "ListTable", b"").status == 403, "grants: no part of it is taken")
    server.write_keys([Key("turn", last.id, last.secret, "ro")])
    server.hangup("access keys read again")
    answer = c.call(last, "PutRow", BODIES["PutRow"]("load", "x"))
    t.check(answer.error()[0] == "OTSNoPermissionAccess", "grants: taken away by SIGHUP")
    t.check(server.stop(), "rotation: the server ends well")
    (server.data / "credentials").write_text("turn a secret-x ro:\n")
    said = refused_start(server.data)
    t.check("credentials line 1: 'ro:' is no grant" in said and said.count("\n") == 1, f"grants: a start says: {said}")


def instances(t, folder):
    """A key is given another instance, and loses it again, while it is used in the first."""
    here = Key("here", "wide", "wide-secret-4711")
    there = Key("there", "wide", here.secret, "rw:load")
    owner = Key("there", "owner", "owner-secret-4711")
    t.secrets += [here.secret, owner.secret]
    server = Server(folder, "instances", [here, owner])
    c = Connection(server.address)
    for key in (here, owner):
        t.check(c.call(key, "CreateTable", BODIES["CreateTable"]("load", "")).status == 200, "instances: table")

    def put(key):
        return c.call(key, "PutRow", BODIES["PutRow"]("load", "x")).error()[0]

    load = Load(server.address, [here])
    for turn in range(3):
        t.check(put(there) == "OTSAuthFailed", "instances: a key is refused where it was not given leave")
        server.write_keys([here, there, owner])
        server.hangup("access keys read again")
        t.check(put(there) == "", "instances: and taken once it was")
        refused = c.call(there, "PutRow", BODIES["PutRow"]("other", "x")).error()[0]
        t.check(refused == "OTSNoPermissionAccess", "instances: with the grants that it has there")
        for line, says in (
            (Key("there", "wide", "secret-x").line(), "stands twice with two secrets"),
            (Key("here", "wide", here.secret, "ro").line(), "stands twice for the instance 'here'"),
        ):
            server.write_keys(here.line() + line)
            logged = server.hangup("the access keys stay as they are")
            t.check(says in logged and "secret-x" not in logged, f"instances: SIGHUP says '{says}': {logged}")
            t.check(put(Key("there", "wide", "secret-x")) == "OTSAuthFailed", "instances: no second secret is taken")
            t.check(put(there) == "", "instances: the old set stays")
        server.write_keys([here, owner])
        server.hangup("access keys read again")
    t.check(put(there) == "OTSAuthFailed", "instances: taken away again")
    t.check(put(here) == "" and put(owner) == "", "instances: the others are not touched")
    sent = load.stop()
    t.check(not load.failures, f"instances: {len(load.failures)} of {sent} requests failed: {load.failures[:3]}")
    t.check(server.stop(), "instances: the server ends well")


# ---- overload


def overload(t, folder):
    key = Key("busy", "busy-key", "busy-secret-4711")
    t.secrets.append(key.secret)
    server = Server(folder, "overload", [key], ["--requests", "2"])
    c = Connection(server.address)
    t.check(c.call(key, "CreateTable", BODIES["CreateTable"]("busy", "")).status == 200, "overload: table")
    crowd = [Connection(server.address) for _ in range(64)]
    served = busy = 0
    slowest = 0.0
    for turn in range(10):
        for i, one in enumerate(crowd):
            body = field(1, "busy") + field(2, row(f"{turn}-{i}", [("v", "x")])) + field(3, field(1, 0))
            one.send_op(key, "PutRow", body)
            one.sent = time.time()
        for one in crowd:
            answer = one.receive()
            code = answer.error()[0]
            served += answer.status == 200
            if answer.status == 503:
                busy += 1
                slowest = max(slowest, time.time() - one.sent)
            ok = answer.status == 200 or (answer.status == 503 and code == "OTSServerBusy")
            t.check(ok and answer.signed_by(key), f"overload: {answer.status} {code}")
    t.check(busy > 0 and served >= 10, f"overload: {served} served, {busy} refused")
    read = c.call(key, "GetRange", BODIES["GetRange"]("busy", ""))
    t.check(read.status == 200 and read.body.count(b"\x04\x01\0\0\0k") == served, "overload: the served ones are there")
    for _ in range(20):
        t.check(c.call(key, "GetRow", BODIES["GetRow"]("busy", "")).status == 200, "overload: room again afterwards")
    t.figure(f"overload with room for 2: {served} served, {busy} told to come again, within {slowest * 1000:.0f} ms")
    t.check(server.stop(), "overload: the server ends well")


# ---- TLS


def openssl(*args):
    subprocess.run(["openssl", *args], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def certificate(folder, name, kind=("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")):
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    openssl("req", "-x509", "-newkey", *kind, "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext",
            "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(cert))
    return cert, key


def trusting(*certs):
    context = ssl.create_default_context(cadata="".join(cert.read_text() for cert in certs))
    return context


def presented(address, context):
    c = Connection(address, context)
    c.open()
    name = dict(pair for part in c.socket.getpeercert()["subject"] for pair in part)["commonName"]
    c.close()
    return name


def tls_starts(t, folder, cert, key, other_key):
    junk = folder / "junk.pem"
    junk.write_text("junk\n")
    locked = folder / "locked.key"
    openssl("pkey", "-in", str(key), "-aes256", "-passout", "pass:x", "-out", str(locked))
    for flags, says in (
        (["--tls-cert", cert], "without --tls-key"),
        (["--tls-key", key], "without --tls-cert"),
        (["--tls-cert", folder / "none.pem", "--tls-key", key], "none.pem"),
        (["--tls-cert", cert, "--tls-key", folder / "none.key"], "none.key"),
        (["--tls-cert", cert, "--tls-key", other_key], "is not the key of"),
        (["--tls-cert", junk, "--tls-key", key], "no certificate"),
        (["--tls-cert", cert, "--tls-key", junk], "no private key"),
        (["--tls-cert", cert, "--tls-key", locked], "no private key"),
        (["--tls-cert", folder, "--tls-key", key], "is not a file"),
    ):
        said = refused_start(folder / "refused", *flags, "--engine", "mem")
        t.check(says in said and said.count("\n") == 1, f"TLS: a start without '{says}': {said}")


def tls_strangers(t, server, context, key):
    """What is not a TLS client of today with the right certificates gets no answer, and no harm is done."""
    c = Connection(server.address)
    try:
        t.check(False, f"TLS: plain HTTP got an answer: {c.call(key, 'ListTable', b'').status}")
    except (OSError, ValueError):
        t.check(True, "")
    try:
        presented(server.address, ssl.create_default_context())
        t.check(False, "TLS: the client does not look at the certificate")
    except ssl.SSLError:
        t.check(True, "")
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    try:
        presented(server.address, old)
        t.check(False, "TLS: 1.1 is spoken")
    except (OSError, ssl.SSLError):
        t.check(True, "")
    slow = Connection(server.address, context)
    slow.open()
    slow.socket.sendall(b"POST /ListTable HTTP/1.1\r\nx-")
    raw = socket.socket(fileno=os.dup(slow.socket.fileno()))  # what is on the wire, not what TLS makes of it
    raw.settimeout(8)
    seen = b""
    try:
        while more := raw.recv(1000):
            seen += more
        t.check(b"HTTP" not in seen, f"TLS: a client that drips is cut off without unencrypted bytes: {seen}")
    except socket.timeout:
        t.check(False, "TLS: a client that drips is cut off")
    except ConnectionError:
        t.check(True, "")
    raw.close()
    slow.close()


# The SDK trusts the certificates that certifi has and no others, so certifi has to name ours.
SDK = """
import sys, certifi
certifi.where = lambda: sys.argv[5]
import tablestore as ts
client = ts.OTSClient(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4])
schema = ts.TableMeta("sdk", [("k", "STRING")])
client.create_table(schema, ts.TableOptions(), ts.ReservedThroughput(ts.CapacityUnit(0, 0)))
client.put_row("sdk", ts.Row([("k", "a")], [("v", "b" * 100000)]), ts.Condition(ts.RowExistenceExpectation.IGNORE))
consumed, row, token = client.get_row("sdk", [("k", "a")])
assert row.attribute_columns[0][1] == "b" * 100000
print("sdk", sorted(client.list_table()))
"""


def tls_sdk(t, server, cert, key):
    python = next((p for p in t.sdk_pythons() if os.path.exists(p)), None)
    if not python:
        return t.skip("TLS with the Python SDK: it is not installed")
    args = [f"https://localhost:{server.address.rsplit(':', 1)[1]}", key.id, key.secret, key.instance, str(cert)]
    done = subprocess.run([python, "-c", SDK, *args], capture_output=True, text=True, timeout=60)
    t.check("sdk ['load', 'sdk']" in done.stdout, f"TLS: the Python SDK works: {done.stdout} {done.stderr[-800:]}")


def tls_command(t, server, cert, other, key):
    """The command line trusts the certificates it is given, and no others."""
    names = {"WIDEROW_ACCESS_KEY_ID": key.id, "WIDEROW_ACCESS_KEY_SECRET": key.secret, "WIDEROW_INSTANCE": key.instance}

    def tables(*args, **more):
        return subprocess.run([COMMAND, "tables", "--endpoint", f"https://{server.address}", *map(str, args)],
                              capture_output=True, text=True, timeout=60, env={**os.environ, **names, **more})

    for done in (tables("--ca-file", cert), tables(WIDEROW_CA_FILE=str(cert))):
        t.check(done.returncode == 0 and "load" in done.stdout, f"TLS: the command line works: {done.stderr}")
    for args, says in (((), "certificate"), (("--ca-file", other), "certificate"), (("--ca-file", "none.pem"), "none.pem")):
        done = tables(*args)
        t.check(done.returncode != 0 and says in done.stderr, f"TLS: the command line, {args}: {done.stderr}")


def tls(t, folder):
    cert, cert_key = certificate(folder, "first")
    second, second_key = certificate(folder, "second", ("rsa:2048",))
    tls_starts(t, folder, cert, cert_key, second_key)
    key = Key("safe", "safe-key", "tls-secret-4711")
    t.secrets.append(key.secret)
    used, used_key = folder / "used.pem", folder / "used.key"
    used.write_bytes(cert.read_bytes())
    used_key.write_bytes(cert_key.read_bytes())
    server = Server(folder, "tls", [key], ["--tls-cert", used, "--tls-key", used_key, "--request-timeout", "2"])
    context = trusting(cert, second)
    c = Connection(server.address, context)
    t.check(c.call(key, "CreateTable", BODIES["CreateTable"]("load", "")).status == 200, "TLS: table")
    for size in (1, 1000, 20000, 1000000, 2000000):
        put = field(1, "load") + field(2, row("big", [("v", "x" * size)])) + field(3, field(1, 0))
        t.check(c.call(key, "PutRow", put).status == 200, f"TLS: {size} bytes in")
        got = c.call(key, "GetRow", field(1, "load") + field(2, row("big")) + field(5, 1))
        t.check(got.status == 200 and b"x" * size in got.body and got.signed_by(key), f"TLS: {size} bytes out")
    headers = base_headers(key, b"")
    bad = c.ask("/ListTable", headers + [signature("wrong", "/ListTable", headers)], b"")
    t.check(bad.status == 403, "TLS: signatures count all the same")
    tls_strangers(t, server, context, key)
    tls_sdk(t, server, cert, key)
    tls_command(t, server, cert, second, key)
    load = Load(server.address, [key], context=context)
    for name, (new, new_key) in (("second", (second, second_key)), ("first", (cert, cert_key))) * 3:
        used.write_bytes(new.read_bytes())
        used_key.write_bytes(new_key.read_bytes())
        server.hangup("certificate read again")
        t.check(presented(server.address, context) == name, f"TLS: after SIGHUP it is {name}")
        time.sleep(0.2)
    used.write_text("junk\n")
    t.check("holds no certificate" in server.hangup("the certificate stays as it is"), "TLS: a bad file is not taken")
    t.check(presented(server.address, context) == "first", "TLS: and the old one stays")
    sent = load.stop()
    t.check(not load.failures, f"TLS: {len(load.failures)} of {sent} requests failed: {load.failures[:3]}")
    t.figure(f"6 certificates renewed under {sent} requests over TLS, {len(load.failures)} failed")
    t.check(server.stop(), "TLS: the server ends well")
