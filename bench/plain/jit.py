"""How plain loops are compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

plain: Callable[[Callable[..., Any]], Callable[..., Any]] = numba.njit(
    nogil=True, error_model="numpy"
)
# For loops that allocate nothing: counting references to arrays would be part of their time.
lean: Callable[[Callable[..., Any]], Callable[..., Any]] = numba.njit(
    nogil=True, error_model="numpy", _nrt=False
)


@functools.cache
def repeated(loop: Callable[..., Any]) -> Callable[..., Any]:
    """Return a plain loop over replications of a loop, each with words (4,) of its own."""

    @plain
    def replications(p, T, delta, words):
        n = np.empty((words.shape[0], p.shape[0]))
        for r in range(words.shape[0]):
            n[r] = loop(p, T, delta, words[r])
        return n

    return replications
