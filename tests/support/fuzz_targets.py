"""Public calls with valid arguments, each of a kind: what tests/support/fuzz.py spoils."""

import functools
import inspect
import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import uli_fast as uli
from uli_fast._registry import learners
from uli_fast.compat import gymnasium, mabwiser, rlberry, smpybandits
from uli_fast.errors import ArgumentError, ConfigError
from uli_fast.experiments import ExperimentFile

NEW = "new"  # stands for the id of a decision asked for on the spot


class Target(NamedTuple):
    """A call, its valid arguments, and the kinds of those that are spoiled."""

    call: Callable[..., Any]
    valid: dict[str, Any]
    kinds: dict[str, str]


ARMS = uli.BernoulliBandit([0.5, 0.4])
SE = uli.SuccessiveElimination(0.1)
MODELS = uli.ModelElimination(0.1)
SQUARE = np.vstack([np.eye(2), -np.eye(2)])
RIVER = uli.mdps.river_swim(2, 2)
LONGER = uli.mdps.river_swim(2, 3)
LAKE = SimpleNamespace(
    P=[
        [[(0.5, 0, 0.0, False), (0.5, 1, 1.0, True)], [(1.0, 0, 0.0, False)]],
        [[(1.0, 1, 0.0, True)]] * 2,
    ],
    initial_state_distrib=np.array([1.0, 0.0]),
)
ENV = SimpleNamespace(action_space=SimpleNamespace(n=2), step=lambda a: (0, 0.5, False, False, {}))
ENV.reset = lambda **_: (0, {})


