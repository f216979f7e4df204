"""The reliability campaign: ``make reliability``, some hours on two cores, most of them for B28.

Runs every check below, two at a time, and writes docs/reliability.md: what was asked, what was
run, what came out. The quick parts of it are in the ordinary tests as well.
"""

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reliability.md"
STUDY, RUNS, COMMANDS = "tests/study", "tests/experiments", "tests/cli"
KERNELS = ("tests/kernels", "tests/learners", "tests/players", "tests/arm_sets", "tests/problems")
USERS = ("tests/compat", STUDY, f"{COMMANDS}/test_uli_study.py")  # other ways to the same kernels
OTHERS = ("tests/geometry/test_designs.py", "tests/geometry/test_spanners.py")


VERDICTS = ("caught", "MISSED")


class Check(NamedTuple):
    """A goal and the command that shows it; the figures come from what the command prints."""

    goal: str
    asked: str
    ran: str
    command: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()
    first: tuple[str, ...] = ()  # what must hold as well, without figures to show


def pytest(*words: str, slow: bool = False) -> tuple[str, ...]:
    marks = ("-m", "slow" if slow else "not slow")
    return ("-m", "pytest", "-p", "no:cacheprovider", *marks, *words)


# The longest one has a core for itself; the others follow each other on whatever is free.
LONGEST = Check(
    "B12",
    "no kernel reads or writes out of bounds",
    "kernels, learners, players, oracles, problems, horizons, adapters, live studies with "
    "NUMBA_BOUNDSCHECK=1 and an empty cache",
    pytest(*KERNELS, *OTHERS, *USERS),
    (("NUMBA_BOUNDSCHECK", "1"),),
)
CHECKS = (
    Check(
        "B1",
        "SIGKILL a long `uli run`, resume: the same bytes",
        "100 kills at random points, results compared by SHA-256",
        pytest(f"{RUNS}/test_running.py", "-k", "hundred_kills", slow=True),
    ),
    Check(
        "B2",
        "SIGKILL a live study: nothing acknowledged is lost, at most one unacknowledged extra, "
        "no gaps, the same arm on every re-ask",
        "500 kills of a clinic with late and missing outcomes, 100 of one that asks and tells in "
        "batches, with snapshots and without",
        pytest(f"{STUDY}/test_crash.py", slow=True),
    ),
    Check(
        "B3",
        "a crash at every named point: re-asking gives the same arm, re-telling changes nothing",
        "every point of ask, tell, tell_missing, ask_many and tell_many, several passes; around "
        "snapshots; two processes on one file",
        pytest(f"{STUDY}/test_crash.py", f"{STUDY}/test_many.py"),
    ),
    Check(
        "B4",
        "torn or garbled files: a valid prefix or a typed error, never a wrong answer",
        "200 offsets of a study's file and of its log, damaged and cut; checkpoints and results",
        pytest(f"{STUDY}/test_damage.py", RUNS, "-k", "damage or garbled or truncated or altered"),
    ),
    Check(
        "B5",
        "disk full, I/O error, read-only: a typed error, what was there intact",
        "studies, results, reports",
        pytest(STUDY, RUNS, "tests/report", "-k", "full or read_only or failed_commit or whole"),
    ),
    Check(
        "B7",
        "malformed input: a typed error that names the argument",
        "10,000 valid calls with one argument spoiled, no two the same",
        ("-m", "tests.support.fuzz", "10000"),
    ),
    Check(
        "B8",
        "the nice event fails as often as computed, and never more often than delta",
        "exact rates two-sided, 2,000-run cells against the 0.999 binomial quantile",
        pytest("tests/theory"),
    ),
    Check(
        "B9",
        "the tests bite",
        "25 named sabotages, each on a copy, each caught by a named test",
        ("-m", "tests.sabotage", "--named"),
    ),
    Check(
        "B10",
        "parallel equals serial",
        "1 and 2 threads, 2 processes, a dask cluster, resumed, grown, chunked",
        pytest(
            "tests/learners/test_every_learner.py",
            f"{RUNS}/test_running.py",
            "-k",
            "not kills and not command",
        ),
    ),
    Check(
        "B13",
        "counters are right at 3.04e9, 2^53, 1e12, 1e18; beyond: HorizonTooLargeError",
        "every engine and live player that can go there",
        pytest("tests/learners/test_every_learner.py", "-k", "orizons"),
    ),
    Check(
        "B14",
        "fast equals naive",
        "random instances of every algorithm on the same draws, decision by decision",
        pytest("tests/learners/test_against_naive.py"),
    ),
    Check(
        "B15",
        "oracle answers are feasible and optimal to 1e-7, or a typed error",
        "all arm sets and back ends against independent solvers",
        pytest("tests/arm_sets", "tests/kernels/test_oracles.py"),
    ),
    Check(
        "B18",
        "hostile files and names: nothing executed, memory capped, text escaped",
        "results, studies, states, experiment files, pages",
        pytest(
            *(RUNS, STUDY, COMMANDS, "tests/report", "tests/results/test_runs.py", "tests/players"),
            *("-k", "hostile or names or foreign or page or alter or state or other_files"),
        ),
    ),
    Check(
        "B19",
        "Ctrl-C inside ask, tell, open, close: no study stuck, nothing acknowledged lost",
        "13,500 interrupts with a file and 3,000 with a database, most in ask, tell and their "
        "batches, at places chosen by a seed and by a timer; the same call again after each",
        ("-m", "tests.study.interrupts", "13500", "3000"),
    ),
    Check(
        "B20",
        "a flipped bit in the file or the log of a killed study: refused and left as it is, or "
        "nothing lost but the very last event; no new study in its place",
        "1,000 bits of studies ended by SIGKILL: soon, closed once before, with a log begun again, "
        "with snapshots",
        ("-m", "tests.study.flips", "1000"),
    ),
    Check(
        "B21",
        "hostile and odd files: a typed error within 2 s, in 2 GB",
        "sparse giants, pipes, devices, bombs of numbers, keys, sweeps, cells and parts, runs "
        "altered and signed again, states altered in every array, in a child with 2 GB",
        ("-m", "tests.support.hostile"),
    ),
    Check(
        "B22",
        "threads, processes, Dask, Ray, shards merged: the same bytes as serial",
        "bandits, arm sets and MDPs in every way, shards killed and resumed too; every file "
        "compared but for the seconds in it",
        ("-m", "tests.support.spread"),
    ),
    Check(
        "B23",
        "live certificates hold where the law is as wide as they assume, and a law twice as wide "
        "is noticed",
        "1,000 short live runs of every learner with a certificate at delta = 1/2, at the limit "
        "and twice as wide; 1,000 longer ones, ranges, withheld outcomes; estimates on the edge of "
        "every learner's event",
        pytest(
            *("tests/players/test_wide_laws.py", "tests/players/test_certified_truth.py"),
            *("tests/players/test_certified_edges.py", "-m", "slow or not slow"),
        ),
    ),
    Check(
        "B25",
        "several workers on one study, through a service and on PostgreSQL, killed, and their "
        "servers restarted: all that was acknowledged is there once, the same arm for everybody, "
        "the chain sound",
        "a web app under gunicorn, in three ways: 10,000 patients, 50 kills of four workers, 5 "
        "restarts of the service or the app, 3 stops of the database; 50 kills and 3 restarts of "
        "workers without an app; late workers, lost answers, versions that differ",
        ("-m", "tests.study.havoc"),
        first=pytest(
            *(f"{STUDY}/test_workers.py", f"{STUDY}/test_overtaken.py"),
            *(f"{STUDY}/test_many_workers.py", "-m", "slow or not slow"),
        ),
    ),
    Check(
        "B26",
        "the service under bad requests: no 500, nobody in where they do not belong",
        "requests made up from its description; tokens wrong, missing, of another role, timed; "
        "too long, too slow, too many; names and ids that are HTML, headers, paths or SQL",
        pytest("tests/service", "-m", "slow or not slow"),
    ),
    Check(
        "B27",
        "snapshots damaged, stale, swapped or forged: truth from the journal, never a wrong answer",
        "every player with late, missing and repeated outcomes; contents, hashes and numbers "
        "changed, signed again, of another study, of older files",
        pytest(f"{STUDY}/test_snapshots.py"),
    ),
    Check(
        "B28",
        "F and live certificates on vectors and sets are true where floating point has least to "
        "hold on to",
        "10^5 instances of every learner: near-copies, arms almost in line, needles, scales and "
        "gaps over noise from 1e-12 to 1e12, equal means, with noise and without, against exact "
        "gaps",
        ("-m", "tests.theory.near_degenerate", "100000"),
    ),
    Check(
        "B30",
        "kills at every system call of open, ask, tell, snapshot and close, and whatever lies "
        "beside a study: nothing acknowledged lost, nothing deleted, none stuck",
        "studies begun, closed before and killed before, ended by strace at every system call of "
        "their lives; journals, links, logs and files of other times, files written over in place",
        ("-m", "tests.study.syscalls"),
        first=pytest(f"{STUDY}/test_beside.py", f"{RUNS}/test_folders.py", "-k", "beside or link"),
    ),
    Check(
        "B31",
        "outcomes late, out of order, told twice, never told: nothing waits for ever, certificates "
        "are true, every replay is equal",
        "2,000 studies of four learners with a window, settled as 0, as .25 and as missing, delta "
        ".5; successes of the best arm are held back most often; a plain model beside each",
        ("-m", "tests.study.lateness", "2000"),
        first=pytest(f"{STUDY}/test_windows.py"),
    ),
    Check(
        "B33",
        "what one client sends is in nobody's way: memory flat, others served",
        "silent and kept connections, handshakes that never come, short requests for many "
        "decisions with much metadata, nesting, names twice, floods of health",
        pytest(
            "tests/service/test_one_client.py",
            "tests/service/test_desk.py",
            "-m",
            "slow or not slow",
        ),
    ),
    Check(
        "B34",
        "forks of a process with threads and a client or a study open: none hangs",
        "200 children each of a client, a study in a file and one in a database, while four "
        "threads are at work; children that use it, close it, drop it",
        pytest("tests/service/test_forks.py", slow=True),
    ),
    Check(
        "B37",
        "means next to 0 and 1: a path depends on learner, problem and seed alone; intervals of "
        "chances lie outside, and not far",
        "random means down to 1e-16 from 0 and 1, of coins, fixed and Beta rewards, tables; "
        "recorded rounds and horizons that differ; up to 10^18 plays, against mpmath",
        ("-m", "tests.support.odd_means", "20000", "100000"),
    ),
)


