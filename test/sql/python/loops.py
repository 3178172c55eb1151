"""Statements of one request, which the server serves on a loop once a client says nothing else, and what may come between."""
import os
import socket
import struct
import threading
import time
import unittest

import pymysql

SINGLES = 8  # statements of one request, after which a loop has the connection
QUERY, PREPARE, EXECUTE, LONG_DATA = 3, 0x16, 0x17, 0x18


def connect(**more):
    return pymysql.connect(host="127.0.0.1", port=int(os.environ["PORT"]), user="key1", password="secret1", database="inst", autocommit=True, **more)


def packet(payload, number=0):
    return struct.pack("<I", len(payload))[:3] + bytes([number]) + payload


def query(sql):
    return packet(bytes([QUERY]) + sql.encode())


def read_ok(db):
    db._next_seq_id = 1
    return db._read_ok_packet()


def read_result(db):
    db._next_seq_id = 1
    db._read_query_result()
    return db._result.rows


def read_packets(db):
    """Those of a result without its columns' ends, up to the last one: what they hold."""
    db._next_seq_id, packets, ends = 1, [], 0
    while ends < 2:
        packets.append(db._read_packet())
        ends += packets[-1].is_eof_packet()
    return b"".join(p.get_all_data() for p in packets)


def ask(db, sql, args=None):
    with db.cursor() as c:
        c.execute(sql, args)
        return c.fetchall()


