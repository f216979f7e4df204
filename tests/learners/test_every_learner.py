"""What holds for every learner in the registry."""

import copy
import json
import math
import pickle
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest

import uli_fast as uli
from tests.support.examples import EXAMPLES, PROBLEMS
from tests.support.odd_means import ON_ARMS, check_path
from uli_fast._registry import learners
from uli_fast._support import progress
from uli_fast.errors import ArgumentError, ConfigError, HorizonTooLargeError, NoGuaranteeError
from uli_fast.experiments.build import learner_of
from uli_fast.learners._base import Learner
from uli_fast.players._descriptions import describe
from uli_fast.results.record import PER_REPLICATION
from uli_fast.results.runs import Runs
from uli_fast.simulation import runner
from uli_fast.simulation.outcomes import ArmOutcome, PolicyOutcome

# Examples have small constants and short phases, so that something happens early.
pytestmark = [
    pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning"),
    pytest.mark.filterwarnings("ignore::uli_fast.errors.SaturationWarning"),
]
PLAYED = [
    pytest.param(example, problem, engine, id=f"{example}, {problem!r}, {engine}")
    for example in EXAMPLES
    for problem in example.problems
    for engine in example.on(problem).engines_for(problem)
]
FIRST = {x.row.name: x for x in reversed(EXAMPLES)}
PLAIN = [x for x in EXAMPLES if x.row.plain]
PROMISING = [x for x in EXAMPLES if not x.learner.baseline]
# What depends on clocks, or on what else was asked for.
TIMES = {"elapsed", "seconds", "phase_work"}


def run(example, problem, engine, **changes):
    arguments = {"horizon": example.horizon, "replications": 3, "seed": 3, "engine": engine}
    return uli.simulate(example.on(problem), problem, **arguments | changes)


def facts(runs, replications=None):
    """Return all that was recorded but times, of the first replications; padding is left out."""
    found = {f.name: getattr(runs, f.name) for f in fields(runs) if f.name not in TIMES}
    found["guarantee"] = repr(runs.guarantee)  # functions of a user's own are never equal
    for name, value in found.items():
        if isinstance(value, np.ndarray):
            per = name in (*PER_REPLICATION, "tv_spent") or (name == "gaps" and value.ndim == 2)
            rows = value[:replications] if per else value
            found[name] = [_without_padding(row) for row in rows] if per else rows.tolist()
    return found


def _without_padding(row):
    """Rows of replications with fewer policies, blocks or phases are filled up with zeros."""
    row = np.nan_to_num(np.atleast_1d(row), nan=-1.0)
    used = [i for i, x in enumerate(row) if np.any(x)]
    return row[: used[-1] + 1 if used else 0].tolist()


