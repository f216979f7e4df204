"""Turning points: against brute force, the closed form, and what a shared table means."""

import importlib
import io
import threading

import numpy as np
import pytest
from scipy.stats import ks_2samp

import uli_fast as uli
from tests.naive import lil_ucb, phased_elimination, successive_elimination, ucb
from tests.support.coupling import counts_at, random_table
from uli_fast._support.streams import stream_words
from uli_fast.errors import (
    ArgumentError,
    GuaranteeWarning,
    HorizonTooLargeError,
    RewardsExhaustedError,
)
from uli_fast.kernels._jit import lean_kernel
from uli_fast.kernels.rewards.laws import law_of, play_one, total_after
from uli_fast.problems.arms import bernoulli_law
from uli_fast.simulation import coupled_runs

SE, PE, UCB, LIL = (
    kind(0.1, R=0.5)
    for kind in (uli.SuccessiveElimination, uli.PhasedElimination, uli.UCB, uli.LilUCB)
)
NAIVE = {
    "SuccessiveElimination": successive_elimination,
    "PhasedElimination": phased_elimination,
    "UCB": ucb,
    "LilUCB": lil_ucb,
}
# Narrow widths make much happen in few rounds; they prove nothing.
pytestmark = pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
module = importlib.import_module("uli_fast.simulation.turning_point")


def turned(own, rival, gaps, eliminated):
    """Return tau from the counts at every round, None if it is not known by the last."""
    units = np.round(gaps * 10**6).astype(np.int64)
    behind = (own - rival) @ units > 0
    if (np.array(eliminated)[gaps > 0] == 0).any() or behind[-1]:
        return None
    return 1 + int(np.flatnonzero(behind).max(initial=-1)) + 1


def brute_force(learner, rival, table, T):
    """Return tau from both paths on a TableBandit, played round by round."""
    runs = [
        uli.simulate(x, table, T, seed=0, engine="rounds", rounds=range(1, T + 1))
        for x in (learner, rival)
    ]
    own, other = (r.plays[0] for r in runs)
    return turned(own, other, table.gaps, runs[0].eliminated_at[0])


def naively(learner, prefix, T, scale=1.0):
    """Return counts at every round and eliminations, from prefix sums and the slow twin.

    R of the learner is in reward units, of which the twin's unit has so many.
    """
    K = len(prefix)
    play = NAIVE[type(learner).__name__].play
    done = play(lambda a, n: prefix[a][n], K, T, learner.delta, learner.R / scale)
    return counts_at(done["arms"], K, range(1, T + 1)), done["eliminated"]


def small_steps(monkeypatch, points=5, chunk=9):
    monkeypatch.setattr(coupled_runs, "POINTS", points)
    monkeypatch.setattr(coupled_runs, "CHUNK", chunk)


def pair(learner, rival, problem, horizon, seed=0, r=0):
    match = coupled_runs.Match(learner.on(problem), rival.on(problem), horizon, seed)
    return coupled_runs.CoupledRun(match, r, threading.Event())


def random_duel(rng):
    """Return learners of all tempers."""
    kind = uli.SuccessiveElimination if rng.random() < 0.5 else uli.PhasedElimination
    rival = uli.UCB if rng.random() < 0.6 else uli.LilUCB
    learner = kind(rng.uniform(0.05, 0.5), R=rng.choice([0.02, 0.05, 0.1]))
    return learner, rival(0.1, R=rng.choice([0.05, 0.1, 0.4, 1.0]))


@pytest.mark.parametrize("steps", [None, (5, 9), (2, 50)])
def test_equals_brute_force_on_tables(steps, monkeypatch):
    rng, kinds = np.random.default_rng(7), {"never ahead": 0, "early": 0, "late": 0, "none": 0}
    if steps is not None:
        small_steps(monkeypatch, *steps)
    T = 400
    for _ in range(80):
        learner, rival = random_duel(rng)
        rows = np.diff(random_table(rng, int(rng.integers(2, 5)), T)._prefix)
        rows = rows[np.argsort(rows.mean(axis=1))] if rng.random() < 0.5 else rows
        table = uli.TableBandit(rows, means=rows.mean(axis=1).round(2))
        found = uli.turning_point(learner, rival, table, T)
        expected = brute_force(learner, rival, table, T)
        assert found.rounds == (expected,)
        last = uli.simulate(learner, table, T, seed=0).eliminated_at.max()
        if expected is None:
            kinds["none"] += 1
        elif expected == 1:
            kinds["never ahead"] += 1
        else:
            kinds["late" if expected > last else "early"] += 1
    assert min(kinds.values()) >= 3, kinds


