"""PyMySQL against the SQL port: what it writes into statements, types, faults, many rows, KILL."""
import datetime
import decimal
import os
import threading
import unittest

import pymysql
import pymysql.cursors


def connect(**more):
    return pymysql.connect(host="127.0.0.1", port=int(os.environ["PORT"]), user="key1", password="secret1", database="inst", **more)


class Cases(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.db = connect()
        with cls.db.cursor() as c:
            c.execute("create table if not exists py (k varchar, n bigint, d double, x decimal(10,2), s varchar, b varbinary, day date, "
                      "at timestamp, f boolean, primary key (k, n desc))")

    @classmethod
    def tearDownClass(cls):
        cls.db.close()

    def ask(self, sql, *values):
        with self.db.cursor() as c:
            c.execute(sql, values)
            return c.fetchall()

    def outcome(self, sql):
        try:
            with self.db.cursor() as c:
                changed = c.execute(sql)
                if c.description is None:
                    return "+ %d" % changed
                return "= " + "|".join(",".join("NULL" if v is None else str(v) for v in row) for row in c.fetchall())
        except pymysql.MySQLError as fault:
            return "! %d" % fault.args[0]

    def test_documented_statements(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../statements.txt")) as file:
            lines = file.read().split("\n")
        for i, sql in enumerate(lines):
            if not sql or sql[0] in "#=+!":
                continue
            expected = lines[i + 1] if lines[i + 1][:1] in ("=", "+", "!") else None
            was = self.outcome(sql)
            if expected is None:
                expected = was if was[0] in "=+" else "success"
            self.assertEqual(was, expected, sql)

    def test_types_come_back(self):
        row = ("a", 2**62, -1.5, decimal.Decimal("12.25"), "it's \\ \"grüß\" %", b"\0\xff'\\", datetime.date(2024, 2, 29),
               datetime.datetime(2024, 2, 29, 3, 4, 5, 678000), 1)
        with self.db.cursor() as c:
            self.assertEqual(c.execute("upsert into py (k, n, d, x, s, b, day, at, f) values (%s, %s, %s, %s, %s, %s, %s, %s, %s)", row), 1)
        self.assertEqual(self.ask("select * from py where k = %s and n = %s", "a", 2**62), (row,))
        self.assertEqual(self.ask("select * from py where k = %s and n > %s limit 5", "a", 5), (row,))

    def test_null(self):
        self.ask("insert into py (k, n, s, d) values (%s, %s, %s, %s)", "null", 1, "x", None)
        self.assertEqual(self.ask("select s, d, b from py where k = 'null'"), (("x", None, None),))

    def test_many_rows_at_once(self):
        with self.db.cursor() as c:
            self.assertEqual(c.executemany("insert into py (k, n, d) values (%s, %s, %s)", [("many", i, i / 2) for i in range(1500)]), 1500)
            c.execute("select n from py where k = 'many'")
            self.assertEqual([n for n, in c], list(range(1499, -1, -1)))

    def test_rows_come_unbuffered(self):
        with self.db.cursor(pymysql.cursors.SSCursor) as c:
            c.execute("select n, d from py where k = 'nosuch' or k = 'many' order by k limit 3")
            list(c.fetchall_unbuffered())

    def test_rows_as_dictionaries(self):
        self.ask("insert into py (k, n, s) values ('dict', 1, 'x')")
        with self.db.cursor(pymysql.cursors.DictCursor) as c:
            c.execute("select n, upper(s) as big from py where k = 'dict'")
            self.assertEqual(c.fetchall(), [{"n": 1, "big": "X"}])

    def test_faults_have_numbers(self):
        for sql, number in (("select * from nosuch", 1146), ("selec", 1064), ("select nosuch from py", 1054),
                            ("select * from py where s = 'x'", 9001)):
            with self.assertRaises(pymysql.MySQLError) as fault:
                self.ask(sql)
            self.assertEqual(fault.exception.args[0], number)
        self.assertEqual(self.ask("select 1"), ((1,),))

    def test_commit_behind_tables_without_transactions(self):
        self.ask("insert into py (k, n, s) values ('tx', 1, 'x')")
        self.db.commit()
        self.db.rollback()
        self.assertEqual(self.ask("select n from py where k = 'tx'"), ((1,),))

    def test_ping_and_databases(self):
        self.db.ping()
        self.db.select_db("inst")
        with self.assertRaises(pymysql.MySQLError):
            self.db.select_db("nosuch")
        self.assertEqual(self.ask("select database()"), (("inst",),))

    def test_information_schema(self):
        self.assertEqual(self.ask("select column_name, column_key from information_schema.columns where table_name = %s and column_key = 'PRI' "
                                  "order by ordinal_position", "py"), (("k", "PRI"), ("n", "PRI")))
        self.assertIn(("py", "BASE TABLE"), self.ask("show full tables"))
        self.assertEqual([row[0] for row in self.ask("show columns from py")], ["k", "n", "d", "x", "s", "b", "day", "at", "f"])

    def test_kill_ends_a_connection(self):
        other = connect()
        number = other.thread_id()
        self.assertIn(number, [int(row[0]) for row in self.ask("show processlist")])
        self.db.kill(number)
        with self.assertRaises(pymysql.MySQLError):
            for _ in range(100):
                with other.cursor() as c:
                    c.execute("select 1")

    def test_many_connections(self):
        def work(i):
            db = connect()
            with db.cursor() as c:
                c.execute("upsert into py (k, n, d) values ('threads', %s, 1)", (i,))
            db.close()
        threads = [threading.Thread(target=work, args=(i,)) for i in range(20)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(self.ask("select count(*) from py where k = 'threads'"), ((20,),))


if __name__ == "__main__":
    unittest.main()
