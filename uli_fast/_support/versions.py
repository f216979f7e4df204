"""The versions that shape a result."""

from __future__ import annotations

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
