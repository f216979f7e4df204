"""What learners on tabular MDPs share: engines, allocation, the log of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from uli_fast._typing import B1, F64, I64, U64
from uli_fast.errors import SaturationWarning
from uli_fast.learners._base import Learner
from uli_fast.learners._setting import PolicySetting, about_of

if TYPE_CHECKING:
    from uli_fast.kernels.mdp.episodes import EpisodePath, Model
    from uli_fast.kernels.mdp.policy_log import PolicyLog
    from uli_fast.problems.tabular_mdp import TabularMDP

# Policies that a log has room for at first.
FIRST_ROOM = 64


class PhaseNote(NamedTuple):
    """What is remembered about a phase; NaN where it did not end or is not known."""

    first: int
    last: int
    policies: float  # active ones
    error: float  # largest |estimate - value| over the active policies, on [0, 1] rewards
    saturated: float  # share of episodes in whose initial state the optimistic value is still H


class LookLog(NamedTuple):
    """What the looks of a run said, on [0, 1] rewards, and what came of the actions."""

    first: I64  # (l,) first episode after each look
    facts: F64  # (l, 5) certificate, width, upper and lower value, gap of the policy played
    left: B1  # (H, S, A) actions left
    dropped: I64  # (H, S, A) first episode without an action, 0 if never dropped
    empty_at: int  # first episode without a plausible model, 0 if there always is one
    held: bool  # whether the truth was plausible at all looks
    mixed: bool  # whether policies draw their actions


@dataclass
class PolicyRun:
    """One replication in progress."""

    on: PolicySetting
    horizon: int
    rounds: I64
    t: int = 0
    notes: list[PhaseNote] = field(default_factory=list)
    complaint: str | None = None  # that something is wrong, and as which warning
    warning: type[Warning] = SaturationWarning

    @property
    def problem(self) -> TabularMDP:
        """What is played."""
        problem: TabularMDP = self.on.about
        return problem

    def __post_init__(self) -> None:
        self.model = new_model(self.problem)
        self.policy_log = new_policy_log(self.problem, self.rounds)
        self.path = new_path(self.problem.horizon, self.problem.n_states)
        self.visits: I64 = np.zeros_like(self.model.N)

    def advance(self, budget: int) -> bool:
        """Play about ``budget`` episodes and say whether the horizon is reached."""
        raise NotImplementedError

    @property
    def played(self) -> I64:
        """Episodes played, (1,)."""
        return np.array([self.t])

    def look_log(self) -> LookLog | None:
        """Return what every look said, where a run makes looks."""
        return None

    def make_room(self) -> None:
        """Double the log."""
        self.policy_log = grown(self.policy_log)


class PolicyLearner(Learner):
    """A learner on a tabular MDP; subclasses are frozen dataclasses."""

    engines: ClassVar[tuple[str, ...]] = ("rounds",)

    def engines_for(self, problem: Any) -> tuple[str, ...]:
        """Return the engines that can play this problem, the preferred one first."""
        return self.engines

    def on(self, about: Any) -> PolicySetting:
        """Return this learner on a TabularMDP, or on the size of one."""
        mine = isinstance(about, PolicySetting) and about.learner is self
        return about if mine else PolicySetting(self, about_of(about))

    def begin(
        self,
        on: PolicySetting,
        words: U64,
        engine: str,
        horizon: int,
        rounds: I64,
    ) -> PolicyRun:
        """Allocate one replication."""
        raise NotImplementedError

    def start_on(self, mdp: TabularMDP) -> Any:
        """Begin live episodes of an MDP; of its probabilities only what is possible is used."""
        raise NotImplementedError


def new_model(problem: TabularMDP) -> Model:
    """Allocate what a learner sees of an MDP."""
    return empty_model(problem.horizon, problem.n_states, problem.n_actions)


def empty_model(H: int, S: int, A: int) -> Model:
    """Allocate an empty model."""
    from uli_fast.kernels.mdp.episodes import Model

    return Model(
        N=np.zeros((H, S, A), np.int64),
        N3=np.zeros((H, S, A, S), np.int64),
        P=np.zeros((H, S, A, S)),
        c=np.zeros((H, S, A)),
        starts=np.zeros(S, np.int64),
        top=np.full(S, float(H)),
    )


def new_path(H: int, S: int) -> EpisodePath:
    """Return room for an episode."""
    from uli_fast.kernels.mdp.episodes import EpisodePath

    return EpisodePath(np.zeros((H, S), np.int8), np.zeros(H, np.int64), np.zeros(H, np.int64))


def new_policy_log(problem: TabularMDP, rounds: I64) -> PolicyLog:
    """Allocate the list of the policies played."""
    from uli_fast.kernels.mdp.policy_log import PolicyLog
    from uli_fast.problems.tabular_mdp import NO_GAP

    return PolicyLog(
        **_entries(FIRST_ROOM, problem.horizon, problem.n_states),
        size=np.zeros(1, np.int64),
        clock=np.zeros(1, np.int64),
        rounds=rounds,
        regret=np.zeros(rounds.size),
        at=np.zeros(1, np.int64),
        P=problem.transitions,
        r=problem.unit_rewards,
        start=problem.initial,
        best=np.array([problem.unit_optimal, NO_GAP * problem.horizon]),
        V=np.zeros(problem.n_states),
        W=np.zeros(problem.n_states),
    )


def _entries(room: int, H: int, S: int) -> dict[str, Any]:
    return {
        "policy": np.zeros((room, H, S), np.int8),
        "plays": np.zeros(room, np.int64),
        "last": np.zeros(room, np.int64),
        "gap": np.zeros(room),
        "slot": np.full(4 * room, -1, np.int64),
    }


def grown(policy_log: PolicyLog) -> PolicyLog:
    """Return the same log with twice the room."""
    from uli_fast.kernels.mdp.policy_log import rehash

    n, H, S = policy_log.policy.shape
    more = _entries(2 * n, H, S)
    for name in ("policy", "plays", "last", "gap"):
        more[name][:n] = getattr(policy_log, name)
    larger = policy_log._replace(**more)
    rehash(larger)
    return larger
