"""Code of the user's own: edited anywhere it is another one, elsewhere and unedited the same."""

import json
import os
import subprocess
import sys

import pytest

# Everything that a user may bring, in a module of their own that uses another one.
MINE = """
import functools

import numba
import numpy as np

import helpers
import uli_fast as uli
from helpers import doubled

SLACK = 1.0


def f(delta, t):
    return helpers.shape(t)


def rule(n, total, active, t, share=0.5):
    return active & (total / n > doubled(SLACK) - 4.0)


@numba.njit
def half(x):
    return x / 2


@numba.njit
def compiled(n, total, active, t):
    return active & (half(total) > -1.0)


def late(n, total, active, t):
    try:
        import broken
    except Exception:
        many = [CONSTANTS]  # more than a byte counts
    from helpers import inner

    return active & (total > -inner())


class Base:
    losses, weight = "unit", 1.0

    def __init__(self, factor=2.0):
        self.factor = factor

    def g(self, arms, delta):
        return self.factor * len(arms) * np.log(10 * len(arms) / delta)

    def start_phase(self, arms, rounds, delta):
        return Phase(len(arms))


class Phase:
    def __init__(self, k):
        self.estimates = np.zeros(k)

    def choose(self, rng):
        return int(rng.integers(self.estimates.size)), 1.0 / self.estimates.size

    def update(self, arm, loss):
        self.estimates[arm] += loss * self.estimates.size

    @functools.cached_property
    def spread(self):
        return {"wide", "narrow", "none"}


class Heir(Base):
    pass


class Mind:
    def __init__(self, K, rng):
        self.n = np.zeros(K)

    def choose(self, t):
        return int(self.n.argmin()) if t % 2 else 0

    def update(self, arm, reward):
        self.n[arm] += doubled(0.5)


class Upper(uli.UCB):
    def engines_for(self, problem):
        return ("rounds",)


class Corners:
    dimension = 2

    def __init__(self, side):
        self.points = side * np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])

    def maximize(self, u, eq=None, le=None):
        left = np.ones(4, np.bool_)
        if eq is not None:
            left &= (np.abs(self.points @ eq[0].T - eq[1]) <= 1e-9).all(axis=1)
        if le is not None:
            left &= (self.points @ le[0].T <= le[1] + 1e-9).all(axis=1)
        if not left.any():
            raise uli.errors.InfeasibleError("nothing is left")
        values = np.where(left, self.points @ u, -np.inf)
        return self.points[values.argmax()], float(values.max())


def builder(x):
    return [x <= 1, x >= helpers.shape(0) - 2]


OWN = {
    "f": uli.EliminationFramework(rule, f),
    "compiled": uli.EliminationFramework(compiled, lambda delta, t: 1.0),
    "late": uli.EliminationFramework(late, functools.partial(max, 1.0)),
    "base": uli.MetaElimination(Base()),
    "heir": uli.MetaElimination(Heir(3.0)),
    "mind": uli.OwnLearner(Mind),
    "make": uli.OwnLearner(lambda K, rng: Mind(K, rng), name="made"),
    "upper": Upper(0.1),
    "corners": uli.LinearBandit([1.0, 0.3], arm_set=Corners(0.5)),
    "builder": builder,
}
""".replace("CONSTANTS", ", ".join(f"n + {i}.5" for i in range(300)))
HELPERS = """
def shape(t):
    return 1.0 / (t + 1)


def doubled(x):
    return 2.0 * x


def inner():
    return 1.0


def unused():
    return 0
"""
ALL = {"f", "compiled", "late", "base", "heir", "mind", "make", "upper", "corners", "builder"}
# What is edited, and what must be another one by that.
EDITS = {
    "nothing": ("", "", set()),
    "a comment": ("import helpers\n", "import helpers  # mine\n\n\n", set()),
    "what nobody uses": ("return 0", "return 1", set()),
    "a function": ("total / n > ", "total / n >= ", {"f"}),
    "a default": ("share=0.5", "share=0.4", {"f"}),
    "a global": ("SLACK = 1.0", "SLACK = 0.5", {"f"}),
    "a module's function": ("1.0 / (t + 1)", "1.0 / (t + 2)", {"f", "builder"}),
    "an imported function": ("2.0 * x", "2.1 * x", {"f", "mind", "make"}),
    "what is imported when it runs": ("return 1.0\n", "return 2.0\n", {"late"}),
    "what compiled code calls": ("x / 2", "x / 3", {"compiled"}),
    "a method": ("10 * len(arms)", "11 * len(arms)", {"base", "heir"}),
    "a constant of a class": ('"unit", 1.0', '"unit", 2.0', {"base", "heir"}),
    "a default of __init__": ("factor=2.0", "factor=2.5", {"base", "heir"}),
    "a parameter": ("Heir(3.0)", "Heir(3.5)", {"heir"}),
    "a class that is used": ("loss * self", "-loss * self", {"base", "heir"}),
    "a cached property": ('"none"', '"nil"', {"base", "heir"}),
    "a learner's method": ("t % 2", "t % 3", {"mind", "make"}),
    "a learner of ours that is changed": ('("rounds",)', '("skip",)', {"upper"}),
    "an oracle": ("<= 1e-9", "< 1e-9", {"corners"}),
    "an oracle's points": ("Corners(0.5)", "Corners(0.4)", {"corners"}),
    "a builder": ("x <= 1", "x <= 2", {"builder"}),
}
PRINT_MARKS = """
import importlib, json, sys
from uli_fast._support.fingerprint import fingerprint
found = {}
for folder in sys.argv[1:]:
    sys.path.insert(0, folder)
    mine = importlib.import_module("mine")
    found[folder.rpartition("/")[2]] = {k: fingerprint(x) for k, x in mine.OWN.items()}
    sys.path.pop(0)
    for name in ("mine", "helpers"):
        del sys.modules[name]
    importlib.invalidate_caches()
print(json.dumps(found))
"""


