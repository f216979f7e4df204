"""rlberry-scool's UCBVI as shipped, on mdps.stationary. Prints the seconds of an episode."""

import json
import sys
import time

import numpy as np
from rlberry.envs.finite_mdp import FiniteMDP
from rlberry_scool.agents import UCBVIAgent

EPISODES = 1000
_, S, A, H, seed = sys.argv[1:]
S, A, H = int(S), int(A), int(H)
rng = np.random.default_rng(int(seed))
transitions = rng.dirichlet(np.ones(S), size=(S, A))  # drawn first, as there
env = FiniteMDP(rng.random((S, A)), transitions, initial_state_distribution=0)
agent = UCBVIAgent(env, gamma=1.0, horizon=H)
agent.fit(20)
begun = time.perf_counter()
agent.fit(EPISODES)
print(json.dumps({"seconds": (time.perf_counter() - begun) / EPISODES}))