PROBLEMS = [
    uli.BernoulliBandit([0.8, 0.5, 0.6]),
    uli.BernoulliBandit([5.0, -2.0], low=-5.0, high=5.0),
    uli.GaussianBandit([0.5, 0.0, -0.4], sigma=0.2),
    uli.BetaBandit([4.0, 2.0], [1.0, 1.0]),
    uli.LinearBandit([0.5, 0.2], [[1, 0], [0, 1], [-0.6, 0.5]], noise="uniform", sigma=0.1),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: type(p).__name__)
def test_equals_naive_learners_on_the_table_that_was_drawn(problem, monkeypatch):
    T, turns = 500, 0
    monkeypatch.setattr(coupled_runs, "FIRST_COLUMNS", T)
    for r in range(12):
        small_steps(monkeypatch, *((5, 9) if r % 2 else (1 << 14, 1 << 16)))
        kinds, scale = (uli.PhasedElimination, uli.SuccessiveElimination), problem.scale
        learner = kinds[r % 3 > 0](0.1, R=0.06 * scale)
        rival = (uli.UCB if r % 4 else uli.LilUCB)(0.1, R=0.1 * scale)
        one = pair(learner, rival, problem, T, seed=3, r=r)
        own, eliminated = naively(learner, one.table, T, scale)
        other, _ = naively(rival, one.table, T, scale)
        expected = turned(own, other, problem.gaps, eliminated)
        assert one.tau() == expected
        assert one.coupled
        turns += expected is not None
    assert turns >= 4


def test_a_table_that_grows_changes_nothing():
    """Both paths of a short first table, grown as needed, against one table from the start."""
    problem = uli.BernoulliBandit([0.7, 0.5])
    one = pair(SE, UCB, problem, 10**5)
    columns = one.table.shape[1] - 1
    own, eliminated = naively(SE, one.table, one.last)
    assert max(eliminated) == one.last
    assert columns // 2 < own[-1].max() <= columns
    assert (one.counts(one.match.uli, np.arange(1, one.last + 1)) == own).all()
    rival, _ = naively(UCB, one.table, columns)
    assert (one.counts(one.match.rival, np.arange(1, columns + 1)) == rival).all()


@lean_kernel  # law_of counts no references, and so may be called from such ones only
def draw(laws, a, n, k, total):
    law = law_of(laws, 0)
    return play_one(law, a, n, total) if k == 1 else total_after(law, a, n, k, total)


@pytest.mark.parametrize("problem", PROBLEMS[:4], ids=lambda p: type(p).__name__)
def test_the_ith_pull_of_an_arm_pays_both_learners_the_same(problem):
    one = pair(uli.SuccessiveElimination(0.1, R=0.1), UCB, problem, 10**4)
    columns = one.table.shape[1] - 1
    rng, beyond = np.random.default_rng(0), []
    for learner in (one.match.uli, one.match.rival):
        law = one.law(learner)
        for a in range(problem.n_arms):
            n, total = 0, one.table[a, 0]
            while n < columns:
                k = min(int(rng.integers(1, 40)), columns - n)
                total = draw(law, a, n, k, total)
                n += k
                assert total == one.table[a, n]
            beyond.append([draw(law, a, columns + i, 1, total) - total for i in range(64)])
    half = len(beyond) // 2
    assert beyond[:half] != beyond[half:]


