"""Agents for rlberry: ``Agent(env, **kw)``, ``fit(budget)``, ``eval()``, ``policy(observation)``.

Agents on tabular environments (rlberry's FiniteMDP, Gymnasium's toy text) read the tables and
simulate ``budget`` episodes of them in compiled code: the law is the environment's, but its
``step`` is not called. With ``live=True`` ModelElimination and PolicyElimination are told of the
steps of ``env`` itself, episode by episode, and use no probability of the table. Bandit agents step
``env``.
"""

from __future__ import annotations

from typing import Any

from uli_fast._registry import LearnerRow, learners
from uli_fast.compat._rlberry_agent import LearningAgent
from uli_fast.compat._rlberry_bandits import RlberryBanditAgent
from uli_fast.compat._rlberry_tabular import TabularAgent

# Every learner that its parameters describe has an agent: UCB has UCBAgent.
NAMED: dict[str, tuple[LearnerRow, type[LearningAgent]]] = {
    f"{row.name}Agent": (row, agent)
    for kind, agent in (("arms", RlberryBanditAgent), ("policies", TabularAgent))
    for row in learners(kind=kind, plain=True).values()
}
__all__ = list(NAMED)


def __getattr__(name: str) -> Any:
    if name not in NAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    row, agent = NAMED[name]
    said = f"{row.what}: see :class:`uli_fast.{row.name}`."
    body = {"name": row.name, "learner_type": row.load(), "__doc__": said, "__module__": __name__}
    globals()[name] = type(name, (agent,), body)
    return globals()[name]


def __dir__() -> list[str]:
    return __all__
