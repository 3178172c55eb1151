"""1,000 clients that ask for much and stop reading: others do not wait for them, and the server of SERVER_PID stays small."""
import os
import time
import unittest

import pymysql
import pymysql.cursors

CLIENTS = int(os.environ.get("CLIENTS", "990"))
KIB_MAX = 128 << 10


def connect(**more):
    return pymysql.connect(host="127.0.0.1", port=int(os.environ["PORT"]), user="key1", password="secret1", database="inst", **more)


def rss_kib():
    with open("/proc/%s/status" % os.environ["SERVER_PID"]) as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


class Stopped(unittest.TestCase):
    def test_clients_that_stop_reading(self):
        with connect() as db, db.cursor() as c:
            c.execute("create table stopped (k varchar, n bigint, v varchar, primary key (k, n))")
            for first in range(0, 10000, 200):
                c.execute("insert into stopped (k, n, v) values " + ",".join("('k', %d, '%01000d')" % (i, i) for i in range(first, first + 200)))
            time.sleep(1)
            idle, most, held = rss_kib(), 0, []
            for _ in range(CLIENTS):
                one = connect(cursorclass=pymysql.cursors.SSCursor)
                cursor = one.cursor()
                cursor.execute("select " + "v, " * 20 + "n from stopped where k = 'k'")
                held.append((one, cursor))
                most = max(most, rss_kib())
            c.execute("select count(*) from stopped")
            self.assertEqual(c.fetchone()[0], 10000)
            c.execute("select upper(v) from stopped where k = 'k' and n < 10")
            self.assertEqual(len(c.fetchall()), 10)
            most = max(most, rss_kib())
            print("%d clients that stopped reading: %d KiB" % (CLIENTS, most - idle), flush=True)
            self.assertLess(most - idle, KIB_MAX)
            for one, _ in held:
                one._force_close()
            c.execute("drop table stopped")
        os._exit(0)  # the driver's cursors would read their answers to the end


if __name__ == "__main__":
    unittest.main()
