"""What is not told in time is settled by the study itself, once and for everybody."""

import json
import math
import shutil
from datetime import timedelta

import pytest

import uli_fast as uli
from tests.study.clock import DAY, Clock
from tests.study.forging import rewritten
from tests.study.lateness import campaign
from tests.study.live import LEARNERS, SE, asked, settled_state
from tests.study.test_failed_calls import failing
from uli_fast.errors import (
    ArgumentError,
    ConflictingRewardError,
    RewardRangeError,
    StudyDivergedError,
    StudyWriteError,
)
from uli_fast.study import faults, snapshots, steps, window

WEEK = 7 * DAY


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def opened(place, then=0.0, learner=SE, arms=("a", "b"), **more):
    return place.open(learner, list(arms), window=WEEK, then=then, **more)


def kinds(place):
    return [event.kind for event in place.events()[1:]]


@pytest.mark.parametrize("then", [0.0, 0.25, None])
def test_what_is_not_told_in_time_is_settled(place, clock, then):
    with opened(place, then) as study:
        study.ask_many(2)
        clock.passes(WEEK - 1.0)
        study.tell(2, 1.0)
        assert [r.id for r in study.pending()] == [1]
        clock.passes(1.0)
        assert not study.pending() and study.windows == {"closed": 1, "late": 0}
        one, two = study.history()
        assert study.window == (WEEK, then)
    status = "missing" if then is None else "reward"
    assert (one.status, one.reward, one.reason) == (status, then, "not told within 7 days")
    assert (one.told, two.reward) == (clock.time.isoformat(timespec="microseconds"), 1.0)
    assert kinds(place) == ["ask", "ask", "tell", "closed"]
    audit = place.audit()
    assert audit.history == [one, two] and audit.statuses[status] >= 1
    assert audit.reasons == ({} if then is not None else {one.reason: 1})


CALLS = {
    "ask": lambda study: study.ask(),
    "ask again": lambda study: study.ask("first"),
    "tell": lambda study: study.tell(2, 1.0),
    "tell_many": lambda study: study.tell_many([(2, None, "gone")]),
    "together": lambda study: study.together([("tell", 2, 1.0)]),
    "active": lambda study: study.active,
    "certificate": lambda study: study.certificate(),
    "intervals": lambda study: study.intervals(),
    "pending": lambda study: study.pending(),
    "totals": lambda study: study.totals(),
    "overview": lambda study: study.overview(),
    "head": lambda study: study.head,
}


@pytest.mark.parametrize("name", CALLS)
def test_every_call_finds_windows_closed_that_are_over(path, clock, name):
    with uli.Study.open(path, SE, 2, window=WEEK, then=0.0) as study:
        study.ask("first")
        clock.passes(DAY)
        study.ask()
        clock.passes(WEEK - DAY)
        CALLS[name](study)
        assert study._replay.windows["closed"] == 1 and 1 not in study._replay.waiting
        assert study._replay.player.queue.outcomes[0] == 0.0


def test_a_call_that_is_refused_has_closed_windows_all_the_same(path, clock):
    with uli.Study.open(path, SE, 2, window=WEEK) as study:
        study.ask()
        clock.passes(WEEK)
        with pytest.raises(ArgumentError):
            study.tell(9, 1.0)
    with uli.Study.read(path) as study:
        assert study.totals().missing == 1


@pytest.mark.parametrize("then", [0.0, None])
def test_replaying_reads_no_clock(place, clock, monkeypatch, then):
    monkeypatch.setattr(snapshots, "BEHIND", 10)
    with opened(place, then) as study:
        for i in range(40):
            d = study.ask()
            clock.passes(DAY / 2)
            if i % 3:
                study.tell(d.id, float(i % 2))
        clock.passes(WEEK)
        study.tell(1, 0.5)
        state, windows = settled_state(study._replay.player), study.windows
    assert windows["closed"] > 10 and windows["late"] == 1
    for days in (-(10**5), 10**5):  # whatever the clock says then
        clock.time += timedelta(days=days)
        with place.open() as study:
            assert settled_state(study._replay.player) == state and study.windows == windows
        assert place.audit().overview.windows == windows  # snapshots are compared there
        with place.read() as study:
            assert study.windows == windows


