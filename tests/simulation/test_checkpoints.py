"""A checkpoint gives back what was run, and never the results of something else."""

import functools
import math
import subprocess
import sys
import threading
from fractions import Fraction

import numba
import numpy as np
import pytest

import uli_fast as uli
from uli_fast._support.fingerprint import fingerprint
from uli_fast.errors import ArgumentError, RunsFileError

TWO = uli.BernoulliBandit([0.5, 0.4])
SLACK = 3.0


def run(folder, learner=None, **more):
    values = {"horizon": 200, "replications": 3, "seed": 1} | more
    return uli.simulate(
        learner or uli.SuccessiveElimination(0.1), TWO, checkpoint=folder / "c", **values
    )


@pytest.mark.parametrize(
    "other",
    [
        {"learner": uli.SuccessiveElimination(0.2)},
        {"learner": uli.UCB(0.1)},
        {"rounds": [10, 200]},
        {"seed": 2},
        {"horizon": 300},
        {"engine": "rounds"},
    ],
    ids=lambda x: next(iter(x)),
)
def test_another_run_is_refused(tmp_path, other):
    first = run(tmp_path)
    with pytest.raises((ArgumentError, uli.errors.ResultsError, RunsFileError)):
        run(tmp_path, **other)
    assert run(tmp_path).digest() == first.digest()


def test_plays_that_were_not_kept_are_not_promised(tmp_path):
    assert run(tmp_path, keep_plays=False).plays is None
    with pytest.raises(ArgumentError, match="keep_plays"):
        run(tmp_path, keep_plays=True)


def rule(slack):
    """Return a rule whose slack is in its closure."""
    return lambda n, total, active, t: total / n.clip(1) > (total / n.clip(1)).max() - slack


@pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
def test_a_rule_that_differs_in_its_closure_is_refused(tmp_path):
    f = lambda delta, t: 1.0  # noqa: E731
    run(tmp_path, uli.EliminationFramework(rule(5.0), f))
    with pytest.raises((ArgumentError, uli.errors.ResultsError, RunsFileError)):
        run(tmp_path, uli.EliminationFramework(rule(0.0), f))
    again = run(tmp_path, uli.EliminationFramework(rule(5.0), f))
    assert again.replications == 3


class Held:
    """An object with a method."""

    def __init__(self, x):
        self.x = x

    def add(self, y):
        return self.x + y


def uses_helper(x, y):
    return x + y


def add(x, y):
    return x + y


def pairs():
    """Yield pairs of things that differ."""
    yield rule(1.0), rule(2.0)
    yield (lambda x, y=1: x), (lambda x, y=2: x)
    yield (lambda x, *, y=1: x), (lambda x, *, y=2: x)
    yield (lambda x: np.sqrt(x)), (lambda x: np.log(x))
    yield (lambda x: np.sqrt(x)), (lambda x: math.sqrt(x))
    yield (lambda x: x + 1), (lambda x: x + 2)
    yield (lambda x: [y + 1 for y in x]), (lambda x: [y + 2 for y in x])
    yield functools.partial(add, 1), functools.partial(add, 2)
    yield functools.partial(add, y=1), functools.partial(add, y=2)
    yield Held(1).add, Held(2).add
    yield numba.njit(lambda x: x + 1), numba.njit(lambda x: x + 2)
    yield {"a": 1}, {"a": 2}
    yield [1, [2, 3]], [[1, 2], 3]
    yield np.zeros(2), np.zeros(2, np.float32)
    yield np.arange(4), np.arange(4).reshape(2, 2)
    yield {1, 2}, {1, 3}
    yield Fraction(1, 2), Fraction(1, 3)
    yield "ab", ("a", "b")
    yield np.sqrt, np.log
    yield numba.vectorize(lambda x: x + 1), numba.vectorize(lambda x: x + 2)
    yield numba.njit(add), numba.njit(add, fastmath=True)
    yield functools.cache(lambda x: x + 1), functools.cache(lambda x: x + 2)
    yield [1].count, [2].count
    yield np.random.default_rng(1), np.random.default_rng(2)
    yield (lambda x, y: x), (lambda x, *, y: x)
    yield (lambda x: uses_helper(x, 1)), (lambda x: uses_helper(x, 2))


@pytest.mark.parametrize("pair", list(pairs()))
def test_what_differs_has_another_fingerprint(pair):
    assert fingerprint(pair[0]) != fingerprint(pair[1])