def begun(**arguments):
    """Begin a study in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        arguments["path"] = (
            Path(folder) / "s.db" if arguments["path"] == "s.db" else arguments["path"]
        )
        uli.Study.open(**arguments).close()


@functools.cache
def driven():
    """Return a study with two decisions, kept open to the end."""
    study = uli.Study.open(Path(tempfile.mkdtemp()) / "s.db", SE, 2)
    study.ask("one"), study.ask("two")
    return study


def study_told(decision_id, outcome, missing):
    """Tell a study what became of a new decision, or of the one that is given."""
    study = driven()
    id = study.ask().id if decision_id is NEW else decision_id
    (study.tell_missing if missing else study.tell)(id, outcome)


def player_told(id, outcome, missing):
    player = SE.start(2)
    player.ask(2)
    (player.tell_missing if missing else player.tell)(id, outcome)


def observed(reward):
    agent = gymnasium.BanditAgent(ENV, SE)
    agent.act()
    agent.observe(0, reward)


def rewarded(arm, reward):
    policy = smpybandits.SuccessiveElimination(2)
    policy.startGame()
    policy.getReward(arm, reward)


def fitted(decisions, rewards):
    mabwiser.MAB(["a", "b"], SE).fit(decisions, rewards)


def trained(budget, low, high, delta):
    rlberry.SuccessiveEliminationAgent(ENV, low=low, high=high, delta=delta).fit(budget)


def parsed(horizon, replications, seed, delta, means):
    """Read a study file; its errors name keys, of which the last part is the argument."""
    said = {k: json.dumps(v) if v != {"a": 1} else "{a = 1}" for k, v in locals().items()}
    try:
        ExperimentFile.parse(
            "horizon = {horizon}\nreplications = {replications}\nseed = {seed}\n"
            "[problems.p]\ntype = 'BernoulliBandit'\nmeans = {means}\n"
            "[learners.l]\ntype = 'SuccessiveElimination'\ndelta = {delta}\n".format(**said)
        )
    except ConfigError as error:
        raise ArgumentError(re.split(r"[.\[]", error.argument)[-1], str(error)) from None


def episode_told(id, states, actions):
    """Tell an episode to a player that knows where actions lead."""
    player = MODELS.start(RIVER.rewards, [0], successors=RIVER.transitions > 0)
    player.ask()
    player.tell(id, states, actions)


def stepped(first, after):
    """Let an agent see a step."""
    agent = gymnasium.PolicyAgent(LAKE, MODELS, 2)
    agent.act(first)
    agent.observe(after, 0.0)


def model_targets():
    """Return the targets of ModelElimination and of what is known about MDPs."""
    runs = uli.simulate(MODELS, RIVER, 20, 2, seed=1)
    ones = np.ones((*LONGER.rewards.shape, 2), bool)
    table = {"transitions": RIVER.transitions, "rewards": RIVER.rewards}
    known = {"successors": RIVER.transitions > 0, "initial_support": np.array([True, False])}
    policy = MODELS.start(RIVER.rewards, [0], successors=RIVER.transitions > 0).policy
    return {
        "ModelElimination, all": Target(
            uli.ModelElimination,
            {"play": "stochastic", "pooled": True, "growth": 0.1, "first": 16},
            {"play": "choice", "pooled": "flag", "growth": "positive", "first": "whole"},
        ),
        "ModelElimination.guarantee": Target(
            MODELS.guarantee, {"about": (2, 2, 3)}, {"about": "size"}
        ),
        "ModelElimination.start, pooled": Target(
            uli.ModelElimination(0.1, pooled=True).start,
            {
                "rewards": LONGER.rewards,
                "initial_support": [0],
                "decision_points": np.ones((3, 2), bool),
                "successors": ones,
                "seed": 1,
            },
            {
                "rewards": "matrix",
                "initial_support": "states",
                "decision_points": "choices",
                "successors": "one_law",
                "seed": "seed",
            },
        ),
        "TabularMDP, known": Target(
            uli.TabularMDP,
            table | known,
            {"successors": "true_mask", "initial_support": "true_mask"},
        ),
        "TabularMDP, masks": Target(
            uli.TabularMDP,
            table | known,
            {"successors": "successors", "initial_support": "states"},
        ),
        "TabularMDP.value": Target(
            RIVER.value, {"policy": np.full((2, 2, 2), 0.5)}, {"policy": "policy"}
        ),
        "TabularMDP.gap": Target(
            RIVER.gap, {"policy": np.full((2, 2, 2), 0.5)}, {"policy": "policy"}
        ),
        "runs.last_policy": Target(runs.last_policy, {"replication": 1}, {"replication": "arm"}),
        "model player.tell": Target(
            episode_told,
            {"id": 1, "states": [0, 0], "actions": policy[:, 0].tolist()},
            {"id": "decision", "states": "path", "actions": "path"},
        ),
        "simulate, models": Target(
            uli.simulate,
            {"learner": MODELS, "problem": RIVER, "horizon": 20, "rounds": [1, 20]},
            {"problem": "object", "horizon": "whole", "rounds": "rounds"},
        ),
        "gymnasium.PolicyAgent": Target(
            gymnasium.PolicyAgent,
            {"env": LAKE, "learner": MODELS, "horizon": 2, "seed": 1},
            {"env": "object", "learner": "object", "horizon": "whole", "seed": "seed"},
        ),
        "gymnasium.PolicyAgent.act": Target(
            lambda observation: stepped(observation, 0), {"observation": 0}, {"observation": "arm"}
        ),
        "gymnasium.PolicyAgent.observe": Target(
            lambda observation: stepped(0, observation), {"observation": 0}, {"observation": "arm"}
        ),
    }


def live_targets():
    """Return the targets of live decisions, of other libraries' interfaces and of study files."""
    player, study = SE.start(2), driven()
    player.ask(2)
    rewards = RIVER.rewards
    return {
        "Study.open": Target(
            begun,
            {"path": "s.db", "learner": SE, "arms": 2, "seed": 1, "low": 0.0, "high": 1.0},
            {"path": "file", "learner": "object", "arms": "arms", "seed": "seed"},
        ),
        "Study.ask": Target(
            study.ask,
            {"request_id": "one", "metadata": {"ward": "B2"}},
            {"request_id": "key", "metadata": "table"},
        ),
        "Study.tell": Target(
            lambda decision_id, reward: study_told(decision_id, reward, False),
            {"decision_id": NEW, "reward": 0.5},
            {"decision_id": "decision", "reward": "reward"},
        ),
        "Study.tell_missing": Target(
            lambda decision_id, reason: study_told(decision_id, reason, True),
            {"decision_id": NEW, "reason": "moved"},
            {"decision_id": "decision", "reason": "key"},
        ),
        "Study.pending": Target(study.pending, {"older_than": 5.0}, {"older_than": "seconds"}),
        "player.ask": Target(player.ask, {"n": 1}, {"n": "whole"}),
        "player.tell": Target(
            lambda id, reward: player_told(id, reward, False),
            {"id": 1, "reward": 0.5},
            {"id": "decision", "reward": "reward"},
        ),
        "player.tell_missing": Target(
            lambda id, reason: player_told(id, reason, True),
            {"id": 2, "reason": "x"},
            {"id": "decision", "reason": "text"},
        ),
        "PolicyElimination.start": Target(
            uli.PolicyElimination(0.1).start,
            {
                "rewards": rewards,
                "initial_support": [0],
                "decision_points": np.ones(rewards.shape[:2], bool),
            },
            {"rewards": "matrix", "initial_support": "states", "decision_points": "mask"},
        ),
        "ModelElimination.start": Target(
            uli.ModelElimination(0.1).start,
            {
                "rewards": rewards,
                "initial_support": [0],
                "decision_points": np.ones(rewards.shape[:2], bool),
                "successors": np.ones((*rewards.shape, rewards.shape[1]), bool),
                "horizon": len(rewards),
            },
            {
                "rewards": "matrix",
                "initial_support": "states",
                "decision_points": "choices",
                "successors": "successors",
                "horizon": "whole",
            },
        ),
        "restore": Target(uli.restore, {"state": player.state()}, {"state": "state"}),
        "gymnasium.BanditAgent": Target(
            gymnasium.BanditAgent,
            {"env": ENV, "learner": SE},
            {"env": "object", "learner": "object"},
        ),
        "gymnasium.observe": Target(observed, {"reward": 0.5}, {"reward": "reward"}),
        "smpybandits.policy": Target(
            smpybandits.UCB,
            {"nbArms": 2, "amplitude": 1.0, "delta": 0.1},
            {"nbArms": "whole", "amplitude": "positive", "delta": "probability"},
        ),
        "smpybandits.getReward": Target(
            rewarded, {"arm": 0, "reward": 0.5}, {"arm": "arm", "reward": "reward"}
        ),
        "mabwiser.MAB": Target(
            mabwiser.MAB,
            {"arms": ["a", "b"], "learning_policy": SE, "seed": 1},
            {"arms": "arms", "learning_policy": "object", "seed": "seed"},
        ),
        "mabwiser.fit": Target(
            fitted,
            {"decisions": ["a", "b"], "rewards": [0.5, 0.4]},
            {"decisions": "labels", "rewards": "rows"},
        ),
        "rlberry.fit": Target(
            trained,
            {"budget": 3, "low": 0.0, "high": 1.0, "delta": 0.1},
            {"budget": "whole", "delta": "probability"},
        ),
        "a study file": Target(
            parsed,
            {"horizon": 10, "replications": 1, "seed": 1, "delta": 0.1, "means": [0.5, 0.4]},
            {"horizon": "toml", "replications": "toml", "delta": "toml", "means": "toml"},
        ),
    }


