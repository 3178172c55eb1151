#!/usr/bin/env python3
"""The link between a server and its Ceph cluster, which can be cut: a TCP proxy for test/rados/preload.c.

  link.py DIR    listens on a free port of 127.0.0.1 and writes it to DIR/port. While there is a file DIR/cut, nothing goes
                 through in either direction, and no connection is closed; while there is a file DIR/delay, each piece goes
                 through so many milliseconds later. Ends with its standard input.
"""
import os
import socket
import sys
import threading
import time

folder = sys.argv[1]
cut, delay = os.path.join(folder, "cut"), os.path.join(folder, "delay")


def wait():
    try:
        with open(delay) as f:
            time.sleep(float(f.read() or 0) / 1000)
    except (OSError, ValueError):
        pass
    while os.path.exists(cut):
        time.sleep(0.01)


def pump(source, sink):
    try:
        while True:
            data = source.recv(1 << 16)
            wait()
            if not data:
                break
            sink.sendall(data)
    except OSError:
        pass
    for s in source, sink:  # the other direction ends, too: nobody half-closes here
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(client, port):
    wait()
    try:
        daemon = socket.create_connection(("127.0.0.1", port))
    except OSError:
        client.close()
        return
    for s in client, daemon:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    back = threading.Thread(target=pump, args=(daemon, client), daemon=True)
    back.start()
    pump(client, daemon)
    back.join()
    client.close()
    daemon.close()


def accept(listener):
    while True:
        client, (address, _) = listener.accept()
        high, low = address.split(".")[2:]
        threading.Thread(target=serve, args=(client, int(high) * 256 + int(low)), daemon=True).start()


listener = socket.create_server(("127.0.0.1", 0), backlog=128)
with open(os.path.join(folder, "port.new"), "w") as f:
    f.write(str(listener.getsockname()[1]))
os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
threading.Thread(target=accept, args=(listener,), daemon=True).start()
sys.stdin.read()