def test_a_global_that_a_function_uses_counts(monkeypatch):
    uses = lambda x: x + SLACK  # noqa: E731
    before = fingerprint(uses)
    monkeypatch.setitem(globals(), "SLACK", 4.0)
    assert fingerprint(uses) != before


def test_a_function_that_wraps_one_of_the_package_goes_by_its_own_code():
    """functools.wraps lends it a name and a module of the package."""

    def one(n, total, active, t):
        return active

    def two(n, total, active, t):
        return active & (total > 0)

    wrapped = [functools.wraps(uli.lower_bounds.as_written)(rule) for rule in (one, two)]
    assert wrapped[0].__module__.startswith("uli_fast")
    assert fingerprint(wrapped[0]) != fingerprint(wrapped[1])


def test_what_is_the_packages_own_goes_by_its_name(monkeypatch):
    """A rule that mentions it is the same rule wherever the package keeps it."""
    public = [getattr(uli, name) for name in uli.__all__ if name not in ("__version__", "doctor")]
    public += [x for x in vars(uli.errors).values() if isinstance(x, type)]
    marks = {fingerprint(x): x for x in public}
    assert len(marks) == len({id(x) for x in public}) > 70
    rule = lambda n, total: isinstance(total, uli.Runs)  # noqa: E731
    before = fingerprint(rule), fingerprint(uli.Runs), fingerprint(uli.designs)
    monkeypatch.setattr(uli.Runs, "__module__", "uli_fast.elsewhere")
    monkeypatch.setattr(uli.designs, "__name__", "uli_fast.elsewhere.designs")
    assert (fingerprint(rule), fingerprint(uli.Runs), fingerprint(uli.designs)) == before


def test_a_fingerprint_is_the_same_in_every_process():
    code = (
        "from uli_fast._support.fingerprint import fingerprint as f\n"
        "import numpy as np\n"
        "def g(x):\n    return [y + np.sqrt(len(str(z))) for y in x for z in {1, 2}]\n"
        "print(f(g), f({'b', 'a', 'c'}), f([g, {'k': g}]))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    }
    assert len(said) == 1


def test_what_cannot_be_looked_into_is_an_error():
    with pytest.raises(ArgumentError, match=r"^checkpoint: lock is a lock, which .*__getstate__"):
        fingerprint({"lock": threading.Lock()})
    with pytest.raises(ArgumentError, match="this is a ufunc"):
        fingerprint(np.frompyfunc(lambda x: x, 1, 1))


class Grid:
    """Points of a grid in the unit disc, as an arm set."""

    dimension = 2

    def __init__(self, steps):
        line = np.linspace(-1.0, 1.0, steps)
        points = np.array([(x, y) for x in line for y in line])
        self.points = points[np.linalg.norm(points, axis=1) <= 1.0]

    def __repr__(self):
        return f"Grid({len(self.points)} points)"

    def maximize(self, u, eq=None, le=None):
        left = np.ones(len(self.points), np.bool_)
        if eq is not None:
            left &= (np.abs(self.points @ eq[0].T - eq[1]) <= 1e-9).all(axis=1)
        if le is not None:
            left &= (self.points @ le[0].T <= le[1] + 1e-9).all(axis=1)
        if not left.any():
            raise uli.errors.InfeasibleError("no point of the grid is left")
        values = np.where(left, self.points @ u, -np.inf)
        return self.points[values.argmax()], float(values.max())


PROBLEMS = (
    TWO,
    uli.GaussianBandit([0.5, 0.3], 0.5),
    uli.DeterministicBandit([0.5, 0.3]),
    uli.BetaBandit([1.0, 2.0], [2.0, 2.0]),
    uli.TableBandit(np.ones((2, 5))),
    uli.LinearBandit([0.6, 0.3], np.eye(2)),
    uli.LinearBandit([0.6, 0.3], arm_set=uli.arm_sets.Ball(2)),
    uli.LinearBandit(
        [0.6, 0.3], arm_set=uli.arm_sets.Polytope(np.vstack([np.eye(2), -np.eye(2)]), np.ones(4))
    ),
    uli.LinearBandit([0.6, 0.3], arm_set=Grid(5)),
    uli.mdps.river_swim(2, 2),
)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: type(p).__name__)
def test_every_problem_has_a_fingerprint_that_use_does_not_change(problem):
    before = fingerprint(problem)
    if hasattr(problem, "arm_set"):
        problem.arm_set.maximize(np.array([1.0, 0.0]))
        assert problem.arm_set.largest_norm() > 0.0
    else:
        assert problem.gaps is not None if hasattr(problem, "gaps") else problem.n_policies
    assert fingerprint(problem) == before
