"""The runner: groups of replications, threads, chunks; none of them shows in a path."""

import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

import uli_fast as uli
from tests.naive import successive_elimination, ucb
from tests.support.coupling import assert_equals_naive, totals
from uli_fast._support import progress
from uli_fast._support.progress import Progress
from uli_fast._support.streams import stream_words
from uli_fast.errors import RewardsExhaustedError
from uli_fast.simulation import checkpoints, runner
from uli_fast.simulation.outcomes import ArmOutcome, RunPlan

COINS = uli.BernoulliBandit([0.7, 0.5, 0.45])
NORMALS = uli.GaussianBandit([0.7, 0.5, 0.45], sigma=0.3)
LINEAR = uli.LinearBandit([0.6, 0.3], [[1, 0], [0, 1], [0.6, 0.6]], noise="bernoulli")
CASES = {
    "SE, blocks": (uli.SuccessiveElimination(0.1, R=0.2), COINS, "skip"),
    "SE, blocks of normals": (uli.SuccessiveElimination(0.1, R=0.2), NORMALS, "skip"),
    "SE, rounds": (uli.SuccessiveElimination(0.1, R=0.2), COINS, "rounds"),
    "PE, rounds": (uli.PhasedElimination(0.1, R=0.1), COINS, "rounds"),
    "betting, blocks": (uli.BettingElimination(0.1), COINS, "skip"),
    "betting, rounds": (uli.BettingElimination(0.1), COINS, "rounds"),
    "UCB, lines": (uli.UCB(0.1), COINS, "skip"),
    "UCB, blocks": (uli.UCB(0.1, R=0.3), NORMALS, "skip"),
    "UCB, rounds": (uli.UCB(0.1), COINS, "rounds"),
    "KL-UCB, lines": (uli.KLUCB(), COINS, "skip"),
    "Thompson sampling": (uli.ThompsonSampling(), COINS, "rounds"),
    "Exp3.P in lanes": (uli.Exp3P(), COINS, "rounds"),
    "Exp3.P one by one": (uli.Exp3P(), uli.BetaBandit([2, 1, 1], [1, 1, 2]), "rounds"),
    "phases in lanes": (uli.MetaElimination(uli.Exp3P(constant=1e-3), 0.1), COINS, "rounds"),
    "vectors": (uli.LinUCB(0.1), LINEAR, "rounds"),
}
pytestmark = pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
M, T = 20, 2000


def run(name, **changes):
    learner, problem, engine = CASES[name]
    arguments = {"horizon": T, "replications": M, "seed": 8, "engine": engine} | changes
    return uli.simulate(learner, problem, **arguments)


def facts(runs, rows=slice(None)):
    """Return everything that a path decides, replication by replication."""
    names = ("recorded_regret", "final_plays", "last_play", "eliminated_at", "event_held")
    found = {name: getattr(runs, name) for name in (*names, "tv_spent", "plays")}
    return {name: x[rows].tolist() for name, x in found.items() if x is not None}


def in_groups(monkeypatch, largest):
    monkeypatch.setattr(runner, "LARGEST_GROUP", largest)


def in_chunks(monkeypatch, steps):
    """Let every chunk have so many steps, on three arms."""
    monkeypatch.setattr(ArmOutcome, "FIRST_STEPS", 3 * steps)
    monkeypatch.setattr(progress, "SHORT_CHUNK", -1.0)
    monkeypatch.setattr(progress, "LONG_CHUNK", np.inf)


@pytest.mark.parametrize("name", CASES)
def test_groups_threads_and_chunks_do_not_show(name, monkeypatch):
    whole = facts(run(name))
    with monkeypatch.context() as patch:
        in_chunks(patch, 700)  # the end of a chunk is within a replication, seldom at its end
        assert facts(run(name)) == whole
        in_groups(patch, 3)
        in_chunks(patch, 97)
        assert facts(run(name, n_jobs=2)) == whole
    assert facts(run(name, n_jobs=3)) == whole


@pytest.mark.parametrize("name", CASES)
def test_a_replication_alone_is_what_it_is_in_company(name):
    whole = run(name)
    for r in (0, 7, M - 1):
        alone = run(name, replications=1, first_replication=r)
        assert facts(alone) == facts(whole, slice(r, r + 1))


