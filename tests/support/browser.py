"""Chromium without a window, spoken to through pipes: what it shows, and what it complains of."""

import contextlib
import json
import os
import shutil
import subprocess
import sys

from tests.support.patience import PATIENCE, wait_until
from tests.support.programs import hidden

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update --remote-debugging-pipe"
).split()

# Chromium reads from descriptor 3 and writes to 4; what is there already is moved out of the way.
LAUNCH = """
import fcntl, os, sys
high = [fcntl.fcntl(int(x), fcntl.F_DUPFD, 50) for x in sys.argv[1:3]]
for descriptor, wanted in zip(high, (3, 4)):
    os.dup2(descriptor, wanted, inheritable=True)
os.execvp(sys.argv[3], sys.argv[3:])
"""


def missing():
    """Return why there is no browser, or nothing."""
    there = shutil.which("chromium") and not hidden("chromium")
    return "" if there else "chromium is not installed"


class Browser:
    """One page in one browser."""

    def __init__(self, profile):
        to_it, ours = os.pipe()
        theirs, from_it = os.pipe()
        command = ["chromium", *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(to_it), str(from_it), *command],
            pass_fds=(to_it, from_it),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_it)
        os.close(from_it)
        self._to, self._from = os.fdopen(ours, "wb", 0), theirs
        self._rest, self._number, self._session = b"", 0, None
        self.complaints = []
        target = self.do("Target.createTarget", url="about:blank")["targetId"]
        about = {"targetId": target, "flatten": True}
        self._session = self.do("Target.attachToTarget", **about)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.do(f"{domain}.enable")

    def do(self, method, **parameters):
        """Have something done, and return what came of it."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        self._to.write(json.dumps(message).encode() + b"\0")
        while True:
            found = self._read()
            if found.get("id") == self._number:
                assert "error" not in found, found
                return found["result"]

    def _read(self):
        while b"\0" not in self._rest:
            more = os.read(self._from, 2**16)
            assert more, "the browser has gone"
            self._rest += more
        one, self._rest = self._rest.split(b"\0", 1)
        found = json.loads(one)
        if found.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
            self.complaints.append(found["params"])
        if found.get("method") == "Runtime.consoleAPICalled":
            self.complaints.append(found["params"])
        return found

    def run(self, script):
        """Return what JavaScript says."""
        about = {"expression": script, "returnByValue": True, "awaitPromise": True}
        found = self.do("Runtime.evaluate", **about)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def open(self, url):
        self.do("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def wait(self, condition):
        """Wait until something is true."""
        wait_until(
            lambda: self.run(f"Boolean({condition})"),
            lambda: f"{condition}: {self.run('document.body.innerText')}",
        )

    def size(self, width, height, dark=False):
        about = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.do("Emulation.setDeviceMetricsOverride", **about)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.do("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path):
        import base64

        found = self.do("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(found["data"]))

    def close(self):
        with contextlib.suppress(OSError):
            self._to.close()
        self.process.terminate()
        self.process.wait(timeout=PATIENCE)
        os.close(self._from)
