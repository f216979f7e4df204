"""What version 0.8.0 wrote opens, goes on, and says what a run of today says."""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from contextlib import nullcontext
from pathlib import Path

import pytest
from click.testing import CliRunner

import uli_fast as uli
from tests.older import own, write_0_8_0
from tests.older.write_0_8_0 import (
    ASKED,
    CHECKPOINTS,
    EVALUATED,
    OWN_ARMS,
    OWN_LEARNER,
    PLAYERS,
    RUNS,
    STUDIED,
    checkpointed,
    drive,
    facts,
    go_on,
    marked,
    race,
    said,
    simulated,
    started,
    tell_blocks,
    verdict,
)
from uli_fast._support.fingerprint import fingerprint, leans_on_package
from uli_fast.cli import main
from uli_fast.errors import ArgumentError, ResultsError, ShardsError
from uli_fast.experiments import merge, run
from uli_fast.experiments.results import Results
from uli_fast.results import parts

KEPT = Path(__file__).parent / "v0_8_0.zip"
# Streams of simulations are of another generator after 0.9: same law, other draws. The others
# get no random reward, or none that decides anything so early.
DRAWN_OTHERWISE = (
    *("se", "betting", "thompson", "lin_ucb", "spanner", "spanner_ball"),
    *("meta", "scrible", "ubev"),
)
pytestmark = [
    pytest.mark.filterwarnings("ignore::uli_fast.errors.SaturationWarning"),
    pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning"),
]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("older") / "v0_8_0"
    shutil.unpack_archive(KEPT, folder)
    return folder


def read(kept, name):
    return json.loads((kept / f"{name}.json").read_text())


# Players.


def restored(name, state):
    learner, arguments = PLAYERS["betting" if name == "blocks" else name]
    given = {"learner": learner} if name in OWN_LEARNER else {}
    if "spanner" in name:
        given["arms"] = arguments["arms"]
    return uli.restore(state, **given)


def fresh(name):
    """Return a player of today that went through the same."""
    if name == "blocks":
        player = started("betting")
        tell_blocks(player)
        return player
    return drive(started(name), name, ASKED)


def learned(state):
    """Return a state without the description of its learner, which may be put otherwise."""
    found = json.loads(json.dumps(state))
    return {key: value for key, value in found.items() if key not in ("schema", "learner")}


def check_holds(state, then):
    """A state may know more than it did, and nothing else."""
    for key, value in then.items():
        if isinstance(value, dict):
            check_holds(state[key], value)
        else:
            assert state[key] == value, key


@pytest.mark.parametrize("name", [*PLAYERS, "blocks"])
def test_a_player_is_restored_bit_for_bit_and_goes_on(kept, name):
    then = read(kept, "players")[name]
    player, again = restored(name, then["state"]), fresh(name)
    check_holds(learned(player.state()), learned(then["state"]))
    assert learned(player.state()) == learned(again.state())
    assert said(player) == said(again) == then["said"]
    assert go_on(player) == go_on(again) == then["next"]
    saved = json.loads(json.dumps(player.state()))
    assert restored(name, saved).state() == player.state()
    assert learned(player.state()) == learned(again.state())  # a constant may be spelt out


def test_every_learner_with_a_live_player_is_there():
    public = (getattr(uli, name) for name in uli.__all__)
    lively = set()
    for kind in (x for x in public if isinstance(x, type) and hasattr(x, "start")):
        try:
            kind().start(2)
        except TypeError:  # it needs a rule
            lively.add(kind)
        except (uli.errors.UliError, NotImplementedError) as problem:
            if "no live player" not in str(problem):
                lively.add(kind)
        else:
            lively.add(kind)
    younger = {uli.ModelElimination, uli.CapElimination, uli.LinUCB, uli.OwnLearner}
    assert lively - younger == {type(learner) for learner, _ in PLAYERS.values()}


# Studies.


def given(name):
    """Return what a study must be given: what could not be written down."""
    learner, arguments = PLAYERS["betting" if name == "blocks" else name]
    return {
        "learner": learner if name in OWN_LEARNER else None,
        "arms": arguments["arms"] if name in OWN_ARMS else None,
    }


