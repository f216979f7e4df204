"""A study decides as the bare player does, and forgets nothing."""

import functools
import json
import math
import sqlite3
import sys
import threading
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction

import numpy as np
import pytest

import uli_fast as uli
from uli_fast import _journal
from uli_fast import study as studies
from uli_fast._history import Record
from uli_fast._trace import Trace
from uli_fast.errors import (
    ArgumentError,
    ConflictingRewardError,
    MissingExtraError,
    NoGuaranteeError,
    RewardRangeError,
    StudyDivergedError,
    StudyError,
    StudyLockedError,
    StudyWriteError,
    UliError,
    UnknownDecisionError,
    UnsupportedError,
)

SE = uli.SuccessiveElimination(0.1)
VECTORS = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.6], [-0.5, 0.2]])
MDP = uli.mdps.combination_lock(length=2, n_actions=2)
LEARNERS = {
    "SE": (SE, {"arms": ["a", "b", "c"]}),
    "SE in a range": (SE, {"arms": 3, "low": -5.0, "high": 5.0}),
    "SE unbounded": (
        uli.SuccessiveElimination(0.1, R=1.0),
        {"arms": 2, "low": -math.inf, "high": math.inf},
    ),
    "PE": (uli.PhasedElimination(0.3), {"arms": ["x", "y"]}),
    "UCB": (uli.UCB(0.1), {"arms": 3}),
    "LilUCB": (uli.LilUCB(0.1), {"arms": 3}),
    "KLUCB": (uli.KLUCB(0.1), {"arms": 3}),
    "ThompsonSampling": (uli.ThompsonSampling(0.1), {"arms": 3, "seed": 7}),
    "Exp3P": (uli.Exp3P(0.1), {"arms": 3, "seed": 7, "horizon": 2000}),
    "GeometricHedge": (
        uli.GeometricHedge(0.1),
        {"arms": VECTORS, "seed": 3, "horizon": 10**6, "low": -2.0, "high": 2.0},
    ),
    "Scrible": (
        uli.Scrible(),
        {"arms": VECTORS, "seed": 3, "horizon": 10**6, "low": -2.0, "high": 2.0},
    ),
    "MetaElimination": (
        uli.MetaElimination(uli.Exp3P(constant=0.01), 0.1, mode="sharp"),
        {"arms": ["a", "b"], "seed": 5},
    ),
    "LinearElimination": (uli.LinearElimination(0.1, R=0.2), {"arms": VECTORS, "intercept": 0.5}),
    "SpannerElimination": (uli.SpannerElimination(0.1, R=1.0), {"arms": uli.arm_sets.Ball(2)}),
    "PolicyElimination": (uli.PolicyElimination(0.1, (1e-4, 1.0)), {"rewards": MDP.rewards}),
}
# Drawn at random, or refusing to be asked ahead: told at once.
AT_ONCE = ("ThompsonSampling", "Exp3P", "GeometricHedge", "Scrible", "MetaElimination")


def outcome(decision, rng):
    """Return what a decision is told: a reward, or states and actions."""
    if decision._fields[1] == "policy":
        H, S = decision.policy.shape
        states = [0, *rng.integers(S, size=H - 1).tolist()]
        return states, [int(decision.policy[h, s]) for h, s in enumerate(states)]
    return (float(rng.integers(0, 2)),)


def asked(live):
    policies = isinstance(getattr(live, "learner", None), uli.PolicyElimination)
    return live.ask(state=0) if policies else live.ask()


def same(a, b):
    return (a.id, a.probability) == (b.id, b.probability) and np.array_equal(a[1], b[1])


@pytest.mark.filterwarnings("ignore::uli_fast.errors.SaturationWarning")
@pytest.mark.parametrize("name", LEARNERS)
def test_decisions_are_the_bare_player_s_through_reopening(name, path):
    learner, start = LEARNERS[name]
    player, rng = learner.start(**start), np.random.default_rng(1)
    study = uli.Study.open(path, learner=learner, **start)
    open_ones = []
    for t in range(150):
        if t in (40, 41, 90):
            study.close()
            study = uli.Study.open(path)
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
    assert study._trace.player.state() == player.state()
    history = study.history()
    study.close()
    with uli.Study.open(path, learner=learner, **start) as again:
        assert again.history() == history and again._trace.player.state() == player.state()
    with uli.Study.read(path) as again:
        assert again.history() == history and again._trace.player.state() == player.state()