def test_a_refused_block_leaves_only_what_was_drawn_in_the_urn():
    from uli_fast.kernels.rewards.blocks import draw_sweeps

    @lean_kernel
    def sweeps(laws, on, n, s, k, room):
        return draw_sweeps(law_of(laws, 0), on, n, s, k, room)

    known = np.array([[0, 1, 1, 2, 3, 3, 3, 4, 4]], np.int32)
    for seed in range(40):
        law = bernoulli_law(np.array([0.6]), stream_words(seed, 0, 1), "skip")
        law, urn = law._replace(prefix=known), law.urn[0]
        assert not sweeps(law, np.ones(1, np.bool_), 2, np.ones(1, np.int64), 20, -1.0)
        n, total, whole = 2, 1, int(urn[1, 0])
        assert urn[0, 0] == 20
        while urn[0, 0] > 0:
            total = draw(law, 0, n, 1, total)
            n += 1
            assert n > 8 or total == known[0, n]
            assert 0 <= urn[1, 0] <= urn[0, 0]
        assert (n, total) == (22, 1 + whole)


def test_going_back_repeats_the_path(monkeypatch):
    """Also with drawn rewards in the urn; little caution fills it often."""
    law = coupled_runs.CoupledRun.law
    monkeypatch.setattr(coupled_runs.CoupledRun, "law", lambda *x: law(*x)._replace(caution=0.01))
    monkeypatch.setattr(coupled_runs, "CHUNK", 40)
    learner = uli.SuccessiveElimination(0.1, R=0.1)
    one = pair(learner, UCB, uli.BernoulliBandit([0.8, 0.5]), 10**8)
    path = coupled_runs.CoupledPath(one, one.match.rival, np.arange(10**8 - 9, 10**8 + 1))
    columns, filled = one.table.shape[1] - 1, 0
    for _ in range(60):
        before = path.t
        path.save()
        filled += bool(((path._law.urn[0, 0] > 0) & (path.state.n >= columns)).any())
        path.advance()
        assert before + 9 < path.t < 10**8
        points = np.linspace(before + 1, path.t, 10).astype(np.int64)
        assert (path.again(points) == one.counts(one.match.rival, points)).all()
    assert filled >= 5


def test_rewards_beyond_the_table_have_the_right_law():
    problem, T = uli.BernoulliBandit([0.55, 0.5]), 20_000
    learner = uli.SuccessiveElimination(0.1, R=0.1)  # settles early: most is drawn afresh
    pairs = (pair(learner, UCB, problem, T, seed=5, r=r) for r in range(400))
    plays = [one.counts(one.match.rival, np.array([T]))[0, 1] for one in pairs]
    plain = uli.simulate(UCB, problem, T, 400, seed=6).final_plays[:, 1]
    assert ks_2samp(plays, plain).pvalue > 1e-3


def test_coupling_correlates_what_both_learners_do():
    problem = uli.BernoulliBandit([0.65, 0.5])
    pairs = [pair(SE, UCB, problem, 10**4, seed=1, r=r) for r in range(60)]
    both = np.array([(p.regret, p.counts(p.match.rival, np.array([10**4]))[0, 1]) for p in pairs])
    assert np.corrcoef(both.T)[0, 1] > 0.3


@pytest.mark.parametrize("means", [(1.0, 0.5), (0.5, 1.0), (0.8, 0.6)])
def test_the_closed_form_equals_simulation(means, monkeypatch):
    problem = uli.DeterministicBandit(means)
    known = uli.turning_point(SE, UCB, problem)
    assert known.exact
    monkeypatch.setattr(module, "_closed_form", lambda *_: None)
    found = uli.turning_point(SE, UCB, problem, 10**9)
    assert not found.exact
    assert found.rounds == known.rounds


