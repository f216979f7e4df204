"""Saved states are believed if their own decisions and outcomes lead to them.

A state holds every decision and outcome beside what was learned from them. So a fresh player is
told the same, and must come to the same: whoever changes a total, a mask or a phase is found out.
Counts and masks must be equal. Numbers that are computed may differ in their last digits, as
processors round in different ways; the restored player keeps the saved ones.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from uli_fast._typing import B1
from uli_fast.errors import StateError
from uli_fast.learners._adversarial import started
from uli_fast.players._base import Player
from uli_fast.players.adversarial import AdversarialPlayer
from uli_fast.players.betting_elimination import BettingPlayer
from uli_fast.players.elimination_framework import FrameworkPlayer
from uli_fast.players.spanner_elimination import SpannerPlayer

ROUNDING = 1e-9  # relative to the largest number beside it


def check_arrays(player: Any, saved: Mapping[str, Any]) -> None:
    """Refuse what no player can hold, however it came to it."""
    if not _finite(saved):
        raise StateError("state", "holds a number that is not finite")
    if not isinstance(player, Player):
        return
    state = player._state
    gone = state.eliminated > 0
    holds = (
        (state.active == ~gone).all(),
        state.active.any(),
        (state.n >= 0).all() and int(state.n.sum()) == int(state.clock[0]),
        (state.eliminated >= 0).all() and (state.eliminated <= state.clock[0]).all(),
        (state.last >= 0).all() and (state.last <= state.clock[0]).all(),
        state.clock[1] >= 1 and not state.broken.any() and not state.tv.any(),
        not math.isfinite(player.low) or _within(state.total, player._came()),
    )
    if not all(holds):
        raise StateError("state", "contradicts itself: counts, totals and active arms differ")


def _finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        return all(map(_finite, value.values()))
    return not isinstance(value, list | tuple) or all(map(_finite, value))


def _within(total: Any, came: Any) -> bool:
    """Return whether sums of rewards from 0 to 1 can be what they are."""
    room = ROUNDING * (1.0 + came)
    return bool((total >= -room).all() and (total <= came + room).all())


def verify(player: Any, saved: Mapping[str, Any], start: Callable[[], Any]) -> None:
    """Refuse a state that its own decisions and outcomes do not lead to.

    ``start`` gives a fresh player of the same kind.
    """
    if isinstance(player, SpannerPlayer):
        fresh: Any = _retraced_set(start(), player)
        _compare(player, fresh, saved, ("asked", "again"))
    elif isinstance(player, AdversarialPlayer) and _draws_again(player):
        fresh = _redrawn(start(), player)
        _compare(player, fresh, saved)
    elif isinstance(player, AdversarialPlayer | FrameworkPlayer):
        _recount(player)
        if not np.array_equal(player._known, start()._known):
            raise StateError("state", "contradicts itself: such a player keeps no intervals")
        return
    else:
        fresh = _retraced(start(), player)
        _compare(player, fresh, saved)
    _adopt(player, fresh, saved)


def _adopt(player: Any, fresh: Any, saved: Mapping[str, Any]) -> None:
    """Take over what an older state does not hold: what its outcomes have led to."""
    if isinstance(player, SpannerPlayer):
        if "gap" not in saved:
            player._phases.gap = fresh._phases.gap
        if "reach" not in saved:
            reach = fresh._spanner.reach
            player._phases.spanner = replace(player._spanner, reach=reach)
    elif "known" not in saved:
        player._known[:] = fresh._known
        player._complete = fresh._complete
        if isinstance(player, AdversarialPlayer):
            player._least = fresh._least


def _compare(
    player: Any, fresh: Any, saved: Mapping[str, Any], besides: tuple[str, ...] = ()
) -> None:
    """Compare all that was saved; an older state may not have all of it."""
    here, there = player.state(), fresh.state()
    for name in here.keys() & saved.keys() - set(besides):
        # Loading narrows what is known by the intervals of the moment, and so hides a wider one.
        old, new = saved[name] if name == "known" else here[name], there[name]
        if isinstance(old, dict) and isinstance(saved[name], Mapping):
            old, new = ({k: x[k] for k in x if k in saved[name]} for x in (old, new))
        if not _same(old, new):
            raise StateError(
                "state",
                f"contradicts itself: {name} is not what its decisions and outcomes lead to",
            )


def _same(a: Any, b: Any) -> bool:
    """Compare plain values; floats up to rounding."""
    if a == b:
        return True
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if not isinstance(a, list) or not isinstance(b, list):
        a, b = [a], [b]
    if len(a) != len(b):
        return False
    if any(isinstance(x, list | dict) for x in (*a, *b)):
        return all(map(_same, a, b))
    if not all(type(x) is float for x in (*a, *b)):
        return all(
            x == y or (type(x) is type(y) is float and _same(x, y))
            for x, y in zip(a, b, strict=True)
        )
    room = ROUNDING * max(map(abs, a))
    return all(abs(x - y) <= room for x, y in zip(a, b, strict=True))


def _retraced(fresh: Any, player: Player) -> Any:
    """Tell a fresh player on K arms everything, in the order of the decisions.

    When something was asked for changes what was chosen, and nothing that is learned from it.
    """
    if isinstance(fresh, BettingPlayer) and isinstance(player, BettingPlayer):
        fresh._retrace(player)
        return fresh
    fresh._arms, fresh._rewards = list(player._arms), list(player._rewards)
    fresh._missing.update(player._missing)
    fresh._asked[:] = player._asked
    if hasattr(fresh, "_phase_asked"):  # closed phases take their share off
        fresh._phase_asked[:] = player._asked
    fresh._settle()
    return fresh


def _retraced_set(fresh: SpannerPlayer, player: SpannerPlayer) -> SpannerPlayer:
    """Tell a fresh player on an arm set everything."""
    fresh._decisions, fresh._rewards = list(player._decisions), list(player._rewards)
    fresh._missing.update(player._missing)
    fresh._settle()
    # Arms to be asked for again are taken from the front.
    again = len(fresh._again) - len(player._again)
    within = sum(phase == player.phase for phase, _ in player._decisions)
    quota = player._n * len(player._arms)
    if (
        again < 0
        or fresh._again[again:] != player._again
        or within != min(player._asked, quota) + again
    ):
        raise StateError("state", "contradicts itself: what is asked for again is not missing")
    return fresh


def _draws_again(player: AdversarialPlayer) -> bool:
    """Return whether all draws can be made again: each came after all earlier rewards.

    A base of the user's own may do anything when it is asked twice. Without the order in which
    rewards came nothing is certified either.
    """
    own = not type(player.learner.phase_base).__module__.startswith("uli_fast.")
    return not player._overlapped and not own


class _Counter:
    """Stands for a generator, and counts its draws."""

    draws = 0

    def random(self) -> float:
        self.draws += 1
        return 0.5


def _redrawn(fresh: AdversarialPlayer, player: AdversarialPlayer) -> AdversarialPlayer:
    """Turn the generator back to the beginning, and let a fresh player draw and learn again."""
    fresh._rng.bit_generator.state = player._rng.bit_generator.state
    fresh._rng.bit_generator.advance(-_draws(player))  # type: ignore[attr-defined]
    for i, (arm, reward) in enumerate(zip(player._arms, player._rewards, strict=True)):
        fresh._ask()
        if fresh._arms[i] != arm:
            raise StateError("state", f"contradicts itself: decision {i + 1} was not drawn")
        fresh._rewards[i] = reward
        if i in player._missing:
            fresh._missing[i] = player._missing[i]
        fresh._settle()
    return fresh


def _draws(player: AdversarialPlayer) -> int:
    """Return how many numbers were drawn for all decisions, by the arms that were in play."""
    known: dict[bytes, int] = {}
    total = clock = 0
    gone = player._state.eliminated
    ends = set(gone[gone > 0].tolist())
    now: B1 = np.ones(gone.size, np.bool_)
    for i, arm in enumerate(player._arms):
        if clock in ends:
            now = (gone == 0) | (gone > clock)
        key = now.tobytes()
        if key not in known:
            known[key] = _draws_of(player, now)
        total += known[key]
        clock += int(player._rewards[i] is not None and now[arm])
    return total


def _draws_of(player: AdversarialPlayer, active: B1) -> int:
    """Return how many numbers a base draws for a decision among some arms."""
    counter: Any = _Counter()
    if active.sum() > 1:
        plan = player._schedule(1)
        started(player.learner.phase_base, player.features[active], plan.rounds, plan.delta).choose(
            counter
        )
    return int(counter.draws)


def _recount(player: AdversarialPlayer | FrameworkPlayer) -> None:
    """Add up the rewards again, with every arm in play for as long as the state says."""
    K = len(player.labels)
    gone = player._state.eliminated.tolist()
    n, total, last, clock = [0] * K, [0.0] * K, [0] * K, 0
    for a, reward in zip(player._arms, player._rewards[: player._settled], strict=False):
        if reward is not None and not 0 < gone[a] <= clock:
            clock += 1
            n[a], last[a] = n[a] + 1, clock
            total[a] += player._unit(reward)
    state = player._state
    found = (n, last, clock, total)
    saved = (state.n.tolist(), state.last.tolist(), int(state.clock[0]), state.total.tolist())
    if not all(map(_same, saved, found)) or not _phases_full(player):
        raise StateError("state", "contradicts itself: counts and totals are not of its rewards")


def _phases_full(player: AdversarialPlayer | FrameworkPlayer) -> bool:
    """Return whether the phases before the present one have all the rewards that close them."""
    phase = int(player._state.clock[1])
    if isinstance(player, FrameworkPlayer):
        return phase == 1
    used = Counter(player._tags[: player._settled])
    return all(used[m] == player._schedule(m).rounds for m in range(1, phase))
