"""How often the guarantee failed, and what its interval means."""

import numpy as np
import pytest
from scipy.stats import binom

import uli_fast as uli
from tests.report.test_page import made
from uli_fast.errors import ArgumentError, NoGuaranteeError
from uli_fast.results import metrics


def test_coverage_states_the_level_of_its_interval():
    runs = uli.simulate(uli.SuccessiveElimination(), uli.BernoulliBandit([0.9, 0.1]), 1000, 20, 1)
    assert runs.coverage().level == 0.95
    assert "level=0.95" in repr(runs.coverage()) and runs.coverage().percent == "95 %"
    wide = runs.coverage(level=0.999)
    assert wide.level == 0.999 and wide.percent == "99.9 %"
    assert wide.high > runs.coverage().high
    for level in (0.0, 1.0, "high", float("nan")):
        with pytest.raises(ArgumentError, match="level: "):
            runs.coverage(level)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("failures", [0, 3, 40])
def test_the_ends_of_the_interval_miss_with_half_of_what_is_left_each(level, failures):
    found = metrics.coverage(np.arange(40) >= failures, 0.1, level)
    miss = (1.0 - level) / 2.0
    if failures < 40:
        assert binom.cdf(failures, 40, found.high) == pytest.approx(miss)
    if failures > 0:
        assert binom.sf(failures - 1, 40, found.low) == pytest.approx(miss)
    assert (found.low == 0.0) == (failures == 0) and (found.high == 1.0) == (failures == 40)


def test_a_gap_that_is_f_is_within_f_whatever_rounding_makes_of_it():
    """F begins as the largest gap; here a gap is that large."""
    rng, above = np.random.default_rng(0), 0
    for _ in range(100):
        theta, length, sigma = rng.uniform(0.1, 10.0, 3)
        arms = [[length], [-length], [length / 3.0]]
        problem = uli.LinearBandit([theta], arms, sigma=sigma)
        learner = uli.LinearElimination(0.1, R=sigma, theta_norm=theta)
        runs = uli.simulate(learner, problem, 100, 1, seed=0)
        above += int(runs.worst_ratio[0] > 1.0)
        assert runs.holds.all() and runs.coverage().failures == 0
    assert above > 0


def test_a_gap_above_f_is_a_failure_however_little_it_is_above():
    ratio = np.array([1.0, 1.0 + 2.0**-52, 1.0 + 2.0**-50, 1.0 + 2.0**-49, 1.0 + 1e-14, 2.0])
    assert metrics.kept(ratio).tolist() == [True, True, True, False, False, False]


def test_pages_name_the_level(tmp_path):
    runs = uli.simulate(uli.SuccessiveElimination(), uli.BernoulliBandit([0.9, 0.1]), 10**6, 3, 1)
    runs.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "with the 95 % interval of its probability" in page
    assert "(95\u00a0% interval, Clopper and Pearson)" in page


def test_coverage_counts_the_runs_that_kept_f_and_says_how_many_did_not():
    runs = made(2, withdrawn=np.where(np.arange(20) < 15, 0, 17))
    found = runs.coverage()
    assert (found.failures, found.runs, found.withdrawn) == (2, 15, 5)
    assert found.of_runs == "15 runs that kept F" and made(2).coverage().of_runs == "20 runs"
    assert found[:7] == metrics.coverage(np.arange(15) >= 2, 0.05)[:7]
    for refused in (runs, made(2, withdrawn=np.full(20, 17))):
        with pytest.raises(NoGuaranteeError, match=r"in \d+ of 20 runs, from round 17 on"):
            assert refused.holds
    with pytest.raises(NoGuaranteeError, match="withdrawn in 20 of 20 runs"):
        refused.coverage()
