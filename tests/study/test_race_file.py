"""The file of a race: killed anywhere, it goes on with the same verdict."""

import contextlib
import signal
import sqlite3

import numpy as np
import pytest

import uli_fast as uli
from tests.study.racing import INSTANCES, NAMES, race, score
from uli_fast.errors import (
    ArgumentError,
    RewardRangeError,
    StudyDivergedError,
    StudyError,
    StudyLockedError,
    StudyWriteError,
)
from uli_fast.races import journal
from uli_fast.study.events import SCHEMA, compact, next_event
from uli_fast.study.journal import read_events


def essence(found):
    """Return all that must not depend on crashes."""
    return (
        found.best,
        found.ranking,
        found.stopped,
        found.certificate,
        found.evaluations,
        found.missing,
        found.order.tolist(),
        np.nan_to_num(found.scores, nan=-1.0).tolist(),
    )


@pytest.fixture(scope="module")
def undisturbed():
    found, made = race(None)
    assert found.best == "good" and len(made) == found.evaluations < 3 * INSTANCES
    assert found.missing and found.stopped == "one left"
    return essence(found)


def recorded(path):
    """Return the scores in a file, in the order in which they were written."""
    return [x for event in read_events(path)[1:] for x in event.content["outcomes"]]


def scores_in(path):
    """Count the scores in a file; those that are missing are asked for again."""
    return sum(score is not None for _, _, score, _ in recorded(path))


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_killed_again_and_again_it_ends_with_the_same_verdict(n_jobs, clinic, folder, undisturbed):
    path, log = folder / "race.db", folder / "log"
    before = 0
    for kill in (1, 20, 33, 60):
        clinic.start(do="race", path=str(path), log=str(log), kill=kill, n_jobs=n_jobs)
        assert clinic.wait() == -signal.SIGKILL
        now = len(recorded(path))
        # What waits for others of the same look, and what is being evaluated, may be lost.
        assert now >= before and (kill < 20 or now > before)
        before = now
    kept = scores_in(path)
    found, made = race(path)
    assert essence(found) == undisturbed
    assert len(made) == found.evaluations - kept  # nothing is evaluated twice that came
    again, made = race(path)
    assert essence(again) == undisturbed and made == []


@pytest.mark.parametrize("where", ["begun", "written", "committed"])
@pytest.mark.parametrize("point", ["create", "tell"])
def test_a_crash_at_any_point_of_a_write_changes_nothing(point, where, clinic, folder, undisturbed):
    path = folder / "race.db"
    fault = f"{point}-{where}" + (":3" if point == "tell" else "")
    clinic.start(do="race", path=str(path), log=str(folder / "log"), fault=fault)
    assert clinic.wait() == 137
    found, _ = race(path)
    assert essence(found) == undisturbed


def test_the_seed_of_the_file_is_used(folder):
    path = folder / "race.db"
    found, _ = race(path, seed=None)
    again, made = race(path, seed=None)
    assert again.seed == found.seed and made == [] and essence(again) == essence(found)


def test_an_evaluate_that_never_works_leaves_no_trace(folder, undisturbed):
    path = folder / "race.db"
    with pytest.raises(ArgumentError, match="evaluate"):
        uli.race(
            NAMES, lambda c, i: 1 / 0, list(range(INSTANCES)), 0.1, batch=4, seed=11, study=path
        )
    assert recorded(path) == []
    assert essence(race(path)[0]) == undisturbed


def test_ctrl_c_in_a_thread_goes_through(folder, undisturbed):
    path, calls = folder / "race.db", []

    def evaluate(candidate, i):
        calls.append(i)
        if len(calls) == 30:
            raise KeyboardInterrupt
        return score(candidate, i)

    with pytest.raises(KeyboardInterrupt):
        uli.race(
            NAMES, evaluate, list(range(INSTANCES)), 0.1, batch=4, seed=11, study=path, n_jobs=2
        )
    assert len(recorded(path)) >= 24  # two blocks of 12, at least
    kept = scores_in(path)
    found, made = race(path)
    assert essence(found) == undisturbed and len(made) == found.evaluations - kept


def test_ctrl_c_goes_through_with_nothing_lost(folder, undisturbed):
    path, calls = folder / "race.db", []

    def evaluate(candidate, i):
        calls.append(i)
        if len(calls) == 30:
            raise KeyboardInterrupt
        return score(candidate, i)

    with pytest.raises(KeyboardInterrupt):
        uli.race(NAMES, evaluate, list(range(INSTANCES)), 0.1, batch=4, seed=11, study=path)
    assert len(recorded(path)) == 29
    kept = scores_in(path)
    found, made = race(path)
    assert essence(found) == undisturbed and len(made) == found.evaluations - kept


def test_a_bad_score_is_an_error_and_what_came_before_stays(folder, undisturbed):
    path, calls = folder / "race.db", []

    def evaluate(candidate, i):
        calls.append(i)
        return float("nan") if len(calls) == 30 else score(candidate, i)

    with pytest.raises(RewardRangeError, match="evaluate"):
        uli.race(NAMES, evaluate, list(range(INSTANCES)), 0.1, batch=4, seed=11, study=path)
    assert len(recorded(path)) == 29
    assert essence(race(path)[0]) == undisturbed


