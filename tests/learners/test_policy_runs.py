"""What a run of policy elimination remembers, and what it warns of."""

import math

import numpy as np
import pytest

import uli_fast as uli
from tests.support.policies import TINY, Shrunk, trace_of, wide_gaps

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::uli_fast.errors.{name}")
    for name in ("GuaranteeWarning", "SaturationWarning")
]


def test_the_regret_of_all_learners_is_drawn_in_one_figure(tmp_path):
    rivals = [Shrunk(0.1), uli.UCBVI(0.1), uli.UBEV(0.1)]
    result = uli.compare(rivals, uli.mdps.river_swim(2, 2).restricted(), 3000, 2, seed=1)
    figure = result.plot(tmp_path / "regret.svg", what="regret")
    drawn = [line for line in figure.axes[0].get_lines() if line.get_label() in result.runs]
    assert len(drawn) == 3 and (tmp_path / "regret.svg").stat().st_size > 1000
    for line in drawn:
        runs = result.runs[line.get_label()]
        assert line.get_ydata()[-1] == pytest.approx(np.median(runs.final_regret()))


def test_what_is_not_known_of_estimates_is_not_claimed(monkeypatch):
    mdp = uli.mdps.random_dense(2, 2, 2, seed=3)
    listed, searched = (Shrunk(0.1, log_iota=0.05, method=x) for x in ("auto", "search"))
    assert uli.simulate(listed, mdp, 300, seed=1).event_held.dtype == bool
    runs = uli.simulate(searched, mdp, 300, seed=1)
    assert runs.event_held is None and math.isnan(runs.phases[0][0].error)
    wrong = uli.simulate(Shrunk(0.1, log_iota=1e-6, length=2), mdp, 30, replications=20, seed=1)
    assert not wrong.event_held.all()


def simulate(mdp, T, M=1, **more):
    return uli.simulate(Shrunk(0.1, log_iota=0.05), mdp, T, M, **more)


def test_runs_hold_what_the_trace_says():
    mdp, T = uli.mdps.random_dense(3, 2, 3, seed=6), 900
    trace, run = trace_of(Shrunk(0.1, log_iota=0.05), mdp, T, 7)
    runs = simulate(mdp, T, seed=7, engine="rounds", rounds=range(1, T + 1))
    gaps = np.array([mdp.gap(pi) for pi in trace])
    assert runs.regret[0] == pytest.approx(np.cumsum(gaps), abs=1e-9)
    assert runs.final_regret()[0] == pytest.approx(gaps.sum())
    assert runs.mistakes(0.1)[0] == (gaps > 0.1).sum()
    assert runs.last_mistake(0.1)[0] == 1 + np.flatnonzero(gaps > 0.1).max()
    assert runs.gap_from(np.array([1, 400]))[0] == pytest.approx([gaps.max(), gaps[399:].max()])
    played = {tuple(p.ravel()): i for i, p in enumerate(runs.policies[0])}
    assert len(played) == len(np.unique(trace, axis=0)) > 64  # the policy_log has grown
    for t, pi in enumerate(trace, start=1):
        assert runs.last_play[0, played[tuple(pi.ravel())]] >= t
    assert (runs.visits[0] == run.visits).all()
    bound = uli.PolicyElimination(0.1).guarantee(mdp)
    ratios = gaps / bound.bound(np.arange(1.0, T + 1))
    assert runs.worst_ratio_against(bound)[0] == pytest.approx(ratios.max())
    assert np.isnan(runs.worst_ratio).all()


def test_gaps_and_regret_come_in_reward_units():
    mdp = uli.mdps.random_dense(2, 2, 2, seed=3)
    scaled = uli.TabularMDP(
        mdp.transitions, 10.0 + 5.0 * mdp.rewards, mdp.initial, low=10.0, high=15.0
    )
    plain, other = simulate(mdp, 300, seed=1), simulate(scaled, 300, seed=1)
    assert other.regret == pytest.approx(5.0 * plain.regret)
    assert other.gaps == pytest.approx(5.0 * plain.gaps)
    assert other.phases[0][0].error == pytest.approx(5.0 * plain.phases[0][0].error)
    guarantee = uli.PolicyElimination(0.1).guarantee(scaled)
    assert guarantee.bound(1) == 10.0


