"""A snapshot saves time and is never the truth: wrong, stale, swapped or gone, it costs time."""

import json
import shutil
import sqlite3

import numpy as np
import pytest

import uli_fast as uli
from tests.study.clinic import ARMS, treat, treat_many
from tests.study.live import AT_ONCE, LEARNERS, SE, asked, outcome, same, settled_state
from tests.study.test_crash import essence, said
from tests.study.test_damage import contents
from tests.support.signing import signed
from uli_fast.errors import ConflictingRewardError, StateError, StudyDivergedError, StudyError
from uli_fast.study import journal, snapshots
from uli_fast.study.replay import StudyReplay


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(snapshots, "BEHIND", 20)


@pytest.fixture
def played(monkeypatch):
    """The numbers of the events that are played again."""
    found, repeat = [], StudyReplay._repeat

    def counting(self, event, content):
        found.append(event.sequence)
        repeat(self, event, content)

    monkeypatch.setattr(StudyReplay, "_repeat", counting)
    return found


def sequences(path):
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT sequence FROM snapshot ORDER BY sequence").fetchall()
    connection.close()
    return [row[0] for row in rows]


def altered(path, sql, *values):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(sql, values)
    connection.close()


FORGETFUL = [name for name, (given, start) in LEARNERS.items() if "rewards" not in start]


@pytest.mark.parametrize("name", FORGETFUL)
def test_going_on_from_a_snapshot_is_going_on(place, name, played):
    """Late and missing outcomes, told again and contradicted long after they were forgotten."""
    given, start = LEARNERS[name]
    bare, rng = given.start(**start), np.random.default_rng(1)
    late = 1 if type(given).__name__ in AT_ONCE else 4
    waiting, told, made = [], {}, {}
    study = place.open(given, **start)
    for i in range(120):
        made[i] = study.ask(f"p{i}")
        assert same(made[i], asked(bare))
        waiting.append(made[i])
        while len(waiting) >= late + i % 2 * (late - 1):
            d = waiting.pop(int(rng.integers(len(waiting))))
            told[d.id] = outcome(d, rng) if rng.random() < 0.9 else "gone"
            for live in (study, bare):
                if told[d.id] == "gone":
                    live.tell_missing(d.id, "gone")
                else:
                    live.tell(d.id, *told[d.id])
        if i % 25 == 24:
            study.close()
            played.clear()
            study = place.open()
            assert len(played) <= 25 and sequences_of(study)[-1] > 2 * i - 40
            assert settled_state(study._replay.player) == settled_state(bare)
            assert [r.id for r in study.pending()] == list(bare.pending)
    queue = study._replay.player.queue
    assert queue.forgotten > 60 and len(queue.decisions) < 60
    for i in (0, 3, 40):
        assert same(study.ask(f"p{i}"), made[i])
    events = len(list(study._journal.events()))
    for id, x in told.items():
        study.tell_missing(id, "gone") if x == "gone" else study.tell(id, *x)
        with pytest.raises(ConflictingRewardError):
            study.tell_missing(id, "other")
        with pytest.raises(ConflictingRewardError):
            study.tell(id, 0.123)
    study.tell_many([(id, None, "gone") if x == "gone" else (id, *x) for id, x in told.items()])
    assert len(list(study._journal.events())) == events
    assert {r.id for r in study.history() if r.status != "pending"} == set(told)
    counts = study.counts()
    study.close()
    found = place.audit()
    assert len(found.history) == 120
    with place.read() as reader:
        assert reader.counts() == counts and len(reader.history()) == 120


def sequences_of(study):
    return sorted(x.sequence for x in study._journal.snapshots())


@pytest.fixture
def whole(path):
    """A study with two snapshots: what is known of it."""
    treat(path, range(60))
    assert len(sequences(path)) == 2
    return known_of(path)


def known_of(path):
    """Return the history of a study, its state, and how it goes on."""
    copy = path.with_name("pristine.db")
    shutil.copyfile(path, copy)
    with uli.Study.open(copy) as study:
        return study.history(), settled_state(study._replay.player), study.ask("new")


def opened_right(path, whole, played, least):
    """Open: all there, and at least so many events were played again."""
    played.clear()
    with uli.Study.open(path) as study:
        assert len(played) >= least
        found = study.history(), settled_state(study._replay.player), study.ask("new")
        assert found == whole


def rewritten(path, change, at=-1):
    """Change what a snapshot holds, with a hash that is right."""
    sequence = sequences(path)[at]
    connection = sqlite3.connect(path, isolation_level=None)
    (text,) = connection.execute(
        "SELECT content FROM snapshot WHERE sequence = ?", (sequence,)
    ).fetchone()
    content = json.loads(text)
    change(content)
    if "state" in content:
        content["state"] = signed(content["state"])
    text = json.dumps(content)
    connection.execute(
        "UPDATE snapshot SET content = ?, hash = ? WHERE sequence = ?",
        (text, snapshots._digest(sequence, text), sequence),
    )
    connection.close()


def put(*keys):
    """Return a change of one value of a content."""
    *way, key, value = keys

    def change(content):
        for step in way:
            content = content[step]
        content[key] = value(content[key]) if callable(value) else value

    return change


