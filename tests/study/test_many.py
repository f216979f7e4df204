"""Many events in one write: as if they had been told one by one, all of them or none."""

import math
import sqlite3

import numpy as np
import pytest

import uli_fast as uli
from tests.study.clinic import ARMS, learner, outcome, treat, treat_many
from tests.study.live import AT_ONCE, LEARNERS, SE, same
from tests.study.live import outcome as some_outcome
from tests.study.test_crash import essence, said
from tests.study.test_failed_calls import failing
from uli_fast.errors import (
    ArgumentError,
    ConflictingRewardError,
    RewardRangeError,
    StudyWriteError,
    UnknownDecisionError,
)
from uli_fast.study.journal import read_events


def chained(place):
    """Return what every event says, but for the times: the chain was checked on reading."""
    return [e._replace(time="", previous="", hash="") for e in place.events()[1:]]


@pytest.mark.parametrize(
    "name", [n for n in LEARNERS if type(LEARNERS[n][0]).__name__ not in AT_ONCE]
)
def test_many_are_the_same_as_one_by_one(place, name):
    given, start = LEARNERS[name]
    first = {"state": 0} if name == "PolicyElimination" else {}
    rng, told, another = np.random.default_rng(4), [], place.another()
    with (
        another.open(given, **start) as one,
        place.open(given, **start) as many,
    ):
        for k in (1, 2, 5, 3):
            made = many.ask_many([f"p{len(told) + i}" for i in range(k)], ward=k, **first)
            for i, d in enumerate(made):
                assert same(one.ask(f"p{len(told) + i}", ward=k, **first), d)
            news = [(d.id, *some_outcome(d, rng)) for d in made]
            news[0] = (made[0].id, None, "gone")
            many.tell_many(news)
            one.tell_missing(made[0].id, "gone")
            for id, *x in news[1:]:
                one.tell(id, *x)
            told += news
        assert one._replay.player.state() == many._replay.player.state()
        assert essence(one) == essence(many)
        many.tell_many(told)  # no news
        for i, d in enumerate(many.ask_many([f"p{i}" for i in range(11)], **first)):
            assert d.id == i + 1
    assert chained(another) == chained(place)
    place.audit()


def test_each_may_have_its_own_metadata_and_no_request(place):
    with place.open(SE, 2) as study:
        study.ask_many(2)
        study.ask_many(["a", None, "a"], metadata=[{"x": 1}, {"x": 2}, {"x": 3}], ward=5)
        study.ask_many([])
        study.tell_many([])
        rows = [(r.request_id, r.metadata) for r in study.history()]
    about = [("a", {"x": 1, "ward": 5}), (None, {"x": 2, "ward": 5})]
    assert rows == [(None, {}), (None, {}), *about]


def test_a_request_twice_in_a_call_is_one_decision(place):
    given, start = LEARNERS["PolicyElimination"]
    with place.open(given, **start, initial_support=[0, 1]) as study:
        a, b, c = study.ask_many(["p", "q", "p"], state=0)
        assert same(a, c) and (a.id, b.id) == (1, 2)
        both = [{"state": 0}, {"state": 1}]
        with pytest.raises(ArgumentError, match="two ways"):
            study.ask_many(["r", "r"], metadata=both)
        with pytest.raises(ArgumentError, match="another state"):
            study.ask_many(["r", "p"], metadata=both)
        assert len(study.history()) == 2
        assert [d.id for d in study.ask_many(["r", "s"], metadata=both)] == [3, 4]