class Outcome(NamedTuple):
    """What came out of a check."""

    held: bool
    said: str
    seconds: float
    listed: tuple[str, ...] = ()  # what a list of sabotages came to


def run(check: Check, folder: Path) -> Outcome:
    """Run a check's command; its last line of figures is what it said."""
    environment = os.environ | dict(check.environment)
    if check.environment:
        environment["NUMBA_CACHE_DIR"] = str(folder / check.goal)
    begun = time.perf_counter()
    for command in filter(None, (check.first, check.command)):
        done = subprocess.run(
            [sys.executable, *command],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            break
    lines = [line for line in done.stdout.splitlines() if re.search(r"\d", line)]
    said = lines[-1].strip("= ") if lines else done.stderr[-200:]
    said = re.sub(r" in [\d.]+s.*", "", said)
    if done.returncode:
        (folder / f"{check.goal}.log").write_text(done.stdout + done.stderr, encoding="utf-8")
        print(done.stdout[-3000:], done.stderr[-1000:], flush=True)
    listed = tuple(x for x in done.stdout.splitlines() if x[:6] in VERDICTS)
    return Outcome(done.returncode == 0, said, time.perf_counter() - begun, listed)


def main(only: str = "") -> int:
    """Run the campaign, or the goals whose names are given, and write the page."""
    wanted = set(only.split(",")) - {""}
    found: dict[str, Outcome] = {}
    folder = Path(tempfile.mkdtemp(prefix="reliability-"))
    waiting = deque(c for c in (LONGEST, *CHECKS) if not wanted or c.goal in wanted)

    def work() -> None:
        while True:
            try:
                check = waiting.popleft()
            except IndexError:
                return
            found[check.goal] = run(check, folder)
            held, said, seconds, listed = found[check.goal]
            word = "holds" if held else "FAILS"
            print(f"{check.goal:4} {word} {seconds:5.0f} s  {said}", *listed, sep="\n", flush=True)

    lanes = [threading.Thread(target=work) for _ in range(2)]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()
    write(found)
    return int(not all(outcome.held for outcome in found.values()))


def write(found: dict[str, Outcome]) -> None:
    """Put what came out into the page's table; rows of other goals stay as they are."""
    begin, end = "<!-- begin campaign -->", "<!-- end campaign -->"
    before, rest = PAGE.read_text(encoding="utf-8").split(begin)
    old, after = rest.split(end)
    rows = {line.split("|")[1].strip(): line for line in old.splitlines() if line[:3] == "| B"}
    day = datetime.now(UTC).date().isoformat()
    for c in (LONGEST, *CHECKS):
        if c.goal in found:
            held, said, seconds, _ = found[c.goal]
            word = "holds" if held else "FAILS"
            cells = (c.goal, c.asked, c.ran, said, word, f"{seconds:.0f} s", day)
            rows[c.goal] = f"| {' | '.join(cells)} |"
    header = (
        "| | asked | run | came out | | time | on |\n| --- | --- | --- | --- | --- | --- | --- |"
    )
    lines = [rows[goal] for goal in sorted(rows, key=lambda goal: int(goal[1:]))]
    table = "\n".join((header, *lines))
    listed = next((outcome.listed for outcome in found.values() if outcome.listed), ())
    kept = [line for line in old.splitlines() if line[:2] == "| " and line[2:8] in VERDICTS]
    sabotages = [_row(line) for line in listed] or kept
    if sabotages:
        caption = (
            "B9, sabotage by sabotage:\n\n| | what was broken | noticed by |\n| --- | --- | --- |"
        )
        table = "\n".join((table, "", caption, *sabotages))
    PAGE.write_text(f"{before}{begin}\n\n{table}\n\n{end}{after}", encoding="utf-8")


def _row(line: str) -> str:
    """Return what tests.sabotage printed of a sabotage as a line of a table."""
    verdict, rest = line[:6], line[8:]
    what, test = rest.rsplit(maxsplit=1)
    return f"| {verdict} | {what.strip()} | `{test}` |"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
