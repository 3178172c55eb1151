"""Requests to the HTTP door, built byte by byte: protobuf, PlainBuffer, signatures, and raw sockets that send what
they are told, right or wrong."""
import base64
import hashlib
import hmac
import socket
import struct
import time

# ---- protobuf and PlainBuffer


def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(data):
    """The (number, value) pairs of a message."""
    at = 0

    def number():
        nonlocal at
        n = shift = 0
        while True:
            byte = data[at]
            at += 1
            n |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return n

    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            yield tag >> 3, number()
        else:
            size = number()
            yield tag >> 3, data[at : at + size]
            at += size


def crc8(data, crc=0):
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc << 1 ^ 0x07) & 0xFF if crc & 0x80 else crc << 1
    return crc


INF_MIN, INF_MAX = object(), object()


def value_bytes(value):
    if value is INF_MIN:
        return b"\x09"
    if value is INF_MAX:
        return b"\x0a"
    return b"\x03" + struct.pack("<i", len(value)) + value.encode()


def cell(name, value):
    name, value = name.encode(), value_bytes(value)
    crc = crc8(name + value)
    text = b"\x03\x04" + struct.pack("<i", len(name)) + name + b"\x05" + struct.pack("<i", len(value)) + value
    return text + b"\x0a" + bytes([crc]), crc


def row(key, columns=(), delete=False):
    keys = [cell("k", key)]
    data = [cell(*column) for column in columns]
    crc = crc8(bytes([crc for _, crc in keys + data]) + bytes([delete]))
    out = b"\x75\0\0\0\x01" + b"".join(text for text, _ in keys)
    if data:
        out += b"\x02" + b"".join(text for text, _ in data)
    return out + (b"\x08" if delete else b"") + b"\x09" + bytes([crc])


# ---- the body of each operation; `mark` is what writes leave behind

IGNORE = field(1, 0)


def change(kind, mark):
    columns = [] if kind == 3 else [("v", mark)]
    return row("written", columns, delete=kind == 3)


def batch(table, contents):
    return field(1, field(1, table) + contents)


def in_batch(kind, mark):
    return field(2, field(1, kind) + field(2, change(kind, mark)) + field(3, IGNORE))


def throughput(read):
    return field(1, field(1, read) + field(2, 0))


KEY_COLUMN = field(2, field(1, "k") + field(2, 2))
FOREVER = field(1, 2**64 - 1) + field(2, 1)

NO_TRANSACTION = "0f8fad5b-d9cb-469f-a165-70867728950e"