def test_a_request_gets_one_decision_for_ever(path):
    with uli.Study.open(path, SE, ["a", "b"]) as study:
        first = study.ask("patient-1", site="Oslo", age=64)
        second = study.ask(request_id="patient-2", metadata={"site": "Bergen"})
        assert study.ask("patient-1") == first and second.id == 2
        study.tell(first.id, 1.0)
        assert study.ask("patient-1") == first
    with uli.Study.open(path) as study:
        assert study.ask("patient-1") == first and study.ask("patient-2") == second
        assert len(study.history()) == 2
        record = study.history()[0]
        assert record.metadata == {"site": "Oslo", "age": 64} and record.request_id == "patient-1"
        assert (record.status, record.reward, record.arm) == ("reward", 1.0, "a")
        assert record.asked < record.told
        assert study.ask() != study.ask()  # without a key every question is a new one


def test_telling_is_idempotent_and_conflicts_are_refused(path):
    with uli.Study.open(path, SE, 2) as study:
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


def test_what_is_on_the_disk_is_what_was_said(path):
    """Another connection sees each event before the call that made it has returned."""
    with uli.Study.open(path, SE, 2) as study:
        run = study._journal._run
        settings = {
            "journal_mode": "wal",
            "synchronous": 2,
            "locking_mode": "exclusive",
            "busy_timeout": 0,
            "trusted_schema": 0,
        }
        for name, value in settings.items():
            assert run(f"PRAGMA {name}") == [(value,)], name
        for sql in (
            "UPDATE event SET payload = '{}' WHERE sequence = 1",
            "DELETE FROM event",
            "INSERT OR REPLACE INTO event SELECT * FROM event WHERE sequence = 1",
            "INSERT INTO event SELECT sequence + 5, kind, decision, request, payload, time, "
            "version, previous, hash FROM event",
            "INSERT INTO event VALUES (2, 'ask', 'one', NULL, '', '', '', '', '')",
        ):
            with pytest.raises(sqlite3.IntegrityError):
                run(sql)
        study.ask("p")
        assert [e.kind for e in study._journal.events()] == ["create", "ask"]


def test_an_acknowledged_event_survives_without_being_closed(path, tmp_path):
    """What a second reader finds in copies of the files while the study is still open."""
    import shutil

    with uli.Study.open(path, SE, 2) as study:
        for i in range(5):
            d = study.ask(f"p{i}")
            for stage in ("asked", "told"):
                if stage == "told":
                    study.tell(d.id, 0.5)
                copy = tmp_path / f"{i}{stage}.db"
                # By another process: closing a handle in this one would drop its lock.
                subprocess_copy(path, copy)
                with uli.Study.open(copy) as found:
                    assert found.history() == study.history()
    assert shutil.which("cp")


def subprocess_copy(path, copy):
    import subprocess

    for suffix in ("", "-wal"):
        subprocess.run(["cp", f"{path}{suffix}", f"{copy}{suffix}"], check=True)


def test_a_second_opener_is_turned_away_at_once(path):
    with uli.Study.open(path, SE, 2):
        with pytest.raises(StudyLockedError):
            uli.Study.open(path)
        with pytest.raises(StudyLockedError, match="this process"):
            uli.Study.read(path)
    uli.Study.open(path).close()


