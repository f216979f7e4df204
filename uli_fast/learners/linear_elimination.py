"""Elimination on finitely many linear arms (PE-linear): our own blocks, and the paper's phases.

"sharp" weighs least squares of blocks by their information and tests every arm against the leader
by a mixture, at the end of every block (docs/proofs_linear.md). "paper" is the paper's algorithm.
Deviation of the latter: the design lives in the span of the active arms, with a pseudo-inverse
where the paper inverts; log log d is that of max(d, e); and F has 2048 where the paper
has 512 (docs/errata.md).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64, I64, Form, LinearSchedule
from uli_fast.errors import ArgumentError, DesignError, NoGuaranteeError
from uli_fast.formulas.linear_elimination import largest_support, phase_size
from uli_fast.geometry import designs
from uli_fast.geometry.least_squares import influence, least_squares
from uli_fast.guarantees import Guarantee, formula
from uli_fast.guarantees.linear_blocks import FLAT, HIDDEN, RESOLVED
from uli_fast.learners._arms import ArmBatch, ArmLearner, OneByOne, new_states
from uli_fast.learners._linear import (
    LinearSetting,
    Units,
    check_linear,
    noise_units,
    on_vectors,
    on_vertices,
    started,
    units_of,
)
from uli_fast.learners._linear_blocks import (
    LARGEST,
    SharpBlocks,
    copied,
    new_linear_state,
    open_block,
    redesign,
)
from uli_fast.learners._parameters import noise, optional, probability, word
from uli_fast.learners._sets import BlockLog, PlayBlock, Work
from uli_fast.learners._setting import ArmSetting

if TYPE_CHECKING:
    from uli_fast._check import Bounds
    from uli_fast.kernels.arms.state import ArmState, RoundRecord
    from uli_fast.kernels.linear.blocks import LinearState
    from uli_fast.kernels.rewards.laws import Law
    from uli_fast.players.linear_elimination import LinearPlayer

LARGEST_QUOTA = 4e18
SCHEDULES = ("sharp", "paper")
# The prior gap in units of R, where none is given.
PRIOR_GAP = 0.2


@dataclass(frozen=True)
class LinearElimination(ArmLearner):
    """Play a near-optimal design on the survivors in blocks; drop what lags at a block's end.

    "sharp", our own: with probability 1 - delta every round's gap is at most 2 c(J) / J in units of
    R, J the information of the blocks that are over at that round and c the boundary of a mixture.
    It is of order R sqrt(k log(K t / delta) / t), k the dimension of the arms' plane, whatever
    theta and the arms' norms, but for 1e-8 of the largest gap, which is more than rounding may hide
    (arms thinner than 1e-9 of their spread have no guarantee). It learns about differences of
    means: live, ``certificate()`` has what is known, and ``intervals()`` are the whole range.

    "paper": with probability 1 - delta every round's gap is at most 8 2^-l for arms and theta of
    norm at most 1, l being its phase when no arm is ever dropped; that is below the closed form
    sqrt(2048 d max(R^2 log(4 K log2(t+1)^2 / delta), loglog d + 4) / (3 t)). Others are
    rescaled: arms by their largest norm, rewards by that and ``theta_norm``; the bound comes
    back in reward units.

    The learner for finitely many vectors, and for sets with few vertices (a simplex, an l1 ball, a
    small box or polytope), which it plays by their vertices. Its proof is in docs/proofs_linear.md.

    Parameters
    ----------
    delta
        Probability with which the guarantee may fail.
    schedule
        "sharp" or "paper".
    R
        The noise is R-subgaussian, in reward units; None is half the declared range of the
        rewards, which always holds. Where they have no range it must be given.
    prior_gap
        Of "sharp": the gap, in reward units, for which it is tuned; the guarantee holds for any.
        None is R / 5.
    theta_norm
        A bound on the norm of theta, where rewards are intercept + <theta, a> + noise. None is 1
        for "paper", which needs one. "sharp" needs none: with one F is finite from round 1 on.
    known_intercept
        Of "sharp": False if the intercept is not known; rewards may then have any common shift,
        and the ``intercept`` of ``start`` changes nothing.

    Examples
    --------
    >>> import uli_fast as uli
    >>> arms = [[1.0, 0.0], [0.0, 1.0], [0.7, 0.7], [-1.0, 0.2]]
    >>> problem = uli.LinearBandit([0.6, 0.3], arms, sigma=1.0)
    >>> learner = uli.LinearElimination(delta=0.05, R=1.0)
    >>> learner.guarantee(problem).rounds_until(0.1)
    37891
    >>> runs = uli.simulate(learner, problem, horizon=10**9, replications=5, seed=1)
    >>> print(runs.coverage().failures, runs.plays[0, -1].argmax())
    0 2
    """

    delta: float = probability(0.05)
    schedule: LinearSchedule = word("sharp", SCHEDULES)
    R: float | None = noise()
    prior_gap: float | None = optional(_check.positive)
    theta_norm: float | None = optional(_check.positive)
    known_intercept: bool = True
    has_event: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.known_intercept) is not bool:
            raise ArgumentError("known_intercept", f"must be a bool, got {self.known_intercept!r}")
        if self.schedule == "paper":
            self._check_paper()

    def _check_paper(self) -> None:
        """Refuse what the paper's phases have no use for; theta is of norm 1 if nothing is said."""
        if self.prior_gap is not None:
            raise ArgumentError("prior_gap", 'is for schedule="sharp"')
        if not self.known_intercept:
            raise ArgumentError("known_intercept", 'may be False for schedule="sharp" only')
        if self.theta_norm is None:
            object.__setattr__(self, "theta_norm", 1.0)

    def reduced(self, problem: Any) -> Any:
        """Return the problem on the vertices of its arm set, if it has one."""
        return on_vertices("problem", problem)

    def on(self, about: Any) -> LinearSetting:
        """Return this learner on a linear bandit, or on arms."""
        return on_vectors(self, about)

    def check(self, on: ArmSetting, horizon: int) -> None:
        """Refuse arms that are not vectors."""
        _check.has_features("problem", on.features, "LinearElimination")
        super().check(on, horizon)

    def guarantee(self, about: Any, form: Form = "schedule") -> Guarantee:
        """Return the promise F, before anything is played.

        Parameters
        ----------
        about
            A problem, a (K, d) array of arms, a pair (K, d), or a set with vertices.
        form
            "paper": the closed form of the paper's schedule; "sharp" has none.

        Returns
        -------
        Guarantee
            With ``bound(t)``, ``rounds_until(eps)`` and ``regret(T)``, in reward units.

        Raises
        ------
        NoGuaranteeError
            Nothing is proved for this case.
        """
        on = self.on(about)
        if self.schedule == "sharp":
            return self._sharp_guarantee(on, form)
        info, R = on.proved_arms, on.R
        d = check_linear(info, R, self._norm)
        scale = info.arm_norm * self._norm
        parameters = {"K": info.K, "d": d, "R": R / scale, "largest_gap": 2.0}
        if form != "paper":
            parameters["support"] = min(info.K, largest_support(d))
        return Guarantee(formula("PE-linear", form), self.delta, parameters, scale)

    def _sharp_guarantee(self, on: LinearSetting, form: Form) -> Guarantee:
        if formula("PE-linear", form) == "PE-linear":
            raise ArgumentError("form", 'is "schedule" only, of schedule="sharp"')
        info, R = on.proved_arms, on.R
        d = check_linear(info, R, math.inf if self.theta_norm is None else self.theta_norm)
        k = min(d, info.K - 1) if info.features is None else self._dimension(info.features)
        parameters = {"K": info.K, "k": max(1, k), "prior_gap": self._prior(R)}
        width = _check.width(on.bounds)
        largest = math.inf if width is None else width
        if self.theta_norm is not None:
            largest = min(largest, 2.0 * info.arm_norm * self.theta_norm)
        if math.isfinite(largest):
            parameters["largest_gap"] = largest / R
        floor = self._floor(on.about, info.features, largest)
        if floor > 0.0:
            parameters["floor"] = floor / R
        return Guarantee("PE-linear-sharp", self.delta, parameters, R)

    def _floor(self, about: Any, features: F64 | None, largest: float) -> float:
        """Return what rounding may hide of a gap, as far as gaps are known, in reward units."""
        means = getattr(about, "means", None)
        if means is None or features is None:
            return HIDDEN * largest if math.isfinite(largest) else 0.0
        widest = float(np.ptp(means))
        shift = about.intercept if self.known_intercept else 0.0
        resolved = RESOLVED * float(max(np.abs(means).max(), np.abs(means - shift).max()))
        if _uneven(features, means) > FLAT * widest + resolved:
            raise NoGuaranteeError(
                "means differ along a direction in which arms hardly do: rescale the features"
            )
        return HIDDEN * widest + resolved + 2.0 * self._absent(features)

    def _absent(self, features: F64) -> float:
        """Return what a theta within its bound may hide along directions that are too thin."""
        if self.theta_norm is None or not designs.is_thin(features):
            return 0.0
        return HIDDEN * float(np.linalg.norm(features, axis=1).max()) * self.theta_norm

    def _dimension(self, features: F64) -> int:
        """Return the dimension of the arms' plane, refusing thin arms where theta may be long."""
        if self.theta_norm is None and designs.is_thin(features):
            raise NoGuaranteeError(
                f"along some direction arms differ by less than {designs.THINNEST:g} of their "
                "largest difference, which counts as flat: rescale the features, or give theta_norm"
            )
        return designs.affine_rank(features)

    @property
    def _norm(self) -> float:
        """The bound on theta's norm that the paper's phases count on."""
        return 1.0 if self.theta_norm is None else self.theta_norm

    def _prior(self, R: float) -> float:
        """Return the prior gap in units of R."""
        return PRIOR_GAP if self.prior_gap is None else self.prior_gap / R

    def units(self, features: F64, bounds: Bounds, intercept: float) -> Units:
        """Return the scale of the proofs for these arms."""
        if self.schedule == "sharp":
            return noise_units(self.R, bounds, intercept if self.known_intercept else None)
        return units_of(features, self._norm, self.R, bounds, intercept)

    def phases(self, units: Units, features: F64, state: ArmState) -> Phases | SharpBlocks:
        """Return the phases or blocks of a run that is played from outside."""
        if self.schedule == "paper":
            return Phases(self.delta, units, features, state)
        flat = designs.affine_coordinates(features).flat
        return SharpBlocks(self._new_state(units, features), units, state, flat)

    def _new_state(
        self, units: Units, features: F64, floor: float = LARGEST, uneven: float = 0.0
    ) -> LinearState:
        """Return the state of "sharp" in which nothing has been played; R is the unit."""
        absent = self._absent(features) / units.scale
        prior = self._prior(units.scale)
        about = (self.delta, prior, self.known_intercept, absent, floor, uneven)
        return new_linear_state(features, *about)

    def begin(
        self, on: LinearSetting, law: Law, record: RoundRecord, engine: str, horizon: int
    ) -> ArmBatch:
        """Allocate the replications whose streams the law has."""
        if self.schedule == "sharp":
            return self._begin_sharp(on, law, record, engine, horizon)
        states, logs = new_states(law), [BlockLog() for _ in law.words]

        def begin(r: int, state: ArmState, law: Law, record: RoundRecord) -> Callable[[int], bool]:
            return self._begin(on, (law, state, record), logs[r], engine, horizon)

        return ArmBatch(states, OneByOne(states, law, record, begin).advance, logs=logs)

    def _begin_sharp(
        self, on: LinearSetting, law: Law, record: RoundRecord, engine: str, horizon: int
    ) -> ArmBatch:
        """Allocate replications of blocks, which begin with one and the same design."""
        from uli_fast.kernels.arms.state import play_out
        from uli_fast.kernels.linear.blocks import WITHDRAWN
        from uli_fast.kernels.linear_elimination import play_blocks

        states, problem, units = new_states(law), on.about, on.units
        try:
            floor = self._floor(problem, problem.features, math.inf) / units.scale
        except NoGuaranteeError:  # there is no F to withdraw
            floor = LARGEST
        uneven = _uneven(problem.features, problem.means) / units.scale
        first = self._new_state(units, problem.features, floor, uneven)
        withdrawn = np.zeros(len(states.clock), np.int64)

        def begin(r: int, state: ArmState, law: Law, record: RoundRecord) -> Callable[[int], bool]:
            lin, block = copied(first), open_block(state, units, problem.means)

            def advance(budget: int) -> bool:
                if state.active.sum() == 1:
                    play_out(state, record, int(state.active.argmax()), horizon)
                    return True
                steps = 0 if engine == "skip" else budget
                if play_blocks(law, state, record, lin, block, horizon, steps):
                    redesign(lin, state.active)
                withdrawn[r] = lin.counts[WITHDRAWN]
                return bool(state.clock[0] >= horizon)

            return advance

        advance = OneByOne(states, law, record, begin).advance
        return ArmBatch(states, advance, withdrawn=withdrawn)

    def _begin(
        self, on: LinearSetting, one: tuple[Any, ...], log: BlockLog, engine: str, horizon: int
    ) -> Callable[[int], bool]:
        """Begin one replication; return what plays it on."""
        from uli_fast.kernels import linear_elimination as kernel
        from uli_fast.kernels.arms.state import play_out

        law, state, record = one
        problem, units = on.about, on.units
        phases = Phases(self.delta, units, problem.features, state)
        # True means in units of the proofs, to know whether the nice event held.
        truth = (problem.means - problem.intercept) / units.scale
        left, before = phases.quotas().copy(), state.total.copy()
        phases.note(log, horizon)

        def advance(budget: int) -> bool:
            if state.active.sum() == 1:
                play_out(state, record, int(state.active.argmax()), horizon)
                return True
            if engine == "skip":
                complete = kernel.play_skipping(law, state, record, left, horizon)
            else:
                complete = kernel.play_rounds(law, state, record, left, horizon, budget)
            if complete:
                phases.close(state.total - before, truth)
                left[:], before[:] = phases.quotas(), state.total
                phases.note(log, horizon)
            return bool(state.clock[0] >= horizon)

        return advance

    def start(
        self,
        arms: Any,
        seed: int | None = None,
        horizon: int | None = None,
        low: float = -math.inf,
        high: float = math.inf,
        intercept: float = 0.0,
    ) -> LinearPlayer:
        """Begin live decisions on vectors; they name arms by their row.

        Parameters
        ----------
        arms
            A (K, d) array, one arm per row, or a set with few vertices, whose rows are
            ``arms.vertices()``.
        seed, horizon
            Nothing is drawn at random and nothing is tuned to a horizon: they change nothing here.
        low, high
            The range of the rewards. They are unbounded by default, and need R then.
        intercept
            The expected reward where <theta, a> = 0.

        Returns
        -------
        Player
            With ``ask``, ``tell``, ``recommend`` and ``certificate``, and the rows as ``features``.
        """
        from uli_fast.players.linear_elimination import LinearPlayer

        return LinearPlayer(self, *started(arms, (seed, horizon), (low, high), intercept))