def test_rounding_is_no_gap():
    P = uli.mdps.random_dense(3, 2, 3, seed=4).transitions
    mdp = uli.TabularMDP(P, np.full((3, 3, 2), 0.1), [0.2, 0.3, 0.5])  # all policies earn 0.3
    runs = simulate(mdp, 500, seed=1)
    assert (runs.final_plays > 0).sum() > 20
    assert not runs.gaps.any() and not runs.regret.any()
    assert runs.last_mistake()[0] == 0


def test_the_event_is_that_every_estimate_was_good_enough():
    mdp = uli.mdps.random_dense(2, 2, 2, seed=1)
    runs = simulate(mdp, 1000, 60, seed=1)
    expected = [all(not p.error > 2.0 ** (-p.number - 1) for p in phases) for phases in runs.phases]
    assert runs.event_held.tolist() == expected
    assert 0 < sum(expected) < 60


@pytest.mark.parametrize("method", ["auto", "plain", "trie"])
def test_the_same_seed_gives_the_same_bits(method):
    mdp = uli.mdps.random_dense(3, 2, 2, seed=1)
    learner = Shrunk(0.1, method=method, log_iota=0.05)
    runs = uli.simulate(learner, mdp, 700, 6, seed=5)
    threads = uli.simulate(learner, mdp, 700, 6, seed=5, n_jobs=2, rounds=[3, 700])
    fewer = uli.simulate(learner, mdp, 700, 3, seed=5)
    assert (runs.last_play == threads.last_play).all()
    assert (runs.visits == threads.visits).all()
    assert (runs.regret[:, -1] == threads.regret[:, -1]).all()
    D = fewer.last_play.shape[1]
    assert (runs.last_play[:3, :D] == fewer.last_play).all()
    assert (runs.visits[:3] == fewer.visits).all()


def test_a_longer_horizon_continues_the_same_path():
    mdp = uli.mdps.random_dense(2, 2, 3, seed=1)
    long, _ = trace_of(Shrunk(0.1), mdp, 500, 2)
    short, _ = trace_of(Shrunk(0.1), mdp, 130, 2)
    assert (long[:130] == short).all()


def test_runs_are_saved_and_loaded(tmp_path):
    mdp = uli.mdps.two_stage_treatment()
    runs = simulate(mdp, 400, 2, seed=3)
    runs.save(tmp_path / "runs")
    again = uli.Runs.load(tmp_path / "runs")
    assert (again.policies == runs.policies).all() and (again.visits == runs.visits).all()
    assert again.phases[0][0] == runs.phases[0][0]
    assert (again.regret == runs.regret).all()
    runs.table()
    runs.to_pandas()


def test_a_proved_run_keeps_its_guarantee_and_says_so(tmp_path):
    mdp = wide_gaps(2, 2, 1, seed=2)
    runs = uli.simulate(uli.PolicyElimination(0.1, "sharp"), mdp, 10**6, 8, seed=1)
    assert runs.holds.all() and runs.event_held.all()
    assert runs.coverage().failures == 0
    runs.save(tmp_path / "runs")
    assert uli.Runs.load(tmp_path / "runs").holds.all()
    runs.plot(tmp_path / "gap.png")


def test_short_phases_that_end_saturated_warn():
    mdp = uli.mdps.random_dense(2, 2, 2, seed=1)
    with pytest.warns(uli.errors.SaturationWarning, match="phase 1 ended saturated.*100%"):
        uli.simulate(uli.PolicyElimination(0.1, TINY), mdp, 1000, seed=1)


def test_a_phase_that_is_mostly_unsaturated_does_not_warn(recwarn):
    mdp = uli.mdps.random_dense(3, 2, 2, seed=1)
    runs = uli.simulate(Shrunk(0.1, log_iota=0.05), mdp, 50, seed=4)
    assert 0.1 < runs.phases[0][0].saturated < 0.9
    assert any(w.category is uli.errors.SaturationWarning for w in recwarn)
    recwarn.clear()
    runs = uli.simulate(Shrunk(0.1, log_iota=1e-4), mdp, 50, seed=5)
    assert runs.phases[0][0].saturated <= 0.1
    assert not any(w.category is uli.errors.SaturationWarning for w in recwarn)
