"""When a learner that keeps its promise overtakes an optimistic one, for good.

D_s is the pseudo-regret of the ULI learner after s rounds minus that of its rival, on one
table of rewards: the i-th pull of an arm pays both the same. The turning point is
tau = inf{T: D_s <= 0 for all s >= T}. Once the ULI learner has dropped its last worse arm its
regret stays what it is and D only falls, so tau is the round in which the rival's regret
reaches it, or lies before the dropping.

Exact: a pair of runs has the law of two learners on one table (with Gaussian rewards up to
``tv_bound``), and its tau is found to the round. Paths depend neither on what is recorded nor
on how far they are played, so a search plays them again and looks more closely.

The round is searched for in coupled_runs.py, on two runs that share their rewards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast import _check, lower_bounds
from uli_fast._support.progress import progress_bar
from uli_fast._support.streams import entropy_of
from uli_fast._support.text import without_addresses
from uli_fast._typing import B1, F64
from uli_fast.errors import ArgumentError, HorizonTooLargeError
from uli_fast.learners._arms import ArmLearner
from uli_fast.learners._kinds import is_arm_learner
from uli_fast.learners._optimism import OptimisticLearner
from uli_fast.learners.lil_ucb import LilUCB
from uli_fast.learners.phased_elimination import PhasedElimination
from uli_fast.learners.successive_elimination import SuccessiveElimination
from uli_fast.learners.thompson_sampling import ThompsonSampling
from uli_fast.learners.ucb import UCB
from uli_fast.problems import kinds
from uli_fast.problems.arms import ArmBandit, DeterministicBandit
from uli_fast.simulation.coupled_runs import LARGEST_TABLE, CoupledRun, Match
from uli_fast.simulation.runner import threads_of

if TYPE_CHECKING:
    from rich.table import Table

ORDER = "turning_point(uli_learner, optimistic_learner, problem)"
RIVALS = "UCB, LilUCB, KLUCB or ThompsonSampling"
# Rounds that a rival which cannot skip is asked for at most: minutes.
MOST_SINGLE_ROUNDS = 10**9


@dataclass(frozen=True)
class TurningPoint:
    """The rounds from which a ULI learner is never behind its rival again.

    ``rounds`` has one for each pair of runs, None where it had not turned by the horizon;
    ``unsettled`` counts the runs in which the ULI learner still had a worse arm there.

    Examples
    --------
    >>> import uli_fast as uli
    >>> problem = uli.BernoulliBandit([0.7, 0.5])
    >>> turned = uli.turning_point(uli.BettingElimination(), uli.UCB(), problem, seed=1)
    >>> print(turned.censored.any(), turned.quantiles([0.5]) < 10**4)
    False [ True]
    """

    uli_learner: str
    rival: str
    problem: str
    horizon: int
    rounds: tuple[int | None, ...]  # one per run, None where it had not turned by the horizon
    unsettled: int = 0  # runs in which the ULI learner still had a worse arm at the horizon
    partly: int = 0  # runs that share only as many rewards as the largest table holds
    exact: bool = False  # a closed form, not cut at the horizon
    never: bool = False  # the closed form says that there is no turning point
    tv_bound: float = 0.0  # distance of the joint law of the runs from the exact one
    seed: int | None = None
    _match: Match | None = field(default=None, repr=False, compare=False)

    @property
    def taus(self) -> F64:
        """The turning points as floats, infinite where a run had not turned."""
        return np.array([np.inf if tau is None else tau for tau in self.rounds], np.float64)

    @property
    def censored(self) -> B1:
        """Which runs had not turned by the horizon."""
        return np.array([tau is None for tau in self.rounds])

    @property
    def coupled(self) -> bool:
        """Whether in every run both learners were paid from one table all the way."""
        return self.partly == 0

    def quantiles(self, q: Sequence[float] = (0.1, 0.25, 0.5, 0.75, 0.9)) -> F64:
        """Return quantiles over runs, each one of the runs; infinite ones were not reached."""
        wanted = _check.vector("q", q)
        _check.within("q", wanted, 0.0, 1.0)
        found: F64 = np.quantile(self.taus, wanted, method="inverted_cdf")
        return found

    def mean_curve(self, n_jobs: int = 1) -> int | None:
        """Return the turning point of the mean regrets, None if it is not reached by the horizon.

        The mean over all runs takes the place of D; all of them are played again, a few times.
        """
        threads = threads_of(_check.jobs("n_jobs", n_jobs))
        if self._match is None:  # a closed form
            return self.rounds[0]
        return None if self.unsettled else self._match.mean_tau(self.rounds, threads)

    def table(self) -> Table:
        """Return a summary table for the terminal."""
        from rich.text import Text

        from uli_fast._support.whole_table import WholeTable

        headers = ("runs", "10 %", "25 %", "median", "75 %", "90 %", "not turned")
        table = WholeTable(self._title(), headers)
        cells = [self._short(tau) for tau in self.quantiles().tolist()]
        table.add_row(str(len(self.rounds)), *cells, str(self.censored.sum()))
        table.caption = Text("\n".join(self._notes()))
        return table

    def __str__(self) -> str:
        low, median, high = (self._short(tau) for tau in self.quantiles((0.25, 0.5, 0.75)).tolist())
        if self.exact:
            said = "never" if self.never else f"round {self.rounds[0]}"
        else:
            said = f"quartiles over {len(self.rounds)} runs: {low}, {median}, {high}"
        return "\n".join((self._title(), said, *self._notes()))

    def _short(self, x: float) -> str:
        if x == np.inf:
            return "never" if self.never else "not yet"
        return f"{x:.0f}" if x < 99_999 else f"{x:.3g}"

    def _title(self) -> str:
        return (
            f"first round from which {self.uli_learner} is ahead of {self.rival} for good\n"
            f"on {self.problem}"
        )

    def _notes(self) -> list[str]:
        runs, late = len(self.rounds), int(self.censored.sum())
        if self.exact:
            return ["closed form of the deterministic two-armed problem"]
        notes = [f"{late} of {runs} runs had not turned by {self.horizon:.6g}"]
        if late and self.rival.startswith("LilUCB"):
            notes.append("the regret of LilUCB stays bounded: a run may never turn")
        if self.unsettled:
            notes.append(f"{self.unsettled} of {runs} runs still had a worse arm by then")
        if self.partly:
            notes.append(
                f"{self.partly} of {runs} runs share the first {LARGEST_TABLE:.0e} rewards only, "
                "and are independent beyond them"
            )
        if self.tv_bound > 0.0:
            notes.append(f"total variation from the exact law at most {self.tv_bound:.1e}")
        return notes


def turning_point(
    uli_learner: ArmLearner,
    optimistic_learner: OptimisticLearner | ThompsonSampling,
    problem: ArmBandit,
    horizon: int = 10**12,
    replications: int = 20,
    seed: int | None = None,
    n_jobs: int = 1,
    progress: bool | Callable[[float], None] | None = None,
) -> TurningPoint:
    """Find the round from which a ULI learner has no more regret than an optimistic one.

    Parameters
    ----------
    uli_learner
        Eliminates: SuccessiveElimination, PhasedElimination, LinearElimination ...
    optimistic_learner
        UCB or KLUCB, whose regret grows for ever, or LilUCB, which is mostly not overtaken.
        ThompsonSampling too, which draws from its own stream; it is played round by round,
        so that the horizon must be given, 10^9 at most.
    problem
        A bandit with finitely many arms. A DeterministicBandit has one run; with two arms
        there is a closed form.
    horizon
        Rounds after which a run that has not turned is given up, and counted as such.
    replications
        Number of independent pairs of runs; pair r depends on ``seed`` and r alone.
    seed, n_jobs, progress
        As for :func:`uli_fast.simulate`.

    Returns
    -------
    TurningPoint
        A round for each pair of runs.

    Examples
    --------
    >>> import uli_fast as uli
    >>> two = uli.DeterministicBandit([0.5, 0.4])
    >>> uli.turning_point(uli.SuccessiveElimination(), uli.UCB(), two).rounds
    (544183808,)
    """
    _refuse_others(uli_learner, optimistic_learner, problem)
    T = _check.horizon("horizon", horizon)
    M = _check.replications("replications", replications)
    entropy = entropy_of(_check.seed("seed", seed))
    threads = threads_of(_check.jobs("n_jobs", n_jobs))
    if "skip" not in optimistic_learner.engines and T > MOST_SINGLE_ROUNDS:
        raise HorizonTooLargeError(
            "horizon",
            f"must be at most {MOST_SINGLE_ROUNDS:.0e} for {type(optimistic_learner).__name__}, "
            f"which is played round by round, got {horizon!r}",
        )
    problem.check_horizon(T)
    ours, theirs = uli_learner.on(problem), optimistic_learner.on(problem)
    uli_learner.check(ours, T)
    optimistic_learner.check(theirs, T)
    ours.guarantee_if_any()  # warns where there is none
    first, second = (without_addresses(repr(x)) for x in (uli_learner, optimistic_learner))
    names = (first, second, repr(problem), T)
    known = _closed_form(uli_learner, optimistic_learner, problem)
    if known is not None:
        return TurningPoint(*names, known, exact=True, never=known == (None,))
    match = Match(ours, theirs, T, entropy)
    runs = M if match.random else 1
    found: list[Any] = [None] * runs
    with progress_bar(progress, runs) as bar:

        def keep(pair: CoupledRun, r: int) -> None:
            found[r] = pair.tau(), pair.last is not None, pair.coupled, pair.tv
            bar.report(r, 1.0)

        match.each(runs, threads, keep, bar.report)
    rounds, settled, coupled, spent = zip(*found, strict=True)
    return TurningPoint(
        *names,
        rounds,
        unsettled=runs - sum(settled),
        partly=runs - sum(coupled),
        tv_bound=sum(spent),
        seed=entropy,
        _match=match,
    )


def _refuse_others(uli_learner: Any, optimistic_learner: Any, problem: Any) -> None:
    """Refuse what cannot be held against each other."""
    if not is_arm_learner(uli_learner) or uli_learner.baseline or uli_learner.returns:
        said = kinds.called(uli_learner, ORDER)
        if is_arm_learner(uli_learner) and uli_learner.returns and not uli_learner.draws:
            said += f", which is optimistic; did you mean {ORDER}?"
        raise ArgumentError("uli_learner", f"must eliminate arms of a list, got {said}")
    if not is_arm_learner(optimistic_learner) or not optimistic_learner.returns:
        said = kinds.called(optimistic_learner, ORDER)
        raise ArgumentError("optimistic_learner", f"must be {RIVALS}: {said}")
    kinds.bandit("problem", problem)


def _closed_form(
    uli: ArmLearner, rival: ArmLearner, problem: ArmBandit
) -> tuple[int | None] | None:
    """Return the turning point of two deterministic arms, (None,) where there is none.

    It is the round in which the rival plays the worse arm as often as the ULI learner has
    done in all. If that comes before the dropping, or no formula is at hand, return None.
    """
    if type(problem) is not DeterministicBandit or problem.n_arms != 2:
        return None
    exactly = lower_bounds.as_written
    one, two = (exactly(mean) for mean in problem.means.tolist())
    width = exactly(problem.high) - exactly(problem.low)
    gap = abs(one - two) / width
    if gap == 0:
        return None

    def unit(learner: ArmLearner) -> Fraction:
        """Return R on the learner's scale."""
        return Fraction(1, 2) if learner.R is None else exactly(learner.R) / width

    if type(uli) is SuccessiveElimination:
        seen = gap / (2 * unit(uli))
        stay = lower_bounds.se_stay(seen, exactly(uli.delta), worse_first=one < two)
    elif type(uli) is PhasedElimination:
        stay = lower_bounds.pe_stay(gap, exactly(uli.delta), unit(uli))
    else:
        return None
    seen, delta = gap / (2 * unit(rival)), exactly(rival.delta)
    if type(rival) is UCB:
        tau = lower_bounds.ucb_round(stay.plays, seen, delta)
    elif type(rival) is not LilUCB:
        return None
    elif stay.plays > lower_bounds.lil_plays(seen, delta):
        return (None,)
    else:
        tau = lower_bounds.lil_round(stay.plays, seen, delta)
    return (tau,) if tau is not None and tau > stay.last_round else None
