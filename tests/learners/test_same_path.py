"""A path depends on learner, problem, seed and replication number alone."""

import numpy as np
import pytest

import uli_fast as uli
from tests.coupling import assert_same_runs
from uli_fast import _progress

LEARNERS = [
    uli.BettingElimination(0.1, R=0.5),
    uli.SuccessiveElimination(0.1, R=0.5),
    uli.PhasedElimination(0.1, R=0.5),
    uli.UCB(0.1, R=0.5),
    uli.LilUCB(0.1, R=0.5),
]
PROBLEMS = [
    uli.BernoulliBandit([0.6, 0.5, 0.45]),
    uli.GaussianBandit([0.3, 0.0, -0.2], sigma=0.5),
]
CASES = [(le, p, e) for le in LEARNERS for p in PROBLEMS for e in ("skip", "rounds")]
META = uli.MetaElimination(uli.Exp3P(constant=0.02), 0.1)
PLANE = uli.LinearBandit([0.5, 0.2], [[1, 0], [0, 1], [0.6, 0.5]], noise="uniform", sigma=0.1)
CASES += [(META, p, "rounds") for p in (*PROBLEMS, PLANE)]
CASES += [
    (uli.MetaElimination(base, 0.1), PLANE, "rounds")
    for base in (uli.GeometricHedge(constant=0.02), uli.Scrible(constant=0.0005))
]
# Small constants are what makes arms fall within so few rounds.
pytestmark = pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")


@pytest.mark.parametrize(("learner", "problem", "engine"), CASES, ids=str)
class TestSamePath:
    T = 30_000

    def run(self, learner, problem, engine, **changes):
        arguments = {"horizon": self.T, "replications": 4, "seed": 3, "engine": engine} | changes
        return uli.simulate(learner, problem, **arguments)

    def test_number_of_replications(self, learner, problem, engine):
        few = self.run(learner, problem, engine)
        many = self.run(learner, problem, engine, replications=9)
        assert (few.plays == many.plays[:4]).all()
        assert (few.last_play == many.last_play[:4]).all()
        assert (few.eliminated_at == many.eliminated_at[:4]).all()

    def test_recorded_rounds(self, learner, problem, engine):
        one = self.run(learner, problem, engine)
        two = self.run(learner, problem, engine, rounds=[1, 17, 1000, 20_001])
        three = self.run(learner, problem, engine, rounds=[1, 17, 1000, 20_001, self.T])
        assert (one.final_plays == two.final_plays).all()
        assert (one.last_play == two.last_play).all()
        assert (one.eliminated_at == two.eliminated_at).all()
        assert (two.plays == three.plays[:, :4]).all()

    def test_threads(self, learner, problem, engine):
        assert_same_runs(
            self.run(learner, problem, engine), self.run(learner, problem, engine, n_jobs=2)
        )

    def test_longer_horizon(self, learner, problem, engine):
        rounds = [1, 2, 3, 50, 999, 5000, 12_345, self.T]
        short = self.run(learner, problem, engine, rounds=rounds)
        long = self.run(learner, problem, engine, rounds=rounds, horizon=3 * self.T)
        assert (short.plays == long.plays).all()
        for name in ("last_play", "eliminated_at"):
            a, b = getattr(short, name), getattr(long, name)
            assert (a[b <= self.T] == b[b <= self.T]).all(), name

    def test_chunks(self, learner, problem, engine, monkeypatch):
        whole = self.run(learner, problem, engine, replications=1)
        monkeypatch.setattr(_progress, "SHORT_CHUNK", -1.0)
        monkeypatch.setattr(_progress, "LONG_CHUNK", -1.0)  # every chunk halves the budget
        monkeypatch.setattr(uli_simulate(), "FIRST_BUDGET", 1 << 9)
        assert_same_runs(whole, self.run(learner, problem, engine, replications=1, horizon=self.T))


def uli_simulate():
    import sys

    import uli_fast.simulate  # noqa: F401

    return sys.modules["uli_fast.simulate"]


def test_fresh_seed_is_kept_and_repeats():
    problem = PROBLEMS[0]
    one = uli.simulate(LEARNERS[0], problem, 10_000)
    two = uli.simulate(LEARNERS[0], problem, 10_000, seed=one.seed)
    assert_same_runs(one, two)
    assert uli.simulate(LEARNERS[0], problem, 10_000).seed != one.seed


def test_replications_differ():
    runs = uli.simulate(LEARNERS[0], PROBLEMS[0], 30_000, replications=20, seed=0)
    assert len({tuple(row) for row in runs.eliminated_at}) > 15


def test_default_rounds_span_the_run():
    runs = uli.simulate(LEARNERS[1], PROBLEMS[0], 10**9, seed=0)
    assert runs.rounds[0] == 1
    assert runs.rounds[-1] == 10**9
    assert 90 <= runs.rounds.size <= 101
    assert (np.diff(runs.rounds) > 0).all()
    assert (runs.plays.sum(axis=2) == runs.rounds).all()
