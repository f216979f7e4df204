"""Bad input, generated: a valid call with one argument spoiled (``python -m tests.fuzz 10000``).

Every case must end in an ArgumentError that names the spoiled argument. Targets are public calls
with valid arguments, each of a kind; a kind knows what is never valid for it. Spoiled values are
drawn at random: wrong types, NaN and infinities, numbers out of range, shapes, sizes, objects
that misbehave when looked at.
"""

import math
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

import uli_fast as uli
from uli_fast.errors import ArgumentError


class Hostile:
    """An object that raises whatever it is asked."""

    def __array__(self, *args, **kwargs):
        raise RuntimeError("not an array")

    def __float__(self):
        raise RuntimeError("not a float")

    def __len__(self):
        raise RuntimeError("no length")


def text(rng):
    return rng.choice(["", "x", "0.5", "nan", "\x00", "ж" * 50, "[1, 2]"])


def thing(rng):
    """Return something that is no number and no array."""
    return rng.choice([text(rng), {}, {"a": 1}, Hostile(), object(), lambda x: x, b"1", 1j, type])


def not_finite(rng):
    return rng.choice([math.nan, math.inf, -math.inf])


def spoiled_vector(rng, good):
    """Return a vector that is none: not finite, empty, of another shape or kind."""
    good = np.asarray(good, float)
    bad = good.copy()
    bad[rng.randrange(bad.size)] = not_finite(rng)
    ragged = [good.tolist(), [0.5]]
    return rng.choice(
        [bad, [], np.zeros((2, 2, 2)), 0.5, ragged, [text(rng)], [None], None, thing(rng)]
    )


def spoiled_unit_vector(rng, good):
    good = list(good)
    outside = good.copy()
    outside[rng.randrange(len(good))] = rng.choice([-1e-9, 1.0 + 1e-9, -5, 17, 1e300])
    return rng.choice([outside, spoiled_vector(rng, good), spoiled_vector(rng, good)])


def spoiled_initial(rng, good):
    value = spoiled_unit_vector(rng, good)
    return [] if value is None else value  # without one, the first state is meant


def spoiled_matrix(rng, good):
    good = np.asarray(good, float)
    bad = good.copy()
    bad[tuple(rng.randrange(n) for n in bad.shape)] = not_finite(rng)
    shapes = [np.zeros(0), np.zeros((0, 2)), np.zeros((2, 0)), np.zeros((1, 2, 3, 4, 5)), 3.0]
    return rng.choice([bad, rng.choice(shapes), [[1.0], [1.0, 2.0]], None, thing(rng)])


def spoiled_probability(rng, good):
    """Return no number strictly between 0 and 1."""
    numbers = [0, 1, 0.0, 1.0, -0.1, 1.1, 1e300, Fraction(3, 2), not_finite(rng)]
    return rng.choice([rng.choice(numbers), None, [0.1], np.array([0.1, 0.2]), thing(rng)])


def spoiled_positive(rng, good):
    numbers = [0, -1, -1e-300, not_finite(rng)]
    return rng.choice([rng.choice(numbers), [1.0, 2.0], np.zeros(3), thing(rng)])


def spoiled_whole(rng, good):
    """Return no whole number of at least one."""
    numbers = [0, -1, -(10**30), 1.5, 1e-9, True, False, not_finite(rng), 10**400]
    return rng.choice([rng.choice(numbers), [1], np.arange(3), thing(rng)])


def spoiled_seed(rng, good):
    return rng.choice([-1, 1.5, math.nan, [1, -1], text(rng) or "x", object(), 1j, {}])


def spoiled_choice(rng, good):
    return rng.choice(["", "nothing", good.upper() + "!", 3, None, [good], object()])


def spoiled_rounds(rng, good):
    last = max(good)
    values = [[], [0], [-1], [last * 10**6], [1.5], [math.nan], 5, "x", [[1, 2]], [None], {}]
    return rng.choice([*values, object()])


def spoiled_object(rng, good):
    return rng.choice([None, 3, math.nan, [], [0.5, 0.4], thing(rng)])


def spoiled_arms(rng, good):
    return rng.choice([None, 0, -1, 1.5, math.nan, [], ["a", "a"], "ab", Hostile(), object(), 1j])


def spoiled_names(rng, good):
    return rng.choice([list(good)[:-1], [*good, "more"], [good[0]] * len(good), 3, object()])


SPOIL: dict[str, Callable[[random.Random, Any], Any]] = {
    name.removeprefix("spoiled_"): value
    for name, value in list(globals().items())
    if name.startswith("spoiled_")
}


class Target(NamedTuple):
    """A call, its valid arguments, and the kinds of those that are spoiled."""

    call: Callable[..., Any]
    valid: dict[str, Any]
    kinds: dict[str, str]


ARMS = uli.BernoulliBandit([0.5, 0.4])
SE = uli.SuccessiveElimination(0.1)
SQUARE = np.vstack([np.eye(2), -np.eye(2)])
RIVER = uli.mdps.river_swim(2, 2)
LEARNERS = (
    *("SuccessiveElimination", "PhasedElimination", "UCB", "LilUCB", "MetaElimination", "Exp3P"),
    *("GeometricHedge", "Scrible", "LinearElimination", "LinUCB", "SpannerElimination"),
    *("PolicyElimination", "UCBVI", "UBEV"),
)


