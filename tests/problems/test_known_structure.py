"""What learners are told about an MDP: possible successors and first states, as masks."""

import gymnasium
import numpy as np
import pytest

import uli_fast as uli
from uli_fast import _check
from uli_fast._support.fingerprint import fingerprint
from uli_fast.errors import ArgumentError, ConfigError
from uli_fast.experiments.build import problem_of

TabularMDP = uli.TabularMDP
P = np.array([[[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]], [[0.2, 0.3, 0.5]] * 2, [[0.0, 0.0, 1.0]] * 2])
R = np.arange(6).reshape(3, 2) / 10
FIRST = [0.4, 0.0, 0.6]
MASK = P > 0
LAKES = {"4x4": 16, "8x8": 64}


def made(**known):
    return TabularMDP(P, R, FIRST, 2, **known)


def test_by_default_any_state_is_possible():
    for mdp in (
        made(),
        uli.mdps.river_swim(),
        uli.mdps.combination_lock(),
        uli.mdps.two_stage_treatment(),
        uli.mdps.random_dense(2, 2, 2, 0),
        uli.mdps.random_sparse(2, 2, 2, 0),
        made().restricted(),
    ):
        assert mdp.successors is None and mdp.initial_support is None


def test_masks_of_one_stage_hold_at_every_stage():
    short, long = made(successors=MASK), made(successors=np.stack([MASK] * 2).tolist())
    assert short.successors.shape == (2, 3, 2, 3)
    assert (short.successors == long.successors).all()
    assert fingerprint(short) == fingerprint(long) != fingerprint(made())
    assert short.initial_support is None
    by_stage = np.stack([MASK, np.ones_like(MASK)])
    assert (made(successors=by_stage).successors == by_stage).all()


@pytest.mark.parametrize("given", [[0, 2], (2, 0, 0), np.array([0, 2]), [True, False, True]])
def test_first_states_are_a_mask_or_numbers(given):
    mdp = made(initial_support=given)
    assert mdp.initial_support.tolist() == [True, False, True]
    assert mdp.successors is None
    assert fingerprint(mdp) == fingerprint(made(initial_support=[0, 2]))


def test_masks_are_copies_that_cannot_be_changed():
    successors, first = MASK.copy(), np.array([True, False, True])
    mdp = made(successors=successors, initial_support=first)
    known = made().with_known_structure()
    successors[:] = first[:] = False
    for one in (mdp, known, mdp.restricted(), known.restricted()):
        for mask in (one.successors, one.initial_support):
            assert mask.any() and mask.dtype == np.bool_ and mask.flags.c_contiguous
            with pytest.raises(ValueError, match="read-only"):
                mask[0] = False


def test_known_structure_is_the_true_support_and_changes_no_value():
    treatment = uli.mdps.two_stage_treatment()
    known = treatment.with_known_structure()
    assert (known.successors == (treatment.transitions > 0)).all()
    assert known.initial_support.tolist() == [True, True, False, False]
    assert known.optimal_value == treatment.optimal_value
    assert treatment.successors is None  # the first is left as it was
    one, other = known.restricted(), treatment.restricted().with_known_structure()
    assert fingerprint(one) == fingerprint(other)
    assert one.n_policies == treatment.restricted().n_policies
    assert (one.successors == known.successors).all()
    assert fingerprint(known.with_known_structure()) == fingerprint(known)
    # What was known less well is known better.
    loose = made(successors=np.ones((3, 2, 3), bool), initial_support=[0, 1, 2])
    assert (loose.with_known_structure().successors == MASK).all()


def test_what_is_known_tells_two_problems_apart_and_nothing_else_does():
    some = [
        made(),
        made(successors=MASK),
        made(successors=np.ones_like(MASK)),
        made(initial_support=[0, 2]),
        made(initial_support=[0, 1, 2]),
        made(successors=MASK, initial_support=[0, 2]),
    ]
    assert len({fingerprint(mdp) for mdp in some}) == len(some)
    assert fingerprint(some[5]) == fingerprint(made().with_known_structure())


def test_learners_that_do_not_ask_play_the_same():
    river = uli.mdps.river_swim(2, 2).restricted()
    for learner in (uli.UCBVI(0.1), uli.PolicyElimination(0.1)):
        one, other = (
            uli.simulate(learner, mdp, 300, 2, seed=1)
            for mdp in (river, river.with_known_structure())
        )
        assert (one.regret == other.regret).all()


@pytest.mark.parametrize("size", LAKES)
@pytest.mark.parametrize("slippery", [True, False])
def test_a_lake_loads_with_its_masks(size, slippery):
    env = gymnasium.make("FrozenLake-v1", map_name=size, is_slippery=slippery)
    mdp = TabularMDP.from_gymnasium(env, horizon=3)
    S = LAKES[size]
    assert mdp.successors.shape == (3, S, 4, S)
    table = env.unwrapped.P
    for h in range(3):
        for s in range(S):
            for a in range(4):
                listed = {to for p, to, _, _ in table[s][a]}
                assert set(np.flatnonzero(mdp.successors[h, s, a])) == listed
    assert np.flatnonzero(mdp.initial_support).tolist() == [0]
    # Holes and the goal lead nowhere; on firm ice every row has one successor.
    side = int(S**0.5)
    letters = env.unwrapped.desc.astype(str).ravel()
    ends = np.isin(letters, ["H", "G"])
    assert len(letters) == side**2
    assert (mdp.successors[0, ends].sum(axis=-1) == 1).all()
    most = mdp.successors[0, ~ends].sum(axis=-1)
    assert most.max() == (3 if slippery else 1)


