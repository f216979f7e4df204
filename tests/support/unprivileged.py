"""Code in a process of a user who owns nothing: root may open whatever is closed."""

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BEGIN = """
import os, sys

def drop():
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)

def say(call):
    try:
        call()
        print("fine")
    except Exception as problem:
        print(type(problem).__name__, problem)
"""


def said_by(code, *words):
    """Run code that imports, calls drop() and says things; return the lines said."""
    command = [sys.executable, "-c", BEGIN + code, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@contextlib.contextmanager
def open_folder():
    """Make a folder that other users reach, as pytest's are not; what is closed is opened again."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        try:
            yield folder
        finally:
            folder.chmod(0o755)
            for top, folders, _ in os.walk(folder):
                for one in folders:  # before os.walk goes into it
                    os.chmod(os.path.join(top, one), 0o755)
