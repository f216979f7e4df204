"""A learner of the user's own: what it chooses and how it learns are the user's code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from uli_fast import _check
from uli_fast._support.streams import entropy_of, generator_of
from uli_fast._typing import I64
from uli_fast.errors import ArgumentError, NoGuaranteeError, OwnLearnerError, RuleError
from uli_fast.guarantees import Guarantee, ratio_by_round
from uli_fast.learners._arms import ArmBatch, ArmLearner, OneByOne, new_states
from uli_fast.learners._parameters import probability
from uli_fast.learners._setting import ArmSetting

if TYPE_CHECKING:
    from uli_fast.kernels.arms.state import ArmState, RoundRecord
    from uli_fast.kernels.rewards.laws import Law
    from uli_fast.players.own_learner import OwnPlayer
    from uli_fast.problems.arms import ArmBandit

# Rounds between two looks at the user's bound, and at Ctrl-C.
_CHUNK = 1 << 14
# What a class of the user's must have, and what each method is given.
_METHODS = {"choose": "self, t", "update": "self, arm, reward"}


class Mind(Protocol):
    """What one run of a learner of the user's own knows."""

    def choose(self, t: int) -> Any:
        """Return the arm of round t = 1, 2, ...: a number from 0 to K - 1.

        Or ``(arm, probability)``, where it is drawn.
        """

    def update(self, arm: int, reward: float) -> None:
        """Learn from the reward of an arm that was chosen."""


class FunctionMind(NamedTuple):
    """A state, and the functions that choose by it and change it."""

    state: Any
    choose_by: Callable[[Any, int], Any]
    change: Callable[[Any, int, float], None]

    def choose(self, t: int) -> Any:
        """Return the arm of round t."""
        return self.choose_by(self.state, t)

    def update(self, arm: int, reward: float) -> None:
        """Learn from a reward."""
        self.change(self.state, arm, reward)


