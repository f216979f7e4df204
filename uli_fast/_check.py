"""Every argument check of the package.

Each function names the argument it refuses and returns the value in the form
that the rest of the package relies on.
"""

from __future__ import annotations

import json
import math
import operator
import os
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

from uli_fast._typing import B1, F64, I8, I64, Played
from uli_fast.errors import (
    ArgumentError,
    EngineError,
    HorizonTooLargeError,
    MissingExtraError,
    RewardRangeError,
    UnknownDecisionError,
)

LARGEST_HORIZON = 10**18
MOST_REPLICATIONS = 10**9
MOST_ARMS = 10**8
MOST_DECISIONS = 10**7  # asked for at once: a list of them is returned
MOST_CANDIDATES, MOST_INSTANCES = 1000, 10**8  # of a race: every pair has its wealth
MOST_SCORES = 2 * 10**8  # of a race: tables of them, 3.6 GB
MOST_DIMENSIONS = 10**5
LARGEST_NUMBER = 1e100  # its square is still a float
SMALLEST_SHARED = 1e-300
LARGEST_TABLE = 2 * 10**8  # transition probabilities held in memory, 1.6 GB
MOST_STATES = 10**9  # or stages, or actions, of an MDP that is only thought of
LONGEST_KEY, LONGEST_TABLE = 1000, 10**6  # characters of a request and of its metadata
LONGEST_REASON = 10**4  # characters of why an outcome is missing
LONGEST_WAIT = 1e10  # seconds, some 300 years
MOST_ACTIONS = 127  # policies are int8
MOST_AXES, MOST_ROWS = 32, 10**7  # of nested lists that are looked through
FEW_ROWS = 32  # checked one by one: arrays are slower
MOST_PLAYS = 10**15  # of a block of sums: sums of them are exact as floats
TOTALS = 1e-12  # how far sums may be off by rounding, for each outcome in them
NOT_STOCHASTIC = 1e-9  # how far from 1 probabilities may add up
Labels: TypeAlias = tuple[int | str, ...]
Bounds: TypeAlias = tuple[float | None, float | None]  # of rewards; None or infinite: unbounded
Outcome: TypeAlias = tuple[float, int, float, bool]


def shown(value: Any) -> str:
    """Return a value as an error quotes it: not at length, and whatever it does when asked."""
    try:
        text = repr(value)
    except ValueError:  # a number of thousands of digits is not written out
        text = "a number of thousands of digits"
    except Exception:  # whatever an object does when it is asked for its text
        text = f"a {type(value).__name__}"
    return text if len(text) <= 1000 else f"{text[:1000]}..."


def _float(value: Any) -> float:
    """Return a number as a float; what Python would read as text or bytes is a TypeError."""
    kind = type(value)
    if not (hasattr(kind, "__float__") or hasattr(kind, "__index__")):
        raise TypeError  # text, bytes, bytearray and everything else that float() would parse
    if getattr(getattr(value, "dtype", None), "kind", "f") in "SU":
        raise TypeError  # an array of text
    return float(value)


def number(name: str, value: Any) -> float:
    """Return a finite float of reasonable size; text is not a number."""
    try:
        result = _float(value)
    except OverflowError:
        raise ArgumentError(name, f"is too large for a float, got {shown(value)}") from None
    except Exception:  # whatever an object does when it is asked for its value
        raise ArgumentError(name, f"must be a number, got {shown(value)}") from None
    if not math.isfinite(result):
        raise ArgumentError(name, f"must be finite, got {value!r}")
    if abs(result) > LARGEST_NUMBER:
        raise ArgumentError(name, f"is too large, got {value!r}")
    return result


def in_open_unit(name: str, value: Any) -> float:
    """Return a float strictly between 0 and 1."""
    result = number(name, value)
    if not 0.0 < result < 1.0:
        raise ArgumentError(name, f"must lie strictly between 0 and 1, got {value!r}")
    return result


def shared_probability(name: str, value: Any) -> float:
    """Return a float strictly between 0 and 1 whose shares among phases are still floats."""
    result = in_open_unit(name, value)
    if result < SMALLEST_SHARED:
        raise ArgumentError(name, f"must be at least {SMALLEST_SHARED:g}, got {value!r}")
    return result


def positive(name: str, value: Any) -> float:
    """Return a float above 0."""
    result = number(name, value)
    if result <= 0.0:
        raise ArgumentError(name, f"must be positive, got {value!r}")
    return result


def subgaussian(name: str, value: Any) -> float:
    """Return an R whose square keeps phase lengths within 64-bit counters."""
    result = positive(name, value)
    if not 1e-6 <= result <= 1e6:
        raise ArgumentError(name, f"must lie in [1e-06, 1e+06], got {value!r}; rescale the rewards")
    return result


def optional_noise(name: str, value: Any) -> float | None:
    """Return a positive R, or None for one that the range of the rewards decides."""
    return None if value is None else positive(name, value)


def width(bounds: Bounds) -> float | None:
    """Return how wide a declared range is, None where there is none."""
    low, high = bounds
    return None if low is None or high is None or math.isinf(high - low) else high - low


def noise(R: float | None, bounds: Bounds, own: float | None = None) -> float:
    """Return R in reward units: as given, or half the declared range.

    Without a range it must be given; ``own`` is what a problem's rewards are known to be.
    """
    range_ = width(bounds)
    if R is not None:
        return R
    if range_ is not None:
        return range_ / 2.0
    hint = "" if own is None else f"; this problem's own is R={own:g}"
    raise ArgumentError(
        "R",
        "must be given to the learner where rewards have no declared range: "
        f"they are R-subgaussian, in reward units{hint}",
    )


