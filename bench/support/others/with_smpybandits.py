"""SMPyBandits' UCB or Exp3 on ten arms. Prints the seconds of a round."""

import json
import sys
import time

import numpy as np
from SMPyBandits.Policies import UCB, Exp3

ROUNDS = 5000
means = np.append(0.5, np.linspace(0.45, 0.05, 9))
np.random.seed(int(sys.argv[-1]))  # noqa: NPY002  (the library draws from it)
rng = np.random.default_rng(int(sys.argv[-1]))
policy = {"ucb": UCB, "exp3": Exp3}[sys.argv[1]](10)
policy.startGame()


def play(rounds):
    for _ in range(rounds):
        arm = policy.choice()
        policy.getReward(arm, float(rng.random() < means[arm]))


play(500)
begun = time.perf_counter()
play(ROUNDS)
print(json.dumps({"seconds": (time.perf_counter() - begun) / ROUNDS}))
