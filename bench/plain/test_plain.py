"""The rivals play the same algorithms: not timed, run with ``pytest bench --benchmark-skip``."""

import numpy as np
import pytest

from bench.plain import elimination, exp3p, linear, optimism
from bench.plain.betting import betting_elimination
from bench.support.cases import (
    DELTA,
    EQUAL,
    GAP,
    MANY,
    REPLICATIONS,
    SEED,
    SPREAD,
    TIE,
    framework,
    hedge_in_numpy,
    linear_arms,
    lockstep,
    ours,
    phase_of,
    plain,
    plain_linear,
    replication,
)
from bench.support.limits import in_c, lockstep_in_c
from bench.support.mdps import best_of, chooser_of, everything, in_numpy, played
from uli_fast import (
    KLUCB,
    UCB,
    UCBVI,
    BernoulliBandit,
    BettingElimination,
    Exp3P,
    GeometricHedge,
    LilUCB,
    LinearBandit,
    LinearElimination,
    LinUCB,
    PhasedElimination,
    SuccessiveElimination,
    ThompsonSampling,
    mdps,
)
from uli_fast.geometry import designs
from uli_fast.kernels import ucbvi
from uli_fast.learners._adversarial.lanes import LaneTeam
from uli_fast.learners._adversarial.phases import PlannedPhase
from uli_fast.learners._arms import empty_state
from uli_fast.learners._policies.optimistic import OptimisticRun
from uli_fast.simulation.simulate import generator, generator_words

PAIRS = {
    "framework": (lambda delta: framework(), elimination.elimination_framework),
    "SE-MAB": (SuccessiveElimination, elimination.successive_elimination),
    "SE-MAB, by sweeps": (SuccessiveElimination, elimination.successive_elimination_by_sweeps),
    "PE-MAB": (PhasedElimination, elimination.phased_elimination),
    "UCB": (UCB, optimism.ucb),
    "lil'UCB": (LilUCB, optimism.lil_ucb),
    "lil'UCB, kept indices": (LilUCB, optimism.lil_ucb_kept),
    "BettingElimination": (BettingElimination, betting_elimination),
    "KL-UCB": (KLUCB, optimism.kl_ucb),
}


@pytest.mark.parametrize("means", [EQUAL, SPREAD, GAP, TIE, np.array([0.9, 0.5, 0.1])])
@pytest.mark.parametrize("name", PAIRS)
def test_plain_loop_plays_as_ours_on_the_same_draws(name, means):
    learner, loop = PAIRS[name]
    for horizon in (means.size + 3, 1_237, 100_003):
        for seed in range(5):
            expected = ours(learner(DELTA), means, horizon, "rounds").prepare(seed)()
            np.testing.assert_array_equal(plain(loop, means, horizon).prepare(seed)(), expected)


def test_plain_thompson_sampling_plays_as_often_as_ours():
    """NumPy draws Beta(1, b) differently, so the law is compared."""
    cases = (
        ours(ThompsonSampling(), SPREAD, 2000, "rounds"),
        plain(optimism.thompson_sampling, SPREAD, 2000),
    )
    one, two = (np.array([case.prepare(s)() for s in range(300)]) for case in cases)
    error = np.sqrt((one.var(axis=0) + two.var(axis=0)) / 300)
    assert (abs(one.mean(axis=0) - two.mean(axis=0)) < 4.5 * error).all()


def test_c_plays_the_best_arm_most_and_every_round():
    case = in_c("ucb", SPREAD, 10**5)
    if case is None:
        pytest.skip("gcc is missing: C is not measured")
    ours_best = np.array(
        [ours(UCB(DELTA), SPREAD, 10**5, "rounds").prepare(s)() for s in range(20)]
    )
    theirs = np.array([case.prepare(seed)() for seed in range(20)])
    assert (theirs.sum(axis=1) == 10**5).all()
    assert np.allclose(theirs.mean(axis=0), ours_best.mean(axis=0), rtol=0.15)


@pytest.mark.parametrize("means", [EQUAL, SPREAD, GAP, MANY, np.array([0.9, 0.5, 0.1])])
def test_plain_exp3p_plays_as_ours_on_the_same_draws(means):
    """Linear weights against logarithms: rounding grows, but changes no draw of 1,000."""
    problem, horizon = BernoulliBandit(means), 1_000
    for seed in range(5):
        expected = phase_of(Exp3P(DELTA), problem, horizon).prepare(seed)()
        for loop in (exp3p.exp3p, exp3p.exp3p_polynomial):
            np.testing.assert_array_equal(plain(loop, means, horizon).prepare(seed)(), expected)


