"""Exp3.P, the adversarial base for K arms."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64
from uli_fast.formulas.meta_elimination import log_term
from uli_fast.learners._adversarial.bases import CompiledPhase
from uli_fast.learners._adversarial.phases import Live, TunedLearner
from uli_fast.learners._parameters import optional, shared_probability

if TYPE_CHECKING:
    from uli_fast._check import Labels
    from uli_fast.players.exp3p import Exp3PPlayer

# Of g in the paper: 19^2.
PAPER = 361.0


@dataclass(frozen=True)
class Exp3P(TunedLearner):
    """Exponential weights on importance-weighted losses, with bonuses against bad luck.

    A base of MetaElimination, or alone a baseline tuned to the horizon. With
    probability 1 - 3 delta / 5 its regret over T >= 50 K log(10 K / delta) rounds is at most
    sqrt(75 K T log(10 K / delta)); it never stops exploring, so alone it has
    no uniform last-iterate guarantee.

    Parameters
    ----------
    delta
        Probability of failure when it plays alone; MetaElimination sets its own.
    constant
        Of g(delta) = constant K log(10 K / delta). None is the paper's 361, and 62 in
        mode "sharp" of MetaElimination; 62 is proved for its phases (docs/proofs_phases.md),
        below that it has no guarantee.

    Examples
    --------
    >>> import uli_fast as uli
    >>> problem = uli.BernoulliBandit([0.8, 0.3])
    >>> runs = uli.simulate(uli.Exp3P(), problem, horizon=10**4, replications=4, seed=1)
    >>> print(runs.plays[:, -1].argmax(axis=1))  # the arm played most, run by run
    [0 0 0 0]
    >>> uli.MetaElimination(uli.Exp3P()).guarantee(2).proved
    True
    """

    delta: float = shared_probability(0.05)
    constant: float | None = optional(_check.positive)

    losses: ClassVar[str] = "unit"
    in_lanes: ClassVar[bool] = True  # has a kernel that plays replications side by side
    proved_constant: ClassVar[float] = 62.0
    why_no_guarantee = "Exp3.P explores for ever: it bounds regret, not every round's gap"

    def g(self, arms: F64, delta: float) -> float:
        """Return constant K log(10 K / delta)."""
        constant = PAPER if self.constant is None else self.constant
        return constant * len(arms) * log_term(len(arms), delta)

    def least_constant(self, d: int) -> float:
        """Return the smallest constant that is proved for phases, on any number of arms."""
        return self.proved_constant

    def in_mode(self, mode: str, d: int) -> Exp3P:
        """Return this base with its constant as a mode of the meta-algorithm has it."""
        if self.constant is not None:
            return self
        return replace(self, constant=self.proved_constant if mode == "sharp" else PAPER)

    def rates(self, k: int, rounds: int, delta: float) -> tuple[float, float]:
        """Return gamma = min(1/2, sqrt(k log(10 k / delta) / T)) and eta = gamma / k."""
        gamma = min(0.5, math.sqrt(k * log_term(k, delta) / rounds))
        return gamma, gamma / k

    def start_phase(self, arms: F64, rounds: int, delta: float) -> CompiledPhase:
        """Start afresh with equal weights."""
        from uli_fast.kernels import exp3p as kernel

        k = len(arms)
        gamma, eta = self.rates(k, rounds, delta)
        state = kernel.Exp3PState(np.zeros(k), np.full(k, 1.0 / k), np.zeros(k), gamma, eta)
        return CompiledPhase(kernel, state)

    def _live(self, labels: Labels, low: float, high: float, live: Live) -> Exp3PPlayer:
        from uli_fast.players.exp3p import Exp3PPlayer

        return Exp3PPlayer(self, labels, low, high, live)

    def least_horizon(self, features: F64) -> float:
        """Return 4 K log(10 K / delta), where gamma would be 1/2."""
        K = len(features)
        return 4.0 * K * log_term(K, self.delta) if K > 1 else 0.0
