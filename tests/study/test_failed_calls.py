"""A call that fails leaves the study as the journal has it."""

import sqlite3

import numpy as np
import pytest

import uli_fast as uli
from tests.study.live import LEARNERS, SE, asked, outcome, same, settled_state
from uli_fast.errors import ArgumentError, ConflictingRewardError, RewardRangeError, StudyWriteError
from uli_fast.study import snapshots
from uli_fast.study.replay import StudyReplay


def test_a_warning_made_an_error_leaves_the_study_as_the_journal_has_it(place):
    """The tell that closes a saturated phase warns; where that raises, nothing was recorded."""
    learner, start = LEARNERS["PolicyElimination"]
    rng = np.random.default_rng(0)
    with place.open(learner, **start) as study:
        raised = 0
        for i in range(study._replay.player.quota):
            d = study.ask(f"e{i}", state=0)
            told = outcome(d, rng)
            try:
                study.tell(d.id, *told)
            except uli.errors.SaturationWarning:
                raised += 1
        assert raised == 1
        assert len(study.pending()) == 1 and study._replay.player.phase == 1
        with pytest.warns(uli.errors.SaturationWarning):
            study.tell(d.id, *told)
        assert study._replay.player.phase == 2


class Moody:
    """A base of one's own that refuses once, after it has learned or drawn."""

    losses = "unit"

    def __init__(self):
        self.refuse = ""

    def g(self, arms, delta):
        return 1.0

    def start_phase(self, arms, rounds, delta):
        return MoodyPhase(self, len(arms))

    def maybe(self, where):
        if self.refuse == where:
            self.refuse = ""
            raise ArgumentError("reward", "not today")


class MoodyPhase:
    def __init__(self, base, k):
        self.base, self.estimates = base, np.zeros(k)

    def choose(self, rng):
        arm = int(rng.integers(self.estimates.size))
        self.base.maybe("choose")
        return arm, 1.0 / self.estimates.size

    def update(self, arm, loss):
        self.estimates[arm] += loss
        self.base.maybe("update")


@pytest.mark.parametrize("where", ["choose", "update"])
def test_an_error_of_a_base_leaves_the_study_as_the_journal_has_it(place, where):
    base = Moody()
    learner = uli.MetaElimination(base, 0.1)
    bare = uli.MetaElimination(Moody(), 0.1).start(2, seed=1)
    with place.open(learner, 2, seed=1) as study:
        for i in range(6):
            base.refuse = where if i == 3 else ""
            if base.refuse == "choose":
                with pytest.raises(ArgumentError, match="not today"):
                    study.ask(f"p{i}")
            d = study.ask(f"p{i}")
            assert same(d, bare.ask())
            if base.refuse == "update":
                with pytest.raises(ArgumentError, match="not today"):
                    study.tell(d.id, 0.5)
                assert [r.id for r in study.pending()] == [d.id]
                with pytest.raises(RewardRangeError):
                    study.tell(d.id, 7.0)
            study.tell(d.id, 0.5)
            bare.tell(d.id, 0.5)
            assert len(study.history()) == d.id and study.pending() == []
        player = study._replay.player
        assert player._base.estimates.tolist() == bare._base.estimates.tolist()
    with place.open(learner) as study:
        assert [r.reward for r in study.history()] == [0.5] * 6


def test_refused_arguments_do_not_play_the_journal_again(place, monkeypatch):
    with place.open(SE, 2) as study:
        d = study.ask("p")
        monkeypatch.setattr(study, "_play_again", lambda: pytest.fail("played again"))
        for wrong in (
            lambda: study.tell(d.id, 7.0),
            lambda: study.tell(9, 0.5),
            lambda: study.tell_missing(d.id, ""),
            lambda: study.ask(""),
        ):
            with pytest.raises(ArgumentError):
                wrong()
        study.tell(d.id, 0.5)
        with pytest.raises(ConflictingRewardError):
            study.tell(d.id, 0.6)
        assert len(study.history()) == 1


