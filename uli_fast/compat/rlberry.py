"""Agents for rlberry: ``Agent(env, **kw)``, ``fit(budget)``, ``eval()``, ``policy(observation)``.

Agents on tabular environments (rlberry's FiniteMDP, Gymnasium's toy text) read the tables and
simulate ``budget`` episodes of them in compiled code: the law is the environment's, but its
``step`` is not called. With ``live=True`` PolicyElimination is told of the steps of ``env``
itself, episode by episode, and uses no probability of the table. Bandit agents step ``env``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import uli_fast as uli
from uli_fast.compat._rlberry_bandits import BanditAgent
from uli_fast.compat._rlberry_tabular import TabularAgent
from uli_fast.errors import UnsupportedError

if TYPE_CHECKING:
    from uli_fast.compat.gymnasium import PolicyAgent
    from uli_fast.players._certificate import Certificate

__all__ = [
    "BettingEliminationAgent",
    "Exp3PAgent",
    "KLUCBAgent",
    "LilUCBAgent",
    "MetaEliminationAgent",
    "PhasedEliminationAgent",
    "PolicyEliminationAgent",
    "SuccessiveEliminationAgent",
    "ThompsonSamplingAgent",
    "UBEVAgent",
    "UCBAgent",
    "UCBVIAgent",
]


class PolicyEliminationAgent(TabularAgent):
    """Policy elimination: see :class:`uli_fast.PolicyElimination`."""

    name, learner_type = "PolicyElimination", uli.PolicyElimination

    def _player(self) -> PolicyAgent:
        from uli_fast.compat.gymnasium import PolicyAgent

        return PolicyAgent(self.env, self.learner, self.horizon)

    def certificate(self) -> Certificate:
        """Return what is certain of every policy still active; ``live`` agents only."""
        if self._live is None:
            raise UnsupportedError(
                "a simulation is checked against the truth: see agent.runs.holds"
            )
        return self._live.certificate()


class UCBVIAgent(TabularAgent):
    """The optimistic rival: see :class:`uli_fast.UCBVI`."""

    name, learner_type = "UCBVI", uli.UCBVI


class UBEVAgent(TabularAgent):
    """The uniform-PAC rival: see :class:`uli_fast.UBEV`."""

    name, learner_type = "UBEV", uli.UBEV


class SuccessiveEliminationAgent(BanditAgent):
    """SE-MAB: see :class:`uli_fast.SuccessiveElimination`."""

    name, learner_type = "SuccessiveElimination", uli.SuccessiveElimination


class PhasedEliminationAgent(BanditAgent):
    """PE-MAB: see :class:`uli_fast.PhasedElimination`."""

    name, learner_type = "PhasedElimination", uli.PhasedElimination


class BettingEliminationAgent(BanditAgent):
    """Elimination by betting: see :class:`uli_fast.BettingElimination`."""

    name, learner_type = "BettingElimination", uli.BettingElimination


class MetaEliminationAgent(BanditAgent):
    """Elimination over an adversarial base: see :class:`uli_fast.MetaElimination`."""

    name, learner_type = "MetaElimination", uli.MetaElimination


class UCBAgent(BanditAgent):
    """The optimistic rival: see :class:`uli_fast.UCB`."""

    name, learner_type = "UCB", uli.UCB


class LilUCBAgent(BanditAgent):
    """The optimistic rival that settles: see :class:`uli_fast.LilUCB`."""

    name, learner_type = "LilUCB", uli.LilUCB


class KLUCBAgent(BanditAgent):
    """The sharpest optimistic rival: see :class:`uli_fast.KLUCB`."""

    name, learner_type = "KLUCB", uli.KLUCB


class ThompsonSamplingAgent(BanditAgent):
    """The rival that draws its decisions: see :class:`uli_fast.ThompsonSampling`."""

    name, learner_type = "ThompsonSampling", uli.ThompsonSampling


class Exp3PAgent(BanditAgent):
    """An adversarial baseline, tuned to ``horizon``: see :class:`uli_fast.Exp3P`."""

    name, learner_type = "Exp3P", uli.Exp3P
