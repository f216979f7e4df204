"""Refined SCRiBLe, an experimental adversarial base for linear arms in few dimensions.

Deviation: published constants do not learn at usable horizons, and the rate that is
best for regret breaks the meta-algorithm's Condition. Barrier weight, learning rate,
axis sampling and the pull towards the centre are our own choices (docs/errata.md), so
nothing is proved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64, I64
from uli_fast.errors import ArgumentError
from uli_fast.formulas.meta_elimination import log_term
from uli_fast.geometry.hull import affine_rank, hull_of
from uli_fast.learners._adversarial.bases import arrays_of, fill_arrays
from uli_fast.learners._adversarial.phases import Live, TunedLearner
from uli_fast.learners._parameters import positive, shared_probability

if TYPE_CHECKING:
    from uli_fast._check import Labels
    from uli_fast.kernels.arms.state import ArmState
    from uli_fast.kernels.rewards.laws import Law
    from uli_fast.kernels.scrible import Hull, ScribleState
    from uli_fast.learners._adversarial.bases import BasePhase
    from uli_fast.players.scrible import ScriblePlayer

LARGEST_DIMENSION = 4
# What a round changes; the rest of the state is rebuilt.
KEPT = ("w", "s", "C", "eta", "Hsum", "estimate", "lam", "axis", "clock")
# Centred losses lie in [-1/2, 1/2].
LARGEST_LOSS = 0.5


@dataclass(frozen=True)
class Scrible(TunedLearner):
    """Experimental: mirror descent on the arms' convex hull, by a self-concordant barrier.

    A base of MetaElimination for arms that span at most four dimensions, or alone a
    baseline tuned to the horizon. It learns where T is well above F^2 d / gap^2 for a
    hull with F facets. **No guarantee**, not as a base either.

    Parameters
    ----------
    delta
        Confidence when it plays alone; MetaElimination sets its own.
    constant
        Of g(delta) = constant F^2 d log(10 K / delta); 9 covered every run observed.

    Examples
    --------
    >>> import uli_fast as uli
    >>> uli.Scrible(constant=9.0)
    Scrible(delta=0.05, constant=9.0)
    >>> uli.MetaElimination(uli.Scrible()).base
    Scrible(delta=0.05, constant=9.0)
    """

    delta: float = shared_probability(0.05)
    constant: float = positive(9.0)

    losses: ClassVar[str] = "centred"
    proved_constant: ClassVar[float] = math.inf
    why_no_guarantee = "SCRiBLe is experimental: nothing is proved, and it explores for ever"

    def check_features(self, name: str, features: F64) -> None:
        """Refuse arms that are not vectors, or span too many dimensions."""
        _check.has_features(name, features, "Scrible")
        d = affine_rank(features)
        if d > LARGEST_DIMENSION:
            raise ArgumentError(
                name, f"Scrible is for arms in at most {LARGEST_DIMENSION} dimensions, got {d}"
            )

    def g(self, arms: F64, delta: float) -> float:
        """Return constant F^2 d log(10 K / delta), F facets of the hull in d dimensions."""
        if affine_rank(arms) == 0:
            return self.constant * log_term(len(arms), delta)
        hull = hull_of(arms)
        F, d = hull.normals.shape
        return float(self.constant * F * F * d * log_term(len(arms), delta))

    def start_phase(self, arms: F64, rounds: int, delta: float) -> BasePhase:
        """Start afresh at the centre of the hull."""
        if affine_rank(arms) == 0:
            return EqualArms(len(arms))
        hull = hull_of(arms)
        return ScriblePhase(hull, new_scrible(hull, len(arms), rounds, delta, LARGEST_LOSS))

    def _live(self, labels: Labels, low: float, high: float, live: Live) -> ScriblePlayer:
        from uli_fast.players.scrible import ScriblePlayer

        return ScriblePlayer(self, labels, low, high, live)

    def least_horizon(self, features: F64) -> float:
        """Return 0: any horizon can be tuned to."""
        return 0.0


class ScriblePhase:
    """SCRiBLe at work."""

    def __init__(self, hull: Hull, state: ScribleState) -> None:
        self.hull, self.state = hull, state

    @property
    def estimates(self) -> F64:
        """Sums of the loss estimates, (k,)."""
        return self.state.estimate

    def choose(self, rng: np.random.Generator) -> tuple[int, float]:
        """Draw an axis, then an arm of the decomposed point; the probability is over both."""
        from uli_fast.kernels import scrible as kernel

        kernel.probabilities(self.hull, self.state, self.state.p)
        i = int(kernel.choose(self.hull, self.state, rng.random(), rng.random()))
        return i, float(self.state.p[i])

    def update(self, arm: int, loss: float) -> None:
        """Take in the loss of the arm just drawn."""
        from uli_fast.kernels import scrible as kernel

        kernel.update(self.hull, self.state, arm, loss)

    def play(
        self, law: Law, arms: I64, run: ArmState, offset: float, slope: float, rounds: int
    ) -> None:
        """Play this many rounds in a kernel."""
        from uli_fast.kernels import scrible as kernel

        kernel.play_rounds(self.hull, self.state, law, arms, run, offset, slope, rounds)

    def save(self) -> dict[str, Any]:
        """Return the arrays as lists, for JSON."""
        return arrays_of(self.state, KEPT)

    def load(self, saved: dict[str, Any]) -> None:
        """Take over arrays from ``save``."""
        fill_arrays(self.state, saved, KEPT)


class EqualArms:
    """Arms that are the same point: play the first, for there is nothing to learn."""

    def __init__(self, k: int) -> None:
        self.estimates = np.zeros(k)

    def choose(self, rng: np.random.Generator) -> tuple[int, float]:
        """Return the first arm."""
        return 0, 1.0

    def update(self, arm: int, loss: float) -> None:
        """Learn nothing."""

    def play(
        self, law: Law, arms: I64, run: ArmState, offset: float, slope: float, rounds: int
    ) -> None:
        """Count the plays; no reward changes a decision."""
        run.clock[0] += rounds
        run.n[arms[0]] += rounds
        run.last[arms[0]] = run.clock[0]

    def save(self) -> dict[str, Any]:
        """Return nothing to keep."""
        return {}

    def load(self, saved: dict[str, Any]) -> None:
        """Take over nothing."""


def new_scrible(
    hull: Hull, K_total: int, T: int, delta: float, ymax: float, c: float = 2.0
) -> ScribleState:
    """Allocate a run of T rounds, ready for its first choice.

    Parameters
    ----------
    hull
        The arms to play.
    K_total
        The number of arms in the confidence level, log(10 K / delta).
    T
        Horizon.
    delta
        Confidence parameter.
    ymax
        Largest absolute loss.
    c
        Weight of the barrier, at least 1.
    """
    from uli_fast.kernels.scrible import ScribleState, Workspace, start

    (K, d), F = hull.x.shape, len(hull.offsets)
    level = math.log(10.0 * K_total / delta)
    eta = min(1.0 / (4.0 * d), math.sqrt(3.0 * c / (8.0 * d * level * T))) / ymax
    kappa = math.exp(1.0 / (100.0 * d * math.log(float(F) * T)))
    work = Workspace(
        point=np.zeros(d),
        left=np.zeros(d),
        room=np.zeros(F),
        mask=np.zeros(K, dtype=bool),
        loss=np.zeros(d),
        dual=np.zeros(d),
        residual=np.zeros(d),
        H=np.zeros((d + 1, d + 1)),
        D=np.zeros((d + 1, d + 1)),
    )
    state = ScribleState(
        w=hull.centre.copy(),
        s=np.zeros(F),
        C=np.zeros((d, d)),
        eta=np.array([eta]),
        Hsum=np.zeros((d + 1, d + 1)),
        estimate=np.zeros(K),
        lam=np.zeros(K),
        p=np.zeros(K),
        axis=np.zeros(1, dtype=np.int64),
        clock=np.zeros(2, dtype=np.int64),
        c=c,
        kappa=kappa,
        T=float(T),
        work=work,
    )
    start(hull, state)
    return state
