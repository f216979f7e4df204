"""Experiment files: what they may say, and errors that point at the key."""

import numpy as np
import pytest

import uli_fast as uli
from uli_fast import experiments
from uli_fast.errors import ConfigError
from uli_fast.experiments import ExperimentFile
from uli_fast.experiments.build import learner_of, problem_of

GOOD = """
title = "Trials"
horizon = 1_000
replications = 3
seed = 7

[problems.isis2]
dataset = "isis2"

[problems.two]
type = "BernoulliBandit"
sweep = { means = [[0.5, 0.4], [0.5, 0.45]] }

[learners.SE]
type = "SuccessiveElimination"
sweep = { delta = [0.05, 0.01], R = [0.5, 1.0] }

[learners.UCB]
type = "UCB"
on = ["two"]
"""


def test_cells_are_problems_by_learners():
    experiment = ExperimentFile.parse(GOOD)
    assert (experiment.title, experiment.replications) == ("Trials", 3)
    names = [(cell.learner, cell.problem) for cell in experiment.cells]
    assert len(names) == 4 * 3 + 2 and len(set(names)) == len(names)
    assert ("SE (delta=0.01, R=1.0)", "two (means 2)") in names
    assert ("UCB", "isis2") not in names
    assert len({cell.id for cell in experiment.cells}) == len(names)


def test_a_cell_s_id_depends_on_everything_but_the_number_of_replications():
    ids = {cell.id for cell in ExperimentFile.parse(GOOD).cells}
    more = GOOD.replace("replications = 3", "replications = 9")
    assert {cell.id for cell in ExperimentFile.parse(more).cells} == ids
    for old, new in (("seed = 7", "seed = 8"), ("1_000", "1_001"), ("0.4]", "0.41]")):
        assert not {cell.id for cell in ExperimentFile.parse(GOOD.replace(old, new)).cells} >= ids


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("horizon", "horizont", "horizont"),
        ("horizon = 1_000", "", "horizon"),
        ("horizon = 1_000", "horizon = 0", "horizon"),
        ("horizon = 1_000", "horizon = 'long'", "horizon"),
        ("horizon = 1_000", "horizon = 10_000_000_000_000_000_000", "horizon"),
        ("replications = 3", "replications = 0", "replications"),
        ("replications = 3", f"replications = {10**30}", "replications"),
        ("seed = 7", "seed = -1", "seed"),
        ("seed = 7", "engine = 'warp'", "engine"),
        ("seed = 7", "rounds = [2000]", "rounds"),
        ('dataset = "isis2"', 'dataset = "isis3"', "problems.isis2.dataset"),
        ('dataset = "isis2"', 'dataset = "isis2"\nmeans = [1]', "problems.isis2.means"),
        ('"BernoulliBandit"', '"BernouliBandit"', "problems.two.type"),
        ('type = "BernoulliBandit"', "", "problems.two.type"),
        ("sweep = { means", "sweep = { meens", "problems.two.sweep.meens"),
        ('"SuccessiveElimination"', '"Successive"', "learners.SE.type"),
        ('"SuccessiveElimination"', '"EliminationFramework"', "learners.SE.type"),
        ("delta = [0.05, 0.01]", "delta = [0.05, 2]", "learners.SE.sweep.delta"),
        ("delta = [0.05, 0.01]", "delta = [0.05, 0.05]", "learners.SE.sweep.delta"),
        ("[0.5, 0.4], ", "[0.5, 1.4], ", "problems.two.sweep.means"),
        ("[learners.UCB]", '[learners." "]', "learners.' '"),
        ("[learners.UCB]", '[learners.""]', "learners.''"),
        (
            "[learners.UCB]",
            '[learners."SE (delta=0.05, R=0.5)"]',
            "learners.SE (delta=0.05, R=0.5)",
        ),
        ("delta = [0.05, 0.01]", "delta = 0.05", "learners.SE.sweep.delta"),
        ("delta = [0.05, 0.01]", "delta = []", "learners.SE.sweep.delta"),
        ('type = "UCB"', 'type = "UCB"\ndetla = 0.1', "learners.UCB.detla"),
        ('on = ["two"]', 'on = ["three"]', "learners.UCB.on"),
        ('on = ["two"]', 'on = "two"', "learners.UCB.on"),
        ('type = "UCB"', 'type = "UCBVI"', "learners.UCB"),
        ("[learners.UCB]", "[learners.UCB", "file"),
        ("[problems.isis2]", "[problem.isis2]", "problem"),
    ],
)
def test_errors_point_at_the_key(old, new, key):
    assert old in GOOD
    with pytest.raises(ConfigError) as refused:
        ExperimentFile.parse(GOOD.replace(old, new, 1))
    assert refused.value.argument == key


def test_brackets_without_end_are_refused():
    with pytest.raises(ConfigError, match="file: is nested too deeply"):
        ExperimentFile.parse(f"horizon = {'[' * 5000}{']' * 5000}")


def test_a_typing_error_gets_a_hint():
    with pytest.raises(ConfigError, match="did you mean 'delta'"):
        ExperimentFile.parse(GOOD.replace('type = "UCB"', 'type = "UCB"\ndetla = 0.1'))


@pytest.mark.parametrize(
    ("old", "new", "meant"),
    [("seed = 7", "seeds = 7", "seed"), ("[learners.UCB]", "[learner.UCB]", "learners")],
)
def test_a_typing_error_at_the_top_gets_a_hint(old, new, meant):
    with pytest.raises(ConfigError, match=f"did you mean '{meant}'"):
        ExperimentFile.parse(GOOD.replace(old, new))


