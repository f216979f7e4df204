"""Numbers and names as text that is safe to show anywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence

from uli_fast._support.text import clean as clean
from uli_fast._support.text import label as label

_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def squeezed(name: str, most: int) -> str:
    """Shorten a name that would not fit in its middle: swept names differ at their end."""
    inner = name.strip("\u2068\u2069")
    if len(inner) <= most:
        return name
    tail = most // 3
    short = f"{inner[: most - 1 - tail]}…{inner[-tail:]}"
    return short if inner == name else f"\u2068{short}\u2069"


def power(x: float, _: object = None) -> str:
    """Return a power of ten."""
    return "10" + str(round(math.log10(x))).translate(_SUPERSCRIPTS)


def number(x: float) -> str:
    """Return a number as it reads best: 0.052, 5,524, 2.9 x 10^6, 10^8."""
    if not math.isfinite(x):
        return "\u2013" if math.isnan(x) else "\u221e" if x > 0.0 else "-\u221e"
    if abs(x) < 100.0:
        return f"{x:.3g}"
    if abs(x) < 1e6:
        return f"{x:,.0f}"
    digits, exponent = f"{x:.1e}".split("e")
    ten = power(10.0 ** int(exponent))
    return ten if x == 10 ** int(exponent) else f"{digits}\u00a0\u00d7\u00a0{ten}"


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return "a", "a and b", "a, b and c"; of long lists the first and how many others."""
    if len(names) > most + 1:
        names = [*names[:most], f"{len(names) - most} others"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
