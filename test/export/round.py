"""Random rows of all types, as JSON Lines: round.py KIND SEED ROWS. KIND: one (a type a column), mixed (any type in any column, and
700 names), versions (mixed, with versions of their own: made here, by the description of doc/format.md)."""
import base64
import json
import random
import struct
import sys

kind, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rnd = random.Random(seed)
BIGINT, DOUBLE, BOOLEAN, VARCHAR, VARBINARY = 5, 8, 1, 10, 13
TYPES = (BIGINT, DOUBLE, BOOLEAN, VARCHAR, VARBINARY)


def text():
    return "".join(rnd.choice('aé,"\n\r\t;|\\\'0 {}[]:null\u4e2d\U0001f600\x00') for _ in range(rnd.choice((0, 1, 3, 20, 300))))


def value(kind):
    if kind == BIGINT:
        return rnd.choice((0, 1, -1, 2**63 - 1, -(2**63), rnd.randint(-1000, 1000), rnd.getrandbits(60)))
    if kind == DOUBLE:
        return rnd.choice((0.0, -0.0, 1.0, 1e300, -5e-324, 0.1, rnd.random(), float(rnd.randint(-99, 99))))
    if kind == BOOLEAN:
        return rnd.random() < 0.5
    if kind == VARCHAR:
        return text()
    return bytes(rnd.randrange(256) for _ in range(rnd.choice((0, 1, 7, 100))))


def shown(v):
    return {"base64": base64.b64encode(v).decode()} if isinstance(v, bytes) else v


def varint(n):
    out = bytearray()
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def signed(n):
    return varint((n << 1 ^ n >> 63) & (2**64 - 1))


def cell(name, kind, v, ms):
    out = bytes([kind | 0x80]) + varint(len(name.encode())) + name.encode() + signed(ms)
    if kind == BIGINT:
        return out + signed(v)
    if kind == DOUBLE:
        return out + struct.pack("<d", v)
    if kind == BOOLEAN:
        return out + bytes([v])
    data = v.encode() if kind == VARCHAR else v
    return out + varint(len(data)) + data


names = ["c%d" % i for i in range(10 if kind == "one" else 700)] + ["with,comma", "q\"uote", "é:integer", "sp ace"]
type_of = {name: TYPES[i % len(TYPES)] for i, name in enumerate(names)}
keys = {(text(), rnd.randint(-(2**63), 2**63 - 1), value(VARBINARY)) for _ in range(count)}
for a, b, c in sorted(keys):
    row = {"a": a, "b": b, "c": shown(c)}
    chosen = sorted(set(rnd.choices(names, k=rnd.randint(0, 12))))
    if kind == "versions":
        cells = b"\x01"
        for name in chosen:
            for ms in sorted(rnd.sample(range(1, 10**13), rnd.randint(1, 4)), reverse=True):
                t = rnd.choice(TYPES)
                cells += cell(name, t, value(t), ms)
        row["widerow.cells"] = shown(cells)
    else:
        for name in chosen:
            row[name] = shown(value(type_of[name] if kind == "one" else rnd.choice(TYPES)))
    print(json.dumps(row, ensure_ascii=False))