def test_problems_that_no_learner_plays_are_known():
    assert ExperimentFile.parse(GOOD).unplayed == ()
    alone = GOOD.replace('type = "SuccessiveElimination"', """type = "UCB"\non = ["isis2"]""")
    alone = alone.replace('on = ["two"]', 'on = ["isis2"]')
    assert ExperimentFile.parse(alone).unplayed == ("two (means 1)", "two (means 2)")


def test_errors_say_what_to_do():
    for old, new, said in (
        ('"SuccessiveElimination"', '"EliminationFramework"', r"functions; use simulate\(check"),
        (
            'type = "UCB"',
            'type = "MetaElimination"\nbase = { type = "UCB" }',
            r"It can be Exp3P, G",
        ),
        ('type = "UCB"', 'type = "MetaElimination"\nbase = { type = "Exp3" }', "mean 'Exp3P'"),
        ("delta = [0.05, 0.01]", "delta = [0.05, 0.05]", r"holds 0\.05 twice"),
    ):
        with pytest.raises(ConfigError, match=said) as refused:
            ExperimentFile.parse(GOOD.replace(old, new, 1))
        assert "UCB," not in str(refused.value).partition("It can be")[2]


def test_a_byte_order_mark_is_accepted(tmp_path):
    (tmp_path / "s.toml").write_text(GOOD, encoding="utf-8-sig")
    assert len(ExperimentFile.read(tmp_path / "s.toml").cells) == 14
    assert len(ExperimentFile.parse("\ufeff" + GOOD).cells) == 14


@pytest.mark.parametrize("name", [".hidden", "-rf", "..", "\u4e2d\u6587", "a/b", "x" * 99])
def test_folders_of_cells_have_harmless_names(name):
    for cell in ExperimentFile.parse(GOOD.replace("isis2]", f'"{name}"]')).cells:
        assert cell.id[0].isalnum() and "/" not in cell.id and len(cell.id) < 80


ALIKE = [
    ({"a": "\u00e9"}, {"a": "\u00e8"}),
    ({"a": "x: y"}, {"a": "x/ y"}),
    ({"a": "x" * 80 + "1"}, {"a": "x" * 80 + "2"}),
    ({"a": "b--c"}, {"a--b": "c"}),
]


@pytest.mark.parametrize("pairs", ALIKE)
def test_cells_that_differ_in_their_names_alone_are_kept_apart(pairs, tmp_path):
    text = "horizon = 500\nreplications = 3\n"
    for problem in {problem for pair in pairs for problem in pair}:
        text += f'[problems."{problem}"]\ntype = "BernoulliBandit"\nmeans = [0.9, 0.1]\n'
    for pair in pairs:
        for problem, learner in pair.items():
            text += f'[learners."{learner}"]\ntype = "UCB"\non = ["{problem}"]\n'
    experiment = ExperimentFile.parse(text)
    first, second = (cell.id for cell in experiment.cells)
    assert first != second and first[:-12] == second[:-12]  # their words are the same
    experiments.run(experiment, tmp_path / "r", replications=1)
    said = []
    results = experiments.run(experiment, tmp_path / "r", resume=True, say=said.append)
    assert results.complete and not said
    found = {(p, name) for p, c in results.comparisons.items() for name in c.runs}
    assert found == {item for pair in pairs for item in pair.items()}
    assert len(list((tmp_path / "r/cells").iterdir())) == 2


def test_cells_without_a_guarantee_are_known():
    text = GOOD.replace('"BernoulliBandit"', '"GaussianBandit"').replace('"UCB"', '"UCB"\nR = 1.0')
    reasons = {(c.learner, c.problem): c.no_guarantee for c in ExperimentFile.parse(text).cells}
    assert "1-subgaussian" in reasons["SE (delta=0.05, R=0.5)", "two (means 1)"]
    assert reasons["SE (delta=0.05, R=1.0)", "two (means 1)"] is None
    assert reasons["UCB", "two (means 1)"] is None  # a rival


def test_missing_and_garbled_files(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        ExperimentFile.read(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read"):
        ExperimentFile.read(tmp_path / "bytes.toml")


def test_every_kind_of_problem_and_learner_can_be_written_down():
    meta = learner_of("x", {"type": "MetaElimination", "base": {"type": "Exp3P", "constant": 200}})
    assert meta == uli.MetaElimination(uli.Exp3P(constant=200))
    policy = learner_of("x", {"type": "PolicyElimination", "schedule": [0.1, 1.0]})
    assert policy == uli.PolicyElimination(schedule=(0.1, 1.0))
    ball = problem_of(
        "x", {"type": "LinearBandit", "theta": [1.0, 0.0], "arm_set": {"type": "Ball", "d": 2}}
    )
    assert ball.optimal_value == pytest.approx(1.0)
    finite = problem_of(
        "x", {"type": "LinearBandit", "theta": [1.0], "arms": [[1.0], [0.5]], "noise": "bernoulli"}
    )
    assert finite.n_arms == 2
    river = problem_of("x", {"type": "mdps.river_swim", "n_states": 3, "restricted": True})
    assert river.n_policies == uli.mdps.river_swim(3).restricted().n_policies
    mdp = problem_of(
        "x", {"type": "TabularMDP", "transitions": [[[1.0]]], "rewards": [[0.5]], "horizon": 2}
    )
    assert mdp.optimal_value == 1.0
    assert np.allclose(
        problem_of("x", {"dataset": "recovery"}).means, 1 - np.array([482 / 2104, 1110 / 4321])
    )
    with pytest.raises(ConfigError) as refused:
        learner_of(
            "learners.m", {"type": "MetaElimination", "base": {"type": "Exp3P", "constant": 0}}
        )
    assert refused.value.argument == "learners.m.base.constant"
    with pytest.raises(ConfigError, match="tabular"):
        problem_of("x", {"type": "BernoulliBandit", "means": [0.5], "restricted": True})