def test_an_episode_that_is_done_may_lead_to_the_extra_state_alone():
    mdp = TabularMDP.from_gymnasium(gymnasium.make("CliffWalking-v1"), horizon=3)
    assert mdp.n_states == 49
    assert (mdp.successors == (mdp.transitions > 0)).all()
    assert (mdp.successors[:, 48].sum(axis=-1) == 1).all() and mdp.successors[:, 48, :, 48].all()
    assert (mdp.successors.sum(axis=-1) == 1).all()


def test_an_experiment_file_may_hold_them():
    table = {"type": "TabularMDP", "transitions": P.tolist(), "rewards": R.tolist()}
    table |= {"initial": FIRST, "horizon": 2}
    known = problem_of("x", table | {"known_structure": True, "restricted": True})
    assert fingerprint(known) == fingerprint(made().with_known_structure().restricted())
    written = problem_of("x", table | {"successors": MASK.tolist(), "initial_support": [0, 2]})
    assert fingerprint(written) == fingerprint(made().with_known_structure())
    river = problem_of("x", {"type": "mdps.river_swim", "known_structure": True})
    assert fingerprint(river) == fingerprint(uli.mdps.river_swim().with_known_structure())
    assert problem_of("x", table).successors is None
    refused = {
        "x.known_structure": [
            table | {"known_structure": 1},
            {"type": "BernoulliBandit", "means": [0.5], "known_structure": True},
        ],
        "x.successors": [table | {"successors": [[[True]]]}],
        "x.initial_support": [table | {"initial_support": [0]}],
    }
    for argument, tables in refused.items():
        for each in tables:
            with pytest.raises(ConfigError) as caught:
                problem_of("x", each)
            assert caught.value.argument == argument


def altered(index, value):
    mask = MASK.copy()
    mask[index] = value
    return mask


BAD = {
    "numbers": {"successors": P},
    "text": {"successors": "any"},
    "ragged": {"successors": [[True], []]},
    "flat": {"successors": [True, True, True]},
    "too many states": {"successors": np.ones((3, 2, 4), bool)},
    "too many stages": {"successors": np.ones((3, 3, 2, 3), bool)},
    "an empty row": {"successors": altered((2, 1), False)},
    "a possible transition": {"successors": altered((1, 0, 2), False)},
    "first states short": {"initial_support": [True, False]},
    "first states as numbers of a law": {"initial_support": [0.4, 0.0, 0.6]},
    "a state that is not there": {"initial_support": [0, 2, 3]},
    "no state": {"initial_support": []},
    "no state in a mask": {"initial_support": [False] * 3},
    "a number": {"initial_support": 0},
    "first states in rows": {"initial_support": [[True, False, True]]},
    "a possible first state": {"initial_support": [0, 1]},
    "a possible first state in a mask": {"initial_support": [True, True, False]},
    "words": {"initial_support": ["0", "2"]},
}


@pytest.mark.parametrize("case", BAD)
def test_bad_masks_name_the_argument(case):
    with pytest.raises(ArgumentError) as caught:
        made(**BAD[case])
    assert [caught.value.argument] == list(BAD[case])


def test_the_error_tells_the_row():
    with pytest.raises(ArgumentError, match=r"row \[0, 1, 0\] must allow state 2.* 0.5"):
        made(successors=altered((1, 0, 2), False))
    with pytest.raises(ArgumentError, match=r"row \[2, 1\] must have at least one"):
        made(successors=altered((2, 1), False))
    with pytest.raises(ArgumentError, match=r"must hold state 2, .* 0.6"):
        made(initial_support=[0, 1])


def test_masks_that_contradict_decision_points_are_refused():
    """Without transitions only what is certain counts: what a live learner is told."""
    alike, support = np.zeros((3, 3, 2)), np.array([True, False, False])
    apart = np.zeros((3, 3, 2, 3), bool)
    apart[..., 0, 0] = apart[..., 1, 1] = True  # action 0 leads to 0, action 1 to 1
    meet = apart.copy()
    meet[..., 2] = True  # both may lead to 2

    def denied(points, successors, rewards=alike):
        return _check.denied_choice(~np.array(points, bool), rewards, support, successors)

    none = np.zeros((3, 3), bool)
    first = none.copy()
    first[0, 0] = True
    assert denied(none, apart) is None
    assert denied(first, None) is None
    assert denied(first, meet) is None
    assert denied(first, apart) == (0, 0)
    elsewhere = none.copy()
    elsewhere[0, 1:] = elsewhere[1, 2] = True  # where no episode comes
    assert denied(elsewhere, apart) is None
    one, both = elsewhere.copy(), elsewhere.copy()
    one[1, 0] = True  # episodes need not pass there
    both[1, :2] = True  # they must pass one of the two
    assert denied(one, apart) is None
    assert denied(both, apart) == (1, 0)
    assert denied(both, None) is None
    last = none.copy()
    last[2] = True  # what comes after the last stage does not matter
    assert denied(last, apart) is None
    differ = np.zeros((3, 3, 2))
    differ[2, :2, 1] = 1.0
    last[2, 2] = False
    assert denied(last, None, differ) is None
    assert denied(last, apart, differ) == (2, 0)
    with pytest.raises(ArgumentError, match="stage 1, state 0: its actions have different succ"):
        _check.kept_choices("decision_points", ~both, alike, support, apart)
