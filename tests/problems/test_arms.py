"""Problems: exact gaps, ranges, names and what they say of their rewards."""

import numpy as np
import pytest

import uli_fast as uli
from uli_fast._support.streams import stream
from uli_fast.errors import NoGuaranteeError


def test_gaps_are_exact_and_ties_allowed():
    problem = uli.BernoulliBandit([0.5, 0.75, 0.75, 0.25])
    assert problem.gaps.tolist() == [0.25, 0.0, 0.0, 0.5]
    assert problem.n_arms == 4
    assert problem.names == ("0", "1", "2", "3")
    with pytest.raises(ValueError, match="read-only"):
        problem.gaps[0] = 1.0


def test_a_range_is_mapped_to_the_unit_interval():
    wide = uli.BernoulliBandit([-3.0, 5.0], low=-5.0, high=5.0)
    assert wide.unit_means.tolist() == [0.2, 1.0]
    assert wide.gaps.tolist() == [8.0, 0.0]
    unit = uli.BernoulliBandit([0.2, 1.0])
    for learner in (uli.SuccessiveElimination(0.1), uli.PhasedElimination(0.1), uli.UCB(0.1)):
        one = uli.simulate(learner, wide, 5000, 3, seed=1)
        two = uli.simulate(learner, unit, 5000, 3, seed=1)
        assert (one.plays == two.plays).all()
        assert np.allclose(one.regret, 10.0 * two.regret)
        assert np.allclose(one.worst_ratio, two.worst_ratio, equal_nan=True)


def test_beta_means():
    problem = uli.BetaBandit([1.0, 3.0], [1.0, 1.0], low=0.0, high=4.0)
    assert problem.means.tolist() == [2.0, 3.0]
    assert problem.unit_means.tolist() == [0.5, 0.75]


def test_sample_means_are_the_means():
    problems = (
        uli.BernoulliBandit([0.3]),
        uli.GaussianBandit([-1.0], sigma=2.0),
        uli.BetaBandit([2.0], [3.0]),
        uli.DeterministicBandit([0.25]),
    )
    import numba

    from uli_fast.kernels.rewards.laws import play_one

    @numba.njit
    def draw(law, total, k):
        for n in range(k):
            total = play_one(law, 0, n, total)
        return total

    for problem in problems:
        law = problem.law(stream(0, 0))
        zero = 0 if isinstance(problem, uli.BernoulliBandit) else 0.0
        assert draw(law, zero, 40_000) / 40_000 == pytest.approx(problem.means[0], abs=0.05)


def test_a_table_carries_a_guarantee_only_if_its_means_are_claimed():
    rewards = [[0.0] * 2000 + [1.0] * 8000, [0.4] * 10_000]
    with pytest.raises(NoGuaranteeError, match="means="):
        uli.SuccessiveElimination(0.1).guarantee(uli.TableBandit(rewards))
    claimed = uli.TableBandit(rewards, means=[0.8, 0.4])
    assert uli.SuccessiveElimination(0.1).guarantee(claimed).bound(1) > 0


def test_printing():
    assert repr(uli.GaussianBandit([1.0, 0.5], sigma=2.0)) == (
        "GaussianBandit(means=[1, 0.5], sigma=2.0)"
    )
    assert "12 arms" in repr(uli.BernoulliBandit([0.5] * 12))
    assert "low=-1.0" in repr(uli.DeterministicBandit([0.5], low=-1, high=1))
