"""F of model elimination: what boxes around transition laws leave open (docs/proofs_models.md).

The learner keeps a box for every entry of every unknown row and plays a policy whose width W, the
sum of what is open along its way in the least favourable plausible model, is largest. Boxes are
nested, so W never rises; hence t W(t) is at most the sum of all widths so far, which visits
bound. ``play="stochastic"`` has gaps of at most 2 W, ``play="deterministic"`` of H W.

How a learner calls it::

    size, scale = describe_model(about, pooled)  # a TabularMDP, or (S, A, H)
    Guarantee(f"MODEL-{play}", delta, size.parameters(growth, first), scale)

What the learner must do for F to hold:

- Boxes hold the p with n kl(p_hat, p) <= Lambda(n) (formulas/model_elimination.py), intersected
  over time and renewed when n has grown by the factor REFRESHED, or sooner.
- A block of episodes has one policy and is no longer than (growth n + first) / xbar for every
  unknown row, n its visits so far (those of all stages, if pooled) and xbar a bound on its
  visits per episode at a stage.
- "stochastic" plays the occupancy with the largest sum of b among those worth L or more, b being
  the width of a row; "deterministic" the policy of the induction that is *cut off*,
  B_h(s, a) = min(Qmax - Qmin, b_h(s, a) + max P B_{h+1}), or at H - h, the stages left: without
  a cut its F would be larger.
- Either attains the largest width up to the factor ATTAINED.
- With H = 1 the best actions are known: F = 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from uli_fast import _check
from uli_fast._typing import B1, F64
from uli_fast.errors import ArgumentError
from uli_fast.formulas.model_elimination import VISITS, level_at, level_of
from uli_fast.problems import kinds

# A box is renewed once its visits have grown by this factor, or sooner.
REFRESHED = 1.02
# What is played need only have this share of the largest width: rounding, and duals cut short.
ATTAINED = 1.0 - 1e-6
# An action stays that is worse by this times H, at every stage; duals are solved up to half of
# the other.
TIED, UNRESOLVED = 1e-12, 1e-9
# Exponents at which visits are held against their expectation, all at once.
_THETAS = tuple(2.0**-j for j in range(5))
# Relative slacks of the second variant, in parts of 1 / H; any of them gives a bound.
_SLACKS = tuple(2.0**-j for j in range(12))
# The root of v (sqrt(2) + v) = 1 is one over this.
_TOTAL_VARIATION = (math.sqrt(6.0) + math.sqrt(2.0)) / 2.0


class ModelSize(NamedTuple):
    """What is unknown of a tabular MDP."""

    S: int
    A: int
    H: int
    entries: int  # M: unknown entries, one for rows with two successors; pooled rows count once
    rows: int  # R: unknown rows of all stages, that of the first state among them
    stage_rows: int  # the most unknown rows of one stage
    successors: int  # the most possible successors of one of them
    first_states: int  # S_0: states in which an episode may begin
    pooled: bool  # the visits of all stages count together

    def parameters(self, growth: float, first: float) -> dict[str, float]:
        """Return the parameters of F for blocks of at most growth n + first visits."""
        numbers = {name: int(value) for name, value in self._asdict().items()}
        return numbers | {"growth": growth, "first": first, "largest_gap": float(self.H)}


def describe_model(about: Any, pooled: bool = False) -> tuple[ModelSize, float]:
    """Read what is unknown of a TabularMDP, or of one with (S, A, H), and its reward units."""
    if kinds.is_mdp(about):
        known = about.successors, about.initial_support
        return model_size(about.decision_points, about.n_actions, *known, pooled), about.scale
    if not isinstance(about, tuple | list) or len(about) != 3:
        raise ArgumentError("about", f"must be a TabularMDP or (S, A, H), got {about!r}")
    S, A, H = (_check.mdp_part("about", x) for x in about)
    n = S * A if S > 1 else 0
    first = _entries(S)
    rows = (H - 1) * n + (S > 1)
    entries = (1 if pooled else H - 1) * n * first * (H > 1) + first
    return ModelSize(S, A, H, entries, rows, n * (H > 1), S if H > 1 else 1, S, pooled), 1.0


def model_size(
    points: B1, A: int, successors: B1 | None, initial_support: B1 | None, pooled: bool = False
) -> ModelSize:
    """Count what masks leave unknown: decision points (H, S), successors (H, S, A, S), first (S,).

    A row with one possible successor is known, and one that cannot be reached never matters.
    Where the laws of all stages are one, so are their masks: a successor must be possible at
    every stage.
    """
    H, S = points.shape
    here: B1 = np.ones(S, np.bool_) if initial_support is None else initial_support
    first = int(here.sum())
    common: B1 | None = None
    if pooled and successors is not None and H > 1:
        common = np.logical_and.reduce(successors[:-1])
        if not common.any(axis=-1).all():
            raise ArgumentError(
                "successors", "must have one in common at all stages, whose laws are pooled"
            )
    sizes: list[F64] = []  # possible successors by stage, (S, A); 0: the row does not matter
    for h in range(H - 1):
        taken = here[:, None] & (points[h][:, None] | (np.arange(A) == 0))
        mask = common if common is not None else None if successors is None else successors[h]
        sizes.append(np.where(taken, S if mask is None else mask.sum(axis=-1), 0))
        here = np.ones(S, np.bool_) if mask is None else mask[taken].any(axis=0)
    of_stages = np.array(sizes).reshape(H - 1, S, A)
    counted = of_stages.max(axis=0, initial=0) if pooled else of_stages
    unknown = (of_stages > 1).sum(axis=(1, 2))
    return ModelSize(
        S,
        A,
        H,
        entries=int(np.where(counted > 2, counted, counted == 2).sum()) + _entries(first),
        rows=int(unknown.sum()) + (first > 1),
        stage_rows=int(unknown.max(initial=0)),
        successors=int(of_stages.max(initial=1)),
        first_states=first,
        pooled=pooled,
    )


def _entries(successors: int) -> int:
    """Return the unknown entries of a row: with two successors one is enough."""
    return successors if successors > 2 else int(successors == 2)


def row_width(successors: float) -> float:
    """Return w with: half the sum of a row's widths is at most w sqrt(Lambda / n), or 1."""
    return min(_TOTAL_VARIATION * math.sqrt(successors), successors / math.sqrt(2.0))


