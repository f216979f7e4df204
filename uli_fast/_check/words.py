"""Checks of words, texts, switches and functions, and how an error quotes what it refuses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from uli_fast.errors import ArgumentError

LONGEST_KEY, LONGEST_TABLE = 1000, 10**6  # characters of a request and of its metadata
LONGEST_REASON = 10**4  # characters of why an outcome is missing
# Lists and tables in one another: whatever reads them again may recurse, on top of its callers.
MOST_LEVELS = 50


def shown(value: Any) -> str:
    """Return a value as an error quotes it: cut short, and safe even if its repr fails."""
    try:
        text = repr(value)
    except ValueError:  # a number of thousands of digits is not written out
        text = "a number of thousands of digits"
    except Exception:  # whatever an object raises when asked for its text
        text = f"a {type(value).__name__}"
    return text if len(text) <= 1000 else f"{text[:1000]}..."


def called(value: Any) -> str:
    """Return how a value that is not a learner is shown: a class may lack its parentheses.

    One of the user's own, with ``choose`` and ``update``, lacks what makes a learner of it.
    """
    if isinstance(value, type):
        own = not value.__module__.startswith("uli_fast.")
        if own and callable(getattr(value, "choose", None)) and hasattr(value, "update"):
            name = value.__name__
            return f"the class {name}; did you mean uli.OwnLearner({name})?"
        return f"the class {value.__name__}; did you mean {value.__name__}()?"
    return repr(value)


def text(name: str, value: Any) -> str:
    """Return a string that is not empty."""
    if not isinstance(value, str):
        raise ArgumentError(name, f"must be a string, got {value!r}")
    if not value:
        raise ArgumentError(name, "must not be empty")
    return value


def key(name: str, value: Any, longest: int = LONGEST_KEY) -> str:
    """Return a string that is not empty and can be written in any encoding of Unicode."""
    result = text(name, value)
    _encoded(name, result)
    if len(result) > longest:
        raise ArgumentError(name, f"must have at most {longest} characters, got {len(result)}")
    return result


def _encoded(name: str, value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ArgumentError(name, f"holds half a character: {value!r}") from None


def one_of(name: str, value: Any, options: Sequence[str]) -> str:
    """Return a word out of ``options``."""
    if not isinstance(value, str) or value not in options:
        raise ArgumentError(name, f"must be one of {', '.join(options)}; got {value!r}")
    return value


def flag(name: str, value: Any) -> bool:
    """Return True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(name, f"must be True or False, got {shown(value)}")
    return bool(value)


def function(name: str, value: Any) -> Any:
    """Return something that can be called."""
    if not callable(value):
        raise ArgumentError(name, f"must be a function, got {shown(value)}")
    return value


def json_table(name: str, value: Any) -> dict[str, Any]:
    """Return a mapping from names to what JSON can hold, as JSON gives it back."""
    if not isinstance(value, Mapping):
        raise ArgumentError(name, f"must map names to values, got {value!r}")
    try:
        written = json.dumps(dict(value), allow_nan=False)
        result: dict[str, Any] = json.loads(written)
    except (TypeError, ValueError, RecursionError) as problem:
        raise ArgumentError(name, f"must be plain names and values: {problem}") from None
    if len(written) > LONGEST_TABLE:
        raise ArgumentError(
            name, f"must have at most {LONGEST_TABLE} characters as JSON, got {len(written)}"
        )
    levels(name, result)
    _plain(name, value)
    return result


def levels(name: str, value: Any, most: int = MOST_LEVELS) -> None:
    """Refuse what JSON holds if lists and tables are nested in it too deeply."""
    inside = [value]
    for _ in range(most):
        inside = [
            x
            for one in inside
            for x in (one.values() if isinstance(one, dict) else one)
            if isinstance(x, dict | list)
        ]
        if not inside:
            return
    raise ArgumentError(name, f"must have at most {most} lists and tables in one another")


def _plain(name: str, value: Any) -> None:
    """Refuse keys that JSON would turn into strings, and halves of characters."""
    if isinstance(value, str):
        _encoded(name, value)
    elif isinstance(value, Mapping):
        for label, inner in value.items():
            if not isinstance(label, str):
                raise ArgumentError(name, f"must have strings for keys, got {label!r}")
            _plain(name, label)
            _plain(name, inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            _plain(name, inner)
