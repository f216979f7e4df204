import math

import numpy as np
import pytest

import uli_fast as uli
from uli_fast.errors import ArgumentError, NoGuaranteeError
from uli_fast.planning.usual import usual_learners

# The paper's closed forms; those of the schedule are in tests/guarantees/test_phase_bounds.py.
SE2 = uli.SuccessiveElimination(0.1).guarantee(2, form="paper")
PE2 = uli.PhasedElimination(0.1).guarantee(2, form="paper")


def test_bounds_are_the_paper_s():
    for t in (1, 17, 10**6, 10**18):
        assert SE2.bound(t) == pytest.approx(
            math.sqrt(14 * 2 * math.log(4 * 2 * t**2 / 0.1) / t), rel=1e-13
        )
        assert PE2.bound(t) == pytest.approx(
            math.sqrt(256 * 2 * math.log(4 * 2 * math.log2(t + 1) ** 2 / 0.1) / (3 * t)), rel=1e-13
        )


def test_subgaussian_bounds():
    problem = uli.GaussianBandit([1.5, 0.0], sigma=2.0)
    t, log_term = 1000, math.log(4 * 2 * 1000**2 / 0.1)
    bound = uli.SuccessiveElimination(0.1, R=2.0).guarantee(problem, form="paper").bound(t)
    assert bound == pytest.approx(math.sqrt(2 * (50 * 4 * log_term + 2 * 1.5**2) / t))
    log_term = math.log(4 * 2 * math.log2(1001) ** 2 / 0.1)
    bound = uli.PhasedElimination(0.1, R=2.0).guarantee(problem, form="paper").bound(t)
    assert bound == pytest.approx(math.sqrt(1024 * 4 * 2 * log_term / (3 * t)))


def test_bounds_come_back_in_reward_units():
    problem = uli.BernoulliBandit([-3.0, 5.0], low=-5.0, high=5.0)
    learner = uli.SuccessiveElimination(0.1)
    assert learner.guarantee(problem, form="paper").bound(99) == 10 * SE2.bound(99)
    assert learner.guarantee(problem).bound(99) == 10 * learner.guarantee(2).bound(99)


@pytest.mark.parametrize(
    ("guarantee", "eps", "last"),
    [(SE2, 1.0, 466), (PE2, 1.0, 1553)],
)
def test_rounds_until_matches_the_sizing_table(guarantee, eps, last):
    assert guarantee.rounds_until(eps) == last
    assert guarantee.bound(last) > eps >= guarantee.bound(last + 1)


@pytest.mark.parametrize("guarantee", [SE2, PE2])
@pytest.mark.parametrize("eps", [3.0, 0.1, 1e-3, 1e-6, 1e-8])
def test_rounds_until_is_the_last_round_above_eps(guarantee, eps):
    last = guarantee.rounds_until(eps)
    assert isinstance(last, int)
    assert last == 0 or guarantee.bound(last) > eps
    assert guarantee.bound(last + 1) <= eps


def test_rounds_until_a_bound_that_is_never_exceeded():
    assert SE2.rounds_until(1000.0) == 0


@pytest.mark.parametrize("guarantee", [SE2, PE2])
def test_gap_free_regret_equals_the_sum(guarantee):
    for T in (1, 300, 466, 5000, 300_000):
        exact = np.minimum(1.0, guarantee.bound(np.arange(1, T + 1))).sum()
        assert exact * (1 - 1e-12) <= guarantee.regret(T) <= exact * 1.0001


def test_gap_free_regret_at_long_horizons_is_a_tight_upper_bound():
    # Euler-Maclaurin beyond 10^6 rounds, independently of the implementation.
    from scipy.integrate import quad

    for T in (10**9, 10**15):
        head = np.minimum(1.0, SE2.bound(np.arange(1, 10**6 + 1))).sum()
        integral = sum(
            quad(lambda u: SE2.bound(math.exp(u)) * math.exp(u), u, min(u + 1, math.log(T)))[0]
            for u in np.arange(math.log(10**6), math.log(T), 1.0)
        )
        exact = head + integral + (SE2.bound(T) - SE2.bound(10**6)) / 2
        assert exact <= SE2.regret(T) <= exact * 1.0001


