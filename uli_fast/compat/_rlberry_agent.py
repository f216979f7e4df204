"""What rlberry's ExperimentManager asks of an agent, without rlberry's base class.

An agent is saved as JSON, not pickled.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from copy import deepcopy
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from uli_fast import _check
from uli_fast._support.files import read_json
from uli_fast._support.streams import entropy_of
from uli_fast.errors import ArgumentError, StateError

# What a saved agent holds.
KEYS = {"agent", "about", "seeds", "budget", "scalars", "what"}


class Agent(ABC):
    """The arguments and methods that the manager uses; ``compress_pickle`` is not looked at."""

    name = ""

    def __init__(
        self,
        env: Any = None,
        eval_env: Any = None,
        copy_env: bool = True,
        compress_pickle: bool = True,
        seeder: Any = None,
        output_dir: Any = None,
        _execution_metadata: Any = None,
        _default_writer_kwargs: dict[str, Any] | None = None,
        _thread_shared_data: Any = None,
        **unknown: Any,
    ) -> None:
        for name in unknown:
            raise ArgumentError(name, f"is not a parameter of {type(self).__name__}")
        self.env = _made(env, copy_env)
        self.eval_env = _made(env if eval_env is None else eval_env, copy_env)
        self.output_dir = None if output_dir is None else Path(output_dir)
        self.budget = 0  # spent so far
        self._scalars: list[tuple[str, float, int]] = []
        self.writer = _writer(_default_writer_kwargs)
        self.reseed(seeder)

    @abstractmethod
    def fit(self, budget: int, **kwargs: Any) -> None:
        """Spend a budget; two calls are one call with the sum."""

    @abstractmethod
    def eval(self, **kwargs: Any) -> float:
        """Return the mean reward of an episode of the current policy."""

    @property
    def rng(self) -> np.random.Generator:
        """A generator of the agent's own."""
        return np.random.default_rng(self._seeds)

    @property
    def seed(self) -> int:
        """What seeds the learner."""
        return int.from_bytes(self._seeds.generate_state(4).tobytes(), "little")

    def reseed(self, seed_seq: Any = None) -> None:
        """Take new seeds: of a Seeder, a SeedSequence or a number; None takes fresh ones."""
        if self.budget:
            raise ArgumentError("seed_seq", "must come before the first fit")
        given = getattr(seed_seq, "seed_seq", seed_seq)
        if not isinstance(given, np.random.SeedSequence):
            given = np.random.SeedSequence(entropy_of(_check.seed("seed_seq", given)))
        # Rebuilt, so that spawning here does not change the caller's.
        self._seeds = np.random.SeedSequence(given.entropy, spawn_key=given.spawn_key)
        for env, child in zip((self.env, self.eval_env), self._seeds.spawn(2), strict=True):
            if hasattr(env, "reseed"):
                env.reseed(child)
            elif hasattr(env, "reset"):
                env.reset(seed=int(child.generate_state(1)[0]))

    def set_writer(self, writer: Any) -> None:
        """Write to another writer from now on."""
        self.writer = writer

    def save(self, filename: Any) -> Path:
        """Save what was learned as JSON; return the file."""
        path = Path(filename).with_suffix(".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        key = [int(x) for x in self._seeds.spawn_key]
        seeds = {"entropy": self._seeds.entropy, "spawn_key": key}
        head = {"agent": type(self).__name__, "about": repr(self), "seeds": seeds}
        content = head | {"budget": self.budget, "scalars": self._scalars, "what": self._saved()}
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    @classmethod
    def load(cls, filename: Any, **kwargs: Any) -> Self:
        """Return an agent made with these arguments that knows what was saved."""
        agent = cls(**kwargs)
        content = read_json(_check.path("filename", filename).with_suffix(".json"))
        if not isinstance(content, dict) or not KEYS <= content.keys():
            raise StateError("filename", "does not hold a saved agent")
        if (content["agent"], content["about"]) != (cls.__name__, repr(agent)):
            raise StateError("filename", f"holds {content['about']}, not {agent!r}")
        seeds = content["seeds"]
        agent._seeds = np.random.SeedSequence(seeds["entropy"], spawn_key=seeds["spawn_key"])
        agent._load(content["what"])
        agent.budget = _check.whole("budget", content["budget"], least=0)
        for tag, value, step in content["scalars"]:
            agent._write(tag, value, step)
        return agent

    def _write(self, tag: str, value: float, step: int) -> None:
        self._scalars.append((tag, float(value), int(step)))
        if self.writer is not None:
            self.writer.add_scalar(tag, float(value), int(step))

    @abstractmethod
    def _saved(self) -> Any:
        """Return what was learned, for JSON."""

    @abstractmethod
    def _load(self, saved: Any) -> None:
        """Take over what was learned."""


class LearningAgent(Agent):
    """Splits keyword arguments between the learner and the agent."""

    learner_type: ClassVar[Any]

    def __init__(self, env: Any, **kwargs: Any) -> None:
        known = {field.name for field in fields(self.learner_type)}
        given = {key: kwargs.pop(key) for key in list(kwargs) if key in known}
        self.learner = self.learner_type(**given)
        super().__init__(env, **kwargs)


def _made(env: Any, copied: bool) -> Any:
    """Return an environment, given itself or as (constructor, arguments)."""
    if isinstance(env, tuple):
        constructor, arguments = env
        return None if constructor is None else constructor(**(arguments or {}))
    return deepcopy(env) if copied else env


def _writer(arguments: dict[str, Any] | None) -> Any:
    """Return rlberry's writer where its manager asks for one."""
    if arguments is None:
        return None
    from rlberry.utils.writers import DefaultWriter

    return DefaultWriter(**arguments)
