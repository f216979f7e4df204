"""The state of a study in sentences: pure functions of its overview.

A sentence is a sequence of parts: text, names that people gave, times. So a page can keep each
name apart from the text around it, and tests can read it as plain text. What is certain is said
in the words of the study itself (study/sentences.py), here and everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from uli_fast.players._certificate import waiting
from uli_fast.report.watch.scales import moment_of
from uli_fast.report.words import label
from uli_fast.study.overview import ArmLine, Overview
from uli_fast.study.sentences import way_out

LONGEST = 40  # characters of a name in a sentence
MOST_NAMED = 6
MOST_OUT = 4  # drops of which the words tell


class Name(NamedTuple):
    """What somebody called something."""

    whole: str

    @property
    def short(self) -> str:
        """As much of it as fits in a sentence."""
        return label(self.whole, LONGEST)


class When(NamedTuple):
    """A time, as events have it."""

    time: str

    @property
    def text(self) -> str:
        """The time to read, in UTC."""
        when = moment_of(self.time)
        return f"{when.day} {when:%b %Y, %H:%M} UTC"


Part = str | Name | When
Sentence = tuple[Part, ...]


def plain(sentence: Iterable[Part]) -> str:
    """Return a sentence as text."""
    return "".join(map(_plain, sentence))


def _plain(part: Part) -> str:
    if isinstance(part, Name):
        return part.short
    return part.text if isinstance(part, When) else part


def named(arm: Any) -> Name:
    """Return what an arm is called."""
    return Name(arm if isinstance(arm, str) else f"arm {arm}")


def listed(arms: Sequence[Any]) -> Sentence:
    """Return "a", "a and b", "a, b and c"; of many the first and how many others."""
    many = len(arms) > MOST_NAMED + 1
    found: list[Part] = [named(arm) for arm in (arms[:MOST_NAMED] if many else arms)]
    if many:
        found.append(f"{len(arms) - MOST_NAMED:,} others")
    parts: list[Part] = []
    for i, part in enumerate(found):
        parts += [" and " if i == len(found) - 1 else ", ", part] if i else [part]
    return tuple(parts)


def count(n: int, what: str, whats: str | None = None) -> str:
    """Return "1 outcome", "2 outcomes"."""
    return f"{n:,} {what if n == 1 else whats or what + 's'}"


def share(part: int, whole: int) -> str:
    """Return a share in per cent, never rounded to none or all of it."""
    percent = 100.0 * part / whole
    if 0 < part < whole:
        percent = min(max(percent, 1.0), 99.0)
    return f"{percent:.0f} %"


# Who is in play.


def headline(o: Overview) -> Sentence:
    """Say who is in play."""
    if not o.arms:
        return (f"{count(o.decisions, 'decision')} so far.",)
    left, K = [x.arm for x in o.arms if x.active], len(o.arms)
    if len(left) == K:
        return (f"All {K:,} arms are in play: ", *listed(left), ".")
    if len(left) == 1:
        return (f"1 of {K:,} arms is in play: ", *listed(left), ".")
    return (f"{len(left):,} of {K:,} arms are in play: ", *listed(left), ".")


def out_of_play(o: Overview) -> list[Sentence]:
    """Say who is out, and since when; those who came back are not."""
    active = {x.arm for x in o.arms if x.active}
    since: dict[Any, Any] = {}
    for drop in o.drops:
        since |= {arm: drop for arm in drop.arms if arm not in active}
    found: list[Sentence] = []
    for drop in o.drops:
        gone = [arm for arm, one in since.items() if one is drop]
        if gone:
            have = "has" if len(gone) == 1 else "have"
            when = When(drop.time)
            found.append((*listed(gone), f" {have} been out since event {drop.sequence:,}, ", when))
    unknown = [x.arm for x in o.arms if not x.active and x.arm not in since]
    if unknown:  # dropped in a past that has not been read yet
        found.append((*listed(unknown), f" {'is' if len(unknown) == 1 else 'are'} out"))
    whole: list[Sentence] = [(*sentence, ".") for sentence in found]
    if len(whole) <= MOST_OUT:
        return whole
    many = sum(not x.active for x in o.arms)
    return [(f"{many:,} arms are out; the last ones:",), *whole[-MOST_OUT:]]


# What is certain.


def certified(o: Overview) -> Sentence:
    """Say what is certain, in the study's own words."""
    text = label(o.certificate, 1000)
    return (f"{text[:1].upper()}{text[1:]}.",)


def is_certified(o: Overview) -> bool:
    """Return whether anything is."""
    return o.moments[-1].bound is not None and not o.certificate.startswith("nothing")


