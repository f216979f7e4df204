"""Learners on listed vectors, on the vertices of an arm set."""

import json

import numpy as np
import pytest

import uli_fast as uli
from uli_fast import experiments
from uli_fast.errors import ArgumentError
from uli_fast.problems.linear import coordinates

SETS = uli.arm_sets
SQUARE = SETS.Polytope(np.vstack([np.eye(2), -np.eye(2)]), [1.0, 0.5, 1.0, 0.5])
REGIONS = (SETS.Simplex(4), SETS.L1Ball(4), SETS.Box([-1.0] * 3, [1.0] * 3), SQUARE)
LEARNERS = (uli.LinearElimination(0.1, R=1.0), uli.LinUCB(0.1, R=1.0))


def direction(d, seed=0):
    theta = np.random.default_rng(seed).standard_normal(d)
    return theta / np.linalg.norm(theta)


@pytest.mark.parametrize("noise", ["gaussian", "uniform", "bernoulli"])
@pytest.mark.parametrize("region", REGIONS, ids=repr)
def test_gaps_are_those_of_the_problem(region, noise):
    theta = 0.4 * direction(region.dimension, 1)
    problem = uli.LinearBandit(theta, arm_set=region, sigma=0.3, noise=noise)
    listed = problem.on_vertices()
    assert listed is problem.on_vertices() and listed.on_vertices() is listed
    assert np.allclose(listed.gaps, problem.gaps_of(listed.arms), atol=1e-8)
    assert listed.means.max() == pytest.approx(problem.optimal_value, abs=1e-8)
    for name in ("low", "high", "intercept", "sigma", "noise_subgaussian"):
        expected = getattr(problem, name)
        assert getattr(listed, name) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("region", REGIONS, ids=repr)
def test_runs_are_those_on_the_list(region, learner):
    theta = direction(region.dimension)
    problem = uli.LinearBandit(theta, arm_set=region, sigma=0.5)
    runs = uli.simulate(learner, problem, 20_000, 3, seed=1)
    names = coordinates(region.vertices())
    listed = uli.LinearBandit(theta, region.vertices(), sigma=0.5, names=names)
    expected = uli.simulate(learner, listed, 20_000, 3, seed=1)
    for name in ("plays", "last_play", "eliminated_at", "regret", "gaps"):
        assert (getattr(runs, name) == getattr(expected, name)).all(), name
    assert runs.names == tuple(names) and runs.problem == repr(problem)
    assert runs.plays.shape[2] == len(region.vertices())


def test_a_box_of_ten_dimensions_has_1024_arms():
    problem = uli.LinearBandit(direction(10), arm_set=SETS.Box([-0.3] * 10, [0.3] * 10), sigma=0.1)
    learner = uli.LinearElimination(0.05, R=0.1)
    runs = uli.simulate(learner, problem, 10**6, 2, seed=1)
    assert runs.last_play.shape == (2, 1024) and runs.holds.all()
    assert (runs.eliminated_at > 0).any(axis=1).all()


def test_the_guarantee_is_that_of_the_list():
    for region in REGIONS:
        arms = region.vertices()
        learner = uli.LinearElimination(0.05, R=1.0)
        problem = uli.LinearBandit(direction(region.dimension), arm_set=region)
        assert learner.guarantee(region) == learner.guarantee(arms)
        assert learner.guarantee(problem) == learner.guarantee(problem.on_vertices())
        plain = learner.guarantee(arms).bound(
            10**6
        )  # gaps, and what is hidden of them, are unknown
        assert learner.guarantee(problem).bound(10**6) == pytest.approx(plain, rel=1e-5)
        spanner = uli.SpannerElimination(0.05, R=1.0).guarantee(region)
        assert learner.guarantee(region).rounds_until(0.1) < spanner.rounds_until(0.1)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda x: type(x).__name__)
