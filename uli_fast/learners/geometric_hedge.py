"""GeometricHedge.P with John's exploration, the adversarial base for linear arms.

Deviation: the paper names the algorithm and leaves its parameters open; eta, beta,
gamma and the constant 256 are those of docs/errata.md, the smaller constant of mode "sharp" is
that of docs/proofs_phases.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64
from uli_fast.errors import NoGuaranteeError
from uli_fast.formulas.meta_elimination import log_term
from uli_fast.geometry import designs
from uli_fast.learners._adversarial.bases import CompiledPhase
from uli_fast.learners._adversarial.phases import Live, TunedLearner
from uli_fast.learners._parameters import optional, shared_probability

if TYPE_CHECKING:
    from uli_fast._check import Labels
    from uli_fast.players.geometric_hedge import HedgePlayer

# Nothing is proved for arms that are thinner than this part of their size in some direction.
THINNEST = 1e-6
# Stop the design at leverages within this factor of the rank; with 256 the proof allows 2.
RHO = 1.01
# The first constant that was proved, for any rank.
FIRST = 256.0


@dataclass(frozen=True)
class GeometricHedge(TunedLearner):
    """Exponential weights on linear loss estimates, exploring by a D-optimal design.

    A base of MetaElimination for finitely many arms in R^d, or alone a baseline
    tuned to the horizon. It never stops exploring, so alone it has no uniform
    last-iterate guarantee.

    Parameters
    ----------
    delta
        Probability of failure when it plays alone; MetaElimination sets its own.
    constant
        Of g(delta) = constant d log(10 K / delta), d the rank of the arms. None is 256, and
        (9 + 3.6 / sqrt(d))^2, which is 81 to 159, in mode "sharp" of MetaElimination. That much
        is proved for its phases (docs/proofs_phases.md), below it there is no guarantee.

    Examples
    --------
    >>> import uli_fast as uli
    >>> arms = [[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]]
    >>> problem = uli.LinearBandit([0.6, 0.3], arms, noise="bernoulli")
    >>> runs = uli.simulate(uli.GeometricHedge(), problem, horizon=2000, seed=1)
    >>> print(runs.plays[0, -1].min() > 0)  # it never stops exploring
    True
    >>> uli.MetaElimination(uli.GeometricHedge()).guarantee(problem).proved
    True
    """

    delta: float = shared_probability(0.05)
    constant: float | None = optional(_check.positive)

    losses: ClassVar[str] = "linear"
    # From 256 on a first phase has 10^4 d log(10 K / delta) rounds, as the first proof asked for.
    proved_rounds_each: ClassVar[float] = 1e4
    why_no_guarantee = "GeometricHedge explores for ever: it bounds regret, not every round's gap"

    def check_features(self, name: str, features: F64) -> None:
        """Refuse arms that are not vectors."""
        _check.has_features(name, features, "GeometricHedge")

    def g(self, arms: F64, delta: float) -> float:
        """Return constant d log(10 K / delta)."""
        constant = FIRST if self.constant is None else self.constant
        return constant * rank_of(arms) * log_term(len(arms), delta)

    def least_constant(self, d: int) -> float:
        """Return the smallest constant that is proved for phases on arms of rank d."""
        return (9.0 + 3.6 / math.sqrt(d)) ** 2

    def in_mode(self, mode: str, d: int) -> GeometricHedge:
        """Return this base with its constant as a mode of the meta-algorithm has it."""
        if self.constant is not None:
            return self
        return replace(self, constant=self.least_constant(d) if mode == "sharp" else FIRST)

    def rounds_each(self) -> float:
        """Return how many rounds for each d log(10 K / delta) a phase has at least."""
        known = FIRST if self.constant is None else self.constant
        return self.proved_rounds_each if known >= FIRST else 0.0

    def proved_rounds(self, arms: F64, delta: float) -> float:
        """Return how many rounds a phase has at least."""
        return self.rounds_each() * rank_of(arms) * log_term(len(arms), delta)

    def start_phase(self, arms: F64, rounds: int, delta: float) -> CompiledPhase:
        """Start afresh: design, whitening, equal weights."""
        from uli_fast.kernels import geometric_hedge as kernel

        # Arms that are all zero have equal losses: any common feature will do.
        features = arms if arms.any() else np.ones((len(arms), 1))
        design = designs.d_optimal(features, RHO)
        x = whitened(features, design.weights)
        k, d = x.shape
        rho = design.max_leverage / d
        s = math.sqrt(log_term(k, delta) / (d * rounds))
        state = kernel.HedgeState(
            x=np.ascontiguousarray(x.T),
            squares=np.stack([x[:, i] * x[:, j] for i in range(d) for j in range(i + 1)], axis=1),
            z=np.zeros((d, k)),
            S=np.zeros(d * (d + 1) // 2),
            C=np.zeros((d, d)),
            nu=np.array(design.weights),
            lw=np.zeros(k),
            p=np.full(k, 1.0 / k),
            v=np.zeros(k),
            L=np.zeros(k),
            eta=s / 2.0,
            beta=1.1 * s,
            gamma=min(0.5, 1.5 * rho * d * s),
        )
        return CompiledPhase(kernel, state)

    def _live(self, labels: Labels, low: float, high: float, live: Live) -> HedgePlayer:
        from uli_fast.players.geometric_hedge import HedgePlayer

        return HedgePlayer(self, labels, low, high, live)

    def check_proof(self, features: F64) -> None:
        """Refuse arms that are thin in some direction, but not flat.

        Directions below RANK_TOLERANCE of the largest do not count, for the active arms either.
        Rewards are bounded, theta is not: along such a direction it may be long enough to carry a
        gap.
        """
        sizes = np.linalg.svd(features, compute_uv=False)
        flat = 1e-14 * max(features.shape) * sizes[0]
        if ((sizes > flat) & (sizes < THINNEST * sizes[0])).any():
            raise NoGuaranteeError(
                f"the arms are thinner than {THINNEST:g} of their size in some direction: "
                "what differs along it could not be told apart; rescale the features"
            )

    def least_horizon(self, features: F64) -> float:
        """Return 9 rho^2 d log(10 K / delta), where gamma would be 1/2."""
        K = len(features)
        return 9.0 * RHO**2 * rank_of(features) * log_term(K, self.delta) if K > 1 else 0.0


def whitened(arms: F64, weights: F64) -> F64:
    """Return the arms in coordinates of their span where sum weights(a) a a^T = I."""
    x = designs.span_coordinates(arms)
    root, _ = designs.whitened(x, weights.copy())
    return designs.times(x, root)


def rank_of(arms: F64) -> int:
    """Return the rank of the arms, 1 if they are all 0."""
    return max(1, designs.rank(arms))