def test_the_closed_form_equals_simulation_with_other_widths_and_ranges(monkeypatch):
    rng, kinds = np.random.default_rng(3), []
    closed = module._closed_form
    monkeypatch.setattr(module, "_closed_form", lambda *_: None)
    for i in range(40):
        one, two = rng.permutation([0.9, round(0.9 - rng.uniform(0.2, 0.8), 2)])
        problem = uli.DeterministicBandit([10 * one, 10 * two], high=10.0)
        learner = (SE, PE)[i % 2].__class__(round(rng.uniform(0.05, 0.9), 2), R=2.0)
        rival = (UCB, LIL)[i // 2 % 2].__class__(0.3, R=round(rng.uniform(1.5, 4.0), 1))
        known = closed(learner, rival, problem)
        found = uli.turning_point(learner, rival, problem, 10**7).rounds
        kinds.append(known)
        if known is not None and (known[0] is None or known[0] <= 10**7):
            assert found == known
        elif known is not None:
            assert found == (None,)
    assert sum(k not in (None, (None,)) for k in kinds) >= 10
    assert (None,) in kinds


def test_a_rival_that_catches_up_before_the_dropping_is_simulated():
    learner, rival, T, early = uli.SuccessiveElimination(0.5, R=0.1), uli.UCB(0.1, R=2.0), 300, 0
    for gap in np.linspace(0.15, 0.45, 16).round(2):
        means = [0.9, round(0.9 - gap, 2)]
        problem = uli.DeterministicBandit(means)
        prefix = [[n * mean for n in range(T + 1)] for mean in means]
        own, eliminated = naively(learner, prefix, T)
        expected = turned(own, naively(rival, prefix, T)[0], problem.gaps, eliminated)
        found = uli.turning_point(learner, rival, problem, T)
        assert found.rounds == (expected,)
        early += not found.exact and found.rounds[0] == 1
    assert early >= 3


def test_golden_turning_points():
    for gap, tau in ((0.5, 312_111), (0.2, 18_203_293), (0.1, 365_219_331)):
        found = uli.turning_point(SE, UCB, uli.DeterministicBandit([1.0, 1.0 - gap]))
        assert found.rounds == (tau,)
        assert found.mean_curve() == tau
    assert "\nround 365219331\n" in str(found)


def test_a_closed_form_is_not_cut_at_the_horizon():
    problem = uli.DeterministicBandit([0.9, 0.8])
    found = uli.turning_point(uli.PhasedElimination(1e-6), uli.UCB(0.5), problem, 10)
    assert found.rounds[0] > 10**12
    assert not found.never


def test_lil_ucb_is_mostly_not_overtaken():
    proved = uli.turning_point(SE, LIL, uli.DeterministicBandit([0.9, 0.8]))
    assert proved.never
    assert proved.taus.tolist() == [np.inf]
    first, _, said, _ = str(proved).splitlines()
    assert first == f"first round from which {SE} is ahead of {LIL} for good"
    assert said == "never"
    assert "never" in shown(proved) and "not yet" not in shown(proved)
    found = uli.turning_point(SE, LIL, uli.BernoulliBandit([0.7, 0.5]), 10**6, 5, seed=1)
    assert found.censored.all()
    assert "5 of 5 runs had not turned by 1e+06" in str(found)
    assert "may never turn" in str(found)


def test_kl_ucb_equals_brute_force_on_tables(monkeypatch):
    rng, turns = np.random.default_rng(8), 0
    T, rival = 400, uli.KLUCB()
    for i in range(40):
        small_steps(monkeypatch, *((5, 9) if i % 2 else (1 << 14, 1 << 16)))
        learner, _ = random_duel(rng)
        rows = np.diff(random_table(rng, int(rng.integers(2, 5)), T)._prefix)
        table = uli.TableBandit(rows, means=rows.mean(axis=1).round(2))
        found = uli.turning_point(learner, rival, table, T)
        assert found.rounds == (brute_force(learner, rival, table, T),)
        turns += found.rounds != (None,)
    assert turns >= 5


def test_thompson_sampling_draws_on_the_same_table(monkeypatch):
    problem, rival, T, turns = uli.BernoulliBandit([0.8, 0.5, 0.6]), uli.ThompsonSampling(), 500, 0
    monkeypatch.setattr(coupled_runs, "FIRST_COLUMNS", T)
    every = np.arange(1, T + 1)
    for r in range(12):
        small_steps(monkeypatch, *((5, 9) if r % 2 else (1 << 14, 1 << 16)))
        learner = uli.SuccessiveElimination(0.1, R=0.06)
        one = pair(learner, rival, problem, T, seed=3, r=r)
        own, eliminated = naively(learner, one.table, T)
        other = one.counts(one.match.rival, every.copy())
        expected = turned(own, other, problem.gaps, eliminated)
        assert one.tau() == expected
        turns += expected is not None
    assert turns >= 3
    sure = uli.DeterministicBandit([0.9, 0.2])
    found = uli.turning_point(uli.SuccessiveElimination(0.1, R=0.02), rival, sure, 10**4, 8, seed=1)
    assert len(set(found.rounds)) > 1  # its runs differ even without noise
    with pytest.raises(HorizonTooLargeError, match="round by round"):
        uli.turning_point(SE, rival, problem)


def test_a_run_that_has_not_turned_is_never_a_number():
    problem = uli.BernoulliBandit([0.7, 0.5])
    some = uli.turning_point(SE, UCB, problem, 10**6, 12, seed=1)
    more = uli.turning_point(SE, UCB, problem, 10**9, 12, seed=1)
    assert 0 < some.censored.sum() < 12
    for short, long in zip(some.rounds, more.rounds, strict=True):
        assert short == (long if long is not None and long <= 10**6 else None)
    assert np.isinf(some.quantiles([1.0])).all()
    assert some.quantiles([0.0])[0] == min(t for t in some.rounds if t is not None)
    assert f"{some.censored.sum()} of 12 runs had not turned by 1e+06" in str(some)


def test_an_undecided_learner_is_said_to_be_so():
    found = uli.turning_point(SE, UCB, uli.BernoulliBandit([0.7, 0.5]), 200, 3, seed=1)
    assert found.unsettled == 3
    assert found.rounds == (None,) * 3
    assert found.mean_curve() is None
    assert "3 of 3 runs still had a worse arm by then" in str(found)


def test_long_horizons():
    problem = uli.BernoulliBandit([0.9, 0.3])
    one, two = (uli.turning_point(SE, UCB, problem, T, 3, seed=2) for T in (10**9, 10**18))
    assert one.rounds == two.rounds
    assert not one.censored.any()
    points = coupled_runs.spread(3, 10**18, 1 << 14)
    assert points[-1] == 10**18
    assert points[0] > 3
    assert (np.diff(points) > 0).all()


def test_equal_arms_never_leave_anybody_behind():
    for means in ([0.5, 0.5, 0.5], [0.3]):
        found = uli.turning_point(SE, UCB, uli.BernoulliBandit(means), 1000, 2, seed=0)
        assert found.rounds == (1, 1)


def test_the_result_depends_on_seed_and_replication_alone():
    problem = uli.BernoulliBandit([0.7, 0.4, 0.5])
    one = uli.turning_point(SE, UCB, problem, 10**9, 5, seed=4)
    assert one == uli.turning_point(SE, UCB, problem, 10**9, 5, seed=4, n_jobs=2)
    assert one.rounds[:2] == uli.turning_point(SE, UCB, problem, 10**9, 2, seed=4).rounds
    assert one.rounds != uli.turning_point(SE, UCB, problem, 10**9, 5, seed=5).rounds
    assert one.mean_curve() == one.mean_curve(n_jobs=2)


def test_too_large_a_table_is_shared_as_far_as_it_goes_and_says_so(monkeypatch):
    monkeypatch.setattr(coupled_runs, "LARGEST_TABLE", 1600)
    problem = uli.BernoulliBandit([0.7, 0.5])
    found = uli.turning_point(SE, UCB, problem, 10**8, 8, seed=2)
    assert 0 < found.partly < 8
    assert not found.coupled
    assert f"{found.partly} of 8 runs share the first 1e+08 rewards only" in str(found)
    assert uli.turning_point(SE, UCB, problem, 10**8, 8, seed=2, n_jobs=2) == found
    alone = pair(SE, UCB, uli.BernoulliBandit([0.6, 0.5]), 10**6)
    assert alone.table.shape == (2, 801)


def test_tables_that_are_too_large_do_not_change_the_law(monkeypatch):
    """Runs that leave the table are not replaced by others, which would be shorter."""
    monkeypatch.setattr(coupled_runs, "LARGEST_TABLE", 1600)
    problem, M = uli.BernoulliBandit([0.7, 0.5]), 400
    alone = uli.simulate(SE, problem, 10**6, M, seed=8).eliminated_at.max(axis=1)
    match = coupled_runs.Match(SE.on(problem), UCB.on(problem), 10**6, 3)
    last = np.zeros(M)
    match.each(M, 2, lambda pair, r: last.__setitem__(r, pair.last))
    assert 0.2 < (last > 1600).mean() < 0.9  # both kinds are there
    assert ks_2samp(last, alone).pvalue > 1e-3


def test_distances_from_the_law_are_those_of_all_runs():
    problem = uli.GaussianBandit([0.5, 0.3], 0.5)
    for rival in (UCB, LIL):
        found = uli.turning_point(SE, rival, problem, 10**5, 3, seed=1)
        played = [uli.simulate(x, problem, 10**5, 3, seed=1).tv_bound for x in (SE, rival)]
        assert found.censored.any() or rival is UCB
        assert found.tv_bound > max(played) / 4
        fewer = [uli.turning_point(SE, rival, problem, 10**5, M, seed=1) for M in (1, 2)]
        assert 0.0 < fewer[0].tv_bound < fewer[1].tv_bound < found.tv_bound


def test_a_table_that_runs_out_is_an_error():
    rng = np.random.default_rng(0)
    rewards = (rng.random((2, 2000)) < [[0.9], [0.1]]).astype(float)
    problem = uli.TableBandit(rewards, means=[0.9, 0.1])
    with pytest.raises(uli.errors.RewardsExhaustedError):
        uli.turning_point(SE, UCB, problem, 10**6, 1, seed=0)


def test_mean_curve_equals_brute_force(monkeypatch):
    T, M, told = 600, 4, 0
    monkeypatch.setattr(coupled_runs, "FIRST_COLUMNS", T)
    monkeypatch.setattr(coupled_runs, "POINTS", 7)
    problem = uli.BernoulliBandit([0.8, 0.4])
    learner, rival = uli.SuccessiveElimination(0.1, R=0.1), uli.UCB(0.1, R=0.14)
    for seed in range(8):
        found = uli.turning_point(learner, rival, problem, T, M, seed=seed)
        mean = 0
        for r in range(M):
            table = pair(learner, rival, problem, T, seed, r).table
            mean = mean + naively(learner, table, T)[0] - naively(rival, table, T)[0]
        behind = mean @ np.round(problem.gaps * 10).astype(np.int64) > 0
        expected = 2 + int(np.flatnonzero(behind).max(initial=-1))
        expected = None if found.unsettled or behind[-1] else expected
        assert found.mean_curve() == expected
        told += expected is not None and expected not in found.rounds
    assert told >= 2


def test_other_learners_that_eliminate():
    arms = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]
    plane = uli.LinearBandit([0.9, 0.1], arms, sigma=0.05)
    learner = uli.LinearElimination(0.1, R=0.05)
    found = uli.turning_point(learner, uli.UCB(0.1, R=0.05), plane, 10**4, 3, seed=0)
    assert found.unsettled == 0
    meta = uli.MetaElimination(uli.Exp3P(constant=0.02), 0.1)
    found = uli.turning_point(meta, UCB, uli.BernoulliBandit([0.9, 0.2]), 30_000, 3, seed=0)
    assert found.unsettled < 3
    again = uli.turning_point(meta, UCB, uli.BernoulliBandit([0.9, 0.2]), 30_000, 3, seed=0)
    assert found == again