def test_a_snapshot_is_used(path, whole, played):
    opened_right(path, whole, played, 0)
    assert len(played) <= 21


def test_a_snapshot_that_is_gone_costs_time_alone(path, whole, played):
    altered(path, "DELETE FROM snapshot")
    opened_right(path, whole, played, 120)
    assert len(sequences(path)) == 1  # made again by the next write


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE snapshot SET content = replace(content, '\"total\":[', '\"total\":[1')",
        "UPDATE snapshot SET content = substr(content, 1, 200)",
        "UPDATE snapshot SET content = ''",
        "UPDATE snapshot SET hash = 'x' || substr(hash, 2)",
        "UPDATE snapshot SET sequence = sequence + 2",
        "UPDATE snapshot SET sequence = sequence + 1000",
        "UPDATE snapshot SET sequence = sequence - 500",
    ],
)
def test_a_damaged_snapshot_costs_time_alone(path, whole, played, sql):
    altered(path, sql)
    with pytest.raises(StudyDivergedError, match="snapshot"):
        uli.Study.audit(path)
    opened_right(path, whole, played, 120)


def test_the_one_before_takes_the_place_of_a_damaged_one(path, whole, played):
    last = sequences(path)[-1]
    altered(path, "UPDATE snapshot SET hash = 'x' WHERE sequence = ?", last)
    opened_right(path, whole, played, 21)
    assert len(played) <= 45


