"""Clients that send much and end nothing: the server of SERVER_PID, whose --memory is 64M, stays small, and others go on."""
import os
import struct
import unittest

import pymysql

CLIENTS = 16
KIB_MAX = 96 << 10
PREPARE, LONG_DATA, EXECUTE = 0x16, 0x18, 0x17


def connect():
    return pymysql.connect(host="127.0.0.1", port=int(os.environ["PORT"]), user="key1", password="secret1", database="inst")


def rss_kib():
    with open("/proc/%s/status" % os.environ["SERVER_PID"]) as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


class Hungry(unittest.TestCase):
    def setUp(self):
        self.idle = rss_kib()

    def bounded(self, what):
        grown = rss_kib() - self.idle
        print("%s: %d KiB" % (what, grown), flush=True)
        self.assertLess(grown, KIB_MAX)
        with connect() as db, db.cursor() as c:
            c.execute("select 1")
            self.assertEqual(c.fetchone()[0], 1)

    def test_halves_of_packets(self):
        held = []
        for _ in range(CLIENTS):
            one = connect()
            held.append(one)
            one._sock.sendall(struct.pack("<I", (16 << 20) - 2)[:3] + b"\0\3" + b" " * (8 << 20))
        self.bounded("halves of packets")
        for one in held:
            one._force_close()

    def test_values_sent_ahead(self):
        held = []
        for _ in range(CLIENTS):
            one = connect()
            held.append(one)
            one._execute_command(PREPARE, "select ?")
            number = struct.unpack("<I", one._read_packet()._data[1:5])[0]
            one._read_packet(), one._read_packet(), one._read_packet(), one._read_packet()
            for _ in range(8):
                one._execute_command(LONG_DATA, struct.pack("<IH", number, 0) + b"x" * (1 << 20))
        self.bounded("values sent ahead")
        one._execute_command(EXECUTE, struct.pack("<IBIBBBB", number, 0, 1, 0, 1, 253, 0))
        with self.assertRaises(pymysql.err.Error) as e:
            one._read_packet()
        self.assertEqual(e.exception.args[0], 1153)
        for one in held:
            one._force_close()

    def test_values_sent_again_and_again(self):
        with connect() as one:
            one._execute_command(PREPARE, "select length(?)")
            number = struct.unpack("<I", one._read_packet()._data[1:5])[0]
            one._read_packet(), one._read_packet(), one._read_packet(), one._read_packet()
            for _ in range(120):
                one._execute_command(LONG_DATA, struct.pack("<IH", number, 0) + b"x" * (1 << 20))
                one._execute_command(EXECUTE, struct.pack("<IBIBBBB", number, 0, 1, 0, 1, 253, 0))
                for _ in range(5):
                    one._read_packet()
            self.bounded("values sent again and again")

    def test_statements_of_many_words(self):
        with connect() as one, one.cursor() as c:
            with self.assertRaises(pymysql.err.Error) as e:
                c.execute("select 1" + ",1" * (1 << 20))
            self.assertIn(e.exception.args[0], (1064, 1041))
            with self.assertRaises(pymysql.err.Error) as e:
                c.execute("select '" + "x" * (15 << 20) + "'")
            self.assertEqual(e.exception.args[0], 1041)
            c.execute("select 2")
            self.assertEqual(c.fetchone()[0], 2)
        self.bounded("a statement of many words")

    def test_statements_prepared(self):
        held = []
        for _ in range(CLIENTS):
            one = connect()
            held.append(one)
            for _ in range(10):
                one._execute_command(PREPARE, "select '" + "x" * (1 << 20) + "'")
                try:
                    for _ in range(3):
                        one._read_packet()
                except pymysql.err.Error as e:
                    self.assertIn(e.args[0], (1461, 1041))
                    break
        self.bounded("statements prepared")
        for one in held:
            one._force_close()


if __name__ == "__main__":
    unittest.main()
