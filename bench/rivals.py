"""Other libraries, each in an environment of its own (``make rivals``).

A rival's program lies in bench/others; it plays so many rounds, after some that do not count,
and prints the seconds that one took. It runs just before ours, in another process, on one thread
by the environment that both have.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from cases import Case, Run

ROOT = Path(__file__).parent.parent


def another_library(name: str, *words: str) -> Case:
    """Return another library's work, per round; skip where it is not installed."""
    folder = ROOT / f".venv-{name}"
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        pytest.skip(f"{name} is not installed: make rivals")
    program = Path(__file__).parent / "others" / f"with_{name}.py"

    def prepare(seed: int) -> Run:
        def run() -> float:
            command = [str(python), str(program), *words, str(seed)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            if done.returncode:
                pytest.skip(f"{name} failed: {done.stderr.strip().splitlines()[-1]}")
            return float(json.loads(done.stdout.splitlines()[-1])["seconds"])

        return run

    return Case(prepare, says_its_time=True)