def test_reopening_with_something_else_names_it(path):
    uli.Study.open(path, SE, ["a", "b"], seed=4).close()
    before = path.read_bytes()
    for argument, given in (
        ("learner", {"learner": uli.SuccessiveElimination(0.2)}),
        ("learner", {"learner": "SE"}),
        ("arms", {"arms": ["a", "c"]}),
        ("arms", {"learner": SE, "arms": 2}),
        ("arms", {"arms": []}),
        ("seed", {"seed": 5}),
        ("low", {"low": -1.0}),
        ("high", {"high": 2.0}),
        ("horizon", {"horizon": 10}),
        ("intercept", {"intercept": 1.0}),
    ):
        with pytest.raises(ArgumentError) as caught:
            uli.Study.open(path, **given)
        assert caught.value.argument == argument, given
    assert path.read_bytes() == before
    uli.Study.open(path, SE, ["a", "b"], seed=4, low=0.0, high=1.0).close()


def test_bad_beginnings_leave_nothing_behind(path, folder):
    for argument, given in (
        ("learner", {}),
        ("learner", {"learner": "x"}),
        ("learner", {"learner": uli.LinUCB(0.1, R=1.0), "arms": VECTORS}),
        ("arms", {"learner": SE}),
        ("arms", {"learner": SE, "arms": "ab"}),
        ("seed", {"learner": SE, "arms": 2, "seed": -1}),
        ("high", {"learner": SE, "arms": 2, "low": 2.0}),
        ("colour", {"learner": SE, "arms": 2, "colour": "red"}),
        ("rewards", {"learner": uli.PolicyElimination(0.1)}),
        ("horizon", {"learner": uli.Exp3P(0.1), "arms": 2}),
    ):
        with pytest.raises(ArgumentError) as caught:
            uli.Study.open(path, **given)
        assert caught.value.argument == argument, given
    assert list(folder.iterdir()) == []
    for wrong in (3, None, folder, "a\0b"):
        with pytest.raises(ArgumentError, match="path"):
            uli.Study.open(wrong, SE, 2)
    with pytest.raises(StudyError):
        uli.Study.open(folder / "no" / "folder.db", SE, 2)
    with pytest.raises(StudyError, match="there is no"):
        uli.Study.read(path)


def test_other_files_are_not_touched(path):
    for content in (b"not a database" * 100, b"SQLite format 3\0" + bytes(4080)):
        path.write_bytes(content)
        with pytest.raises(StudyError):
            uli.Study.open(path, SE, 2)
        assert path.read_bytes() == content
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE mine (x)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StudyError, match="not a study"):
        uli.Study.open(path, SE, 2)
    assert path.read_bytes() == before
    path.write_bytes(b"")  # what a kill while the file is made may leave
    with pytest.raises(ArgumentError, match="learner"):
        uli.Study.open(path)
    uli.Study.open(path, SE, 2).close()


def rewritten(path, change):
    """Change the journal as someone would who recomputes all hashes."""
    connection = sqlite3.connect(path, isolation_level=None)
    for name in ("never_changed", "never_removed", "only_added"):
        connection.execute(f"DROP TRIGGER {name}")
    rows = connection.execute("SELECT * FROM event ORDER BY sequence").fetchall()
    events = change([_journal.Event(*row) for row in rows])
    connection.execute("DELETE FROM event")
    previous = _journal.GENESIS
    for event in events:
        event = event._replace(previous=previous)
        event = event._replace(hash=_journal.digest(event))
        connection.execute(f"INSERT INTO event VALUES ({','.join('?' * 9)})", event)
        previous = event.hash
    for sql in _journal.SCHEMA[1:]:
        connection.execute(sql)
    connection.close()


def swapped(position, **values):
    def change(events):
        content = events[position].content | values
        events[position] = events[position]._replace(payload=json.dumps(content))
        return events

    return change


