"""A widerowd of a test: started, asked to read its files again, stopped; its output and access log are kept."""
import atexit
import os
import pathlib
import signal
import subprocess
import time

BINARY = os.path.join(os.environ.get("BUILD", "build"), "widerowd")
COMMAND = os.path.join(os.environ.get("BUILD", "build"), "widerow")


class Server:
    def __init__(self, folder, name, keys, flags=(), engine="rocks"):
        self.folder = pathlib.Path(folder) / name
        self.folder.mkdir()
        self.data, self.log = self.folder / "data", self.folder / "output.log"
        self.make_data(engine)
        self.write_keys(keys)
        port = self.folder / "port"
        command = [BINARY, "--data", self.data, "--engine", engine, "--http", "127.0.0.1:0", "--admin", "off"]
        command += ["--port-file", port, "--log-level", "debug", "--access-log", self.folder / "access.log"]
        for limit in ("table_ops_per_s_max=0", "throughput_change_s_min=0", "tables_per_instance_max=1000"):
            command += ["--set", limit]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("WIDEROW_")}
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([*command, *flags], stdout=log, stderr=log, env=environment)
        atexit.register(self.process.kill)
        until = time.time() + 20
        while not port.exists():
            if self.process.poll() is not None or time.time() > until:
                raise RuntimeError(self.log.read_text())
            time.sleep(0.01)
        self.address = port.read_text().split("\n")[0].removeprefix("http=")

    def make_data(self, engine):
        """A data folder; its first key is printed where nobody reads it, and replaced."""
        port = self.folder / "first"
        command = [BINARY, "--data", self.data, "--engine", engine, "--http", "127.0.0.1:0", "--admin", "off"]
        first = subprocess.Popen([*command, "--port-file", port], stdout=subprocess.DEVNULL)
        until = time.time() + 20
        while not port.exists() and first.poll() is None and time.time() < until:
            time.sleep(0.01)
        first.terminate()
        first.wait()

    def write_keys(self, keys):
        """Whole or not at all, as the operator's page says."""
        new = self.data / "credentials.edit"
        new.write_text(keys if isinstance(keys, str) else "".join(key.line() for key in keys))
        new.chmod(0o600)
        new.replace(self.data / "credentials")

    def hangup(self, says):
        """Sends SIGHUP and waits for the log to say so; gives all that was logged since."""
        before = len(self.log.read_bytes())
        self.process.send_signal(signal.SIGHUP)
        until = time.time() + 10
        while time.time() < until:
            text = self.log.read_bytes()[before:].decode()
            if says in text:
                return text
            time.sleep(0.002)
        raise RuntimeError(f"the log does not say '{says}'")

    def stop(self):
        """Ends it; False if it did not end well."""
        self.process.terminate()
        return self.process.wait(timeout=30) == 0


def refused_start(folder, *flags):
    """What a start with these flags says, which must fail."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WIDEROW_")}
    command = [BINARY, "--data", folder, "--http", "127.0.0.1:0", "--admin", "off", *flags]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=20)
    return "" if done.returncode == 0 else done.stderr
