"""Values that are never valid, drawn at random, by the kind of argument they spoil."""

import copy
import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np


class Hostile:
    """An object that raises whatever it is asked."""

    def __array__(self, *args, **kwargs):
        raise RuntimeError("not an array")

    def __float__(self):
        raise RuntimeError("not a float")

    def __len__(self):
        raise RuntimeError("no length")


def text(rng):
    some = "".join(rng.choices("xyzж019.,-+eE[]{}\x00\n ", k=rng.randrange(1, 30)))
    return rng.choice(["", "0.5", "nan", "ж" * 50, "[1, 2]", some, some])


def size(rng):
    """Return a positive number of any size."""
    return 10.0 ** rng.uniform(-9, 300)


def thing(rng):
    """Return something that is no number and no array."""
    odd = [Hostile(), object(), lambda x: x, type, b"1", {}]
    return rng.choice([text(rng), text(rng), {text(rng): 1}, 1j * size(rng), *odd])


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
    outside[rng.randrange(len(good))] = rng.choice([-1e-9, 1.0 + 1e-9, -size(rng), 1 + size(rng)])
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
    numbers = [0, 1, 0.0, 1.0, -size(rng), 1.001 + size(rng), Fraction(3, 2), not_finite(rng)]
    several = [rng.random() for _ in range(rng.randrange(2, 5))]
    return rng.choice([rng.choice(numbers), None, several, np.array(several), thing(rng)])


def spoiled_positive(rng, good):
    numbers = [0, -1, -1e-300, -size(rng), -size(rng), not_finite(rng)]
    return rng.choice([rng.choice(numbers), [1.0, size(rng)], np.zeros(3), thing(rng)])


def spoiled_whole(rng, good):
    """Return no whole number of at least one."""
    broken = rng.randrange(100) + rng.uniform(0.01, 0.99)
    numbers = [0, -rng.randrange(1, 10**30), broken, True, False, not_finite(rng), 10**400]
    return rng.choice([rng.choice(numbers), [1], np.arange(3), thing(rng)])


def spoiled_seed(rng, good):
    less = -rng.randrange(1, 10**30)
    return rng.choice([less, rng.random(), math.nan, [1, less], text(rng) or "x", object(), 1j, {}])


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


def spoiled_reward(rng, good):
    """Return no number from 0 to 1."""
    value = spoiled_probability(rng, good)
    return math.nan if isinstance(value, int | float) and value in (0, 1) else value


def spoiled_rows(rng, good):
    """Return no rewards from 0 to 1, one for each decision."""
    return rng.choice([[*good, 0.5], [], [math.nan] * len(good), [-size(rng)] * len(good), None])


def spoiled_labels(rng, good):
    """Return no list of the arms a and b."""
    return rng.choice(
        [["c"] * len(good), [object()] * len(good), [None] * len(good), None, 3, object()]
    )


def spoiled_decision(rng, good):
    """Return no id of a decision that was asked for."""
    return rng.choice([rng.randrange(10**3, 10**30), None, spoiled_whole(rng, good)])


def spoiled_arm(rng, good):
    """Return no number of an arm."""
    value = spoiled_decision(rng, good)
    return -1 if type(value) is int and value == 0 else value


def spoiled_text(rng, good):
    """Return no text."""
    return rng.choice(["", 3, size(rng), b"1", [good], object(), Hostile(), None])


def spoiled_key(rng, good):
    """Return no text that can be kept."""
    long = "x" * rng.randrange(10_001, 20_000)
    return rng.choice(["", long, "\ud800", 3, size(rng), b"1", [good], object(), Hostile()])


def spoiled_table(rng, good):
    """Return nothing that is a table in JSON."""
    inside = rng.choice([math.nan, object(), 1j, "\ud800", {1: 2}, {3}, Hostile()])
    return rng.choice([[], text(rng) or "x", 3, {1: 2}, {text(rng): inside}, object()])


def spoiled_seconds(rng, good):
    return rng.choice([-size(rng), math.nan, 1e11 + size(rng), text(rng), [], object(), 1j])


def spoiled_file(rng, good):
    return rng.choice(
        [3, None, "", "a\0b", ".", "/", "x" * rng.randrange(5000, 9000), object(), []]
    )


def spoiled_states(rng, good):
    return rng.choice([[], [9], [-rng.randrange(1, 99)], [0.5], "x", [None], object(), 3.5])


