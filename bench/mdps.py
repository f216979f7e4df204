"""Choosing policies and playing episodes, in one run: ``python bench/mdps.py``.

Per episode, everything included: drawing, choosing, learning. Ours and the rival go on from
the same state and take turns; each time is the minimum over repeats. Bonuses are small, so
that values are not all clipped and ties do not make choices cheap.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from linear import fastest

import uli_fast as uli
from uli_fast._typing import I8
from uli_fast.kernels import policy_elimination as kernel
from uli_fast.learners._policies import grown, new_ledger, new_model, new_path
from uli_fast.learners._policy_sets import PolicySet, mean_values
from uli_fast.simulate import generator

LOG_IOTA = 0.05
SIZES = ((3, 2, 3), (3, 2, 4), (4, 2, 4))
RESTRICTED = (
    ((3, 2, 4), (1000, 2000)),
    ((4, 2, 4), (1000, 5000, 20_000)),
    ((3, 3, 3), (1000, 5000, 15_000)),
    ((2, 2, 7), (1000, 8000)),
    ((3, 2, 5), (1000, 20_000)),
)


def episodes(mdp: uli.TabularMDP, chooser: kernel.Chooser, n: int) -> Callable[[], None]:
    """Return the play of n episodes, after 2000 others."""
    H, S, _ = mdp.rewards.shape
    bonus = np.array([float(H), 2.0 * S * LOG_IOTA, 2.0 * H * S * LOG_IOTA])
    model, path = new_model(mdp), new_path(H, S)
    ledger = new_ledger(mdp, np.array([10**15]))
    while len(ledger.policy) < 10**5:
        ledger = grown(ledger)
    law = mdp.law(generator(1, 0))
    kernel.open_phase(model, bonus)
    start = everything(mdp).chooser("auto")
    kernel.play_by_induction(start, law, model, bonus, ledger, path, 2000)

    def play(n: int = n) -> None:
        if kernel.LOOPS[type(chooser)](chooser, law, model, bonus, ledger, path, n):
            raise RuntimeError("the ledger is full: the episodes were not played")

    play(1)
    return play


def everything(mdp: uli.TabularMDP) -> PolicySet:
    return PolicySet(mdp.decision_points, mdp.n_actions)


def best_of(mdp: uli.TabularMDP, size: int) -> PolicySet:
    """Return the policies that an elimination would leave: the best ones."""
    policies: I8 = everything(mdp).policies
    truth = (mdp.transitions, mdp.unit_rewards, mdp.initial)
    values = mean_values(policies, *(np.array(x) for x in truth))
    return everything(mdp).kept(values >= np.sort(values)[-size])


def compared(mdp: uli.TabularMDP, ours: PolicySet, method: str) -> tuple[float, float]:
    """Return seconds per episode of ours and of the plain enumeration."""
    few, many = max(3, 200_000 // ours.count), 2000
    times = fastest(
        15,
        episodes(mdp, ours.chooser(method), many),
        episodes(mdp, ours.chooser("plain"), few),
    )
    return times[0] / many, times[1] / few


def report_choices() -> None:
    print("| policies | left | us per episode | plain enumeration, us | ratio |")
    print("| --- | --- | --- | --- | --- |")
    for sizes in SIZES:
        mdp = uli.mdps.random_dense(*sizes, seed=1)
        ours, plain = compared(mdp, everything(mdp), "auto")
        line(mdp.n_policies, "all: backward induction", ours, plain)
    for sizes, left in RESTRICTED:
        mdp = uli.mdps.random_dense(*sizes, seed=2)
        for size in left:
            ours, plain = compared(mdp, best_of(mdp, size), "trie")
            line(mdp.n_policies, f"{size:,}, {sizes}: trie", ours, plain)
    for sizes in ((3, 2, 7), (4, 2, 5), (2, 3, 6)):
        mdp = uli.mdps.random_dense(*sizes, seed=3)
        (ours,) = fastest(5, episodes(mdp, best_of(mdp, mdp.n_policies // 2).chooser("trie"), 100))
        line(mdp.n_policies, f"half, {sizes}: trie", ours / 100)


def line(policies: int, left: str, ours: float, plain: float | None = None) -> None:
    rival = "- | -" if plain is None else f"{1e6 * plain:.1f} | {plain / ours:.0f}x"
    print(f"| {policies:,} | {left} | {1e6 * ours:.2f} | {rival} |", flush=True)


def ucbvi_in_numpy(mdp: uli.TabularMDP, n: int, bonus: float) -> None:
    """Play n episodes of UCB-VI with NumPy, a stage at a time."""
    H, S, A = mdp.rewards.shape
    rng = np.random.default_rng(1)
    start, cdf = mdp.law(rng)[:2]
    N, N3 = np.zeros((H, S, A)), np.zeros((H, S, A, S))
    Q = np.full((H, S, A), float(H))
    for _ in range(n):
        V = np.zeros(S)
        for h in range(H - 1, -1, -1):
            visits = np.maximum(N[h], 1.0)
            new = mdp.unit_rewards[h] + N3[h] @ V / visits + bonus / np.sqrt(visits)
            Q[h] = np.minimum(Q[h], np.where(N[h] > 0, np.minimum(new, H), H))
            V = Q[h].max(axis=1)
        s = int(np.searchsorted(start, rng.random(), side="right"))
        for h in range(H):
            a = int(Q[h, s].argmax())
            k = int(np.searchsorted(cdf[h, s, a], rng.random(), side="right"))
            N[h, s, a] += 1
            N3[h, s, a, k] += 1
            s = k


def report_rivals() -> None:
    for sizes in ((5, 3, 5), (10, 3, 10)):
        mdp = uli.mdps.random_dense(*sizes, seed=1)
        for learner in (uli.UCBVI(0.1), uli.UBEV(0.1)):
            name = type(learner).__name__

            def ours(learner: object = learner, mdp: uli.TabularMDP = mdp) -> None:
                uli.simulate(learner, mdp, 100_000, seed=1, rounds=[100_000])

            bonus = uli.UCBVI(0.1).bonus(mdp, 100_000)
            mine, numpy = fastest(5, ours, lambda m=mdp, b=bonus: ucbvi_in_numpy(m, 500, b))
            text = f"{name}, {sizes}: {10 * mine:.2f} us per episode"
            if name == "UCBVI":
                text += f"; in NumPy {2000 * numpy:.0f} us, {numpy / 500 / (mine / 1e5):.0f}x"
            print(text, flush=True)


if __name__ == "__main__":
    report_choices()
    report_rivals()
