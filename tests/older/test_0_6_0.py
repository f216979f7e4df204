"""What version 0.6.0 wrote still opens, and means what it meant."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import uli_fast as uli
from tests.older.write import PLAYERS, said
from uli_fast.cli import main
from uli_fast.experiments.results import Results

KEPT = Path(__file__).parent / "v0_6_0.zip"
# On the scale of [0, 1] then, in reward units now; None is half the range.
R_NOW = {
    "se_unit": None,
    "se_wide": None,
    "se_wide_r": 3.0,
    "se_narrow_r": 0.35 * 0.7,
    "se_free_r": 2.0,
    "se_free": 0.5,
    "pe_wide_r": 2.0,
    "ucb_wide_r": 1.0,
    "lil_ucb_wide": None,
    "linear_free": 1.0,
    "linear_wide": 1.0,
}
# An R below half the range, whose intervals 0.6.0 gave though nothing was proved of them.
TOO_NARROW = ("se_wide_r", "se_narrow_r", "pe_wide_r", "ucb_wide_r")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("older") / "v0_6_0"
    shutil.unpack_archive(KEPT, folder)
    return folder


def check_intervals(now, then):
    """0.6.0 gave the intervals of the last round; now they are those of all rounds at once."""
    for (low, high), (lowest, highest) in zip(now, then, strict=True):
        assert float(lowest) <= float(low) and float(high) <= float(highest)


def check_said(now, then, name):
    if name not in TOO_NARROW:
        check_intervals(now["intervals"], then["intervals"])
    assert (now["active"], now["next"]) == (then["active"], then["next"])


@pytest.mark.parametrize("name", PLAYERS)
def test_a_saved_player_says_and_does_what_it_did(kept, name):
    then = json.loads((kept / "players.json").read_text())[name]
    player = uli.restore(then["state"])
    check_said(said(player), then["said"], name)
    if name in R_NOW:
        assert player.learner.R == R_NOW[name]


@pytest.mark.parametrize("name", PLAYERS)
def test_saved_again_it_is_still_the_same(kept, name):
    then = json.loads((kept / "players.json").read_text())[name]
    again = json.loads(json.dumps(uli.restore(then["state"]).state()))
    check_said(said(uli.restore(again)), then["said"], name)


@pytest.mark.parametrize("name", ["se_wide", "se_wide_r", "se_free", "linear_free"])
def test_a_study_goes_on_as_it_would_have(kept, tmp_path, name):
    path = tmp_path / "study.db"
    shutil.copy(kept / f"{name}.db", path)
    then = json.loads((kept / "players.json").read_text())[name]["said"]
    with uli.Study.open(path) as study:
        assert list(study.active) == then["active"]
        if name not in TOO_NARROW:
            check_intervals(study.intervals().values(), then["intervals"])
        assert study.learner.R == R_NOW[name]
        assert study.ask().arm == then["next"][0]
    assert len(uli.Study.audit(path).history) == 61


def test_a_study_is_opened_with_the_learner_of_today(kept, tmp_path):
    shutil.copy(kept / "se_wide.db", tmp_path / "wide.db")
    for learner in (uli.SuccessiveElimination(0.1), uli.SuccessiveElimination(0.1, R=5.0)):
        uli.Study.open(tmp_path / "wide.db", learner, arms=["a", "b"], low=0.0, high=10.0).close()
    with pytest.raises(uli.errors.ArgumentError, match="learner"):
        uli.Study.open(tmp_path / "wide.db", uli.SuccessiveElimination(0.1, R=0.5))
    shutil.copy(kept / "se_free.db", tmp_path / "free.db")
    uli.Study.open(tmp_path / "free.db", uli.SuccessiveElimination(0.1, R=0.5)).close()
    with pytest.raises(uli.errors.ArgumentError, match=r"begun with .*'R': 0.5"):
        uli.Study.open(tmp_path / "free.db", uli.SuccessiveElimination(0.1))


@pytest.mark.parametrize("name", ["arms", "gaussian", "vectors", "ball", "mdp"])
def test_saved_runs_load(kept, name):
    runs = uli.Runs.load(kept / "runs" / name)
    then = json.loads((kept / "regrets.json").read_text())[name]
    assert runs.regret.tolist() == then
    assert runs.horizon == 3000 and runs.replications == 2
    assert np.isfinite(runs.worst_ratio).all() == (name not in ("arms", "mdp"))


def test_a_folder_of_results_loads_and_is_reported(kept, tmp_path):
    folder = tmp_path / "experiment"
    shutil.copytree(kept / "experiment", folder)
    results = Results.load(folder)
    assert results.complete
    shown = CliRunner().invoke(main, ["report", str(folder), "--out", str(tmp_path / "page.html")])
    assert shown.exit_code == 0, shown.output
    assert "SuccessiveElimination" in (tmp_path / "page.html").read_text()