NAN = math.nan
REFUSED_TOLD = [
    ([(1, 1.0), (9, 1.0)], UnknownDecisionError),
    ([(1, 1.0), (2, 7.0)], RewardRangeError),
    ([(1, 1.0), (2, NAN)], ArgumentError),
    ([(1, 1.0), (2, 1.0, 2.0)], ArgumentError),
    ([(1, 1.0), (2, None)], ArgumentError),
    ([(1, 1.0), (2, None, "")], ArgumentError),
    ([(1, 1.0), (2, None, 5)], ArgumentError),
    ([(1, 1.0), (3, 0.0)], ConflictingRewardError),
    ([(1, 1.0), (3, None, "gone")], ConflictingRewardError),
    ([(1, 1.0), (4, 0.5)], ConflictingRewardError),
    ([(1, 1.0), (4, None, "other")], ConflictingRewardError),
    ([(1, 1.0), (2, 0.5), (1, 0.0)], ConflictingRewardError),
    ([(1, 1.0), (2, 0.5), (1, None, "gone")], ConflictingRewardError),
    ([(1, 1.0), 2], ArgumentError),
    ([(1, 1.0), (2,)], ArgumentError),
    ({1: 1.0}, ArgumentError),
    ("12", ArgumentError),
    (5, ArgumentError),
]
REFUSED_ASKED = [
    (0, {}),
    (-1, {}),
    (2.5, {}),
    (True, {}),
    ("patient", {}),
    (["a", ""], {}),
    (["a", 5], {}),
    (["a", "x" * 2000], {}),
    (["a", "b"], {"metadata": [{}]}),
    (["a", "b"], {"metadata": [{}, {"x": NAN}]}),
    (["a", "b"], {"metadata": [{}, 5]}),
    (["a", "b"], {"metadata": "x"}),
    (["a", "b"], {"ward": {1}}),
    (["a", "b"], {"metadata": 5}),
]


def test_none_is_refused_with_how_to_say_that_an_outcome_is_missing(path):
    with uli.Study.open(path, SE, 2) as study:
        study.ask_many(6)
        for told in (lambda: study.tell(6, None), lambda: study.tell_many([(6, None)])):
            with pytest.raises(RewardRangeError, match=r"tell_missing\(6, reason\), or \(6, None,"):
                told()


def test_what_is_refused_leaves_everything_as_it_was(place, monkeypatch):
    with place.open(SE, 2) as study:
        study.ask_many(4)
        study.tell_many([(3, 1.0), (4, None, "gone")])
        history, state = study.history(), study._replay.player.state()
        monkeypatch.setattr(study, "_play_again", lambda: pytest.fail("played again"))
        for outcomes, kind in REFUSED_TOLD:
            with pytest.raises(kind):
                study.tell_many(outcomes)
        for requests, more in REFUSED_ASKED:
            with pytest.raises(ArgumentError):
                study.ask_many(requests, **more)
        assert study.history() == history and study._replay.player.state() == state
        study.tell_many([(1, 1.0), (1, 1.0), (3, 1.0), (4, None, "gone")])
        assert len(list(study._journal.events())) == 8


def test_what_a_player_refuses_leaves_everything_as_it_was(place):
    with place.open(uli.Exp3P(0.1), 2, seed=1, horizon=50) as study:
        study.ask_many(48)
        with pytest.raises(ArgumentError, match="2 of the 50 rounds are left"):
            study.ask_many(3)
        assert len(study.ask_many(2)) == 2
    with place.read() as study:
        assert len(study.history()) == 50


@pytest.mark.parametrize("name", ["SE", "Exp3P", "PE"])
@pytest.mark.parametrize("statement", ["BEGIN", "INSERT", "COMMIT"])
@pytest.mark.parametrize("after", [False, True])
def test_a_failed_write_records_all_or_nothing(path, monkeypatch, name, statement, after):
    given, start = LEARNERS[name]
    bare = given.start(**start)
    with uli.Study.open(path, given, **start) as study:
        study.tell_many([(d.id, 1.0) for d in study.ask_many(5)])
        failing(monkeypatch, study, statement, after)
        keys = ["a", "b", "c"]
        with pytest.raises(StudyWriteError):
            study.ask_many(keys)
        recorded = after and statement == "COMMIT"
        assert len(study.history()) == 5 + 3 * recorded
        made = study.ask_many(keys)
        assert [d.id for d in made] == [6, 7, 8]
        failing(monkeypatch, study, statement, after)
        told = [(8, 0.0), (6, None, "gone"), (7, 1.0)]
        with pytest.raises(StudyWriteError):
            study.tell_many(told)
        assert len(study.pending()) == (0 if recorded else 3)
        study.tell_many(told)
        bare.ask(5)
        for i in range(5):
            bare.tell(i + 1, 1.0)
        assert [d.arm for d in bare.ask(3)] == [d.arm for d in made]
        bare.tell(8, 0.0), bare.tell_missing(6, "gone"), bare.tell(7, 1.0)
        assert study._replay.player.state() == bare.state()


