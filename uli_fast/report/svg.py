"""Drawings as SVG that can stand in the middle of an HTML page."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any
from xml.etree import ElementTree

from uli_fast.errors import MissingExtraError
from uli_fast.report.canvas import Line

_STYLE = {
    "font.size": 9.0,
    "axes.labelsize": 9.0,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.size": 0.0,
    "ytick.minor.size": 0.0,
    "savefig.transparent": True,
    "svg.fonttype": "none",  # text stays text: searchable, and in the page's own type
}
_DECIMALS = re.compile(r"\d+\.\d{3,}")


def inline_svg(
    draw: Callable[[Any, Sequence[Line]], None],
    lines: Sequence[Line],
    size: tuple[float, float],
    title: str,
    salt: str,
) -> str:
    """Draw with matplotlib and return one <svg> element, the same bytes for the same lines.

    ``salt`` must differ between the drawings of a page: it keeps their ids apart.
    """
    try:
        import matplotlib.style
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("report needs matplotlib: pip install matplotlib") from None

    file = io.BytesIO()
    with matplotlib.style.context(["default", {**_STYLE, "svg.hashsalt": salt}]):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots(), lines)
        with warnings.catch_warnings():
            # The browser's fonts have the glyphs, ours need not.
            warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
            figure.savefig(file, format="svg", metadata={"Date": None})
    return _inline(file.getvalue(), title)


def _inline(document: bytes, title: str) -> str:
    """Keep the drawing alone: no namespaces, metadata, style sheet or ids that nothing uses."""
    root = ElementTree.fromstring(document)
    for element in root.iter():
        element.tag = element.tag.split("}")[-1]
        for name in list(element.attrib):
            value = element.attrib.pop(name)
            if name in ("d", "x", "y"):
                value = _DECIMALS.sub(lambda found: f"{float(found[0]):.2f}", value)
            if name != "id" or element.tag != "g":
                element.set(name.split("}")[-1], value)
    for parent in root.iter():
        for child in list(parent):
            if child.tag in ("metadata", "style"):
                parent.remove(child)
    root.set("role", "img")
    root.set("aria-label", title)
    caption = ElementTree.Element("title")
    caption.text = title
    root.insert(0, caption)
    return ElementTree.tostring(root, encoding="unicode")
