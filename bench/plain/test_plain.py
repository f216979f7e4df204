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
    Case,
    framework,
    hedge_in_numpy,
    linear_arms,
    lockstep,
    one_after_another,
    ours,
    phase_of,
    plain,
    plain_linear,
    replication,
    side_by_side,
)
from bench.support.everyday import LEARNERS, all_at_once, fewer, one_by_one
from bench.support.limits import in_c, lockstep_in_c
from bench.support.mdps import best_of, chooser_of, everything, in_numpy, played
from tests.support.draws import draws
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
    simulate,
)
from uli_fast._support.streams import stream, stream_words
from uli_fast.geometry import designs
from uli_fast.kernels import ucbvi
from uli_fast.kernels.arms.state import RoundRecord
from uli_fast.learners._adversarial.lanes import LaneTeam
from uli_fast.learners._adversarial.phases import PlannedPhase
from uli_fast.learners._arms import empty_state
from uli_fast.learners._policies.optimistic import OptimisticRun

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
    "Thompson sampling": (ThompsonSampling, optimism.thompson_sampling),
}


def same_draws(seed):
    """Return what a rival in NumPy draws from to have the draws of ours."""
    return draws(SEED, seed)


@pytest.mark.parametrize("means", [EQUAL, SPREAD, GAP, TIE, np.array([0.9, 0.5, 0.1])])
@pytest.mark.parametrize("name", PAIRS)
def test_plain_loop_plays_as_ours_on_the_same_draws(name, means):
    learner, loop = PAIRS[name]
    for horizon in (means.size + 3, 1_237, 100_003):
        for seed in range(5):
            expected = ours(learner(DELTA), means, horizon, "rounds").prepare(seed)()
            np.testing.assert_array_equal(plain(loop, means, horizon).prepare(seed)(), expected)


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
    run = OptimisticRun(learner.on(mdp), n, np.array([n]))
    run.prepare(stream(SEED, 0), ucbvi, of_one_visit)
    while not run.advance(n):
        pass
    theirs = in_numpy(mdp, n, of_one_visit, same_draws).prepare(0)()
    np.testing.assert_array_equal(theirs, run.visits)


def test_numpy_geometric_hedge_plays_as_ours_on_the_same_draws():
    for K, d in ((100, 5), (7, 2), (4, 4)):
        problem = linear_arms(K, d)
        expected = phase_of(GeometricHedge(DELTA), problem, 3_000).prepare(1)()
        theirs = hedge_in_numpy(linear.geometric_hedge, problem, 3_000, same_draws).prepare(1)()
        np.testing.assert_array_equal(theirs, expected)


@pytest.mark.parametrize(("K", "d"), [(100, 5), (7, 2), (4, 4)])
def test_plain_linear_elimination_plays_as_ours_on_the_same_draws(K, d):
    """With the same designs, of which there are many."""

    def loop(*given):
        return linear.linear_elimination(*given, lambda arms: designs.g_optimal(arms).weights)

    problem, learner = linear_arms(K, d), LinearElimination(DELTA, "paper")
    for horizon in (50, 10_007, 10**6):
        expected = replication(learner, problem, horizon, "rounds").prepare(1)()
        np.testing.assert_array_equal(plain_linear(loop, problem, horizon).prepare(1)(), expected)


def test_plain_linear_elimination_with_its_own_designs_keeps_the_guarantee():
    """An arm with n plays has its last one in round n or later, where F is smaller still."""
    problem, horizon = linear_arms(100, 5), 10**7
    bound = LinearElimination(DELTA, "paper").guarantee(problem).bound
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
    # From different seeds: the same ones would give the same draws for a while. Ours are those of
    # SEED + 2, which no other of them has.
    seeds = [1] if rival == "C in lanes" else range(REPLICATIONS)
    theirs = np.vstack([case.prepare(seed)() for seed in seeds])
    assert_same_means(lockstep(SPREAD, horizon).prepare(2)().final_plays, theirs)


SIDE_BY_SIDE = [name for name, sides in LEARNERS.items() if sides.numpy]


