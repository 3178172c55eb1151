"""Data sets of public shapes for the advisor's tests: web server log lines, a shop's orders, sensor readings.

  records.py logs|orders|readings [COUNT] [SEED]

The same count and seed give the same records. Logs and orders are CSV, readings JSON Lines.
"""
import datetime
import json
import random
import sys

START = datetime.datetime(2025, 3, 1)


def zipf(rng, weights_sum, weights):
    """A number whose k-th is drawn in proportion to 1/k."""
    at = rng.random() * weights_sum
    low, high = 0, len(weights) - 1
    while low < high:
        middle = (low + high) // 2
        if weights[middle] < at:
            low = middle + 1
        else:
            high = middle
    return low


def harmonic(count):
    weights, total = [], 0.0
    for k in range(1, count + 1):
        total += 1.0 / k
        weights.append(total)
    return total, weights


def logs(count, rng):
    """Requests of 240 servers behind a balancer, in the order of time."""
    total, weights = harmonic(500)
    print("time,host,status,path,bytes")
    for n in range(count):
        when = START + datetime.timedelta(milliseconds=n * 86400000 * 30 // count)
        host = "web-%03d.example.org" % rng.randrange(240)
        path = "/item/%d" % zipf(rng, total, weights)
        status = rng.choices((200, 304, 404, 500), (90, 6, 3, 1))[0]
        print("%s.%03dZ,%s,%d,%s,%d" % (when.strftime("%Y-%m-%dT%H:%M:%S"), when.microsecond // 1000, host, status,
                                        path, rng.randrange(200, 20000)))


def orders(count, rng):
    """Orders numbered as they come in; 20,000 buyers, 30 sellers of very different size."""
    total, weights = harmonic(30)
    print("order_id,buyer,seller,created,amount")
    for n in range(count):
        when = START + datetime.timedelta(seconds=n * 86400 * 200 // count)
        print("%d,%d,s%02d,%s,%.2f" % (70000000 + n, 500000 + rng.randrange(20000), zipf(rng, total, weights),
                                       when.strftime("%Y-%m-%d %H:%M:%S"), rng.randrange(100, 99999) / 100))


def readings(count, rng):
    """Readings of 1,500 devices, each about once a minute, with a time in milliseconds."""
    for n in range(count):
        ts = 1740787200000 + n * 40 + rng.randrange(40)
        print(json.dumps({"device": "d%05d" % rng.randrange(1500), "ts": ts,
                          "temperature": round(rng.gauss(21, 3), 2), "battery": rng.randrange(101)}))


if __name__ == "__main__":
    make = {"logs": logs, "orders": orders, "readings": readings}[sys.argv[1]]
    make(int(sys.argv[2]) if len(sys.argv) > 2 else 200000, random.Random(sys.argv[3] if len(sys.argv) > 3 else "1"))
