"""MABWiser's UCB1 online: predict, one reward, partial_fit. Prints the seconds of a round."""

import json
import sys
import time

import numpy as np
from mabwiser.mab import MAB, LearningPolicy

ROUNDS = 2000
means = np.append(0.5, np.linspace(0.45, 0.05, 9))
rng = np.random.default_rng(int(sys.argv[-1]))
mab = MAB(list(range(10)), LearningPolicy.UCB1(alpha=1.0))
mab.fit(list(range(10)), (rng.random(10) < means).astype(float).tolist())


def play(rounds):
    for _ in range(rounds):
        arm = mab.predict()
        mab.partial_fit([arm], [float(rng.random() < means[arm])])


play(200)
begun = time.perf_counter()
play(ROUNDS)
print(json.dumps({"seconds": (time.perf_counter() - begun) / ROUNDS}))
