"""Bad input, generated: a valid call with one argument spoiled.

``python -m tests.support.fuzz 10000`` makes 10,000 of them. Every case must end in an
ArgumentError that names the spoiled argument. Targets are public calls with valid arguments, each
of a kind; a kind knows what is never valid for it. Spoiled values are drawn at random: wrong types,
NaN and infinities, numbers out of range, shapes, sizes, objects that misbehave when looked at. A
case that hangs is interrupted and counts as wrong; one that cannot be interrupted ends the
campaign, and says where it was.
"""

import contextlib
import copy
import faulthandler
import functools
import inspect
import json
import math
import random
import re
import signal
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import uli_fast as uli
from uli_fast._registry import learners
from uli_fast.compat import gymnasium, mabwiser, rlberry, smpybandits
from uli_fast.errors import ArgumentError, ConfigError
from uli_fast.experiments import ExperimentFile

SECONDS = 20  # that a case may take
NEW = "new"  # stands for the id of a decision asked for on the spot


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


class Target(NamedTuple):
    """A call, its valid arguments, and the kinds of those that are spoiled."""

    call: Callable[..., Any]
    valid: dict[str, Any]
    kinds: dict[str, str]


ARMS = uli.BernoulliBandit([0.5, 0.4])
SE = uli.SuccessiveElimination(0.1)
SQUARE = np.vstack([np.eye(2), -np.eye(2)])
RIVER = uli.mdps.river_swim(2, 2)


ENV = SimpleNamespace(action_space=SimpleNamespace(n=2), step=lambda a: (0, 0.5, False, False, {}))
ENV.reset = lambda **_: (0, {})


