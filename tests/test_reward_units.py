"""R is in reward units, half the declared range by default, and never guessed without a range."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from click.testing import CliRunner

import uli_fast as uli
from uli_fast.cli import main
from uli_fast.experiments.experiment_file import ExperimentFile

FREE = {"low": -math.inf, "high": math.inf}
VECTORS = np.array([[1.0, 0.0], [0.0, 1.0]])


def _keep_all(n, total, active, t):
    return active


FRAMEWORK = uli.EliminationFramework(_keep_all, lambda delta, t: 1.0, delta=0.1)
ON_ARMS = {
    "SuccessiveElimination": uli.SuccessiveElimination(0.1),
    "PhasedElimination": uli.PhasedElimination(0.1),
    "BettingElimination": uli.BettingElimination(0.1),
    "UCB": uli.UCB(0.1),
    "LilUCB": uli.LilUCB(0.1),
    "KLUCB": uli.KLUCB(0.1),
    "ThompsonSampling": uli.ThompsonSampling(0.1),
    "EliminationFramework": FRAMEWORK,
}
ON_VECTORS = {
    "LinearElimination": uli.LinearElimination(0.1),
    "SpannerElimination": uli.SpannerElimination(0.1),
}


def refused(call):
    with pytest.raises(uli.errors.ArgumentError, match="R: must be given") as caught:
        call()
    assert caught.value.argument == "R"
    return str(caught.value)


@pytest.mark.parametrize("name", ON_ARMS)
def test_without_a_range_arms_need_r(name, tmp_path):
    learner = ON_ARMS[name]
    refused(lambda: learner.start(["a", "b"], **FREE))
    refused(lambda: uli.Study.open(tmp_path / "s.db", learner, arms=2, **FREE))
    assert not list(tmp_path.iterdir())
    refused(lambda: uli.play(learner, lambda arm: 0.0, 10, 2, **FREE))
    said = refused(lambda: uli.simulate(learner, uli.GaussianBandit([0.0, 1.0], sigma=3.0), 10))
    assert "R=3" in said
    refused(lambda: uli.compare([learner], uli.GaussianBandit([0.0, 1.0]), 10, 1))


@pytest.mark.parametrize("name", [*ON_VECTORS, "LinUCB"])
def test_without_a_range_vectors_need_r(name, tmp_path):
    learner = ON_VECTORS.get(name, uli.LinUCB(0.1))
    problem = uli.LinearBandit([0.5, 0.1], VECTORS, sigma=2.0)
    assert "R=2" in refused(lambda: uli.simulate(learner, problem, 10))
    refused(lambda: learner.start(VECTORS))
    refused(lambda: uli.Study.open(tmp_path / "s.db", learner, arms=VECTORS))
    if name == "LinUCB":
        return
    refused(lambda: learner.guarantee((2, 2)))
    refused(lambda: learner.guarantee(problem))
    refused(lambda: learner.guarantee(VECTORS))
    assert learner.start(VECTORS, low=-1.0, high=2.0).certificate().bound > 0.0


def test_an_arm_set_with_limits_of_its_own_is_no_range_of_rewards():
    refused(lambda: uli.SpannerElimination(0.1).guarantee(uli.arm_sets.Box([0.0, 0.0], [1.0, 1.0])))


def test_adapters_need_r_without_a_range():
    from uli_fast.compat.mabwiser import MAB
    from uli_fast.compat.smpybandits import SuccessiveElimination

    refused(lambda: MAB(["a", "b"], uli.SuccessiveElimination(0.1), **FREE).fit(["a"], [3.0]))
    policy = SuccessiveElimination(2, delta=0.1, lower=-math.inf, amplitude=math.inf)
    refused(policy.startGame)


def test_experiment_files_need_r_without_a_range(tmp_path):
    file = tmp_path / "e.toml"
    text = """
    horizon = 100
    replications = 1
    [problems.g]
    type = "GaussianBandit"
    means = [0.0, 1.0]
    [learners.SE]
    type = "SuccessiveElimination"
    """
    file.write_text(text)
    with pytest.raises(uli.errors.UliError, match="R: must be given"):
        ExperimentFile.read(file)
    file.write_text(text + "R = 1.0\n")
    assert len(ExperimentFile.read(file).cells) == 1


def test_planning_needs_r_without_a_range():
    free = ["plan", "--gaps", "0.5,1", "--low", "-inf", "--high", "inf"]
    run = CliRunner().invoke(main, free)
    assert run.exit_code == 1 and "R: must be given" in run.output
    run = CliRunner().invoke(main, [*free, "--R", "2"])
    assert run.exit_code == 0, run.output
    problem = uli.GaussianBandit([0.0, -0.5, -1.0], sigma=2.0)
    bound = uli.SuccessiveElimination(0.05, R=2.0).guarantee(problem)
    assert str(bound.rounds_until(0.1, [0.5, 1.0])) in run.output
    assert "Meta, Exp3.P has no guarantee" in run.output
    run = CliRunner().invoke(main, ["plan", "--arms", "3", "--low", "-inf", "--high", "inf"])
    assert run.exit_code != 0


def test_planning_for_a_wider_range_is_in_its_units():
    one = CliRunner().invoke(main, ["plan", "--arms", "3", "--eps", "0.1"]).output
    ten = ["plan", "--arms", "3", "--high", "10", "--eps", "1"]
    for more in ([], ["--R", "5"]):
        wide = CliRunner().invoke(main, [*ten, *more]).output
        rows = [re.findall(r"Elimination +(\S+)", text) for text in (one, wide)]
        assert len(rows[0]) == 3 and rows[0] == rows[1]


def test_r_is_in_reward_units_on_arms():
    """A problem ten times as wide is the same problem, R and all."""
    unit = uli.BernoulliBandit([0.5, 0.3])
    wide = uli.BernoulliBandit([5.0, 3.0], high=10.0)
    for kind in (uli.SuccessiveElimination, uli.PhasedElimination, uli.UCB, uli.LilUCB):
        for R in (None, 0.5, 0.625):
            one = uli.simulate(kind(0.1, R), unit, 5000, 3, seed=1)
            other = uli.simulate(kind(0.1, R and 10.0 * R), wide, 5000, 3, seed=1)
            assert (one.plays == other.plays).all()
        explicit = uli.simulate(kind(0.1, 5.0), wide, 5000, 3, seed=1)
        default = uli.simulate(kind(0.1), wide, 5000, 3, seed=1)
        assert (explicit.plays == default.plays).all()


def test_guarantees_are_in_reward_units():
    wide = uli.BernoulliBandit([5.0, 3.0], high=10.0)
    for kind in (uli.SuccessiveElimination, uli.PhasedElimination):
        bound = kind(0.1, 5.0).guarantee(wide).bound(1000)
        assert bound == kind(0.1).guarantee(wide).bound(1000)
        assert bound == pytest.approx(10.0 * kind(0.1).guarantee(2).bound(1000))
        with pytest.raises(uli.errors.NoGuaranteeError, match="use R = 5 or more"):
            kind(0.1, 0.5).guarantee(wide)


def test_half_of_a_range_that_is_rounded_is_half_of_it():
    problem = uli.BernoulliBandit([0.15, 0.35], low=0.1, high=0.4)  # 0.4 - 0.1 > 0.3
    assert uli.SuccessiveElimination(0.1, R=0.15).guarantee(problem).proved


def test_a_live_player_on_a_wide_range_is_no_wider_than_it_must_be():
    for R in (None, 5.0):
        player = uli.SuccessiveElimination(0.05, R).start(2, low=0.0, high=10.0)
        unit = uli.SuccessiveElimination(0.05).start(2)
        for i in range(400):
            for live, scale in ((player, 10.0), (unit, 1.0)):
                decision = live.ask()
                live.tell(decision.id, scale * float((i * 7) % 10 < (2, 8)[decision.arm]))
        assert player.active == unit.active == (1,)
        for wide, narrow in zip(
            player.intervals().values(), unit.intervals().values(), strict=True
        ):
            assert wide == pytest.approx([10.0 * x for x in narrow])


def test_vectors_within_a_range_have_half_of_it():
    problem = uli.LinearBandit([0.5, 0.1], VECTORS, noise="bernoulli")
    for kind in (uli.LinearElimination, uli.SpannerElimination):
        one = uli.simulate(kind(0.1), problem, 10**5, 2, seed=1)
        other = uli.simulate(kind(0.1, R=0.5), problem, 10**5, 2, seed=1)
        assert (one.regret == other.regret).all()
        assert one.guarantee.bound(100) == other.guarantee.bound(100)


def test_absurd_r_names_what_is_allowed():
    player = uli.SuccessiveElimination(0.1, R=1e-9)
    with pytest.raises(uli.errors.ArgumentError, match=r"R: must lie in \[1e-06, 1e\+06\]"):
        player.start(2)
    with pytest.raises(uli.errors.ArgumentError, match="R: must be positive"):
        uli.LinearElimination(0.1, R=0.0)


def test_wide_noise_is_never_certified_on_a_default():
    """N(0, 10) against N(1, 10): half of the runs ended with the worse arm, certified."""
    rng, lost = np.random.default_rng(1), 0
    for _ in range(100):
        player = uli.SuccessiveElimination(0.05, R=10.0).start(["a", "b"], **FREE)
        for _ in range(200):
            decision = player.ask()
            player.tell(decision.id, rng.normal(0.0 if decision.arm == "a" else 1.0, 10.0))
        lost += "b" not in player.active
    assert lost == 0


def test_far_means_end_and_claim_nothing_of_the_event():
    """Sums far from 0 are rounded by more than their intervals: nobody looks inside blocks."""
    far, near = uli.GaussianBandit([1e9, 0.0]), uli.GaussianBandit([1.0, 0.0])
    learner = uli.SuccessiveElimination(0.05, R=1.0)
    assert uli.simulate(learner, far, 10**13, seed=1).event_held is None
    assert uli.simulate(learner, near, 10**13, seed=1).event_held is not None
    assert uli.simulate(learner, far, 100, seed=1, engine="rounds").event_held is not None
