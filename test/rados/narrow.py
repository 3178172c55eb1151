#!/usr/bin/python3
"""A link with little bandwidth: passes connections on to a server, at most RATE bytes a second each way.

    narrow.py HOST:PORT RATE PORT_FILE     listens on 127.0.0.1, and writes its port to PORT_FILE
"""
import os
import socket
import sys
import threading
import time


def pump(source, target, rate):
    piece = max(1024, rate // 20)
    due = time.monotonic()
    try:
        while data := source.recv(piece):
            target.sendall(data)
            due = max(due, time.monotonic()) + len(data) / rate
            time.sleep(max(0, due - time.monotonic()))
        target.shutdown(socket.SHUT_WR)
    except OSError:
        for s in source, target:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    rate = int(sys.argv[2])
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    with open(sys.argv[3] + ".new", "w") as out:
        print(listener.getsockname()[1], file=out)
    os.rename(sys.argv[3] + ".new", sys.argv[3])
    while True:
        client, _ = listener.accept()
        server = socket.socket()
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        server.connect((host, int(port)))
        for pair in (client, server), (server, client):
            threading.Thread(target=pump, args=(*pair, rate), daemon=True).start()


main()
