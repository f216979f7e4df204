"""Drawings that are as wide as their place: one element, at home on a telephone and on a wall.

Places are in per cent of the drawing, lengths of text and marks in pixels. Curves are in a
drawing of their own inside, which is stretched while their strokes are not. Labels stand outside
of the frame, where the style sheet leaves room for them. Colours and dashes are classes of the
style sheet: light, dark and printed pages differ, and no page needs a style of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.etree import ElementTree

from uli_fast.report.watch.scales import Tick

FULL = 1000  # units of the stretched drawing, both ways
HUES, DASHES = 8, 4
ROW = 15  # pixels between two labels

Point = tuple[float, float]  # from 0 to 1, upwards


class EndLabel(NamedTuple):
    """What is written beside a place."""

    at: Point
    text: str
    look: str
    title: str = ""


class Plot:
    """A drawing with axes at its left and below."""

    def __init__(self, title: str, height: int) -> None:
        self.height = height
        self._root = ElementTree.Element(
            "svg", {"class": "plot", "role": "img", "aria-label": title, "height": str(height)}
        )
        self._frame = ElementTree.SubElement(self._root, "g", {"class": "frame"})
        self._curves = ElementTree.SubElement(
            self._root,
            "svg",
            {
                "viewBox": f"0 0 {FULL} {FULL}",
                "preserveAspectRatio": "none",
                "width": "100%",
                "height": "100%",
            },
        )

    def axes(self, x: Iterable[Tick], y: Iterable[Tick]) -> None:
        """Draw lines at the ticks of the left axis, and write what both say."""
        for tick in y:
            at = _percent(1.0 - tick.at)
            self._line("0", at, "100%", at, "grid")
            self._text(("-8", at), "0.32em", tick.text, "tick end")
        for tick in x:
            self._line(_percent(tick.at), "100%", _percent(tick.at), "100%", "grid")
            side = "start" if tick.at < 0.04 else "end" if tick.at > 0.96 else "middle"
            self._text((_percent(tick.at), "100%"), "1.5em", tick.text, f"tick {side}")
        self._line("0", "100%", "100%", "100%", "axis")

    def curve(self, points: Sequence[Point], look: str) -> None:
        """Draw a line through points."""
        if points:
            self._path("M" + "L".join(map(_place, points)), f"curve {look}")

    def area(self, upper: Sequence[Point], lower: Sequence[Point], look: str) -> None:
        """Fill what is between two lines."""
        if upper:
            round_trip = [*upper, *reversed(lower)]
            self._path("M" + "L".join(map(_place, round_trip)) + "z", f"area {look}")

    def boxes(self, boxes: Iterable[tuple[Point, Point]], look: str) -> None:
        """Fill rectangles, each by two corners."""
        parts = []
        for (x1, y1), (x2, y2) in boxes:
            corner = _place((x1, max(y1, y2)))
            w, h = round(FULL * abs(x2 - x1)), round(FULL * abs(y2 - y1))
            if w and h:
                parts.append(f"M{corner}h{w}v{h}h{-w}z")
        if parts:
            self._path("".join(parts), f"box {look}")

    def dot(self, at: Point, look: str) -> None:
        """Mark a place."""
        x, y = at
        where = {"cx": _percent(x), "cy": _percent(1.0 - y), "r": "3.5", "class": f"dot {look}"}
        ElementTree.SubElement(self._root, "circle", where)

    def cross(self, at: Point, look: str) -> None:
        """Mark an end."""
        x, y = at
        place = {"x": _percent(x), "y": _percent(1.0 - y), "class": "mark"}
        inner = ElementTree.SubElement(self._root, "svg", place)
        for layer in ("halo", look):
            ElementTree.SubElement(
                inner, "path", {"d": "M-4.5-4.5L4.5 4.5M-4.5 4.5L4.5-4.5", "class": layer}
            )

    def upright(self, x: float, look: str) -> None:
        """Draw a line across, from top to bottom."""
        self._line(_percent(x), "0", _percent(x), "100%", look)

    def stroke(self, x: float, look: str) -> None:
        """Draw a short line at the bottom."""
        self._line(_percent(x), "100%", _percent(x), "94%", look)

    def labels(self, labels: Iterable[EndLabel]) -> None:
        """Write at the ends of lines, moved apart where they would cover each other."""
        rows: list[tuple[float, float]] = []
        for label in sorted(labels, key=lambda x: (-x.at[0], -x.at[1])):
            x, y = label.at
            down = (1.0 - y) * self.height
            down = _free(down, [d for at, d in rows if abs(at - x) < 0.25], self.height)
            rows.append((x, down))
            at = (_percent(x), f"{100.0 * down / self.height:.1f}%")
            self._text(at, "0.32em", label.text, f"name {label.look}", label.title, dx="9")

    def svg(self) -> str:
        """Return the element."""
        return ElementTree.tostring(self._root, encoding="unicode")

    def _path(self, d: str, look: str) -> None:
        about = {"d": d, "class": look, "vector-effect": "non-scaling-stroke"}
        ElementTree.SubElement(self._curves, "path", about)

    def _line(self, x1: str, y1: str, x2: str, y2: str, look: str) -> None:
        about = {"x1": x1, "y1": y1, "x2": x2, "y2": y2, "class": look}
        ElementTree.SubElement(self._root if look != "grid" else self._frame, "line", about)

    def _text(
        self, at: tuple[str, str], dy: str, text: str, look: str, title: str = "", dx: str = "0"
    ) -> None:
        about = {"x": at[0], "y": at[1], "dx": dx, "dy": dy, "class": look}
        element = ElementTree.SubElement(self._root, "text", about)
        element.text = text
        if title and title != text:
            ElementTree.SubElement(element, "title").text = title


def look_of(arm: int) -> str:
    """Return the hue and the dashes of an arm: neighbours differ in both."""
    return f"hue-{arm % HUES} dash-{arm % DASHES}"


def steps(points: Sequence[Point]) -> list[Point]:
    """Return a line that stays where it is until the next point."""
    found: list[Point] = []
    for x, y in points:
        if found:
            found.append((x, found[-1][1]))
        found.append((x, y))
    return found


def _free(down: float, taken: Sequence[float], height: int) -> float:
    """Return the place nearest to one where no label is."""
    candidates = [down, *(t + sign * ROW for t in taken for sign in (-1, 1))]
    fitting = [
        c for c in candidates if -4 <= c <= height + 4 and all(abs(c - t) > ROW - 1 for t in taken)
    ]
    return min(fitting, key=lambda c: abs(c - down), default=down)


def _percent(share: float) -> str:
    return f"{100.0 * share:.4g}%"


def _place(point: Point) -> str:
    x, y = point
    return f"{round(FULL * x)} {round(FULL * (1.0 - y))}"
