"""Saved states: what changes in a player, as arrays by name, and what makes a state believed.

A player says which parts it has (``parts``): NamedTuples of arrays, lists that grow, a generator,
its queue. They are dumped and loaded here, without the player, and a hash says whether a state is
whole. Whoever can change a state can sign it again, so that is not enough: a state holds every
decision and outcome, and how many were settled when each decision was asked for. So a fresh
player is asked and told the same in the same order, and must come to the same. Counts and masks
must be equal. Numbers that are computed may differ in their last digits, as processors round in
different ways; the restored player keeps the saved ones.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from uli_fast.errors import StateError

ROUNDING = 1e-9  # relative to the largest number beside it
NAMED = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}  # which JSON has no numbers for
FITS = {"b": "b", "i": "i", "u": "iu", "f": "fiu"}  # kinds of saved numbers for those of an array


class Records(list[Any]):
    """A list of numbers, or of tuples of them, that grows: of each number the kind is declared.

    ``make`` makes a row of what is in it.
    """

    def __init__(self, *kinds: type | tuple[type, ...], make: Callable[..., Any] = tuple) -> None:
        super().__init__()
        self.kinds, self.make = kinds, make

    def read(self, saved: Any, name: str) -> list[Any]:
        """Return saved rows, if they are such."""
        if not isinstance(saved, list | tuple):
            raise StateError("state", f"{name} must be a list, got {type(saved).__name__}")
        many = len(self.kinds) > 1
        rows = [self.make(self._row(row)) for row in saved] if many else unnamed(saved)
        columns = zip(*rows, strict=True) if many and rows else [rows] * len(self.kinds)
        for kind, column in zip(self.kinds, columns, strict=True):
            fits = (float, int) if kind is float else kind if isinstance(kind, tuple) else (kind,)
            if not {*map(type, column)} <= set(fits):
                raise StateError("state", f"{name} must have rows of {self.kinds}")
        return list(rows)

    def _row(self, row: Any) -> list[Any]:
        """Return a row with numbers for their names; words stay, whatever they say."""
        both = zip(self.kinds, row, strict=True)
        return [x if isinstance(kind, tuple) and str in kind else unnamed(x) for kind, x in both]


class Arrays(list[Any]):
    """A list of arrays of one shape and type, which grows."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        super().__init__()
        self.one = np.zeros(shape, dtype)

    def read(self, saved: Any, name: str) -> list[Any]:
        """Return saved arrays, if they are such."""
        return [_array(self.one, x, name).astype(self.one.dtype) for x in saved]