def _uneven(features: F64, means: F64) -> float:
    """Return how far means are from a plane over the arms."""
    Z = designs.affine_coordinates(features).coordinates
    affine = np.column_stack([np.ones(len(Z)), Z])
    rest = means - affine @ np.linalg.lstsq(affine, means, rcond=None)[0]
    return float(np.abs(rest).max())


def quotas_of(weights: F64, size: float) -> I64:
    """Return ceil(pi(a) m_l), cut to what 64-bit counters hold."""
    return np.ceil(np.minimum(weights * size, LARGEST_QUOTA)).astype(np.int64)


class Phases:
    """The phases of one run: a design each, and the test at its end."""

    def __init__(self, delta: float, units: Units, features: F64, state: ArmState) -> None:
        self.delta, self.units, self.features, self.state = delta, units, features, state
        self.rank = max(1, designs.rank(features))
        self.values: F64 = np.full(len(features), np.nan)  # of the last closed phase
        self.errors: F64 = np.zeros(len(features))  # that missing rewards may have made in them
        self._quotas: tuple[int, I64] | None = None
        self._seconds = 0.0  # that the design took

    def quotas(self) -> I64:
        """Return the plays of each arm in this phase: ceil(pi(a) m_l) by a design pi."""
        phase, begun = int(self.state.clock[1]), time.perf_counter()
        if self._quotas is None or self._quotas[0] != phase:
            active = np.flatnonzero(self.state.active)
            arms = self.features[active]
            size = phase_size(phase, len(self.features), self.rank, self.delta, self.units.R)
            weights = designs.g_optimal(arms).weights if arms.any() else np.eye(1, active.size)[0]
            self._check_support(int((weights > 0.0).sum()))
            quotas = np.zeros(len(self.features), np.int64)
            quotas[active] = quotas_of(weights, size)
            self._quotas = phase, quotas
            self._seconds = time.perf_counter() - begun
        return self._quotas[1]

    def _check_support(self, arms: int) -> None:
        """Refuse a design of more arms than F counts on: its phase would be too long."""
        most = largest_support(self.rank)
        if arms > most:
            raise DesignError(f"a design has {arms} arms, the guarantee counts on {most} at most")

    def note(self, log: BlockLog, horizon: int) -> None:
        """Add the blocks of the phase that begins now; one arm left is played to the end."""
        phase, t = int(self.state.clock[1]), int(self.state.clock[0])
        quotas = self.quotas()
        if self.state.active.sum() == 1:
            quotas = np.where(self.state.active, horizon, 0)
        if t < horizon:
            log.work.append(Work(0, 0, self._seconds))
        for a in np.flatnonzero(quotas).tolist():
            if t < horizon:
                last = min(t + int(quotas[a]), horizon)
                log.blocks.append(PlayBlock(phase, t + 1, last, self.features[a], a))
            t += int(quotas[a])

    def close(self, sums: F64 | I64, truth: F64 | None = None, missing: I64 | None = None) -> None:
        """Estimate every active arm from this phase's reward sums and drop what lags.

        ``missing`` rewards of each arm are in the sums as 1/2, on a scale from 0 to 1.
        """
        state, units, phase = self.state, self.units, int(self.state.clock[1])
        active = np.flatnonzero(state.active)
        n = self.quotas()[active]
        rewards = sums[active] / np.maximum(n, 1) * units.slope - units.offset
        arms = self.features[active]
        values = arms @ least_squares(arms, n, rewards)
        if truth is not None and np.abs(values - truth[active]).max() > 2.0**-phase:
            state.broken[0] = True
        error = np.zeros(active.size)
        if missing is not None and missing.any():
            off = 0.5 * units.slope * missing[active] / np.maximum(n, 1)  # of the mean rewards
            error = np.abs(influence(arms, n)) @ off
        removed = active[(values - error).max() - (values + error) > 2.0 ** (1 - phase)]
        self.errors[:] = 0.0
        self.errors[active] = error
        self.values[:] = np.nan
        self.values[active] = values
        state.active[removed] = False
        state.eliminated[removed] = state.clock[0]
        state.clock[1] += 1
