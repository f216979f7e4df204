"""What version 0.6.0 wrote still opens, and means what it meant."""

from __future__ import annotations

import json
import math
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import uli_fast as uli
from tests.older.write import PLAYERS, said
from tests.support.hostile import states
from uli_fast.cli import main
from uli_fast.errors import NoGuaranteeError
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


def in_zip(name):
    with zipfile.ZipFile(KEPT) as kept:
        return json.loads(kept.read(name))


# States of every kind of player, and states with what 0.6.0 certified of them.
EVERY_KIND, CERTIFIED = in_zip("every_kind.json"), in_zip("certified/states.json")
# What a state of schema 1 did not have: nobody could tell of missing outcomes.
ADDED = ("missing", "lost", "omitted", "again")
ADDED_INSIDE = ("phase_missing", "closed_missing", "early", "errors")
ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.6]])


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


# States of every kind.


def restored(name, state):
    kind, more = name.split(",")[0], {}
    if kind == "EliminationFramework":
        more["learner"] = states.learners()[kind][0]
    if kind == "SpannerElimination":
        more["arms"] = uli.arm_sets.Ball(2)
    return uli.restore(state, **more)


def learned(state):
    """Return a state without the description of its learner, which may be put otherwise."""
    return {key: value for key, value in state.items() if key not in ("schema", "learner")}


@pytest.mark.parametrize("name", EVERY_KIND)
def test_states_are_restored_bit_for_bit(name):
    then = EVERY_KIND[name]
    found = learned(restored(name, then).state())
    for key, value in learned(then).items():
        if key == "extra":
            assert {k: found[key][k] for k in value} == value
        else:
            assert found[key] == value


@pytest.mark.parametrize("name", [name for name in EVERY_KIND if "late" not in name])
def test_states_of_the_first_schema_are_restored_too(name):
    then = EVERY_KIND[name]
    state = {k: v for k, v in then.items() if k not in ADDED} | {"schema": 1}
    if "extra" in state:
        state["extra"] = {k: v for k, v in state["extra"].items() if k not in ADDED_INSIDE}
    assert restored(name, state).state() == restored(name, then).state()


# What was certified.


@pytest.mark.parametrize("name", CERTIFIED)
def test_certificates_say_no_less(name):
    old = CERTIFIED[name]
    more = {"arms": ARMS} if name == "spanner" else {}
    assert old["state"]["schema"] == 2 and "known" not in old["state"]
    player = uli.restore(old["state"], **more)
    again = uli.restore(json.loads(json.dumps(player.state())), **more)
    assert again.state() == player.state()
    if name == "PE unbounded":
        assert player.certificate().bound <= 2.0 * 2.0 ** (1 - player.phase)
    elif old["said"] is None or "contradicted" in name:
        with pytest.raises(NoGuaranteeError):
            player.certificate()
    else:
        c = player.certificate()
        assert c.round == old["said"]["round"] and c.bound <= old["said"]["bound"]
        # F of the schedule: below the closed form, or no more than the range and what it allows.
        then = old["said"]["envelope"] or math.inf
        assert c.envelope <= max(then, 4.0) and (name != "SE missing" or c.envelope == math.inf)
    if old["active"] is not None:
        active = player.active
        assert (active if isinstance(active, int) else list(active)) == old["active"]


def test_certified_studies_open(kept, tmp_path):
    for name in ("arms.db", "policies.db"):
        shutil.copy(kept / "certified" / name, tmp_path / name)
    with uli.Study.open(tmp_path / "arms.db") as study:
        live = study._replay.player
        assert study.certificate() == live.certificate() and len(study.history()) == 40
        assert "a missing outcome would have been" in study.certificate().assumes[-1]
        study.tell(study.ask("one more").id, 1.0)
        found = study.certificate()
    assert uli.Study.read(tmp_path / "arms.db").certificate() == found
    # Its mask leaves nothing to decide between 0 and 1: it opens, and certifies nothing.
    audit = uli.Study.audit(tmp_path / "policies.db")
    assert "nothing is certified: decision_points" in audit.certificate and audit.assumes == ()
    same = {"rewards": [[[0.0, 1.0]]], "decision_points": [[False]]}
    with uli.Study.open(tmp_path / "policies.db", uli.PolicyElimination(0.1), **same) as study:
        with pytest.raises(NoGuaranteeError, match="decision_points"):
            study.certificate()
        assert study.export(tmp_path / "all.csv") is None
