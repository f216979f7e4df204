"""Other libraries, each in an environment of its own (``make rivals``).

A rival's program is in others/; it plays some rounds after a warm-up that does not count,
and prints the seconds that one took. It runs just before ours, in another process, held to one
thread by the environment that both have.
"""

from __future__ import annotations

import json
import subprocess

import pytest

from bench import BENCH
from bench.support.cases import Case, Run


def another_library(name: str, *words: str) -> Case:
    """Return another library's work, per round; skip where it is not installed."""
    folder = BENCH.parent / f".venv-{name}"
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        pytest.skip(f"{name} is not installed: make rivals")
    program = BENCH / "support" / "others" / f"with_{name}.py"

    def prepare(seed: int) -> Run:
        def run() -> float:
            command = [str(python), str(program), *words, str(seed)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            if done.returncode:
                pytest.skip(f"{name} failed: {done.stderr.strip().splitlines()[-1]}")
            return float(json.loads(done.stdout.splitlines()[-1])["seconds"])

        return run

    return Case(prepare, says_its_time=True)
