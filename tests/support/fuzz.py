"""Bad input, generated: a valid call with one argument spoiled.

``python -m tests.support.fuzz 10000`` makes 10,000 of them. Every case must end in an
ArgumentError that names the spoiled argument. Targets are public calls with valid arguments, each
of a kind; a kind knows what is never valid for it. Spoiled values are drawn at random: wrong types,
NaN and infinities, numbers out of range, shapes, sizes, objects that misbehave when looked at. A
case that hangs is interrupted and counts as wrong; one that cannot be interrupted ends the
campaign, and says where it was.
"""

import contextlib
import faulthandler
import random
import re
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.support.fuzz_targets import Target, targets
from tests.support.spoiled import SPOIL
from uli_fast.errors import ArgumentError

SECONDS = 120  # after which a case hangs; the first ones compile kernels


def spoil(rng: random.Random) -> tuple[str, str, Any, Target]:
    """Choose a target, one of its arguments, and what it is given instead."""
    known = targets()
    name = rng.choice(sorted(known))
    target = known[name]
    argument = rng.choice(sorted(target.kinds))
    return name, argument, SPOIL[target.kinds[argument]](rng, target.valid[argument]), target


def fails(spoiled: tuple[str, str, Any, Target]) -> str | None:
    """Play one case; return what is wrong, if anything is."""
    name, argument, value, target = spoiled
    case = label(name, argument, value)[:120]
    try:
        with warnings.catch_warnings(), interrupted():
            warnings.simplefilter("error")
            target.call(**(target.valid | {argument: value}))
    except ArgumentError as error:
        if error.argument != argument:
            return f"{case}: names {error.argument!r}: {error}"
    except BaseException as error:
        return f"{case}: {type(error).__name__}: {str(error)[:200]}"
    else:
        return f"{case}: was accepted"
    return None


def label(name: str, argument: str, value: Any) -> str:
    """Say what a case is; addresses of objects make none of its own."""
    said = re.sub(r" at 0x[0-9a-f]+", "", repr(value))
    return f"{name}({argument}={type(value).__name__} {said})"


def distinct(rng: random.Random, cases: int) -> Iterator[tuple[str, str, Any, Target]]:
    """Draw so many cases of which no two are the same."""
    seen: set[str] = set()
    while len(seen) < cases:
        spoiled = spoil(rng)
        case = label(*spoiled[:3])
        if case not in seen:
            seen.add(case)
            yield spoiled


class Hang(BaseException):
    """A case that takes too long; nothing that is tested catches it by mistake."""


@contextlib.contextmanager
def interrupted():
    """Let nothing take longer than it may."""

    def interrupt(*_):
        raise Hang(f"more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def main(cases: int, seed: int = 1) -> int:
    """Play so many cases and print what went wrong."""
    for target in targets().values():
        target.call(**target.valid)  # what is valid is accepted; kernels are compiled
    rng, wrong = random.Random(seed), Counter()
    for spoiled in distinct(rng, cases):
        # What hangs in compiled code hears no alarm.
        faulthandler.dump_traceback_later(3 * SECONDS, exit=True)
        wrong[fails(spoiled)] += 1
    faulthandler.cancel_dump_traceback_later()
    right = wrong.pop(None, 0)
    for said, times in wrong.most_common():
        print(f"{times:5} {said}")
    print(f"{right} of {cases} distinct malformed inputs were refused by name")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *map(int, sys.argv[2:])))
