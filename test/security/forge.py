"""Requests that are not what their signature says, or carry none that counts: all must be refused, and nothing may
have changed."""
import time

from client import BODIES, Connection, base_headers, date, md5, signature, snapshot, v4_key


class Draft:
    """A request in the making. Edits before sign() are signed, those after it are forgery."""

    def __init__(self, key, op, table, v4, **how):
        self.key, self.op, self.v4, self.path, self.method = key, op, v4, "/" + op, "POST"
        self.body = BODIES[op](table, "forged")
        self.headers = base_headers(key, self.body, v4, **how)

    def sign(self, secret=None, path=None):
        self.headers.append(signature(secret or self.key.secret, path or self.path, self.headers, self.v4))
        return self

    def set(self, name, value):
        self.headers = [(n, value if n == name else v) for n, v in self.headers]
        return self

    def get(self, name):
        return dict(self.headers)[name]


def flipped(text, at):
    return text[:at] + ("B" if text[at] == "A" else "A") + text[at + 1 :]


def header_variants(make):
    names = [name for name, _ in make().sign().headers]
    for name in names:

        def altered(value, name=name):
            d = make().sign()
            return d.set(name, value(d.get(name)))

        def added(value, front, name=name):
            d = make().sign()
            extra = [(name, value(d.get(name)))]
            d.headers = extra + d.headers if front else d.headers + extra
            return d

        missing = make().sign()
        missing.headers = [h for h in missing.headers if h[0] != name]
        yield f"without {name}", missing
        yield f"{name} empty", altered(lambda v: "")
        yield f"{name} cut short", altered(lambda v: v[:-1])
        yield f"{name} longer", altered(lambda v: v + "A")
        yield f"{name} first letter", altered(lambda v: flipped(v, 0))
        yield f"{name} a letter in the middle", altered(lambda v: flipped(v, len(v) // 2))
        yield f"{name} doubled", altered(lambda v: v + v)
        yield f"{name} twice", added(lambda v: v, False)
        yield f"{name} twice, another behind", added(lambda v: flipped(v, 0), False)
        yield f"{name} twice, another in front", added(lambda v: flipped(v, 0), True)
        yield f"{name} twice, in capitals", added(lambda v: v, False)
        if "signature" not in name:
            gone = make()
            gone.headers = [h for h in gone.headers if h[0] != name]
            yield f"without {name}, signed so", gone.sign()
            twice = make()
            twice.headers.append((name, flipped(twice.get(name), 0)))
            yield f"{name} twice, signed so", twice.sign()


def date_variants(make):
    for offset in (-901, -960, -3600, -86400, -31536000, 901, 960, 3600, 86400, 31536000):
        late = 5 if offset > 0 else 0  # the clock goes on while the request is made
        yield f"recorded {offset} s from now", make(when=offset + late).sign()
        moved = make(when=offset + late).sign()
        yield f"recorded {offset} s from now, dated anew", moved.set("x-ots-date", date())
    for text in ("", "now", "0", date()[:-1], date().replace("T", " "), date().replace("Z", "+00:00"), date() + "Z"):
        yield f"date '{text}', signed so", make().set("x-ots-date", text).sign()


def body_variants(make):
    for where in (0, 1, 2):

        def alter(body, where=where):
            at = where * (len(body) - 1) // 2
            return body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :] if body else b"\0"

        d = make().sign()
        d.body = alter(d.body)
        yield f"a bit of the body, place {where}", d
        d = make().sign()
        d.body = alter(d.body)
        yield f"a bit of the body and its digest, place {where}", d.set("x-ots-contentmd5", md5(d.body))
    d = make().sign()
    d.body += d.body + b"\0"
    yield "a longer body", d
    d = make().sign()
    d.body = d.body[:-1] if d.body else b"\0\0"
    yield "a shorter body", d
    d = make().sign()
    d.body = BODIES["DeleteTable"]("forge", "") + b"\x10\x00"
    yield "the body of another operation", d


def path_variants(make, op):
    for other in BODIES:
        if other != op:
            d = make().sign()
            d.path = "/" + other
            yield f"sent to {other}", d
    for path in (f"/{op}/", f"//{op}", f"/{op.lower()}", f"/{op}?a=b", f"/{op}?a", f"/{op}?", f"/%{ord(op[0]):x}{op[1:]}",
                 f"/{op}%00", f"/{op}%20", f"/./{op}", "/", f"/x/../{op}"):
        d = make().sign()
        d.path = path
        yield f"sent to {path}", d
    for method in ("GET", "PUT", "DELETE", "PATCH"):
        d = make().sign()
        d.method = method
        yield f"sent with {method}", d


def key_variants(make, others):
    for other in others:
        yield f"signed with the secret of {other.id}", make().sign(other.secret)
        d = make()
        yield f"signed as {other.id}, named so", d.set("x-ots-accesskeyid", other.id).sign()
        yield f"named {other.id} after signing", make().sign().set("x-ots-accesskeyid", other.id)
        if other.instance != make().key.instance:
            yield f"for {other.instance}, signed so", make(instance=other.instance).sign()
            yield f"for {other.instance}", make().sign().set("x-ots-instancename", other.instance)
    for secret in ("", "a", make().key.secret[:-1], make().key.secret + "a", make().key.secret.swapcase(), make().key.id):
        yield f"signed with a guess of {len(secret)} letters", make().sign(secret or "\0")
    for name in ("nobody", "", "*", "a" * 500, "../credentials"):
        yield f"signed well, named '{name[:20]}'", make().set("x-ots-accesskeyid", name).sign()
    for name in ("nowhere", "", "*", "a" * 500):
        yield f"signed well, for instance '{name[:20]}'", make().set("x-ots-instancename", name).sign()
    for version in ("2014-08-08", "", "2015-12-32", "2015-12-31 2014-08-08"):
        yield f"signed well, API version '{version}'", make().set("x-ots-apiversion", version).sign()


def signature_variants(make, v4):
    name = "x-ots-signaturev4" if v4 else "x-ots-signature"
    d = make().sign()
    good = d.get(name)
    for value in ("A" * len(good), "=" * len(good), "null", good[::-1], good.lower(), good.replace("=", ""), good + "="):
        yield f"signature {value[:8]}", make().sign().set(name, value)
    d = make().sign()
    yield "signed for another path", make().sign(path="/" + ("GetRow" if d.op != "GetRow" else "PutRow"))
    d = make().sign()
    d.headers.append(("x-ots-signature" if v4 else "x-ots-signaturev4", good))
    yield "two signatures", d
    d = make().sign()
    d.headers.append(("x-ots-ststoken", "unsigned"))
    yield "one more header, unsigned", d
    d = make().sign()
    d.headers = [(n, v) for n, v in d.headers if n != name] + [("x-ots-signature" if not v4 else name, "")]
    yield "an empty signature", d
    if v4:
        d = make()
        key = v4_key(d.key.secret, d.get("x-ots-signdate"), "elsewhere")
        d.headers.append(("x-ots-signature", key))
        yield "the derived key for a signature", d
        for header, value in (("x-ots-signdate", "20200101"), ("x-ots-signregion", "elsewhere")):
            yield f"V4 with another {header}", make().sign().set(header, value)


def variants(key, others, op, table, v4):
    def make(**how):
        return Draft(key, op, table, v4, **how)

    yield from header_variants(make)
    yield from date_variants(make)
    yield from body_variants(make)
    yield from path_variants(make, op)
    yield from key_variants(make, others)
    yield from signature_variants(make, v4)


def run(t, server, keys):
    """Each operation that could change something, and two that read, with both kinds of signature."""
    key, others = keys[0], keys[1:]
    c = Connection(server.address)
    t.check(c.call(key, "CreateTable", BODIES["CreateTable"]("forge", "")).status == 200, "forge: the table is made")
    for v4 in (False, True):
        put = c.call(key, "PutRow", BODIES["PutRow"]("forge", "mark"), v4=v4)
        t.check(put.status == 200 and (v4 or put.signed_by(key)), f"forge: V4 {v4} is taken when it is right")
    before = snapshot(c, key)
    start, n = time.time(), 0
    for op in ("PutRow", "DeleteRow", "BatchWriteRow", "DeleteTable", "GetRow", "ListTable"):
        for v4 in (False, True):
            for name, d in variants(key, others, op, "forge", v4):
                answer = c.ask(d.path, d.headers, d.body, d.method)
                code = answer.error()[0]
                ok = answer.status in (400, 403, 405) and code in (
                    "OTSAuthFailed", "OTSParameterInvalid", "OTSUnsupportOperation", "OTSMethodNotAllowed")
                t.check(ok, f"forge: {op} V4 {v4} {name}: {answer.status} {code}")
                n += 1
        t.check(snapshot(c, key) == before, f"forge: nothing changed by forged {op}")
    t.check(c.call(key, "DeleteTable", BODIES["DeleteTable"]("forge", "")).status == 200, "forge: the table goes")
    t.figure(f"{n} forged requests in {time.time() - start:.1f} s")