def unit_noise(R: float | None, bounds: Bounds, own: float | None = None) -> float:
    """Return R on the scale of learners on K arms: rewards in a range are mapped to [0, 1]."""
    scale = width(bounds) or 1.0
    unit = noise(R, bounds, own) / scale
    if not 1e-6 <= unit <= 1e6:
        raise ArgumentError(
            "R", f"must lie in [{1e-6 * scale:g}, {1e6 * scale:g}], in reward units, got {R!r}"
        )
    return unit


def whole(name: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """Return a Python int within bounds; 1e6 counts as whole, 1.5 does not."""
    try:
        result = operator.index(value)
    except TypeError:
        result = _whole_float(name, value)
    if isinstance(value, bool | np.bool_):
        raise ArgumentError(name, f"must be a whole number, got {value!r}")
    if result < least:
        raise ArgumentError(name, f"must be at least {least}, got {shown(value)}")
    if most is not None and result > most:
        raise ArgumentError(name, f"must be at most {most}")
    return result


def replications(name: str, value: Any) -> int:
    """Return a number of replications that arrays can count."""
    return whole(name, value, most=MOST_REPLICATIONS)


def decisions(name: str, value: Any) -> int:
    """Return how many decisions are asked for in one call."""
    return whole(name, value, most=MOST_DECISIONS)


def dimension(name: str, value: Any) -> int:
    """Return a dimension whose matrices can be thought of."""
    return whole(name, value, most=MOST_DIMENSIONS)


def _whole_float(name: str, value: Any) -> int:
    if not isinstance(value, float | np.floating):
        raise ArgumentError(name, f"must be a whole number, got {value!r}")
    if not math.isfinite(value) or value != math.floor(value):
        raise ArgumentError(name, f"must be a whole number, got {value!r}")
    return int(value)


def horizon(name: str, value: Any) -> int:
    """Return a number of rounds between 1 and 10**18."""
    result = whole(name, value)
    if result > LARGEST_HORIZON:
        size = int((result.bit_length() - 1) * math.log10(2.0))
        raise HorizonTooLargeError(
            name, f"must be at most 10**18 (64-bit counters), got about 10**{size}"
        )
    return result


def tuned_horizon(value: int | None, least: float, learner: str) -> None:
    """Refuse a missing horizon, or one too short for a learner that is tuned to it."""
    if value is None:
        raise ArgumentError("horizon", f"must be given: {learner} is tuned to it")
    if value <= least:
        raise ArgumentError("horizon", f"must exceed {least:.1f} for {learner} here, got {value}")


def has_features(name: str, features: F64, learner: str) -> None:
    """Refuse arms that are not vectors."""
    if features.shape[1] == 0:
        raise ArgumentError(
            name, f"{learner} needs arms that are vectors: a LinearBandit or a (K, d) array"
        )


def recorded_rounds(name: str, value: Iterable[Any] | None, last: int) -> I64:
    """Return sorted distinct rounds within 1..last; by default 100 log-spaced ones."""
    if value is None:
        spaced = {round(math.exp(x)) for x in np.linspace(0.0, math.log(last), 100)}
        rounds = {min(max(r, 1), last) for r in spaced} | {1, last}
    else:
        try:
            rounds = {whole(name, r) for r in value}
        except TypeError:
            raise ArgumentError(
                name, f"must be a sequence of whole numbers, got {value!r}"
            ) from None
        if not rounds:
            raise ArgumentError(name, "must hold at least one round")
        if max(rounds) > last:
            raise ArgumentError(name, f"must not lie beyond the horizon, got {max(rounds)}")
    return np.array(sorted(rounds), dtype=np.int64)


def one_of(name: str, value: Any, options: Sequence[str]) -> str:
    """Return a word out of ``options``."""
    if not isinstance(value, str) or value not in options:
        raise ArgumentError(name, f"must be one of {', '.join(options)}; got {value!r}")
    return value


def schedule(name: str, value: Any) -> str | tuple[float, float]:
    """Return "proved", "sharp", or a pair of positive constants (c1, c2)."""
    if isinstance(value, tuple | list) and len(value) == 2:
        c1, c2 = positive(name, value[0]), positive(name, value[1])
        if min(c1, c2) < 1e-12 or max(c1, c2) > 1e12:  # phases would not be of any use
            raise ArgumentError(name, f"constants must lie in [1e-12, 1e+12], got {value!r}")
        return c1, c2
    if not isinstance(value, str) or value not in ("proved", "sharp"):
        raise ArgumentError(name, f"must be 'proved', 'sharp' or a pair (c1, c2), got {value!r}")
    return value


def engine(value: Any, available: Sequence[str], why_not: str) -> Played:
    """Return an engine that exists and is available here."""
    known = ("auto", "skip", "rounds")
    if value not in known:
        raise EngineError("engine", f"must be one of {', '.join(known)}; got {value!r}")
    if value != "auto" and value not in available:
        raise EngineError("engine", f"{value!r} is not available: {why_not}")
    return cast(Played, available[0] if value == "auto" else str(value))


def vector(name: str, value: Any) -> F64:
    """Return a non-empty, finite, one-dimensional float array (a copy)."""
    result = _floats(name, value)
    if result.ndim != 1:
        raise ArgumentError(name, f"must be one-dimensional, got shape {result.shape}")
    if result.size == 0:
        raise ArgumentError(name, "must not be empty")
    return result


def matrix(name: str, value: Any, copy: bool = True, if_ragged: str = "") -> F64:
    """Return a non-empty, finite, two-dimensional float array, a copy unless told otherwise.

    ``if_ragged`` says what to do about rows of different lengths.
    """
    result = _floats(name, value, copy, if_ragged)
    if result.ndim != 2:
        raise ArgumentError(name, f"must be two-dimensional, got shape {result.shape}")
    if result.size == 0:
        raise ArgumentError(name, f"must not be empty, got shape {result.shape}")
    return result


def vectors(name: str, value: Any) -> F64:
    """Return arms that are vectors, (K, d); an empty (0, 0) array if the value is none."""
    try:
        flat = np.ndim(value) != 2
    except ValueError:
        raise ArgumentError(name, ragged(value) or "must have rows of equal length") from None
    except Exception:  # whatever an object does when it is asked for its values
        raise ArgumentError(name, f"must be arms, got {type(value).__name__}") from None
    return np.zeros((0, 0)) if flat else matrix(name, value)


def ragged(value: Any, advice: str = "") -> str:
    """Say which rows of nested lists differ in length; nothing where that is not the problem."""
    rows = [value.tolist() if type(value) is np.ndarray and value.dtype == object else value]
    for _ in range(MOST_AXES):  # a list may hold itself
        nested = [_is_row(row) for row in rows]
        if not all(nested) or not rows:
            return "must be numbers or rows of numbers, not some of each" if any(nested) else ""
        sizes = [len(row) for row in rows]
        if len(set(sizes)) > 1:
            odd = next(i for i, size in enumerate(sizes) if size != sizes[0])
            return (
                "must have rows of equal length: "
                f"row 0 has length {sizes[0]}, row {odd} has length {sizes[odd]}{advice}"
            )
        if sum(sizes) > MOST_ROWS:
            return ""
        rows = [inner for row in rows for inner in row]
    return ""


def _is_row(value: Any) -> bool:
    return type(value) in (list, tuple) or (type(value) is np.ndarray and value.ndim > 0)


def _floats(name: str, value: Any, copy: bool = True, if_ragged: str = "") -> F64:
    try:
        if isinstance(value, bytes | bytearray) or np.iscomplexobj(value):
            raise TypeError
        if np.asarray(value).dtype.kind in "US":
            raise TypeError
        result = np.array(value, dtype=np.float64, copy=copy or None)
    except Exception:  # whatever an object does when it is asked for its values
        uneven = ragged(value, f"; {if_ragged}" if if_ragged else "")
        raise ArgumentError(
            name, uneven or f"must be an array of numbers, got {type(value).__name__}"
        ) from None
    # extremes of NaN are NaN; temporary arrays would take longer than the rest of a design
    low, high = result.min(initial=0.0), result.max(initial=0.0)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ArgumentError(name, "must be finite (no NaN, no infinity)")
    if max(-low, high) > LARGEST_NUMBER:
        raise ArgumentError(name, "holds a number that is too large")
    return result


def inner_products(name: str, theta: F64, arms: F64, largest: float = LARGEST_NUMBER) -> F64:
    """Return <theta, a> for every arm, at most ``largest`` in size; rounding is forgiven."""
    same_length(name, theta, arms.shape[1])
    result: F64 = (arms * theta).sum(axis=1)  # equal arms get equal values, as BLAS does not
    worst = float(result[np.abs(result).argmax()])
    if abs(worst) > largest * (1.0 + 1e-12):
        raise ArgumentError(
            name, f"<theta, a> must lie in [-{largest:g}, {largest:g}] for every arm, got {worst!r}"
        )
    return np.clip(result, -largest, largest)


def called(value: Any, usage: str = "") -> str:
    """Return how a value that is not a learner is shown, and what may have been meant.

    A class lacks its parentheses; a problem stands in the learner's place, where ``usage`` says
    what comes first.
    """
    if isinstance(value, type):
        return f"the class {value.__name__}; did you mean {value.__name__}()?"
    if usage and is_problem(value):
        return f"{value!r}, which is a problem; did you mean {usage}?"
    return repr(value)


def is_problem(value: Any) -> bool:
    """Return whether a value is something to play against."""
    from uli_fast.problems.arms import ArmBandit
    from uli_fast.problems.linear import LinearBandit
    from uli_fast.problems.tabular_mdp import TabularMDP

    return isinstance(value, ArmBandit | LinearBandit | TabularMDP)


def same_length(name: str, value: Sequence[Any] | F64, size: int) -> None:
    """Refuse a sequence whose length is not ``size``."""
    if len(value) != size:
        raise ArgumentError(name, f"must have length {size}, got {len(value)}")


def within(name: str, value: F64, low: float, high: float) -> None:
    """Refuse an array that leaves [low, high]."""
    outside = (value < low) | (value > high)
    if outside.any():
        raise ArgumentError(
            name, f"must lie in [{low:g}, {high:g}], got {float(value[outside][0])!r}"
        )


def inside(name: str, value: Any, low: float, high: float) -> float:
    """Return a float strictly between low and high; True is not a number."""
    if isinstance(value, bool | np.bool_):
        raise ArgumentError(name, f"must be a number, got {value!r}")
    result = number(name, value)
    if not low < result < high:
        raise ArgumentError(
            name, f"must lie strictly between {low:g} and {high:g}, got {shown(value)}"
        )
    return result


def interval(low: Any, high: Any) -> tuple[float, float]:
    """Return a finite range with low < high."""
    lo, hi = number("low", low), number("high", high)
    if not lo < hi:
        raise ArgumentError("high", f"must be above low = {lo:g}, got {hi:g}")
    return lo, hi


def reward_range(low: Any, high: Any) -> tuple[float, float]:
    """Return a reward range: finite with low < high, or infinite on both sides."""
    if low == -math.inf and high == math.inf:
        return -math.inf, math.inf
    if low == -math.inf or high == math.inf:
        raise ArgumentError(
            "high" if high == math.inf else "low",
            "must be finite, or low=-inf and high=inf for rewards without a range",
        )
    return interval(low, high)


def reward(value: Any, low: float, high: float, name: str = "reward") -> float:
    """Return a reward inside the declared range."""
    try:
        result = _float(value)
    except Exception:  # whatever an object does when it is asked for its value
        raise RewardRangeError(name, f"must be a number, got {shown(value)}") from None
    if not math.isfinite(result) or not low <= result <= high:
        raise RewardRangeError(name, f"must lie in [{low:g}, {high:g}], got {value!r}")
    return result


def arm_names(name: str, value: Sequence[Any] | None, size: int) -> tuple[str, ...]:
    """Return distinct arm names; by default "0", "1", ..."""
    if value is None:
        return tuple(str(a) for a in range(size))
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    if not listed or not all(isinstance(x, str) for x in value):
        raise ArgumentError(name, f"must be a sequence of strings, got {value!r}")
    same_length(name, value, size)
    if len(set(value)) != size:
        raise ArgumentError(name, "must be distinct")
    return tuple(value)


def arms(name: str, value: Any) -> Labels:
    """Return the labels of arms: 0, 1, ... for a number, else the distinct names given."""
    if isinstance(value, str):
        raise ArgumentError(name, f"must be a number of arms or a list of names, got {value!r}")
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Sequence):
        if not value:
            raise ArgumentError(name, "must hold at least one arm")
        return arm_names(name, value, len(value))
    return tuple(range(whole(name, value, most=MOST_ARMS)))