@dataclass(frozen=True, repr=False)
class OwnLearner(ArmLearner):
    """A learner of your own: a class with ``choose`` and ``update``, or three functions.

    Every run begins with ``make(K, rng)``, where K is the number of arms and rng a
    ``numpy.random.Generator`` that belongs to this run alone: its seed follows from the seed and
    the number of the replication. Then, in every round t = 1, 2, ..., ``choose`` returns the arm
    to play, a whole number from 0 to K - 1, and ``update`` is told the reward, in the units of the
    problem. Where all randomness comes from rng, results are the same for any ``n_jobs``, and
    studies can be opened again.

    Nothing is proved about it: it has no guarantee, and is held against those of others. A
    ``claim`` is tested in every round, and called yours wherever it is shown.

    Parameters
    ----------
    make
        Called as ``make(K, rng)``. Alone, it returns an object with ``choose(t)`` and
        ``update(arm, reward)``: it may be the class itself. With the two functions below, it
        returns any state that they change in place, such as a tuple of arrays and rng.
    choose
        ``choose(state, t) -> arm``. If this and ``update`` are compiled with ``numba.njit``, all
        rounds run in one compiled loop.
    update
        ``update(state, arm, reward)``.
    name
        What tables and figures call it; by default the name of ``make``.
    claim
        ``claim(K, delta, t)``: with probability 1 - delta the gap of what is played at every round
        t is at most this, in the units of the rewards.
    delta
        Probability with which the claim may fail.

    Notes
    -----
    ``choose`` may return ``(arm, probability)`` where it draws; live decisions then come with the
    probability, which is NaN where rng was used and nothing was said. In live use rewards may
    come late: ``choose`` is then called again before ``update``, and updates come in the order of
    the decisions. Outcomes that never come are left out.

    Examples
    --------
    >>> import numpy as np
    >>> import uli_fast as uli
    >>> class Greedy:
    ...     def __init__(self, K, rng):
    ...         self.n, self.total, self.rng = np.zeros(K), np.zeros(K), rng
    ...     def choose(self, t):
    ...         if self.rng.random() < 0.1:
    ...             return int(self.rng.integers(len(self.n)))
    ...         return int(np.argmax(self.total / np.maximum(self.n, 1)))
    ...     def update(self, arm, reward):
    ...         self.n[arm] += 1
    ...         self.total[arm] += reward
    >>> runs = uli.simulate(uli.OwnLearner(Greedy), uli.BernoulliBandit([0.7, 0.5]), 1000, seed=1)
    >>> runs.learner
    'Greedy(OwnLearner, delta=0.05)'
    """

    make: Callable[[int, np.random.Generator], Any]
    choose: Callable[[Any, int], Any] | None = None
    update: Callable[[Any, int, float], Any] | None = None
    name: str | None = None
    claim: Callable[[int, float, float], float] | None = None
    delta: float = probability(0.05)

    engines: ClassVar[tuple[str, ...]] = ("rounds",)
    returns: ClassVar[bool] = True
    draws: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if hasattr(self.make, "choose") and not isinstance(self.make, type):
            raise ArgumentError(
                "make", "pass the class, not an instance: every run needs a fresh one"
            )
        _check.function("make", self.make)
        for name, other in (("choose", "update"), ("update", "choose")):
            if getattr(self, name) is not None:
                _check.function(name, getattr(self, name))
                if getattr(self, other) is None:
                    raise ArgumentError(other, f"must be given where {name} is")
        if self.claim is not None:
            _check.function("claim", self.claim)
        if self.name is not None and "(" in _check.key("name", self.name):
            raise ArgumentError("name", f"must hold no parenthesis, got {self.name!r}")

    def __repr__(self) -> str:
        return f"{self.title}(OwnLearner, delta={self.delta:g})"

    @property
    def title(self) -> str:
        """What tables and figures call it."""
        given = str(getattr(self.make, "__name__", type(self).__name__))
        return self.name or (given if given.isidentifier() else type(self).__name__)

    @property
    def baseline(self) -> bool:  # type: ignore[override]  # without a claim it promises nothing
        """Whether it promises nothing."""
        return self.claim is None

    def guarantee(self, about: Any) -> Guarantee:
        """Return the claim, which is the user's, for a problem or a number of arms."""
        if self.claim is None:
            raise NoGuaranteeError(f"nothing is proved about {self.title}, and it claims nothing")
        arms = self.on(about).proved_arms
        parameters = {"K": arms.K, "largest_gap": arms.scale * arms.largest_gap}
        return Guarantee("user", self.delta, parameters, 1.0, partial(self._claimed, arms.K))

    def _claimed(self, K: int, t: float) -> float:
        assert self.claim is not None
        value = self.claim(K, self.delta, t)
        try:
            return float(value)
        except (TypeError, ValueError):
            said = f"claim must return a number, got {value!r} at round {t:.0f}"
            raise RuleError(said) from None

    def check(self, on: ArmSetting, horizon: int) -> None:
        """Refuse nothing: any arms can be played."""

    # What runs and players share.

    def begun(self, K: int, rng: np.random.Generator) -> Mind:
        """Return what a new run knows."""
        made = self.make(K, rng)
        if self.choose is not None and self.update is not None:
            return FunctionMind(made, self.choose, self.update)
        for name in _METHODS:
            if not callable(getattr(made, name, None)):
                raise OwnLearnerError(
                    f"{self.title}: {type(made).__name__} has no method `{name}`: "
                    f"add {name}({_METHODS[name]})"
                )
        mind: Mind = made
        return mind

    def chosen(self, choice: Any, K: int, t: int) -> tuple[int, float | None]:
        """Return an arm and its probability, None where it was not told; refuse anything else."""
        arm, probability = choice if type(choice) is tuple and len(choice) == 2 else (choice, None)
        whole = isinstance(arm, int | np.integer) and not isinstance(arm, bool)
        if not whole or not 0 <= arm < K:
            raise self.no_arm(arm, K, t)
        if probability is None:
            return int(arm), None
        try:
            return int(arm), _check.probability("probability", probability)
        except ArgumentError as problem:
            raise OwnLearnerError(f"{self.title} at round {t}: {problem}") from None

    def no_arm(self, arm: Any, K: int, t: int) -> OwnLearnerError:
        """Say that a choice is no arm."""
        said = f"chose {_check.shown(arm)} at round {t}, not a whole number from 0 to {K - 1}"
        return OwnLearnerError(f"{self.title} {said}")

    # Simulations.

    def begin(
        self, on: ArmSetting, law: Law, record: RoundRecord, engine: str, horizon: int
    ) -> ArmBatch:
        """Allocate the replications whose streams the law has."""
        states = new_states(law)
        worst = np.full(len(law.words), np.nan)
        problem, guarantee = on.about, on.guarantee

        def begin(r: int, state: ArmState, law: Law, record: RoundRecord) -> Callable[[int], bool]:
            mind = self.begun(problem.n_arms, generator_of(law.words))
            run = OwnRun(self, mind, law, state, record, problem)

            def advance(budget: int) -> bool:
                rounds, played = run.play(horizon)
                if guarantee is not None:
                    gaps = problem.gaps[played]
                    ratio = ratio_by_round(gaps, rounds.astype(np.float64), guarantee)
                    worst[r] = np.fmax(worst[r], ratio)
                return bool(state.clock[0] == horizon)

            return advance

        return ArmBatch(states, OneByOne(states, law, record, begin).advance, worst)

    # Live decisions.

    def start(
        self,
        arms: int | Sequence[str],
        seed: int | None = None,
        horizon: int | None = None,
        low: float = 0.0,
        high: float = 1.0,
    ) -> OwnPlayer:
        """Begin live decisions on a number of arms or on named ones.

        Rewards lie in [low, high]; pass ``-inf, inf`` for unbounded ones. ``seed`` decides what
        rng draws, None takes fresh entropy; ``horizon`` changes nothing.
        """
        player = self.reopen(arms, seed, horizon, low, high)
        _ = player.mind  # code that cannot begin is refused here, before a study has a file
        return player

    def reopen(
        self,
        arms: int | Sequence[str],
        seed: int | None = None,
        horizon: int | None = None,
        low: float = 0.0,
        high: float = 1.0,
    ) -> OwnPlayer:
        """Return a player whose code is called once a decision is made, or made again."""
        from uli_fast.players.own_learner import OwnPlayer

        _check.unused(None, horizon)
        bounds = _check.reward_range(low, high)
        labels = _check.labels("arms", arms)
        return OwnPlayer(self, labels, *bounds, entropy_of(_check.seed("seed", seed)))


