"""The time of playing: what it leaves out, and how runs keep it."""

import math
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from numba import njit
from numba.core import event
from rich.console import Console

import uli_fast as uli
from uli_fast._support import clock

COMPILING = 1000.0  # seconds that a compilation takes on the clock of these tests


class SlowCompiler(event.Listener):
    """Lets time jump whenever the compiler begins."""

    def __init__(self):
        self.offset = 0.0

    def on_start(self, event):
        self.offset += COMPILING

    def on_end(self, event):
        pass


@pytest.fixture
def slow_compiler(monkeypatch):
    clock.now()  # it listens first, and so sees the jump begin
    listener, real = SlowCompiler(), time.perf_counter
    event.register("numba:compiler_lock", listener)
    monkeypatch.setattr(time, "perf_counter", lambda: real() + listener.offset)
    yield listener
    event.unregister("numba:compiler_lock", listener)


def fresh_learner():
    """A learner that has to be compiled, whatever was before: its rule is new."""

    @njit
    def keep_all(n, total, active, t):
        return active

    return uli.EliminationFramework(keep_all, lambda delta, t: 1.0)


def test_the_clock_of_a_thread_stands_still_while_it_compiles(slow_compiler):
    begun = clock.now()

    @njit
    def twice(x):
        return 2 * x

    assert twice(2) == 4
    assert slow_compiler.offset >= COMPILING
    assert clock.now() - begun < COMPILING / 2.0


def test_what_one_thread_compiles_counts_for_no_other(monkeypatch):
    clock.now()
    seconds = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: seconds[0])
    elsewhere = []

    def compile_elsewhere():
        begun = clock.now()
        for step in (event.start_event, event.start_event, event.end_event, event.end_event):
            step("numba:compiler_lock")
            seconds[0] += 1.0
        elsewhere.append(clock.now() - begun)

    begun = clock.now()
    thread = threading.Thread(target=compile_elsewhere)
    thread.start()
    thread.join()
    assert clock.now() - begun == 4.0
    assert elsewhere == [1.0]  # after the outer end; the three steps before it are compiling


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_speed_of_a_simulation_is_without_compiling(slow_compiler, n_jobs):
    problem = uli.BernoulliBandit([0.5, 0.4])
    found = uli.simulate(fresh_learner(), problem, 1000, 4, seed=1, n_jobs=n_jobs)
    assert slow_compiler.offset >= COMPILING and found.elapsed > COMPILING
    assert found.seconds.shape == (4,) and (found.seconds > 0.0).all()
    assert found.seconds.sum() < COMPILING / 2.0
    assert found.speed == 4 * 1000 / found.seconds.sum()


def test_the_speed_of_live_play_is_without_compiling(slow_compiler):
    found = uli.play(fresh_learner(), lambda arm: 1.0, 100, 2)
    assert slow_compiler.offset >= COMPILING and found.elapsed > COMPILING
    assert found.speed == 100 / found.seconds[0] > 100 / COMPILING


@pytest.mark.parametrize(
    ("learner", "problem"),
    [
        (uli.MetaElimination(), uli.BernoulliBandit([0.5, 0.4])),  # in lanes
        (uli.SpannerElimination(R=1.0), uli.LinearBandit([0.5, 0.2], arm_set=uli.arm_sets.Ball(2))),
        (uli.UCBVI(0.1), uli.mdps.river_swim(2, 2)),
    ],
    ids=["lanes", "set", "mdp"],
)
def test_every_replication_has_its_seconds(learner, problem):
    found = uli.simulate(learner, problem, 100, 3, seed=1)
    assert found.seconds.shape == (3,) and (found.seconds > 0.0).all()


def test_the_speed_of_some_runs_is_that_of_those():
    whole = uli.simulate(uli.UCB(), uli.BernoulliBandit([0.5, 0.4]), 1000, 6, seed=1)
    whole.seconds[:] = [1.0, 1.0, 1.0, 1.0, 1.0, 5.0]
    assert whole.first(4).speed == 1000.0 and whole.speed == 600.0
    parts = [whole.first(2), replace(whole.first(4), elapsed=9.0)]
    joined = uli.Runs.joined(parts)
    assert joined.seconds.tolist() == [1.0] * 6 and joined.speed == 1000.0
    assert whole.first(4).digest() == replace(whole.first(4), seconds=np.zeros(4)).digest()


def test_runs_without_seconds_say_that_their_speed_is_not_known(tmp_path):
    before = uli.simulate(uli.UCB(), uli.BernoulliBandit([0.5, 0.4]), 1000, 2, seed=1)
    replace(before, seconds=None).save(tmp_path / "runs")
    found = uli.Runs.load(tmp_path / "runs")
    assert found.digest() == before.digest()
    assert found.seconds is None and math.isnan(found.speed)
    assert uli.Runs.joined([found, before]).seconds is None
    assert shown(found).splitlines()[4].split()[-1] == "?"


def test_tables_say_what_the_speed_is():
    found = uli.simulate(uli.UCB(), uli.BernoulliBandit([0.5, 0.4]), 1000, 2, seed=1)
    assert "rounds/s: of one thread while it plays, without compiling and loading" in " ".join(
        shown(found).split()
    )
    assert uli.Runs.joined([found]).speed == found.speed


def test_a_page_says_what_the_speed_is(tmp_path):
    found = uli.simulate(uli.UCB(), uli.BernoulliBandit([0.5, 0.4]), 1000, 2, seed=1)
    found.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Rounds/s: of one thread while it plays, without compiling and loading kernels." in page
    assert "s playing (added up over threads)" in page and ", of which " in page
    replace(found, seconds=None).report(tmp_path / "without.html")
    assert "\u2013: not measured." in (tmp_path / "without.html").read_text()


def shown(found):
    console = Console(width=100, file=None, record=True)
    with console.capture() as captured:
        console.print(found.table())
    return captured.get()