class Loops(unittest.TestCase):
    def setUp(self):
        self.db = connect()
        ask(self.db, "create table if not exists loops (k varchar, v varchar, n bigint, primary key (k)) with (transactions = 'true')")
        ask(self.db, "upsert into loops (k, v, n) values ('a', 'x', 1)")

    def tearDown(self):
        self.db.close()

    def looped(self, **more):
        db = connect(**more)
        for _ in range(SINGLES):
            self.assertEqual(ask(db, "select v from loops where k = 'a'"), (("x",),))
        return db

    def test_commands_between(self):
        with self.looped() as db:
            for i in range(20):
                ask(db, "upsert into loops (k, n) values (%s, %s)", ("b", i))
                self.assertEqual(ask(db, "select n from loops where k = 'b'"), ((i,),))
                if i % 7 == 0:
                    db.ping()
                    self.assertEqual(ask(db, "select count(*) from loops where k = 'b'"), ((1,),))
            ask(db, "delete from loops where k = 'b'")
            self.assertEqual(ask(db, "select n from loops where k = 'b'"), ())
            with self.assertRaises(pymysql.err.ProgrammingError):
                ask(db, "select n fro loops")
            self.assertEqual(ask(db, "select n from loops where k = 'a'"), ((1,),))

    def test_many_in_one_piece(self):
        with self.looped() as db:
            db._sock.sendall(b"".join(query("upsert into loops (k, n) values ('many', %d)" % i) for i in range(200)))
            for _ in range(200):
                read_ok(db)
            self.assertEqual(ask(db, "select n from loops where k = 'many'"), ((199,),))

    def test_in_pieces(self):
        with self.looped() as db:
            whole = query("upsert into loops (k, v) values ('pieces', '%s')" % ("p" * 6000))
            for size in (1, 3, 4, 5, 100, 4095, 4096, 5000):
                db._sock.sendall(whole[:size])
                time.sleep(0.02)
                db._sock.sendall(whole[size:])
                read_ok(db)
                self.assertEqual(ask(db, "select v from loops where k = 'pieces'"), (("p" * 6000,),))

    def test_prepared(self):
        with self.looped() as db:
            db._sock.sendall(packet(bytes([PREPARE]) + b"select v from loops where k = ?"))
            db._next_seq_id = 1
            number = db._read_packet().get_all_data()[1:5]
            while not db._read_packet().is_eof_packet():  # the question mark
                pass
            while not db._read_packet().is_eof_packet():  # the column
                pass
            execute = bytes([EXECUTE]) + number + b"\0" + struct.pack("<I", 1)
            for i in range(40):
                ask(self.db, "upsert into loops (k, v) values ('p%d', 'value-%d')" % (i, i))
                key = b"p%d" % i
                if i % 10 == 9:  # ahead of it, for which the connection's thread is woken
                    db._sock.sendall(packet(bytes([LONG_DATA]) + number + b"\0\0" + key))
                    db._sock.sendall(packet(execute + b"\0\1\xfd\0"))
                else:
                    db._sock.sendall(packet(execute + b"\0\1\xfd\0" + bytes([len(key)]) + key))
                self.assertIn(b"value-%d" % i, read_packets(db))
            db._sock.sendall(packet(bytes([EXECUTE]) + struct.pack("<IBI", 77, 0, 1)))
            db._next_seq_id = 1
            with self.assertRaises(pymysql.err.MySQLError):
                db._read_packet()
            self.assertEqual(ask(db, "select n from loops where k = 'a'"), ((1,),))

    def test_ddl_between(self):
        ask(self.db, "drop table if exists ddl")
        ask(self.db, "create table ddl (k varchar, n bigint, primary key (k))")
        ask(self.db, "upsert into ddl (k, n) values ('a', 1)")
        with self.looped() as db:
            for _ in range(SINGLES):
                self.assertEqual(ask(db, "select * from ddl where k = 'a'"), (("a", 1),))
            ask(self.db, "alter table ddl add column m bigint")
            self.assertEqual(ask(db, "select * from ddl where k = 'a'"), (("a", 1, None),))
            ask(self.db, "drop table ddl")
            with self.assertRaises(pymysql.err.ProgrammingError) as e:
                ask(db, "upsert into ddl (k, n) values ('a', 1)")
            self.assertEqual(e.exception.args[0], 1146)
            ask(self.db, "create table ddl (k bigint, m varchar, primary key (k))")
            ask(db, "upsert into ddl (k, m) values (1, 'new')")
            self.assertEqual(ask(db, "select * from ddl where k = 1"), ((1, "new"),))
        ask(self.db, "drop table ddl")

    def test_a_lock_is_waited_for(self):
        with self.looped() as db, connect() as other:
            ask(other, "begin")
            ask(other, "update loops set n = 2 where k = 'a'")
            threading.Timer(0.5, lambda: ask(other, "rollback")).start()
            ask(db, "update loops set n = 3 where k = 'a'")
            self.assertEqual(ask(db, "select n from loops where k = 'a'"), ((3,),))

    def test_who_leaves_at_once(self):
        before = len(ask(self.db, "show processlist"))
        for i in range(50):
            db = self.looped()
            db._sock.sendall(query("upsert into loops (k, n) values ('left%d', 1)" % i))
            db._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            db._force_close()
        for _ in range(100):
            if len(ask(self.db, "show processlist")) <= before:
                break
            time.sleep(0.1)
        self.assertLessEqual(len(ask(self.db, "show processlist")), before)

    def test_kill(self):
        with self.looped() as db:
            ask(self.db, "kill query %d" % db.thread_id())  # no statement runs
            self.assertEqual(ask(db, "select n from loops where k = 'a'"), ((1,),))
            for _ in range(SINGLES):
                ask(db, "select v from loops where k = 'a'")
            ask(self.db, "kill %d" % db.thread_id())
            with self.assertRaises(pymysql.err.OperationalError):
                ask(db, "select n from loops where k = 'a'")

    def test_who_stops_reading(self):
        ask(self.db, "upsert into loops (k, v) values ('long', %s)", ("y" * 1000000,))
        held = [self.looped() for _ in range(8)]
        for one in held:
            one._sock.sendall(query("select v from loops where k = 'long'") * 60)
        with self.looped() as db:
            for i in range(200):
                self.assertEqual(ask(db, "select v from loops where k = 'a'"), (("x",),))
        self.assertEqual(sum(len(read_result(held[0])[0][0]) for _ in range(60)), 60000000)
        for one in held:
            one._force_close()

    def test_many_clients_of_one_row(self):
        ask(self.db, "upsert into loops (k, n) values ('hot', 0)")
        failed = []

        def add():
            try:
                with self.looped() as db:
                    for _ in range(50):
                        ask(db, "update loops set n = n + 1 where k = 'hot'")
            except Exception as e:
                failed.append(e)

        threads = [threading.Thread(target=add) for _ in range(16)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failed, [])
        self.assertEqual(ask(self.db, "select n from loops where k = 'hot'"), ((800,),))


if __name__ == "__main__":
    unittest.main()