def test_what_comes_late_is_recorded_and_not_used(place, clock):
    with opened(place) as study:
        study.ask_many(3)
        clock.passes(WEEK)
        study.tell(1, 1.0)
        bound = study.certificate()
        study.tell(1, 1.0)  # a webhook that is sent again
        study.tell_many([(1, 1.0), (2, 0.0)])  # what it was settled as is no news
        assert study.windows == {"closed": 3, "late": 1} and study.certificate() == bound
        with pytest.raises(ConflictingRewardError, match="late"):
            study.tell(1, 0.5)
        with pytest.raises(RewardRangeError):
            study.tell(1, 7.0)
        with pytest.raises(ConflictingRewardError, match=r"1 was settled by its window: .*7 days"):
            study.tell_missing(1, "moved away")
        study.together([("tell", 3, 0.5), ("tell", 3, 0.5)])
    with place.open() as study:
        study.tell(1, 1.0)
        study.tell(3, 0.5)
        history = study.history()
        page, _ = study.history_page()
    assert kinds(place) == ["ask"] * 3 + ["closed"] * 3 + ["late"] * 2
    assert [(r.status, r.reward, r.late) for r in history] == [
        ("reward", 0.0, 1.0),
        ("reward", 0.0, None),
        ("reward", 0.0, 0.5),
    ]
    assert page == history and place.audit().overview.windows == {"closed": 3, "late": 2}


def test_late_outcomes_that_are_not_counted_are_those_the_docs_name(path, clock):
    with uli.Study.open(path, SE, 2, window=WEEK, then=0.0) as study:
        study.ask_many(2)
        clock.passes(WEEK)
        study.tell(1, 0.0)  # as it was settled
        study.tell_many([(2, 1.0)], only_pending=True)
        assert study.windows == {"closed": 2, "late": 0}
        study.tell_many([(1, 1.0), (2, 1.0)])
        assert study.windows == {"closed": 2, "late": 2}


def test_what_comes_late_for_a_decision_long_forgotten_is_recorded_once(place, clock, monkeypatch):
    monkeypatch.setattr(snapshots, "BEHIND", 5)
    with opened(place, None) as study:
        for _ in range(30):
            study.ask()
            clock.passes(WEEK)
        assert study._replay.player.queue.forgotten > 10
        for _ in range(2):
            study.tell(3, 1.0)
    with place.open() as study:
        study.tell(3, 1.0)
        assert study.windows["late"] == 1 and study.history()[2].late == 1.0


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_goes_on_when_outcomes_stay_away(name, path, clock):
    learner, start = LEARNERS[name]
    with uli.Study.open(path, learner, **start, window=WEEK) as study:
        for _ in range(8):
            asked(study)
            clock.passes(WEEK)
        assert study.totals().missing == 8 and study._replay.player.queue.settled == 8
        state = settled_state(study._replay.player)
    with uli.Study.open(path, learner, **start, window=timedelta(days=7)) as study:
        assert settled_state(study._replay.player) == state
    uli.Study.audit(path)


def test_late_episodes_are_recorded(path, clock):
    learner, start = LEARNERS["PolicyElimination"]
    with uli.Study.open(path, learner, **start, window=WEEK) as study:
        episode = study.ask(state=0)
        states = [0] * len(episode.policy)
        actions = [int(episode.policy[h, s]) for h, s in enumerate(states)]
        clock.passes(WEEK)
        for _ in range(2):
            study.tell(episode.id, states, actions)
        row = study.history()[0]
    assert row.status == "missing" and row.late is not None and row.states is None
    assert uli.Study.audit(path).overview.windows == {"closed": 1, "late": 1}


def test_a_window_stays_that_of_its_study(place):
    opened(place).close()
    days = {"window": timedelta(days=7), "then": 0.0}
    for same in ({}, {"window": WEEK, "then": 0}, days, {"then": 0.0}):
        place.open(**same).close()
    for window_, then in ((DAY, 0.0), (WEEK, None), (WEEK, 1.0), (None, 1.0)):
        with pytest.raises(ArgumentError, match="not told within 7 days counts as 0") as refused:
            place.open(window=window_, then=then)
        assert refused.value.argument == "window"
    other = place.another()
    other.open(SE, 2).close()
    with pytest.raises(ArgumentError, match=r"without one: .* only_pending=True") as refused:
        other.open(window=WEEK)
    assert refused.value.argument == "window"


@pytest.mark.parametrize(
    ("argument", "given"),
    [
        ("window", {"window": 0}),
        ("window", {"window": -1.0}),
        ("window", {"window": math.nan}),
        ("window", {"window": math.inf}),
        ("window", {"window": "7 days"}),
        ("window", {"window": True}),
        ("then", {"window": DAY, "then": True}),
        ("window", {"window": timedelta(0)}),
        ("then", {"window": DAY, "then": 2.0}),
        ("then", {"window": DAY, "then": math.nan}),
        ("then", {"window": DAY, "then": "missing"}),
        ("then", {"then": 0.0}),
    ],
)
def test_windows_that_make_no_sense_are_refused_before_anything_is_written(path, argument, given):
    with pytest.raises(ArgumentError) as refused:
        uli.Study.open(path, SE, 2, **given)
    assert refused.value.argument == argument and not path.exists()