BODIES = {
    "CreateTable": lambda t, m: field(1, field(1, t) + KEY_COLUMN) + field(2, throughput(0)) + field(3, FOREVER)
    + field(8, 1),
    "ListTable": lambda t, m: b"",
    "DescribeTable": lambda t, m: field(1, t),
    "UpdateTable": lambda t, m: field(1, t) + field(3, field(2, 3)),
    "DeleteTable": lambda t, m: field(1, t),
    "LoadTable": lambda t, m: field(1, t),
    "UnloadTable": lambda t, m: field(1, t),
    "AddDefinedColumn": lambda t, m: field(1, t) + field(2, field(1, "d") + field(2, 1)),
    "DeleteDefinedColumn": lambda t, m: field(1, t) + field(2, "d"),
    "CreateIndex": lambda t, m: field(1, t)
    + field(2, field(1, t + "_ix") + field(2, "k") + field(4, 0) + field(5, 0))
    + field(3, 0),
    "DropIndex": lambda t, m: field(1, t) + field(2, t + "_ix"),
    "GetRow": lambda t, m: field(1, t) + field(2, row("kept")) + field(5, 1),
    "PutRow": lambda t, m: field(1, t) + field(2, change(1, m)) + field(3, IGNORE),
    "UpdateRow": lambda t, m: field(1, t) + field(2, change(2, m)) + field(3, IGNORE),
    "DeleteRow": lambda t, m: field(1, t) + field(2, change(3, m)) + field(3, IGNORE),
    "BatchGetRow": lambda t, m: batch(t, field(2, row("kept")) + field(6, 1)),
    "BatchWriteRow": lambda t, m: batch(t, in_batch(1, m)),
    "GetRange": lambda t, m: field(1, t) + field(2, 0) + field(5, 1) + field(7, row(INF_MIN)) + field(8, row(INF_MAX)),
    "ComputeSplitPointsBySize": lambda t, m: field(1, t) + field(2, 1),
    "BulkExport": lambda t, m: field(1, t) + field(2, "v") + field(3, row(INF_MIN)) + field(4, row(INF_MAX)),
    "BulkImport": lambda t, m: field(1, t) + in_batch(1, m),
    "CreateSeries": lambda t, m: field(1, field(1, field(1, t) + KEY_COLUMN) + field(2, throughput(0)) + field(3, FOREVER)) + field(2, field(1, 1) + field(2, "k") + field(3, 2)),
    "DescribeSeries": lambda t, m: field(1, t),
    "ChangeSeries": lambda t, m: field(1, t) + field(2, 2) + field(4, "2025-01"),
    "RekeyTable": lambda t, m: field(1, t) + field(2, 0),
    "DescribeHeat": lambda t, m: field(1, t) + field(2, 10),
    "DescribeSizes": lambda t, m: field(1, t),
    "DescribePartitions": lambda t, m: field(1, t),
    "ListStream": lambda t, m: field(1, t),
    "DescribeStream": lambda t, m: field(1, t + "_1"),
    "GetShardIterator": lambda t, m: field(1, t + "_1") + field(2, "s"),
    "GetStreamRecord": lambda t, m: field(1, t + "_1"),
    "tunnel/create": lambda t, m: field(1, field(1, t) + field(3, "tn") + field(4, 1)),
    "tunnel/delete": lambda t, m: field(1, t) + field(2, "tn"),
    "tunnel/list": lambda t, m: field(1, t),
    "tunnel/describe": lambda t, m: field(1, t) + field(2, "tn"),
    "tunnel/connect": lambda t, m: field(1, t + "_1"),
    "tunnel/heartbeat": lambda t, m: field(1, t + "_1") + field(2, "c_1"),
    "tunnel/shutdown": lambda t, m: field(1, t + "_1") + field(2, "c_1"),
    "tunnel/getcheckpoint": lambda t, m: field(1, t + "_1") + field(2, "c_1") + field(3, "BaseData_1"),
    "tunnel/checkpoint": lambda t, m: field(1, t + "_1") + field(2, "c_1") + field(3, "BaseData_1") + field(4, "finished")
    + field(5, 1),
    "tunnel/readrecords": lambda t, m: field(1, t + "_1") + field(2, "c_1") + field(3, "BaseData_1") + field(4, "finished"),
    "CreateSearchIndex": lambda t, m: field(1, t) + field(2, "sx") + field(3, b""),
    "UpdateSearchIndex": lambda t, m: field(1, t) + field(2, "sx") + field(5, 86400),
    "DeleteSearchIndex": lambda t, m: field(1, t) + field(2, "sx"),
    "ListSearchIndex": lambda t, m: field(1, t),
    "DescribeSearchIndex": lambda t, m: field(1, t) + field(2, "sx"),
    "Search": lambda t, m: field(1, t) + field(2, "sx") + field(4, b""),
    "ComputeSplits": lambda t, m: field(1, t) + field(2, field(1, "sx")),
    "ParallelScan": lambda t, m: field(1, t) + field(2, "sx") + field(5, b""),
    "StartLocalTransaction": lambda t, m: field(1, t) + field(2, row("txn of " + m)),
    "CommitTransaction": lambda t, m: field(1, NO_TRANSACTION),
    "AbortTransaction": lambda t, m: field(1, NO_TRANSACTION),
}

# ---- signatures


def mac(kind, secret, text):
    return hmac.new(secret, text, kind).digest()


def b64(data):
    return base64.b64encode(data).decode()


def md5(body):
    return b64(hashlib.md5(body).digest())


def date(offset=0):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + offset))


def signed_text(path, headers):
    lines = sorted(
        (name.lower(), value.strip())
        for name, value in headers
        if name.lower().startswith("x-ots-") and name.lower() not in ("x-ots-signature", "x-ots-signaturev4")
    )
    return (path + "\nPOST\n\n" + "".join(f"{name}:{value}\n" for name, value in lines)).encode()


def v4_key(secret, day, region):
    key = mac("sha256", b"aliyun_v4" + secret.encode(), day.encode())
    for text in (region, "ots", "aliyun_v4_request"):
        key = mac("sha256", key, text.encode())
    return b64(key)


