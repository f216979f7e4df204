"""What a race file recalls of candidates and instances, so that others are refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from uli_fast._support.fingerprint import fingerprint

_ATOMS = (type(None), bool, int, float, str, bytes, np.number, np.bool_)


def mark(values: Iterable[Any]) -> str | None:
    """Return a hash of plain values: text, numbers, arrays, lists and tables of them.

    None for anything else: models and clients change while they are used, so that what tells
    them apart would not last. They go by their names, or by how many there are.
    """
    given = list(values)
    return fingerprint(given) if all(map(_is_plain, given)) else None


def _is_plain(value: Any) -> bool:
    if isinstance(value, _ATOMS):
        return True
    if isinstance(value, np.ndarray):
        return not value.dtype.hasobject
    if isinstance(value, Mapping):
        return all(_is_plain(k) and _is_plain(v) for k, v in value.items())
    return isinstance(value, list | tuple) and all(map(_is_plain, value))