def spoiled_mask(rng, good):
    return rng.choice([[], [[True]], np.zeros((9, 9)), text(rng) or "x", 3, object(), Hostile()])


def spoiled_choices(rng, good):
    """Return no mask of decision points: none at all, though rewards differ, or nothing like it."""
    return rng.choice([np.zeros_like(good), np.zeros_like(good).tolist(), spoiled_mask(rng, good)])


def spoiled_successors(rng, good):
    """Return no mask of what may follow: a row without a state, numbers, another shape."""
    bad = good.copy()
    bad[tuple(rng.randrange(n) for n in good.shape[:-1])] = False
    shapes = [good[..., :1], good[..., 0, 0], good[:0], good[None], np.ones((9, 9), bool)]
    return rng.choice([bad, good.astype(float), rng.choice(shapes), spoiled_mask(rng, good)])


def spoiled_one_law(rng, good):
    """Return a mask of what may follow whose stages have nothing in common at a row."""
    bad, row = good.copy(), tuple(rng.randrange(n) for n in good.shape[1:-1])
    to = rng.randrange(good.shape[-1])
    bad[0][row], bad[1][row] = False, True
    bad[0][(*row, to)], bad[1][(*row, to)] = True, False
    return rng.choice([bad, bad, spoiled_successors(rng, good)])


def spoiled_true_mask(rng, good):
    """Return a mask that calls impossible what happens."""
    bad, happens = good.copy(), np.argwhere(good)
    bad[tuple(happens[rng.randrange(len(happens))])] = False
    return rng.choice([bad, bad, bad.tolist(), spoiled_mask(rng, good) if good.ndim > 1 else bad])


def spoiled_size(rng, good):
    """Return no (S, A, H)."""
    bad = list(good)
    bad[rng.randrange(3)] = spoiled_whole(rng, 1)
    return rng.choice([tuple(bad), bad, good[:2], (*good, 2), (), None, thing(rng), 3, np.ones(3)])


def spoiled_flag(rng, good):
    return rng.choice([None, 0, 1, 0.5, math.nan, [True], np.ones(2, bool), thing(rng)])


def spoiled_policy(rng, good):
    """Return neither a table of two actions nor laws of them."""
    bad = good.copy()
    at = tuple(rng.randrange(n) for n in good.shape)
    bad[at] = rng.choice([math.nan, math.inf, -0.5, 2.0, bad[at] + 1e-6, -size(rng)])
    shapes = [good[:, :, :1], good[:1], good[None], np.zeros((2, 2, 0)), np.zeros(0)]
    tables = [[[0, 2], [0, 0]], [[0, -1], [0, 0]], [[0, 0.5], [0, 0]], [[0], [0, 1]], [0, 1, 0]]
    return rng.choice([bad, bad, rng.choice(shapes), rng.choice(tables), None, thing(rng)])


def spoiled_path(rng, good):
    """Return no states (or actions) of the episode that is meant."""
    last = [*good[:-1], rng.choice([2, -1, 0.5, None, math.nan, 10**30])]
    return rng.choice([last, good[:-1], [*good, 0, 0], [], None, 3, text(rng), object(), Hostile()])


def spoiled_state(rng, good):
    """Return what a player's state never is: something in it is of no such kind."""
    if rng.random() < 0.1:
        return rng.choice([None, 3, [], "x", object()])
    state = copy.deepcopy(good)
    key = rng.choice(sorted(set(state) - {"learner", "extra"}))
    if rng.random() < 0.2:
        del state[key]
    else:
        wrong = [math.nan, -size(rng), text(rng), object(), 1j, [[1.0], [1.0, 2.0]], Hostile()]
        state[key] = rng.choice(wrong)
    return state


def spoiled_toml(rng, good):
    """Return what TOML can say, and no number of a study is."""
    return rng.choice([0, -rng.randrange(1, 10**15), 1e30, text(rng), [], [text(rng)], {"a": 1}])


def spoiled_names(rng, good):
    return rng.choice([list(good)[:-1], [*good, "more"], [good[0]] * len(good), 3, object()])


SPOIL: dict[str, Callable[[random.Random, Any], Any]] = {
    name.removeprefix("spoiled_"): value
    for name, value in list(globals().items())
    if name.startswith("spoiled_")
}