@pytest.mark.parametrize("name", CASES)
def test_counts_that_are_not_kept_change_nothing(name, monkeypatch):
    kept, rounds = run(name), [5, 40, T // 2]  # the horizon is not among them
    in_groups(monkeypatch, 7)
    for asked in (None, rounds):
        one, two = (run(name, rounds=asked, keep_plays=keep) for keep in (True, False))
        assert two.plays is None
        without = facts(one)
        plays = np.array(without.pop("plays"))
        assert facts(two) == without
        assert plays.shape == (M, one.rounds.size, 3)
        assert (plays.sum(axis=2) == one.rounds).all()
        assert (one.final_plays == kept.final_plays).all()
        assert one.regret == pytest.approx(plays @ one.gaps, rel=1e-12)


def test_streams_far_away_are_found_at_once():
    far = 10**15
    two = run("UCB, lines", replications=2, first_replication=far)
    second = run("UCB, lines", replications=1, first_replication=far + 1)
    assert facts(second) == facts(two, slice(1, 2))


@pytest.mark.parametrize("r", [0, 3, M - 1])
def test_each_replication_of_a_group_draws_from_its_own_stream(r):
    """Against slow twins on the draws of that replication."""
    for name, twin in (("SE, rounds", successive_elimination), ("UCB, rounds", ucb)):
        learner, problem, _ = CASES[name]
        total = totals(problem, 8, 4 + r)
        expected = twin.play(total, 3, T, learner.delta, *([learner.R] if learner.R else []))
        assert_equals_naive(run(name, first_replication=4), expected, r)


def test_a_part_that_is_resumed_goes_on_where_it_was(tmp_path, monkeypatch):
    """Whatever the parts, the groups and the threads were before and after."""
    whole = facts(run("SE, blocks"))
    monkeypatch.setattr(checkpoints, "PART_SECONDS", 0.0)  # one replication each

    def stop(fraction):
        if fraction > 0.4:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        in_groups(patch, 1)
        with pytest.raises(KeyboardInterrupt):
            run("SE, blocks", checkpoint=tmp_path / "kept", progress=stop)
    kept = len(list((tmp_path / "kept").glob("part-*")))
    assert 0 < kept < M
    monkeypatch.setattr(checkpoints, "PART_SECONDS", 1e9)
    in_groups(monkeypatch, 3)
    again = run("SE, blocks", checkpoint=tmp_path / "kept", n_jobs=2)
    assert facts(again) == whole
    assert len(list((tmp_path / "kept").glob("part-*"))) < M


def test_one_replication_that_exhausts_the_table_is_enough():
    """The others of its group have rewards left."""
    table = (np.random.default_rng(1).random((2, 400)) < 0.5).astype(float)
    problem = uli.TableBandit(table, means=[0.5, 0.5])
    learner, T = uli.ThompsonSampling(), 600

    def runs_out(r, replications=1):
        try:
            uli.simulate(learner, problem, T, replications, seed=2, first_replication=r)
        except RewardsExhaustedError:
            return True
        return False

    short = [runs_out(r) for r in range(12)]
    assert 0 < sum(short) < 12
    for r in range(11):
        assert runs_out(r, 2) == (short[r] or short[r + 1])


@pytest.mark.parametrize("largest", [1, 3, 256])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_rises_to_one(monkeypatch, largest, n_jobs):
    in_groups(monkeypatch, largest)
    in_chunks(monkeypatch, 500)
    seen = []
    run("SE, rounds", n_jobs=n_jobs, progress=seen.append)
    assert seen == sorted(seen)
    assert 0.0 < seen[0] < 0.2 and seen[-1] == 1.0
    assert sum(x == 1.0 for x in seen) == 1
    assert len(set(seen)) >= M  # also within a group


@pytest.mark.parametrize("replications", [1, 2, 7, 255, 256, 257, 10_000])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_groups_are_all_replications_in_order(replications, threads):
    groups = runner.cut(replications, threads, 10**6)
    assert [r for group in groups for r in group] == list(range(replications))
    assert all(0 < len(group) <= runner.LARGEST_GROUP for group in groups)
    assert len(groups) >= min(threads, replications)
    assert runner.cut(replications, threads, 1) == [range(r, r + 1) for r in range(replications)]


class Counting:
    """An outcome whose replications count their steps; some break."""

    horizon, first_budget = 10, 3

    def __init__(self, largest=10**6, broken=()):
        self.largest_group, self.broken = largest, broken
        self.begun, self.kept, self.checked, self.threads = [], {}, 0, set()

    def begin(self, group, words):
        self.begun.append(group)
        self.threads.add(threading.get_ident())
        return Steps(group, words, self)

    def check(self, group, batch):
        self.checked += 1

    def keep(self, group, batch, seconds):
        assert group not in self.kept and seconds >= 0.0
        self.kept[group] = batch.words.copy()


class Steps:
    """A batch of replications that take ten steps each, one after the other."""

    def __init__(self, group, words, outcome):
        self.group, self.words, self.outcome = group, words, outcome
        self.played = np.zeros(len(group), np.int64)

    def advance(self, budget):
        for i, r in enumerate(self.group):
            step = min(budget, 10 - self.played[i])
            self.played[i] += step
            budget -= step
            if r in self.outcome.broken and self.played[i] == 10:
                raise self.outcome.broken[r]
        return bool((self.played == 10).all())


@pytest.mark.parametrize("largest", [10**6, 1])
@pytest.mark.parametrize("threads", [1, 2])
def test_every_replication_is_kept_once_with_its_stream(threads, largest, monkeypatch):
    in_groups(monkeypatch, 4)
    outcome = Counting(largest)
    runner.play_all(outcome, 23, (5, 100), threads, Progress(23, None))
    assert sorted(outcome.begun, key=lambda group: group.start) == sorted(
        outcome.kept, key=lambda group: group.start
    )
    words = np.concatenate([outcome.kept[g] for g in sorted(outcome.kept, key=lambda g: g.start)])
    assert (words == stream_words(5, 100, 23)).all()
    assert len(outcome.threads) <= threads
    assert {len(g) for g in outcome.kept} <= ({1} if largest == 1 else {1, 2, 3, 4})


@pytest.mark.parametrize("error", [ValueError("ours"), KeyboardInterrupt()], ids=["error", "^C"])
@pytest.mark.parametrize("threads", [1, 2])
def test_what_stops_a_group_stops_the_others(threads, error, monkeypatch):
    in_groups(monkeypatch, 1)
    outcome = Counting(broken={2: error})
    with pytest.raises(type(error)):
        runner.play_all(outcome, 5000, (5, 0), threads, Progress(5000, None))
    assert range(2, 3) not in outcome.kept
    assert len(outcome.begun) < 5000


def test_a_chunk_is_checked_before_the_next():
    outcome = Counting()
    runner.play_all(outcome, 1, (5, 0), 1, Progress(1, None))
    assert outcome.checked == 3  # budgets 3 and 6, then the rest


def test_groups_go_on_with_the_budget_that_was_found(monkeypatch):
    in_groups(monkeypatch, 1)
    outcome = Counting()
    runner.play_all(outcome, 2, (5, 0), 1, Progress(2, None))
    assert outcome.checked == 4  # the second is done in one chunk


def test_a_group_is_not_done_before_its_last_replication():
    assert runner.fraction(np.array([10, 10, 0, 5]), 10) == 0.625
    assert runner.fraction(np.array([12, 10]), 10) < 1.0  # some play beyond the horizon


def test_groups_are_small_where_arms_and_recorded_rounds_are_many():
    rounds, arms = np.arange(1, 101), uli.BernoulliBandit(np.full(1000, 0.5))
    plan = RunPlan(uli.UCB().on(arms), 10**4, "rounds", 256, rounds, 1)
    few = ArmOutcome(replace(plan, on=uli.UCB().on(uli.BernoulliBandit([0.5, 0.4]))), False)
    assert few.largest_group >= runner.LARGEST_GROUP
    many = ArmOutcome(plan, False)
    assert 8 * 1000 * rounds.size * many.largest_group <= ArmOutcome.LARGEST_ROOM


@pytest.mark.parametrize("engine", ["skip", "rounds"])
def test_paths_do_not_depend_on_whether_the_event_has_failed(engine, monkeypatch):
    """Whether it held inside a block is drawn from a second stream, which must not move a path."""
    from uli_fast.learners import successive_elimination as learners

    def played():
        learner, arms = uli.SuccessiveElimination(0.5), uli.BernoulliBandit([0.5, 0.5, 0.4, 0.45])
        return uli.simulate(learner, arms, 20_000, 50, seed=3, engine=engine)

    def failed(law):
        states = new_states(law)
        states.broken[:] = True
        return states

    usual, new_states = played(), learners.new_states
    monkeypatch.setattr(learners, "new_states", failed)
    monkeypatch.setattr(uli.SuccessiveElimination, "knows_event", lambda *about: False)
    again = played()
    assert usual.event_held.any()
    assert (usual.plays == again.plays).all() and (usual.last_play == again.last_play).all()
    assert (usual.eliminated_at == again.eliminated_at).all()


@pytest.mark.parametrize("at", range(20))
def test_groups_that_are_kept_at_once_lose_nothing(at):
    """One group is kept whole while another one is in the middle of it, at every line."""
    learner, words = uli.LinearElimination(0.1), stream_words(1, 0, 4)
    plan = RunPlan(learner.on(LINEAR), 100, "skip", 4, np.array([100]), 1)
    outcome, groups = ArmOutcome(plan, keep_plays=False), (range(2), range(2, 4))
    first, second = (outcome.begin(group, words[group.start : group.stop]) for group in groups)
    for batch, rounds in ((first, [3, 0]), (second, [5, 101])):  # 101: after the horizon
        while not batch.advance(1000):
            pass
        batch.withdrawn = np.array(rounds)
    lines = 0

    def interrupt(frame, event, _):
        nonlocal lines
        if frame.f_code is not ArmOutcome.keep.__code__:
            return None
        if event == "line":
            lines += 1
            if lines == at + 1:
                sys.settrace(None)
                outcome.keep(groups[1], second, 0.0)
                return None
        return interrupt

    before = sys.gettrace()
    sys.settrace(interrupt)
    try:
        outcome.keep(groups[0], first, 0.0)
    finally:
        sys.settrace(before)
    if lines <= at:
        outcome.keep(groups[1], second, 0.0)
    assert outcome.runs(None).withdrawn.tolist() == [3, 0, 5, 0]
    assert (outcome.final_plays.sum(axis=1) == 100).all()