@pytest.fixture
def study_file(kept, tmp_path):
    def copied(name):
        return Path(shutil.copy(kept / "studies" / f"{name}.db", tmp_path / f"{name}.db"))

    return copied


@pytest.mark.parametrize("name", [*PLAYERS, "blocks"])
def test_a_study_opens_and_goes_on(kept, study_file, name):
    path, then = study_file(name), read(kept, "studies")[name]
    before = uli.Study.audit(path, **given(name))
    with uli.Study.open(path, **given(name)) as study:
        assert study.versions["uli_fast"] == "0.8.0" == before.versions["uli_fast"]
        records = list(study.history())
        assert len(records) == len(before.history)
        assert said(study) == then["said"]
        assert go_on(study) == then["next"]
    with uli.Study.open(path, **given(name)) as study:
        assert list(study.history())[: len(records)] == records
        assert len(study.history()) == len(records) + len(then["next"])


@pytest.mark.parametrize("name", PLAYERS)
def test_a_study_is_what_one_begun_today_would_be(study_file, tmp_path, name):
    learner, arguments = PLAYERS[name]
    with (
        uli.Study.open(tmp_path / "today.db", learner, **arguments) as today,
        uli.Study.open(study_file(name), learner, **arguments) as study,  # given all of it
    ):
        drive(today, name, STUDIED)
        assert said(study) == said(today)
        assert go_on(study) == go_on(today)
        assert [r.status for r in study.history()] == [r.status for r in today.history()]


def test_blocks_and_requests_are_where_they_were(study_file):
    with uli.Study.open(study_file("blocks")) as study:
        monday, tuesday = study.blocks()
        assert monday.sums["b"] == (50, 20.0, 5) and tuesday.id == "tuesday"
        decisions = len(study.history())
        assert study.ask("patient-1").id == 2 and len(study.history()) == decisions
        study.tell_block(monday.sums, "monday")  # told again: nothing happens
        assert len(study.blocks()) == 2


# What users' own code holds of the package.


def test_the_package_may_keep_its_classes_and_modules_anywhere(kept):
    then = read(kept, "marks")
    now = marked()
    assert then.keys() <= now.keys()
    assert {name: fingerprint(now[name]) for name in then} == then
    assert len(set(then.values())) > 70


def test_another_rule_or_base_is_refused(study_file):
    for name, learner in {
        "rule": uli.EliminationFramework(own.plain_rule, own.f, delta=0.2),
        "plain_rule": uli.EliminationFramework(own.rule, own.f, delta=0.2),
        "own_base": uli.MetaElimination(own.Base(2.0), 0.9),
    }.items():
        begun = uli.Study.audit(study_file(name), PLAYERS[name][0]).versions["python"]
        refused = pytest.raises(ArgumentError, match="is not what this study was begun with")
        # A mark of code is of one Python's alone.
        with refused if begun == sys.version.split()[0] else nullcontext():
            uli.Study.open(study_file(name), learner).close()


def test_a_rule_that_leans_on_the_package_goes_by_the_names_it_uses(tmp_path, study_file):
    assert leans_on_package(own.leaning_rule)
    assert not leans_on_package(own.rule) and not leans_on_package(own.plain_rule)
    assert fingerprint(own.columns) != fingerprint(uli.designs.g_optimal)
    learner = PLAYERS["leaning_rule"][0]
    with uli.Study.open(tmp_path / "today.db", learner, 3) as study:
        study.tell(study.ask().id, 1.0)
    uli.Study.open(tmp_path / "today.db", learner).close()
    other = uli.EliminationFramework(own.plain_rule, own.f, delta=0.2)
    with pytest.raises(ArgumentError, match="its rule is not"):
        uli.Study.open(tmp_path / "today.db", other)


# Runs and races.


