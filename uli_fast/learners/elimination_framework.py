"""The elimination framework (Algorithm 1) around a user's own rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uli_fast._typing import B1, F64, I64
from uli_fast.errors import ArgumentError, RuleError
from uli_fast.guarantees import Guarantee, ratio_by_round
from uli_fast.learners._arms import ArmBatch, ArmLearner, OneByOne, new_states
from uli_fast.learners._parameters import noise, positive, probability
from uli_fast.learners._setting import ArmSetting

if TYPE_CHECKING:
    from uli_fast._check import Labels
    from uli_fast.kernels.arms.state import ArmState, RoundRecord
    from uli_fast.kernels.rewards.laws import Law
    from uli_fast.players.elimination_framework import FrameworkPlayer

# Rounds between two looks at the user's bound, and at Ctrl-C.
_CHUNK = 1 << 14


@dataclass(frozen=True)
class EliminationFramework(ArmLearner):
    """Play the least played arm of an active set that a user's rule shrinks.

    Each arm is played once; before every later round t, ``rule(n, total,
    active, t)`` returns the mask of arms to keep: n are the pulls, total the
    reward sums on the unit scale, active the current mask. A rule compiled with
    ``numba.njit`` runs inside a kernel.

    With probability 1 - delta every round's gap is at most beta f(delta, t) **if**
    the rule keeps an optimal arm and only arms with gaps up to that (Theorem SC):
    this is the user's claim, which ``runs.worst_ratio`` puts to the test at every
    round, whatever the shape of f.

    For an elimination rule of your own: it plays the rule and checks the claim. The tutorial "Your
    own elimination rule" goes through one.

    Parameters
    ----------
    rule
        ``rule(n, total, active, t) -> keep``, masks of length K.
    f
        ``f(delta, t)``, the shape of the bound on the unit scale.
    beta
        Factor of the bound.
    delta
        Probability with which the claim may fail.
    R
        Rewards are R-subgaussian, in reward units; None is half their declared range, which
        always holds. Where they have no range it must be given.

    Examples
    --------
    >>> import uli_fast as uli
    >>> import numpy as np
    >>> def rule(n, total, active, t):
    ...     mean, width = total / n, (2 * np.log(t) / n) ** 0.5
    ...     return active & (mean + width >= (mean - width)[active].max())
    >>> def f(delta, t):
    ...     return 10 * np.sqrt(np.log(t + 2) / t)
    >>> learner = uli.EliminationFramework(rule, f, beta=1.0, delta=0.1)
    >>> runs = uli.simulate(learner, uli.BernoulliBandit([0.9, 0.2]), 500, seed=1)
    >>> print(runs.holds[0])  # the claim held at every round
    True
    """

    rule: Callable[[I64, F64, B1, int], B1]
    f: Callable[[float, float], float]
    beta: float = positive(1.0)
    delta: float = probability(0.05)
    R: float | None = noise()
    engines: ClassVar[tuple[str, ...]] = ("rounds",)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("rule", "f"):
            if not callable(getattr(self, name)):
                raise ArgumentError(name, f"must be callable, got {getattr(self, name)!r}")

    def guarantee(self, about: Any) -> Guarantee:
        """Return beta f, your claim, as a Guarantee; its ``proved`` is False.

        Parameters
        ----------
        about
            A problem, or a number of arms with rewards in [0, 1].

        Returns
        -------
        Guarantee
            With ``bound(t)``, ``rounds_until(eps)`` and ``regret(T)``, in reward units.
        """
        arms = self.on(about).subgaussian_arms
        parameters = {"K": arms.K, "beta": self.beta, "largest_gap": arms.largest_gap}
        return Guarantee("user", self.delta, parameters, arms.scale, self._unit_bound)

    def _unit_bound(self, t: float) -> float:
        value = self.f(self.delta, t)
        try:
            return self.beta * float(value)
        except (TypeError, ValueError):
            raise RuleError(f"f must return a number, got {value!r} at round {t:.0f}") from None

    def begin(
        self, on: ArmSetting, law: Law, record: RoundRecord, engine: str, horizon: int
    ) -> ArmBatch:
        """Allocate the replications whose streams the law has."""
        states = new_states(law)
        played = np.zeros(_CHUNK, np.int64)
        worst = np.zeros(len(law.words))
        guarantee, all_gaps = on.guarantee, on.about.gaps

        def begin(r: int, state: ArmState, law: Law, record: RoundRecord) -> Callable[[int], bool]:
            def advance(budget: int) -> bool:
                before = int(state.clock[0])
                done = self._play(law, state, record, horizon, played)
                rounds = np.arange(before + 1.0, state.clock[0] + 1.0)
                if guarantee is None:
                    worst[r] = np.nan
                    return done
                gaps = all_gaps[played[: rounds.size]]
                worst[r] = max(worst[r], ratio_by_round(gaps, rounds, guarantee))
                return done

            return advance

        return ArmBatch(states, OneByOne(states, law, record, begin).advance, worst)

    def _play(
        self, law: Law, state: ArmState, record: RoundRecord, horizon: int, played: I64
    ) -> bool:
        """Play a chunk, in a kernel if the rule is compiled."""
        from uli_fast.kernels import elimination_framework as kernel

        if _is_compiled(self.rule):
            status = _compiled(kernel.play_rounds)(self.rule, law, state, record, horizon, played)
            if status == kernel.BAD_MASK:
                raise RuleError(f"the rule must return a boolean mask of length {state.n.size}")
            if status == kernel.EMPTY:
                raise RuleError(f"the rule kept no arm before round {state.clock[0] + 1}")
            return bool(status == kernel.DONE)
        for i in range(min(played.size, horizon - int(state.clock[0]))):
            self.restrict(state)
            played[i] = kernel.play_arm(law, state, record)
        return bool(state.clock[0] == horizon)

    def restrict(self, state: ArmState) -> None:
        """Ask the rule before the next round and shrink the active set."""
        from uli_fast.kernels import elimination_framework as kernel

        t = int(state.clock[0]) + 1
        if t <= state.n.size:
            return
        keep = np.asarray(self.rule(state.n.copy(), state.total.copy(), state.active.copy(), t))
        if keep.shape != state.active.shape or keep.dtype != np.bool_:
            raise RuleError(
                f"the rule must return a boolean mask of length {state.n.size}, "
                f"got {keep.dtype} of shape {keep.shape}"
            )
        if not (state.active & keep).any():
            raise RuleError(f"the rule kept no arm before round {t}")
        kernel.restrict(state.active, keep, state.eliminated, t)

    def _player(self, labels: Labels, low: float, high: float) -> FrameworkPlayer:
        from uli_fast.players.elimination_framework import FrameworkPlayer

        return FrameworkPlayer(self, labels, low, high)


def _compiled(play: Callable[..., Any]) -> Callable[..., Any]:
    """Turn Numba's complaint about a rule into ours."""

    def call(*args: Any) -> Any:
        from numba.core.errors import NumbaError

        try:
            return play(*args)
        except NumbaError as problem:
            raise RuleError(f"the compiled rule cannot be used: {problem}") from problem

    return call


def _is_compiled(rule: Any) -> bool:
    return hasattr(rule, "py_func") and hasattr(rule, "nopython_signatures")
