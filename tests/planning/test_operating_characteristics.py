"""Operating characteristics: what direct counting on the same runs says, and closed forms."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest, ttest_1samp

import uli_fast as uli
from uli_fast import lower_bounds
from uli_fast.errors import ArgumentError, EngineError, UliError, UnsupportedError
from uli_fast.planning.usual import USUAL, usual_learners
from uli_fast.results import metrics

SE, PE, UCB = uli.SuccessiveElimination(0.3), uli.PhasedElimination(0.3), uli.UCB(0.3)
ARMS = uli.BernoulliBandit([0.4, 0.7, 0.6], names=["neither", "both", "one"])
T, M = 3000, 200


@pytest.fixture(scope="module")
def plan():
    return uli.operating_characteristics([SE, PE, UCB], ARMS, T, M, seed=3, followed=10**7)


def test_numbers_are_those_of_counting(plan):
    """The runs of `simulate` with the same seed, counted one by one."""
    runs = uli.simulate(SE, ARMS, 10**7, M, seed=3, rounds=[T, 10**7])
    each = plan["SuccessiveElimination"]
    for a in range(3):
        times = sum(0 < x <= T for x in runs.eliminated_at[:, a].tolist())
        assert each.dropped[a].times == times
        exact = binomtest(times, M).proportion_ci(0.95, "exact")
        assert each.dropped[a][2:5] == pytest.approx((times / M, exact.low, exact.high))
    assert 0 < each.dropped[0].times
    gone = [row for row in runs.eliminated_at.tolist() if 0 < row[0] <= T and 0 < row[2] <= T]
    assert each.dropped_all.times == len(gone)
    assert each.lost_best.times == sum(0 < x <= T for x in runs.eliminated_at[:, 1].tolist())
    assert each.lost_best_followed.times == (runs.eliminated_at[:, 1] > 0).sum()
    given = runs.plays[:, 0, 0] + runs.plays[:, 0, 2]
    assert each.on_inferior.mean == pytest.approx(given.mean())
    interval = ttest_1samp(given, 0.0).confidence_interval(0.95)
    assert each.on_inferior[1:3] == pytest.approx(interval)
    had = runs.plays[:, 0] @ (1.0 - ARMS.means)
    equal = T * (1.0 - ARMS.means.mean())
    assert plan.equal_events == pytest.approx(equal)
    assert plan.equal_on_inferior == T * 2 / 3
    assert each.events_avoided.mean == pytest.approx(equal - had.mean())


@pytest.mark.parametrize("share", [0.1, 0.8, 0.9])
def test_patients_needed_are_the_least_by_whom_enough_runs_had_dropped(plan, share):
    each = plan["PhasedElimination"]
    for a in (0, 2):
        needed, when = each.needed(share)[a], each.dropped_at[:, a]
        done = lambda n, when=when: int(((when > 0) & (when <= n)).sum())  # noqa: E731
        assert done(needed) >= share * M - 1e-6 > done(needed - 1)
    last = np.where((each.dropped_at > 0)[:, [0, 2]].all(axis=1), each.dropped_at.max(axis=1), 0)
    needed = each.needed_all(share)
    assert ((last > 0) & (last <= needed)).sum() >= share * M
    assert ((last > 0) & (last < needed)).sum() < share * M


def test_what_is_not_reached_is_not_a_number():
    each = uli.operating_characteristics(SE, ARMS, 50, 20, seed=1, followed=50)
    each = each["SuccessiveElimination"]
    assert each.needed(0.8) == (None, None, None)
    assert each.needed_all(0.9) is None
    assert each.dropped_all.times == 0
    assert each.followed == 50


def test_learners_that_never_drop_say_so(plan):
    each = plan["UCB"]
    assert not each.drops
    assert each.dropped is each.dropped_all is each.lost_best is None
    assert each.needed(0.8) is each.needed_all(0.8) is each.lost_best_followed is None
    assert each.followed == T  # nothing to be looked for later
    runs = uli.simulate(UCB, ARMS, T, M, seed=3)
    assert each.on_inferior.mean == pytest.approx(runs.on_inferior().mean())
    assert each.events_avoided.mean == pytest.approx(runs.events_avoided().mean())


@pytest.mark.parametrize("means", [[1.0, 0.5], [0.5, 1.0]])
def test_deterministic_arms_are_dropped_when_the_closed_form_says(means):
    worse = means.index(0.5)
    stay = lower_bounds.se_stay(Fraction(1, 2), Fraction(3, 10), worse_first=worse == 0)
    drop = 2 * stay.plays  # the end of the last sweep with both arms
    problem = uli.DeterministicBandit(means)
    before, after = (
        uli.operating_characteristics(SE, problem, n, 5, seed=1)["SuccessiveElimination"]
        for n in (drop - 1, drop + 40)
    )
    assert before.dropped[worse].rate == 0.0
    assert after.dropped[worse].rate == 1.0
    assert before.needed(0.8)[worse] == after.needed_all(0.9) == drop
    assert after.needed(0.8)[1 - worse] is None
    assert after.on_inferior == metrics.Mean(stay.plays, stay.plays, stay.plays)
    equal = (drop + 40) / 2
    assert after.events_avoided.mean == pytest.approx(0.5 * (equal - stay.plays))


def hasty(n, total, active, t):
    """After ten rounds keep the arms with the largest total alone."""
    return active if t < 10 else total == total[active].max()


HASTY = uli.EliminationFramework(hasty, lambda d, t: 1.0 + 0.0 * t, 1, 0.1)


def test_the_best_arm_is_lost_as_often_as_the_runs_say():
    """A hasty rule loses the best of two arms that are close in many runs."""
    problem = uli.BernoulliBandit([0.5, 0.45])
    plan = uli.operating_characteristics({"hasty": HASTY}, problem, 50, 200, seed=2, followed=50)
    each = plan["hasty"]
    exact = binomtest(each.lost_best.times, 200).proportion_ci(0.95, "exact")
    assert each.lost_best[3:5] == pytest.approx((exact.low, exact.high))
    assert 0.2 < each.lost_best.rate < 0.6
    # Every run drops one of the two, and none both: shares are of all runs.
    assert each.lost_best.times + each.dropped_all.times == 200
    assert each.needed_all(0.9) is None
    assert each.needed_all(0.3) is not None


def test_of_several_best_arms_all_must_be_lost():
    problem = uli.BernoulliBandit([0.6, 0.6, 0.5])
    plan = uli.operating_characteristics({"hasty": HASTY}, problem, 50, 100, seed=2, followed=50)
    gone = plan["hasty"].dropped_at > 0
    assert gone[:, :2].any(axis=1).sum() > gone[:, :2].all(axis=1).sum() > 0
    assert plan["hasty"].lost_best.times == gone[:, :2].all(axis=1).sum()
    equal = uli.operating_characteristics(
        SE, uli.BernoulliBandit([0.5, 0.5]), 100, 5, seed=1, followed=100
    )
    assert equal["SuccessiveElimination"].dropped_all is None
    assert equal.table().row_count == 2
    assert math.isnan(equal.fixed.called_all)


def test_the_result_is_the_same_for_any_number_of_threads_and_for_its_seed(plan):
    again = uli.operating_characteristics(
        [SE, PE, UCB], ARMS, T, M, seed=3, followed=10**7, n_jobs=2
    )
    assert again.to_pandas().equals(plan.to_pandas())
    fresh = uli.operating_characteristics(SE, ARMS, 100, 10)
    kept = uli.operating_characteristics(SE, ARMS, 100, 10, seed=fresh.seed)
    assert kept.to_pandas().equals(fresh.to_pandas())
    assert f"seed={fresh.seed}" in repr(fresh)


def test_what_is_followed_changes_nothing_before(plan):
    short = uli.operating_characteristics(SE, ARMS, T, M, seed=3, followed=T)
    one, other = short["SuccessiveElimination"], plan["SuccessiveElimination"]
    assert one.dropped == other.dropped
    assert one.on_inferior == other.on_inferior


def test_defaults_of_how_far_drops_are_followed():
    far = uli.operating_characteristics(SE, ARMS, 20, 1, seed=1)["SuccessiveElimination"]
    assert far.followed == 10**9
    beta = uli.BetaBandit([3.0, 1.0], [1.0, 3.0])
    near = uli.operating_characteristics(SE, beta, 20, 1, seed=1)
    assert near["SuccessiveElimination"].followed == 200
    assert near.fixed is None
    table = uli.TableBandit(np.ones((2, 30)), means=[0.5, 0.4])
    assert uli.operating_characteristics(SE, table, 20, 1)["SuccessiveElimination"].followed == 20


def test_other_ranges_count_events_and_unbounded_rewards_count_reward():
    wide = uli.BernoulliBandit([10.0, 30.0], low=0.0, high=40.0)
    plan = uli.operating_characteristics(SE, wide, 500, 20, seed=1)
    unit = uli.operating_characteristics(SE, uli.BernoulliBandit([0.25, 0.75]), 500, 20, seed=1)
    one, other = plan["SuccessiveElimination"], unit["SuccessiveElimination"]
    assert one.events_avoided.mean == pytest.approx(other.events_avoided.mean)
    assert plan.equal_events == unit.equal_events == 250.0
    free = uli.operating_characteristics(
        uli.SuccessiveElimination(0.1, R=1.0), uli.GaussianBandit([0.0, 2.0]), 500, 5, seed=1
    )
    assert math.isnan(free.equal_events)
    each = free["SuccessiveElimination"]
    assert each.events_avoided.mean == pytest.approx(2.0 * (250.0 - each.on_inferior.mean))


def test_runs_count_patients_on_inferior_arms_and_events_avoided():
    runs = uli.simulate(SE, ARMS, 500, 4, seed=1, rounds=[100, 500])
    plays = runs.plays[:, 0]
    assert (runs.on_inferior(100) == plays[:, 0] + plays[:, 2]).all()
    equal = 100 * (0.3 + 0.0 + 0.1) / 3
    assert runs.events_avoided(100) == pytest.approx(equal - plays @ ARMS.gaps)
    assert (runs.on_inferior() == runs.mistakes(0.0)).all()
    with pytest.raises(ArgumentError, match="by: must be a round"):
        runs.on_inferior(99)
    ball = uli.LinearBandit([1.0, 0.0], arm_set=uli.arm_sets.Ball(2))
    with pytest.raises(UnsupportedError, match="finitely many"):
        uli.simulate(uli.SpannerElimination(0.1, R=1.0), ball, 50, seed=1).events_avoided()


def test_the_usual_learners_begin_with_the_recommended_one():
    found = usual_learners(0.1)
    assert list(found) == list(USUAL)
    assert next(iter(found)) == "BettingElimination"
    assert found["UCB"] == uli.UCB(0.1)
    assert list(usual_learners(0.1, names=["LilUCB"])) == ["LilUCB"]
    with pytest.raises(ArgumentError, match="learners: must be one of"):
        usual_learners(0.1, names=["Oracle"])


def test_progress_ends_at_one():
    seen = []
    uli.operating_characteristics([SE, UCB], ARMS, 100, 3, seed=1, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def oc(learners=SE, problem=ARMS, horizon=100, replications=2, **more):
    return uli.operating_characteristics(learners, problem, horizon, replications, **more)


BAD = {
    "one arm": (lambda: oc(problem=uli.BernoulliBandit([0.5])), "problem"),
    "no problem": (lambda: oc(problem=[0.5, 0.4]), "problem"),
    "no learner": (lambda: oc("SE"), "learners"),
    "no learners": (lambda: oc([]), "learners"),
    "a policy learner": (lambda: oc(uli.UCBVI()), "learners"),
    "a list with one": (lambda: oc([SE, uli.PolicyElimination(0.1)]), "learners"),
    "twice": (lambda: oc([SE, SE]), "learners"),
    "no patients": (lambda: oc(horizon=0), "horizon"),
    "too few": (lambda: oc(horizon=2), "horizon"),
    "no runs": (lambda: oc(replications=0), "replications"),
    "seed": (lambda: oc(seed=-1), "seed"),
    "followed": (lambda: oc(followed=99), "followed"),
    "alpha": (lambda: oc(alpha=0), "alpha"),
    "level": (lambda: oc(level=1), "level"),
    "events": (lambda: oc(events=""), "events"),
    "jobs": (lambda: oc(n_jobs=0), "n_jobs"),
    "R": (lambda: oc(problem=uli.GaussianBandit([0.0, 1.0])), "R"),
    "share": (lambda: oc()["SuccessiveElimination"].needed(1.0), "share"),
    "plot": (lambda: oc().plot(what="nothing"), "what"),
    "path": (lambda: oc().plot("figure.nothing"), "path"),
    "page": (lambda: oc().report(""), "path"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_names_the_argument(case):
    call, argument = BAD[case]
    with pytest.raises(ArgumentError) as caught:
        call()
    assert caught.value.argument == argument


def test_an_engine_that_there_is_not():
    with pytest.raises(EngineError, match="Beta"):
        oc(problem=uli.BetaBandit([1, 2], [1, 1]), engine="skip")
    with pytest.raises(UliError, match="table"):
        oc(problem=uli.TableBandit(np.ones((2, 30)), means=[0.5, 0.4]), horizon=61)