class Attributes:
    """Numbers, arrays and dataclasses of them that an object holds under some names."""

    def __init__(self, owner: Any, *names: str) -> None:
        self._owner, self._names = owner, names

    def save(self) -> dict[str, Any]:
        """Return what the object holds."""
        return {name: dump(_arrays(getattr(self._owner, name))) for name in self._names}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Let the object hold what ``save`` returned."""
        held = {name: getattr(self._owner, name) for name in self._names}
        found = {name: _arrays(value, copy=True) for name, value in held.items()}
        load(found, saved)
        for name, value in held.items():
            setattr(self._owner, name, _like(value, found[name]))


def _arrays(value: Any, copy: bool = False) -> Any:
    if is_dataclass(value):
        return {f.name: _arrays(getattr(value, f.name), copy) for f in fields(value)}
    return np.array(value) if copy else np.asarray(value)


def _like(value: Any, found: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{k: _like(getattr(value, k), x) for k, x in found.items()})
    return found if isinstance(value, np.ndarray) else found.item()


def dump(part: Any) -> Any:
    """Return a part as plain numbers, lists and words, for JSON."""
    if isinstance(part, np.ndarray):
        values = part.tolist()
        return values if part.dtype.kind != "f" or np.isfinite(part).all() else named(values)
    if isinstance(part, Arrays):
        return [x.tolist() for x in part]
    if isinstance(part, Records):
        return named(part) if float in part.kinds or len(part.kinds) > 1 else list(part)
    if isinstance(part, np.random.Generator):
        return dict(part.bit_generator.state)
    if hasattr(part, "save"):
        return part.save()
    return {name: dump(inner) for name, inner in _inside(part).items()}


def load(part: Any, saved: Any, name: str = "state") -> None:
    """Take over what ``dump`` returned into a fresh part; refuse what does not fit it."""
    if isinstance(part, np.ndarray):
        part[...] = _array(part, saved, name)
    elif isinstance(part, Records | Arrays):
        part[:] = part.read(saved, name)
    elif isinstance(part, np.random.Generator):
        part.bit_generator.state = dict(saved)
    elif hasattr(part, "load"):
        part.load(saved)
    else:
        inside = _inside(part)
        if not isinstance(saved, Mapping) or saved.keys() != inside.keys():
            there = set(saved) if isinstance(saved, Mapping) else {saved}
            odd = ", ".join(sorted(map(str, there ^ inside.keys())))
            raise StateError("state", f"{name} does not have the parts of this player: {odd}")
        for key, inner in inside.items():
            load(inner, saved[key], key)


def _inside(part: Any) -> Mapping[str, Any]:
    found: Mapping[str, Any] = part if isinstance(part, Mapping) else part._asdict()
    return found


def _array(fresh: Any, saved: Any, name: str) -> Any:
    """Return a saved array; it has numbers that are not finite only if a fresh one has."""
    values = np.asarray(saved)
    if values.dtype.kind in "UO" and fresh.dtype.kind == "f":
        values = np.asarray(unnamed(saved))
    if values.shape != fresh.shape and not values.size == fresh.size == 0:
        raise StateError("state", f"{name} has shape {values.shape}, not {fresh.shape}")
    if values.size and values.dtype.kind not in FITS[fresh.dtype.kind]:
        raise StateError("state", f"{name} must be of {fresh.dtype}, not of {values.dtype}")
    if values.dtype.kind == "f" and not np.isfinite(values).all() and np.isfinite(fresh).all():
        raise StateError("state", f"{name} holds a number that is not finite")
    return values.reshape(fresh.shape)


def named(value: Any) -> Any:
    """Return plain values with names for numbers that are not finite."""
    if isinstance(value, list | tuple):
        return [named(x) for x in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def unnamed(value: Any) -> Any:
    """Return plain values with the numbers that stand for their names."""
    if isinstance(value, list | tuple):
        return [unnamed(x) for x in value]
    return NAMED.get(value, value) if isinstance(value, str) else value


def check_numbers(saved: Any) -> None:
    """Refuse numbers that are not finite: a state has words for those that may be."""
    for value in saved.values() if isinstance(saved, Mapping) else saved:
        if type(value) is float:
            if not math.isfinite(value):
                raise StateError("state", "holds a number that is not finite")
        elif isinstance(value, list | tuple | Mapping):
            check_numbers(value)


# Whether a state is whole.


def digest(head: Mapping[str, Any], parts: Any) -> str:
    """Return the mark of a state: what it is about, and what its parts hold."""
    found = hashlib.sha256(json.dumps(head, sort_keys=True, allow_nan=False).encode())
    _add(found, parts)
    return found.hexdigest()


def _add(found: Any, part: Any) -> None:
    if isinstance(part, np.ndarray):
        part = np.where(np.isnan(part), math.nan, part) if part.dtype.kind == "f" else part
        found.update(f"{part.dtype.kind}{part.shape}".encode() + part.tobytes())
    elif isinstance(part, list):
        found.update(_bytes(part))
    elif isinstance(part, np.random.Generator):
        found.update(json.dumps(dump(part), sort_keys=True).encode())
    elif hasattr(part, "save"):
        for name, inner in sorted(part.save().items()):
            found.update(name.encode())
            found.update(_bytes(inner))
    else:
        for name, inner in _inside(part).items():
            found.update(name.encode())
            _add(found, inner)


def _bytes(values: Any) -> bytes:
    """Return what marks plain values: numbers by their bits, which takes no time."""
    try:
        found = np.array(values)
        if found.dtype.kind in "bifO":
            return found.astype(np.float64).tobytes()  # None as NaN
    except (TypeError, ValueError):  # of several lengths, or words
        pass
    return json.dumps(values, sort_keys=True).encode()


# Whether its decisions and outcomes lead to a state.


def verify(player: Any, saved: Mapping[str, Any], start: Callable[[], Any]) -> None:
    """Refuse a state that its own decisions and outcomes do not lead to.

    ``start`` gives a fresh player of the same kind.
    """
    if not player.repeats:
        player.recount()
        return
    fresh = start()
    fresh.follow(player)
    compare(fresh, saved)
    player.adopt(fresh)


def compare(player: Any, saved: Mapping[str, Any]) -> None:
    """Refuse a state that is not what a player has come to that was asked and told the same."""
    if saved["queue"]["settled"] != player.queue.settled:
        raise contradicts("settled is not what its decisions and outcomes lead to")
    parts = player.parts()
    del parts["queue"]
    for name, part in parts.items():
        if name not in player.believed and not same(saved[name], dump(part)):
            name = _differing(name, saved[name], dump(part))
            raise contradicts(f"{name} is not what its decisions and outcomes lead to")


def contradicts(what: str) -> StateError:
    """Say that a state does not fit together."""
    return StateError("state", f"contradicts itself: {what}")


def _differing(name: str, old: Any, new: Any) -> str:
    """Return the name of the innermost part that differs."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in new:
            if not same(old.get(key), new[key]):
                return _differing(key, old.get(key), new[key])
    return name


def within_counts(total: Any, came: Any) -> bool:
    """Return whether sums of rewards from 0 to 1 can be what they are."""
    room = ROUNDING * (1.0 + came)
    return bool((total >= -room).all() and (total <= came + room).all())


def same(a: Any, b: Any) -> bool:
    """Compare plain values; floats up to rounding."""
    if a == b:
        return True
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if not isinstance(a, list) or not isinstance(b, list):
        a, b = [a], [b]
    if len(a) != len(b):
        return False
    if any(isinstance(x, list | dict) for x in (*a, *b)):
        return all(map(same, a, b))
    if not all(type(x) is float for x in (*a, *b)):
        return all(
            x == y or (type(x) is type(y) is float and same(x, y))
            for x, y in zip(a, b, strict=True)
        )
    room = ROUNDING * max(map(abs, (*a, *b)))  # nothing is near what is infinite
    return room < math.inf and all(abs(x - y) <= room for x, y in zip(a, b, strict=True))