def test_gaussian_runs_carry_their_distance_from_the_exact_law():
    problem = uli.GaussianBandit([0.5, 0.0], sigma=0.5)
    found = uli.turning_point(SE, UCB, problem, 10**7, 3, seed=0)
    assert 0.0 < found.tv_bound < 1e-11
    assert "total variation" in str(found)


def test_a_table_of_rewards_must_last():
    table = uli.TableBandit([[1.0] * 50, [0.0] * 50], means=[1.0, 0.0])
    with pytest.raises(RewardsExhaustedError):
        uli.turning_point(SE, UCB, table)
    with pytest.raises(RewardsExhaustedError):
        uli.turning_point(uli.SuccessiveElimination(0.1, R=0.1), UCB, table, 100, n_jobs=2)


def test_a_learner_without_a_guarantee_is_warned_about():
    with pytest.warns(GuaranteeWarning, match="subgaussian") as caught:
        uli.turning_point(SE, UCB, uli.GaussianBandit([1.0, 0.0]), 1000, 2, seed=0)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def shown(found, width=120):
    from rich.console import Console

    console = Console(width=width, record=True, file=io.StringIO())
    console.print(found.table())
    return console.export_text()


def test_table_and_text():
    found = uli.turning_point(SE, UCB, uli.BernoulliBandit([0.8, 0.5]), 10**6, 4, seed=1)
    text = shown(found)
    assert text.startswith("first round from which SuccessiveElimination")
    assert "median" in text
    assert "not turned" in text
    assert f"{found.censored.sum()} of 4 runs had not turned by 1e+06" in text


