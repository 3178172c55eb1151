"""PyMySQL with transactions: what is written together, seen before the COMMIT and behind it, locked, refused, lost."""
import unittest

import pymysql

from cases import connect


class Transactions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with connect(autocommit=True) as db, db.cursor() as c:
            for name, options in (("bank", "with (transactions = 'true')"), ("plain", "")):
                c.execute("create table if not exists %s (who varchar, n bigint, v bigint, note varchar, primary key (who, n)) %s" % (name, options))
            c.execute("create index if not exists bank_note on bank (note) include (v) sync")

    def setUp(self):
        self.a, self.b = connect(autocommit=True), connect(autocommit=True)
        for db in (self.a, self.b):
            self.addCleanup(db.close)
        for who in ("ann", "bob"):
            self.ask(self.a, "upsert into bank (who, n, v, note) values (%s, 1, 10, 'first'), (%s, 2, 20, 'second')", who, who)
            self.ask(self.a, "delete from bank where who = %s and n = 3", who)

    def ask(self, db, sql, *values):
        with db.cursor() as c:
            c.execute(sql, values)
            return c.fetchall()

    def refused(self, number, db, sql, *values):
        with self.assertRaises(pymysql.MySQLError) as fault:
            self.ask(db, sql, *values)
        self.assertEqual(fault.exception.args[0], number, fault.exception.args)

    def rows(self, db, who="ann"):
        return self.ask(db, "select n, v from bank where who = %s order by n", who)

    def test_rows_land_together(self):
        self.a.begin()
        self.ask(self.a, "update bank set v = v - 5 where who = 'ann' and n = 1")
        self.ask(self.a, "update bank set v = v * 2 where who = 'ann' and n = 1")
        self.ask(self.a, "insert into bank (who, n, v) values ('ann', 3, 5)")
        self.ask(self.a, "delete from bank where who = 'ann' and n = 2")
        mine = ((1, 10), (3, 5))
        self.assertEqual(self.rows(self.a), mine)
        self.assertEqual(self.ask(self.a, "select v from bank where who = 'ann' and n = 3"), ((5,),))
        self.assertEqual(self.ask(self.a, "select count(*), sum(v) from bank where who = 'ann'"), ((2, 15),))
        self.assertEqual(self.ask(self.a, "select max(v) from bank where who = 'ann' and n > 1 group by who"), ((5,),))
        self.assertEqual(self.rows(self.b), ((1, 10), (2, 20)))
        self.a.commit()
        self.assertEqual(self.rows(self.b), mine)

    def test_rollback_takes_all_back(self):
        self.ask(self.a, "start transaction read write")
        self.ask(self.a, "upsert into bank (who, n, v) values ('ann', 1, 0), ('ann', 3, 0)")
        self.a.rollback()
        self.assertEqual(self.rows(self.a), ((1, 10), (2, 20)))
        self.ask(self.b, "upsert into bank (who, n, v) values ('ann', 1, 11)")

    def test_a_connection_that_leaves_takes_its_writes_with_it(self):
        for leave in (lambda db: db.close(), lambda db: self.ask(self.b, "kill %s", db.thread_id())):
            db = connect(autocommit=True)
            db.begin()
            self.ask(db, "upsert into bank (who, n, v) values ('ann', 1, 0)")
            leave(db)
            self.ask(self.b, "upsert into bank (who, n, v) values ('ann', 2, 21)")  # waits for it
            self.assertEqual(self.rows(self.b), ((1, 10), (2, 21)))

    def test_others_wait_for_the_lock(self):
        self.a.begin()
        self.assertEqual(self.ask(self.a, "select v from bank where who = 'ann' and n = 1 for update"), ((10,),))
        self.ask(self.b, "update bank set v = 0 where who = 'bob' and n = 1")
        self.refused(1205, self.b, "update bank set v = 0 where who = 'ann' and n = 1")
        self.b.begin()
        self.refused(1205, self.b, "select v from bank where who = 'ann' for update")
        self.assertEqual(self.rows(self.b), ((1, 10), (2, 20)))
        self.ask(self.a, "update bank set v = 1 where who = 'ann' and n = 1")
        self.a.commit()
        self.assertEqual(self.ask(self.b, "select v from bank where who = 'ann' for update"), ((1,), (20,)))
        self.b.rollback()

    def test_one_value_of_one_table(self):
        self.a.begin()
        self.refused(9001, self.a, "upsert into bank (who, n, v) values ('ann', 1, 0), ('bob', 1, 0)")
        self.a.rollback()
        self.a.begin()
        self.ask(self.a, "upsert into bank (who, n, v) values ('ann', 1, 0)")
        for sql in ("update bank set v = 0 where who = 'bob' and n = 1", "delete from bank where who = 'bob' and n = 1",
                    "upsert into plain (who, n, v) values ('ann', 1, 0)", "select * from bank for update"):
            self.refused(9001, self.a, sql)
        self.a.commit()
        self.assertEqual(self.rows(self.b), ((1, 0), (2, 20)))
        self.assertEqual(self.rows(self.b, "bob"), ((1, 10), (2, 20)))

    def test_reads_that_would_miss_what_was_written(self):
        self.a.begin()
        self.assertEqual(self.ask(self.a, "select count(*) from bank where note = 'first'"), ((2,),))
        self.ask(self.a, "upsert into bank (who, n, note) values ('ann', 2, 'first')")
        for sql in ("select v from bank where note = 'first'", "select * from bank", "select count(*) from bank", "select * from bank where who > 'a'"):
            self.refused(9001, self.a, sql)
        self.assertEqual(self.rows(self.a, "bob"), ((1, 10), (2, 20)))
        self.ask(self.a, "select * from plain")
        self.a.commit()
        self.assertEqual(self.ask(self.b, "select count(*) from bank where note = 'first'"), ((3,),))

    def test_tables_without(self):
        self.a.begin()
        self.ask(self.a, "select * from plain where who = 'x'")
        self.refused(9001, self.a, "upsert into plain (who, n, v) values ('x', 1, 1)")
        self.a.rollback()
        self.assertEqual(self.ask(self.a, "select * from plain where who = 'x'"), ())
        db = connect()  # autocommit is off, as the driver begins
        self.addCleanup(db.close)
        self.assertEqual(self.ask(db, "select @@autocommit"), ((0,),))
        self.ask(db, "upsert into plain (who, n, v) values ('y', 1, 1)")
        self.assertEqual(len(self.ask(self.b, "select * from plain where who = 'y'")), 1)
        self.refused(1196, db, "rollback")
        self.ask(db, "rollback")
        self.ask(db, "upsert into plain (who, n, v) values ('y', 1, 2)")
        db.commit()
        db.rollback()

    def test_autocommit_off(self):
        self.a.autocommit(False)
        self.assertFalse(self.a.get_autocommit())
        self.ask(self.a, "update bank set v = 1 where who = 'ann' and n = 1")
        self.assertEqual(self.rows(self.b), ((1, 10), (2, 20)))
        self.a.commit()
        self.ask(self.a, "update bank set v = 2 where who = 'bob' and n = 1")
        self.a.rollback()
        self.ask(self.a, "update bank set v = 3 where who = 'ann' and n = 1")
        self.a.autocommit(True)  # commits
        self.assertEqual(self.rows(self.b), ((1, 3), (2, 20)))
        self.assertEqual(self.rows(self.b, "bob"), ((1, 10), (2, 20)))
        self.refused(9001, self.a, "set autocommit = 2")

    def test_what_commits_by_itself(self):
        for sql in ("start transaction", "create table if not exists plain (k bigint, primary key (k))"):
            self.a.begin()
            self.ask(self.a, "upsert into bank (who, n, v) values ('ann', 3, 33)")
            self.ask(self.a, sql)
            self.assertEqual(self.rows(self.b), ((1, 10), (2, 20), (3, 33)))
            self.a.rollback()
            self.ask(self.b, "delete from bank where who = 'ann' and n = 3")

    def test_one_that_is_lost(self):
        self.ask(self.a, "drop table if exists gone")
        self.ask(self.a, "create table gone (k bigint, v bigint, primary key (k)) with (transactions = 'true')")
        self.a.begin()
        self.ask(self.a, "upsert into gone (k, v) values (1, 1)")
        self.ask(self.b, "drop table gone")
        with self.assertRaises(pymysql.MySQLError):
            self.ask(self.a, "select v from gone where k = 1")
        self.ask(self.b, "create table gone (k bigint, v bigint, primary key (k)) with (transactions = 'true')")
        self.refused(1213, self.a, "upsert into gone (k, v) values (1, 1)")
        self.refused(1213, self.a, "select 1")
        self.refused(1213, self.a, "commit")
        self.assertEqual(self.ask(self.a, "select * from gone where k = 1"), ())

    def test_read_only(self):
        self.ask(self.a, "start transaction read only")
        self.assertEqual(self.rows(self.a), ((1, 10), (2, 20)))
        self.refused(1792, self.a, "upsert into bank (who, n, v) values ('ann', 3, 33)")
        self.a.rollback()
        self.refused(9001, self.a, "start transaction with consistent snapshot")
        self.refused(9001, self.a, "rollback to savepoint a")

    def test_the_option(self):
        self.assertIn("TRANSACTIONS = 'true'", self.ask(self.a, "show create table bank")[0][1])
        self.refused(9001, self.a, "alter table plain set 'TRANSACTIONS' = 'true'")
        self.ask(self.a, "alter table bank set 'TRANSACTIONS' = 'true'")
        self.refused(9001, self.a, "create table t4 (k bigint, v bigint, primary key (k)) with (transactions = 'maybe')")
        self.ask(self.a, "create table banks like bank")
        self.ask(self.a, "truncate table banks")
        self.assertEqual(self.ask(self.a, "show table variables from banks like 'TRANSACTIONS'"), (("TRANSACTIONS", "true"),))
        self.ask(self.a, "drop table banks")


if __name__ == "__main__":
    unittest.main()