def inferior(o: Overview) -> Sentence:
    """Say how many plays were of arms that are out of play now."""
    gone = [x for x in o.arms if not x.active]
    plays, all_plays = sum(x.plays for x in gone), sum(x.plays for x in o.arms)
    if not all_plays or not o.arms:
        return ()
    if not gone:
        return ("No arm has been dropped, so no play is known to have been of an inferior one.",)
    said = f"{plays:,} of {count(all_plays, 'play')} ({share(plays, all_plays)}) "
    sure = (
        "That they are inferior is as sure as the certificate."
        if is_certified(o)
        else "Nothing certifies that they are inferior."
    )
    were = "was" if plays == 1 else "were"
    return (f"{said}{were} of arms that are out of play now. {sure}",)


def recommended(o: Overview) -> Sentence:
    """Say what looks best so far."""
    if o.recommended == "nothing yet":
        return ("Nothing is recommended yet.",)
    found = [x.arm for x in o.arms if str(x.arm) == o.recommended]
    if not o.arms and len(o.recommended) > LONGEST:
        return ("What is recommended so far stands below.",)
    return ("Recommended so far: ", named(found[0]) if found else Name(o.recommended), ".")


# What came, what is missing, what is awaited.


def awaited(o: Overview) -> Sentence:
    """Say how many outcomes are awaited, and since when."""
    n = o.statuses["pending"]
    if not n or o.oldest is None:
        return ("No outcome is awaited.",)
    if n == 1:
        return ("1 outcome is awaited, since ", When(o.oldest), ".")
    return (f"{n:,} outcomes are awaited, the oldest since ", When(o.oldest), ".")


def held(o: Overview) -> Sentence:
    """Say what outcomes that are known wait for, and how that is settled."""
    if o.held is None:
        return ()
    said = waiting(o.held.outcomes, o.held.decision)
    return (f"{said}, asked on ", When(o.held.asked), f": {way_out(o.held, o.window)}.")


def window(o: Overview) -> Sentence:
    """Say what the window does, and what it has done."""
    if o.window is None:
        return ()
    text, late = o.window.sentence, o.windows["late"]
    closed = count(o.windows["closed"], "outcome was", "outcomes were")
    then = f", {late:,} came later and {'was' if late == 1 else 'were'} not used" if late else ""
    return (f"{text[:1].upper()}{text[1:]}: {closed} settled so{then}.",)


def came(o: Overview) -> Sentence:
    """Say how many decisions there are, and what became of them."""
    of = o.statuses
    said = (
        f"{count(o.decisions, 'decision')}: {of['reward']:,} with an outcome, "
        f"{of['missing']:,} missing, {of['pending']:,} awaited."
    )
    plays, lost = o.in_blocks
    if o.blocks:
        said += f" {count(o.blocks, 'block')} of sums: {plays - lost:,} rewards, {lost:,} missing."
    return (said,)


def missing(o: Overview) -> list[Sentence]:
    """Say of which arms outcomes are missing, and what that does."""
    total = o.moments[-1].missing
    if not total:
        return [("No outcome is missing.",)]
    found: list[Sentence] = []
    by_arm = sorted((x for x in o.arms if x.missing), key=lambda x: -x.missing)
    if by_arm:
        parts: list[Part] = [f"{count(total, 'outcome is', 'outcomes are')} missing: "]
        for i, line in enumerate(by_arm[:MOST_NAMED]):
            parts += [", " if i else "", f"{line.missing:,} of ", named(line.arm)]
        rest = sum(x.missing for x in by_arm[MOST_NAMED:])
        found.append((*parts, f", {rest:,} of other arms." if rest else "."))
    else:
        found.append((f"{count(total, 'outcome is', 'outcomes are')} missing.",))
    if o.widens:
        found.append(("They are taken at their worst, both ways.",))
    else:
        found.append(("They are left out of what is learned; so nothing may be certified.",))
    return found


def reading(o: Overview, blinded: bool = False) -> Sentence:
    """Say how far the past has been read, if not all of it was; an error may name an arm."""
    if o.reading is None:
        return ()
    if o.problem is not None:
        if blinded:
            return ("The past of this study cannot be read.",)
        return ("The past of this study cannot be read: ", label(o.problem, 300), ".")
    done, end = o.reading
    of_it = "reasons" if blinded else "reasons and drops"
    return (
        f"The past is being read: event {done:,} of {end:,}. Until then {of_it} are of what has "
        "been read.",
    )


def mean_of(line: ArmLine) -> str:
    """Return the mean of an arm, to four digits."""
    return "\u2013" if line.mean is None else f"{line.mean:.4g}"
