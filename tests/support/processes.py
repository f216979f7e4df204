"""Programs that tests start, and that are gone when the test is: failed, interrupted or killed."""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
from http.client import HTTPException
from pathlib import Path

from tests.support.patience import PATIENCE, wait_until

# Starts a program in a session of its own, and says its process id and how it ended. When whoever
# started this one is gone, or has closed its input, it ends the program and all that it has
# started. The program stays a zombie until then: its number is not given to anybody else.
KEEPER = """
import os, signal, subprocess, sys, threading
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=sys.stderr,
                         start_new_session=True)
print(child.pid, flush=True)

def over():
    ended = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    print(ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status, flush=True)

threading.Thread(target=over, daemon=True).start()
sys.stdin.read()
os.killpg(child.pid, signal.SIGKILL)
child.wait()
"""


class Program:
    """A program and its children."""

    def __init__(self, command, log, environment=None, cwd=None):
        self.log = Path(log)
        with self.log.open("ab") as said:
            self._keeper = subprocess.Popen(
                [sys.executable, "-S", "-E", "-c", KEEPER, *map(str, command)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                env=os.environ | (environment or {}),
                cwd=cwd,
                text=True,
                start_new_session=True,  # what ends our group, Ctrl-C say, leaves the keeper
            )
        self.pid = int(self._keeper.stdout.readline())

    def children(self):
        """Return the process ids of its children."""
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                stat = Path(f"/proc/{name}/stat").read_text()
            except OSError:  # gone meanwhile
                continue
            state, parent = stat.rpartition(")")[2].split()[:2]
            if int(parent) == self.pid and state != "Z":
                found.append(int(name))
        return found

    def stop(self, how=signal.SIGTERM):
        """Ask it to end, or with SIGKILL end it and its children; return how it ended."""
        (os.killpg if how == signal.SIGKILL else os.kill)(self.pid, how)
        code = int(self._keeper.stdout.readline())
        self.close()
        return code

    def close(self):
        """End it, however it stands."""
        self._keeper.communicate()


def _ports():
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    yield from range(first - 1 - os.getpid() * 20 % 20_000, 1024, -1)


PORTS = _ports()


def free_port():
    """Return a port that nobody uses, another one every time.

    It is below those from which connections are made: of these one might be taken while a server
    is restarted.
    """
    for port in PORTS:
        with socket.socket() as taken:
            try:
                taken.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("all ports are taken")


def wait_for(port, path):
    """Wait until a server answers, and well."""

    def answers():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        with contextlib.closing(connection), contextlib.suppress(OSError, HTTPException):
            connection.request("GET", path)
            return connection.getresponse().status == 200

    wait_until(answers, lambda: f"nobody answers {path} on port {port}")
