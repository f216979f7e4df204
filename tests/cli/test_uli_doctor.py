"""``uli doctor`` and ``uli datasets``: what they list, compile and remove."""

import os
import subprocess
import sys

from click.testing import CliRunner

from uli_fast.cli import main


def test_datasets_and_doctor():
    listing = CliRunner().invoke(main, ["datasets"])
    assert listing.exit_code == 0
    assert "isis2" in listing.output
    doctor = CliRunner().invoke(main, ["doctor"])
    assert doctor.exit_code == 0
    assert "numba" in doctor.output


def test_doctor_shows_and_removes_old_kernels(tmp_path, monkeypatch):
    from uli_fast.kernels import _jit

    names = {"own": "0" * 16, "old": "1" * 16, "young": "2" * 16, "strange": "photos"}
    for name in names.values():
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.nbc").write_bytes(bytes(2**20))
    for name in ("old", "strange", "own"):
        for path in (tmp_path / names[name] / "a.nbc", tmp_path / names[name]):
            os.utime(path, (1e9, 1e9))
    monkeypatch.setattr(_jit, "CACHE_FOLDER", tmp_path / names["own"])
    shown = CliRunner().invoke(main, ["doctor"]).output
    assert "1 compiled, 1 MB" in shown and "of other versions: 2 beside it, 2 MB" in shown
    cleaned = CliRunner().invoke(main, ["doctor", "--clean"])
    assert cleaned.exit_code == 0 and "1 folders of other versions, 1 MB" in cleaned.output
    left = {p.name for p in tmp_path.iterdir()}
    assert left == {names["own"], names["young"], names["strange"]}


def test_warming_up_policies_is_quiet():
    from uli_fast.cli.doctor import _warm_up_policies

    _warm_up_policies()  # warnings are errors here


WARM = """
import sys
import numpy as np
from numba.core.dispatcher import Dispatcher
import uli_fast as uli
from uli_fast.cli.doctor import _warm_up_betting, _warm_up_races_and_logs

def compiled():
    found = {}
    for name, module in sorted(sys.modules.items()):
        if name.startswith("uli_fast.kernels."):
            for x in vars(module).values():
                if isinstance(x, Dispatcher):
                    found[f"{x.__module__}.{x.__name__}"] = len(x.signatures)
    return found

_warm_up_betting()
_warm_up_races_and_logs()
before = compiled()
for about in ("list", "population"):
    for lost in (-1, 7):
        score = lambda c, i: None if i == lost else c * (i % 3) / 4
        uli.race({"x": 1, "y": 2, "z": 0}, score, range(60), about=about, seed=1)
rng = np.random.default_rng(0)
for lost in (100.0, 0.9):
    log = [(a, None if x > lost else x) for a, x in zip(rng.integers(0, 3, 300), rng.random(300))]
    uli.replay(uli.SuccessiveElimination(), log)
    uli.replay(uli.BettingElimination(), log)
player = uli.BettingElimination().start(3)
for i in range(30):
    id = player.ask().id
    player.tell_missing(id, "lost") if i % 4 == 3 else player.tell(id, 0.5)
player.certificate()
after = compiled()
assert "uli_fast.kernels.race.feed" in before
assert after == before, set(after.items()) - set(before.items())
"""


def test_warming_up_leaves_nothing_of_races_and_replays_to_compile():
    done = subprocess.run([sys.executable, "-c", WARM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
