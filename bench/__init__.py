"""Benchmarks: ours against plain loops, C and other libraries, in one run.

test_<stem>.py are the suites, one for each algorithm of uli_fast/learners, a few for the parts
they build on, and one for everyday sizes. plain/ holds the loops to beat, support/ what the
suites measure, tools/ what reads the figures: ``python -m bench.tools.report``. What is
compared, and the goals, are in goals.toml; the runs that are kept are in history.jsonl, one
line each.
"""

from pathlib import Path

BENCH = Path(__file__).parent
BUILD = BENCH / ".build"
