"""Policy elimination on tabular MDPs (Tabular Episodic MDPs with ULI guarantee).

Deviation: phases last until an explicit error bound is small enough, the policy of an episode
is chosen after its initial state is seen, and bonuses are clipped at H (docs/errata.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uli_fast import _check
from uli_fast._typing import B1, F64, I8, I64, U64, Method, Schedule
from uli_fast.errors import ArgumentError, NoGuaranteeError, PolicySearchError
from uli_fast.guarantees import Guarantee
from uli_fast.guarantees.policy_schedule import PhasePlan, Size, plan
from uli_fast.learners._parameters import checked, shared_probability, whole, word
from uli_fast.learners._policies.policy_sets import PolicySet
from uli_fast.learners._policies.runs import PhaseNote, PolicyLearner, PolicyRun
from uli_fast.learners._policies.searched_sets import SearchedSet, too_many
from uli_fast.learners._setting import PolicySetting
from uli_fast.problems import kinds
from uli_fast.problems.tabular_mdp import TabularMDP

if TYPE_CHECKING:
    from uli_fast.kernels.mdp.episodes import Model
    from uli_fast.players.policy_elimination import PolicyPlayer

METHODS = ("auto", "plain", "trie", "search")
# Policies that are kept one by one; beyond that, only method "search" works.
LARGEST_SET = 1 << 21
# A phase that ends with this share of its episodes saturated has not explored enough.
SATURATED = 0.1


@dataclass(frozen=True)
class PolicyElimination(PolicyLearner):
    """Explore where least is known; drop the policies that are surely worse, phase by phase.

    With probability 1 - delta the policy of every episode t has a gap of at most 4 2^-m(t),
    m(t) being its phase (H in the first), for schedules "proved" and "sharp". A gap is the
    difference of expected rewards over an episode, averaged over initial states.

    The paper's own algorithm, for small MDPs: it lists policies, and drops the first of them after
    10^6 episodes or more. ModelElimination takes MDPs of any size and certifies far sooner.

    Parameters
    ----------
    delta
        Probability with which the guarantee may fail.
    schedule
        "proved": the paper's bonus, phases as long as an explicit error bound asks for.
        "sharp": a tighter bonus and phases about nine times shorter, also proved. (c1, c2):
        the paper's formula with your own constants; no guarantee is attached.
    method
        How the best active policy is found; all give the same choices. "auto": backward
        induction while nothing is eliminated, then a trie of shared suffixes. "plain": one
        policy after the other. "trie": the trie from the start. "search" (experimental):
        branch and bound on policies that are never listed.
    node_cap
        Nodes that "search" may visit for one choice; beyond that, PolicySearchError.

    Examples
    --------
    >>> import uli_fast as uli
    >>> mdp = uli.mdps.river_swim(n_states=2, horizon=2)
    >>> learner = uli.PolicyElimination(delta=0.1, schedule="sharp")
    >>> f"{learner.guarantee(mdp).rounds_until(0.5):.0e}"  # episodes
    '7e+06'
    """

    delta: float = shared_probability(0.05)
    schedule: Schedule | tuple[float, float] = checked("proved", _check.schedule)
    method: Method = word("auto", METHODS)
    node_cap: int = whole(10**7)
    engines: ClassVar[tuple[str, ...]] = ("skip", "rounds")

    def guarantee(self, about: Any) -> Guarantee:
        """Return the promise F, before anything is played. Rounds are episodes.

        Parameters
        ----------
        about
            A TabularMDP, or (S, A, H): states, actions, stages.

        Returns
        -------
        Guarantee
            With ``bound(t)``, ``rounds_until(eps)`` and ``regret(T)``, in reward units.

        Raises
        ------
        NoGuaranteeError
            Nothing is proved for this case.
        """
        return self.guarantee_for(*self.on(about).size)

    def guarantee_for(self, size: Size, scale: float) -> Guarantee:
        """Return F_ULI for an MDP of this size and these reward units."""
        if not isinstance(self.schedule, str):
            raise NoGuaranteeError(
                "the paper's formula leaves c1 and c2 open, so nothing is proved for "
                f"{self.schedule}; use schedule='proved' or 'sharp'"
            )
        parameters = size._asdict() | {"largest_gap": float(size.H)}
        return Guarantee(f"POLICY-{self.schedule}", self.delta, parameters, scale)

    def read(self, about: Any) -> tuple[Size, float]:
        """Read the size of a TabularMDP or (S, A, H), and its reward units."""
        return read_size(about)

    def plan(self, size: Size, m: int) -> PhasePlan:
        """Return length and bonus of phase m."""
        return plan(self.schedule, size, self.delta, m)

    def check(self, on: PolicySetting, horizon: int) -> None:
        """Refuse more policies than can be listed."""
        problem = on.about
        refuse_many("problem", problem.n_policies, self.method, f"{problem!r}")

    def begin(
        self,
        on: PolicySetting,
        words: U64,
        engine: str,
        horizon: int,
        rounds: I64,
    ) -> EliminationRun:
        """Allocate one replication."""
        run = EliminationRun(on, horizon, rounds)
        run.prepare(words, engine)
        return run

    def start(
        self,
        rewards: Any,
        initial_support: Any = None,
        low: float = 0.0,
        high: float = 1.0,
        decision_points: Any = None,
        seed: int | None = None,
        horizon: int | None = None,
    ) -> PolicyPlayer:
        """Begin live episodes of an MDP whose transitions are not known; decisions are policies.

        Nothing is drawn at random and nothing is tuned to a horizon, so ``seed`` and
        ``horizon`` (a number of episodes) change nothing.

        Parameters
        ----------
        rewards
            Rewards, (H, S, A), known and within [low, high].
        initial_support
            The states in which an episode may begin; by default all. First actions in other
            states are not decided.
        low, high
            Range of the rewards.
        decision_points
            Mask (H, S): where an action is to be decided, as in TabularMDP; elsewhere it is 0.
            That this costs nothing (no episode passes there, or all actions do the same) is your
            knowledge, and certificates say so. A mask that the rewards contradict is refused;
            one that an episode contradicts certifies nothing from then on.
        """
        from uli_fast.players.policy_elimination import PolicyPlayer

        _check.unused(seed, horizon)
        known = self._known(rewards, initial_support, low, high, decision_points)
        table, support, points, *_ = known
        _check.kept_choices("decision_points", points, table, support)
        return PolicyPlayer(self, *known)

    def start_on(self, mdp: TabularMDP) -> PolicyPlayer:
        """Begin live episodes of an MDP; of its probabilities only the first states are used."""
        first = np.flatnonzero(mdp.initial).tolist()
        return self.start(mdp.rewards, first, mdp.low, mdp.high, mdp.decision_points)

    def _known(
        self, rewards: Any, initial_support: Any, low: Any, high: Any, decision_points: Any
    ) -> tuple[F64, B1, B1, float, float]:
        """Return what is known before the first episode: rewards, support, mask, range."""
        if self.method == "search":
            raise ArgumentError("method", "'search' is not available live; 'auto' is")
        low, high = _check.interval(low, high)
        if kinds.is_mdp(rewards):
            raise ArgumentError(
                "rewards", "must be an array of numbers, got TabularMDP: give mdp.rewards"
            )
        table = _check.stage_rewards("rewards", rewards, low, high)
        H, S, A = table.shape
        support = _check.state_set("initial_support", initial_support, S)
        points = _check.decision_points("decision_points", decision_points, np.full((H, S), True))
        points[0] &= support
        count = int(points.sum())
        refuse_many("rewards", A**count, self.method, f"{A}^{count} policies: that")
        return table, support, points, low, high


def refuse_many(name: str, policies: int, method: str, whose: str) -> None:
    """Refuse more policies than can be listed."""
    if method != "search" and policies > LARGEST_SET:
        raise ArgumentError(
            name,
            f"{whose} is more than the {LARGEST_SET:,} policies that are listed one by one; "
            "ModelElimination lists none; fewer stages, states or decision points "
            "(TabularMDP.restricted) help, or, in simulations, method='search' (experimental)",
        )


def read_size(about: Any) -> tuple[Size, float]:
    """Read the size of a TabularMDP or (S, A, H), and its reward units."""
    if kinds.is_mdp(about):
        return size_of(about.decision_points, about.n_actions), about.scale
    if not isinstance(about, tuple | list) or len(about) != 3:
        raise ArgumentError("about", f"must be a TabularMDP or (S, A, H), got {about!r}")
    S, A, H = (_check.mdp_part("about", x) for x in about)
    return Size(S, A, H, S * H * math.log(A)), 1.0


def size_of(points: B1, A: int) -> Size:
    """Return the size of an MDP with these decision points, (H, S)."""
    H, S = points.shape
    return Size(S, A, H, int(points.sum()) * math.log(A))


class EliminationRun(PolicyRun):
    """One replication in progress, phase by phase."""

    def prepare(self, words: U64, engine: str) -> None:
        """Begin with all policies."""
        self.law, self.engine = self.problem.law(words), engine
        self.size, _ = self.on.size
        self.initial: B1 = self.problem.initial > 0.0
        points, A = self.problem.decision_points, self.problem.n_actions
        self.active: PolicySet | SearchedSet = PolicySet(points, A)
        if self.on.learner.method == "search":
            self.active = SearchedSet(points, A, self.on.learner.node_cap)
        self.phase, self.end = 0, 0
        # Kernels are compiled for arrays that may be written to.
        truth = (self.problem.transitions, self.problem.unit_rewards, self.problem.initial)
        self.truth: Any = tuple(np.array(x) for x in truth)

    def advance(self, budget: int) -> bool:
        """Play about ``budget`` episodes, at most to the end of a phase."""
        from uli_fast.kernels import policy_elimination as kernel

        if self.t == self.end:
            self._open()
        left = min(self.end, self.horizon) - self.t
        if self.settled is not None:
            self._draw(self.settled, left)
        else:
            args = (self.chooser, self.law, self.model, self.bonus, self.policy_log, self.path)
            status = kernel.LOOPS[type(self.chooser)](*args, min(budget, left))
            if status == kernel.NO_ROOM:
                self.make_room()
            elif status == kernel.TOO_MANY:
                raise PolicySearchError(too_many(self.on.learner.node_cap))
            self.t = int(self.policy_log.clock[0])
        if self.t == self.end:
            self._close()
        elif self.t == self.horizon:
            self._note(math.nan, math.nan)
        return self.t == self.horizon

    def _open(self) -> None:
        from uli_fast.kernels.policy_elimination import open_phase

        self.phase += 1
        length, bonus = self.on.learner.plan(self.size, self.phase)
        self.first, self.end = self.t + 1, self.t + length
        self.bonus = np.array(bonus)
        open_phase(self.model, self.bonus)
        self.settled: I8 | None = None
        if self.engine == "skip":
            self.settled = self.active.settled(self.initial, self.problem.transitions > 0.0)
        if self.settled is None:
            self.chooser = self.active.chooser(self.on.learner.method, self.initial)

    def _draw(self, policy: I8, n: int) -> None:
        """Draw n episodes of the only policy left at once."""
        from uli_fast.kernels.mdp.episodes import draw_episodes
        from uli_fast.kernels.mdp.policy_log import enter_block

        if self.policy_log.size[0] == len(self.policy_log.policy):
            self.make_room()
        enter_block(self.policy_log, policy, self.t, n)
        draw_episodes(self.law, self.model, policy, n)
        self.t += n
        self.policy_log.clock[0] = self.t

    def _close(self) -> None:
        """Estimate every active policy and drop those 2^-m behind the best."""
        model = self.model
        saturated = 0.0 if self.settled is not None else saturation(model)
        if saturated > SATURATED and self.complaint is None:
            self.complaint = complaint(self.phase, saturated)
        self._note(self.active.worst_error(model, self.truth), saturated)
        self.active = self.active.after(model, self.truth[1], self.phase)

    def _note(self, error: float, saturated: float) -> None:
        self.visits += self.model.N
        self.notes.append(PhaseNote(self.first, self.t, self.active.count, error, saturated))


def saturation(model: Model) -> float:
    """Return the share of episodes in whose initial state the optimistic value is still H."""
    stuck = model.top >= len(model.c)
    return float(model.starts[stuck].sum() / model.starts.sum())


def complaint(m: int, share: float) -> str:
    """Warn that a phase ended before it had explored enough."""
    return (
        f"phase {m} ended saturated: in {share:.0%} of its episodes the optimistic value was "
        "still H, so its estimates may be far off; take a larger c1"
    )