@pytest.mark.parametrize("sizes", [(3, 2, 3), (4, 2, 4), (3, 3, 3), (2, 2, 7), (3, 2, 1)])
def test_plain_enumeration_chooses_as_the_package(sizes):
    """The same policies on the same draws, so what is learned agrees to the bit."""
    mdp = mdps.random_dense(*sizes, seed=1)
    for left in (everything(mdp), best_of(mdp, mdp.n_policies // 3)):
        theirs = played(mdp, chooser_of(left, "plain")).play(300)
        for chooser in (left.chooser("plain"), left.chooser("auto")):
            expected = played(mdp, chooser).play(300)
            for table, other in zip(theirs, expected, strict=True):
                np.testing.assert_array_equal(table, other)


@pytest.mark.parametrize("bonus", [0.02, 0.3, None])
@pytest.mark.parametrize("sizes", [(5, 3, 5), (10, 3, 10)])
def test_numpy_ucbvi_plays_as_ours_on_the_same_draws(sizes, bonus):
    """None is the real bonus, under which everything is worth H for a long time."""
    mdp, n, learner = mdps.random_dense(*sizes, seed=1), 500, UCBVI(0.1)
    of_one_visit = learner.parameter(mdp, 10**5) if bonus is None else bonus
    run = OptimisticRun(learner, mdp, n, np.array([n]))
    run.prepare(generator(SEED, 0), ucbvi, of_one_visit)
    while not run.advance(n):
        pass
    theirs = in_numpy(mdp, n, of_one_visit).prepare(0)()
    np.testing.assert_array_equal(theirs, run.visits)


def test_numpy_geometric_hedge_plays_as_ours_on_the_same_draws():
    for K, d in ((100, 5), (7, 2), (4, 4)):
        problem = linear_arms(K, d)
        expected = phase_of(GeometricHedge(DELTA), problem, 3_000).prepare(1)()
        theirs = hedge_in_numpy(linear.geometric_hedge, problem, 3_000).prepare(1)()
        np.testing.assert_array_equal(theirs, expected)


@pytest.mark.parametrize(("K", "d"), [(100, 5), (7, 2), (4, 4)])
def test_plain_linear_elimination_plays_as_ours_on_the_same_draws(K, d):
    """With the same designs, of which there are many."""

    def loop(*given):
        return linear.linear_elimination(*given, lambda arms: designs.g_optimal(arms).weights)

    problem = linear_arms(K, d)
    for horizon in (50, 10_007, 10**6):
        expected = replication(LinearElimination(DELTA), problem, horizon, "rounds").prepare(1)()
        np.testing.assert_array_equal(plain_linear(loop, problem, horizon).prepare(1)(), expected)


def test_plain_linear_elimination_with_its_own_designs_keeps_the_guarantee():
    """An arm with n plays has its last one in round n or later, where F is smaller still."""
    problem, horizon = linear_arms(100, 5), 10**7
    bound = LinearElimination(DELTA).guarantee(problem).bound
    n = plain_linear(linear.linear_elimination, problem, horizon).prepare(1)()
    assert n.sum() == horizon
    assert (problem.gaps <= bound(np.maximum(n, 1))).all()


@pytest.mark.parametrize(("K", "d"), [(100, 5), (7, 2), (4, 4)])
def test_plain_lin_ucb_plays_as_ours_on_the_same_draws(K, d):
    """On arms of different lengths: rounding decides the first choice among equal ones."""
    unit = linear_arms(K, d)
    arms = unit.features * np.linspace(1.0, 0.5, K)[:, None]
    problem = LinearBandit(unit.theta, arms, noise="bernoulli")
    for horizon in (10, 1_000, 5_000):
        expected = replication(LinUCB(DELTA), problem, horizon, "rounds").prepare(1)()
        theirs = plain_linear(linear.lin_ucb, problem, horizon).prepare(1)()
        np.testing.assert_array_equal(theirs, expected)


@pytest.mark.parametrize("means", [GAP, SPREAD, MANY, np.array([0.9, 0.5, 0.1])])
def test_lanes_in_c_play_as_ours_from_the_same_seeds(means):
    """All that differs is rounding, which has not yet changed a draw after 2,000 rounds."""
    horizon, rounds = 500_000, 2_000
    case = lockstep_in_c(means, horizon, rounds)
    if case is None:
        pytest.skip("gcc is missing: C is not measured")
    expected = lanes_after(means, horizon, rounds, seed=3)
    np.testing.assert_array_equal(case.prepare(3)(), expected)


@pytest.mark.parametrize("rival", ["exp", "polynomial", "C", "C in lanes"])
def test_exp3p_agrees_in_distribution(rival):
    horizon = 100_000
    case = {
        "exp": plain(exp3p.exp3p, SPREAD, horizon),
        "polynomial": plain(exp3p.exp3p_polynomial, SPREAD, horizon),
        "C": in_c("exp3p", SPREAD, horizon),
        "C in lanes": lockstep_in_c(SPREAD, horizon),
    }[rival]
    if case is None:
        pytest.skip("gcc is missing: C is not measured")
    # From different seeds: the same ones would give the same draws for a while.
    seeds = [1] if rival == "C in lanes" else range(REPLICATIONS)
    theirs = np.vstack([case.prepare(seed)() for seed in seeds])
    assert_same_means(lockstep(SPREAD, horizon).prepare(0)().final_plays, theirs)


def lanes_after(means, horizon, rounds, seed):
    """Return the pulls of our lanes, tuned to the horizon, after this many rounds."""
    words = np.stack([generator_words(SEED + seed, r) for r in range(REPLICATIONS)])
    members = [empty_state(len(means)) for _ in words]
    team = LaneTeam(1.0 - means, members, words, Exp3P(DELTA).rates)
    team.begin(PlannedPhase(horizon, DELTA, np.inf, 1.0))
    team.play(rounds)
    return np.array([member.n for member in members])


def assert_same_means(one, other):
    """Assert that two samples of counts, (replications, arms), have means within 5 errors."""
    assert (one.sum(axis=1) == one[0].sum()).all()
    assert (other.sum(axis=1) == one[0].sum()).all()
    error = np.sqrt(one.var(axis=0) / len(one) + other.var(axis=0) / len(other))
    assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) < 5.0 * error).all()