@functools.cache
def targets():
    """Return all targets, by name."""
    found = (
        live_targets()
        | model_targets()
        | {
            "BernoulliBandit": Target(
                uli.BernoulliBandit,
                {"means": [0.5, 0.4], "names": ["a", "b"]},
                {"means": "unit_vector", "names": "names"},
            ),
            "GaussianBandit": Target(
                uli.GaussianBandit,
                {"means": [0.5, 2.0], "sigma": 1.0},
                {"means": "vector", "sigma": "positive"},
            ),
            "DeterministicBandit": Target(
                uli.DeterministicBandit, {"means": [0.5, 0.4]}, {"means": "unit_vector"}
            ),
            "BetaBandit": Target(
                uli.BetaBandit,
                {"alpha": [1.0, 2.0], "beta": [2.0, 1.0]},
                {"alpha": "vector", "beta": "vector"},
            ),
            "TableBandit": Target(
                uli.TableBandit, {"rewards": np.ones((2, 5)) / 2}, {"rewards": "matrix"}
            ),
            "LinearBandit": Target(
                uli.LinearBandit,
                {"theta": [0.6, 0.3], "arms": np.eye(2), "sigma": 1.0, "noise": "gaussian"},
                {"theta": "vector", "arms": "matrix", "sigma": "positive", "noise": "choice"},
            ),
            "TabularMDP": Target(
                uli.TabularMDP,
                {
                    "transitions": RIVER.transitions,
                    "rewards": RIVER.rewards,
                    "initial": RIVER.initial,
                },
                {"transitions": "matrix", "rewards": "matrix", "initial": "initial"},
            ),
            "simulate": Target(
                uli.simulate,
                {
                    "learner": SE,
                    "problem": ARMS,
                    "horizon": 100,
                    "replications": 2,
                    "seed": 1,
                    "engine": "skip",
                    "rounds": [1, 100],
                    "n_jobs": 1,
                },
                {
                    "learner": "object",
                    "problem": "object",
                    "horizon": "whole",
                    "replications": "whole",
                    "seed": "seed",
                    "engine": "choice",
                    "rounds": "rounds",
                },
            ),
            "compare": Target(
                uli.compare,
                {"learners": [SE], "problem": ARMS, "horizon": 100, "replications": 2, "seed": 1},
                {
                    "problem": "object",
                    "horizon": "whole",
                    "replications": "whole",
                    "seed": "seed",
                },
            ),
            "turning_point": Target(
                uli.turning_point,
                {
                    "uli_learner": SE,
                    "optimistic_learner": uli.UCB(0.1),
                    "problem": ARMS,
                    "horizon": 1000,
                    "replications": 1,
                    "seed": 1,
                },
                {
                    "uli_learner": "object",
                    "optimistic_learner": "object",
                    "problem": "object",
                    "horizon": "whole",
                    "replications": "whole",
                    "seed": "seed",
                },
            ),
            "Ball": Target(
                uli.arm_sets.Ball, {"d": 2, "radius": 1.0}, {"d": "whole", "radius": "positive"}
            ),
            "Box": Target(
                uli.arm_sets.Box,
                {"low": [-1.0, -1.0], "high": [1.0, 1.0]},
                {"low": "vector", "high": "vector"},
            ),
            "Simplex": Target(uli.arm_sets.Simplex, {"d": 3}, {"d": "whole"}),
            "L1Ball": Target(
                uli.arm_sets.L1Ball, {"d": 3, "radius": 1.0}, {"d": "whole", "radius": "positive"}
            ),
            "Polytope": Target(
                uli.arm_sets.Polytope,
                {"G": SQUARE, "h": np.ones(4)},
                {"G": "matrix", "h": "vector"},
            ),
            "Finite": Target(uli.arm_sets.Finite, {"points": np.eye(2)}, {"points": "matrix"}),
            "maximize": Target(uli.arm_sets.Ball(2).maximize, {"u": [1.0, 0.0]}, {"u": "vector"}),
            "g_optimal": Target(uli.designs.g_optimal, {"arms": np.eye(2)}, {"arms": "matrix"}),
            "start": Target(SE.start, {"arms": 2}, {"arms": "arms"}),
            "lil_ucb_lower_bound": Target(
                uli.lower_bounds.lil_ucb_lower_bound,
                {"gap": 0.5, "delta": 0.1},
                {"gap": "probability", "delta": "probability"},
            ),
        }
    )
    for name, row in learners(plain=True).items():
        found[name] = Target(row.load(), {"delta": 0.1}, {"delta": "probability"})
        if "R" in inspect.signature(row.load()).parameters:
            found[f"{name}.R"] = Target(row.load(), {"R": 0.5}, {"R": "positive"})
    return found
