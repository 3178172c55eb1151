"""A proxy that cuts connections: after as many bytes as chance says, or where an answer begins, so that it is lost though the
request was done.

    proxy.py TARGET-PORT PORT-FILE COUNT-FILE MEAN-BYTES SEED     COUNT-FILE holds how often it has cut"""
import asyncio
import os
import random
import sys

target, port_file, count_file, mean, seed = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
rnd = random.Random(seed)
cuts = 0


def cut(*writers):
    global cuts
    cuts += 1
    with open(count_file + ".new", "w") as f:
        f.write("%d\n" % cuts)
    os.rename(count_file + ".new", count_file)
    for w in writers:
        w.transport.abort()


async def serve(reader, writer):
    try:
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", target)
    except OSError:
        writer.transport.abort()
        return
    left = [rnd.expovariate(1 / mean)]
    loses_answer = rnd.random() < 0.15
    done = []

    async def pump(source, to, answer):
        try:
            while not done:
                data = await source.read(65536)
                if not data:
                    break
                if answer and loses_answer and not done:
                    done.append(1)
                    cut(writer, up_writer)
                    return
                if len(data) > left[0] and not done:
                    to.write(data[: int(left[0])])
                    await to.drain()
                    done.append(1)
                    cut(writer, up_writer)
                    return
                left[0] -= len(data)
                to.write(data)
                await to.drain()
        except (OSError, asyncio.CancelledError):
            pass
        if not done:
            to.close()

    await asyncio.gather(pump(reader, up_writer, False), pump(up_reader, writer, True))


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    with open(port_file + ".new", "w") as f:
        f.write("%d\n" % server.sockets[0].getsockname()[1])
    os.rename(port_file + ".new", port_file)
    await server.serve_forever()


with open(count_file, "w") as f:
    f.write("0\n")
asyncio.run(main())
