"""What every learner has: engines, a guarantee or none, and what it refuses to play."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cached_property
from typing import Any, ClassVar

from uli_fast._support.fingerprint import attributes, fingerprint, is_users
from uli_fast.guarantees import Guarantee
from uli_fast.learners._parameters import checks_of
from uli_fast.learners._setting import LearnerSetting, about_of


class Learner:
    """An algorithm's parameters and its guarantee; subclasses are frozen dataclasses."""

    delta: float
    engines: ClassVar[tuple[str, ...]] = ("skip", "rounds")
    # Whether it is a rival that promises nothing, rather than one whose promise may be void.
    baseline: ClassVar[bool] = False
    # Whether it may come back to any arm for ever, as UCB does: a rival for turning points.
    returns: ClassVar[bool] = False
    # Whether decisions are drawn at random.
    draws: ClassVar[bool] = False
    # How it goes through a log, by the way in which arms were assigned; {} if it cannot.
    reads_logs: ClassVar[Mapping[str, str]] = {}

    def __post_init__(self) -> None:
        kind: type = type(self)
        for name, check in checks_of(kind):
            given = getattr(self, name)
            kept = check(name, given)
            if kept is not given:
                object.__setattr__(self, name, kept)

    @cached_property
    def own_code(self) -> dict[str, str]:
        """Marks of what is the user's in it: functions, objects, its class.

        Found once, before it is used: what it holds may change by that.
        """
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        own = {k: v for k, v in values.items() if not _is_known(v)}
        if is_users(type(self)):
            own["class"] = type(self)
        marks = {name: fingerprint(value, "learner") for name, value in own.items()}
        for name, value in own.items():  # they say what differs
            held = attributes(value, "learner")
            marks |= {f"{name}.{attribute}": mark for attribute, mark in held.items()}
        return marks

    @property
    def title(self) -> str:
        """What tables and figures call it, without its parameters."""
        return type(self).__name__

    def engines_for(self, problem: Any) -> tuple[str, ...]:
        """Return the engines that can play this problem, the preferred one first."""
        if problem.has_block_law:
            return self.engines
        return tuple(e for e in self.engines if e != "skip")

    def reduced(self, problem: Any) -> Any:
        """Return what is played in a problem's place: one with the same best expected reward."""
        return problem

    def on(self, about: Any) -> LearnerSetting:
        """Return this learner on a problem, or on what is known of one."""
        mine = isinstance(about, LearnerSetting) and about.learner is self
        return about if mine else LearnerSetting(self, about_of(about))

    def check(self, on: Any, horizon: int) -> None:
        """Refuse a problem or a horizon that this learner cannot play."""

    def guarantee(self, about: Any) -> Guarantee:
        """Return the bound for a problem, or for the size of one."""
        raise NotImplementedError


def _is_known(value: Any) -> bool:
    """Return whether a parameter is plain, or the package's own."""
    plain = value is None or isinstance(value, int | float | str | list | tuple)
    return plain or type(value).__module__.startswith("uli_fast.")