@pytest.mark.parametrize(
    "change",
    [
        swapped(1, arm="b"),
        swapped(1, probability=0.5),
        swapped(2, reward=7.0),
        swapped(2, reward="x"),
        swapped(2, reward=[1]),
        swapped(1, metadata=None, arm=None),
        lambda events: [*events, events[2]._replace(sequence=len(events) + 1)],
        lambda events: [*events, events[1]._replace(sequence=len(events) + 1, request=None)],
        lambda events: [
            *events[:3],
            *(e._replace(sequence=e.sequence - 1) for e in events[4:]),
        ],
        lambda events: [events[0], events[1]._replace(kind="x"), *events[2:]],
        lambda events: [events[0], events[1]._replace(payload="[]"), *events[2:]],
        lambda events: [events[0], events[1]._replace(decision=9), *events[2:]],
        lambda events: [events[0], events[1]._replace(time="soon"), *events[2:]],
        lambda events: [events[0], events[1]._replace(time="2026-01-01"), *events[2:]],
        lambda events: events[1:],
        lambda events: [events[0]._replace(payload="{}"), *events[1:]],
    ],
)
def test_a_journal_that_the_learner_would_not_have_written_is_refused(path, change):
    with uli.Study.open(path, SE, ["a", "b"]) as study:
        for i in range(4):
            study.tell(study.ask(f"p{i}").id, 1.0)
    rewritten(path, change)
    with pytest.raises(StudyError):
        uli.Study.open(path)
    with pytest.raises(StudyError):
        uli.Study.read(path)


def test_an_altered_or_removed_event_breaks_the_chain(path):
    with uli.Study.open(path, SE, ["a", "b"]) as study:
        for i in range(4):
            study.tell(study.ask(f"p{i}", note="x").id, 1.0)
    clean = path.read_bytes()
    for sql in (
        "UPDATE event SET payload = replace(payload, '1.0', '0.0') WHERE sequence = 3",
        "UPDATE event SET payload = replace(payload, 'x', 'y') WHERE sequence = 2",
        "UPDATE event SET time = '2020-01-01T00:00:00.000000+00:00' WHERE sequence = 4",
        "UPDATE event SET request = 'other' WHERE sequence = 2",
        "UPDATE event SET version = '9' WHERE sequence = 2",
        "DELETE FROM event WHERE sequence = 5",
        "DELETE FROM event WHERE sequence = 1",
    ):
        path.write_bytes(clean)
        connection = sqlite3.connect(path, isolation_level=None)
        for name in ("never_changed", "never_removed"):
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(sql)
        for statement in _journal.SCHEMA[1:3]:
            connection.execute(statement)
        connection.close()
        reordered(path)
        with pytest.raises(StudyDivergedError):
            uli.Study.open(path)


def test_a_replaced_event_with_a_hash_of_its_own_breaks_the_chain(path):
    """Its successor still names the hash of the one that was there."""
    with uli.Study.open(path, SE, ["a", "b"]) as study:
        for i in range(4):
            study.tell(study.ask(f"p{i}", note="x").id, 1.0)
    events = _journal.read_events(path)
    for position in (0, 1, 2, len(events) - 2):
        forged = events[position]._replace(time="2020-01-01T00:00:00.000000+00:00")
        forged = forged._replace(hash=_journal.digest(forged))
        connection = sqlite3.connect(path, isolation_level=None)
        clean = path.read_bytes()
        for name in ("never_changed", "never_removed", "only_added"):
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("DELETE FROM event WHERE sequence = ?", (forged.sequence,))
        connection.execute(f"INSERT INTO event VALUES ({','.join('?' * 9)})", forged)
        for sql in _journal.SCHEMA[1:]:
            connection.execute(sql)
        connection.close()
        for look in (uli.Study.open, uli.Study.read, uli.Study.audit):
            with pytest.raises(StudyDivergedError, match=f"event {forged.sequence + 1} "):
                look(path)
        path.write_bytes(clean)


def reordered(path):
    """Put the triggers back in the order in which a study makes them."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("DROP TRIGGER only_added")
    connection.execute(_journal.SCHEMA[3])
    connection.close()


def test_a_journal_without_its_triggers_is_refused(path):
    uli.Study.open(path, SE, 2).close()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("DROP TRIGGER never_changed")
    connection.close()
    with pytest.raises(StudyError, match="tables"):
        uli.Study.open(path)


def test_seeds_are_recorded_when_the_study_begins(path):
    learner, start = uli.Exp3P(0.1), {"arms": 3, "horizon": 2000}
    with uli.Study.open(path, learner, **start) as study:
        arms = [study.ask().arm for _ in range(30)]
        seed = study._setup.arguments["seed"]
    with uli.Study.open(path) as study:
        assert [r.arm for r in study.history()] == arms
        with pytest.raises(NoGuaranteeError):
            study.certificate()
    player = learner.start(**start, seed=seed)
    assert [player.ask().arm for _ in range(30)] == arms


class Own:
    """An oracle of one's own: it cannot be written down."""

    dimension = 2

    def __init__(self, radius=1.0):
        self.ball = uli.arm_sets.Ball(2, radius)

    def maximize(self, u, eq=None, le=None):
        return self.ball.maximize(u, eq=eq, le=le)


