"""How plain loops are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

plain: Callable[[Callable[..., Any]], Callable[..., Any]] = numba.njit(
    nogil=True, error_model="numpy"
)
# For loops that allocate nothing: counting references to arrays would be part of their time.
lean: Callable[[Callable[..., Any]], Callable[..., Any]] = numba.njit(
    nogil=True, error_model="numpy", _nrt=False
)
