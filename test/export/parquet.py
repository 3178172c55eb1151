"""Reads a Parquet file as `widerow export` writes it, without any library but zstd's, and prints its rows as JSON Lines: a
second hand that follows the format's description, not the writer's code.

    parquet.py FILE          rows, binaries as {"base64":"..."}
    parquet.py --facts FILE  rows, row groups, pages, columns"""
import base64
import ctypes
import json
import struct
import sys
import zlib

zstd = ctypes.CDLL("libzstd.so.1")
zstd.ZSTD_decompress.restype = ctypes.c_size_t
zstd.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]


def unpack(data, size):
    out = ctypes.create_string_buffer(size or 1)
    assert zstd.ZSTD_decompress(out, size, data, len(data)) == size
    return out.raw[:size]


class Thrift:
    """The compact protocol: structs become dicts by field number."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            b = self.byte()
            value |= (b & 127) << shift
            shift += 7
            if b < 128:
                return value

    def zigzag(self):
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind in (4, 5, 6):
            return self.zigzag()
        if kind == 8:
            size = self.varint()
            self.at += size
            return bytes(self.data[self.at - size : self.at])
        if kind == 9:
            head = self.byte()
            size = head >> 4 if head >> 4 != 15 else self.varint()
            if head & 15 in (1, 2):
                return [self.byte() == 1 for _ in range(size)]
            return [self.value(head & 15) for _ in range(size)]
        assert kind == 12, kind
        return self.struct()

    def struct(self):
        fields, last = {}, 0
        while True:
            head = self.byte()
            if head == 0:
                return fields
            last = last + (head >> 4) if head >> 4 else self.zigzag()
            assert last not in fields
            fields[last] = self.value(head & 15)


def levels(page, rows):
    """Runs of the RLE and bit-packed hybrid, one bit wide; and where the values begin."""
    (size,) = struct.unpack_from("<I", page)
    t, out = Thrift(page, 4), []
    while t.at < 4 + size:
        head = t.varint()
        if head & 1:
            for _ in range(head >> 1):
                b = t.byte()
                out += [b >> i & 1 for i in range(8)]
        else:
            out += [t.byte()] * (head >> 1)
    assert len(out) >= rows and not any(out[rows:])
    return out[:rows], 4 + size


def values(data, at, kind, count):
    if kind == 0:
        return [bool(data[at + i // 8] >> i % 8 & 1) for i in range(count)], at + (count + 7) // 8
    if kind in (2, 5):
        return list(struct.unpack_from("<%d%s" % (count, "q" if kind == 2 else "d"), data, at)), at + 8 * count
    out = []
    for _ in range(count):
        (size,) = struct.unpack_from("<I", data, at)
        out.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return out, at


def packed(data, at, width, count):
    """Numbers of `width` bits, the lowest first."""
    bits = int.from_bytes(data[at : at + (count * width + 7) // 8], "little")
    return [bits >> i * width & (1 << width) - 1 for i in range(count)]


def indexes(page, at, count):
    """A width, and one run of packed numbers in groups of eight."""
    if count == 0:
        return [], at
    t = Thrift(page, at + 1)
    head = t.varint()
    assert head & 1 and (head >> 1) == (count + 7) // 8
    # In pieces: a million numbers in one integer would take for ever.
    width, out = page[at], []
    for group in range(0, head >> 1, 128):
        n = min(128, (head >> 1) - group)
        out += packed(page, t.at + group * width, width, n * 8)
    assert not any(out[count:])
    return out[:count], t.at + (head >> 1) * width


def deltas(page, at):
    t = Thrift(page, at)
    block, minis, count, value = t.varint(), t.varint(), t.varint(), t.zigzag()
    out = [value] if count else []
    while len(out) < count:
        least = t.zigzag()
        widths = page[t.at : t.at + minis]
        t.at += minis
        for width in widths:
            if len(out) == count:
                break
            size = block // minis
            for n in packed(page, t.at, width, size)[: count - len(out)]:
                value = (value + least + n + 2**63) % 2**64 - 2**63
                out.append(value)
            t.at += size * width // 8
    return out, t.at


def delta_texts(page, at, count):
    """What each shares with the one before, the lengths of the rests, the rests."""
    shared, at = deltas(page, at)
    lengths, at = deltas(page, at)
    assert len(shared) == len(lengths) == count
    out, last = [], b""
    for n, size in zip(shared, lengths):
        assert 0 <= n <= len(last) and size >= 0
        last = last[:n] + page[at : at + size]
        at += size
        out.append(last)
    return out, at


def plain(kind, text):
    """A bound as a value: texts by their bytes."""
    if kind == 0:
        return text[0] == 1
    return struct.unpack("<q" if kind == 2 else "<d", text)[0] if kind in (2, 5) else text


def is_bound(kind, least, greatest, there):
    return plain(kind, least) <= min(there) and max(there) <= plain(kind, greatest)


def check_statistics(meta, column):
    """Of a chunk: how many have no value, and bounds, which are values if they say so."""
    s, there = meta[12], [v for v in column if v is not None]
    assert s[3] == len(column) - len(there)
    if not there:
        assert 5 not in s and 6 not in s
        return
    assert is_bound(meta[1], s[6], s[5], there)
    assert not s[7] or plain(meta[1], s[5]) == max(there)
    assert not s[8] or plain(meta[1], s[6]) == min(there)
    assert len(s[5]) <= 64 and len(s[6]) <= 64


def check_index(data, chunk, pages):
    """Of a chunk whose pages are (offset, bytes, values): where they are, and their bounds."""
    at, kind = chunk[4], chunk[3][1]
    t = Thrift(data, at)
    places = t.struct()[1]
    assert t.at == at + chunk[5] and len(places) == len(pages)
    row = 0
    for place, (offset, size, column) in zip(places, pages):
        assert (place[1], place[2], place[3]) == (offset, size, row)
        row += len(column)
    spans = [(at, chunk[5])]
    if 6 in chunk:
        t = Thrift(data, chunk[6])
        index = t.struct()
        assert t.at == chunk[6] + chunk[7]
        spans.append((chunk[6], chunk[7]))
        bounds = []
        for absent, least, greatest, nulls, (_, _, column) in zip(index[1], index[2], index[3], index[5], pages, strict=True):
            there = [v for v in column if v is not None]
            assert absent == (not there) and nulls == len(column) - len(there)
            if there:
                assert is_bound(kind, least, greatest, there)
                bounds.append((plain(kind, least), plain(kind, greatest)))
        if index[4] == 1:
            assert bounds == sorted(bounds) and [b[1] for b in bounds] == sorted(b[1] for b in bounds)
    return spans


def read_chunk(data, meta, element):
    out, pages, dictionary = [], [], None
    at = meta.get(11, meta[9])
    end = at + meta[7]
    while at < end:
        begins = at
        t = Thrift(data, at)
        head = t.struct()
        assert head[1] == 2 or dictionary is None or at >= meta[9]
        at = t.at + head[3]
        assert zlib.crc32(data[t.at : at]) == head[4] % 2**32 and meta[4] == 6
        page = unpack(data[t.at : at], head[2])
        if head[1] == 2:
            assert not pages and head[7][2] == 0 and at == meta[9]
            dictionary, stop = values(page, 0, meta[1], head[7][1])
            assert stop == len(page) and len(set(dictionary)) == len(dictionary) or meta[1] == 5
            continue
        rows = head[5][1]
        present, begin = levels(page, rows) if element[3] == 1 else ([1] * rows, 0)
        if head[5][2] == 8:
            numbers, stop = indexes(page, begin, sum(present))
            there = [dictionary[n] for n in numbers]
        elif head[5][2] == 5:
            there, stop = deltas(page, begin)
            assert len(there) == sum(present)
        elif head[5][2] == 7:
            there, stop = delta_texts(page, begin, sum(present))
        else:
            assert head[5][2] == 0
            there, stop = values(page, begin, meta[1], sum(present))
        assert stop == len(page) and head[5][2] in meta[2]
        there = iter(there)
        pages.append((begins, at - begins, [next(there) if p else None for p in present]))
        out += pages[-1][2]
    assert at == end and len(out) == meta[5]
    return out, pages


def main():
    data = open(sys.argv[-1], "rb").read()
    assert data[:4] == data[-4:] == b"PAR1"
    (size,) = struct.unpack("<I", data[-8:-4])
    t = Thrift(data, len(data) - 8 - size)
    footer = t.struct()
    assert t.at == len(data) - 8
    root, *elements = footer[2]
    assert root[5] == len(elements) and footer[7] == [{1: {}}] * len(elements)
    rows, pages, spans = [], 0, []
    for group in footer[4]:
        columns = []
        for chunk, element in zip(group[1], elements, strict=True):
            meta = chunk[3]
            assert meta[3] == [element[4]] and meta[1] == element[1]
            column, its = read_chunk(data, meta, element)
            check_statistics(meta, column)
            spans += check_index(data, chunk, its)
            spans.append((meta.get(11, meta[9]), meta[7]))
            columns.append(column)
            pages += len(its)
        assert all(len(c) == group[3] for c in columns)
        rows += zip(*columns)
    # Row groups stand as they came, one behind the other, then what is told of their pages, without a gap.
    covered = 4
    for at, length in sorted(spans):
        assert at == covered
        covered += length
    assert len(rows) == footer[3] and covered == len(data) - 8 - size
    if sys.argv[1] == "--facts":
        notes = {n[1].decode(): n[2].decode() for n in footer[5]}
        print(len(rows), len(footer[4]), pages, len(elements), notes["widerow.key"])
        return
    for row in rows:
        out = {}
        for element, v in zip(elements, row):
            if v is None:
                continue
            if isinstance(v, bytes):
                v = v.decode() if element.get(6) == 0 else {"base64": base64.b64encode(v).decode()}
            out[element[4].decode()] = v
        print(json.dumps(out))


main()
