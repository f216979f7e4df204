"""Run all sabotages, or some of them.

``python -m tests.sabotage betting study`` runs those of two topics, ``python -m tests.sabotage
_journal`` those whose name or place has a word in it, ``--named`` 25 of them, one or two of every
kind; ``--list`` shows them and runs nothing.
"""

import argparse
import sys

from tests.sabotage import runner
from tests.sabotage.anchors import Sabotage
from tests.sabotage.lists import NAMED, SABOTAGES, TOPICS


def chosen(words: list[str]) -> list[Sabotage]:
    """Return the sabotages of topics, and those with a word in their name or place."""
    topics = {s for word in words for s in TOPICS.get(word, ())}
    others = [word for word in words if word not in TOPICS]
    return [
        s
        for s in SABOTAGES
        if not words
        or s in topics
        or any(word in text for word in others for text in (s.what, *(c.at for c in s.changes)))
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sabotage", description=__doc__)
    parser.add_argument("words", nargs="*", help=f"words, or topics: {', '.join(TOPICS)}")
    parser.add_argument("--named", action="store_true", help="those of docs/reliability.md")
    parser.add_argument("--list", action="store_true", help="show them, run nothing")
    said = parser.parse_args()
    found = [s for s in chosen(said.words) if not said.named or s.what in NAMED]
    if not found:
        parser.error("there is no such sabotage")
    if said.list:
        for s in found:
            print(f"{s.what:54} {s.at:54} {s.test}")
        return 0
    return runner.run(found)


if __name__ == "__main__":
    sys.exit(main())
