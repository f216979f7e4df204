"""Killed at any system call, a study goes on; all of them: ``python -m tests.study.syscalls``."""

import subprocess
import sys

import pytest


def test_a_kill_at_a_system_call_loses_and_deletes_nothing():
    command = [sys.executable, "-m", "tests.study.syscalls", "0.01"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.stdout.startswith("0 kills:"):
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 acknowledged and lost, 0 deleted, 0 stuck" in done.stdout
