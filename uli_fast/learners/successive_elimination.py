"""Successive elimination (SE-MAB)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uli_fast._typing import F64, Form
from uli_fast.formulas.successive_elimination import level_of
from uli_fast.guarantees import Guarantee, formula
from uli_fast.learners._arms import ArmBatch, ArmLearner, indexed, new_states
from uli_fast.learners._parameters import noise, probability
from uli_fast.learners._setting import ArmSetting

if TYPE_CHECKING:
    from uli_fast._check import Labels
    from uli_fast.kernels.arms.event import EventWatch
    from uli_fast.kernels.arms.state import ArmState, RoundRecord
    from uli_fast.kernels.rewards.laws import Law
    from uli_fast.players.successive_elimination import SuccessivePlayer

FARTHEST = 1e5


@dataclass(frozen=True)
class SuccessiveElimination(ArmLearner):
    """Play the survivors in turn; drop an arm once another is surely better.

    With probability 1 - delta every round's gap is at most 4 wd(floor((t - 1) / K)), where
    wd(n) = R sqrt(2 log(4 K n^2 / delta) / n) and R = 1/2 for rewards in [0, 1]; the paper's
    closed form is sqrt(14 K log(4 K t^2 / delta) / t).

    The textbook form (the paper's SE-MAB): simple, and 10 to 30 times slower than
    BettingElimination. Take it to compare with the literature.

    Parameters
    ----------
    delta
        Probability with which the guarantee may fail.
    R
        Rewards are R-subgaussian, in reward units; None is half their declared range, which
        always holds. Where they have no range it must be given.

    Examples
    --------
    >>> import uli_fast as uli
    >>> learner = uli.SuccessiveElimination(delta=0.05)
    >>> learner.guarantee(4).rounds_until(0.1)
    82000
    >>> runs = uli.simulate(learner, uli.BernoulliBandit([0.7, 0.5]), 10**9, replications=5, seed=1)
    >>> print(runs.holds.all(), (runs.eliminated_at[:, 1] > 0).all())
    True True
    """

    delta: float = probability(0.05)
    R: float | None = noise()
    has_event: ClassVar[bool] = True
    reads_logs: ClassVar[Mapping[str, str]] = {"any": "rows", "randomized": "rows"}

    def guarantee(self, about: Any, form: Form = "schedule") -> Guarantee:
        """Return the promise F, before anything is played.

        Parameters
        ----------
        about
            A problem, or a number of arms with rewards in [0, 1].
        form
            "schedule" is read off the schedule itself; "paper" is the paper's closed form.

        Returns
        -------
        Guarantee
            With ``bound(t)``, ``rounds_until(eps)`` and ``regret(T)``, in reward units.

        Raises
        ------
        NoGuaranteeError
            Nothing is proved for this case.
        """
        on = self.on(about)
        arms = on.subgaussian_arms
        parameters = {"K": arms.K, "R": on.R, "largest_gap": arms.largest_gap}
        return Guarantee(formula("SE-MAB", form), self.delta, parameters, arms.scale)

    def knows_event(self, on: ArmSetting, engine: str) -> bool:
        """Return whether a run knows if all intervals held: not where sums of blocks are rounded.

        The rounding of sums far from 0 grows with n, an interval's share of a sum with sqrt(n):
        from means of FARTHEST R on they meet before 10^18 plays.
        """
        free = on.arms.low is None and engine == "skip"
        return not free or float(np.abs(on.about.means).max()) <= FARTHEST * on.R

    def begin(
        self, on: ArmSetting, law: Law, record: RoundRecord, engine: str, horizon: int
    ) -> ArmBatch:
        """Allocate the replications whose streams the law has."""
        states, R = new_states(law), on.R
        states.broken[:] = not self.knows_event(on, engine)  # then nothing is watched
        if is_coins(law):
            return CoinBatch.begin(law, states, record, engine, horizon, self.delta, R)
        from uli_fast.kernels import successive_elimination as kernel

        after, K = (self.delta, R, horizon), on.K
        bounds = kernel.Bounds(np.zeros(K), np.zeros(K), np.zeros(2))
        if engine == "rounds":
            args = (law, states, record, bounds, *after)
            return ArmBatch(states, lambda left: kernel.batch_rounds(*args, left))
        from uli_fast.kernels.arms.successive_skip import batch_skipping

        watch = new_watch(law, states)

        def advance(left: int) -> bool:
            done = batch_skipping(law, states, record, bounds, watch, *after, left)
            follow(watch, states, law.mu, self.delta, R)
            return done

        return ArmBatch(states, advance)

    def _player(self, labels: Labels, low: float, high: float) -> SuccessivePlayer:
        from uli_fast.players.successive_elimination import SuccessivePlayer

        return SuccessivePlayer(self, labels, low, high)


def is_coins(law: Law) -> bool:
    """Return whether rewards are coins, none of them known beforehand."""
    from uli_fast.kernels.rewards.laws import RealLaw

    known = getattr(law, "prefix", None)
    return not isinstance(law, RealLaw) and (known is None or known.shape[1] <= 1)


def new_watch(law: Law, states: ArmState) -> EventWatch:
    """Allocate what runs need to know whether their events held in blocks, from the same seed."""
    from uli_fast.kernels.arms.event import MOST_ALONE, EventWatch

    M = len(law.words)
    rows = max(law.mu.size, MOST_ALONE)  # a block of each arm, or all blocks of one
    words = np.zeros((M, 2 + rows), np.uint64)
    words[:, 0] = law.words[:, 0] ^ law.words[:, 2]
    counts, sums = np.empty((M, rows, 4), np.int64), np.empty((M, rows, 3))
    return EventWatch(words, counts, sums, np.zeros_like(states.total))


def follow(watch: EventWatch, states: ArmState, mu: F64, delta: float, R: float) -> None:
    """Decide about the blocks that were put off."""
    for r in np.flatnonzero(watch.words[:, 1]):
        from uli_fast.kernels.arms.event import some_leave

        states.broken[r] |= some_leave(indexed(watch, r), mu, delta, R)


class CoinBatch:
    """Runs on coins: first sweeps side by side, then one by one, and in blocks if need be.

    Blocks are compiled when a run comes to one.
    """

    def __init__(
        self,
        law: Any,
        states: ArmState,
        record: RoundRecord,
        engine: str,
        horizon: int,
        delta: float,
        R: float,
    ) -> None:
        from uli_fast.kernels.arms.successive_coins import Coins

        (M, K), self.skips = states.n.shape, engine == "skip"
        self.law, self.states, self.record, self.horizon = law, states, record, horizon
        urn = law.urn if self.skips else np.zeros((M, 2, K), np.int64)
        room, bounds = np.zeros((4, K), np.int64), np.zeros((2, K))
        level = level_of(K, delta)
        caution = law.caution if self.skips else 0.0
        self.coins = Coins(law.mu, law.words, urn, room, bounds, delta, level, R, caution)
        self._watch: EventWatch | None = None

    @classmethod
    def begin(cls, law: Law, states: ArmState, *about: Any) -> ArmBatch:
        """Allocate the replications whose streams the law has."""
        return ArmBatch(states, cls(law, states, *about).advance)

    def advance(self, left: int) -> bool:
        """Play on for about as many rounds, or steps of 16 rounds where blocks are drawn."""
        from uli_fast.kernels.arms.successive_coins import play_coins

        coins, states, T = self.coins, self.states, self.horizon
        if states.clock[0, 0] == 0:
            self._play_early()
        if self._watch is None:
            tosses = 16 * left if self.skips else left
            tosses = play_coins(coins, states, self.record, 0, len(states.n), T, tosses)
            if not self.skips or tosses <= 0 or (states.clock[:, 0] >= T).all():
                return bool((states.clock[:, 0] >= T).all())
            self._watch = new_watch(self.law, states)
        from uli_fast.kernels.arms.successive_blocks import batch_skipping

        batch_skipping(coins, states, self.record, self._watch, T, left)
        follow(self._watch, states, coins.mu, coins.delta, coins.R)
        return bool((states.clock[:, 0] >= T).all())

    def _play_early(self) -> None:
        """Play the first sweeps of many replications side by side."""
        from uli_fast.kernels.arms import successive_coins
        from uli_fast.kernels.arms import successive_lanes as kernel

        (M, K), coins = self.states.n.shape, self.coins
        if M < kernel.FEWEST:
            return
        sweeps = successive_coins.FIRST_BLOCK if self.skips else kernel.MOST
        lanes = kernel.SweepLanes(
            np.zeros((K, kernel.LANES), np.int64),
            np.zeros((4, kernel.LANES), np.uint64),
            np.zeros(kernel.LANES, np.int64),
            np.zeros((2, kernel.LANES), np.int64),
            np.zeros(kernel.LANES),
        )
        widths = (coins.level, coins.R, min(self.horizon // K, sweeps))
        kernel.play_early(coins.mu, coins.words, self.states, self.record, lanes, *widths)