class _Part(NamedTuple):
    """Unknown rows that share all visits of an episode: the first state's, or those of stages."""

    direct: float  # sum over stages of what an error of a row costs at once
    later: float  # and of what it costs by leading elsewhere
    rows: float
    successors: float


def _parts(play: str, p: Mapping[str, float]) -> tuple[_Part, _Part]:
    H, S_0 = p["H"], p["first_states"]
    if play == "stochastic":  # what is open later adds up to at most (H - h - 1) (H - h) / 2
        later, after = H * (H - 1) * (H - 2) / 6, H * (H - 1) / 2
    else:  # it is cut off at H - h - 1, which is not linear
        later, after = (H - 1) * (H - 2) / 2, H - 1
    stages = _Part(H * (H - 1) / 2, later, p["stage_rows"], p["successors"])
    return _Part(H, after, float(S_0 > 1), S_0), stages


def width_bound(play: str, t: F64, delta: float, p: Mapping[str, float]) -> F64:
    """Return what no width W exceeds at episode t, by Theorem 2: the smallest of its bounds.

    Each of them falls with t: Lambda(t) / t does, from 1 on.
    """
    visits = t * (max(1.0, p["H"] - 1.0) if p["pooled"] else 1.0)
    log = level_at(visits, level_of(p["entries"], delta))
    least = np.full_like(t, np.inf)
    for theta in _THETAS:
        kappa = -math.expm1(-theta) / theta
        behind = math.log(len(_THETAS) * max(1.0, p["rows"]) / VISITS) - math.log(delta)
        start = behind / (theta * kappa) + p["first"]  # ell / kappa
        # Visits of a row as the boxes know them are at least (kappa Omega - ell) over this.
        lag = REFRESHED * (1.0 + p["growth"] * kappa)
        seen = [
            (part, start / t, np.sqrt(lag * log / (kappa * t)))
            for part in _parts(play, p)
            if part.rows > 0
        ]
        direct = [
            part.rows * at_first + 2.0 * row_width(part.successors) * math.sqrt(part.rows) * root
            for part, at_first, root in seen
        ]
        plain = sum(
            ((part.direct + part.later) * d for (part, _, _), d in zip(seen, direct, strict=True)),
            np.zeros_like(t),
        )
        least = np.minimum(least, plain)
        for slack in _SLACKS:
            alpha = slack / p["H"]
            inflated = np.zeros_like(t)
            for (part, at_first, _), d in zip(seen, direct, strict=True):
                z = 4.0 * (1.0 + 1.0 / alpha) * part.successors * lag * log / t
                cut = np.maximum(1.0, kappa / (part.rows * z))
                led = np.minimum(1.0, part.rows * z * (1.0 + np.log(cut)) / kappa)
                inflated += part.direct * d + part.later * (part.rows * at_first + led)
            least = np.minimum(least, (1.0 + alpha) ** (p["H"] - 1.0) * inflated)
    return least / ATTAINED


def bound(play: str, t: F64, delta: float, p: Mapping[str, float]) -> F64:
    """Return F: min(H, 2 W) for stochastic policies, min(H, H W) for deterministic ones."""
    H = p["H"]
    if p["A"] == 1.0:
        return np.zeros_like(t)
    W = width_bound(play, t, delta, p) if H > 1.0 else np.zeros_like(t)
    if play == "stochastic":
        return np.minimum(H, 2.0 * W + UNRESOLVED * H)
    return np.minimum(H, H * W + TIED * H * H)