def seed(name: str, value: Any) -> int:
    """Return the entropy of a seed: a whole number, or fresh entropy for None."""
    if value is None:
        return int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]
    return whole(name, value, least=0)


def unused(given_seed: Any, given_horizon: Any) -> None:
    """Check a seed and a horizon that a learner takes and does not need."""
    if given_horizon is not None:
        horizon("horizon", given_horizon)
    if given_seed is not None:
        seed("seed", given_seed)


def jobs(name: str, value: Any) -> int:
    """Return a number of threads; -1 means one per core."""
    if value == -1:
        return os.cpu_count() or 1
    return whole(name, value)


def at_most(name: str, value: Any, most: int) -> int:
    """Return a whole number between 1 and ``most``."""
    result = whole(name, value)
    if result > most:
        raise ArgumentError(name, f"must be at most {most}, got {shown(value)}")
    return result


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
    try:
        result.encode()
    except UnicodeEncodeError:
        raise ArgumentError(name, f"holds half a character: {value!r}") from None
    if len(result) > longest:
        raise ArgumentError(name, f"must have at most {longest} characters, got {len(result)}")
    return result


def candidates(name: str, value: Any) -> dict[str, Any]:
    """Return what takes part in a race, by name: two or more."""
    listed = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)
    if isinstance(value, Mapping):
        pairs = list(value.items())
    elif listed and all(isinstance(x, str) for x in value):
        pairs = [(str(x), str(x)) for x in value]
    elif listed and all(isinstance(x, tuple) and len(x) == 2 for x in value):
        pairs = [tuple(x) for x in value]
    else:
        raise ArgumentError(
            name,
            "must be a mapping from names to candidates, a list of (name, candidate), or a list "
            f"of texts that are their own names; got {shown(value)}",
        )
    named = {key(name, label, LONGEST_REASON): candidate for label, candidate in pairs}
    if len(named) < len(pairs):
        labels = [label for label, _ in pairs]
        twice = next(x for i, x in enumerate(labels) if x in labels[:i])
        raise ArgumentError(name, f"must have distinct names, got {twice!r} twice")
    new_arms(name, list(named))
    if not 2 <= len(named) <= MOST_CANDIDATES:
        raise ArgumentError(name, f"must be 2 to {MOST_CANDIDATES}, got {len(named)}")
    return named


