"""The figures of a live study, each with a title that says what to see and a table behind it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from uli_fast.report.watch import words
from uli_fast.report.watch.plot import EndLabel, Plot, Point, look_of, steps
from uli_fast.report.watch.scales import (
    Scale,
    Tick,
    TimeScale,
    around,
    decades_around,
    from_zero,
)
from uli_fast.report.words import label, number, squeezed
from uli_fast.study.course import Moment
from uli_fast.study.overview import Overview

MOST_ARMS = 8  # that are drawn
BINS, STRETCHES = 40, 60  # of plays, and of time
MOST_ROWS = 25  # of the table behind a figure
HIGH, LOW = 340, 220  # pixels
SHORT = 14  # characters of a name beside a line


class Figure(NamedTuple):
    """A drawing and what goes with it; every word of it still has to be escaped, but the svg."""

    id: str
    title: words.Sentence
    svg: str
    y: str  # what the left axis is
    x: str  # what the lower axis is
    note: str
    headers: tuple[str, ...]
    rows: list[list[str]]
    wide: bool = False


def figures_of(o: Overview) -> list[Figure]:
    """Return all that can be drawn of a study."""
    makers: tuple[Callable[[Overview], Figure | None], ...] = (
        (intervals, allocation, certificate, awaited)
        if o.arms
        else (certificate, outcomes, awaited)
    )
    found = [figure for figure in (maker(o) for maker in makers) if figure is not None]
    if sum(not figure.wide for figure in found) % 2:  # none stands beside an empty place
        found[-1] = found[-1]._replace(wide=True)
    return found


def blinded_figures_of(o: Overview) -> list[Figure]:
    """Return what may be drawn for those who see counts only: nothing by arm."""
    return [outcomes(o, blinded=True), awaited(o, blinded=True)]


def drawn(o: Overview) -> list[int]:
    """Return the arms that are drawn: those in play first, then the last ones dropped."""
    order = {arm: i for i, drop in enumerate(o.drops) for arm in drop.arms}

    def rank(a: int) -> tuple[bool, float, int]:
        line = o.arms[a]
        mean = -math.inf if line.mean is None else line.mean
        return not line.active, -mean if line.active else -order.get(line.arm, -1), a

    return sorted(sorted(range(len(o.arms)), key=rank)[:MOST_ARMS])


def _title_arms(o: Overview, shown: Sequence[int]) -> str:
    if len(shown) == len(o.arms):
        return ""
    return f"{len(shown)} of {len(o.arms):,} arms are drawn: those in play first. "


def _short(o: Overview, a: int) -> str:
    arm = o.arms[a].arm
    return squeezed(label(arm, 200), SHORT) if isinstance(arm, str) else f"arm {arm}"


def _whole(o: Overview, a: int) -> str:
    return label(words.named(o.arms[a].arm).whole, 300)


def _head(o: Overview, a: int) -> str:
    return label(words.named(o.arms[a].arm).whole, words.LONGEST)


def _x_of(o: Overview, scale: Scale, sequence: int) -> float:
    """Return where an event is on an axis of outcomes, between the moments around it."""
    before = after = o.moments[0]
    for moment in o.moments:
        before, after = after, moment
        if moment.sequence >= sequence:
            break
    gap = after.sequence - before.sequence
    share = (sequence - before.sequence) / gap if gap > 0 else 1.0
    return scale.at(before.settled + share * (after.settled - before.settled))


def _dropped_at(o: Overview) -> dict[int, int]:
    """Return the event that dropped each arm that is out."""
    index = {x.arm: a for a, x in enumerate(o.arms) if not x.active}
    return {index[arm]: drop.sequence for drop in o.drops for arm in drop.arms if arm in index}


def _all_settled(m: Moment) -> int:
    return m.settled


def _one_by_one(m: Moment) -> int:
    """Return the plays that did not come in blocks, whose size tells who is in play."""
    return m.settled - m.in_blocks[0]


# Intervals.


def intervals(o: Overview) -> Figure | None:
    """Draw the mean and the interval of each arm as outcomes came."""
    shown, moments = drawn(o), o.moments
    x = Scale(0.0, max(1, moments[-1].settled))
    late = [m for m in moments if x.at(m.settled) >= 0.1] or list(moments)
    seen: list[float] = []
    for m in late:
        seen += m.intervals[shown].ravel().tolist()
    y = around(seen)
    plot, labels, ends = Plot(words.plain(_interval_title(o)), HIGH), [], _dropped_at(o)
    plot.axes(x.ticks(), y.ticks())
    for a in shown:
        path = [m for m in moments if a not in ends or m.sequence < ends[a]]
        at = [x.at(m.settled) for m in path]
        until = _x_of(o, x, ends[a]) if a in ends else None
        low, high = (
            _kept_to(until, [(p, y.at(v)) for p, v in zip(at, side, strict=True)])
            for side in zip(*(m.intervals[a].tolist() for m in path), strict=True)
        )
        plot.area(high, low, look_of(a))
        plot.curve(low, f"edge {look_of(a)}")
        plot.curve(high, f"edge {look_of(a)}")
    for a in shown:
        path = [m for m in moments if not math.isnan(m.means[a])]
        path = [m for m in path if a not in ends or m.sequence < ends[a]]
        line = [(x.at(m.settled), y.at(float(m.means[a]))) for m in path]
        until = _x_of(o, x, ends[a]) if a in ends else None
        line = _kept_to(until, line)
        plot.curve(line, look_of(a))
        if not line:
            continue
        if a in ends:
            plot.cross(line[-1], look_of(a))
        else:
            plot.dot(line[-1], look_of(a))
        labels.append(EndLabel(line[-1], _short(o, a), look_of(a), _whole(o, a)))
    plot.labels(labels)
    return Figure(
        "intervals",
        _interval_title(o),
        plot.svg(),
        "mean outcome",
        "plays settled",
        f"{_title_arms(o, shown)}Lines are means of what was learned from, where these lie in "
        "the arm's interval; bands are what the guarantee's own intervals leave possible; a cross "
        "is where an arm was dropped.",
        ("event", "time", "outcomes", *(_head(o, a) for a in shown)),
        _rows(o, lambda m: [_between(m, a) for a in shown]),
        wide=True,
    )


def _interval_title(o: Overview) -> words.Sentence:
    out = sum(not x.active for x in o.arms)
    if not out:
        return ("Intervals of the means: no arm is out so far",)
    return (f"Intervals of the means: {out:,} of {len(o.arms):,} arms are out",)


def _kept_to(until: float | None, points: list[Point]) -> list[Point]:
    """Lengthen a line that stays where it is until an arm is dropped."""
    return [*points, (until, points[-1][1])] if until is not None and points else points


def _between(m: Moment, a: int) -> str:
    low, high = m.intervals[a].tolist()
    mean = "\u2013" if math.isnan(m.means[a]) else number(float(m.means[a]))
    return f"{mean} ({number(low)} to {number(high)}){'' if m.active[a] else ', out'}"


# Allocation.


def allocation(o: Overview) -> Figure | None:
    """Draw which share of the plays went to each arm as time went on."""
    if not o.moments[-1].plays.sum():
        return None
    shown, bins = drawn(o), _bins(o.moments)
    x = Scale(0.0, float(o.moments[-1].plays.sum()))
    plot, base = Plot(words.plain(_allocation_title(o)), LOW), [0.0] * len(bins)
    plot.axes(x.ticks(), [Tick(k / 4, f"{25 * k} %") for k in range(5)])
    labels = []
    for a in [*shown, None]:
        boxes: list[tuple[Point, Point]] = []
        for i, (left, right) in enumerate(bins):
            new = right.plays - left.plays
            rest = 1.0 - base[i] if len(shown) < len(o.arms) else 0.0
            part = rest if a is None else float(new[a] / new.sum())
            edge = x.at(float(left.plays.sum())), x.at(float(right.plays.sum()))
            boxes.append(((edge[0], base[i]), (edge[1], base[i] + part)))
            base[i] += part
        look = "rest" if a is None else f"hue-{a % 8}"
        plot.boxes(boxes, look)
        (_, low), (_, high) = boxes[-1]
        if high - low > 0.05:
            text, whole = ("others", "") if a is None else (_short(o, a), _whole(o, a))
            labels.append(EndLabel((1.0, (low + high) / 2.0), text, look, whole))
    plot.labels(labels)
    return Figure(
        "allocation",
        _allocation_title(o),
        plot.svg(),
        "share of the plays",
        "plays so far",
        f"{_title_arms(o, shown)}Each column is a stretch of plays, awaited ones among them.",
        ("event", "time", "plays", *(_head(o, a) for a in shown)),
        _rows(o, lambda m: [f"{int(m.plays[a]):,}" for a in shown], lambda m: int(m.plays.sum())),
    )


def _allocation_title(o: Overview) -> words.Sentence:
    now = sum(x.active for x in o.arms)
    if now == len(o.arms):
        return ("Who was played: all arms still are",)
    return (f"Who was played: {now:,} of {len(o.arms):,} arms still are",)


def _bins(moments: Sequence[Moment]) -> list[tuple[Moment, Moment]]:
    """Return stretches of about the same number of plays."""
    total = int(moments[-1].plays.sum())
    found, left = [], moments[0]
    for moment in moments[1:]:
        done = int(moment.plays.sum()) - int(left.plays.sum())
        if done >= total / BINS or (moment is moments[-1] and done):
            found.append((left, moment))
            left = moment
    return found


# Certificate.


def certificate(o: Overview) -> Figure | None:
    """Draw what was certified as outcomes came; None if nothing ever was."""
    known = [m for m in o.moments if m.bound is not None and math.isfinite(m.bound)]
    if not known:
        return None
    bounds = [m.bound for m in known if m.bound]
    wide = known[-1].settled > 20 * max(1, known[0].settled)
    x = (
        decades_around([max(1, m.settled) for m in known])
        if wide
        else around([m.settled for m in known], 0.0)
    )
    falls = len(bounds) > 1 and max(bounds) > 3.0 * min(bounds)
    y = decades_around(bounds) if falls else from_zero(bounds or [0.0])
    title = _certificate_title(o)
    plot = Plot(words.plain(title), HIGH if not o.arms else LOW)
    plot.axes(x.ticks(), y.ticks())
    for piece in _pieces(o.moments):
        line = [(x.at(max(1, m.settled)), y.at(m.bound) if m.bound else 0.0) for m in piece]
        plot.area(steps(line), [(p, 0.0) for p, _ in steps(line)], "bound")
        plot.curve(steps(line), "bound")
    last = o.moments[-1]
    if last.bound is not None and math.isfinite(last.bound):
        at = x.at(max(1, last.settled)), y.at(last.bound) if last.bound else 0.0
        plot.dot(at, "bound")
        plot.labels([EndLabel(at, number(last.bound), "bound")])
    return Figure(
        "certificate",
        title,
        plot.svg(),
        "at most this far from the best",
        "plays settled",
        "What the certificate said at the time, in reward units. Where the line is broken nothing "
        "was certified.",
        ("event", "time", "outcomes", "bound"),
        _rows(o, lambda m: ["\u2013" if m.bound is None else number(m.bound)]),
        wide=not o.arms,
    )


def _certificate_title(o: Overview) -> words.Sentence:
    bound = o.moments[-1].bound
    if bound is None or not words.is_certified(o):
        return ("Certificate: nothing is certified now",)
    return (f"Certificate: nothing in play is more than {bound:.4g} from the best",)


def _pieces(moments: Sequence[Moment]) -> list[list[Moment]]:
    """Return the stretches of moments in which something was certified."""
    found: list[list[Moment]] = [[]]
    for moment in moments:
        if moment.bound is not None and math.isfinite(moment.bound):
            found[-1].append(moment)
        elif found[-1]:
            found.append([])
    return [piece for piece in found if piece]


# What came and what is awaited, over time.


def outcomes(o: Overview, blinded: bool = False) -> Figure:
    """Draw decisions and outcomes over time."""
    known = _one_by_one if blinded else _all_settled
    x, y = _time_axis(o), from_zero([known(o.moments[-1]) + o.moments[-1].awaited])
    title = f"{words.count(known(o.moments[-1]), 'outcome is', 'outcomes are')} in"
    plot = Plot(title, LOW)
    plot.axes(x.ticks(), y.ticks())
    asked = [(x.at(m.time), y.at(known(m) + m.awaited)) for m in o.moments]
    told = [(x.at(m.time), y.at(known(m))) for m in o.moments]
    plot.area(steps(asked), steps(told), "asked")
    plot.curve(steps(asked), "asked")
    plot.curve(steps(told), "told")
    ends = [EndLabel(told[-1], "outcomes", "told"), EndLabel(asked[-1], "decisions", "asked")]
    plot.labels(ends)
    return Figure(
        "outcomes",
        (title,),
        plot.svg(),
        "decisions and outcomes",
        "time, UTC",
        "Missing ones count as outcomes that are in.",
        ("event", "time", "outcomes", "decisions"),
        _rows(o, lambda m: [f"{known(m) + m.awaited:,}"], known),
    )


def awaited(o: Overview, blinded: bool = False) -> Figure:
    """Draw how many outcomes were awaited over time, and when those of now were asked for."""
    x, y = _time_axis(o), from_zero([m.awaited for m in o.moments])
    n = o.moments[-1].awaited
    title = f"Awaited: {words.count(n, 'outcome')} now" if n else "Awaited: nothing now"
    plot = Plot(title, LOW)
    plot.axes(x.ticks(), y.ticks())
    line = steps(_most([(x.at(m.time), y.at(m.awaited)) for m in o.moments]))
    plot.area(line, [(p, 0.0) for p, _ in line], "awaited")
    plot.curve(line, "awaited")
    for one in o.awaited:
        plot.stroke(x.at(one.asked), "since")
    plot.labels([EndLabel(line[-1], f"{n:,} now", "awaited")])
    listed = "" if o.statuses["pending"] <= len(o.awaited) else f"the {len(o.awaited)} oldest of "
    return Figure(
        "awaited",
        (title,),
        plot.svg(),
        "outcomes awaited",
        "time, UTC",
        "The most that were awaited in each stretch of time, as far as it was looked at. "
        + (f"Strokes are when {listed}those of now were asked for." if o.awaited else ""),
        ("event", "time", "outcomes", "awaited", "oldest since"),
        _rows(
            o,
            lambda m: [f"{m.awaited:,}", "\u2013" if m.oldest is None else _clock(m.oldest)],
            _one_by_one if blinded else _all_settled,
        ),
    )


def _most(points: Sequence[Point]) -> list[Point]:
    """Return the highest point of each stretch, where it begins, and the last point as it is."""
    found: dict[int, Point] = {}
    for x, y in points[:-1]:
        at = int(STRETCHES * x)
        found[at] = found.get(at, (x, 0.0))[0], max(y, found.get(at, (x, y))[1])
    return [*found.values(), points[-1]]


def _time_axis(o: Overview) -> TimeScale:
    return TimeScale.over([o.begun.time, *(m.time for m in o.moments)])


def _clock(time: str) -> str:
    return words.When(time).text


def _rows(
    o: Overview,
    cells: Callable[[Moment], list[str]],
    reached: Callable[[Moment], int] = _all_settled,
) -> list[list[str]]:
    """Return the table behind a figure: some of its moments, the last among them."""
    every = max(1, math.ceil(len(o.moments) / MOST_ROWS))
    some: list[Any] = list(o.moments[::-1][::every][::-1])
    return [[f"{m.sequence:,}", _clock(m.time), f"{reached(m):,}", *cells(m)] for m in some]
