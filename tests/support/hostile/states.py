"""States of players that were altered."""

import json
import math
import random
import signal
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.hostile import case
from tests.support.hostile.case import Case
from tests.support.signing import signed

# Keys of a state that say what it is about, rather than what was learned.
ABOUT = {"schema", "learner", "range", "own", "start", "hash"}
# What a state cannot know of itself: optimistic values, of which only the range is known, and what
# became of decisions. Of most learners it is not known when a decision was asked for.
TOLD = {"outcomes", "top", "seen"}


def learners() -> dict[str, tuple[Any, Any]]:
    """Return a learner of every kind of player, and what it starts with."""
    import uli_fast as uli
    from tests.support.examples import LIVE

    arms = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6], [-0.5, 0.5]])
    rule = uli.EliminationFramework(
        lambda n, s, a, t: a & ~((t > 40) & (n > 9) & (s < 0.3 * n)), lambda d, t: 1.0, delta=0.2
    )
    drawn = {"seed": 1, "horizon": 500}
    started = {"arms": {"arms": 4}, "vectors": {"arms": arms}}
    found = {x.row.name: (x.learner, started[x.kind] | drawn) for x in LIVE if x.kind in started}
    return found | {  # whatever is registered, and with what makes something happen early
        "SuccessiveElimination": (uli.SuccessiveElimination(0.5), {"arms": 4}),
        "PhasedElimination": (uli.PhasedElimination(0.5), {"arms": 4}),
        "BettingElimination": (uli.BettingElimination(0.5), {"arms": 4}),
        "UCB": (uli.UCB(0.1), {"arms": 4}),
        "LilUCB": (uli.LilUCB(0.1), {"arms": 4}),
        "KLUCB": (uli.KLUCB(0.1), {"arms": 4}),
        "ThompsonSampling": (uli.ThompsonSampling(0.1), {"arms": 4, "seed": 1}),
        "LinearElimination": (uli.LinearElimination(0.5, R=1.0), {"arms": arms}),
        "EliminationFramework": (rule, {"arms": 4}),
        "Exp3P": (uli.Exp3P(delta=0.1), {"arms": 4, **drawn}),
        "GeometricHedge": (uli.GeometricHedge(delta=0.1), {"arms": arms, **drawn}),
        "Scrible": (uli.Scrible(delta=0.1), {"arms": arms, **drawn}),
        "MetaElimination": (uli.MetaElimination(uli.Exp3P(), 0.1), {"arms": 4, "seed": 1}),
        "SpannerElimination": (uli.SpannerElimination(0.5, R=1.0), {"arms": uli.arm_sets.Ball(2)}),
        "CapElimination": (uli.CapElimination(0.5, R=0.2), {"arms": uli.arm_sets.Ball(2)}),
    }


def told(kind: str, steps: int = 400) -> Any:
    """Return a player that was told some outcomes."""
    learner, about = learners()[kind]
    player, rng = learner.start(**about), random.Random(3)
    for _ in range(steps):
        decision = player.ask()
        arm = decision.arm if isinstance(decision.arm, int) else int(hash(decision.arm) % 2)
        player.tell(decision.id, float(rng.random() < (0.9, 0.5, 0.4, 0.05)[arm]))
    player.ask()
    return player


def policies() -> Any:
    """Return a player of policies that was told some episodes."""
    import uli_fast as uli

    mdp = uli.mdps.river_swim(3, 3).restricted()
    learner = uli.PolicyElimination(0.5, schedule=(1e-6, 1.0))
    player = learner.start(mdp.rewards, [0], decision_points=mdp.decision_points)
    rng = random.Random(0)
    for _ in range(40):
        d = player.ask(0)
        states = [0]
        for h in range(2):
            up = d.policy[h, states[-1]] == 1 and rng.random() < 0.6
            states.append(min(2, states[-1] + 1) if up else max(0, states[-1] - 1))
        player.tell(d.id, states, [int(d.policy[h, s]) for h, s in enumerate(states)])
    return player


def models() -> Any:
    """Return a player of policies for blocks of episodes that was told some."""
    import uli_fast as uli
    from tests.support.examples import wandering

    mdp, rng = uli.mdps.random_dense(3, 2, 3, seed=2), np.random.default_rng(0)
    player = uli.ModelElimination(0.5, "stochastic", first=4).start(mdp.rewards)
    for _ in range(60):
        d = player.ask()
        player.tell(d.id, *wandering(d.policy, rng))
    player.ask()
    return player


EPISODES = {"PolicyElimination": policies, "ModelElimination": models}


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where numbers and marks are in a state."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in TOLD and (path or key not in ABOUT):
                yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from leaves(inner, (*path, i))
    elif isinstance(value, int | float):
        yield path


def changed(state: Any, path: tuple[Any, ...], how: str) -> Any:
    """Return a copy of a state with one number or mark changed."""
    copy = json.loads(json.dumps(state))
    at = copy
    for key in path[:-1]:
        at = at[key]
    old = at[path[-1]]
    if how == "NaN":
        at[path[-1]] = math.nan
    elif isinstance(old, bool):
        at[path[-1]] = not old
    else:
        at[path[-1]] = old + (1 if isinstance(old, int) else 0.25 + abs(old))
    return copy


def places(state: Any, most: int) -> list[tuple[Any, ...]]:
    """Return some places of a state to change, of every array at least one."""
    rng, groups = random.Random(7), dict[Any, list[Any]]()
    for path in leaves(state):
        groups.setdefault(tuple(x for x in path if isinstance(x, str)), []).append(path)
    return [path for group in groups.values() for path in rng.sample(group, min(most, len(group)))]


def states(quick: bool) -> Iterator[Case]:
    for kind in (*learners(), *EPISODES):

        def prepare(folder: Path, kind: str = kind) -> Any:
            return lambda: every_change(kind, 1 if quick else 4)

        yield Case(f"a state of {kind}", prepare)


def every_change(kind: str, most: int) -> None:
    """Change a state in many places; raise the last error if each of them is refused in time."""
    import uli_fast as uli
    from uli_fast.errors import StateError, UliError

    signal.alarm(0)  # kernels may have to be compiled before the first change
    warnings.simplefilter("ignore")  # of phases that are far too short to mean anything
    player = EPISODES[kind]() if kind in EPISODES else told(kind)
    state = json.loads(json.dumps(player.state()))
    more: dict[str, Any] = {}
    if kind == "EliminationFramework":
        more["learner"] = player.learner
    if kind in ("SpannerElimination", "CapElimination"):
        more["arms"] = uli.arm_sets.Ball(2)
    assert uli.restore(state, **more).state() == state
    last: UliError | None = None
    for path in places(state, most):
        if kind == "EliminationFramework" and "eliminated" in path:
            continue  # when it dropped an arm between two plays is known to the rule alone
        for how in ("NaN", "other"):
            begun = time.perf_counter()
            signal.alarm(case.HANGS)  # for each of them
            try:
                uli.restore(signed(changed(state, path, how), **more), **more)
            except StateError as problem:
                last = problem
            else:
                raise AssertionError(f"{path} {how}: accepted")
            assert time.perf_counter() - begun < case.SECONDS, path
            COUNTED["states"] += 1
    assert last is not None
    raise last


COUNTED = {"states": 0}
