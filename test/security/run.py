"""Who may do what: forged requests, grants, key rotation, TLS, overload, and what the logs tell.

The last line counts. Failures are printed as they come."""
import base64
import os
import pathlib
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import forge
import matrix
import operate
from client import v4_key
from server import Server


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.figures, self.secrets = [], []

    def check(self, ok, what):
        if ok:
            self.passed += 1
            return
        self.failed += 1
        if self.failed <= 50:
            print("FAILED", what)

    def skip(self, what):
        self.skipped += 1
        print("SKIPPED security:", what)

    def figure(self, text):
        self.figures.append(text)

    def sdk_pythons(self):
        cache = os.environ.get("WIDEROW_CACHE", os.path.expanduser("~/.cache/widerow"))
        return [f"{cache}/python/env/bin/python", f"{cache}/security/env/bin/python"]


def logs(t, folder):
    """No secret, nor what is as good as one, is in anything a server has written but its credentials."""
    days = {time.strftime("%Y%m%d", time.gmtime(time.time() - d)) for d in (0, 86400)}
    needles = set()
    for secret in t.secrets:
        needles |= {secret, base64.b64encode(secret.encode()).decode(), secret.encode().hex()}
        needles |= {v4_key(secret, day, "here") for day in days}
    files = [p for p in pathlib.Path(folder).glob("*/*.log")]
    size = sum(p.stat().st_size for p in files)
    for path in files:
        text = path.read_bytes()
        for needle in needles:
            t.check(needle.encode() not in text, f"logs: {path.name} of {path.parent.name} holds a secret: {needle}")
    access = [p for p in files if p.name == "access.log"]
    t.check(len(access) >= 5 and all(p.stat().st_size for p in access), "logs: there is something to search")
    t.check(any(b"refused" in p.read_bytes() for p in files), "logs: the level is debug")
    t.figure(f"{len(t.secrets)} secrets in no log ({len(files)} files, {size} bytes)")


def requests(t, folder):
    keys = matrix.make_keys()
    t.secrets += [k.secret for k in keys]
    server = Server(folder, "main", keys)
    forge.run(t, server, keys)
    matrix.run(t, server, keys)
    t.check(server.stop(), "the server ends well")


def main():
    t, start = Tally(), time.time()
    with tempfile.TemporaryDirectory() as folder:
        for part in (requests, operate.rotation, operate.instances, operate.overload, operate.tls, logs):
            try:
                part(t, pathlib.Path(folder))
            except Exception:
                traceback.print_exc()
                t.check(False, f"{part.__name__} ended early")
    print("\n".join(t.figures), f"\n{time.time() - start:.0f} s")
    print(f"security: {t.passed} passed, {t.failed} failed, {t.skipped} skipped")
    return t.failed != 0


if __name__ == "__main__":
    sys.exit(main())