def test_gap_dependent_regret_charges_a_gap_only_while_the_bound_allows_it():
    gaps = [0.0, 0.1, 0.4]
    t1 = sum(1 for t in range(1, 10**4) if SE2.bound(t) >= 0.4)
    for T in (10, t1, t1 + 5):
        assert SE2.regret(T, gaps) == pytest.approx(0.4 * min(T, t1) + 0.1 * max(0, T - t1))
    assert SE2.regret(10**15, gaps) == SE2.regret(10**12, gaps)
    assert SE2.regret(10**15, gaps) <= SE2.regret(10**15)
    assert SE2.regret(10**6, [0.0, 0.0]) == 0.0


def test_simulated_regret_stays_below_the_bound():
    problem = uli.BernoulliBandit([0.6, 0.5])
    for learner in (uli.SuccessiveElimination(0.1), uli.PhasedElimination(0.1)):
        runs = uli.simulate(learner, problem, 10**8, 50, seed=1)
        bound = learner.guarantee(problem)
        assert (runs.regret[:, -1] <= bound.regret(10**8, problem.gaps)).all()
        assert (runs.mistakes(0.05) <= bound.rounds_until(0.05)).all()


RIVALS = [x for x in usual_learners(0.1).values() if x.baseline]


@pytest.mark.parametrize("learner", RIVALS, ids=str)
def test_optimistic_learners_have_no_guarantee(learner):
    with pytest.raises(NoGuaranteeError, match=r"F_ULI"):
        learner.guarantee(2)


def test_no_guarantee_outside_the_proved_range():
    with pytest.raises(NoGuaranteeError, match=r"R = 0\.5"):
        uli.SuccessiveElimination(R=0.5).guarantee(uli.GaussianBandit([0, 1], sigma=1.0))
    with pytest.raises(NoGuaranteeError, match="exceed 2"):
        uli.PhasedElimination(R=1.0).guarantee(uli.GaussianBandit([0, 3], sigma=1.0))
    with pytest.raises(NoGuaranteeError, match="first phase"):
        uli.PhasedElimination(R=0.01).guarantee(2)
    with pytest.raises(NoGuaranteeError):
        uli.SuccessiveElimination(R=0.4).guarantee(uli.BernoulliBandit([0.1, 0.2]))


def test_a_run_without_a_guarantee_warns_once_and_goes_on():
    with pytest.warns(uli.errors.GuaranteeWarning, match="subgaussian") as caught:
        learner = uli.SuccessiveElimination(R=0.5)
        runs = uli.simulate(learner, uli.GaussianBandit([0, 1]), 5000, 3, seed=0)
    assert len(caught) == 1
    assert np.isnan(runs.worst_ratio).all()


def test_one_arm_is_trivially_optimal():
    guarantee = uli.SuccessiveElimination().guarantee(1)
    assert guarantee.bound(5) == 0.0
    assert guarantee.regret(10**9) == 0.0
    runs = uli.simulate(uli.SuccessiveElimination(), uli.BernoulliBandit([0.3]), 10**12, seed=0)
    assert runs.holds.all()


def test_constants_say_where_they_come_from():
    assert any("upperbound_pull" in c.source for c in SE2.constants)
    assert any("PE_MAB_FULI" in c.source for c in PE2.constants)


def test_a_confidence_is_never_rounded_to_certainty():
    from uli_fast.guarantees import confidence

    assert [confidence(x) for x in (0.05, 1e-6)] == ["0.95", "0.999999"]
    assert [confidence(x) for x in (1e-7, 1e-300)] == ["1 - 1e-07", "1 - 1e-300"]


@pytest.mark.parametrize("eps", [0.0, -1.0, math.nan, "x"])
def test_bad_eps(eps):
    with pytest.raises(ArgumentError, match="eps"):
        SE2.rounds_until(eps)


def test_bad_rounds_and_gaps():
    for call in (lambda: SE2.bound(0), lambda: SE2.bound([1, math.nan])):
        with pytest.raises(ArgumentError, match="t:"):
            call()
    with pytest.raises(ArgumentError, match="gaps"):
        SE2.regret(10, [-0.1, 0.2])
    with pytest.raises(ArgumentError, match="T:"):
        SE2.regret(0)


@pytest.mark.parametrize(
    "change", [{"leader": 0}, {"R": 0.0}, {"K": None}, {"bounded": "yes"}], ids=str
)
def test_a_saved_bound_of_betting_must_be_one(change):
    saved = uli.BettingElimination(0.1).guarantee(3).to_dict()
    assert uli.Guarantee.from_dict(saved).bound(1000) > 0.0
    saved["parameters"] = {k: v for k, v in (saved["parameters"] | change).items() if v is not None}
    with pytest.raises(ArgumentError):
        uli.Guarantee.from_dict(saved)
