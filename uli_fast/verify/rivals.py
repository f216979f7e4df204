"""Rows of the rivals that are not the paper's: KL-UCB and Thompson sampling."""

from __future__ import annotations

import math

import uli_fast as uli
from uli_fast.verify import VerifyOutcome, check
from uli_fast.verify.common import simulate


@check(
    "KLUCB",
    ("learners/kl_ucb.py", "kernels/kl_ucb.py", "kernels/arms/kl.py"),
    ("tests/learners/test_kl_ucb.py",),
)
def kl_ucb(quick: bool) -> VerifyOutcome:
    """Ours, beside Eq. select_arm_opt_alg: KL-UCB comes back to the worse arm for ever.

    After T rounds without noise it has played it log(T) / kl(worse, best) times, and some of
    that after F of elimination by betting has ruled it out: it has no F either.
    """
    means, T = [0.7, 0.5], 10**9 if quick else 10**12
    problem = uli.DeterministicBandit(means)
    runs = simulate(uli.KLUCB(), problem, T, rounds=[T // 10**3, T])
    kl = math.log(0.5 / 0.7) / 2.0 + math.log(0.5 / 0.3) / 2.0
    share = [n * kl / math.log(t) for n, t in zip(runs.plays[0, :, 1], runs.rounds, strict=True)]
    excluded = uli.BettingElimination(0.1).guarantee(problem).rounds_until(0.19)
    last = int(runs.last_mistake()[0])
    return VerifyOutcome(
        f"means {means} without noise, {T:.0e} rounds",
        f"plays of the worse arm {share[0]:.3f} and {share[1]:.3f} log(t) / kl; the last in round "
        f"{last:.2g}, F of elimination by betting rules it out from {excluded:.2g} on",
        all(abs(x - 1.0) < 0.06 for x in share) and last > T // 10 > excluded,
    )


@check(
    "ThompsonSampling",
    ("learners/thompson_sampling.py", "kernels/thompson_sampling.py"),
    ("tests/learners/test_thompson_sampling.py",),
    illustration=True,
)
def thompson_sampling(quick: bool) -> VerifyOutcome:
    """Ours: Thompson sampling has little regret, and comes back to worse arms as well."""
    M, T = 20 if quick else 100, 10**5
    problem = uli.BernoulliBandit([0.5, 0.4])
    runs = simulate(uli.ThompsonSampling(), problem, T, M, seed=40, rounds=[T])
    late = int((runs.last_mistake() > T // 10).sum())
    ours = simulate(uli.BettingElimination(0.05), problem, T, M, seed=40, rounds=[T])
    means = [float(x.regret[:, -1].mean()) for x in (runs, ours)]
    return VerifyOutcome(
        f"{M} runs of {T:.0e} rounds, means .5, .4",
        f"the worse arm is played in the last nine tenths of {late} runs; mean regret "
        f"{means[0]:.0f}, elimination by betting {means[1]:.0f}",
        late > 0.9 * M,
    )
