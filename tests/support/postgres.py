"""A PostgreSQL server of the tests' own: in a temporary folder, on a Unix socket.

Started by hand, ``python -m tests.support.postgres`` prints its address and runs until it is told
to end (Ctrl-C).
"""

import glob
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.patience import PATIENCE
from tests.support.programs import hidden

MEMORY = Path("/dev/shm")
# Small, and silent about conflicts, which are what the tests provoke. Commits wait for the disk.
SETTINGS = {
    "listen_addresses": "''",
    "max_connections": "60",
    "shared_buffers": "16MB",
    "max_wal_size": "64MB",
    "min_wal_size": "32MB",
    "autovacuum": "off",
    "log_min_error_statement": "panic",
}


def program(name):
    """Return where a program of PostgreSQL is, None if it is not installed."""
    if hidden("postgresql"):
        return None
    places = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), key=_version, reverse=True)
    return shutil.which(name) or next(iter(places), None)


def _version(path):
    return [int(x) for x in Path(path).parts[4].split(".") if x.isdigit()]


def missing():
    """Say why there is no server here; nothing if there is one."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed: pip install 'psycopg[binary]'"
    if program("initdb") is None or program("postgres") is None:
        return "there is no PostgreSQL server here (Debian: apt install postgresql)"
    return ""


class Server:
    """The server; it may be stopped, killed and started again."""

    def __init__(self, folder, keeper, **settings):
        self.folder, self._keeper = Path(folder), keeper
        self.data = self.folder / "data"
        self._settings = SETTINGS | settings
        self._user = pwd.getpwnam("nobody") if os.getuid() == 0 else None  # it refuses root
        if self._user is not None:
            os.chown(self.folder, self._user.pw_uid, self._user.pw_gid)
        self._run("initdb", "-U", "uli", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        with (self.data / "postgresql.conf").open("a") as file:
            file.writelines(f"{key} = {value}\n" for key, value in self._settings.items())
            file.write(f"unix_socket_directories = '{self.folder}'\n")

    @property
    def url(self):
        return self.address()

    def address(self, database="postgres", user="uli"):
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def start(self):
        """Start it, and wait until it takes connections."""
        self._run(
            "pg_ctl", "start", "-w", "-t", f"{PATIENCE:.0f}", "-s", "-l", str(self.folder / "log")
        )

    def stop(self, mode="fast"):
        """Stop it: "fast" ends connections, "immediate" is as good as a crash."""
        self._run("pg_ctl", "stop", "-w", "-t", f"{PATIENCE:.0f}", "-s", "-m", mode)

    @property
    def running(self):
        return (self.data / "postmaster.pid").exists()

    def close(self):
        """Stop it, however it stands, and leave nothing behind."""
        self._keeper.communicate()

    def _run(self, name, *words):
        command = [program(name), "-D", str(self.data), *words]
        who = {}
        if self._user is not None:
            who = {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}
        with tempfile.TemporaryFile("w+") as said:  # the server keeps it open: a pipe would not end
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                cwd=self.folder,
                env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"},
                check=False,
                **who,
            )
            said.seek(0)
            assert done.returncode == 0, f"{name}: {said.read()}"


# Waits until whoever started it is gone, killed or not, and cleans up what was left.
KEEPER = """
import os, shutil, signal, sys, time
sys.stdin.read()
folder = sys.argv[1]
try:
    with open(f"{folder}/data/postmaster.pid") as file:
        pid = int(file.readline())
    os.kill(pid, signal.SIGQUIT)
    while os.path.exists(f"{folder}/data/postmaster.pid"):
        os.kill(pid, 0)
        time.sleep(0.05)
except (OSError, ValueError):
    pass
shutil.rmtree(folder, ignore_errors=True)
"""


def new_server(folder=None, **settings):
    """Start a server in a folder of its own, in memory where there is some; close it later."""
    where = folder or (MEMORY if MEMORY.is_dir() else None)
    made = tempfile.mkdtemp(prefix="uli-pg-", dir=where)
    keeper = subprocess.Popen(
        [sys.executable, "-c", KEEPER, made],
        stdin=subprocess.PIPE,
        start_new_session=True,  # what ends a whole group of processes leaves this one
    )
    try:
        server = Server(made, keeper, **settings)
        server.start()
    except BaseException:
        keeper.communicate()
        raise
    return server


if __name__ == "__main__":
    running = new_server()
    try:
        print(running.url, flush=True)
        signal.sigwait([signal.SIGINT, signal.SIGTERM])
    finally:
        running.close()
        sys.exit(0)