def instances(name: str, value: Any) -> Sequence[Any]:
    """Return the instances of a race: anything with a length whose items can be taken by number."""
    if isinstance(value, str | bytes | Mapping | set | frozenset):
        raise ArgumentError(name, f"must be a list of instances, got {shown(value)}")
    if hasattr(value, "iloc"):  # iterating would give the names of the columns
        raise ArgumentError(name, "must be a list of rows: frame.to_dict('records')")
    if isinstance(value, np.ndarray) and value.ndim == 0:
        raise ArgumentError(name, f"must be a list of instances, got {shown(value)}")
    if not isinstance(value, Sequence | np.ndarray):
        try:
            value = list(value)
        except TypeError:
            said = f"must be a list of instances, got {shown(value)}"
            raise ArgumentError(name, said) from None
    if not 1 <= len(value) <= MOST_INSTANCES:
        raise ArgumentError(name, f"must be 1 to {MOST_INSTANCES}, got {len(value)}")
    return cast("Sequence[Any]", value)


def race_size(name: str, instances: int, candidates: int) -> None:
    """Refuse a race whose tables of scores would not fit into memory."""
    most = MOST_SCORES // candidates
    if instances > most:
        raise ArgumentError(
            name, f"must be at most {most} for {candidates} candidates, got {instances}"
        )


