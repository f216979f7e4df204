"""The paper's pseudocode of PE with the adaptive barycentric spanner, to the letter.

Algorithms PE_infinite_arm, bary_span and LI_argmax as printed, on finitely many arms, by
determinants. Once the last spanner has d arms all constraints from it are dropped: arms
outside its span are then uncontrolled, and the best arm can be lost. Nothing but
``uli verify`` uses this; ``SpannerElimination`` keeps the box.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from uli_fast._typing import B1, F64

# <u, a> = 0 never holds in floating point.
ZERO = 1e-9


class LiteralPhase(NamedTuple):
    """The arms played in a phase, and which arms the phase could have chosen from."""

    arms: F64  # (k, d)
    active: B1  # (K,)


def literal_phases(
    arms: F64, theta: F64, phases: int, delta: float, C: float, rng: np.random.Generator
) -> list[LiteralPhase]:
    """Play some phases as printed, with standard normal noise drawn once per arm and phase."""
    d = arms.shape[1]
    estimate, B, result = np.zeros(d), np.eye(d), list[LiteralPhase]()
    for m in range(1, phases + 1):
        T = 256.0 * C**4 * d**3 * 4.0**m * math.log(d**3 * 4.0**m / delta)
        feasible = within_span(arms, B, C) if B.shape[1] < d else np.ones(len(arms), bool)
        values = arms @ estimate
        active = feasible & (values[feasible].max() - values <= 2.0 ** (1 - m))
        B = literal_spanner(arms[active], T, C)
        n = math.ceil(T / d)
        means = B.T @ theta + rng.standard_normal(B.shape[1]) / math.sqrt(n)
        estimate = np.linalg.solve(np.eye(d) + n * B @ B.T, n * B @ means)
        result.append(LiteralPhase(B.T.copy(), active))
    return result


def within_span(arms: F64, B: F64, C: float) -> B1:
    """Return which arms satisfy M a = 0 and |(B^T B)^-1 B^T a| <= C."""
    coefficients = arms @ np.linalg.pinv(B).T
    off = np.linalg.norm(arms - coefficients @ B.T, axis=1)
    inside: B1 = (np.abs(coefficients) <= C).all(axis=1) & (off <= ZERO)
    return inside


def literal_spanner(active: F64, T: float, C: float) -> F64:
    """Return the columns that Algorithm bary_span returns."""
    d = active.shape[1]
    A, left = np.eye(d) / math.sqrt(T), set(range(d))
    for i in range(d):
        s, _ = li_argmax(active, A, i)
        if s is not None:
            A[:, i] = s
            left.discard(i)
    i = 0
    while i < d:
        s, ratio = li_argmax(active, A, i)
        if s is not None and (ratio >= C or i in left):
            A[:, i] = s
            left.discard(i)
            i = 0  # restart
        else:
            i += 1
    return A[:, [j for j in range(d) if j not in left]]


def li_argmax(active: F64, A: F64, i: int) -> tuple[F64 | None, float]:
    """Return the arm with the largest |det(a, A_-i)|, None if it is zero, and that over |det A|."""
    row = np.linalg.inv(A)[i]  # <row, a> = det(a, A_-i) / det A
    values = np.abs(active @ row)
    best = int(values.argmax())
    if values[best] <= ZERO * float(np.linalg.norm(row)):
        return None, 0.0
    return active[best], float(values[best])
