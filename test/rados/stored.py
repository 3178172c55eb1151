#!/usr/bin/python3
"""What is stored in a namespace of the pool `data`, past all servers (doc/format.md).

    stored.py NAMESPACE count KIND       how many keys of that kind tables have: 1 heads, 3 chunks, 5 garbage records
    stored.py NAMESPACE remove KIND N    removes the Nth of them in the order of their keys, from 0
    stored.py NAMESPACE system           keys and values of the system partition, in hex
    stored.py NAMESPACE set KEY VALUE    puts one of those (hex)

TEST_CEPH_CONF names the cluster. The module of Debian takes keys for UTF-8, which they are not.
"""
import ctypes as c
import os
import sys

lib = c.CDLL("librados.so.2")
P = c.c_void_p
for name in "rados_create_read_op", "rados_create_write_op":
    getattr(lib, name).restype = P
SYSTEM = b"p0000000000000000"


def check(result, what):
    if result < 0:
        sys.exit("%s: %s" % (what, os.strerror(-result)))


def open_pool(namespace):
    cluster, pool = P(), P()
    check(lib.rados_create(c.byref(cluster), b"admin"), "rados_create")
    check(lib.rados_conf_read_file(cluster, os.environ["TEST_CEPH_CONF"].encode()), "configuration")
    check(lib.rados_connect(cluster), "connect")
    check(lib.rados_ioctx_create(cluster, b"data", c.byref(pool)), "pool")
    lib.rados_ioctx_set_namespace(pool, namespace.encode())
    return pool


def objects(pool):
    cursor, name = P(), c.c_char_p()
    check(lib.rados_nobjects_list_open(pool, c.byref(cursor)), "list")
    while lib.rados_nobjects_list_next(cursor, c.byref(name), None, None) == 0:
        if name.value.startswith(b"p"):
            yield name.value
    lib.rados_nobjects_list_close(cursor)


def entries(pool, name, values):
    after, more = b"", c.c_ubyte(1)
    while more.value:
        op, it, result = P(lib.rados_create_read_op()), P(), c.c_int()
        if values:
            lib.rados_read_op_omap_get_vals2(op, after, None, c.c_uint64(1000), c.byref(it), c.byref(more), c.byref(result))
        else:
            lib.rados_read_op_omap_get_keys2(op, after, c.c_uint64(1000), c.byref(it), c.byref(more), c.byref(result))
        check(lib.rados_read_op_operate(op, pool, name, 0), "read")
        key, value, key_len, value_len = P(), P(), c.c_size_t(), c.c_size_t()
        last = after
        while True:
            check(lib.rados_omap_get_next2(it, c.byref(key), c.byref(value), c.byref(key_len), c.byref(value_len)), "next")
            if not key.value:
                break
            last = c.string_at(key.value, key_len.value)
            yield last, c.string_at(value.value, value_len.value) if value_len.value else b""
        lib.rados_omap_get_end(it)
        lib.rados_release_read_op(op)
        if last == after:
            break
        after = last


def plain(stored):
    """The key as tables know it; empty: another one."""
    out, at = bytearray(), 1
    while stored[:1] == b"k" and at < len(stored) and stored[at] != 1:
        out.append(stored[at + 1] - 2 if stored[at] == 2 else stored[at])
        at += 1 + (stored[at] == 2)
    return bytes(out)


def of_kind(pool, kind):
    for name in objects(pool):
        for key, _ in entries(pool, name, False):
            k = plain(key)
            if len(k) > 5 and k[:4] != b"\0\0\0\0" and k[5] == kind:
                yield name, key


def write(pool, name, key, value):
    op = P(lib.rados_create_write_op())
    keys, lens = (c.c_char_p * 1)(key), (c.c_size_t * 1)(len(key))
    if value is None:
        lib.rados_write_op_omap_rm_keys2(op, keys, lens, c.c_size_t(1))
    else:
        lib.rados_write_op_omap_set2(op, keys, (c.c_char_p * 1)(value), lens, (c.c_size_t * 1)(len(value)), c.c_size_t(1))
    check(lib.rados_write_op_operate2(op, pool, name, None, 0), "write")


def main():
    pool = open_pool(sys.argv[1])
    what, rest = sys.argv[2], sys.argv[3:]
    if what == "count":
        print(sum(1 for _ in of_kind(pool, int(rest[0]))))
    elif what == "remove":
        # Objects are listed in the order of their hashes, which says nothing of rows once a partition has been split.
        name, key = sorted(of_kind(pool, int(rest[0])), key=lambda found: plain(found[1]))[int(rest[1])]
        write(pool, name, key, None)
    elif what == "system":
        for key, value in entries(pool, SYSTEM, True):
            print(key.hex(), value.hex())
    else:
        write(pool, SYSTEM, bytes.fromhex(rest[0]), bytes.fromhex(rest[1]))
    sys.stdout.flush()
    os._exit(0)


main()