@pytest.mark.parametrize(
    "region",
    [
        VECTORS,
        uli.arm_sets.Ball(2, 0.5, [0.1, 0.2]),
        uli.arm_sets.Box([-1, -1], [1, 0.5]),
        uli.arm_sets.Simplex(3),
        uli.arm_sets.L1Ball(2),
        uli.arm_sets.Ellipsoid([0.0, 0.0], [[1.0, 0.2], [0.2, 0.5]]),
        uli.arm_sets.Polytope([[1, 0], [-1, 0], [0, 1], [0, -1]], [1, 1, 1, 1]),
        Own(),
    ],
    ids=lambda r: type(r).__name__,
)
def test_arm_sets_are_written_down_or_asked_for(path, region):
    learner = uli.SpannerElimination(0.1, R=1.0)
    with uli.Study.open(path, learner, region) as study:
        arms = [study.ask().arm for _ in range(3)]
        assert study.arms == () and next(iter(study.counts())) == str(list(arms[0]))
    if isinstance(region, Own):
        for wrong in (None, uli.arm_sets.Ball(2, 2.0), Own(2.0)):
            with pytest.raises(ArgumentError) as caught:
                uli.Study.open(path, arms=wrong)
            assert caught.value.argument == "arms"
        reopened = uli.Study.open(path, arms=Own())
    else:
        with pytest.raises(ArgumentError, match="arms"):
            uli.Study.open(path, arms=uli.arm_sets.Ball(2, 3.0))
        uli.Study.open(path, arms=region).close()
        reopened = uli.Study.open(path)
    with reopened as study:
        assert [tuple(r.arm) for r in study.history()] == arms
        for name in ("active", "intervals"):
            with pytest.raises(UnsupportedError, match=name):
                study.intervals() if name == "intervals" else study.active


def test_a_rule_of_ones_own_must_be_given_again(path):
    rule = uli.EliminationFramework(lambda n, total, active, t: active, lambda delta, t: 1.0)
    with uli.Study.open(path, rule, 2) as study:
        study.tell(study.ask().id, 1.0)
    with pytest.raises(ArgumentError, match="learner"):
        uli.Study.open(path)
    with uli.Study.open(path, rule) as study:
        assert len(study.history()) == 1


def framework(slack=1.0, keep=4):
    rule = lambda n, total, active, t: active if t < keep else active & (n > 0)  # noqa: E731
    return uli.EliminationFramework(rule, lambda delta, t: slack / t)


class Even:
    """A base of one's own."""

    losses = "unit"

    def __init__(self, factor=1.0):
        self.factor = factor

    def g(self, arms, delta):
        return self.factor * len(arms) * math.log(10 * len(arms) / delta)

    def start_phase(self, arms, rounds, delta):
        return uli.Exp3P().start_phase(arms, rounds, delta)


class Odd(Even):
    def g(self, arms, delta):
        return 2.0 * super().g(arms, delta)


Odd.__qualname__ = Odd.__name__ = "Even"


@pytest.mark.parametrize(
    "begun, others",
    [
        (framework(), {"f": framework(slack=2.0), "rule": framework(keep=5)}),
        (
            uli.MetaElimination(Even(), 0.1),
            {"base": uli.MetaElimination(Even(2.0), 0.1), "its base": uli.MetaElimination(Odd())},
        ),
    ],
    ids=["functions", "a base"],
)
def test_a_rule_or_base_of_ones_own_that_differs_is_refused(path, begun, others):
    uli.Study.open(path, begun, 2).close()
    for name, other in others.items():
        for look in (uli.Study.open, uli.Study.read, uli.Study.audit):
            with pytest.raises(ArgumentError, match=f"{name} is not what") as caught:
                look(path, replace(other, delta=begun.delta))
            assert caught.value.argument == "learner"
    uli.Study.open(path, begun).close()


