"""The page of a live study: served and swapped in while it is open, or a file for good."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from uli_fast.errors import MissingExtraError
from uli_fast.report.watch import words
from uli_fast.report.watch.figures import blinded_figures_of, figures_of
from uli_fast.report.watch.plot import look_of
from uli_fast.report.words import clean, label, number
from uli_fast.study.overview import MOST_AWAITED, Overview

MOST_LINES = 200  # of long lists; study.export keeps everything
WHOLE = 10_000  # characters of a name beyond which not even its title holds all of it


class Tile(NamedTuple):
    """A number that is seen first."""

    value: str
    about: str


def fragment(o: Overview, audited: bool = False) -> str:
    """Return what a page shows of a study, as HTML without a head."""
    return _render("watch_body.html", **_content(o, audited))


def blinded_fragment(o: Overview) -> str:
    """Return what those see who may see counts only."""
    return _render("watch_blinded.html", **_blinded(o))


def document(title: str, body: str, caller: str = "", live: bool = True) -> str:
    """Return a whole page: one that looks for news, or a file that needs nothing else."""
    return _render("watch.html", title=label(title), body=body, caller=caller, live=live)


def sign_in(title: str, refused: str = "") -> str:
    """Return the page that asks for a token."""
    return _render("watch_sign_in.html", title=label(title), refused=refused)


def asset(name: str) -> bytes:
    """Return the style sheet or the script of the page."""
    return files("uli_fast.report").joinpath("templates", name).read_bytes()


def _content(o: Overview, audited: bool) -> dict[str, Any]:
    return {
        "o": o,
        "audited": audited,
        "headline": words.headline(o),
        "out": words.out_of_play(o),
        "certified": words.certified(o),
        "is_certified": words.is_certified(o),
        "held": words.held(o),
        "said": [
            said(o)
            for said in (
                words.inferior,
                words.recommended,
                words.awaited,
                words.window,
                words.came,
            )
            if said(o)
        ],
        "reading": words.reading(o),
        "tiles": _tiles(o),
        "figures": figures_of(o),
        "missing": words.missing(o),
        "keys": [look_of(a) for a in range(len(o.arms))],
        "most": MOST_LINES,
        "most_awaited": MOST_AWAITED,
    }


def _tiles(o: Overview) -> list[Tile]:
    last = o.moments[-1]
    found = [Tile(f"{last.rewards:,}", "outcomes known"), Tile(f"{last.awaited:,}", "awaited")]
    if o.arms:
        left = sum(x.active for x in o.arms)
        found.insert(0, Tile(f"{left:,} of {len(o.arms):,}", "arms in play"))
    if words.is_certified(o) and last.bound is not None:
        found.append(Tile(number(last.bound), "from the best, at most"))
    else:
        found.append(Tile("nothing", "certified"))
    return found


def _blinded(o: Overview) -> dict[str, Any]:
    """Return what may be known of counts without knowing anything about an arm."""
    of = o.statuses
    return {
        "o": o,
        "headline": (f"{words.count(o.decisions, 'decision')} so far.",),
        "said": [
            (
                f"{of['reward']:,} with an outcome, {of['missing']:,} missing, "
                f"{of['pending']:,} awaited.",
            ),
            words.awaited(o),
            words.window(o),
        ],
        "held": words.held(o),
        "tiles": [
            Tile(f"{o.decisions:,}", "decisions"),
            Tile(f"{of['reward']:,}", "outcomes in"),
            Tile(f"{of['missing']:,}", "missing"),
            Tile(f"{of['pending']:,}", "awaited"),
        ],
        "reading": words.reading(o, blinded=True),
        "figures": blinded_figures_of(o),
        "reasons": sorted(o.why_missing().items(), key=lambda x: (-x[1], x[0] or "")),
        "most": MOST_LINES,
    }


def _said(sentence: Sequence[words.Part]) -> Any:
    """Return a sentence as HTML: every name on its own, every time to be read by machines."""
    from markupsafe import Markup, escape

    found = Markup("")
    for part in sentence:
        if isinstance(part, words.Name):
            found += _name(part.whole, words.LONGEST, 300)
        elif isinstance(part, words.When):
            found += _when(part.time)
        else:
            found += escape(part)
    return found


def _name(name: Any, most: int = 60, whole: int = WHOLE) -> Any:
    """Return a name that somebody gave: shortened where it must be, all of it in the title."""
    from markupsafe import Markup

    text, long = label(str(name), most), label(str(name), whole)
    if text == long:
        return Markup("<bdi>{}</bdi>").format(text)
    return Markup('<bdi title="{}">{}</bdi>').format(long, text)


def _arm(arm: Any) -> Any:
    return _name(words.named(arm).whole)


def _when(time: str) -> Any:
    from markupsafe import Markup

    return Markup('<time datetime="{}">{}</time>').format(time, words.When(time).text)


@cache
def _templates() -> Any:
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("the page needs jinja2: pip install jinja2") from None
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("uli_fast.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = {"number": number, "label": label, "said": _said, "name": _name, "arm": _arm}
    made.filters |= filters | {"when": _when, "mean": words.mean_of}
    return made


def _render(template: str, **content: Any) -> str:
    return clean(_templates().get_template(template).render(content))