def failing(monkeypatch, study, statement, after):
    """Let the next such statement fail, before or after it has been carried out.

    Not that of a snapshot, which may fail.
    """
    journal, run, left, other = study._journal, study._journal._run, [1], []

    def patched(sql, values=()):
        if sql.startswith("INSERT"):
            other[:] = [sql] * ("snapshot" in sql)
        if sql.startswith(statement) and left and not other:
            left.clear()
            if after:
                run(sql, values)
            raise sqlite3.OperationalError("disk I/O error")
        return run(sql, values)

    monkeypatch.setattr(journal, "_run", patched)


@pytest.mark.parametrize("name", ["SE", "Exp3P", "PE"])
@pytest.mark.parametrize("statement", ["BEGIN", "INSERT", "COMMIT"])
@pytest.mark.parametrize("after", [False, True])
def test_a_failed_commit_leaves_the_player_as_the_disk_has_it(
    path, monkeypatch, name, statement, after
):
    learner, start = LEARNERS[name]
    bare = learner.start(**start)
    with uli.Study.open(path, learner, **start) as study:
        for i in range(20):
            d = study.ask(f"p{i}")
            assert same(d, bare.ask())
            study.tell(d.id, 1.0)
            bare.tell(d.id, 1.0)
        state = study._replay.player.state()
        failing(monkeypatch, study, statement, after)
        with pytest.raises(StudyWriteError):
            study.ask("p20")
        recorded = after and statement == "COMMIT"
        assert len(study.history()) == 20 + recorded
        if not recorded:
            assert study._replay.player.state() == state
        d = study.ask("p20")
        assert same(d, bare.ask())
        failing(monkeypatch, study, statement, after)
        with pytest.raises(StudyWriteError):
            study.tell(d.id, 0.0)
        study.tell(d.id, 0.0)
        bare.tell(d.id, 0.0)
        assert settled_state(study._replay.player) == settled_state(bare)
        history = study.history()
    with uli.Study.open(path) as study:
        assert study.history() == history and settled_state(study._replay.player) == settled_state(
            bare
        )


@pytest.mark.filterwarnings("ignore::uli_fast.errors.SaturationWarning")
@pytest.mark.parametrize("name", LEARNERS)
def test_after_a_failed_write_only_the_last_events_are_played_again(path, monkeypatch, name):
    learner, start = LEARNERS[name]
    bare, rng, played = learner.start(**start), np.random.default_rng(2), []
    monkeypatch.setattr(snapshots, "BEHIND", 10)
    repeat = StudyReplay._repeat
    monkeypatch.setattr(StudyReplay, "_repeat", lambda *a: [played.append(1), repeat(*a)])
    with uli.Study.open(path, learner, **start) as study:
        for i in range(60):
            d = asked(study)
            assert same(d, asked(bare))
            told = outcome(d, rng)
            if i % 7 == 6:
                with monkeypatch.context() as patch:
                    failing(patch, study, "COMMIT", i % 2)
                    with pytest.raises(StudyWriteError):
                        study.tell_missing(d.id, "x") if i % 3 == 0 else study.tell(d.id, *told)
                played.clear()
                study.history()
                assert len(played) <= 12
                study.tell_missing(d.id, "x") if i % 3 == 0 else study.tell(d.id, *told)
                bare.tell_missing(d.id, "x") if i % 3 == 0 else bare.tell(d.id, *told)
            else:
                study.tell(d.id, *told)
                bare.tell(d.id, *told)
            assert settled_state(study._replay.player) == settled_state(bare)
        history = study.history()
    with uli.Study.open(path) as study:  # the whole journal makes the same of it
        assert study.history() == history and settled_state(study._replay.player) == settled_state(
            bare
        )


def test_what_is_the_users_own_is_played_again_from_the_beginning(path, monkeypatch):
    """Nothing says that it can be saved and restored; the journal can always be played."""
    monkeypatch.setattr(snapshots, "BEHIND", 2)
    base = Moody()
    with uli.Study.open(path, uli.MetaElimination(base, 0.1), 2, seed=1) as study:
        for i in range(6):
            study.tell(study.ask(f"p{i}").id, 0.5)
        assert study._saved is None
        failing(monkeypatch, study, "COMMIT", False)
        with pytest.raises(StudyWriteError):
            study.ask("p6")
        study.ask("p6")
        assert len(study.history()) == 7
