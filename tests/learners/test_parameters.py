"""Parameters are declared with their checks."""

import copy
from dataclasses import dataclass, fields, replace

import pytest

import uli_fast as uli
from uli_fast.errors import ArgumentError
from uli_fast.learners._parameters import checks_of


@dataclass(frozen=True)
class Bolder(uli.PhasedElimination):
    delta: float = 0.2  # declared again, without its check
    factor: float = 2.0


class Renamed(uli.PhasedElimination):
    pass


@pytest.mark.parametrize("kind", [uli.PhasedElimination, Bolder, Renamed])
def test_a_subclass_keeps_the_checks_of_its_base(kind):
    with pytest.raises(ArgumentError, match="delta: must lie strictly between 0 and 1, got 2"):
        kind(delta=2)
    with pytest.raises(ArgumentError, match="R: must be positive"):
        replace(kind(), R=-1)
    assert [name for name, _ in checks_of(kind)] == ["delta", "R"]


def test_a_learner_holds_what_the_check_returned():
    learner = uli.BettingElimination(leader=3.0, R=1)
    assert repr(learner) == "BettingElimination(delta=0.05, leader=3, R=1.0)"
    assert copy.copy(learner) == learner == uli.BettingElimination(0.05, 3, 1.0)
    assert hash(learner) == hash(copy.deepcopy(learner))
    assert [f.default for f in fields(learner)] == [0.05, 2, None]
