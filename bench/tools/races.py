"""Races on simulated candidates: evaluations saved, paired against unpaired, failures.

    python -m bench.tools.races [RUNS]

Eight candidates answer items right with probability 1 / (1 + exp(difficulty - ability)); the
difficulties are normal with a spread of 0, 1.5 or 3 on that logit scale. Printed as the table
of docs/races.md. "list": a list of 4,000 items, its own averages; "population": new items until
one candidate is left; "unpaired": every candidate on items of its own, by betting on independent
scores (BettingElimination with leader=1), which common items would make invalid.
"""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from uli_fast.formulas.betting_elimination import next_look
from uli_fast.formulas.mixture import log_mix
from uli_fast.kernels import race as kernel
from uli_fast.races.verdict import levels

ABILITIES = np.array([1.2, 0.9, 0.8, 0.6, 0.5, 0.3, 0.0, -0.5])
K, DELTA, LIST, MOST = ABILITIES.size, 0.05, 4000, 15_000
BETS = math.sqrt(2.0) * 2.0 ** (-0.5 * np.arange(67))
RAW = (np.arange(67) + 8.0) ** -1.5
LOG_WEIGHTS = np.log(RAW / RAW.sum())
ENTRY = np.array([2**k // 200 for k in range(67)])


class Outcome(NamedTuple):
    instances: int
    evaluations: int
    lost: bool


def table(rng: np.random.Generator, spread: float, n: int, common: bool) -> np.ndarray:
    items = rng.normal(0.0, spread, (n, 1 if common else K))
    return (rng.random((n, K)) < expit(ABILITIES[None] - items)).astype(float)


def paired(scores: np.ndarray, N: int) -> Outcome:
    dropped = np.zeros(K, np.int64)
    state = kernel.settle(scores, N, 1, levels(K, DELTA)[0], -1.0, dropped)
    means = scores.mean(axis=0) if N else ABILITIES
    n = int(state.n[0])
    lost = not state.active[means == means.max()].any()
    return Outcome(n, int(np.where(dropped > 0, dropped, n).sum()), lost)


def unpaired(scores: np.ndarray) -> Outcome:
    """Bet on independent scores: P + Q and the mixture of variance proxy n / 2."""
    P, Q = np.zeros((K, 67)), np.zeros((K, 67))
    active, n, theta, made = np.ones(K, bool), 0, 0.5, 0
    level = levels(K, DELTA)[0]
    while active.sum() > 1 and n < len(scores):
        m = min(next_look(n), len(scores))
        s = scores[n:m].sum(axis=0)[:, None]
        u = np.where(n >= ENTRY, np.minimum(BETS, 0.99 / max(theta, 1.0 - theta)), 0.0)
        P += s * np.log1p((1.0 - theta) * u) + (m - n - s) * np.log1p(-theta * u)
        Q += s * np.log1p(-(1.0 - theta) * u) + (m - n - s) * np.log1p(theta * u)
        made, n = made + (m - n) * int(active.sum()), m
        M = np.where(active, scores[:n].sum(axis=0), -np.inf)
        j = int(M.argmax())
        for a in np.flatnonzero(active):
            if a != j:
                first = np.logaddexp.reduce(LOG_WEIGHTS + P[j] + Q[a])
                second = log_mix(M[j] - M[a], n / 2.0, 25.0)
                if np.logaddexp(first, second) - math.log(2.0) >= level:
                    active[a] = False
        theta = (M[j] + 0.5) / (n + 1.0)
    return Outcome(n, made, not active[0])


def row(spread: float, what: str, runs: int) -> str:
    found = []
    for seed in range(runs):
        rng = np.random.default_rng([seed, int(10 * spread)])
        if what == "list":
            found.append(paired(table(rng, spread, LIST, True), LIST))
        else:
            scores = table(rng, spread, MOST, what == "population")
            found.append(paired(scores, 0) if what == "population" else unpaired(scores))
    instances, evaluations, lost = (np.array(x) for x in zip(*found, strict=True))
    saved = 1.0 - np.median(evaluations) / (K * LIST)
    kept = f"{100 * saved:.0f} %" if what == "list" else ""
    return (
        f"| {spread:g} | {what} | {np.median(instances):,.0f} | {np.median(evaluations):,.0f} "
        f"| {kept} | {lost.sum()} of {runs} |"
    )


def main(runs: int = 1000) -> None:
    print("| spread | form | instances | evaluations | saved of 32,000 | best lost |")
    print("|---|---|---|---|---|---|")
    for spread in (0.0, 1.5, 3.0):
        for what in ("list", "population", "unpaired"):
            print(row(spread, what, runs), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
