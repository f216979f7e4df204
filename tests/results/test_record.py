"""A record of arms, of an arm set or of policies: who reads it need not know which."""

import ast
import functools
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import uli_fast as uli
from uli_fast.errors import ArgumentError, UliError, UnsupportedError
from uli_fast.results.record import COLUMNS
from uli_fast.results.tables import stacked

PAPER = functools.partial(uli.LinearElimination, schedule="paper")

PACKAGE = Path(uli.__file__).parent
ARMS = uli.BernoulliBandit([0.9, 0.5, 0.1], names=["a", "b", "c"])
VECTORS = uli.LinearBandit([0.9, 0.1], [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
BALL = uli.LinearBandit([0.5, 0.2], arm_set=uli.arm_sets.Ball(2))
MDP = uli.mdps.combination_lock(length=1, n_actions=2)
PAIRS = {
    "arms": (uli.SuccessiveElimination(0.1), ARMS),
    "rival": (uli.UCB(0.1), ARMS),
    "vectors": (PAPER(0.1, R=1.0), VECTORS),
    "vectors, sharp": (uli.LinearElimination(0.1, R=1.0), VECTORS),
    "spanner": (uli.SpannerElimination(0.1, R=1.0), VECTORS),
    "set": (uli.SpannerElimination(0.1, R=1.0), BALL),
    "policies": (uli.PolicyElimination(0.1, "sharp"), MDP),
}


@pytest.fixture(scope="module")
def kinds():
    return {
        name: uli.simulate(learner, problem, 10**4, 3, seed=1)
        for name, (learner, problem) in PAIRS.items()
    }


@pytest.fixture(scope="module")
def blind():
    return uli.play(uli.SuccessiveElimination(0.1), lambda arm: [0.8, 0.3][arm], 500, 2)


@pytest.mark.parametrize("kind", PAIRS)
def test_every_round_plays_one_of_the_decisions(kinds, kind):
    runs = kinds[kind]
    made = runs.decisions()
    assert len({x.shape for x in made}) == 1 and made.last.shape[0] == runs.replications
    assert (made.plays.sum(axis=1) == runs.horizon).all()
    assert (made.last.max(axis=1) == runs.horizon).all()
    assert np.allclose((made.plays * made.gaps).sum(axis=1), runs.final_regret())
    assert runs.has_gaps and runs.has_regret
    assert set(runs.worse_gaps) >= set(made.gaps[(made.gaps > 0.0) & (made.plays > 0)])


def test_what_there_is_none_of_is_empty(kinds):
    def having(what):
        return {kind for kind, runs in kinds.items() if what(runs)}

    vectors = {"vectors", "vectors, sharp"}
    named = {"arms", "rival", "spanner"} | vectors
    assert having(lambda r: r.arms.names) == having(lambda r: r.has_all_gaps) == named
    assert having(lambda r: r.plays_by_arm) == {"arms", "rival"} | vectors
    assert having(lambda r: r.eliminates_arms) == {"arms"} | vectors
    assert having(lambda r: r.eliminates) == {"arms", "policies"} | vectors
    assert having(lambda r: r.makes_looks) == set()
    assert having(lambda r: r.spanners()) == {"set"}
    assert having(lambda r: r.policy_phases.left.size) == {"policies"}
    assert having(lambda r: r.oracle_work[:, :, 0].any()) == {"spanner", "set"}
    assert having(lambda r: r.unit == "episode") == {"policies"}


@pytest.mark.parametrize("kind", ["arms", "rival", "vectors", "vectors, sharp", "spanner"])
def test_arms_with_names_stand_in_one_table(kinds, kind):
    runs, (_, problem) = kinds[kind], PAIRS[kind]
    arms = runs.arms
    assert arms.names == problem.names and (arms.gaps == problem.gaps).all()
    assert (arms.plays.sum(axis=1) == runs.horizon).all()
    assert ((arms.last > 0) == (arms.plays > 0)).all()
    assert (arms.eliminated > 0).any() == runs.eliminates_arms
    assert runs.allocation() is arms.plays
    for a, (name, plays) in enumerate(runs.plays_by_arm.items()):
        assert name == arms.names[a] and (plays[:, -1] == arms.plays[:, a]).all()
        assert (runs.allocation(by=1)[:, a] == plays[:, 0]).all()


def test_unknown_means_leave_gaps_that_are_no_numbers(blind):
    assert not blind.has_gaps and not blind.has_all_gaps and not blind.has_regret
    assert np.isnan(blind.arms.gaps).all() and not blind.settled.any()
    for ask in (lambda: blind.regret, lambda: blind.worse_gaps, blind.decisions):
        with pytest.raises(UliError, match="means"):
            ask()


def test_spanners_and_policies_are_those_of_the_phases(kinds):
    (one, *_), phases = kinds["set"].spanners(), kinds["set"].phases[0]
    assert (one.arms == phases[0].arms).all() and len(kinds["set"].spanners()) == len(phases)
    left = kinds["policies"].policy_phases
    for row, each in enumerate(kinds["policies"].phases):
        shown = [(p.first_round, p.last_round, p.policies) for p in each]
        assert shown == [x for x in zip(*(table[row] for table in left), strict=True) if x[1] > 0]


def test_the_last_policy_is_that_of_the_last_episode(kinds):
    runs = kinds["policies"]
    for r in range(3):
        last = int(np.flatnonzero(runs.last_play[r] == runs.horizon)[0])
        assert (runs.last_policy(r) == runs.policies[r, last]).all()
    with pytest.raises(UliError, match="too many policies"):
        replace(runs, policies=None).last_policy()
    for wrong in (3, -1, 0.5, "0", None):
        with pytest.raises(ArgumentError) as refused:
            runs.last_policy(wrong)
        assert refused.value.argument == "replication"
    with pytest.raises(ArgumentError, match="replication"):
        kinds["set"].spanners(3)
    with pytest.raises(UnsupportedError, match="plays no policies"):
        kinds["arms"].last_policy()


def test_a_run_that_drops_actions_is_settled_once_nothing_worse_may_be_played():
    river = uli.mdps.river_swim(3, 3).restricted()
    runs = uli.simulate(uli.ModelElimination(0.1), river, 10**5, 3, seed=1)
    assert runs.eliminates and runs.settled.all() and (runs.certified == 0.0).all()
    assert (runs.certified == runs.certificates[:, -1]).all()
    early = uli.simulate(uli.ModelElimination(0.1), river, 20, 3, seed=1)
    assert not early.settled.any() and (early.certified > 0.0).all()
    off = replace(runs, event_held=np.array([True, False, True]))
    assert off.settled.tolist() == [True, False, True]  # the certificate speaks on the event
    facts = runs.look_facts.copy()
    facts[range(3), (runs.look_first > 0).sum(axis=1) - 1, 0] = np.nan  # withdrawn at the last
    assert not replace(runs, look_facts=facts).settled.any()
    rival = uli.simulate(uli.UBEV(0.1), river, 20, 3, seed=1)
    assert not rival.eliminates and np.isnan(rival.certified).all()


@pytest.mark.parametrize("kind", PAIRS)
def test_what_is_decided_is_said_and_told_from_the_public_names(kinds, kind):
    runs, expected = kinds[kind], {"set": "points", "policies": "policies"}
    assert runs.decision_table.kind == expected.get(kind, "arms")
    given = {f.name: getattr(runs, f.name) for f in fields(runs)}
    again = uli.Runs(**given)
    assert again.decision_table.kind == runs.decision_table.kind
    assert all(getattr(again, name) is value for name, value in given.items())
    assert (
        again.digest() == runs.digest() and not given.keys() & vars(again).keys() & COLUMNS.keys()
    )


@pytest.mark.parametrize("kind", PAIRS)
def test_joined_parts_are_the_whole(kinds, kind):
    whole = kinds[kind]
    learner, problem = PAIRS[kind]
    parts = [
        uli.simulate(learner, problem, 10**4, n, seed=1, first_replication=at)
        for at, n in ((0, 1), (1, 2))
    ]
    joined = uli.Runs.joined(parts)
    assert joined.digest() == whole.digest()
    assert joined.first(1).decision_table.kind == whole.decision_table.kind


def test_a_public_name_can_be_given_another_value(kinds):
    runs = replace(kinds["arms"], elapsed=1.0)
    runs.eliminated_at, runs.elapsed = None, 2.0
    assert runs.decision_table.eliminated is None and runs.elapsed == 2.0
    assert kinds["arms"].eliminated_at is not None and not runs.eliminates_arms


@pytest.mark.parametrize("name", ["regret", "last_play"])
def test_two_tables_take_no_other_names(kinds, name):
    runs = kinds["arms"]
    with pytest.raises(TypeError, match=name):
        uli.Runs.of(runs.decision_table, runs.phase_table, **{name: None})


def test_shorter_rows_are_filled_up_with_zeros():
    parts = [np.ones((2, 1, 2), np.int8), np.full((1, 3, 1), 2, np.int8)]
    found = stacked(parts)
    assert found.dtype == np.int8 and found.shape == (3, 3, 2)
    assert (found[:2, :1] == 1).all() and (found[2:, :, :1] == 2).all() and found.sum() == 10
    assert (stacked([parts[0], parts[0]]) == 1).all()
    with pytest.raises(ValueError):
        stacked([np.ones((1, 2)), np.ones((1, 2, 3))])


def asked_for_none(path, names):
    """Yield the comparisons with None of what a record may lack."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute):
            against = [x.value for x in node.comparators if isinstance(x, ast.Constant)]
            if node.left.attr in names and None in against:
                yield ast.unparse(node)


def test_only_results_know_which_arrays_a_record_has():
    lacking = {f.name for f in fields(uli.Runs) if f.default is None} - {"guarantee"}
    lacking |= {"gaps", "plays", "final_plays", "last_play", "eliminated_at"}
    rooms = "cli compat experiments planning report verify".split()
    files = [path for room in rooms for path in (PACKAGE / room).rglob("*.py")]
    found = {str(path): list(asked_for_none(path, lacking)) for path in files}
    assert len(files) > 50 and {path: what for path, what in found.items() if what} == {}
    assert list(asked_for_none(PACKAGE / "results/record.py", lacking))