def test_a_time_span_in_words_is_refused_with_what_it_may_be(path):
    with pytest.raises(ArgumentError, match="must be seconds or a timedelta, got '7d'"):
        uli.Study.open(path, SE, 2, window="7d")
    with uli.Study.open(path, SE, 2) as study:
        for wrong in ("7d", True):
            with pytest.raises(ArgumentError, match="must be seconds or a timedelta"):
                study.pending(older_than=wrong)


def test_an_episode_cannot_be_settled_as_a_reward(path):
    learner, start = LEARNERS["PolicyElimination"]
    with pytest.raises(ArgumentError, match="episode") as refused:
        uli.Study.open(path, learner, **start, window=DAY, then=0.0)
    assert refused.value.argument == "then" and not path.exists()


def test_a_clock_that_goes_back_closes_nothing_early(path, clock):
    with uli.Study.open(path, SE, 2, window=WEEK, then=0.0) as study:
        study.ask()
        clock.passes(-300 * DAY)
        study.ask()
        assert study.awaited == 2  # neither is a week old
        clock.passes(WEEK)
        study.tell_many([(2, 1.0)])  # accepted: the study waits for the first one, and says so
        assert study.held[:2] == (1, 1)
        assert "waits behind decision 1 (asked 0 seconds ago)" in study.certificate().held
        clock.passes(300 * DAY)
        assert study.awaited == 0 and study.held is None
    uli.Study.audit(path)


def test_very_many_windows_close_in_several_writes(place, clock, monkeypatch):
    monkeypatch.setattr(steps, "MOST_CLOSED", 3)
    with opened(place) as study:
        study.ask_many(10)
        clock.passes(WEEK)
        writes, add = [], study._journal.add_many
        monkeypatch.setattr(
            study._journal,
            "add_many",
            lambda last, entries, point: writes.append(len(entries)) or add(last, entries, point),
        )
        assert study.awaited == 0 and writes == [3, 3, 3, 1]


def test_workers_close_a_window_once(database, clock):
    with opened(database) as one, database.open() as other:
        one.ask_many(5)
        assert other.awaited == 5
        clock.passes(WEEK)
        add, met = one._journal.add_many, []

        def overtaken(last, entries, point):
            if not met:
                met.append(other.awaited)  # the other one closes them first
            return add(last, entries, point)

        one._journal.add_many = overtaken
        assert one.awaited == 0 and met == [0]
        assert one.windows == other.windows == {"closed": 5, "late": 0}
        one.tell(2, 1.0)
        other.tell(2, 1.0)
        assert other.windows["late"] == 1 and one.head == other.head
    assert kinds(database) == ["ask"] * 5 + ["closed"] * 5 + ["late"]


def test_an_outcome_that_another_worker_told_in_time_stays(database, clock):
    """Who is first in the journal counts, and the other one goes by it."""
    with opened(database) as one, database.open() as other:
        one.ask_many(2)
        assert other.awaited == 2
        clock.passes(WEEK - 1.0)
        add = one._journal.add_many

        def overtaken(last, entries, point):
            if point == "closed" and other.awaited:
                clock.passes(-10.0)  # by the clock of the other machine it is not over yet
                other.tell(1, 1.0)
                clock.passes(10.0)
            return add(last, entries, point)

        one._journal.add_many = overtaken
        clock.passes(1.0)
        other._close_windows = lambda to_write: None  # by its clock, until it has told
        assert one.awaited == 0
        del other._close_windows
        assert [r.reward for r in other.history()] == [1.0, 0.0]
    assert kinds(database) == ["ask", "ask", "tell", "closed"]


@pytest.mark.parametrize("statement", ["BEGIN", "INSERT", "COMMIT"])
def test_looking_goes_on_where_nothing_can_be_written(path, clock, monkeypatch, statement):
    with uli.Study.open(path, SE, 2, window=WEEK, then=0.0) as study:
        study.ask()
        clock.passes(WEEK)
        with monkeypatch.context() as patch:
            failing(patch, study, statement, False)
            assert study.totals().pending == 1
        with monkeypatch.context() as patch:
            failing(patch, study, statement, False)
            with pytest.raises(StudyWriteError):
                study.ask()
        assert study.totals() == (1, 1, 0, 0, None)
    uli.Study.audit(path)