def part_of_range(name: str, value: Any, low: float, high: float) -> float:
    """Return a positive difference of scores that some scores exceed."""
    result = positive(name, value)
    if result >= high - low:
        raise ArgumentError(
            name,
            f"must be below {high - low:g}, more than which no two scores differ; got {value!r}",
        )
    return result


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


def new_arms(name: str, value: Any) -> None:
    """Refuse names of arms that nobody could read in a table."""
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        for label in value:
            if isinstance(label, str) and not key(name, label, LONGEST_REASON).strip():
                raise ArgumentError(name, f"must not have a blank name, got {label!r}")


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
    _plain(name, value)
    return result


def _plain(name: str, value: Any) -> None:
    """Refuse keys that JSON would make strings of, and halves of characters."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ArgumentError(name, f"holds half a character: {value!r}") from None
    elif isinstance(value, Mapping):
        for label, inner in value.items():
            if not isinstance(label, str):
                raise ArgumentError(name, f"must have strings for keys, got {label!r}")
            _plain(name, label)
            _plain(name, inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            _plain(name, inner)


def seconds(name: str, value: Any) -> float:
    """Return a time span in seconds, from a number of them or a timedelta."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    result = number(name, value)
    if result < 0.0:
        raise ArgumentError(name, f"must not be negative, got {value!r}")
    if result > LONGEST_WAIT:
        raise ArgumentError(name, f"must be at most {LONGEST_WAIT:g} seconds, got {value!r}")
    return result


def path(name: str, value: Any) -> Path:
    """Return a path; the empty one would be the current folder by accident."""
    try:
        given = os.fspath(value)
    except Exception:  # whatever an object does when it is asked for its path
        raise ArgumentError(name, f"must be a path, got {value!r}") from None
    if not isinstance(given, str) or not given or "\0" in given:
        raise ArgumentError(name, f"must be a path that is not empty, got {value!r}")
    return Path(given)


def file(name: str, value: Any) -> Path:
    """Return the path of a file, there or not; ~ is the user's folder."""
    given = path(name, value)
    try:
        result = given.expanduser()
        folder = result.is_dir()
        special = not folder and result.exists() and not result.is_file()
    except RuntimeError:  # no such user
        raise ArgumentError(name, f"has no folder of a user, got {value!r}") from None
    except PermissionError:
        return result  # whoever reads it says so
    except (OSError, ValueError) as problem:
        said = getattr(problem, "strerror", None) or problem
        short = str(given) if len(str(given)) <= 200 else f"{str(given)[:200]}..."
        raise ArgumentError(name, f"cannot be a file: {said}: {short!r}") from None
    if folder:
        raise ArgumentError(name, f"must be a file, {result} is a folder")
    if special:  # a pipe keeps whoever opens it waiting
        raise ArgumentError(name, f"must be a regular file, {result} is a device or a pipe")
    return result


def not_the_study(name: str, target: Path, study: Path | None) -> None:
    """Refuse to write over the file of a study, its log or its lock, by whatever name."""
    if study is None:
        return
    own = (study, *(Path(f"{os.path.realpath(study)}-{x}") for x in ("wal", "lock")))
    try:
        same = any(os.path.realpath(target) == os.path.realpath(x) for x in own)
        same = same or (target.exists() and any(x.exists() and x.samefile(target) for x in own))
    except (OSError, ValueError) as problem:
        raise ArgumentError(name, f"cannot be written: {problem}") from None
    if same:
        raise ArgumentError(name, f"must not be the study's own file, got {str(target)!r}")


def shard(name: str, value: Any) -> tuple[int, int]:
    """Return the number of a shard and of how many, of "2/8" or (2, 8)."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}/[0-9]{1,9}", value):
        value = [int(x) for x in value.split("/")]
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ArgumentError(name, f"must be like 2/8, the second of eight, got {value!r}")
    i, n = whole(name, value[0], 0), whole(name, value[1], most=MOST_REPLICATIONS)
    if not 1 <= i <= n:
        raise ArgumentError(name, f"must be from 1/{n} to {n}/{n}, got {i}/{n}")
    return i, n


def backend(name: str, value: Any) -> str | None:
    """Return a backend that joblib can begin with now, "ray", or None for joblib's own choice."""
    from joblib import parallel_config

    if value is None:
        return None
    if value == "ray":
        if find_spec("ray") is None:
            raise MissingExtraError("the backend ray needs Ray: pip install ray")
        return "ray"
    if value == "multiprocessing":
        raise ArgumentError(name, "multiprocessing forks, which may hang; use loky for processes")
    try:
        with parallel_config(text(name, value)):
            return str(value)
    except (ValueError, ImportError, RuntimeError) as problem:
        if isinstance(problem, ArgumentError):
            raise
        said = " ".join(str(problem).split())
        raise ArgumentError(name, f"{value!r} cannot be used: {said}") from None


def _filled(name: str, value: Any, shapes: Sequence[str]) -> F64:
    result = _floats(name, value)
    if result.ndim not in [shape.count(",") + 1 for shape in shapes]:
        raise ArgumentError(name, f"must be ({') or ('.join(shapes)}), got shape {result.shape}")
    if result.size == 0:
        raise ArgumentError(name, f"must not be empty, got shape {result.shape}")
    return result