def test_sets_without_a_list_are_refused_by_name(learner):
    ball = SETS.Ball(2)
    problem = uli.LinearBandit([1.0, 0.0], arm_set=ball)
    for argument, call in (
        ("problem", lambda: uli.simulate(learner, problem, 100)),
        ("problem", lambda: uli.compare([learner], problem, 100, 1)),
        ("arms", lambda: learner.start(ball)),
    ):
        with pytest.raises(ArgumentError, match="SpannerElimination") as caught:
            call()
        assert caught.value.argument == argument and "Ball" in str(caught.value)
    large = uli.LinearBandit(np.ones(13), arm_set=SETS.Box([0.0] * 13, [0.1] * 13))
    with pytest.raises(ArgumentError, match="8192 vertices, more than 4096") as caught:
        uli.simulate(learner, large, 100)
    assert caught.value.argument == "problem"
    with pytest.raises(ArgumentError, match="SpannerElimination") as caught:
        uli.LinearElimination(R=1.0).guarantee(problem)
    assert caught.value.argument == "about"


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda x: type(x).__name__)
def test_live_decisions_are_rows_of_the_vertices(learner):
    arms, theta = SQUARE.vertices(), np.array([0.6, -0.3])
    player, listed = learner.start(SQUARE), learner.start(arms)
    assert (player.features == arms).all()
    for _ in range(200):
        decision = player.ask()
        assert decision == listed.ask()
        for one in (player, listed):
            one.tell(decision.id, float(arms[decision.arm] @ theta))
    again = uli.restore(json.loads(json.dumps(player.state())))
    assert again.state() == player.state() == listed.state()
    assert again.ask() == player.ask()


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda x: type(x).__name__)
def test_a_study_keeps_the_list(learner, tmp_path):
    path = tmp_path / "square.db"
    with uli.Study.open(path, learner, arms=SQUARE, low=-2.0, high=2.0) as study:
        first = study.ask("one")
        study.tell(first.id, 0.5)
    with uli.Study.open(path) as study:  # the file knows its arms
        assert study.ask("one") == first
    with uli.Study.open(path, learner, arms=SQUARE) as study:
        assert len(study.active) == 4
    with pytest.raises(ArgumentError, match="arms"):
        uli.Study.open(path, learner, arms=SETS.Simplex(2))
    assert len(uli.Study.audit(path).arms) == 4


def test_experiments_and_checkpoints(tmp_path):
    text = """
        horizon = 3000
        replications = 2
        seed = 1
        [problems.simplex]
        type = "LinearBandit"
        theta = [0.9, 0.1, 0.2]
        sigma = 0.5
        arm_set = {type = "Simplex", d = 3}
        [learners.vertices]
        type = "LinearElimination"
        R = 0.5
        [learners.spanner]
        type = "SpannerElimination"
        R = 0.5
    """
    file = tmp_path / "both.toml"
    file.write_text(text)
    found = experiments.run(file, tmp_path / "out")
    problem = uli.LinearBandit([0.9, 0.1, 0.2], arm_set=SETS.Simplex(3), sigma=0.5)
    learner = uli.LinearElimination(R=0.5)
    runs = uli.simulate(learner, problem, 3000, 2, 1, checkpoint=tmp_path / "kept")
    again = uli.simulate(learner, problem, 3000, 2, 1, checkpoint=tmp_path / "kept")
    assert (runs.plays == again.plays).all() and runs.names == (
        "(1, 0, 0)",
        "(0, 1, 0)",
        "(0, 0, 1)",
    )
    runs.save(tmp_path / "saved")
    loaded = uli.Runs.load(tmp_path / "saved")
    assert loaded.names == runs.names and loaded.problem == repr(problem)
    cell = found.comparisons["simplex"]["vertices"]
    assert (cell.regret[:, -1] == runs.regret[:, -1]).all() and cell.names == runs.names


def test_both_ways_are_compared_on_one_problem():
    problem = uli.LinearBandit(direction(3), arm_set=SETS.Simplex(3), sigma=0.5)
    learners = [uli.LinearElimination(R=0.5), uli.SpannerElimination(R=0.5), uli.LinUCB(R=0.5)]
    result = uli.compare(learners, problem, 5000, 2, seed=1)
    assert {runs.problem for runs in result.runs.values()} == {repr(problem)}
    result.table()


def test_names_tell_the_arms():
    assert coordinates(np.array([[1.0, 0.5], [1.0, 0.25]])) == ["(1, 0.5)", "(1, 0.25)"]
    near = np.array([[1.0], [1.0 + 1e-9]])
    assert len(set(coordinates(near))) == 2
    assert coordinates(np.array([[1.0], [1.0]])) is None  # points may repeat
    assert coordinates(np.eye(17)) is None
