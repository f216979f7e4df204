"""A study decides as the bare player does, and forgets nothing."""

import math
import threading
from datetime import timedelta

import numpy as np
import pytest

import uli_fast as uli
from tests.study.live import AT_ONCE, LEARNERS, SE, asked, outcome, same
from uli_fast.errors import (
    ArgumentError,
    ConflictingRewardError,
    NoGuaranteeError,
    RewardRangeError,
    UnknownDecisionError,
    UnsupportedError,
)


@pytest.mark.filterwarnings("ignore::uli_fast.errors.SaturationWarning")
@pytest.mark.parametrize("name", LEARNERS)
def test_decisions_are_the_bare_player_s_through_reopening(name, place):
    learner, start = LEARNERS[name]
    player, rng = learner.start(**start), np.random.default_rng(1)
    study = place.open(learner=learner, **start)
    open_ones = []
    for t in range(150):
        if t in (40, 41, 90):
            study.close()
            study = place.open()
            assert study.learner == learner
        a, b = asked(study), asked(player)
        assert same(a, b)
        open_ones.append((a.id, outcome(a, rng)))
        while len(open_ones) > (0 if name in AT_ONCE else rng.integers(0, 4)):
            id, told = open_ones.pop(rng.integers(len(open_ones)))
            if rng.random() < 0.1:
                study.tell_missing(id, "lost")
                player.tell_missing(id, "lost")
            else:
                study.tell(id, *told)
                player.tell(id, *told)
    assert [r.id for r in study.pending()] == list(player.pending)
    assert study._replay.player.state() == player.state()
    history = study.history()
    study.close()
    with place.open(learner=learner, **start) as again:
        assert again.history() == history and again._replay.player.state() == player.state()
    with place.read() as again:
        assert again.history() == history and again._replay.player.state() == player.state()


def test_a_request_gets_one_decision_for_ever(place):
    with place.open(SE, ["a", "b"]) as study:
        first = study.ask("patient-1", site="Oslo", age=64)
        second = study.ask(request_id="patient-2", metadata={"site": "Bergen"})
        assert study.ask("patient-1") == first and second.id == 2
        study.tell(first.id, 1.0)
        assert study.ask("patient-1") == first
    with place.open() as study:
        assert study.ask("patient-1") == first and study.ask("patient-2") == second
        assert len(study.history()) == 2
        record = study.history()[0]
        assert record.metadata == {"site": "Oslo", "age": 64} and record.request_id == "patient-1"
        assert (record.status, record.reward, record.arm) == ("reward", 1.0, "a")
        assert record.asked < record.told
        assert study.ask() != study.ask()  # without a key every question is a new one


def test_telling_is_idempotent_and_conflicts_are_refused(place):
    with place.open(SE, 2) as study:
        one, two = study.ask(), study.ask()
        study.tell(one.id, 0.5)
        study.tell_missing(two.id, "withdrew")
        before = study.history(), list(study._journal.events())
        study.tell(one.id, 0.5)
        study.tell_missing(two.id, "withdrew")
        for wrong, error, argument in (
            (lambda: study.tell(one.id, 0.6), ConflictingRewardError, "reward"),
            (lambda: study.tell(two.id, 0.5), ConflictingRewardError, "reward"),
            (lambda: study.tell_missing(one.id, "x"), ConflictingRewardError, "reason"),
            (lambda: study.tell_missing(two.id, "x"), ConflictingRewardError, "reason"),
            (lambda: study.tell(3, 0.5), UnknownDecisionError, "decision_id"),
            (lambda: study.tell("1", 0.5), UnknownDecisionError, "decision_id"),
            (lambda: study.tell_missing(0, "x"), UnknownDecisionError, "decision_id"),
            (lambda: study.tell(one.id), ArgumentError, "outcome"),
            (lambda: study.tell(one.id, [0], [0]), ArgumentError, "outcome"),
            (lambda: study.ask(""), ArgumentError, "request_id"),
            (lambda: study.ask("\ud800"), ArgumentError, "request_id"),
            (lambda: study.ask(7), ArgumentError, "request_id"),
            (lambda: study.ask("x", value=math.nan), ArgumentError, "metadata"),
            (lambda: study.ask("x", value=object()), ArgumentError, "metadata"),
            (lambda: study.ask("x", metadata=[1]), ArgumentError, "metadata"),
            (lambda: study.pending("long"), ArgumentError, "older_than"),
            (lambda: study.export("x.txt"), ArgumentError, "path"),
        ):
            with pytest.raises(error) as caught:
                wrong()
            assert caught.value.argument == argument
        three = study.ask()
        with pytest.raises(RewardRangeError):
            study.tell(three.id, 1.5)
        assert study.history()[:2] == before[0] and study.history()[2].status == "pending"
        assert list(study._journal.events())[:-1] == before[1]


def test_seeds_are_recorded_when_the_study_begins(place):
    learner, start = uli.Exp3P(0.1), {"arms": 3, "horizon": 2000}
    with place.open(learner, **start) as study:
        arms = [study.ask().arm for _ in range(30)]
        seed = study._setup.arguments["seed"]
    with place.open() as study:
        assert [r.arm for r in study.history()] == arms
        with pytest.raises(NoGuaranteeError):
            study.certificate()
    player = learner.start(**start, seed=seed)
    assert [player.ask().arm for _ in range(30)] == arms


@pytest.mark.filterwarnings("ignore::uli_fast.errors.SaturationWarning")
def test_policies(place):
    learner, start = LEARNERS["PolicyElimination"]
    rng = np.random.default_rng(0)
    with place.open(learner, **start) as study:
        first = study.ask("e1", state=0, ward="A")
        assert study.ask("e1", state=0) == first
        for wrong in (lambda: study.ask("e2"), lambda: study.ask("e1", state=9)):
            with pytest.raises(ArgumentError, match="state"):
                wrong()
        with pytest.raises(ArgumentError, match="outcome"):
            study.tell(first.id, 1.0)
        states, actions = outcome(first, rng)
        study.tell(first.id, states, actions)
        study.tell(first.id, states, actions)
        row = study.history()[0]
        assert (row.states, row.actions, row.metadata) == (states, actions, {"ward": "A"})
        assert study.active == len(study._replay.player.policies) > 1
        with pytest.raises(UnsupportedError, match="intervals"):
            study.intervals()


def test_pending_by_age(place, monkeypatch):
    with place.open(SE, 2) as study:
        one = study.ask("old")
        study.ask("new")
        waiting = study._replay.waiting
        old = waiting[1].record._replace(asked="2020-01-01T00:00:00.000000+00:00")
        waiting[1] = waiting[1]._replace(record=old)
        assert [r.id for r in study.pending()] == [1, 2]
        assert [r.id for r in study.pending(older_than=3600)] == [one.id]
        assert [r.id for r in study.pending(older_than=timedelta(days=1))] == [one.id]
        study.tell_missing(one.id, "too late")
        assert [r.request_id for r in study.pending()] == ["new"]


def test_threads_take_turns(place):
    with place.open(SE, 3) as study:

        def work(k):
            for i in range(25):
                study.tell(study.ask(f"{k}-{i}").id, 0.5)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [r.id for r in study.history()] == list(range(1, 101))
        assert study.pending() == []
    with place.open() as study:
        assert len(study.history()) == 100
