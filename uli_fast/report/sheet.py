"""Where a figure is drawn: on the caller's Axes, or on a figure of its own that shows itself once.

A figure of its own is not known to pyplot: nothing is left open, and a notebook shows it because it
is the last line of a cell, once, whatever backend there is.
"""

from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING, Any

from uli_fast.errors import ArgumentError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure that a notebook can show."""
    figure: Figure = _kind()(figsize=(width, height), layout="constrained")
    return figure


def sheet(ax: Any, width: float, height: float) -> tuple[Any, Any]:
    """Return a figure and its Axes: the caller's, if there is one."""
    if ax is None:
        figure = new_figure(width, height)
        return figure, figure.subplots()
    kind = _kind()  # says what to install
    if not hasattr(ax, "plot") or not hasattr(ax, "get_figure"):
        raise ArgumentError("ax", f"must be the Axes of a figure, got {type(ax).__name__}")
    whole = ax.get_figure()
    while not isinstance(whole, kind.__mro__[1]):  # a part of one
        whole = whole.figure
    return whole, ax


@cache
def _kind() -> type[Any]:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("plot needs matplotlib: pip install matplotlib") from None

    class ShownFigure(Figure):
        """A figure that shows itself where it is the last line of a cell."""

        def _repr_png_(self) -> bytes:
            picture = io.BytesIO()
            self.savefig(picture, format="png")
            return picture.getvalue()

    return ShownFigure