def signature(secret, path, headers, v4=False):
    """The header to add to `headers`."""
    text = signed_text(path, headers)
    if not v4:
        return "x-ots-signature", b64(mac("sha1", secret.encode(), text))
    named = dict(headers)
    key = v4_key(secret, named.get("x-ots-signdate", ""), named.get("x-ots-signregion", ""))
    return "x-ots-signaturev4", b64(mac("sha256", key.encode(), text + b"ots"))


def base_headers(key, body, v4=False, instance=None, when=0):
    out = [
        ("x-ots-date", date(when)),
        ("x-ots-apiversion", "2015-12-31"),
        ("x-ots-accesskeyid", key.id),
        ("x-ots-instancename", instance or key.instance),
        ("x-ots-contentmd5", md5(body)),
    ]
    if v4:
        out += [("x-ots-signdate", time.strftime("%Y%m%d", time.gmtime())), ("x-ots-signregion", "here")]
    return out


class Key:
    def __init__(self, instance, name, secret, grants=""):
        self.instance, self.id, self.secret, self.grants = instance, name, secret, grants

    def line(self):
        return f"{self.instance} {self.id} {self.secret} {self.grants}\n"

    def allows(self, table, write):
        """What the operator's page says of grants, written once more."""
        mode = None
        for item in (self.grants or "rw").split(","):
            if item in ("rw", "ro"):
                mode, item = item, "*"
            elif item[:3] in ("rw:", "ro:"):
                mode, item = item[:2], item[3:]
            match = table.startswith(item[:-1]) if item.endswith("*") else table == item
            if match and (mode == "rw" or not write):
                return True
        return False


# ---- sockets


class Answer:
    def __init__(self, path, status, headers, body):
        self.path, self.status, self.headers, self.body = path, status, headers, body

    def error(self):
        """(code, text) of an answer with an error."""
        if self.status == 200:
            return "", ""
        found = dict(fields(self.body))
        return found.get(1, b"").decode(), found.get(2, b"").decode()

    def signed_by(self, key):
        lines = sorted(f"{n}:{v}" for n, v in self.headers.items() if n.startswith("x-ots-"))
        text = "\n".join(lines) + "\n" + self.path
        return self.headers.get("authorization") == f"OTS {key.id}:" + b64(
            mac("sha1", key.secret.encode(), text.encode())
        )


class Connection:
    def __init__(self, address, context=None):
        host, port = address.rsplit(":", 1)
        self.address, self.context, self.socket, self.rest = (host, int(port)), context, None, b""

    def open(self):
        self.rest = b""
        self.socket = socket.create_connection(self.address, timeout=20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.context:
            self.socket = self.context.wrap_socket(self.socket, server_hostname="localhost")

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket = None

    def send(self, target, headers, body, method="POST"):
        if not self.socket:
            self.open()
        self.path = target
        head = [f"{method} {target} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}"]
        head += [f"{name}: {value}" for name, value in headers]
        self.socket.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)

    def more(self):
        data = self.socket.recv(65536)
        if not data:
            self.close()
            raise ConnectionError("closed without an answer")
        self.rest += data

    def receive(self):
        while b"\r\n\r\n" not in self.rest:
            self.more()
        head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        size = int(headers.get("content-length", 0))
        while len(self.rest) < size:
            self.more()
        body, self.rest = self.rest[:size], self.rest[size:]
        if headers.get("connection", "").lower() == "close":
            self.close()
        return Answer(self.path, int(lines[0].split()[1]), headers, body)

    def ask(self, target, headers, body, method="POST"):
        self.send(target, headers, body, method)
        return self.receive()

    def send_op(self, key, op, body, **how):
        headers = base_headers(key, body, **how)
        self.send("/" + op, headers + [signature(key.secret, "/" + op, headers, how.get("v4", False))], body)

    def call(self, key, op, body, **how):
        self.send_op(key, op, body, **how)
        return self.receive()


def snapshot(connection, key):
    """All that an instance holds, as bytes that are equal if it is."""
    listed = connection.call(key, "ListTable", b"")
    assert listed.status == 200, listed.error()
    out = [listed.body]
    for _, table in fields(listed.body):
        name = table.decode()
        for op in ("DescribeTable", "GetRange"):
            out.append(connection.call(key, op, BODIES[op](name, "")).body)
    return out
