"""Many clients that once computed something on a small server, the one of SERVER_PID, and are idle: others compute, too."""
import os
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import pymysql

IDLE = int(os.environ.get("IDLE", "600"))
AT_ONCE = 40
KIB_IDLE_MAX = 130  # of one that once computed something; it was 150 to 165


def connect():
    return pymysql.connect(host="127.0.0.1", port=int(os.environ["PORT"]), user="key1", password="secret1", database="inst")


def rss_kib():
    with open("/proc/%s/status" % os.environ["SERVER_PID"]) as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


class Crowd(unittest.TestCase):
    def compute(self, i, one):
        with one.cursor() as c:
            c.execute("select upper('a'), %d + 1" % i)
            return c.fetchone() == ("A", i + 1)

    def test_idle_connections(self):
        with connect() as db:
            self.assertTrue(self.compute(0, db))
        before = rss_kib()
        with ThreadPoolExecutor(AT_ONCE) as at_once:
            held = list(at_once.map(lambda _: connect(), range(IDLE)))
            self.assertTrue(all(at_once.map(self.compute, range(IDLE), held)))
            most = rss_kib() - before
            for _ in range(120):
                if rss_kib() - before < IDLE * KIB_IDLE_MAX:
                    break
                time.sleep(0.5)
            print("%d idle connections: %d KiB, then %d" % (IDLE, most, rss_kib() - before), flush=True)
            self.assertLess(rss_kib() - before, IDLE * KIB_IDLE_MAX)
            self.assertTrue(all(at_once.map(self.compute, range(IDLE), held)))
        for one in held:
            one.close()


if __name__ == "__main__":
    unittest.main()