def targets():
    """Return all targets, by name."""
    found = {
        "BernoulliBandit": Target(
            uli.BernoulliBandit,
            {"means": [0.5, 0.4], "names": ["a", "b"]},
            {"means": "unit_vector", "names": "names"},
        ),
        "GaussianBandit": Target(
            uli.GaussianBandit,
            {"means": [0.5, 2.0], "sigma": 1.0},
            {"means": "vector", "sigma": "positive"},
        ),
        "DeterministicBandit": Target(
            uli.DeterministicBandit, {"means": [0.5, 0.4]}, {"means": "unit_vector"}
        ),
        "BetaBandit": Target(
            uli.BetaBandit,
            {"alpha": [1.0, 2.0], "beta": [2.0, 1.0]},
            {"alpha": "vector", "beta": "vector"},
        ),
        "TableBandit": Target(
            uli.TableBandit, {"rewards": np.ones((2, 5)) / 2}, {"rewards": "matrix"}
        ),
        "LinearBandit": Target(
            uli.LinearBandit,
            {"theta": [0.6, 0.3], "arms": np.eye(2), "sigma": 1.0, "noise": "gaussian"},
            {"theta": "vector", "arms": "matrix", "sigma": "positive", "noise": "choice"},
        ),
        "TabularMDP": Target(
            uli.TabularMDP,
            {
                "transitions": RIVER.transitions,
                "rewards": RIVER.rewards,
                "initial": RIVER.initial,
            },
            {"transitions": "matrix", "rewards": "matrix", "initial": "initial"},
        ),
        "simulate": Target(
            uli.simulate,
            {
                "learner": SE,
                "problem": ARMS,
                "horizon": 100,
                "replications": 2,
                "seed": 1,
                "engine": "skip",
                "rounds": [1, 100],
                "n_jobs": 1,
            },
            {
                "learner": "object",
                "problem": "object",
                "horizon": "whole",
                "replications": "whole",
                "seed": "seed",
                "engine": "choice",
                "rounds": "rounds",
            },
        ),
        "compare": Target(
            uli.compare,
            {"learners": [SE], "problem": ARMS, "horizon": 100, "replications": 2, "seed": 1},
            {
                "problem": "object",
                "horizon": "whole",
                "replications": "whole",
                "seed": "seed",
            },
        ),
        "turning_point": Target(
            uli.turning_point,
            {
                "uli_learner": SE,
                "optimistic_learner": uli.UCB(0.1),
                "problem": ARMS,
                "horizon": 1000,
                "replications": 1,
                "seed": 1,
            },
            {
                "uli_learner": "object",
                "optimistic_learner": "object",
                "problem": "object",
                "horizon": "whole",
                "replications": "whole",
                "seed": "seed",
            },
        ),
        "Ball": Target(
            uli.arm_sets.Ball, {"d": 2, "radius": 1.0}, {"d": "whole", "radius": "positive"}
        ),
        "Box": Target(
            uli.arm_sets.Box,
            {"low": [-1.0, -1.0], "high": [1.0, 1.0]},
            {"low": "vector", "high": "vector"},
        ),
        "Simplex": Target(uli.arm_sets.Simplex, {"d": 3}, {"d": "whole"}),
        "L1Ball": Target(
            uli.arm_sets.L1Ball, {"d": 3, "radius": 1.0}, {"d": "whole", "radius": "positive"}
        ),
        "Polytope": Target(
            uli.arm_sets.Polytope,
            {"G": SQUARE, "h": np.ones(4)},
            {"G": "matrix", "h": "vector"},
        ),
        "Finite": Target(uli.arm_sets.Finite, {"points": np.eye(2)}, {"points": "matrix"}),
        "maximize": Target(uli.arm_sets.Ball(2).maximize, {"u": [1.0, 0.0]}, {"u": "vector"}),
        "g_optimal": Target(uli.designs.g_optimal, {"arms": np.eye(2)}, {"arms": "matrix"}),
        "start": Target(SE.start, {"arms": 2}, {"arms": "arms"}),
        "lil_ucb_lower_bound": Target(
            uli.lower_bounds.lil_ucb_lower_bound,
            {"gap": 0.5, "delta": 0.1},
            {"gap": "probability", "delta": "probability"},
        ),
    }
    for name in LEARNERS:
        found[name] = Target(getattr(uli, name), {"delta": 0.1}, {"delta": "probability"})
    for name in ("SuccessiveElimination", "PhasedElimination", "UCB", "LilUCB"):
        found[f"{name}.R"] = Target(getattr(uli, name), {"R": 0.5}, {"R": "positive"})
    return found


def spoil(rng: random.Random) -> tuple[str, str, Any, Target]:
    """Choose a target, one of its arguments, and what it is given instead."""
    known = targets()
    name = rng.choice(sorted(known))
    target = known[name]
    argument = rng.choice(sorted(target.kinds))
    return name, argument, SPOIL[target.kinds[argument]](rng, target.valid[argument]), target


def fails(rng: random.Random) -> str | None:
    """Play one case; return what is wrong, if anything is."""
    name, argument, value, target = spoil(rng)
    begun = time.perf_counter()
    case = f"{name}({argument}={type(value).__name__} {repr(value)[:80]})"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            target.call(**(target.valid | {argument: value}))
    except ArgumentError as error:
        if error.argument != argument:
            return f"{case}: names {error.argument!r}: {error}"
    except BaseException as error:
        return f"{case}: {type(error).__name__}: {str(error)[:200]}"
    else:
        return f"{case}: was accepted"
    return f"{case}: took long" if time.perf_counter() - begun > 20.0 else None


def main(cases: int, seed: int = 1) -> int:
    """Play so many cases and print what went wrong."""
    for target in targets().values():
        target.call(**target.valid)  # what is valid is accepted; kernels are compiled
    rng, wrong = random.Random(seed), Counter()
    for _ in range(cases):
        wrong[fails(rng)] += 1
    right = wrong.pop(None, 0)
    for said, times in wrong.most_common():
        print(f"{times:5} {said}")
    print(f"{right} of {cases} malformed inputs were refused by name")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *map(int, sys.argv[2:])))