def mdp_tables(transitions: Any, rewards: Any, horizon: Any) -> tuple[F64, F64]:
    """Return transitions (H, S, A, S) and rewards (H, S, A); what has no stages is repeated."""
    P = _filled("transitions", transitions, ("S, A, S", "H, S, A, S"))
    r = _filled("rewards", rewards, ("S, A", "H, S, A"))
    S, A, to = P.shape[-3:]
    if to != S:
        raise ArgumentError("transitions", f"must lead from {S} states to {S}, got {to}")
    if A > MOST_ACTIONS:
        raise ArgumentError("transitions", f"must have at most {MOST_ACTIONS} actions, got {A}")
    if r.shape[-2:] != (S, A):
        raise ArgumentError(
            "rewards", f"must be ({S}, {A}) or (H, {S}, {A}) as the transitions, got {r.shape}"
        )
    H = _stages(len(P) if P.ndim == 4 else None, len(r) if r.ndim == 3 else None, horizon)
    mdp_size("horizon", S, A, H)
    P = stochastic("transitions", P)
    return np.broadcast_to(P, (H, S, A, S)).copy(), np.broadcast_to(r, (H, S, A)).copy()


def mdp_part(name: str, value: Any, least: int = 1) -> int:
    """Return a number of stages, states or actions."""
    return whole(name, value, least, MOST_STATES)


def mdp_size(name: str, S: int, A: int, H: int) -> None:
    """Refuse an MDP whose transitions could not be held, before any memory is asked for."""
    size = H * S * A * S
    if size > LARGEST_TABLE:
        raise ArgumentError(
            name,
            f"{H} stages, {S} states and {A} actions need a table of {size:.2g} probabilities, "
            f"{8 * size / 1e9:.2g} GB; {LARGEST_TABLE:.2g} are the most",
        )


def _stages(of_transitions: int | None, of_rewards: int | None, horizon: Any) -> int:
    given = of_transitions or of_rewards
    if of_transitions and of_rewards and of_transitions != of_rewards:
        raise ArgumentError(
            "rewards", f"have {of_rewards} stages, the transitions {of_transitions}"
        )
    if horizon is not None:
        H = whole("horizon", horizon)
        if given and H != given:
            raise ArgumentError("horizon", f"must agree with the {given} stages given, got {H}")
        return H
    if given is None:
        raise ArgumentError("horizon", "must be given where all stages are alike")
    return given


def stochastic(name: str, value: F64) -> F64:
    """Return probabilities whose rows (the last axis) sum to 1; 1e-9 is forgiven and removed."""
    least, sums = value.min(axis=-1), value.sum(axis=-1)
    for wrong, problem, got in (
        (least < 0.0, "must not be negative", least),
        (np.abs(sums - 1.0) > NOT_STOCHASTIC, "must sum to 1 within 1e-9", sums),
    ):
        if wrong.any():
            row = tuple(int(i) for i in np.argwhere(wrong)[0])
            where = f"row {list(row)} " if row else ""
            raise ArgumentError(name, f"{where}{problem}, got {float(got[row])!r}")
    return np.asarray(value / sums[..., None])


def initial_states(name: str, value: Any, size: int) -> F64:
    """Return the distribution of the first state; by default it is state 0."""
    if value is None:
        value = [1.0] + [0.0] * (size - 1)
    result = vector(name, value)
    same_length(name, result, size)
    return stochastic(name, result)


def decision_points(name: str, value: Any, free: B1) -> B1:
    """Return the (H, S) mask of choices left to a learner: all that are not free, at least."""
    if value is None:
        return np.ones_like(free)
    try:
        result = np.array(value, order="C")
    except Exception:  # ragged, or whatever an object does when it is asked for its values
        result = np.array(None)
    if result.dtype != np.bool_ or result.shape != free.shape:
        raise ArgumentError(name, f"must be an array of True and False of shape {free.shape}")
    costly = np.argwhere(~result & ~free)
    if costly.size:
        h, s = costly[0]
        raise ArgumentError(
            name, f"must be True at stage {h}, state {s}: it is reachable and its actions differ"
        )
    return result


def denied_choice(points: B1, rewards: F64, support: B1) -> tuple[int, int] | None:
    """Return a stage and state that is reached though its rewards differ and nothing is decided.

    Transitions are not known, so only what is certain counts: a state in which episodes may
    begin, and a stage whose states are all of this kind.
    """
    denied = ~points & (rewards != rewards[:, :, :1]).any(axis=2)
    denied[0] &= support
    denied[1:] &= denied[1:].all(axis=1, keepdims=True)
    found = np.argwhere(denied)
    return (int(found[0, 0]), int(found[0, 1])) if found.size else None


def kept_choices(name: str, points: B1, rewards: F64, support: B1) -> None:
    """Refuse a mask of decision points that the known rewards contradict."""
    found = denied_choice(points, rewards, support)
    if found is not None:
        h, s = found
        each = "" if h == 0 else " and at every other state of this stage"
        raise ArgumentError(
            name,
            f"must be True at stage {h}, state {s}: its actions have different rewards{each}, "
            "so there is something to decide",
        )


