"""Names that people give, as text that is safe to show anywhere."""

from __future__ import annotations

import re

# What neither HTML nor SVG may hold, and what would turn the text around a name.
_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# What a spreadsheet may take for the beginning of a formula: it looks past white space, and past
# what cannot be seen. The last four are the wide forms of East Asian keyboards.
_FORMULA = re.compile(
    "[\\s\x00-\x20\x7f-\xa0\xad\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]*"
    "[=+\\-@\uff1d\uff0b\uff0d\uff20]|[\t\r]"
)

# Where an object or a function is in memory, as Python's own repr says it.
_ADDRESS = re.compile(" at 0x[0-9A-Fa-f]+")


def without_addresses(text: str) -> str:
    """Return the repr of an object as it is in every process."""
    return _ADDRESS.sub("", text)


def spreadsheet(text: str) -> str:
    """Return text that no spreadsheet takes for a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


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


_UNITS = (("day", 86400.0), ("hour", 3600.0), ("minute", 60.0), ("second", 1.0))


def span(seconds: float, whole: bool = False) -> str:
    """Return a time in the largest unit of which there are two, or rounded down to whole ones."""
    name, size = next((unit for unit in _UNITS if seconds >= 2.0 * unit[1]), _UNITS[-1])
    many = seconds // size if whole else seconds / size
    return f"{many:,.6g} {name if many == 1.0 else name + 's'}"
