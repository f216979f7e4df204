"""The worked example of a race."""

import os
import re
import subprocess
import sys
from pathlib import Path

from uli_fast.study.journal import read_events

ROOT = Path(__file__).parent.parent.parent


def test_eight_classifiers_are_raced_and_every_score_is_kept_once(folder):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(ROOT / "examples/race_models.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    made, full = map(int, re.findall(r"(\d+) evaluations instead of (\d+)", done.stdout)[0])
    assert made < 0.7 * full
    winner = re.findall(r"best of the full evaluation: (.*)", done.stdout)[0]
    behind = dict(
        re.findall(r"^(.*): on all \d+ items .*, (\S+) behind", done.stdout, re.MULTILINE)
    )
    assert behind[winner] == "0.0000"  # the best is still in the race
    assert {p.name for p in folder.iterdir()} == {"race.db", "race.html"}
    events = read_events(folder / "race.db")
    kept = [(row, a) for event in events[1:] for row, a, _, _ in event.content["outcomes"]]
    assert len(kept) == len(set(kept)) == made
