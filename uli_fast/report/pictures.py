"""The figures of a page: which there are, when they apply, how they are to be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from uli_fast.report.canvas import Line
from uli_fast.report.checks import ReportCheck, check, tightest
from uli_fast.report.figures import draw_gaps, draw_regret
from uli_fast.report.figures_activity import (
    MOST_ARMS,
    draw_active,
    draw_oracle,
    draw_plays,
    draw_policies,
)
from uli_fast.report.figures_guarantee import draw_failures, draw_mistakes
from uli_fast.report.figures_models import certifies, draw_actions, draw_certificates, mean_left
from uli_fast.report.svg import inline_svg
from uli_fast.report.words import listed
from uli_fast.results.metrics import LEVEL
from uli_fast.results.runs import Runs

_WIDTH = 5.2  # inches
_WIDE = (10.4, 4.4)


class Picture(NamedTuple):
    """A figure of the page."""

    key: str
    title: str
    caption: str
    svg: str
    lines: list[Line]
    wide: str = ""  # the same, drawn for the whole width of a screen


class Drawing(NamedTuple):
    """How a figure is made."""

    key: str
    title: str
    caption: str
    applies: Callable[[Runs], bool]
    draw: Callable[[Any, Sequence[Line]], None]
    height: Callable[[Sequence[Line]], float] = lambda _: 2.7  # of the axes, in inches
    wide: bool = False  # whether it is drawn for wide screens too


def _has_gaps(r: Runs) -> bool:
    return r.has_gaps


def _has_regret(r: Runs) -> bool:
    return r.has_regret and bool((r.regret > 0.0).any())


def _has_mistakes(r: Runs) -> bool:
    return r.has_gaps and r.worse_gaps.size > 0 and bool((r.mistakes(0.0) > 0).any())


def _has_active_set(r: Runs) -> bool:
    return r.eliminates_arms and len(r.names) > 1


def _has_policies(r: Runs) -> bool:
    return r.policy_phases.left.size > 0


def _has_oracle(r: Runs) -> bool:
    return bool((r.oracle_work[:, :, 0] > 0.0).any())


def _has_looks(r: Runs) -> bool:
    return r.makes_looks


def _has_choices(r: Runs) -> bool:
    return _has_looks(r) and not bool(np.isnan(mean_left(r)).all())


def _has_plays(r: Runs) -> bool:
    return bool(r.arms.names)


def _row_each(lines: Sequence[Line]) -> float:
    return 0.3 * len(lines)


def _row_per_arm(lines: Sequence[Line]) -> float:
    return min(len(lines[0].runs.names), MOST_ARMS) * (0.15 + 0.09 * len(lines))


_DRAWINGS = (
    Drawing(
        "gap",
        "The gap and its envelope",
        "The largest gap played from {round} t up to the horizon, where the runs were stopped: "
        "median over runs (thick) and the largest (thin).{envelope} Dots: the last play of each "
        "worse choice up to the horizon{relapses}. The grey strips are what the runs cannot show. "
        "At the bottom: no "
        "worse choice from there up to the horizon. At the right: what comes after it; what is "
        "hollow is cut off there, not settled: a dot whose choice was not eliminated may be "
        "played again, and behind a triangle worse choices may follow.",
        _has_gaps,
        draw_gaps,
        wide=True,
    ),
    Drawing(
        "failures",
        "Failures",
        "Share of the runs that went beyond F at some {round}, with the {level} interval of its "
        "probability (Clopper and Pearson), against delta. Hollow: no F of its own, held against "
        "the tightest one here.",
        _has_gaps,
        draw_failures,
        _row_each,
    ),
    Drawing(
        "regret",
        "Regret",
        "Sum of the gaps played up to {round} t: median over runs, in a band from the least to the "
        "most. Dotted: from there on the mean is no larger than that of the rival with the least.",
        _has_regret,
        draw_regret,
    ),
    Drawing(
        "mistakes",
        "Mistakes",
        "{Round}s with a gap above eps, up to the horizon: median over runs (thick) and the most "
        "(thin).{excluded}",
        _has_mistakes,
        draw_mistakes,
    ),
    Drawing(
        "active",
        "Arms left",
        "Arms not yet eliminated: median over runs, in a band from the least to the most.",
        _has_active_set,
        draw_active,
    ),
    Drawing(
        "policies",
        "Policies left",
        "Policies not yet eliminated, phase by phase: median over runs, in a band from the least "
        "to the most.",
        _has_policies,
        draw_policies,
    ),
    Drawing(
        "certificate",
        "What was certified",
        "What was certain at {round} t about the gap of all that could still be played: median "
        "over runs (thick), in a band from the least to the most. Dotted: the largest gap that any "
        "run still played from there on. Along the bottom: 0.{certified}",
        certifies,
        draw_certificates,
    ),
    Drawing(
        "actions",
        "Actions left",
        "How many actions are left at the horizon in each state (from top to bottom) of each stage "
        "(from left to right), the mean over runs. Grey: nothing to choose.",
        _has_choices,
        draw_actions,
    ),
    Drawing(
        "oracle",
        "Calls of the oracle",
        "Calls of the optimisation oracle (solid) and swaps of the spanner (dashed) in each "
        "phase: median over runs, in a band from the least to the most.",
        _has_oracle,
        draw_oracle,
    ),
    Drawing(
        "plays",
        "Plays per arm",
        "How often each arm was played up to the horizon, the best arm first: median over runs "
        "(dot), from the least to the most (bar). At the left edge: never.",
        _has_plays,
        draw_plays,
        _row_per_arm,
    ),
)


# What captions say where some learner has F.
_OF_F = {
    "envelope": " Dashed: F, below which the guarantee keeps it for ever.",
    "relapses": "; those above F are relapses",
    "excluded": " Dashed: after this many {round}s F rules them out (uniform PAC).",
}
_OF_LOOKS = " Dashed: F, known before the first episode."
_OF_ARMS = (
    " Of arms it is F, and 0 once a single one is left; a live certificate is never larger, and "
    "often smaller."
)


def pictures_of(lines: Sequence[Line], salt: str) -> list[Picture]:
    """Draw every figure that applies to one problem, each with the learners it applies to."""
    against = tightest([line.runs for line in lines])
    checked = [line for line in lines if _is_test(check(line.runs, against))]
    found = []
    for drawing in _DRAWINGS:
        pool = checked if drawing.draw is draw_failures else lines
        shown = [line for line in pool if drawing.applies(line.runs)]
        if not shown:
            continue
        size = (_WIDTH, 0.7 + drawing.height(shown))
        title = f"{drawing.title}: {listed([line.name for line in shown])}"
        draw = drawing.draw
        if draw is draw_failures:
            draw = partial(draw_failures, against=against)
        svg = inline_svg(draw, shown, size, title, f"{salt}-{drawing.key}")
        word = shown[0].runs.unit
        words = {"round": word, "Round": word.capitalize(), "level": f"{100.0 * LEVEL:g} %"}
        promised = any(x.runs.guarantee is not None for x in shown)
        words |= {key: said.format(**words) if promised else "" for key, said in _OF_F.items()}
        words["certified"] = _OF_LOOKS if any(x.runs.makes_looks for x in shown) else _OF_ARMS
        caption = drawing.caption.format(**words)
        wide = ""
        if drawing.wide:
            wide = inline_svg(draw, shown, _WIDE, title, f"{salt}-{drawing.key}-wide")
        found.append(Picture(drawing.key, drawing.title, caption, svg, shown, wide))
    return found


def _is_test(found: ReportCheck | None) -> bool:
    """Return whether an interval of failures means anything: F could have been broken."""
    return found is not None and found.tested is not False