def test_a_write_that_is_interrupted_after_its_commit_is_not_written_twice(
    folder, undisturbed, monkeypatch
):
    path, add = folder / "race.db", journal.Journal.add
    writes = []

    def interrupted(self, *about):
        event = add(self, *about)
        writes.append(event)
        if len(writes) == 3:
            raise KeyboardInterrupt
        return event

    monkeypatch.setattr(journal.Journal, "add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        race(path)
    assert len(recorded(path)) == writes[2].decision
    assert essence(race(path)[0]) == undisturbed


def test_what_comes_after_an_interrupted_write_is_written_too(folder, monkeypatch):
    path, add, first = folder / "race.db", journal.Journal.add, journal.RaceOutcome(0, 0, 0.5)
    later = journal.RaceOutcome(0, 1, None, "late")
    found, _, _ = journal.RaceRecord.open(path, {"seed": 1, "low": 0.0, "high": 1.0})

    def interrupted(self, *about):
        add(self, *about)
        raise KeyboardInterrupt

    found.add([first])
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(journal.Journal, "add", interrupted)
        found.flush()
    found.add([later])
    found.close()
    assert recorded(path) == [list(first), list(later)]


CHANGES = {
    "delta": {"delta": 0.2},
    "eps": {"eps": 0.1},
    "batch": {"batch": 5},
    "about": {"about": "population"},
    "low": {"low": -1.0},
    "high": {"high": 2.0},
    "seed": {"seed": 12},
}


@pytest.mark.parametrize("argument", CHANGES)
def test_another_race_is_refused_by_name(argument, folder):
    path = folder / "race.db"
    race(path)
    before = recorded(path)
    with pytest.raises(ArgumentError) as problem:
        race(path, **CHANGES[argument])
    assert problem.value.argument == argument
    assert recorded(path) == before


@pytest.mark.parametrize(
    ("candidates", "instances", "argument"),
    [
        (["good", "fair"], range(INSTANCES), "candidates"),
        (["fair", "good", "poor"], range(INSTANCES), "candidates"),
        ({"good": 1, "fair": 2, "poor": 3}, range(INSTANCES), "candidates"),
        (NAMES, range(INSTANCES - 1), "instances"),
        (NAMES, range(1, INSTANCES + 1), "instances"),
    ],
)
def test_other_candidates_and_instances_are_refused(candidates, instances, argument, folder):
    path = folder / "race.db"
    race(path)
    with pytest.raises(ArgumentError) as problem:
        uli.race(candidates, score, list(instances), 0.1, batch=4, study=path)
    assert problem.value.argument == argument


def test_models_go_by_their_names_and_may_change(folder):
    class Model:
        def __init__(self, p):
            self.p, self.used = p, 0

    def evaluate(model, i):
        model.used += 1
        return float(i % 10 < model.p)

    for _ in range(2):
        models = {"a": Model(9), "b": Model(2)}
        found = uli.race(models, evaluate, range(80), seed=1, study=folder / "race.db")
    assert found.best == "a" and models["a"].used == 0


def test_a_study_is_no_race_and_a_race_no_study(folder):
    race(folder / "race.db")
    with pytest.raises(StudyError, match="race"):
        uli.Study.open(folder / "race.db")
    uli.Study.open(folder / "study.db", uli.SuccessiveElimination(0.1), ["a", "b"]).close()
    with pytest.raises(StudyError, match="live decisions"):
        race(folder / "study.db")


def test_a_file_in_use_is_refused(folder):
    path = folder / "race.db"

    def evaluate(candidate, i):
        with pytest.raises(StudyLockedError):
            race(path)
        return 0.5

    uli.race(["a", "b"], evaluate, range(2), study=path)


def test_no_folder_no_race(folder):
    with pytest.raises(StudyWriteError, match="no folder"):
        race(folder / "nowhere" / "race.db")


@contextlib.contextmanager
def altered(path):
    """Open a file whose triggers look away for a while."""
    connection = sqlite3.connect(path)
    for name in ("never_changed", "never_removed", "only_added"):
        connection.execute(f"DROP TRIGGER {name}")
    yield connection
    for statement in SCHEMA[1:4]:
        connection.execute(statement)
    connection.commit()
    connection.close()


def forged(path, change):
    """Rewrite the scores of a file, with hashes that are right."""
    events, last = read_events(path), None
    with altered(path) as connection:
        for event in events:
            content = change(event.content) if event.kind == "tell" else event.content
            about = (event.kind, event.decision, event.request, compact(content))
            last = next_event(last, *about, event.time, event.version)
            connection.execute(
                "UPDATE event SET payload=?, previous=?, hash=? WHERE sequence=?",
                (last.payload, last.previous, last.hash, last.sequence),
            )


def test_an_altered_score_is_noticed(folder):
    path = folder / "race.db"
    race(path)
    with altered(path) as connection:
        connection.execute("UPDATE event SET payload=replace(payload, '1.0', '0.0')")
    with pytest.raises(StudyDivergedError):
        race(path)


def forgery_of(change):
    return lambda content: {"outcomes": [change(*x) for x in content["outcomes"]]}


FORGERIES = {
    "a race that went another way": forgery_of(lambda r, a, s, w: [r, a, s and 1.0 - s, w]),
    "a candidate that is not there": forgery_of(lambda r, a, s, w: [r, a + 3, s, w]),
    "an instance that is not there": forgery_of(lambda r, a, s, w: [r + 999, a, s, w]),
    "negative rows": forgery_of(lambda r, a, s, w: [-r - 1, a, s, w]),
    "texts": forgery_of(lambda r, a, s, w: [r, a, s and "1", w]),
    "beyond the range": forgery_of(lambda r, a, s, w: [r, a, s and 1.5, w]),
    "the same score again": lambda c: {"outcomes": [c["outcomes"][0]] * len(c["outcomes"])},
    "no outcomes": lambda c: {"out": []},
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_file_is_refused(forgery, folder):
    path = folder / "race.db"
    race(path)
    forged(path, FORGERIES[forgery])
    with pytest.raises(StudyDivergedError):
        race(path)
