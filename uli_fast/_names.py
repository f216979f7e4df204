"""Names that people give, as text that is safe to show anywhere."""

from __future__ import annotations

import re

# What neither HTML nor SVG may hold, and what would turn the text around a name.
_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """Replace characters that a page may not hold."""
    return _FORBIDDEN.sub("\ufffd", text)


def label(name: str, most: int = 80) -> str:
    """Return a name on one line, cut where it is too long, that leaves the text around it alone."""
    plain = cut(" ".join(_TURNING.sub("\ufffd", clean(name)).split()), most)
    return plain if plain.isascii() else f"\u2068{plain}\u2069"  # isolated, as it may run leftwards


def cut(name: str, most: int) -> str:
    """Shorten a name that would not fit."""
    if len(name) <= most:
        return name
    end = "\u2069" if name.endswith("\u2069") else ""
    return name[: most - 1] + "…" + end
