"""Numbers and names as text that is safe to show anywhere."""

from __future__ import annotations

import math
import textwrap
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


def wrapped(name: str, most: int) -> str:
    """Break a name at its spaces into lines that fit: what tells two apart is often its end."""
    inner = name.strip("\u2068\u2069")
    if len(inner) <= most:
        return name
    lines = textwrap.wrap(inner, most, break_long_words=False, break_on_hyphens=False)
    text = "\n".join(squeezed(line, most) for line in lines)
    return text if inner == name else "\n".join(f"\u2068{x}\u2069" for x in text.split("\n"))


def unbroken(name: str) -> str:
    """Return a name that no line breaks at its spaces."""
    return label(name).replace(" ", "\u00a0")


def power(x: float, _: object = None) -> str:
    """Return a power of ten."""
    return "10" + str(round(math.log10(x))).translate(_SUPERSCRIPTS)


def number(x: float) -> str:
    """Return a number as it reads best: 0.052, 5,524, 2.9 x 10^6, 10^8, 1.9 x 10^-7."""
    if not math.isfinite(x):
        return "\u2013" if math.isnan(x) else "\u221e" if x > 0.0 else "-\u221e"
    if x == 0.0 or 1e-3 <= abs(x) < 100.0:
        return f"{x:.3g}"
    if 100.0 <= abs(x) < 1e6:
        return f"{x:,.0f}"
    digits, exponent = f"{x:.1e}".split("e")
    ten = power(10.0 ** int(exponent))
    return ten if x == 10.0 ** int(exponent) else f"{digits}\u00a0\u00d7\u00a0{ten}"


def percent(share: float, digits: int = 1) -> str:
    """Return a share in percent, 12.3 %; only what is certain is 0 or 100 %."""
    least = 10.0**-digits
    shown = f"{100.0 * share:.{digits}f}"
    if float(shown) == 100.0 and share < 1.0:
        shown = f">{100.0 - least:.{digits}f}"
    if float(shown.strip("<>")) == 0.0 and share > 0.0:
        shown = f"<{least:.{digits}f}"
    if digits and shown.endswith("." + "0" * digits):
        shown = shown[: -1 - digits]
    return f"{shown}\u00a0%"


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return "a", "a and b", "a, b and c"; of long lists the first and how many others."""
    if len(names) > most + 1:
        names = [*names[:most], f"{len(names) - most} others"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
