"""Calls of several people in one write: each as if it were alone, all of them or none."""

import sqlite3
import threading

import numpy as np
import pytest

import uli_fast as uli
from tests.study.live import AT_ONCE, LEARNERS, SE, same
from tests.study.live import outcome as some_outcome
from tests.study.test_failed_calls import Moody, failing
from tests.study.test_many import chained
from uli_fast.errors import (
    ArgumentError,
    ConflictingRewardError,
    RewardRangeError,
    StudyUnavailableError,
    StudyWriteError,
    UnknownDecisionError,
    UnsupportedError,
)


def one_by_one(study, calls):
    """Make the same calls, each in a write of its own."""
    found = []
    for name, *args in calls:
        try:
            found.append(getattr(study, name)(*args))
        except Exception as problem:
            found.append(problem)
    return found


def alike(a, b):
    """Whether two answers are the same: errors by class, argument and words."""
    if isinstance(a, Exception):
        return type(a) is type(b) and str(a) == str(b)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a is b if a is None else same(a, b)


def morning(first, rng):
    """Return calls of one batch, some of which are wrong."""
    yield ("ask", f"p{first}", {"ward": 1})
    yield ("ask_many", [f"p{first + 1}", None, f"p{first}"])
    yield ("tell", first + 1, float(rng.integers(0, 2)))
    yield ("ask", f"p{first}", {"ward": 2})  # the same person again
    yield ("tell", 10**6, 1.0)
    yield ("tell", first + 1, 0.25)  # something else
    yield ("tell_many", [(first + 2, 1.0), (first + 3, None, "gone")])
    yield ("tell_many", [(first + 2, 1.0), (first + 3, 1.0)])
    yield ("tell_missing", first + 3, "gone")
    yield ("tell_missing", first + 3, "moved")
    yield ("tell", first + 1, 7.0)
    yield ("ask", "")
    yield ("ask", "x", {"bad": float("nan")})
    yield ("ask_many", [f"p{first + 4}", 7])


def test_calls_together_are_the_same_as_one_by_one(place):
    rng, another = np.random.default_rng(1), place.another()
    with place.open(SE, ["a", "b", "c"]) as many, another.open(SE, ["a", "b", "c"]) as one:
        for k in range(12):
            calls = list(morning(3 * k, rng))
            together, apart = many.together(calls), one_by_one(one, calls)
            assert all(map(alike, together, apart))
            assert many.counts() == one.counts()
        kinds = [type(x) for x in together if isinstance(x, Exception)]
        assert kinds == [
            UnknownDecisionError,
            ConflictingRewardError,
            ConflictingRewardError,
            ConflictingRewardError,
            RewardRangeError,
            ArgumentError,
            ArgumentError,
            ArgumentError,
        ]
        assert many.certificate() == one.certificate()
    assert chained(place) == chained(another)


@pytest.mark.parametrize(
    "name", [n for n in LEARNERS if type(LEARNERS[n][0]).__name__ not in AT_ONCE]
)
def test_every_learner_may_be_driven_together(path, folder, name):
    learner, start = LEARNERS[name]
    state = {"state": 0} if "rewards" in start else {}
    rng = np.random.default_rng(2)
    with (
        uli.Study.open(path, learner, **start) as many,
        uli.Study.open(folder / "one.db", learner, **start) as one,
    ):
        told = []
        for k in range(6):
            calls = [*told, *(("ask", f"p{k}-{i}", dict(state)) for i in range(3))]
            together, apart = many.together(calls), one_by_one(one, calls)
            assert all(map(alike, together, apart))
            made = [x for x in together if x is not None]
            told = [("tell", d.id, *some_outcome(d, rng)) for d in made]
        assert many._replay.player.state() == one._replay.player.state()


def test_blocks_may_be_among_them(place):
    another = place.another()
    learner = uli.BettingElimination(0.1)
    calls = [
        ("tell_block", {0: (4, 2.0), 1: (2, 1.0)}, "monday"),
        ("tell_block", {0: (4, 2.0), 1: (2, 1.0)}, "monday"),
        ("tell_block", {0: (4, 1.0), 1: (2, 1.0)}, "monday"),
        ("tell_block", {5: (4, 1.0)}, "odd"),
        ("tell_block", {0: (8, 2.0), 1: (4, 1.0)}, "tuesday"),
        ("ask", "somebody"),
    ]
    with place.open(learner, 2) as many, another.open(learner, 2) as one:
        together, apart = many.together(calls), one_by_one(one, calls)
        assert all(map(alike, together, apart))
        assert many.blocks()[0].id == "monday" and many.certificate() == one.certificate()
    assert chained(place) == chained(another)
    assert [e.kind for e in place.events()] == ["create", "block", "block", "ask"]


def test_a_request_within_a_batch_must_be_asked_in_the_same_way(path):
    learner, start = LEARNERS["PolicyElimination"]
    with uli.Study.open(path, learner, **start, initial_support=[0, 1]) as study:
        first, again, other = study.together(
            [("ask", "e", {"state": 0}), ("ask", "e", {"state": 0}), ("ask", "e", {"state": 1})]
        )
        assert first == again and other.argument == "state"


