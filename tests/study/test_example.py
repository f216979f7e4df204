"""The worked example, crashes and all."""

import os
import subprocess
import sys
from pathlib import Path

import uli_fast as uli

ROOT = Path(__file__).parent.parent.parent


def test_the_clinic_ends_as_if_it_had_never_crashed(folder):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(ROOT / "examples/clinic.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert "in play: new drug" in done.stdout
    names = {p.name for p in folder.iterdir()}
    assert names == {"trial.db", "trial.csv", "trial.html"}
    audit = uli.Study.audit(folder / "trial.db")
    assert len(audit.history) == 700 and audit.statuses["pending"] == 0
    assert [arm for drop in audit.drops for arm in drop.arms] == ["usual care", "old drug"]
    arms = {line.arm: line for line in audit.arms}
    assert arms["new drug"].rewards > 300 and arms["new drug"].low < 0.9 < arms["new drug"].high
    assert "not seen again" in (folder / "trial.html").read_text(encoding="utf-8")
    # A clinic that was never killed makes the same decisions.
    command = [sys.executable, str(ROOT / "examples/clinic.py"), str(folder / "calm"), "clinic"]
    (folder / "calm").mkdir()
    subprocess.run(command, capture_output=True, env=environment, check=True)
    with uli.Study.read(folder / "calm/trial.db") as calm:
        assert [(r.arm, r.reward) for r in calm.history()] == [
            (r.arm, r.reward) for r in audit.history
        ]
