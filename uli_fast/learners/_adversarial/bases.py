"""Bases of the meta-algorithm: what they promise, what they are fed, how they step.

A base is a high-probability adversarial bandit algorithm. The meta-algorithm
runs a fresh one in every phase; alone it is one phase as long as the horizon.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from uli_fast._typing import F64, I64
from uli_fast.errors import ArgumentError, StateError

if TYPE_CHECKING:
    from uli_fast.kernels.arms.state import ArmState
    from uli_fast.kernels.rewards.laws import Law


class BasePhase(Protocol):
    """A base at work on k arms."""

    @property
    def estimates(self) -> F64:
        """Sums over the rounds so far of unbiased estimates of every arm's loss, (k,)."""

    def choose(self, rng: np.random.Generator) -> tuple[int, float]:
        """Draw an arm; return its number 0..k-1 and the probability it had."""

    def update(self, arm: int, loss: float) -> None:
        """Take in the loss of the arm just drawn."""


@runtime_checkable
class Base(Protocol):
    """What MetaElimination needs from an adversarial bandit algorithm.

    With probability 1 - 3 delta / 5, for every arm a at once (the Condition),

        sum_t (l_t(A_t) - l_t(a)) <= sqrt(g rounds) - 2 |sum_t (l_hat_t(a) - l_t(a))|.

    ``arms`` is a (k, d) array of features, with d = 0 where arms have none. An
    attribute ``losses`` says what the base is fed: "unit" (the default), rewards
    turned into losses in [0, 1]; "linear", losses within [-1, 1] whose mean is linear
    in the features; "centred", losses within [-1/2, 1/2].
    """

    def g(self, arms: F64, delta: float) -> float:
        """Return the g(delta) of the Condition: falling in delta, log(10 k / delta) or more."""

    def start_phase(self, arms: F64, rounds: int, delta: float) -> BasePhase:
        """Start a phase on these arms for this many rounds."""


class Losses(NamedTuple):
    """A loss is offset - slope X for a reward X on the unit scale."""

    offset: float
    slope: float
    scale: float  # reward units per unit of loss


LOSSES = ("unit", "linear", "centred")


def losses_of(kind: str, low: float | None, high: float | None, intercept: float) -> Losses:
    """Return the losses of rewards in [low, high], or of unbounded ones.

    unit: (high - X) / (high - low). linear, with E X = intercept + <a, theta>:
    (intercept - X) / B, where B keeps |loss| and its range within 1. centred: the
    middle of the range in place of the intercept.
    """
    if low is None or high is None:
        return Losses(1.0 if kind == "unit" else intercept, 1.0, 1.0)
    if kind == "unit":
        return Losses(1.0, 1.0, high - low)
    if kind == "centred":
        return Losses(0.5, 1.0, high - low)
    B = max(high - low, abs(high - intercept), abs(low - intercept))
    return Losses((intercept - low) / B, (high - low) / B, B)


def loss_kind(base: Any) -> str:
    """Return the kind of losses that a base is fed."""
    kind = getattr(base, "losses", "unit")
    if kind not in LOSSES:
        raise ArgumentError("base", f"losses must be one of {', '.join(LOSSES)}; got {kind!r}")
    return str(kind)


def drawn(phase: BasePhase, rng: np.random.Generator, k: int) -> tuple[int, float]:
    """Let a base draw an arm, refusing anything that is not one."""
    answer = phase.choose(rng)
    try:
        i, probability = operator.index(answer[0]), float(answer[1])
        if len(answer) == 2 and 0 <= i < k and 0.0 < probability <= 1.0:
            return i, probability
    except (TypeError, ValueError, IndexError):
        pass
    raise ArgumentError("base", f"must choose one of {k} arms with its probability, got {answer!r}")


def started(base: Base, arms: F64, rounds: int, delta: float) -> BasePhase:
    """Start a phase of a base, refusing anything that is not one."""
    phase = base.start_phase(arms, rounds, delta)
    missing = [name for name in ("choose", "update", "estimates") if not hasattr(phase, name)]
    if missing:
        raise ArgumentError("base", f"start_phase gave {phase!r} without {', '.join(missing)}")
    return phase


def checked_estimates(phase: BasePhase, k: int) -> F64:
    """Return a base's estimates, refusing what cannot be compared."""
    estimates = np.asarray(phase.estimates, np.float64)
    if estimates.shape != (k,) or not np.isfinite(estimates).all():
        raise ArgumentError("base", f"must give {k} finite loss estimates, got {estimates!r}")
    return estimates


class CompiledPhase:
    """A base at work: ``choose_once``, ``update_once`` and ``play_rounds`` of a kernel module."""

    def __init__(self, kernel: Any, state: Any) -> None:
        self.kernel, self.state = kernel, state

    @property
    def estimates(self) -> F64:
        """Sums of the loss estimates, (k,)."""
        sums: F64 = self.state.L
        return sums

    @property
    def p(self) -> F64:
        """Probabilities of the last draw, (k,); an update reads them."""
        probabilities: F64 = self.state.p
        return probabilities

    def choose(self, rng: np.random.Generator) -> tuple[int, float]:
        """Draw an arm."""
        i = int(self.kernel.choose_once(self.state, rng.random()))
        return i, float(self.p[i])

    def update(self, arm: int, loss: float) -> None:
        """Take in the loss of the arm just drawn."""
        self.kernel.update_once(self.state, arm, loss)

    def play(
        self, law: Law, arms: I64, run: ArmState, offset: float, slope: float, rounds: int
    ) -> None:
        """Play this many rounds in a kernel."""
        self.kernel.play_rounds(self.state, law, arms, run, offset, slope, rounds)

    def save(self) -> dict[str, Any]:
        """Return what a round changes as lists, for JSON; the rest is rebuilt."""
        return arrays_of(self.state, KEPT)

    def load(self, saved: dict[str, Any]) -> None:
        """Take over arrays from ``save``."""
        fill_arrays(self.state, saved, KEPT)

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledPhase:
        return CompiledPhase(self.kernel, deepcopy(self.state, memo))  # a module stays what it is


# Log weights, the probabilities of the last draw, and the loss estimates.
KEPT = ("lw", "p", "L")


def arrays_of(state: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return arrays of a kernel's state as lists, for JSON."""
    return {name: getattr(state, name).tolist() for name in names}


def fill_arrays(state: Any, saved: Mapping[str, Any], names: Sequence[str]) -> None:
    """Fill arrays of a kernel's state from ``arrays_of``."""
    for name in names:
        array = getattr(state, name)
        values = np.asarray(saved[name], array.dtype)
        if values.shape != array.shape:
            raise StateError("state", f"{name} has shape {values.shape}, not {array.shape}")
        array[...] = values


def saturated(rounds: float) -> int:
    """Return ceil(rounds), cut to what 64-bit counters hold."""
    return math.ceil(min(rounds, 4.0e18))
