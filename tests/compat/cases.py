"""What the adapters are compared with."""

import numpy as np

import uli_fast as uli

MEANS = np.array([0.8, 0.7, 0.3])
DETERMINISTIC = [
    uli.SuccessiveElimination(0.3),
    uli.PhasedElimination(0.3),
    uli.UCB(0.3),
    uli.LilUCB(0.3),
    uli.KLUCB(0.3),
]
SMALL = uli.MetaElimination(uli.Exp3P(constant=5), delta=0.3, mode="sharp")
DRAWING = [uli.Exp3P(0.3), SMALL, uli.ThompsonSampling(0.3)]
IN_SWEEPS = [uli.BettingElimination(0.3)]


def table(T, seed=0, means=MEANS):
    """The i-th pull of arm a gives [a, i]."""
    return (np.random.default_rng(seed).random((len(means), T)) < means[:, None]).astype(float)


def live_path(learner, rewards, T, **start):
    """The arms of the live player with immediate rewards, and the player."""
    player, counts, arms = learner.start(len(rewards), **start), np.zeros(len(rewards), int), []
    for _ in range(T):
        d = player.ask()
        player.tell(d.id, rewards[d.arm, counts[d.arm]])
        counts[d.arm] += 1
        arms.append(d.arm)
    return arms, player