def test_progress_reaches_one():
    seen = []
    problem = uli.BernoulliBandit([0.9, 0.5])
    uli.turning_point(SE, UCB, problem, 10**4, 3, seed=0, progress=seen.append)
    assert seen[-1] == 1.0


@pytest.mark.parametrize("problem", [uli.BernoulliBandit([0.6, 0.5]), uli.GaussianBandit([1, 0.9])])
def test_progress_is_told_within_a_run(problem):
    seen = []
    uli.turning_point(SE, UCB, problem, 10**12, 1, seed=0, progress=seen.append)
    assert sum(0.0 < x < 0.5 for x in seen) >= 2  # settling
    assert sum(0.5 < x < 1.0 for x in seen) >= 2  # the rival's way
    assert seen == sorted(seen) and seen[-1] == 1.0


def test_a_bar_appears_while_the_first_pair_is_played(monkeypatch, capsys):
    from uli_fast._support import progress

    bars = []
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(progress._Bar, "show", lambda self, x: bars.append(x))
    uli.turning_point(SE, UCB, uli.BernoulliBandit([0.6, 0.5]), 10**12, 2, seed=0)
    assert 0.0 < bars[0] < 0.5 and bars[-1] == 1.0


BAD = {
    "rival first": (lambda: uli.turning_point(UCB, SE, PROBLEMS[0]), "uli_learner"),
    "no learner": (lambda: uli.turning_point("SE", UCB, PROBLEMS[0]), "uli_learner"),
    "two that eliminate": (lambda: uli.turning_point(SE, PE, PROBLEMS[0]), "optimistic_learner"),
    "tuned": (lambda: uli.turning_point(SE, uli.Exp3P(), PROBLEMS[0]), "optimistic_learner"),
    "means": (lambda: uli.turning_point(SE, UCB, [0.5, 0.4]), "problem"),
    "horizon": (lambda: uli.turning_point(SE, UCB, PROBLEMS[0], 0), "horizon"),
    "replications": (lambda: uli.turning_point(SE, UCB, PROBLEMS[0], 9, 0), "replications"),
    "seed": (lambda: uli.turning_point(SE, UCB, PROBLEMS[0], 9, 1, -1), "seed"),
    "n_jobs": (lambda: uli.turning_point(SE, UCB, PROBLEMS[0], 9, 1, 1, 0), "n_jobs"),
    "features": (
        lambda: uli.turning_point(uli.LinearElimination(R=1.0), UCB, PROBLEMS[0]),
        "problem",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_names_the_argument(case):
    call, argument = BAD[case]
    with pytest.raises(ArgumentError) as caught:
        call()
    assert caught.value.argument == argument


def test_bad_quantiles_and_horizons():
    with pytest.raises(HorizonTooLargeError):
        uli.turning_point(SE, UCB, PROBLEMS[0], 10**19)
    found = uli.turning_point(SE, UCB, uli.DeterministicBandit([1.0, 0.5]))
    for q in ([1.5], "median", []):
        with pytest.raises(ArgumentError, match="q"):
            found.quantiles(q)
