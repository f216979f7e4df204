"""The versions that shape a result."""

from __future__ import annotations

from typing import Any

import numpy as np


def versions() -> dict[str, str]:
    """Return the versions that shape a result."""
    import sys

    import numba
    import scipy

    from uli_fast import __version__

    return {
        "uli_fast": __version__,
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "numba": numba.__version__,
        "scipy": scipy.__version__,
    }


def other_format(what: str, found: Any, ours: int, instead: str) -> str:
    """Say why a file or a state is not read: its number is not that of this version."""
    if type(found) is int and 0 < found < ours:
        return (
            f"was written by an earlier version of uli_fast ({what} {found}, this one reads "
            f"{ours}). Files open from 1.0 on: {instead}"
        )
    return f"has {what} {found!r}, this version reads {ours}"