@pytest.mark.parametrize("means", [EQUAL, SPREAD, GAP, np.array([0.9, 0.5, 0.1])])
@pytest.mark.parametrize("name", SIDE_BY_SIDE)
def test_numpy_plays_as_the_plain_loop_on_the_same_draws(name, means):
    """One replication has the draws of the loop; those of Exp3.P differ once rounding has grown."""
    sides = LEARNERS[name]
    for horizon in (means.size + 3, 1_237) if name == "exp3p" else (means.size + 3, 1_237, 20_011):
        for seed in range(3):
            expected = plain(sides.loop, means, horizon).prepare(seed)()
            theirs = sides.numpy(means, horizon, DELTA, same_draws(seed), 1)
            np.testing.assert_array_equal(theirs, expected[None])


@pytest.mark.parametrize("means", [SPREAD, np.array([0.9, 0.5, 0.1])])
@pytest.mark.parametrize("name", LEARNERS)
def test_rivals_of_everyday_sizes_agree_with_rounds(name, means):
    """Where arms leave at different times in different replications, too.

    The Numba loop plays the same, from the same streams; but for Exp3.P, which takes one number
    for an arm and its loss in lanes. NumPy agrees in distribution.
    """
    M, T = 300, 3_000
    sides, problem = LEARNERS[name], BernoulliBandit(means)
    rounds = simulate(sides.learner, problem, T, M, SEED, "rounds", [T], progress=False).final_plays
    loop = one_after_another(sides.loop, means, T, M)
    if name == "exp3p":
        assert_same_means(rounds, loop.prepare(1)())
    else:
        np.testing.assert_array_equal(loop.prepare(0)(), rounds)
    if sides.numpy:
        assert_same_means(rounds, side_by_side(sides.numpy, means, T, M).prepare(0)())


def test_a_rival_that_plays_fewer_replications_counts_them_all():
    def playing(T, M):
        return Case(lambda seed: lambda: (M, T))

    cases = [fewer(playing, M, 1_000, 10**5) for M in (1, 100, 10_000)]
    assert [case.prepare(0)() for case in cases] == [(1, 1_000), (100, 1_000), (100, 1_000)]
    assert [case.factor for case in cases] == [1.0, 1.0, 100.0]
    assert all_at_once("ucb", 1_000, 10_000).factor == 1.0
    assert one_by_one("ucb", 1_000, 10_000).factor == 10.0


def lanes_after(means, horizon, rounds, seed):
    """Return the pulls of our lanes, tuned to the horizon, after this many rounds."""
    M, K = REPLICATIONS, len(means)
    states = empty_state(K, np.int64, (M,))
    team = LaneTeam(1.0 - means, states, stream_words(SEED + seed, 0, M), Exp3P(DELTA).rates)
    team.begin(PlannedPhase(horizon, DELTA, np.inf, 1.0))
    plays, at = np.zeros((M, 1, K), np.int64), np.zeros((M, 1), np.int64)
    team.play(rounds, RoundRecord(np.array([horizon]), plays, at))
    return states.n


def assert_same_means(one, other):
    """Assert that two samples of counts, (replications, arms), have means within 5 errors."""
    assert (one.sum(axis=1) == one[0].sum()).all()
    assert (other.sum(axis=1) == one[0].sum()).all()
    error = np.sqrt(one.var(axis=0) / len(one) + other.var(axis=0) / len(other))
    assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) <= 5.0 * error).all()


@pytest.mark.parametrize("solver", ["warm", "cold"])
@pytest.mark.parametrize("name", ["lake", "dense"])
def test_inductions_and_highs_find_the_same_width(name, solver):
    from bench.support.models import SOLVERS, by_inductions, two_looks

    if name == "lake":
        pytest.importorskip("gymnasium")
    for seed in range(2):
        before, now = two_looks(name, seed)
        W = by_inductions(now)
        assert W < by_inductions(now._replace(least=0.0)) - 1e-6  # the constraint binds
        assert SOLVERS[solver](before, now)()() == pytest.approx(W, rel=1e-8, abs=1e-9)