def policy(name: str, value: Any, shape: tuple[int, int], n_actions: int) -> I8:
    """Return the actions of a policy, (H, S); an (S,) one is repeated at every stage."""
    result = _floats(name, value)
    if result.shape not in (shape, shape[1:]):
        raise ArgumentError(name, f"must have shape {shape} or {shape[1:]}, got {result.shape}")
    if (result != np.floor(result)).any():
        raise ArgumentError(name, "must hold whole numbers")
    within(name, result, 0, n_actions - 1)
    return np.broadcast_to(result, shape).astype(np.int8)


def outcomes(name: str, env: Any) -> tuple[list[list[list[Outcome]]], F64]:
    """Return P[s][a] = [(probability, next state, reward, done), ...] and the first state's law."""
    bare = getattr(env, "unwrapped", env)
    if not (hasattr(bare, "P") and hasattr(bare, "initial_state_distrib")):
        raise ArgumentError(name, f"must have a table P and initial_state_distrib, got {env!r}")
    if getattr(bare, "fickle_passenger", False):
        raise ArgumentError(name, "has a fickle passenger, who is not in its table P")
    try:
        table = [
            [
                [
                    (number(name, p), whole(name, to, 0), number(name, r), bool(done))
                    for p, to, r, done in bare.P[s][a]
                ]
                for a in range(len(bare.P[s]))
            ]
            for s in range(len(bare.P))
        ]
    except (LookupError, TypeError, ValueError):
        raise ArgumentError(
            name, "P[s][a] must list (probability, next state, reward, done)"
        ) from None
    if not table or not table[0] or any(len(rows) != len(table[0]) for rows in table):
        raise ArgumentError(name, "P must have the same actions in every state, and at least one")
    if any(to >= len(table) for rows in table for row in rows for _, to, _, _ in row):
        raise ArgumentError(name, f"P must stay within its {len(table)} states")
    return table, initial_states(name, bare.initial_state_distrib, len(table))


def stage_rewards(name: str, value: Any, low: float, high: float) -> F64:
    """Return the rewards of an MDP with unknown transitions, (H, S, A), within [low, high]."""
    result = _filled(name, value, ("H, S, A",))
    H, S, A = result.shape
    if A > MOST_ACTIONS:
        raise ArgumentError(name, f"must have at most {MOST_ACTIONS} actions, got {A}")
    mdp_size(name, S, A, H)
    within(name, result, low, high)
    return result


def state_set(name: str, value: Any, size: int) -> B1:
    """Return the mask of some states, at least one; by default all."""
    chosen = np.full(size, value is None)
    if value is not None:
        chosen[list(_numbers(name, value, size))] = True
    if not chosen.any():
        raise ArgumentError(name, "must hold at least one state")
    return chosen


def initial_state(name: str, value: Any, support: B1) -> int:
    """Return a state in which an episode may begin."""
    result = whole(name, value, least=0)
    if result >= len(support):
        raise ArgumentError(name, f"must lie in 0..{len(support) - 1}, got {value!r}")
    if not support[result]:
        raise ArgumentError(name, f"must be in initial_support, got {value!r}")
    return result


def decision(name: str, value: Any, asked: int) -> int:
    """Return the position of a decision, from its id: one of 1..asked."""
    if isinstance(value, tuple) and hasattr(value, "id"):
        raise UnknownDecisionError(
            name, f"must be the decision's id, not the decision itself: pass {value.id}, its .id"
        )
    if isinstance(value, float | np.floating):
        raise UnknownDecisionError(
            name, f"must be a whole number, the decision's id, got {shown(value)}: tell(id, reward)"
        )
    try:
        position = whole(name, value) - 1
    except ArgumentError:
        position = asked
    if position >= asked:
        raise UnknownDecisionError(name, f"no decision {shown(value)} was asked for")
    return position


def _numbers(name: str, value: Any, below: int) -> tuple[int, ...]:
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if not isinstance(value, Sequence):
        raise ArgumentError(name, f"must be a sequence of whole numbers, got {value!r}")
    result = tuple(whole(name, x, least=0) for x in value)
    if max(result, default=0) >= below:
        raise ArgumentError(name, f"must lie in 0..{below - 1}, got {max(result)}")
    return result


def visited(name: str, value: Any, shape: tuple[int, int], first: int) -> tuple[int, ...]:
    """Return the states of H stages, the first being known; one more is allowed and left out."""
    H, S = shape
    result = _numbers(name, value, S)
    if len(result) not in (H, H + 1):
        raise ArgumentError(name, f"must have length {H} or {H + 1}, got {len(result)}")
    if result[0] != first:
        raise ArgumentError(name, f"must begin with {first}, as asked for, got {result[0]}")
    return result[:H]


def followed(name: str, value: Any, policy: I8, states: Sequence[int]) -> None:
    """Refuse actions that are not those of a policy in the states of an episode."""
    result = _numbers(name, value, MOST_ACTIONS)
    same_length(name, result, len(states))
    for h, (s, a) in enumerate(zip(states, result, strict=True)):
        if a != policy[h, s]:
            raise ArgumentError(
                name, f"must be the policy's, {policy[h, s]} at stage {h} in state {s}, got {a}"
            )


def sections(name: str, value: Any) -> None:
    """Refuse anything but a mapping from names to comparisons, each with some Runs."""
    if not isinstance(value, Mapping) or not value:
        raise ArgumentError(name, "must map the names of problems to comparisons")
    for key, section in value.items():
        if not isinstance(key, str) or not isinstance(getattr(section, "runs", None), Mapping):
            raise ArgumentError(name, f"must map names to comparisons, got {key!r}: {section!r}")
        if not section.runs:
            raise ArgumentError(name, f"{key}: must hold some Runs")


