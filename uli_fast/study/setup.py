"""What a study is about: recorded when it begins, checked whenever it is opened again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from typing import Any

import numpy as np

from uli_fast import _check
from uli_fast._registry import PLAIN_SETS
from uli_fast._support.streams import entropy_of
from uli_fast.errors import ArgumentError, StudyError
from uli_fast.learners._kinds import is_learner
from uli_fast.players import rebuilt
from uli_fast.players._descriptions import changed, describe, own_code, parameters, same_learner
from uli_fast.players._sets import extent, n_directions
from uli_fast.study.window import BY_HAND, Window

MOST_ARMS = 10**6  # so that a hostile file cannot take all memory


@dataclass(frozen=True)
class Setup:
    """A learner and what its ``start`` is given."""

    learner: Any
    arguments: dict[str, Any]
    begun: bool = False  # from a file: code of the user's own is not called until it is needed
    window: Window | None = None

    @classmethod
    def of(cls, learner: Any, arguments: Mapping[str, Any]) -> Setup:
        """Check a learner and what it is to start with, leaving out what is None."""
        if not is_learner(learner) or not hasattr(learner, "start"):
            raise ArgumentError(
                "learner", f"is not a learner for live decisions: {_check.called(learner)}"
            )
        given = {name: value for name, value in arguments.items() if value is not None}
        window = Window.of(given.pop("window", None), given.pop("then", None))
        many = given.get("arms")
        if isinstance(many, int | float | np.number) and many > MOST_ARMS:
            raise ArgumentError("arms", f"must be at most {MOST_ARMS} in a study, got {many!r}")
        known = signature(learner.start).parameters
        if any(p.kind is p.VAR_KEYWORD for p in known.values()):  # one that only says why not
            raise ArgumentError("learner", f"{type(learner).__name__} has no live player")
        for name in given:
            if name not in known:
                raise ArgumentError(name, f"is nothing that {type(learner).__name__} starts with")
        for name, parameter in known.items():
            if parameter.default is parameter.empty and name not in given:
                raise ArgumentError(name, f"must be given for {type(learner).__name__}")
        seed = entropy_of(_check.seed("seed", given.get("seed")))
        setup = cls(learner, given | {"seed": seed}, window=window)
        _ = setup.own  # before it is used, and before there is a file
        return setup

    @property
    def own(self) -> dict[str, str]:
        """Marks of the functions, objects and classes of the user's own."""
        return own_code(self.learner, self.arguments.get("arms"))

    @property
    def plain(self) -> bool:
        """Whether a player can be saved and restored with nothing of the user's own in it."""
        arms = self.arguments.get("arms")
        values = parameters(self.learner).values()
        return all(map(_is_plain, values)) and (isinstance(arms, np.ndarray) or _is_plain(arms))

    def start(self) -> Any:
        """Begin live decisions."""
        start = self.learner.start
        if self.begun:
            start = getattr(self.learner, "reopen", start)
        try:
            player = start(**self.arguments)
        except NotImplementedError:
            name = type(self.learner).__name__
            raise ArgumentError("learner", f"{name} has no live player") from None
        if self.window is not None:
            self.window.check(player)
        return player

    def record(self, player: Any) -> dict[str, Any]:
        """Return everything as JSON has it, from a player that has just been started."""
        about: dict[str, Any] = {
            "learner": describe(self.learner),
            "own": self.own,
            "seed": self.arguments["seed"],
            "low": player.low if math.isfinite(player.low) else None,
            "high": player.high if math.isfinite(player.high) else None,
            "horizon": self.arguments.get("horizon"),
            "window": None if self.window is None else self.window._asdict(),
        }
        if player.region is not None:
            about["arms"] = _described(player.region)
        about |= player.started_with()
        return about

    @classmethod
    def recorded(cls, record: Mapping[str, Any], learner: Any, arms: Any) -> Setup:
        """Rebuild what was recorded; what could not be written down must be given."""
        about = dict(record)
        spec, own = about.pop("learner"), about.pop("own")
        about |= about["window"] or {}
        about["window"] = about.pop("seconds", None)
        bounds = about["low"], about["high"]
        if learner is None:
            learner = rebuilt(spec)
        elif not is_learner(learner) or not same_learner(spec, learner, bounds):
            raise ArgumentError("learner", f"this study was begun with {spec}, not {learner!r}")
        for name, infinite in (("low", -math.inf), ("high", math.inf)):
            about[name] = infinite if about[name] is None else about[name]
        if "arms" in about:
            about["arms"] = _read(about["arms"], arms)
        setup = replace(cls.of(learner, about), begun=True)
        _check_own(own, setup.own)
        return setup


