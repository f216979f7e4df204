"""Hold the last run against the goals and the history: ``make bench-check``.

Prints met or missed for every goal, and what has become slower; fails on either.
"""

from __future__ import annotations

import sys

from results import LAST, goals, history, read, seconds, slower, verdict, wish


def main() -> int:
    now, wanted = read(LAST), goals()
    missed = 0
    for key, goal in wanted.items():
        said = verdict(goal, now.figures.get(key))
        if not said:
            continue
        missed += said == "missed"
        figure = now.figures.get(key)
        got = "" if figure is None else f"{seconds(figure.ours):>8} {figure.ratio:9.3g}x"
        print(f"{said:12} {key:52} {got:20} {wish(goal)}")
    before = [r for r in history() if r.when != now.when]
    worse = slower(now, before)
    for key, (ratio, usual) in worse.items():
        print(f"SLOWER       {key:52} {ratio:.3g}x, median of {len(before)} runs {usual:.3g}x")
    print(f"{missed} missed, {len(worse)} slower than before by over 30 %")
    return int(missed > 0 or bool(worse))


if __name__ == "__main__":
    sys.exit(main())
