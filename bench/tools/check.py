"""Compare the last run with the goals and the history: ``make bench-check``.

Prints met or missed for every goal, and what has become slower; fails on either. What looks slower
is measured once more before that: machines have slow moments. What a quick run leaves out keeps
the verdict of the last kept run that measured it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence

from bench import BENCH
from bench.tools.results import (
    LAST,
    WORSE,
    Results,
    about,
    counted,
    goals,
    history,
    join,
    names,
    read,
    seconds,
    slower,
    usual,
    verdict,
    wish,
)


def held(now: Results, before: Sequence[Results]) -> tuple[list[str], dict[str, str]]:
    """Return what to say about a run, line by line, and what is wrong with it, by name."""
    lines, wrong = [], {}
    for key, goal in goals().items():
        figure, when = now.figures.get(key), ""
        if figure is None:
            same = [r for r in before if key in r.figures]
            same = [r for r in same if r.figures[key].about == about(goal)]
            if same:
                figure, when = same[-1].figures[key], f", in the run of {same[-1].when[:10]}"
        got = "" if figure is None else f"{seconds(figure.ours):>8} {figure.ratio:9.3g}x"
        told = [("", got, wish(goal), verdict(goal, figure)), *counted(figure)]
        for what, got, wanted, met in told:
            if not met:
                continue
            if met != "met":
                wrong[key] = met
            lines.append(f"{met + when:30} {f'{key} {what}':64} {got:20} {wanted}")
    for key, (ratio, before_it) in slower(now, before).items():
        wrong[key] = "slower"
        lines.append(f"{'SLOWER':30} {key:64} {ratio:.3g}x, the median was {before_it:.3g}x")
    for key, figure in now.figures.items():
        if not usual(key, figure, before):
            lines.append(f"{'new':30} {key:64} no run of it is kept")
    return lines, wrong


def measure_again(keys: Iterable[str]) -> None:
    """Give some benchmarks of the last run a second lap."""
    lap, called = LAST.with_name("again.json"), names(LAST)
    command = [sys.executable, "-m", "pytest", "--quick", "--benchmark-only", "--benchmark-quiet"]
    command += [f"--benchmark-json={lap}", *(called[key] for key in keys)]
    subprocess.run(command, cwd=BENCH.parent, check=True)
    join(lap, LAST, some=True)


def main() -> int:
    now = read(LAST)
    before = [r for r in history() if r.when != now.when]
    doubtful = [key for key in held(now, before)[1] if key in now.figures]
    if doubtful:
        print("once more:", *doubtful)
        measure_again(doubtful)
        now = read(LAST)
    lines, wrong = held(now, before)
    print(*lines, sep="\n")
    counts = {why: list(wrong.values()).count(why) for why in ("missed", "not measured", "slower")}
    print(", ".join(f"{n} {why}" for why, n in counts.items()) + f" by over {WORSE:.0%}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