def written(folder, edit="nothing"):
    before, after, _ = EDITS[edit]
    assert before in MINE or before in HELPERS
    folder.mkdir(parents=True)
    (folder / "mine.py").write_text(MINE.replace(before, after) if before else MINE)
    (folder / "broken.py").write_text("raise RuntimeError('not for this machine')\n")
    (folder / "helpers.py").write_text(HELPERS.replace(before, after) if before else HELPERS)


def said(code, *arguments, folder=None, seed="0"):
    """Return what a new process prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONHASHSEED": seed},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_edit_is_noticed_where_it_counts_and_nowhere_else(tmp_path):
    names = {edit: edit.replace(" ", "-").replace("'", "") for edit in EDITS}
    marks = []
    for place, seed in (("here", "1"), ("elsewhere/deep", "2")):
        for edit, name in names.items():
            written(tmp_path / place / name, edit)
        folders = [tmp_path / place / name for name in names.values()]
        marks.append(json.loads(said(PRINT_MARKS, *folders, seed=seed)))
        # From the source, and from what Python made of it.
        marks.append(json.loads(said(PRINT_MARKS, *folders, seed=seed)))
    assert marks[0] == marks[1] == marks[2] == marks[3]
    first = marks[0]["nothing"]
    assert set(first) == ALL and len(set(first.values())) == len(ALL)
    for edit, name in names.items():
        changed = {k for k, mark in marks[0][name].items() if mark != first[k]}
        assert (edit, changed) == (edit, EDITS[edit][2])


RUN = """
import mine, sys
import uli_fast as uli
problem, learner = uli.BernoulliBandit([0.9, 0.1]), uli.MetaElimination(mine.Base(), 0.1)
if sys.argv[2] == "set":
    problem = mine.OWN["corners"]
    learner = uli.SpannerElimination(0.1, schedule="paper", R=1.0, theta_norm=2.0)
try:
    runs = uli.simulate(learner, problem, 300, int(sys.argv[1]), seed=1, checkpoint="kept")
except uli.errors.ResultsError as problem:
    print("refused", problem)
else:
    print(runs.replications, runs.digest(), runs.learner, "on", runs.problem)
    print(runs.table().title, runs.table().caption)
"""


@pytest.mark.parametrize(
    ("what", "edit"), [("base", "a class that is used"), ("set", "an oracle's points")]
)
def test_a_checkpoint_is_resumed_in_a_new_process_and_refuses_edited_code(what, edit, tmp_path):
    written(tmp_path / "one")
    written(tmp_path / "two", edit)
    begun = said(RUN, 2, what, folder=tmp_path / "one", seed="1")
    assert said(RUN, 2, what, folder=tmp_path / "one", seed="2") == begun and " at 0x" not in begun
    more = said(RUN, 3, what, folder=tmp_path / "one", seed="3")
    (tmp_path / "one" / "kept").rename(tmp_path / "two" / "kept")
    refused = said(RUN, 3, what, folder=tmp_path / "two")
    assert refused.startswith("refused") and " at 0x" not in refused
    name = "problem" if what == "set" else "learner"
    assert f"the code of the {name}, or its state, differs (of an object what __getstate" in refused
    assert " was " not in refused
    (tmp_path / "two" / "kept").rename(tmp_path / "two" / "other")
    assert more.startswith("3 ") and said(RUN, 3, what, folder=tmp_path / "one") == more