def started(record: Mapping[str, Any], given: Mapping[str, Any], setup: Setup) -> Any:
    """Start the player of a study; refuse what was given (not None) and is not what it began with.

    The player is started with what was given, which gives the same one or is refused.
    """
    said = {name: value for name, value in given.items() if value is not None}
    if not said:
        return setup.start()
    if setup.window is not None and "then" in said:
        said.setdefault("window", setup.window.seconds)
    claimed = replace(Setup.of(setup.learner, setup.arguments | said), begun=setup.begun)
    if "window" in said and claimed.window != setup.window:
        if setup.window is None:
            raise ArgumentError(
                "window", f"this study was begun without one: settle what is open by {BY_HAND}"
            )
        raise ArgumentError("window", f"this study was begun so that {setup.window.sentence}")
    player = claimed.start()
    now = claimed.record(player)
    for name in said.keys() - {"window", "then"}:
        old, new = record.get(name), now.get(name)
        if old != new and not (name == "arms" and _same_set(old, new)):
            raise ArgumentError(name, f"this study was begun with {_short(old)}, not {_short(new)}")
    return player


def load_kernels(learner: Any) -> None:
    """Import what decides before threads do: a child forked in mid-import waits for ever."""
    stem = type(learner).__module__.rpartition(".")[2]
    for module in ("_jit", stem, *_BESIDE.get(stem, ())):
        if find_spec(f"uli_fast.kernels.{module}"):
            import_module(f"uli_fast.kernels.{module}")
    import_module("numpy.ma")  # Numba does when it first sees an array


_BESIDE = {"betting_elimination": ("betting.live",)}


def _described(region: Any) -> dict[str, Any]:
    """Describe a set by its parameters where it has plain ones, and by how far it reaches."""
    kind, parameters = type(region), {}
    plain = kind.__name__ in PLAIN_SETS and PLAIN_SETS[kind.__name__].load() is kind
    if plain:
        for name in signature(kind).parameters:
            value = getattr(region, "dimension" if name == "d" else name)
            parameters[name] = value.tolist() if isinstance(value, np.ndarray) else value
    return {
        "set": kind.__name__ if plain else None,
        "parameters": parameters,
        "extent": extent(region),
    }


def _is_plain(value: Any) -> bool:
    known = isinstance(value, int | float | str | list | tuple | None)
    return known or type(value).__module__.startswith("uli_fast.")


def _check_own(begun: Mapping[str, Any], now: Mapping[str, str]) -> None:
    """Refuse other code or another object than that of the beginning, where they can be told."""
    found = changed(begun, now)
    if found is not None:
        name, differs = found
        whose = "their code" if name == "arms" else f"what was given as its {name}"
        raise ArgumentError(
            "arms" if name == "arms" else "learner",
            f"{whose} is not what this study was begun with: {differs}. Begin a new study under "
            "another path; this one stays as it is, and can be read and exported with what began "
            "it",
        )


def _read(arms: Mapping[str, Any], given: Any) -> Any:
    """Return what was described; a set that was not written down is the one given."""
    from uli_fast import arm_sets

    if "number" in arms:
        if isinstance(arms["number"], int) and arms["number"] > MOST_ARMS:
            raise MemoryError  # rather than try
        return arms["number"]
    if "names" in arms:
        return arms["names"]
    if "vectors" in arms:
        return np.array(arms["vectors"])
    if arms["set"] in PLAIN_SETS:
        d = arms["parameters"].get("d")
        if d is not None and n_directions(d) != len(arms["extent"]):
            raise ValueError(f"a set in {d} dimensions is not the one whose extent is recorded")
        return PLAIN_SETS[arms["set"]].load()(**arms["parameters"])
    if given is None:
        raise ArgumentError("arms", "must be given: this set could not be written down")
    found = extent(arm_sets.as_arm_set(given))
    if not _close(found, arms["extent"]):
        raise ArgumentError("arms", "are not those of the study: their extent differs")
    return given


def _same_set(old: Any, new: Any) -> bool:
    """Compare two sets: written down by their parameters, else by how far they reach."""
    if not all(isinstance(x, dict) and "extent" in x for x in (old, new)):
        return False
    described = all(old[key] == new[key] for key in ("set", "parameters"))
    return described and _close(old["extent"], new["extent"])


def _close(a: Any, b: Any) -> bool:
    return len(a) == len(b) and bool(np.allclose(a, b, rtol=1e-7, atol=1e-12))


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


def first_content(path: Any, event: Any) -> dict[str, Any]:
    """Return what the first event of a journal says the study is about."""
    content = event.content
    if isinstance(content, dict) and "race" in content:
        raise StudyError(f"{path} is the file of a race: uli.race(..., study=...) goes on with it")
    if event.kind != "create" or not isinstance(content, dict) or "learner" not in content:
        raise StudyError(f"{path} is damaged: it does not begin with what the study is about")
    if not isinstance(content.get("versions", {}), dict):
        raise StudyError(f"{path} is damaged: it does not say with what versions it was begun")
    return content