class OwnRun:
    """One replication of a learner of the user's own."""

    def __init__(
        self,
        learner: OwnLearner,
        mind: Mind,
        law: Law,
        state: ArmState,
        record: RoundRecord,
        problem: ArmBandit,
    ) -> None:
        self.learner, self.mind = learner, mind
        self.law, self.state, self.record = law, state, record
        low = 0.0 if problem.low is None else float(problem.low)
        self.units = low, float(problem.scale)
        self.played: I64 = np.zeros(_CHUNK, np.int64)
        functions = (learner.choose, learner.update)
        self.compiled = all(hasattr(f, "nopython_signatures") for f in functions)

    def play(self, horizon: int) -> tuple[I64, I64]:
        """Play a chunk; return its rounds and the arms."""
        first = int(self.state.clock[0]) + 1
        if self.compiled:
            self._play_compiled(horizon)
        else:
            self._play_one_by_one(horizon)
        rounds = np.arange(first, int(self.state.clock[0]) + 1)
        return rounds, self.played[: rounds.size]

    def _play_one_by_one(self, horizon: int) -> None:
        from uli_fast.kernels.own_learner import pull

        learner, mind, state, K = self.learner, self.mind, self.state, self.state.n.size
        low, scale = self.units
        first = int(state.clock[0]) + 1
        for i in range(min(_CHUNK, horizon + 1 - first)):
            a, _ = learner.chosen(mind.choose(first + i), K, first + i)
            mind.update(a, float(low + scale * pull(self.law, state, self.record, a)))
            self.played[i] = a

    def _play_compiled(self, horizon: int) -> None:
        from numba.core.errors import NumbaError

        from uli_fast.kernels import own_learner as kernel

        assert isinstance(self.mind, FunctionMind)
        known, choose, update = self.mind
        run = (known, self.law, self.state, self.record, self.units, horizon, self.played)
        try:
            status = kernel.play_rounds(choose, update, *run)
        except NumbaError as problem:
            raise OwnLearnerError(f"{self.learner.title}: {_misfit(known, problem)}") from problem
        if status == kernel.NO_ARM:
            arm, K, t = int(self.played[0]), self.state.n.size, int(self.state.clock[0]) + 1
            if arm != kernel.NOT_WHOLE:
                raise self.learner.no_arm(arm, K, t)
            said = f"choose returned {_returned(choose, known)} at round {t}"
            raise OwnLearnerError(
                f"{self.learner.title}: {said}; it must return an integer from 0 to {K - 1}"
            )


def _misfit(known: Any, problem: Exception) -> str:
    """Say in a line why functions could not be compiled together; what Numba said follows."""
    import numba

    try:
        numba.typeof(known)
    except (ValueError, TypeError):
        line = (
            "the state must be something Numba can type: arrays, numbers, rng, and tuples of "
            f"them; make returned {type(known).__name__}"
        )
    else:
        said = [x for x in str(problem).splitlines() if x and not x.startswith("Failed in")]
        line = f"its compiled functions cannot be used: {said[0] if said else 'see below'}"
    return f"{line}\n\n{problem}"


def _returned(choose: Any, known: Any) -> str:
    """Say what kind of value a compiled function returned."""
    import numba
    from numba import types

    state = numba.typeof(known)
    each = (x.return_type for x in choose.nopython_signatures if x.args[0] == state)
    kind = types.unliteral(next(each, types.undefined))
    words = {
        types.Float: "a float",
        types.Boolean: "True or False",
        types.NoneType: "None",
        types.UnicodeType: "a string",
    }
    return next(
        (word for x, word in words.items() if isinstance(kind, x)), f"a value of type {kind}"
    )