@pytest.mark.parametrize("kind", [Fraction, np.float32, float])
def test_a_number_that_differs_is_refused_whatever_it_is_written_with(path, kind):
    begun, other = (uli.SuccessiveElimination(kind(x)) for x in (0.25, 0.5))
    uli.Study.open(path, begun, 2).close()
    with pytest.raises(ArgumentError, match="begun with"):
        uli.Study.open(path, other)
    uli.Study.open(path, begun).close()


def test_a_rule_is_told_apart_only_where_that_is_certain(path, monkeypatch):
    """Not in a file of an older version, nor under another Python, nor if it cannot be."""
    uli.Study.open(path, framework(), 2).close()
    marks = uli.Study.read(path, framework())._setup.record(framework().start(2))["own"]
    for own in ({}, marks | {"python": "3.10.1"}, {"python": marks["python"]}):
        rewritten(path, swapped(0, own=own))
        uli.Study.open(path, framework(slack=2.0)).close()
    path.unlink()
    opaque = functools.partial(max, object())  # what it holds has neither name nor attributes
    uli.Study.open(path, replace(framework(), f=opaque), 2).close()
    opaque = functools.partial(min, object())
    uli.Study.open(path, replace(framework(), f=opaque)).close()


@pytest.mark.filterwarnings("ignore::uli_fast.errors.SaturationWarning")
def test_policies(path):
    learner, start = LEARNERS["PolicyElimination"]
    rng = np.random.default_rng(0)
    with uli.Study.open(path, learner, **start) as study:
        first = study.ask("e1", state=0, ward="A")
        assert study.ask("e1", state=0) is first
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
        assert study.active == len(study._trace.player.policies) > 1
        with pytest.raises(UnsupportedError, match="intervals"):
            study.intervals()


