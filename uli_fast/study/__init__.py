"""Live decisions that survive a crash."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """Give the Study here too, once it is asked for: the journal alone is light."""
    if name != "Study":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from uli_fast.study.study import Study

    return Study
