"""Ctrl-C at any moment of ask, tell, open and close: the next call goes on where it was."""

import contextlib
import os

import pytest

import uli_fast as uli
from tests.study import interrupts
from tests.study.clinic import ARMS, learner
from tests.study.live import settled_state
from uli_fast.errors import StudyError
from uli_fast.study import snapshots


def test_no_interrupt_leaves_a_study_stuck_or_loses_anything():
    found = interrupts.interrupted(300, seed=1)
    assert set(found) >= {"ask", "tell", "tell_missing", "open", "close"}


def test_no_interrupt_loses_anything_in_a_database(database):
    found = interrupts.interrupted_on_database(100, 1, database.where)
    assert set(found) >= {"ask", "tell", "open", "close"}


def test_an_interrupt_when_the_size_of_the_log_is_looked_up_is_forgiven(path, monkeypatch):
    """The event is on the disk; what is known of the log must not be what it was before."""
    with uli.Study.open(path, learner(), ARMS) as study:
        study.ask("first")
        run, stat, committed = study._journal._run, os.stat, []

        def running(sql, values=()):
            found = run(sql, values)
            if sql == "COMMIT":
                committed.append(sql)
            return found

        def looking(file, *args, **more):
            if committed and str(file).endswith("-wal"):
                committed.clear()
                raise KeyboardInterrupt
            return stat(file, *args, **more)

        with monkeypatch.context() as patch:
            patch.setattr(study._journal, "_run", running)
            patch.setattr(os, "stat", looking)
            with pytest.raises(KeyboardInterrupt):
                study.ask("second")
        second = study.ask("second")
        third = study.ask("third")
        assert [second.id, third.id] == [2, 3]
        study.tell(third.id, 1.0)


def test_a_close_that_is_interrupted_can_be_done_again(path, monkeypatch):
    study = uli.Study.open(path, learner(), ARMS)
    study.ask("first")
    lock = study._journal._lock
    release = lock.release

    def interrupted():
        monkeypatch.setattr(lock, "release", release)
        raise KeyboardInterrupt

    monkeypatch.setattr(lock, "release", interrupted)
    with pytest.raises(KeyboardInterrupt):
        study.close()
    with pytest.raises(StudyError, match="this study is closed"):
        study.ask("second")
    study.close()
    with uli.Study.open(path) as study:
        assert [r.request_id for r in study.history()] == ["first"]


def test_an_interrupt_while_a_player_forgets_is_forgiven(path, monkeypatch):
    """Its lists are cut one after the other."""
    monkeypatch.setattr(snapshots, "BEHIND", 10)
    interrupts = []

    def interrupted(n):
        interrupts.append(n)
        raise KeyboardInterrupt

    with uli.Study.open(path, uli.BettingElimination(0.1), ARMS) as study:

        def twice(call, *what):
            with monkeypatch.context() as patch:
                patch.setattr(study._replay.player.sweeps, "forget", interrupted)
                with contextlib.suppress(KeyboardInterrupt):
                    return call(*what)
            return call(*what)

        for i in range(30):
            twice(study.tell, twice(study.ask, f"p{i}").id, 1.0)
        assert len(interrupts) >= 4 and min(interrupts) >= 4
        history, state = study.history(), settled_state(study._replay.player)
    with uli.Study.read(path) as study:
        assert study.history() == history and settled_state(study._replay.player) == state
