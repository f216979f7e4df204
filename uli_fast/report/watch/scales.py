"""From numbers and times to places on an axis, and what is written there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from uli_fast.report.words import number, power

MOST_TICKS = 5
# Steps of axes that count time, in seconds, and how what is written there reads.
STEPS = (
    *((s, "%H:%M:%S") for s in (1, 2, 5, 10, 15, 30)),
    *((60 * m, "%H:%M") for m in (1, 2, 5, 10, 15, 30)),
    *((3600 * h, "%H:%M") for h in (1, 2, 3, 6, 12)),
    *((86400 * d, "%-d %b") for d in (1, 2, 3, 7, 14, 30, 61, 91, 182)),
    *((86400 * d, "%b %Y") for d in (365, 730, 1826, 3653)),
)


class Tick(NamedTuple):
    """A place on an axis, from 0 to 1, and its label."""

    at: float
    text: str


class Scale(NamedTuple):
    """An axis; a logarithmic one begins above 0."""

    low: float
    high: float
    logarithmic: bool = False

    def at(self, x: float) -> float:
        """Return where a number is, from 0 to 1; beyond the ends, at them."""
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, x = math.log(low), math.log(high), math.log(max(x, low))
        share = (min(max(x, low), high) - low) / (high - low) if high > low else 0.5
        return min(max(share, 0.0), 1.0)

    def ticks(self) -> list[Tick]:
        """Return a few round numbers."""
        values = _decades(self.low, self.high) if self.logarithmic else _round(self.low, self.high)
        return [Tick(self.at(x), _written(x, self.logarithmic)) for x in values]


def _written(x: float, logarithmic: bool) -> str:
    if logarithmic and not 1e-3 <= x < 1e5:
        return power(x)
    return number(0.0 if abs(x) < 1e-12 else x)


def _round(low: float, high: float) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten."""
    span = high - low
    if not span > 0.0 or not math.isfinite(span):
        return [low]
    exact = span / MOST_TICKS
    ten = 10.0 ** math.floor(math.log10(exact))
    step = next(k * ten for k in (1.0, 2.0, 5.0, 10.0) if k * ten >= exact * (1.0 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def _decades(low: float, high: float) -> list[float]:
    """Return powers of ten; with few of them, 2 and 5 times as much too."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    apart = max(1, math.ceil((last - first) / MOST_TICKS))
    factors = (1.0,) if last - first > 2 else (1.0, 2.0, 5.0)
    every = [f * 10.0**k for k in range(first, last + 1, apart) for f in factors]
    return [x for x in every if low * (1.0 - 1e-9) <= x <= high * (1.0 + 1e-9)]


def around(values: Sequence[float], least: float = -math.inf, most: float = math.inf) -> Scale:
    """Return a scale with all finite values on it and a little room, within limits."""
    finite = [x for x in values if math.isfinite(x)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    room = 0.06 * (high - low) or 0.5 * abs(high) or 0.5
    return Scale(max(least, low - room), min(most, high + room))


def from_zero(values: Sequence[float]) -> Scale:
    """Return a scale of counts."""
    return Scale(0.0, max(1.0, *values) * 1.05)


def decades_around(values: Sequence[float]) -> Scale:
    """Return a logarithmic scale with all positive values on it."""
    positive = [x for x in values if 0.0 < x < math.inf] or [1.0]
    low, high = min(positive), max(positive)
    return Scale(low / 1.12, high * 1.12, logarithmic=True)


class TimeScale(NamedTuple):
    """An axis of times."""

    first: datetime
    last: datetime

    @classmethod
    def over(cls, times: Sequence[str]) -> TimeScale:
        """Return a scale from the first of some times to the last."""
        read = sorted(map(moment_of, times))
        first, last = read[0], read[-1]
        return cls(first, last if last > first else first + timedelta(seconds=1))

    def at(self, time: str) -> float:
        """Return where a time is, from 0 to 1."""
        share = (moment_of(time) - self.first) / (self.last - self.first)
        return min(max(share, 0.0), 1.0)

    def ticks(self) -> list[Tick]:
        """Return a few round times."""
        span = (self.last - self.first).total_seconds()
        fitting = (x for x in STEPS if span / x[0] <= MOST_TICKS)
        step, form = next(fitting, (math.ceil(span / MOST_TICKS), "%Y"))
        begin = self.first.timestamp()
        k = math.ceil(begin / step)
        found = []
        while k * step <= begin + span:
            when = datetime.fromtimestamp(k * step, UTC)
            found.append(Tick((k * step - begin) / span, _time(when, form)))
            k += 1
        return found


def moment_of(time: str) -> datetime:
    """Return a time as events have it."""
    return datetime.fromisoformat(time).astimezone(UTC)


def _time(when: datetime, form: str) -> str:
    return when.strftime(form.replace("%-d", str(when.day)))