def test_episodes_as_table_and_files(path, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rewards = 4.0 * MDP.rewards - 1.0
    H = len(rewards)
    start = {"rewards": rewards, "low": -1.0, "high": 3.0}
    names = (*Record._fields, "states", "actions")
    with uli.Study.open(path, uli.PolicyElimination(0.1, "sharp"), **start) as study:
        assert list(study.history().to_pandas().columns) == list(names)
        d = study.ask("e1", state=0)
        states = [0, 2] if d.policy[0, 0] else [0, 1]
        actions = [int(d.policy[h, s]) for h, s in enumerate(states)]
        study.tell(d.id, [*states, 1], actions)  # where it ended is not used
        assert study.certificate().active == study.active == 2 ** (H * 3)
        study.tell_missing(study.ask("e2", state=0).id, "broke off")
        study.ask("e3", state=0)
        history = study.history()
        frame, waiting = history.to_pandas(), study.pending().to_pandas()
        for suffix in ("csv", "jsonl", "parquet"):
            study.export(tmp_path / f"out.{suffix}")
    reward = sum(rewards[h, s, a] for h, (s, a) in enumerate(zip(states, actions, strict=True)))
    assert type(history[0])._fields == names and len(states) == H
    assert [(r.reward, r.states, r.actions) for r in history] == [
        (reward, states, actions),
        (None, None, None),
        (None, None, None),
    ]
    for table in (frame, waiting, *(_tables(pd, tmp_path))):
        assert list(table.columns) == list(names)
    for table in _tables(pd, tmp_path):
        assert table["reward"][0] == reward and table["status"][1] == "missing"
        told = [table[name][0] for name in ("arm", "states", "actions")]
        found = [json.loads(x) if isinstance(x, str) else x for x in told]
        assert found == [d.policy.tolist(), states, actions]
    with uli.Study.read(path) as again:
        assert again.history() == history
    assert uli.Study.audit(path).history == history
    tell = next(e for e in _journal.read_events(path) if e.kind == "tell")
    assert tell.content == {"reward": states}  # the file is as it always was


def _tables(pd, folder):
    lines = pd.read_json(folder / "out.jsonl", lines=True)
    return [pd.read_csv(folder / "out.csv"), lines, pd.read_parquet(folder / "out.parquet")]


def test_a_warning_made_an_error_leaves_the_study_as_the_journal_has_it(path):
    """The tell that closes a saturated phase warns; where that raises, nothing was recorded."""
    learner, start = LEARNERS["PolicyElimination"]
    rng = np.random.default_rng(0)
    with uli.Study.open(path, learner, **start) as study:
        raised = 0
        for i in range(study._trace.player.quota):
            d = study.ask(f"e{i}", state=0)
            told = outcome(d, rng)
            try:
                study.tell(d.id, *told)
            except uli.errors.SaturationWarning:
                raised += 1
        assert raised == 1
        assert len(study.pending()) == 1 and study._trace.player.phase == 1
        with pytest.warns(uli.errors.SaturationWarning):
            study.tell(d.id, *told)
        assert study._trace.player.phase == 2


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
def test_an_error_of_a_base_leaves_the_study_as_the_journal_has_it(path, where):
    base = Moody()
    learner = uli.MetaElimination(base, 0.1)
    bare = uli.MetaElimination(Moody(), 0.1).start(2, seed=1)
    with uli.Study.open(path, learner, 2, seed=1) as study:
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
        player = study._trace.player
        assert player._base.estimates.tolist() == bare._base.estimates.tolist()
    with uli.Study.open(path, learner) as study:
        assert [r.reward for r in study.history()] == [0.5] * 6


def test_refused_arguments_do_not_play_the_journal_again(path, monkeypatch):
    with uli.Study.open(path, SE, 2) as study:
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
    """Let the next such statement fail, before or after it has been carried out."""
    journal, run, left = study._journal, study._journal._run, [1]

    def patched(sql, values=()):
        if sql.startswith(statement) and left:
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
        state = study._trace.player.state()
        failing(monkeypatch, study, statement, after)
        with pytest.raises(StudyWriteError):
            study.ask("p20")
        recorded = after and statement == "COMMIT"
        assert len(study.history()) == 20 + recorded
        if not recorded:
            assert study._trace.player.state() == state
        d = study.ask("p20")
        assert same(d, bare.ask())
        failing(monkeypatch, study, statement, after)
        with pytest.raises(StudyWriteError):
            study.tell(d.id, 0.0)
        study.tell(d.id, 0.0)
        bare.tell(d.id, 0.0)
        assert study._trace.player.state() == bare.state()
        history = study.history()
    with uli.Study.open(path) as study:
        assert study.history() == history and study._trace.player.state() == bare.state()


@pytest.mark.filterwarnings("ignore::uli_fast.errors.SaturationWarning")
@pytest.mark.parametrize("name", LEARNERS)
def test_after_a_failed_write_only_the_last_events_are_played_again(path, monkeypatch, name):
    learner, start = LEARNERS[name]
    bare, rng, played = learner.start(**start), np.random.default_rng(2), []
    monkeypatch.setattr(studies, "BEHIND", 10, raising=False)
    repeat = Trace._repeat
    monkeypatch.setattr(Trace, "_repeat", lambda *a: [played.append(1), repeat(*a)])
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
            assert study._trace.player.state() == bare.state()
        history = study.history()
    with uli.Study.open(path) as study:  # the whole journal makes the same of it
        assert study.history() == history and study._trace.player.state() == bare.state()


def test_what_is_the_users_own_is_played_again_from_the_beginning(path, monkeypatch):
    """Nothing says that it can be saved and restored; the journal can always be played."""
    monkeypatch.setattr(studies, "BEHIND", 2)
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


def test_pending_by_age(path, monkeypatch):
    with uli.Study.open(path, SE, 2) as study:
        one = study.ask("old")
        study.ask("new")
        old = study._trace.records[0]._replace(asked="2020-01-01T00:00:00.000000+00:00")
        study._trace.records[0] = old
        assert [r.id for r in study.pending()] == [1, 2]
        assert [r.id for r in study.pending(older_than=3600)] == [one.id]
        assert [r.id for r in study.pending(older_than=timedelta(days=1))] == [one.id]
        study.tell_missing(one.id, "too late")
        assert [r.request_id for r in study.pending()] == ["new"]


def test_history_as_table_and_files(path, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    with uli.Study.open(path, SE, ["=1+1", "b"]) as study:
        study.tell(study.ask("p1", site="Oslo").id, 1.0)
        study.tell_missing(study.ask("p2").id, "withdrew")
        study.ask()
        frame = study.history().to_pandas()
        assert list(frame.columns) == list(Record._fields) and "states" not in frame
        assert frame["status"].tolist() == ["reward", "missing", "pending"]
        assert frame["asked"].dt.tz is not None
        for suffix in ("csv", "jsonl", "parquet"):
            study.export(tmp_path / f"out.{suffix}")
        with pytest.raises(StudyWriteError):
            study.export(tmp_path / "no" / "folder.csv")
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(x)["reason"] for x in lines] == [None, "withdrew", None]
    table = pd.read_csv(tmp_path / "out.csv")
    assert table["arm"].tolist() == ["'=1+1", "b", "'=1+1"]
    parquet = pd.read_parquet(tmp_path / "out.parquet")
    assert parquet["reward"].tolist()[0] == 1.0 and parquet["arm"].tolist()[0] == "=1+1"
    assert not list(tmp_path.glob(".*"))


def test_what_is_not_installed_is_named(path, tmp_path, monkeypatch):
    with uli.Study.open(path, SE, 2) as study:
        for name, call in (
            ("pandas", lambda: study.history().to_pandas()),
            ("pyarrow", lambda: study.export(tmp_path / "out.parquet")),
        ):
            monkeypatch.setitem(sys.modules, name, None)
            with pytest.raises(MissingExtraError, match=f"needs {name}: pip install"):
                call()


def test_threads_take_turns(path):
    with uli.Study.open(path, SE, 3) as study:

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
    with uli.Study.open(path) as study:
        assert len(study.history()) == 100


def test_a_closed_study_says_so(path):
    study = uli.Study.open(path, SE, 2)
    d = study.ask()
    study.close()
    study.close()
    for call in (study.ask, study.history, study.certificate, lambda: study.tell(d.id, 1.0)):
        with pytest.raises(StudyError, match="closed"):
            call()
    looked = uli.Study.read(path)
    with pytest.raises(StudyWriteError, match="reading"):
        looked.ask()
    assert looked.active == (0, 1) and looked.intervals()[0] == (0.0, 1.0)
    with pytest.raises(UliError, match="recommend"):
        looked.recommend()
    assert "1 decisions" in repr(looked) and looked.begun.startswith("20")
    assert "numpy" in looked.versions


def test_numbers_may_be_rounded_in_another_way_and_are_given_as_recorded(path):
    """As on another processor: a vector and a probability that differ in their last digits."""
    learner, start = LEARNERS["SpannerElimination"]
    with uli.Study.open(path, learner, **start) as study:
        arm = study.ask("p").arm
    moved = tuple(x * (1.0 + 1e-14) + 1e-15 for x in arm)
    rewritten(path, swapped(1, arm=moved))
    with uli.Study.open(path) as study:
        assert study.ask("p").arm == moved != arm
    rewritten(path, swapped(1, arm=[x + 1e-6 for x in arm]))
    with pytest.raises(StudyDivergedError):
        uli.Study.open(path)
    path.unlink()
    learner, start = LEARNERS["Exp3P"]
    with uli.Study.open(path, learner, **start) as study:
        p = study.ask("p").probability
    rewritten(path, swapped(1, probability=p * (1.0 + 1e-12)))
    with uli.Study.open(path) as study:
        assert study.ask("p").probability == p * (1.0 + 1e-12) != p
