"""What Numba is told about our tuples is what it would find out itself; when kernels are stale."""

from typing import NamedTuple

import numpy as np
import pytest
from numba import typeof
from numba.extending import typeof_impl

from uli_fast.kernels._jit import sources_fingerprint, typed_once
from uli_fast.kernels.mdp.episodes import MdpLaw
from uli_fast.kernels.rewards.laws import BernoulliBlocks, BernoulliLaw, KnownBernoulli, RealLaw


class Plain(NamedTuple):
    x: np.ndarray
    rng: np.random.Generator


class Recalled(NamedTuple):
    x: np.ndarray
    rng: np.random.Generator


typed_once(Recalled)
RNG = np.random.default_rng(1)
FROZEN = np.zeros(3)
FROZEN.flags.writeable = False
ARRAYS = (
    np.zeros(3),
    FROZEN,
    np.zeros(6)[::2],
    np.zeros(3, np.int64),
    np.zeros((2, 3)),
    np.zeros((2, 3)).T,
    np.zeros((2, 3))[:, ::2],
    np.zeros((2, 2, 2)),
)


def test_recalled_types_are_those_worked_out():
    seen = set()
    for array in ARRAYS * 2:  # worked out, then recalled
        expected, found = typeof(Plain(array, RNG)), typeof(Recalled(array, RNG))
        assert found.types == expected.types and found.instance_class is Recalled
        seen.add(found.types)
    assert len(seen) == len(ARRAYS)


@pytest.mark.parametrize("law", [BernoulliLaw, BernoulliBlocks, KnownBernoulli, RealLaw, MdpLaw])
def test_types_of_laws_are_recalled(law):
    assert typeof_impl.dispatch(law) is not typeof_impl.dispatch(tuple)


def test_an_edit_of_any_kernel_makes_the_cache_stale(tmp_path):
    (tmp_path / "shared").mkdir()
    kernel, part = tmp_path / "kernel.py", tmp_path / "shared" / "part.py"
    kernel.write_text("a = 1")
    part.write_text("b = 1")
    before = sources_fingerprint(tmp_path)
    assert sources_fingerprint(tmp_path) == before
    part.write_text("b = 2")  # Numba looks at the file of the function alone
    edited = sources_fingerprint(tmp_path)
    part.rename(tmp_path / "part.py")
    assert len({before, edited, sources_fingerprint(tmp_path)}) == 3