def test_who_has_no_blocks_is_told_so_and_nobody_else(place):
    with place.open(SE, 2) as study:
        made, refused = study.together([("ask",), ("tell_block", {0: (1, 1.0)}, "x")])
        assert made.id == 1 and type(refused) is UnsupportedError


@pytest.mark.parametrize("where", ["choose", "update"])
def test_a_call_that_fails_halfway_spoils_it_for_nobody_else(path, folder, where):
    base, twin = Moody(), Moody()
    with (
        uli.Study.open(path, uli.MetaElimination(base, 0.1), 2, seed=1) as many,
        uli.Study.open(folder / "one.db", uli.MetaElimination(twin, 0.1), 2, seed=1) as one,
    ):
        for i in range(5):
            base.refuse = where if i == 3 else ""
            calls = [("ask", f"p{i}"), ("tell", i, 1.0), ("ask", f"p{i}")]
            if where == "choose":
                calls.reverse()
            found = many.together(calls)
            refused = [x for x in found if isinstance(x, ArgumentError) and "not today" in str(x)]
            assert len(refused) == (i == 3)
            if i == 3:
                again = [call for call, x in zip(calls, found, strict=True) if x in refused]
                many.together(again)
            # The one that failed is done after the others, which went on without it.
            done = [c for c, x in zip(calls, found, strict=True) if x not in refused]
            one_by_one(one, done + (again if i == 3 else []))
            parts = [(r.arm, r.probability, r.reward) for r in many.history()]
            assert parts == [(r.arm, r.probability, r.reward) for r in one.history()]
            phases = (x._replay.player._base.estimates.tolist() for x in (many, one))
            assert next(phases) == next(phases)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("statement", ["BEGIN", "INSERT", "COMMIT"])
def test_a_write_that_fails_is_nobody_s(path, monkeypatch, statement, after):
    calls = [("ask", "a"), ("tell", 1, 1.0), ("tell", 99, 1.0)]
    with uli.Study.open(path, SE, 3) as study:
        first = study.ask("first")
        failing(monkeypatch, study, statement, after)
        with pytest.raises(StudyWriteError):
            study.together(calls)
        there = statement == "COMMIT" and after  # recorded, though nobody was told so
        assert study.counts()[first.arm]["reward"] == there
        made, none, wrong = study.together(calls)
        assert made.id == 2 and none is None and type(wrong) is UnknownDecisionError
    assert uli.Study.audit(path).events == 4


def test_who_is_late_does_all_of_it_again(database):
    with database.open(SE, ["a", "b", "c"]) as early, database.open() as late:
        late._catch_up = lambda _: None
        first = early.ask("patient-1")
        early.tell(first.id, 1.0)
        calls = [
            ("ask", "patient-1"),
            ("ask", "patient-2"),
            ("tell", first.id, 0.0),
            ("tell", first.id, 1.0),
            ("ask", "a\0b"),
        ]
        again, second, refused, none, odd = late.together(calls)
        assert (again, second.id, none) == (first, 2, None)
        assert type(refused) is ConflictingRewardError and odd.argument == "request_id"
        assert early.ask("patient-2") == second
    assert database.audit().events == 4


def test_a_database_that_is_gone_is_told_to_everybody(server, database):
    with database.open(SE, 2) as study:
        study.ask("a")
        server.stop()
        try:
            with pytest.raises(StudyUnavailableError):
                study.together([("ask", "b"), ("ask", "c")])
        finally:
            server.start()
        assert [d.id for d in study.together([("ask", "b"), ("ask", "a"), ("ask", "c")])] == [
            2,
            1,
            3,
        ]


def test_threads_and_workers_may_all_write_together(database):
    """Each asks for its own and for what everybody asks for: the same arm, and one event each."""
    made, failed = {}, []

    def work(number):
        try:
            with database.open() as study:
                for k in range(6):
                    calls = [("ask", f"shared-{k}"), ("ask", f"{number}-{k}")]
                    both = study.together(calls)
                    made[number, k] = both
                    study.together([("tell", both[0].id, 1.0), ("tell", both[1].id, 0.0)])
        except BaseException as problem:
            failed.append(problem)

    with database.open(SE, 3) as study:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert failed == []
        for k in range(6):
            assert len({made[n, k][0] for n in range(3)}) == 1
        assert len(study.history()) == 6 + 18 and len(study.pending()) == 0
    assert database.audit().events == 1 + 2 * 24


def test_what_is_no_call_is_refused_at_once(path):
    with uli.Study.open(path, SE, 2) as study:
        for calls in ("ask", {"ask": 1}, 3, [("close",)], [()], ["ask"], [("_decide", 1)]):
            with pytest.raises(ArgumentError) as caught:
                study.together(calls)
            assert caught.value.argument == "calls"
        assert study.together([]) == []
        wrong, made = study.together([("tell",), ("ask",)])
        assert isinstance(wrong, TypeError) and made.id == 1
    assert sqlite3.connect(path).execute("SELECT count(*) FROM event").fetchone() == (2,)
