"""Caps of a ball: a whole run costs some tens of microseconds an arm and phase, whatever T is."""

import pytest

from bench.support.linear import on_a_ball
from uli_fast import CapElimination

CAPS = CapElimination(0.1, R=1.0)


@pytest.mark.parametrize("d", [2, 20])
def test_skip_at_1e12(versus, d):
    versus(on_a_ball(CAPS, d, 10**12), repeats=50)
