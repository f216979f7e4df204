"""Adapters against the libraries they serve: ``make compat-bench``, or in one environment.

Every library that is installed here is timed next to ours in one process, taking turns; a time
is the minimum over repeats, per round, row or episode. Rewards are drawn beforehand and the
same for both, unless a row says that a whole run is timed.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import io
import logging
import platform
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import uli_fast as uli

K, REPEATS = 10, 5
MEANS = np.linspace(0.3, 0.7, K)


def in_turn(n: int, **tasks: Callable[[], Any]) -> dict[str, float]:
    """Return microseconds per unit of work of each task, the tasks taking turns."""
    best = dict.fromkeys(tasks, np.inf)
    for task in tasks.values():
        task()  # compiles, and fills caches
    gc.disable()
    for _ in range(REPEATS):
        for name, task in tasks.items():
            began = time.perf_counter()
            task()
            best[name] = min(best[name], (time.perf_counter() - began) / n * 1e6)
    gc.enable()
    return best


def show(what: str, unit: str, times: dict[str, float]) -> None:
    (theirs, slow), *ours = times.items()
    for name, fast in ours:
        print(
            f"{what:34} {theirs:>22} {slow:10.2f}   {name:>26} {fast:10.3f}   {slow / fast:8.1f}x"
        )
    print(f"{'':34} (us per {unit})")


def rewards(T: int) -> np.ndarray:
    return (np.random.default_rng(0).random((K, T)) < MEANS[:, None]).astype(float)


def smpybandits(T: int = 5000) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        from SMPyBandits.Arms import Bernoulli
        from SMPyBandits.Environment import Evaluator
        from SMPyBandits.Policies import UCB, Exp3, UCBimproved
    from uli_fast.compat import smpybandits as ours

    drawn = rewards(T)

    def game(kind: Any, **params: Any) -> Callable[[], None]:
        def play() -> None:
            policy = kind(K, **params)
            policy.startGame()
            for t in range(T):
                arm = policy.choice()
                policy.getReward(arm, drawn[arm, t])

        return play

    show("choice + getReward, UCB", "round", in_turn(T, UCB=game(UCB), our_UCB=game(ours.UCB)))
    show(
        "the same, elimination",
        "round",
        in_turn(
            T,
            UCBimproved=game(UCBimproved, horizon=T),
            our_SE=game(ours.SuccessiveElimination),
            our_PE=game(ours.PhasedElimination),
        ),
    )
    show(
        "the same, adversarial",
        "round",
        in_turn(T, Exp3=game(Exp3), our_Exp3P=game(ours.Exp3P, horizon=T)),
    )

    def evaluated(kind: Any) -> Callable[[], None]:
        def run() -> None:
            with contextlib.redirect_stdout(io.StringIO()):
                evaluator = Evaluator(
                    {
                        "horizon": T,
                        "repetitions": 2,
                        "n_jobs": 1,
                        "verbosity": 0,
                        "environment": [{"arm_type": Bernoulli, "params": MEANS.tolist()}],
                        "policies": [{"archtype": kind, "params": {}}],
                    }
                )
                evaluator.startAllEnv()

        return run

    problem = uli.BernoulliBandit(MEANS)
    show(
        "whole run, Evaluator; simulate",
        "round",
        in_turn(
            2 * T,
            UCB=evaluated(UCB),
            our_UCB=evaluated(ours.UCB),
            simulate_UCB=lambda: uli.simulate(uli.UCB(), problem, T, 2, seed=1, progress=False),
        ),
    )


def mabwiser(T: int = 1000, rows: int = 10**5) -> None:
    from mabwiser import mab as theirs

    from uli_fast.compat.mabwiser import MAB, LearningPolicy

    arms, drawn = [f"arm {a}" for a in range(K)], rewards(T)
    numbers = {arm: a for a, arm in enumerate(arms)}

    def loop(make: Callable[[], Any]) -> Callable[[], None]:
        def play() -> None:
            mab = make()
            mab.fit(arms, [0.5] * K)
            for t in range(T):
                arm = mab.predict()
                mab.partial_fit([arm], [drawn[numbers[arm], t]])

        return play

    show(
        "predict + partial_fit",
        "round",
        in_turn(
            T,
            UCB1=loop(lambda: theirs.MAB(arms, theirs.LearningPolicy.UCB1())),
            our_UCB=loop(lambda: MAB(arms, LearningPolicy.UCB())),
            our_SE=loop(lambda: MAB(arms, LearningPolicy.SuccessiveElimination())),
            our_PE=loop(lambda: MAB(arms, LearningPolicy.PhasedElimination())),
        ),
    )
    rng = np.random.default_rng(1)
    chosen = rng.integers(K, size=rows)
    log = np.array(arms)[chosen], (rng.random(rows) < MEANS[chosen]).astype(float)

    def fitted(make: Callable[[], Any]) -> Callable[[], None]:
        return lambda: make().fit(*log)

    show(
        f"fit of {rows} logged rows",
        "row",
        in_turn(
            rows,
            UCB1=fitted(lambda: theirs.MAB(arms, theirs.LearningPolicy.UCB1())),
            our_UCB=fitted(lambda: MAB(arms, LearningPolicy.UCB())),
            our_SE=fitted(lambda: MAB(arms, LearningPolicy.SuccessiveElimination())),
            our_PE=fitted(lambda: MAB(arms, LearningPolicy.PhasedElimination())),
        ),
    )


def rlberry(episodes: int = 300, H: int = 5) -> None:
    logging.disable(logging.CRITICAL)
    from rlberry_scool.agents import UCBVIAgent as Theirs
    from rlberry_scool.envs import Chain

    from uli_fast.compat import rlberry as ours

    def fitted(kind: Any, n: int = episodes, **more: Any) -> Callable[[], None]:
        return lambda: kind(Chain(5, 0.1), horizon=H, **more).fit(n)

    show(
        "fit of 300 episodes, S=5 A=2 H=5",
        "episode",
        in_turn(
            episodes,
            UCBVI=fitted(Theirs, stage_dependent=True),
            our_UCBVI=fitted(ours.UCBVIAgent),
            our_UBEV=fitted(ours.UBEVAgent),
        ),
    )
    many = 100 * episodes
    times = in_turn(many, UCBVI=fitted(ours.UCBVIAgent, many), UBEV=fitted(ours.UBEVAgent, many))
    print(f"ours, fit of {many} episodes: " + str({k: round(v, 3) for k, v in times.items()}))
    live = {"schedule": (1.0, 1.0), "live": True}
    chain = (Chain, {"L": 3, "fail_prob": 0.1})
    show(
        "stepping the environment, S=3 H=3",
        "episode",
        in_turn(
            episodes,
            UCBVI=lambda: Theirs(chain, horizon=3, stage_dependent=True).fit(episodes),
            our_live_PE=lambda: ours.PolicyEliminationAgent(chain, horizon=3, **live).fit(episodes),
        ),
    )


def gymnasium(episodes: int = 500, T: int = 5000) -> None:
    import gymnasium as gym

    from uli_fast.compat.gymnasium import BanditEnv, PolicyAgent

    env = BanditEnv(uli.BernoulliBandit(MEANS))

    def steps() -> None:
        env.reset(seed=1)
        for t in range(T):
            env.step(t % K)

    lake = gym.make("FrozenLake-v1", desc=["SH", "FG"])
    learner = uli.PolicyElimination(0.1, schedule="sharp")

    def bare(agent: Any = None) -> None:
        for _ in range(episodes):
            observation, _ = lake.reset()
            for h in range(3):
                action = agent.act(observation) if agent else h
                observation, reward, terminated, truncated, _ = lake.step(action)
                if agent:
                    agent.observe(observation, reward, terminated, truncated)
                if terminated:
                    break

    mdp = uli.TabularMDP.from_gymnasium(lake, 3)
    print(f"BanditEnv.step: {in_turn(T, step=steps)['step']:.2f} us")
    show(
        "FrozenLake 2x2, H=3",
        "episode",
        in_turn(
            episodes,
            the_environment_alone=bare,
            with_PolicyAgent=lambda: bare(PolicyAgent(lake, learner, horizon=3)),
            simulate=lambda: uli.simulate(learner, mdp, episodes, seed=1, progress=False),
        ),
    )


def main() -> None:
    warnings.simplefilter("ignore")
    needs = {
        "SMPyBandits": smpybandits,
        "mabwiser": mabwiser,
        "rlberry_scool": rlberry,
        "gymnasium": gymnasium,
    }
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, K = {K}")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, measure in needs.items():
            if importlib.util.find_spec(name) is None:
                print(f"{name}: not installed here")
            else:
                print(f"\n{name}")
                measure()


if __name__ == "__main__":
    main()
