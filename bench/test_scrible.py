"""SCRiBLe on the corners of a square and of a cube."""

import pytest

from bench.support.cases import DELTA, corners, phase_of
from uli_fast import Scrible


@pytest.mark.parametrize("d", [2, 3], ids=["square", "cube"])
def test_rounds(versus, d):
    versus(phase_of(Scrible(DELTA), corners(d), 10**5))