@pytest.mark.parametrize("where", ["begun", "written", "committed"])
def test_a_crash_while_windows_close_leaves_all_or_none(path, folder, clock, monkeypatch, where):
    copy = folder / "copy.db"

    def killed(status):
        for suffix in ("", "-wal"):  # what the disk has then
            shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
        raise KeyboardInterrupt

    with uli.Study.open(path, SE, 2, window=WEEK, then=0.0) as study:
        study.ask_many(3)
        clock.passes(WEEK)
        with monkeypatch.context() as patch:
            patch.setattr(faults.os, "_exit", killed)
            patch.setenv("ULI_FAULT", f"closed-{where}")
            patch.setattr(faults, "_passes", type(faults._passes)())
            with pytest.raises(KeyboardInterrupt):
                study.ask()
        assert study.awaited == 0  # the same process goes on, too
    with uli.Study.read(copy) as study:
        assert study.totals().reward == (3 if where == "committed" else 0)
    with uli.Study.open(copy) as study:
        assert study.totals() == (3, 3, 0, 0, None)


def _event(kind, change):
    def changed(events):
        at = next(i for i, event in enumerate(events) if event.kind == kind)
        events[at] = change(events[at])
        return events

    return changed


def _content(**values):
    return lambda event: event._replace(payload=json.dumps(event.content | values))


FORGED = {
    "too early": _event("closed", _content(at="2026-03-02T00:00:00.000000+00:00")),
    "no time": _event("closed", _content(at="2026-04-02")),
    "as something else": _event("closed", _content(reward=1.0)),
    "for another reason": _event("closed", _content(reason="because")),
    "empty": _event("closed", lambda event: event._replace(payload="{}")),
    "late": _event("closed", lambda event: event._replace(kind="late")),
    "shorter": _event("create", lambda e: e._replace(payload=e.payload.replace("6048", "7"))),
}


@pytest.mark.parametrize("name", FORGED)
def test_windows_that_were_closed_otherwise_are_no_study(place, clock, name):
    with opened(place) as study:
        study.ask()
        clock.passes(WEEK)
        assert not study.awaited
    rewritten(place, FORGED[name])
    with pytest.raises(StudyDivergedError):
        place.audit()
    with pytest.raises(StudyDivergedError):
        place.open()


def test_a_certificate_says_what_the_window_makes_an_outcome(place, clock):
    with opened(place) as study:
        said = study.certificate().assumes[-1]
        assert "not told within 7 days counts as 0" in said
    assert place.audit().assumes[-1] == said
    with opened(place.another(), None) as study:
        assert not any("told within" in x for x in study.certificate().assumes)


def test_windows_are_named_in_units_that_people_use():
    said = {1.0: "1 second", 90.0: "90 seconds", 3600.0: "60 minutes", 86400.0: "24 hours"}
    said |= {WEEK: "7 days", 0.5: "0.5 seconds", 100_000.0: "27.7778 hours"}
    for seconds, words in said.items():
        assert window.Window(seconds, None).reason == f"not told within {words}"


# What is still open, settled by hand.


def test_what_is_pending_can_be_settled_while_outcomes_come(place):
    with place.open(SE, 2) as study:
        study.ask_many(6)
        study.tell(1, 1.0)
        study.tell_missing(2, "moved away")
        rows = [(r.id, 0.0) for r in study.pending()]
        study.tell(3, 1.0)  # meanwhile
        study.tell_many([(1, 0.0), (2, None, "other"), *rows], only_pending=True)
        assert [r.reward for r in study.history()] == [1.0, None, 1.0, 0.0, 0.0, 0.0]
        before = study.head
        study.tell_many(rows, only_pending=True)
        assert study.head == before
        study.ask()
        of_known = ([(1, "abc")], [(1, 7.0)], [(1, None, "")], [(1, 1.0, 1)], [(2, None, 3)])
        for wrong in (*of_known, [(9, 1.0)], [(7, 7.0)], [(7, None, "")], [(7, 1.0), (7, 0.0)]):
            with pytest.raises(ArgumentError):
                study.tell_many(wrong, only_pending=True)
        with pytest.raises(ArgumentError, match="only_pending"):
            study.tell_many(rows, only_pending="yes")
        assert study.head.sequence == before.sequence + 1


def test_settling_what_is_pending_takes_no_outcome_of_another_worker(database):
    with database.open(SE, 2) as one, database.open() as other:
        one.ask_many(3)
        rows = [(r.id, None, "never came") for r in one.pending()]
        add, met = one._journal.add_many, []

        def overtaken(last, entries, point):
            if not met:
                met.append(other.tell(2, 1.0))
            return add(last, entries, point)

        one._journal.add_many = overtaken
        one.tell_many(rows, only_pending=True)
        assert [r.status for r in other.history()] == ["missing", "reward", "missing"]


# All of it at once.


def test_nothing_waits_for_ever_and_certificates_stay_true():
    found = campaign(12, seed=5)
    assert found["closed"] > 300 and found["late"] > 100 and found["missing"] > 50
    assert found["false"] <= found["allowed"]
