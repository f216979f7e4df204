"""SCRiBLe on the corners of a square and of a cube."""

import pytest
from cases import DELTA, corners, phase_of

from uli_fast import Scrible


@pytest.mark.benchmark(group="SCRiBLe, T = 1e5")
@pytest.mark.parametrize("d", [2, 3], ids=["square", "cube"])
def test_kernel(measure, d):
    measure(phase_of(Scrible(DELTA), corners(d), 10**5), rounds=10)