def begun(**arguments):
    """Begin a study in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        arguments["path"] = (
            Path(folder) / "s.db" if arguments["path"] == "s.db" else arguments["path"]
        )
        uli.Study.open(**arguments).close()


@functools.cache
def driven():
    """Return a study with two decisions, kept open to the end."""
    study = uli.Study.open(Path(tempfile.mkdtemp()) / "s.db", SE, 2)
    study.ask("one"), study.ask("two")
    return study


def study_told(decision_id, outcome, missing):
    """Tell a study what became of a new decision, or of the one that is given."""
    study = driven()
    id = study.ask().id if decision_id is NEW else decision_id
    (study.tell_missing if missing else study.tell)(id, outcome)


def player_told(id, outcome, missing):
    player = SE.start(2)
    player.ask(2)
    (player.tell_missing if missing else player.tell)(id, outcome)


def observed(reward):
    agent = gymnasium.BanditAgent(ENV, SE)
    agent.act()
    agent.observe(0, reward)


def rewarded(arm, reward):
    policy = smpybandits.SuccessiveElimination(2)
    policy.startGame()
    policy.getReward(arm, reward)


def fitted(decisions, rewards):
    mabwiser.MAB(["a", "b"], SE).fit(decisions, rewards)


def trained(budget, low, high, delta):
    rlberry.SuccessiveEliminationAgent(ENV, low=low, high=high, delta=delta).fit(budget)


def parsed(horizon, replications, seed, delta, means):
    """Read a study file; its errors name keys, of which the last part is the argument."""
    said = {k: json.dumps(v) if v != {"a": 1} else "{a = 1}" for k, v in locals().items()}
    try:
        ExperimentFile.parse(
            "horizon = {horizon}\nreplications = {replications}\nseed = {seed}\n"
            "[problems.p]\ntype = 'BernoulliBandit'\nmeans = {means}\n"
            "[learners.l]\ntype = 'SuccessiveElimination'\ndelta = {delta}\n".format(**said)
        )
    except ConfigError as error:
        raise ArgumentError(re.split(r"[.\[]", error.argument)[-1], str(error)) from None


def live_targets():
    """Return the targets of live decisions, of other libraries' interfaces and of study files."""
    player, study = SE.start(2), driven()
    player.ask(2)
    rewards = RIVER.rewards
    return {
        "Study.open": Target(
            begun,
            {"path": "s.db", "learner": SE, "arms": 2, "seed": 1, "low": 0.0, "high": 1.0},
            {"path": "file", "learner": "object", "arms": "arms", "seed": "seed"},
        ),
        "Study.ask": Target(
            study.ask,
            {"request_id": "one", "metadata": {"ward": "B2"}},
            {"request_id": "key", "metadata": "table"},
        ),
        "Study.tell": Target(
            lambda decision_id, reward: study_told(decision_id, reward, False),
            {"decision_id": NEW, "reward": 0.5},
            {"decision_id": "decision", "reward": "reward"},
        ),
        "Study.tell_missing": Target(
            lambda decision_id, reason: study_told(decision_id, reason, True),
            {"decision_id": NEW, "reason": "moved"},
            {"decision_id": "decision", "reason": "key"},
        ),
        "Study.pending": Target(study.pending, {"older_than": 5.0}, {"older_than": "seconds"}),
        "player.ask": Target(player.ask, {"n": 1}, {"n": "whole"}),
        "player.tell": Target(
            lambda id, reward: player_told(id, reward, False),
            {"id": 1, "reward": 0.5},
            {"id": "decision", "reward": "reward"},
        ),
        "player.tell_missing": Target(
            lambda id, reason: player_told(id, reason, True),
            {"id": 2, "reason": "x"},
            {"id": "decision", "reason": "text"},
        ),
        "PolicyElimination.start": Target(
            uli.PolicyElimination(0.1).start,
            {
                "rewards": rewards,
                "initial_support": [0],
                "decision_points": np.ones(rewards.shape[:2], bool),
            },
            {"rewards": "matrix", "initial_support": "states", "decision_points": "mask"},
        ),
        "ModelElimination.start": Target(
            uli.ModelElimination(0.1).start,
            {
                "rewards": rewards,
                "initial_support": [0],
                "decision_points": np.ones(rewards.shape[:2], bool),
                "successors": np.ones((*rewards.shape, rewards.shape[1]), bool),
                "horizon": len(rewards),
            },
            {
                "rewards": "matrix",
                "initial_support": "states",
                "decision_points": "mask",
                "successors": "mask",
                "horizon": "whole",
            },
        ),
        "restore": Target(uli.restore, {"state": player.state()}, {"state": "state"}),
        "gymnasium.BanditAgent": Target(
            gymnasium.BanditAgent,
            {"env": ENV, "learner": SE},
            {"env": "object", "learner": "object"},
        ),
        "gymnasium.observe": Target(observed, {"reward": 0.5}, {"reward": "reward"}),
        "smpybandits.policy": Target(
            smpybandits.UCB,
            {"nbArms": 2, "amplitude": 1.0, "delta": 0.1},
            {"nbArms": "whole", "amplitude": "positive", "delta": "probability"},
        ),
        "smpybandits.getReward": Target(
            rewarded, {"arm": 0, "reward": 0.5}, {"arm": "arm", "reward": "reward"}
        ),
        "mabwiser.MAB": Target(
            mabwiser.MAB,
            {"arms": ["a", "b"], "learning_policy": SE, "seed": 1},
            {"arms": "arms", "learning_policy": "object", "seed": "seed"},
        ),
        "mabwiser.fit": Target(
            fitted,
            {"decisions": ["a", "b"], "rewards": [0.5, 0.4]},
            {"decisions": "labels", "rewards": "rows"},
        ),
        "rlberry.fit": Target(
            trained,
            {"budget": 3, "low": 0.0, "high": 1.0, "delta": 0.1},
            {"budget": "whole", "delta": "probability"},
        ),
        "a study file": Target(
            parsed,
            {"horizon": 10, "replications": 1, "seed": 1, "delta": 0.1, "means": [0.5, 0.4]},
            {"horizon": "toml", "replications": "toml", "delta": "toml", "means": "toml"},
        ),
    }


@functools.cache
def targets():
    """Return all targets, by name."""
    found = live_targets() | {
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
    for name, row in learners(plain=True).items():
        found[name] = Target(row.load(), {"delta": 0.1}, {"delta": "probability"})
        if "R" in inspect.signature(row.load()).parameters:
            found[f"{name}.R"] = Target(row.load(), {"R": 0.5}, {"R": "positive"})
    return found


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