@pytest.mark.parametrize("name", RUNS)
def test_runs_load_and_are_what_a_run_of_today_gives(kept, name):
    runs, then = uli.Runs.load(kept / "runs" / name), read(kept, "runs")[name]
    assert facts(runs) == then
    assert runs.table() and runs.horizon == write_0_8_0.HORIZON
    again = simulated(name)
    assert (again.names, again.engine, again.problem) == (runs.names, runs.engine, runs.problem)
    if name not in DRAWN_OTHERWISE:
        assert facts(again) == then
    if runs.guarantee is not None and runs.guarantee.formula != "user":
        assert [runs.guarantee.bound(t) for t in (1, 10**6)] == [
            again.guarantee.bound(t) for t in (1, 10**6)
        ]


def test_a_race_goes_on_where_it_was_interrupted(kept, tmp_path):
    path = Path(shutil.copy(kept / "race.db", tmp_path / "race.db"))
    (whole, all_of_them), (rest, more) = race(None), race(path)
    assert 0 < more == all_of_them - EVALUATED
    assert verdict(rest) == verdict(whole) == read(kept, "race")
    assert race(path)[1] == 0


# Folders. What a version has written goes on with that version only; here we claim to be it.


@pytest.fixture
def as_then(kept, monkeypatch):
    def claim():
        about = json.loads((kept / "checkpoints" / "arms" / "about.json").read_text())
        now = parts.versions
        for name, module in list(sys.modules.items()):
            if name.startswith("uli_fast") and getattr(module, "versions", None) is now:
                monkeypatch.setattr(module, "versions", lambda: dict(about["versions"]))

    return claim


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_checkpoint_goes_on(kept, tmp_path, as_then, monkeypatch, name):
    folder = shutil.copytree(kept / "checkpoints" / name, tmp_path / "kept")
    begun = facts(uli.Runs.load(folder / "part-0-1"))
    monkeypatch.setattr(uli, "__version__", "10.0")
    with pytest.raises(ResultsError, match=r"uli_fast was 0\.8\.0"):
        checkpointed(name, folder, 3)
    as_then()
    found = checkpointed(name, folder, 3)
    assert facts(found.first(1)) == begun
    assert later(facts(found)) == later(facts(checkpointed(name, tmp_path / "today", 3)))
    assert facts(found) == facts(checkpointed(name, folder, 3))


def later(found):
    """Return the facts of all replications but the first."""
    return {name: None if rows is None else rows[1:] for name, rows in found.items()}


def first(found):
    """Return the facts of the first replication."""
    return {name: None if rows is None else rows[:1] for name, rows in found.items()}


def check_same(results, others, part=lambda found: found):
    for problem, comparison in results.comparisons.items():
        assert len(comparison.runs) == 2
        for learner, runs in comparison.runs.items():
            assert part(facts(runs)) == part(facts(others.comparisons[problem][learner]))


def test_a_folder_of_results_is_reported_and_goes_on(kept, tmp_path, as_then):
    folder = shutil.copytree(kept / "experiment", tmp_path / "experiment")
    assert Results.load(folder).replications == 1
    page = tmp_path / "page.html"
    shown = CliRunner().invoke(main, ["report", str(folder), "--out", str(page)])
    assert shown.exit_code == 0, shown.output
    assert "SuccessiveElimination" in page.read_text()
    as_then()
    grown = run(kept / "experiment.toml", folder, resume=True, replications=2, progress=False)
    assert grown.complete
    check_same(grown, Results.load(kept / "merged"), first)
    today = run(kept / "experiment.toml", tmp_path / "new", replications=2, progress=False)
    check_same(grown, today, later)


def test_shards_are_merged(kept, tmp_path, as_then, monkeypatch):
    shards = [kept / "shard-1", kept / "shard-2"]
    monkeypatch.setattr(uli, "__version__", "10.0")
    with pytest.raises(ShardsError, match=r"made by uli_fast 0\.8\.0"):
        merge(shards, tmp_path / "merged")
    as_then()
    check_same(merge(shards, tmp_path / "merged"), Results.load(kept / "merged"))


def test_nothing_that_is_kept_warns_when_it_is_read(kept, study_file):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in RUNS:
            uli.Runs.load(kept / "runs" / name)
        uli.Study.read(study_file("se"))
