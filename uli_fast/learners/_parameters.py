"""Parameters of learners, declared with their checks: ``delta: float = probability(0.05)``.

A dataclass sees a field with a default, a type checker a plain field. What a check returns is what
the learner holds. Parameters that only make sense together are checked in ``__post_init__``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, is_dataclass
from functools import cache, partial
from typing import Any

from uli_fast import _check

KEY = "uli_fast.check"  # of a field's metadata, which users have for their own
# Of a parameter's name and what was given; returns what is kept.
Check = Callable[[str, Any], Any]


def checked(default: Any, check: Check) -> Any:
    """Declare a parameter with a check."""
    return field(default=default, metadata={KEY: check})


def probability(default: float) -> Any:
    """Declare a probability strictly between 0 and 1."""
    return checked(default, _check.in_open_unit)


def shared_probability(default: float) -> Any:
    """Declare a probability that is shared out among phases."""
    return checked(default, _check.shared_probability)


def positive(default: float) -> Any:
    """Declare a number above 0."""
    return checked(default, _check.positive)


def noise() -> Any:
    """Declare R, in reward units; None leaves it to the range of the rewards."""
    return checked(None, _check.optional_noise)


def optional(check: Check) -> Any:
    """Declare a parameter that is checked unless it is None."""
    return checked(None, lambda name, value: None if value is None else check(name, value))


def whole(default: int, most: int | None = None) -> Any:
    """Declare a whole number, at least 1."""
    return checked(default, partial(_check.whole, most=most))


def word(default: str, options: Sequence[str]) -> Any:
    """Declare one of a few words."""
    return checked(default, partial(_check.one_of, options=options))


@cache
def checks_of(kind: type) -> tuple[tuple[str, Check], ...]:
    """Return the parameters of a class that have checks; a subclass keeps those of its base."""
    found: dict[str, Check] = {}
    for base in reversed(kind.__mro__):
        declared = base.__dataclass_fields__ if is_dataclass(base) else {}
        found |= {k: f.metadata[KEY] for k, f in declared.items() if KEY in f.metadata}
    return tuple(found.items())
