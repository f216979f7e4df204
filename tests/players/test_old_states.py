"""States that version 0.6.0 wrote, of every kind of player, still open and mean the same."""

import json
from pathlib import Path

import pytest

import uli_fast as uli
from tests import hostile

STATES = json.loads((Path(__file__).parent / "states_0_6_0.json").read_text(encoding="utf-8"))
# What a state of schema 1 did not have: nobody could tell of missing outcomes.
ADDED = ("missing", "lost", "omitted", "again")
ADDED_INSIDE = ("phase_missing", "closed_missing", "early", "errors")


def restored(name, state):
    kind, more = name.split(",")[0], {}
    if kind == "EliminationFramework":
        more["learner"] = hostile.learners()[kind][0]
    if kind == "SpannerElimination":
        more["arms"] = uli.arm_sets.Ball(2)
    return uli.restore(state, **more)


def learned(state):
    """Return a state without the description of its learner, which may be put otherwise."""
    return {key: value for key, value in state.items() if key not in ("schema", "learner")}


@pytest.mark.parametrize("name", STATES)
def test_states_of_version_0_6_are_restored_bit_for_bit(name):
    found = learned(restored(name, STATES[name]).state())
    for key, value in learned(STATES[name]).items():
        if key == "extra":
            assert {k: found[key][k] for k in value} == value
        else:
            assert found[key] == value


@pytest.mark.parametrize("name", [name for name in STATES if "late" not in name])
def test_states_of_the_first_schema_are_restored_too(name):
    state = {k: v for k, v in STATES[name].items() if k not in ADDED} | {"schema": 1}
    if "extra" in state:
        state["extra"] = {k: v for k, v in state["extra"].items() if k not in ADDED_INSIDE}
    found, whole = restored(name, state), restored(name, STATES[name])
    assert found.state() == whole.state()