def test_half_a_batch_is_never_on_the_disk(path, monkeypatch):
    """The second of three inserts fails, and the rest is taken back with it."""
    with uli.Study.open(path, SE, 2) as study:
        run, inserts = study._journal._run, []

        def patched(sql, values=()):
            if sql.startswith("INSERT"):
                inserts.append(values)
                if len(inserts) == 2:
                    raise sqlite3.OperationalError("disk I/O error")
            return run(sql, values)

        with monkeypatch.context() as patch:
            patch.setattr(study._journal, "_run", patched)
            with pytest.raises(StudyWriteError):
                study.ask_many(["a", "b", "c"])
        assert len(study.history()) == 0
        assert [d.id for d in study.ask_many(["c", "b", "a"])] == [1, 2, 3]
    assert [e.request for e in read_events(path)] == [None, "c", "b", "a"]


SIZE = 7


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    path = tmp_path_factory.mktemp("undisturbed") / "trial.db"
    treat_many(path, range(40), SIZE)
    with uli.Study.read(path) as study:
        return essence(study)


# Passes: the third write, an early insert, one in the middle of a batch, the last of one.
PASSES = {"begun": (1, 3, 4), "written": (1, 3, 7, 11, 14), "committed": (1, 3, 4)}


@pytest.mark.parametrize("where", PASSES)
def test_a_crash_in_a_batch_leaves_all_of_it_or_nothing(where, clinic, folder, undisturbed):
    for pass_ in PASSES[where]:
        path, log = folder / f"{pass_}.db", folder / f"log-{pass_}"
        job = {"do": "many", "path": str(path), "log": str(log), "patients": 40, "size": SIZE}
        assert clinic.start(**job, fault=f"many-{where}:{pass_}") > 0 and clinic.wait() == 137
        acknowledged = said(log)
        with uli.Study.open(path) as study:
            asked = [x for line in acknowledged if line[0] == "ask" for x in line[1]]
            told = [x for line in acknowledged if line[0] == "tell" for x in line[1]]
            history = study.history()
            more = len(history) - len(asked)
            settled = sum(r.status != "pending" for r in history)
            # Either the whole call that was cut off, or nothing of it.
            cut_off = (more, settled - len(told))
            assert cut_off in ([(SIZE, 0), (0, SIZE)] if where == "committed" else [(0, 0)])
            again = study.ask_many([f"patient-{i}" for i, _, _ in asked])
            assert [d[:2] for d in again] == [(id, arm) for _, id, arm in asked]
            events = len(list(study._journal.events()))
            study.tell_many([gone(id, result) for id, result in told])
            assert len(list(study._journal.events())) == events
        treat_many(path, range(40), SIZE)
        with uli.Study.open(path) as study:
            assert essence(study) == undisturbed


def gone(id, result):
    return (id, None, "did not come back") if result is None else (id, result)


def test_batches_and_single_calls_may_be_mixed(path):
    treat(path, range(10))
    treat_many(path, range(5, 30), 4)
    treat(path, range(40))
    with uli.Study.open(path) as study:
        bare = learner().start(ARMS)
        assert len(study.history()) == 40 and len(study.pending()) == 0
        assert study._replay.player.tally.asked.sum() == 40
        for record in study.history()[:12]:  # as the clinic did, two patients late
            assert bare.ask().arm == record.arm
            if record.id > 2:
                earlier = study.history()[record.id - 3]
                result = outcome(record.id - 3, earlier.arm)
                bare.tell_missing(earlier.id, "x") if result is None else bare.tell(
                    earlier.id, result
                )
            if record.id == 10:
                break
