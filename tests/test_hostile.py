"""Hostile and odd files: typed errors, at once, in little memory (see tests/support/hostile)."""

import hashlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import uli_fast as uli
from tests.support.hostile import campaign, case, states
from tests.support.hostile import files as odd_files
from tests.support.hostile import runs as altered_runs
from tests.support.patience import PATIENCE
from tests.support.signing import signed
from uli_fast import experiments
from uli_fast._support import files
from uli_fast.errors import (
    ArgumentError,
    ConfigError,
    HorizonTooLargeError,
    ResultsError,
    RewardRangeError,
    RunsFileError,
    StateError,
)
from uli_fast.experiments import ExperimentFile, Results

PACKAGE = Path(uli.__file__).parent


def test_hostile_files_and_states_are_typed_errors_in_two_gigabytes():
    done = campaign.run(quick=True, seconds=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert re.search(r"\d{3} odd files and calls, [3-9]\d\d altered states: 0 wrong", done.stdout)


def test_the_campaign_notices_what_is_accepted_hangs_or_is_of_another_kind(monkeypatch):
    folder = case.Case("x", lambda folder: lambda: None)
    assert "accepted" in case.outcome(folder)[1]
    wrong = case.Case("x", lambda folder: lambda: {}["missing"])
    assert "KeyError" in case.outcome(wrong)[1]
    monkeypatch.setattr(case, "HANGS", 1)
    before = signal.signal(signal.SIGALRM, case.interrupted)
    try:
        assert "Hanging" in case.outcome(case.Case("x", lambda _: lambda: time.sleep(60)))[1]
    finally:
        signal.signal(signal.SIGALRM, before)


# One reader for all files.


def test_a_regular_file_is_read_up_to_its_cap_and_through_links(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    assert files.read_regular(tmp_path / "link", 5) == b"12345"
    with pytest.raises(OSError, match="5 bytes, and the limit here is 4"):
        files.read_regular(file, 4)


@pytest.mark.parametrize("what", ["a pipe", "a link to a device", "a folder", "a socket"])
def test_what_is_no_regular_file_is_never_opened(tmp_path, what):
    odd_files.ODD[what](tmp_path / "x")
    with pytest.raises(OSError, match="it is"):
        files.read_regular(tmp_path / "x", 100)


def test_a_file_that_becomes_a_pipe_once_it_was_looked_at_is_refused(tmp_path, monkeypatch):
    file, looked = tmp_path / "x", os.stat
    file.write_bytes(b"1")
    known = looked(file)
    odd_files.pipe(file)
    monkeypatch.setattr(files.os, "stat", lambda path: known)
    with pytest.raises(OSError, match="not a regular file"):
        files.read_regular(file, 100)


def test_nothing_else_in_the_package_reads_files_of_users():
    reads = re.compile(
        r"\.read_text\(|\.read_bytes\(|np\.load\(|np\.fromfile\(|(?<![\w.])(?<!def )open\("
    )
    # Files of the package itself.
    own = {"kernels/_jit.py", "problems/datasets.py", "report/watch/page.py"}
    other = {
        "_support/files.py",
        "study/copies.py",
        "study/wal_check.py",
    }  # and what belongs to a study
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.relative_to(PACKAGE).as_posix() not in own | other:
            found = reads.search(path.read_text(encoding="utf-8"))
            assert not found, (path, found)


# Folders of results.


@pytest.fixture
def results(tmp_path):
    return odd_files.results(tmp_path)


def test_a_part_that_claims_more_than_there_can_be_is_refused(results):
    cell = next((results / "cells").iterdir())
    (cell / "part-3-1000000000000").mkdir()
    with pytest.raises(ResultsError, match="part-3-1000000000000"):
        Results.load(results)
    with pytest.raises(ResultsError, match="part-3-1000000000000"):
        experiments.run(ExperimentFile.parse(odd_files.STUDY), results, resume=True, progress=False)


def test_parts_beyond_what_is_wanted_cost_nothing(results):
    manifest = altered_runs.read(results)
    cell = next((results / "cells").iterdir())
    (cell / "part-3-900000000").mkdir()
    altered_runs.write(results, manifest)
    loaded = Results.load(results)
    assert loaded.numbers == {"two": {"SE": [0, 1]}}


def test_a_cell_may_not_be_named_twice(results):
    manifest = altered_runs.read(results)
    altered_runs.write(results, manifest | {"cells": manifest["cells"] * 2})
    with pytest.raises(RunsFileError, match="twice"):
        Results.load(results)


def test_parts_of_different_runs_are_not_joined(results):
    cell = next((results / "cells").iterdir())
    part = sorted(cell.glob("part-*"))[-1]
    manifest = altered_runs.read(part)
    altered_runs.sign(part, manifest | {"names": ["0", "x"]})
    with pytest.raises(RunsFileError, match="different runs"):
        Results.load(results)


# Study files.


def test_a_sweep_beyond_what_could_be_run_is_refused_before_anything_is_made():
    text = odd_files.STUDY + f"sweep = {{ R = {list(range(1, 300))}, x = {list(range(300))} }}"
    with pytest.raises(ConfigError, match=r"learners\.SE\.sweep: has more than"):
        ExperimentFile.parse(text)


def test_values_of_a_sweep_are_distinct_whatever_they_are():
    sweep = "sweep = {{ means = [[0.5, 0.4], [0.5, {}]] }}"
    text = odd_files.STUDY.replace("means = [0.6, 0.4]", sweep)
    with pytest.raises(ConfigError, match="twice"):
        ExperimentFile.parse(text.replace("{}", "0.4").replace("{{", "{").replace("}}", "}"))
    study = ExperimentFile.parse(text.replace("{}", "0.3").replace("{{", "{").replace("}}", "}"))
    assert len(study.cells) == 2


@pytest.mark.parametrize("key", ["a" * 10**5, "x.y." * 20 + "z", '"' + "." * 1000 + '"'])
def test_long_names_and_short_dotted_keys_are_only_unknown(key):
    with pytest.raises(ConfigError, match="is not a key"):
        ExperimentFile.parse(f"{key} = 1\n{odd_files.STUDY}")


def test_numbers_of_thousands_of_digits_are_named():
    with pytest.raises(ConfigError, match="digits"):
        ExperimentFile.parse(odd_files.STUDY.replace("100", "1" * 5000, 1))
    problem = uli.BernoulliBandit([0.6, 0.4])
    with pytest.raises(HorizonTooLargeError, match=r"about 10\*\*"):
        uli.simulate(uli.UCB(0.1), problem, 10**5000, seed=1)
    with pytest.raises(ArgumentError, match="thousands of digits"):
        uli.simulate(uli.UCB(0.1), problem, 10, seed=-(10**5000))
    with pytest.raises(ArgumentError, match="delta"):
        uli.UCB(10**5000)


# Runs.


@pytest.mark.parametrize("kind", ["arms", "sets", "policies"])
def test_genuine_runs_of_every_kind_load(tmp_path, kind):
    folder = altered_runs.saved_runs(tmp_path, kind)
    loaded = uli.Runs.load(folder)
    altered_runs.altered(folder, "learner", lambda x: x)  # signed as it was
    assert uli.Runs.load(folder).digest() == loaded.digest()


def test_arrays_come_back_in_either_order_of_memory(tmp_path):
    folder = altered_runs.saved_runs(tmp_path)
    before = uli.Runs.load(folder)
    manifest, path = altered_runs.read(folder), folder / "plays.npy"
    np.save(path, np.asfortranarray(before.plays))
    manifest["arrays"]["plays"]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    altered_runs.sign(folder, manifest)
    assert (uli.Runs.load(folder).plays == before.plays).all()


@pytest.mark.parametrize(
    "case", altered_runs.ALTERED, ids=lambda x: "-".join(map(str, x[:3])).replace(" ", "_")
)
def test_runs_that_nobody_can_have_come_to_are_refused_however_signed(tmp_path, case):
    kind, name, _, change = case
    folder = altered_runs.saved_runs(tmp_path, kind)
    altered_runs.altered(folder, name, change)
    with pytest.raises(RunsFileError):
        uli.Runs.load(folder)


# States.


def test_a_state_that_overlapped_cannot_claim_that_it_did_not():
    player = uli.Exp3P(delta=0.1).start(3, seed=2, horizon=100)
    decisions = [player.ask() for _ in range(20)]
    for decision in decisions:
        player.tell(decision.id, float(decision.id % 3 == 0))
    state = json.loads(json.dumps(player.state()))
    assert uli.restore(state).state() == state
    phase = json.loads(json.dumps(state))
    phase["arms"]["clock"][1] = 2
    with pytest.raises(StateError, match="contradicts"):
        uli.restore(signed(phase))
    state["memory"]["overlapped"] = [0]
    with pytest.raises(StateError, match="contradicts"):
        uli.restore(signed(state))


def test_totals_and_masks_of_states_must_be_those_of_their_rewards():
    state = json.loads(json.dumps(states.told("SuccessiveElimination").state()))
    for name, value in (("total", math.nan), ("total", 1.0), ("active", False), ("n", 3)):
        wrong = json.loads(json.dumps(state))
        wrong["arms"][name][0] = value
        with pytest.raises(StateError):
            uli.restore(signed(wrong))


def test_a_rule_that_is_not_the_same_twice_does_not_shut_its_states_out():
    import random

    rng = random.Random(0)
    learner = uli.EliminationFramework(
        lambda n, s, a, t: a & ((n < 5) | (rng.random() < 0.99) | (s == s.max())),
        lambda d, t: 1.0,
        delta=0.2,
    )
    player = learner.start(3)
    for i in range(200):
        player.tell(player.ask().id, float(i % 3 == 0))
    assert len(player.active) < 3
    assert uli.restore(player.state(), learner=learner).state() == player.state()


# Rewards, tables, exports.


@pytest.mark.parametrize(
    "value",
    [bytearray(b"0.5"), memoryview(b"0.5"), b"0.5", "0.5", np.array("0.5")],
    ids=lambda x: type(x).__name__,
)
def test_what_python_would_read_as_text_is_no_reward(value):
    player = uli.UCB(0.1).start(2)
    with pytest.raises(RewardRangeError, match="must be a number"):
        player.tell(player.ask().id, value)


def test_a_river_too_long_for_memory_names_its_size():
    with pytest.raises(ArgumentError, match=r"20000 states .* 8e\+08 probabilities, 6.4 GB"):
        uli.mdps.river_swim(20_000, 1)


BLANKS = ("", " ", "   ", "\t", "\n", "\r", "\x0b", "\xa0", "\u3000", "\u200b", "\ufeff", "\x00 ")


@pytest.mark.parametrize("blank", BLANKS, ids=repr)
def test_no_cell_of_an_export_begins_with_a_formula_behind_white_space(blank):
    from uli_fast.report.data import _cell
    from uli_fast.study.history import DecisionRecord, History, _csv

    for sign in ("=", "+", "-", "@", "\uff1d"):
        text = f"{blank}{sign}HYPERLINK(1)"
        record = DecisionRecord(1, text, 1.0, text, {}, "2026-01-01", "pending")
        written = _csv(History([record])).decode()
        assert f"'{text}" in written and written.count(f"'{text}") == written.count("HYPERLINK")
        assert _cell(text) == f"'{text}"
    assert _cell(f"{blank}a=1") in (f"{blank}a=1", f"'{blank}a=1")
    assert _cell("a = 1") == "a = 1"


def test_a_saved_agent_is_read_as_any_other_file(tmp_path):
    from uli_fast.compat._rlberry_agent import LearningAgent

    class Nobody(LearningAgent):
        learner_type = uli.UCB

        def fit(self, budget, **kwargs):
            """Learn nothing."""

        def eval(self, **kwargs):
            """Know nothing."""
            return 0.0

        def _saved(self):
            return None

        def _load(self, saved):
            pass

    odd_files.pipe(tmp_path / "agent.json")
    with pytest.raises(RunsFileError, match="not a regular file"):
        Nobody.load(tmp_path / "agent", env=None)


def test_a_live_study_is_not_begun_in_a_pipe(tmp_path):
    odd_files.pipe(tmp_path / "x.study")
    code = (
        "import sys, uli_fast as uli\n"
        "try: uli.Study.open(sys.argv[1], uli.UCB(0.1), 2)\n"
        "except uli.errors.ArgumentError as e: print(e)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "x.study")],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert "regular file" in done.stdout