@pytest.mark.parametrize(("example", "problem", "engine"), PLAYED)
class TestSamePath:
    """A path depends on learner, problem, seed and replication number alone."""

    def test_number_of_replications(self, example, problem, engine):
        few, many = (run(example, problem, engine, replications=n) for n in (3, 7))
        assert facts(few) == facts(many, 3) | {"tv_bound": few.tv_bound}

    def test_first_replication(self, example, problem, engine):
        many = run(example, problem, engine, replications=5)
        last = run(example, problem, engine, replications=2, first_replication=3)
        for name in PER_REPLICATION:
            if name not in TIMES and getattr(many, name) is not None:
                rows = [_without_padding(row) for row in getattr(last, name)]
                assert rows == [_without_padding(row) for row in getattr(many, name)[3:]], name

    def test_threads(self, example, problem, engine):
        alone, together = (run(example, problem, engine, n_jobs=n) for n in (1, 2))
        assert facts(alone) == facts(together)

    def test_recorded_rounds(self, example, problem, engine):
        T = example.horizon
        one = run(example, problem, engine)
        two = run(example, problem, engine, rounds=[1, 17, T // 2])
        three = run(example, problem, engine, rounds=[1, 17, T // 2, T])
        recorded = {"rounds", "plays", "recorded_regret"}
        for other in (two, three):
            assert {k: v for k, v in facts(one).items() if k not in recorded} == {
                k: v for k, v in facts(other).items() if k not in recorded
            }
        assert (two.regret == three.regret[:, :3]).all()
        assert (one.regret[:, -1] == three.regret[:, -1]).all()
        if two.plays is not None:
            assert (two.plays == three.plays[:, :3]).all()
            assert (three.plays.sum(axis=2) == three.rounds).all()
            assert (np.diff(three.plays, axis=1, prepend=0) >= 0).all()

    def test_chunks(self, example, problem, engine, monkeypatch):
        whole = run(example, problem, engine, replications=2)
        monkeypatch.setattr(progress, "SHORT_CHUNK", -1.0)  # no chunk lets the budget grow
        monkeypatch.setattr(ArmOutcome, "FIRST_STEPS", 100)
        monkeypatch.setattr(PolicyOutcome, "first_budget", 1 << 4)
        assert facts(whole) == facts(run(example, problem, engine, replications=2))

    def test_chunks_of_a_step(self, example, problem, engine, monkeypatch):
        T = min(1500, example.horizon)
        whole = run(example, problem, engine, replications=2, horizon=T)
        monkeypatch.setattr(progress, "SHORT_CHUNK", -1.0)
        monkeypatch.setattr(progress, "LONG_CHUNK", -1.0)  # every chunk halves the budget
        monkeypatch.setattr(ArmOutcome, "FIRST_STEPS", 1 << 6)
        monkeypatch.setattr(PolicyOutcome, "first_budget", 1 << 4)
        assert facts(whole) == facts(run(example, problem, engine, replications=2, horizon=T))

    @pytest.mark.parametrize("largest", [1, 3])
    def test_groups(self, example, problem, engine, largest, monkeypatch):
        whole = run(example, problem, engine, replications=5)
        monkeypatch.setattr(runner, "LARGEST_GROUP", largest)
        assert facts(whole) == facts(run(example, problem, engine, replications=5))

    def test_saved_and_loaded(self, example, problem, engine, tmp_path):
        runs = run(example, problem, engine)
        runs.save(tmp_path / "runs")
        again = Runs.load(tmp_path / "runs")
        proved = runs.guarantee is not None and runs.guarantee.proved
        # A user's bound is not saved; what it says of the runs is.
        assert facts(again) == facts(runs) | ({} if proved else {"guarantee": "None"})

    def test_told_in_a_table(self, example, problem, engine):
        runs = run(example, problem, engine)
        caption = str(runs.table().caption)
        assert "mean regret: " in caption
        gone, gaps = runs.eliminated_at, runs.decision_table.gaps
        if gone is not None and not runs.baseline:
            lost = sum(all(row[i] for i in np.flatnonzero(gaps == 0.0)) for row in gone)
            assert caption.partition("lost the best arm: ")[2].split()[1] == f"{lost}/3"


UNTUNED = [case for case in PLAYED if not case.values[0].row.tuned]


@pytest.mark.parametrize(("example", "problem", "engine"), UNTUNED)
def test_a_longer_horizon_goes_on_on_the_same_path(example, problem, engine):
    T = example.horizon
    rounds = [1, 2, 3, 50, T // 3, T]
    short = run(example, problem, engine, rounds=rounds)
    long = run(example, problem, engine, rounds=rounds, horizon=2 * T)
    assert (short.regret == long.regret).all()
    assert short.plays is None or (short.plays == long.plays).all()
    if short.eliminated_at is not None:
        known = (0 < long.eliminated_at) & (long.eliminated_at <= T)
        assert (short.eliminated_at == np.where(known, long.eliminated_at, 0)).all()


@pytest.mark.parametrize("example", ON_ARMS, ids=str)
def test_paths_of_means_next_to_0_and_1_depend_on_nothing_else(example):
    rng = np.random.default_rng(0)
    for _ in range(30 if example.row.plain else 3):
        check_path(example, rng, 2000 if example.row.plain else 300)


def last_round(runs):
    """Return the last round in which anything was played, (M,)."""
    played = runs.block_last if runs.last_play is None else runs.last_play
    return played.max(axis=1)


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
class TestHorizons:
    def test_the_shortest(self, example):
        for problem in example.problems:
            learner = example.on(problem)
            T = 1
            if hasattr(learner, "least_horizon"):
                T = math.floor(learner.least_horizon(problem.features)) + 1
                with pytest.raises(ArgumentError) as caught:
                    uli.simulate(learner, problem, T - 1)
                assert caught.value.argument == "horizon"
            for engine in learner.engines_for(problem):
                runs = uli.simulate(learner, problem, T, 2, seed=1, engine=engine)
                assert runs.horizon == T and (last_round(runs) == T).all()

    @pytest.mark.parametrize("T", [10**18 + 1, 2**63, 10**30])
    def test_beyond_the_longest(self, example, T):
        with pytest.raises(HorizonTooLargeError, match="horizon"):
            uli.simulate(example.learner, example.problems[0], T)

    @pytest.mark.parametrize("T", [0, -5, 1.5, math.nan, "10", True, None, 10**400])
    def test_none_at_all(self, example, T):
        with pytest.raises(ArgumentError) as caught:
            uli.simulate(example.learner, example.problems[0], T)
        assert caught.value.argument == "horizon"


# Rounds can be counted on to 10**18; squares of their number wrap from 3_037_000_500 on.
LONG = [3_037_000_501, 10**12, 2**53 + 1, 10**18]
SKIPPING = [x for x in FIRST.values() if x.learner.engines_for(x.problems[0])[0] == "skip"]
# Rivals never settle.
LONG_RUNS = [(x, T) for x in SKIPPING for T in LONG if T <= 10**12 or not x.learner.baseline]


@pytest.mark.parametrize(("example", "T"), LONG_RUNS, ids=str)
def test_counters_are_right_at_long_horizons(example, T):
    problem = example.problems[0]
    runs = uli.simulate(example.on(problem), problem, T, 2, seed=1)
    assert (last_round(runs) == T).all()
    assert runs.final_plays is None or (runs.final_plays.sum(axis=1) == T).all()
    assert np.isfinite(runs.regret).all() and (np.diff(runs.regret, axis=1) >= 0).all()
    if runs.plays is not None:
        assert (runs.plays >= 0).all() and (np.diff(runs.plays, axis=1) >= 0).all()
        assert (runs.plays.sum(axis=2) == runs.rounds).all()
    if example.kind == "arms" and not example.learner.baseline:
        assert (runs.last_play[:, 1:] < 10**8).all()  # the first arm is the best


WRONG = (object(), math.nan, -1.0, "nonsense", [])


WITH_R = [x for x in FIRST.values() if "R" in {field.name for field in fields(x.learner)}]


@pytest.mark.parametrize("example", FIRST.values(), ids=lambda x: x.row.name)
class TestBadInput:
    """Bad input is a typed error that names the argument."""

    def test_parameters(self, example):
        for field in fields(example.learner):
            for value in WRONG:
                if (field.name, value) == ("name", "nonsense"):  # as good a name as any
                    continue
                with pytest.raises(ArgumentError) as caught:
                    replace(example.learner, **{field.name: value})
                assert caught.value.argument == field.name, (field.name, value)
                assert isinstance(caught.value, ValueError)

    @pytest.mark.parametrize("delta", [0.0, 1.0, 1.5, math.inf, None, True, 10**400])
    def test_delta(self, example, delta):
        with pytest.raises(ArgumentError) as caught:
            replace(example.learner, delta=delta)
        assert caught.value.argument == "delta"

    def test_engines(self, example):
        problem = example.problems[0]
        for engine in {"skip", "rounds", "warp", None} - {*example.learner.engines_for(problem)}:
            with pytest.raises(ArgumentError) as caught:
                uli.simulate(example.learner, problem, 10**6, engine=engine)
            assert caught.value.argument == "engine"

    def test_problems(self, example):
        played = {"arms": ("policies",), "vectors": ("policies", "arms")}
        others = played.get(example.kind, {"arms", "policies"} - {example.kind})
        for problem in (None, [0.5, 0.4], *(PROBLEMS[kind][0] for kind in others)):
            with pytest.raises(ArgumentError) as caught:
                uli.simulate(example.learner, problem, 10**6)
            assert caught.value.argument == "problem"


@pytest.mark.parametrize("R", [0.0, math.inf, 1e300])
@pytest.mark.parametrize("example", WITH_R, ids=lambda x: x.row.name)
def test_noise_that_is_none(example, R):
    with pytest.raises(ArgumentError) as caught:
        replace(example.learner, R=R)
    assert caught.value.argument == "R"


@pytest.mark.parametrize("delta", [5e-324, 1e-300, 1.0 - 1e-16])
@pytest.mark.parametrize("R", [1e-6, 0.5, 1e6])
@pytest.mark.parametrize("example", WITH_R, ids=lambda x: x.row.name)
def test_extreme_parameters_end(example, delta, R):
    problem = example.problems[0]
    learner = replace(example.learner, delta=max(delta, smallest(example)), R=R)
    for engine in learner.engines_for(problem):
        runs = uli.simulate(learner, problem, 1000, seed=0, engine=engine)
        assert (last_round(runs) == 1000).all()


def smallest(example):
    """Return the smallest delta that a learner takes: some divide it among phases."""
    try:
        return replace(example.learner, delta=5e-324).delta
    except ArgumentError:
        return 1e-300


class TestGuarantee:
    ROUNDS = np.unique(np.geomspace(1, 1e15, 400).astype(np.int64))

    @pytest.mark.parametrize("example", PROMISING, ids=str)
    def test_it_falls_and_says_after_how_many_rounds(self, example):
        problem = example.problems[0]
        try:
            promise = example.on(problem).guarantee(problem)
        except NoGuaranteeError:  # with these constants
            learner = example.row.load()
            given = {"R": 1.0} if "R" in {f.name for f in fields(learner)} else {}
            promise = learner(**given).guarantee(problem)
        bounds = np.array([promise.bound(int(t)) for t in self.ROUNDS])
        assert (bounds > 0).all() and (np.diff(bounds) <= 0).all() and bounds[-1] < bounds[0]
        for eps in np.geomspace(bounds[-1], bounds[0], 9)[1:-1]:
            last = promise.rounds_until(float(eps))
            assert isinstance(last, int)
            assert last == 0 or promise.bound(last) > eps
            assert promise.bound(last + 1) <= eps

    @pytest.mark.parametrize("example", [x for x in EXAMPLES if x.learner.baseline], ids=str)
    def test_rivals_promise_nothing(self, example):
        problem = example.problems[0]
        with pytest.raises(NoGuaranteeError):
            example.on(problem).guarantee(problem)
        runs = run(example, problem, "auto")
        assert runs.baseline and np.isnan(runs.worst_ratio).all()
        with pytest.raises(NoGuaranteeError):
            _ = runs.holds


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
class TestParameters:
    def test_equal_frozen_and_copied(self, example):
        learner = example.learner
        again = replace(learner)
        other = replace(learner, delta=0.25)
        assert learner == again != other and hash(learner) == hash(again)
        assert copy.deepcopy(learner) == learner
        with pytest.raises(FrozenInstanceError):
            learner.delta = 0.25

    def test_the_facts_of_its_row(self, example):
        row, learner = example.row, example.learner
        assert isinstance(learner, Learner)
        assert row.plain != any(callable(getattr(learner, field.name)) for field in fields(learner))
        assert row.base == (hasattr(learner, "start_phase") and hasattr(learner, "g"))
        assert row.draws == learner.draws


@pytest.mark.parametrize("example", PLAIN, ids=str)
class TestDescription:
    def test_repr(self, example):
        assert (
            eval(repr(example.learner), {x: getattr(uli, x) for x in uli.__all__})
            == example.learner
        )

    def test_pickle(self, example):
        assert pickle.loads(pickle.dumps(example.learner)) == example.learner

    def test_experiment_files(self, example):
        described = json.loads(json.dumps(describe(example.learner)))
        assert learner_of("learners.x", described) == example.learner


@pytest.mark.parametrize("row", learners(plain=False).values(), ids=lambda row: row.name)
def test_learners_that_hold_functions_are_in_no_file(row):
    with pytest.raises(ConfigError, match="holds functions"):
        learner_of("learners.x", {"type": row.name})