def test_swapped_snapshots_cost_time_alone(path, whole, played):
    """Each with the content and the hash of the other: neither is of its event."""
    one, two = sequences(path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE snapshot SET sequence = -1 WHERE sequence = ?", (one,))
    connection.execute("UPDATE snapshot SET sequence = ? WHERE sequence = ?", (one, two))
    connection.execute("UPDATE snapshot SET sequence = ? WHERE sequence = -1", (two,))
    connection.close()
    opened_right(path, whole, played, 120)


def test_a_snapshot_of_another_study_is_not_used(path, folder, whole, played):
    """Even with the hash of the right event: the first one says what a study is."""
    other = folder / "other.db"
    with uli.Study.open(other, uli.SuccessiveElimination(0.2), ARMS) as study:
        for i in range(70):
            study.tell(study.ask(f"p{i}").id, 1.0)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("ATTACH ? AS other", (str(other),))
    connection.execute("DELETE FROM snapshot")
    connection.execute("INSERT INTO snapshot SELECT * FROM other.snapshot")
    connection.close()
    opened_right(path, whole, played, 120)


FORGED = {
    "another version": put("version", "0.0.1"),
    "another study": put("study", "0" * 64),
    "another event": put("chain", "0" * 64),
    "no state": lambda content: content.pop("state"),
    "a decision too many": put("state", "tally", "asked", 0, lambda x: x + 1),
    "more forgotten": put("state", "queue", "forgotten", lambda x: [x[0] + 1, x[1]]),
    "nobody waits": put("waiting", []),
    "somebody else waits": put("waiting", [[1, 2]]),
    "nonsense waits": put("waiting", [["x", []]]),
    "counts of others": put("counts", [[0, 0, 0]] * 3),
    "too few counts": put("counts", [[0, 0, 0]]),
    "an arm that is gone": put("state", "arms", "active", [True, False, True]),
    "a bomb": put("state", "queue", "decisions", [10**9] * 5),
    "not finite": put("state", "tally", "largest", [1e999]),
}


@pytest.mark.parametrize("name", FORGED)
def test_nonsense_with_the_right_hash_is_not_believed(path, name, played):
    treat(path, range(60))
    with uli.Study.open(path) as study:  # one that waits, so that it has somebody to wait for
        waiting = [study.ask(f"w{i}") for i in range(30)]
        study.tell(waiting[0].id, 1.0)
    known = known_of(path)
    for at in (0, 1):
        rewritten(path, FORGED[name], at)
    opened_right(path, known, played, 100)


def test_totals_with_the_right_hash_are_found_by_what_follows_or_by_the_audit(path, played):
    """What nobody can see in a state itself: other sums of the rewards."""
    with uli.Study.open(path, SE, 2) as study:
        for i in range(60):
            d = study.ask(f"p{i}")
            study.tell(d.id, 0.6 - 0.2 * d.arm)
        known = settled_state(study._replay.player)
    swap = put("state", "arms", "total", lambda x: x[::-1])
    rewritten(path, swap)
    with pytest.raises(StudyDivergedError, match=r"snapshot of event 120 is not what the"):
        uli.Study.audit(path)
    with uli.Study.read(path) as study:  # plays all of it
        assert settled_state(study._replay.player) == known


def test_decisions_that_come_out_otherwise_tell_on_a_snapshot(path, played):
    """By the forged sums another arm is the better one, and would have been asked for."""
    with uli.Study.open(path, uli.UCB(0.1), 2) as study:
        for i in range(65):
            d = study.ask(f"p{i}")
            study.tell(d.id, float(d.arm == 0))
    known = known_of(path)
    for at in (0, 1):
        rewritten(path, put("state", "arms", "total", lambda x: x[::-1]), at)
    opened_right(path, known, played, 130)


def test_an_audit_says_nothing_against_other_versions(path, whole, monkeypatch):
    for at in (0, 1):
        rewritten(path, put("version", "0.0.1"), at)
    uli.Study.audit(path)
    monkeypatch.setattr(snapshots, "__version__", "0.0.1")
    uli.Study.audit(path)


def test_what_is_older_is_checked_when_it_is_looked_at(path, played):
    """Opening plays what follows the snapshot; an altered event before it is found by its hash."""
    treat(path, range(60))
    with uli.Study.open(path) as study:
        told = study.history()[4]
    for sql in (
        "UPDATE event SET payload = replace(payload, 'num', 'nym') WHERE request = 'patient-3'",
        "UPDATE event SET payload = '{\"reward\":0.5}' WHERE decision = 5 AND kind <> 'ask'",
    ):
        copy = path.with_name("copy.db")
        shutil.copyfile(path, copy)
        connection = sqlite3.connect(copy, isolation_level=None)
        connection.execute("DROP TRIGGER never_changed")
        connection.execute(sql)
        connection.execute(journal.SCHEMA[1])
        connection.close()
        played.clear()
        with uli.Study.open(copy) as study:
            assert len(played) <= 21
            with pytest.raises(StudyDivergedError):
                study.ask("patient-3") if "patient-3" in sql else study.tell(5, told.reward or 0.0)
            with pytest.raises(StudyDivergedError):
                study.history()
            study.ask("new")  # it goes on
        for look in (uli.Study.read, uli.Study.audit):
            with pytest.raises(StudyDivergedError):
                look(copy)


def test_a_request_that_the_index_has_lost_is_no_new_patient(path):
    treat(path, range(60))
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA writable_schema=ON")
    row = "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_event_1'"
    (page,) = connection.execute(row).fetchone()
    connection.close()
    data = bytearray(path.read_bytes())
    at = data.index(b"patient-7", (page - 1) * 4096)
    data[at + 8] ^= 1
    path.write_bytes(data)
    before = contents(path)
    with pytest.raises(StudyError, match="damaged"):
        uli.Study.open(path)
    assert contents(path) == before


@pytest.mark.parametrize("where", ["begun", "written", "committed"])
def test_a_crash_around_a_snapshot_changes_nothing(where, clinic, folder, path):
    treat(folder / "undisturbed.db", range(40))
    with uli.Study.read(folder / "undisturbed.db") as study:
        undisturbed = essence(study)
    for pass_ in (1, 3):
        log = folder / f"log-{pass_}"
        job = {"do": "treat", "path": str(path), "log": str(log), "patients": 40, "behind": 7}
        assert clinic.start(**job, fault=f"snapshot-{where}:{pass_}") > 0 and clinic.wait() == 137
        with uli.Study.open(path) as study:
            asked = [x for x in said(log) if x[0] == "ask"]
            assert len(study.history()) == len(asked)  # none is cut off
            for _, i, id, arm in asked:
                assert study.ask(f"patient-{i}")[:2] == (id, arm)
        path.unlink()
    treat(path, range(40))
    with uli.Study.open(path) as study:
        assert essence(study) == undisturbed


def test_a_snapshot_that_cannot_be_written_stops_nobody(path, monkeypatch):
    def full(sql, values=()):
        if sql.startswith("INSERT OR REPLACE INTO snapshot"):
            raise sqlite3.OperationalError("database or disk is full")
        return run(sql, values)

    with uli.Study.open(path, SE, 2) as study:
        run = study._journal._run
        monkeypatch.setattr(study._journal, "_run", full)
        for i in range(50):
            study.tell(study.ask(f"p{i}").id, 1.0)
        assert study._journal.snapshots() == []
    with uli.Study.open(path) as study:
        assert len(study.history()) == 50


def test_a_state_that_is_too_long_is_not_kept(path, monkeypatch):
    monkeypatch.setattr(journal, "LONGEST", 1000)
    treat(path, range(40))
    assert sequences(path) == []


def test_two_are_kept_and_no_more(path):
    treat(path, range(200))
    assert len(sequences(path)) == 2


def test_policies_are_played_from_the_beginning(path, played):
    given, start = LEARNERS["PolicyElimination"]
    rng = np.random.default_rng(3)
    with uli.Study.open(path, given, **start) as study:
        for i in range(15):
            d = study.ask(f"e{i}", state=0)
            study.tell(d.id, *outcome(d, rng))
        assert study._journal.snapshots() == [] and study._saved is not None
    played.clear()
    with uli.Study.open(path) as study:
        assert len(played) == 30


def test_a_state_without_its_decisions_is_no_state_for_others(path):
    treat(path, range(40))
    with uli.Study.open(path) as study:
        state = settled_state(study._replay.player)
    with pytest.raises(StateError, match="only the study"):
        uli.restore(state)


def test_batches_have_snapshots_too(path, played):
    treat_many(path, range(200), 16)
    played.clear()
    with uli.Study.open(path) as study:
        assert len(played) <= 20 + 2 * 16 and len(study.history()) == 200
    uli.Study.audit(path)
