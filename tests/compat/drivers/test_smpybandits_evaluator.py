"""SMPyBandits' own Evaluator runs our policies beside its own (`make compat-test`)."""

import numpy as np
import pytest

pytest.importorskip("SMPyBandits", reason="SMPyBandits is not installed")
matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

try:
    from SMPyBandits.Arms import Bernoulli
    from SMPyBandits.Environment import Evaluator
    from SMPyBandits.Policies import UCB
except ImportError as broken:  # a SciPy without btdtri
    pytest.skip(f"SMPyBandits does not import here: {broken}", allow_module_level=True)

import uli_fast as uli  # noqa: E402
from uli_fast.compat import smpybandits  # noqa: E402

MEANS, T, REPETITIONS = [0.1, 0.5, 0.9], 2000, 4
SMALL = uli.MetaElimination(uli.Exp3P(constant=5), delta=0.3, mode="sharp")
POLICIES = [
    {"archtype": UCB, "params": {}},
    {"archtype": smpybandits.SuccessiveElimination, "params": {"delta": 0.1}},
    {"archtype": smpybandits.PhasedElimination, "params": {"delta": 0.1}},
    {"archtype": smpybandits.UCB, "params": {"delta": 0.1}},
    {"archtype": smpybandits.LilUCB, "params": {"delta": 0.1}},
    {"archtype": smpybandits.Exp3P, "params": {"delta": 0.1, "horizon": T}},
    {"archtype": smpybandits.policy(SMALL), "params": {}},
]


def evaluated(n_jobs, cache_rewards=False):
    np.random.seed(3)  # noqa: NPY002
    evaluator = Evaluator(
        {
            "horizon": T,
            "repetitions": REPETITIONS,
            "n_jobs": n_jobs,
            "verbosity": 0,
            "environment": [{"arm_type": Bernoulli, "params": MEANS}],
            "policies": POLICIES,
            "cache_rewards": cache_rewards,
        }
    )
    evaluator.startAllEnv()
    return evaluator


def plain_seeds(monkeypatch):
    """Python 3.11 refuses a NumPy number in random.seed, which the Evaluator hands to its jobs."""
    drawn = np.random.randint

    def randint(*args, **more):
        return drawn(*args, **more).tolist() if "low" in more else drawn(*args, **more)

    monkeypatch.setattr(np.random, "randint", randint)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_evaluator_runs_our_policies_beside_its_own(n_jobs, monkeypatch):
    plain_seeds(monkeypatch)
    evaluator = evaluated(n_jobs)
    pulls = evaluator.lastPulls[0]  # (policies, arms, repetitions)
    assert (pulls.sum(axis=1) == T).all()
    for i in (0, 1, 3, 4, 6):
        assert pulls[i, 2].min() > T / 2, str(evaluator.policies[i])
    for i in (5, 6):  # those that draw: deep copies play different games
        assert len({tuple(pulls[i, :, r]) for r in range(REPETITIONS)}) == REPETITIONS
    for i in range(len(POLICIES)):
        assert np.isfinite(evaluator.getCumulatedRegret(i)).all()
        assert (evaluator.memoryConsumption[0][i] != 0).all()
    assert "SuccessiveElimination(delta=0.1" in evaluator.policies[1].__cachedstr__


def test_deep_copies_differ_even_on_the_same_rewards():
    pulls = evaluated(1, cache_rewards=True).lastPulls[0]
    assert len({tuple(pulls[5, :, r]) for r in range(REPETITIONS)}) == REPETITIONS


def test_a_policy_has_the_attributes_that_the_library_s_own_have():
    theirs, ours = UCB(3), smpybandits.UCB(3)
    for game in (theirs, ours):
        assert game.t == -1
        game.startGame()
        for r in (1.0, 0.0, 1.0):
            game.getReward(game.choice(), r)
    public = {name for name in dir(theirs) if not name.startswith("_")}
    missing = public - {name for name in dir(ours) if not name.startswith("_")}
    assert missing <= {"index", "computeIndex", "computeAllIndex"}  # of index policies only
    assert ours.t == theirs.t and ours.pulls.dtype == theirs.pulls.dtype
    assert ours.pulls.tolist() == theirs.pulls.tolist()
    assert sorted(ours.rewards) == sorted(theirs.rewards)