def block(
    name: str, value: Any, labels: Labels, low: float, high: float
) -> dict[int, tuple[int, float, int]]:
    """Return plays, total and missing outcomes by the position of the arm, totals within reach."""
    if not isinstance(value, Mapping) or not value:
        raise ArgumentError(name, f"must be {{arm: (plays, total)}}, got {shown(value)}")
    known: dict[Any, int] = {label: a for a, label in enumerate(labels)}
    found: dict[int, tuple[int, float, int]] = {}
    for label, row in value.items():
        if type(label) is bool or not isinstance(label, int | str | np.integer):
            raise ArgumentError(name, f"there is no arm {shown(label)}")
        if label not in known:
            raise ArgumentError(name, f"there is no arm {shown(label)}")
        if not isinstance(row, list | tuple) or len(row) not in (2, 3):
            raise ArgumentError(
                name, f"arm {label!r} must have (plays, total) or (plays, total, missing)"
            )
        try:
            found[known[label]] = _block_row(row, low, high)
        except ArgumentError as problem:
            raise ArgumentError(name, f"of arm {label!r}, {problem}") from None
    return dict(sorted(found.items()))


def _block_row(row: Sequence[Any], low: float, high: float) -> tuple[int, float, int]:
    plays = whole("plays", row[0], most=MOST_PLAYS)
    total = number("total", row[1])
    missing = whole("missing", row[2], 0, plays) if row[2:] else 0
    came = plays - missing
    if math.isfinite(low):
        room = TOTALS * came * max(abs(low), abs(high))
        if not came * low - room <= total <= came * high + room:
            reach = f"[{came * low:g}, {came * high:g}]"
            raise ArgumentError("total", f"must be in {reach} for {came} rewards, got {total!r}")
    return plays, total, missing


def arm_labels(name: str, value: Any) -> tuple[Hashable, ...]:
    """Return distinct hashable labels of arms; None, NaN and infinity are none."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, Sequence) or isinstance(value, str | bytes) or not value:
        raise ArgumentError(name, f"must be a list of arms, at least one, got {value!r}")
    for label in value:
        if not isinstance(label, Hashable):
            raise ArgumentError(name, f"must be hashable, got {label!r}")
        if label is None or (isinstance(label, float) and not math.isfinite(label)):
            raise ArgumentError(name, f"must not be None, NaN or infinite, got {label!r}")
    if len(set(value)) != len(value):
        raise ArgumentError(name, "must be distinct")
    return tuple(value)


def log_rows(
    decisions: Any, rewards: Any, numbers: Mapping[Hashable, int], low: float, high: float
) -> tuple[I64, F64]:
    """Return the arms' numbers and the rewards of logged decisions, all of them checked."""
    columns = []
    for name, value in (("decisions", decisions), ("rewards", rewards)):
        if hasattr(value, "tolist"):  # an array, a pandas Series
            value = value.tolist()
        if not isinstance(value, Sequence) or isinstance(value, str | bytes | bytearray):
            raise ArgumentError(name, f"must be a list or a one-dimensional array, got {value!r}")
        columns.append(value)
    same_length("rewards", columns[1], len(columns[0]))
    try:
        arms = [numbers[label] for label in columns[0]]
    except (KeyError, TypeError) as unknown:  # not an arm, or not even hashable
        raise ArgumentError("decisions", f"must be arms: {unknown}") from None
    if len(arms) <= FEW_ROWS:
        few = [reward(value, low, high, "rewards") for value in columns[1]]
        return np.array(arms, np.int64), np.array(few, np.float64)
    values = _floats("rewards", columns[1])
    same_length("rewards", values.shape, 1)
    outside = (values < low) | (values > high)
    if outside.any():
        raise RewardRangeError(
            "rewards", f"must lie in [{low:g}, {high:g}], got {float(values[outside][0])!r}"
        )
    return np.array(arms, np.int64), values


def context_rows(name: str, value: Any) -> int:
    """Return how many rows of contexts are given, 1 for None."""
    if value is None:
        return 1
    if isinstance(value, str | bytes) or not hasattr(value, "__len__"):
        raise ArgumentError(name, f"must be two-dimensional, got {value!r}")
    shape = np.shape(value)
    if len(shape) not in (1, 2) or shape[0] == 0:
        raise ArgumentError(name, f"must have at least one row, got shape {shape}")
    return int(shape[0])


def arm_number(name: str, value: Any, size: int) -> int:
    """Return the number of an arm, 0..size-1."""
    result = whole(name, value, least=0)
    if result >= size:
        raise ArgumentError(name, f"must lie in 0..{size - 1}, got {value!r}")
    return result


def finite_mdp(name: str, env: Any) -> tuple[F64, F64, F64, B1]:
    """Return P (S, A, S), R (S, A), the first state's law and the mask of terminal states."""
    for key in ("P", "R", "initial_state_distribution"):
        if not hasattr(env, key):
            raise ArgumentError(name, f"must have tables P, R and a first state, got {env!r}")
    P, R = mdp_tables(env.P, env.R, 1)
    S = P.shape[1]
    first = env.initial_state_distribution
    if np.ndim(first) == 0:
        first = np.eye(S)[arm_number(name, first, S)]
    is_terminal = getattr(env, "is_terminal", lambda s: False)
    ends = np.array([bool(is_terminal(s)) for s in range(S)])
    return P[0], R[0], initial_states(name, first, S), ends
