"""Killed anywhere, a study goes on as if nothing had happened."""

import json
import os
import random
import signal
import time

import pytest

import uli_fast as uli
from tests.study.clinic import ARMS, learner, outcome, treat
from tests.support.patience import wait_until
from uli_fast.errors import ArgumentError, StudyLockedError

POINTS = [
    f"{kind}-{where}"
    for kind in ("create", "ask", "tell", "missing")
    for where in ("begun", "written", "committed")
]


def essence(study):
    """Return what must not depend on crashes: everything but the times."""
    return [record._replace(asked=None, told=None) for record in study.history()]


def said(log):
    """Return what was acknowledged; a line that a kill cut short was not."""
    if not log.exists():
        return []
    return [json.loads(x) for x in log.read_bytes().split(b"\n")[:-1]]


def wait_for_lines(clinic, log, lines):
    """Wait until so many lines are acknowledged; fail if the clinic ends or hangs before."""
    wait_until(lambda: lines_of(log) >= lines or not clinic.alive())
    assert lines_of(log) >= lines, f"the clinic ended after {lines_of(log)} of {lines} lines"


def lines_of(log):
    return log.read_bytes().count(b"\n") if log.exists() else 0


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    path = tmp_path_factory.mktemp("undisturbed") / "trial.db"
    treat(path, range(40))
    with uli.Study.read(path) as study:
        return essence(study)


@pytest.mark.parametrize("pass_", [1, 3])
@pytest.mark.parametrize("point", POINTS)
def test_a_crash_at_any_point_changes_nothing(point, pass_, clinic, folder, path, undisturbed):
    if point.startswith("create") and pass_ > 1:
        return  # it is made once
    log = folder / "log"
    pid = clinic.start(
        do="treat", path=str(path), log=str(log), patients=40, fault=f"{point}:{pass_}"
    )
    assert pid > 0 and clinic.wait() == 137
    acknowledged = said(log)
    if point in ("create-begun", "create-written"):
        with pytest.raises(ArgumentError, match="learner"):
            uli.Study.open(path)
    else:
        with uli.Study.open(path) as study:
            asked = [x for x in acknowledged if x[0] == "ask"]
            # The same arm when asked again, and of the one that was cut off only where committed.
            for _, i, id, arm in asked:
                assert study.ask(f"patient-{i}")[:2] == (id, arm)
            more = len(study.history()) - len(asked)
            assert more == (1 if point == "ask-committed" else 0)
            assert essence(study)[: len(asked)] == [
                r._replace(status=s.status, reward=s.reward, reason=s.reason)
                for r, s in zip(undisturbed, essence(study)[: len(asked)], strict=False)
            ]
            settled = [r for r in study.history() if r.status != "pending"]
            told = [x for x in acknowledged if x[0] == "tell"]
            cut_off = point in ("tell-committed", "missing-committed")
            assert len(settled) == len(told) + cut_off
            events = len(list(study._journal.events()))
            for _, _, id, result in told:  # telling again is no news
                study.tell_missing(id, "did not come back") if result is None else study.tell(
                    id, result
                )
            assert len(list(study._journal.events())) == events
    treat(path, range(40))  # the clinic starts again from its list of patients
    with uli.Study.open(path) as study:
        assert essence(study) == undisturbed


DAYS = 6


def day_s_sums(study, day):
    """Return what a day of an allocation gave, the same whenever it is asked for."""
    return {
        arm: (40 * n, float(sum(outcome(f"{day}-{i}", arm) or 0 for i in range(40 * n))), n)
        for arm, n in study.allocation().items()
    }


def in_blocks(path, say=lambda *what: None):
    """Tell a day after the other; one that was told already is told again."""
    with uli.Study.open(path, uli.BettingElimination(0.1), ARMS) as study:
        told = {block.id: block for block in study.blocks()}
        for day in range(DAYS):
            known = told.get(f"day {day}")
            sums = known.sums if known else day_s_sums(study, day)
            study.tell_block(sums, f"day {day}")
            say("block", day)


@pytest.mark.parametrize("where", ["begun", "written", "committed"])
def test_a_crash_around_a_block_changes_nothing(where, clinic, folder, path):
    in_blocks(folder / "undisturbed.db")
    log = folder / "log"
    job = {"do": "blocks", "path": str(path), "log": str(log), "fault": f"block-{where}:3"}
    assert clinic.start(**job) > 0 and clinic.wait() == 137
    assert len(said(log)) == 2
    with uli.Study.open(path) as study:
        assert len(study.blocks()) == 2 + (where == "committed")
        events = len(list(study._journal.events()))
        for block in study.blocks():  # telling again is no news
            study.tell_block(block.sums, block.id)
        assert len(list(study._journal.events())) == events
    in_blocks(path)
    with uli.Study.read(path) as one, uli.Study.read(folder / "undisturbed.db") as other:
        assert [b[::2] for b in one.blocks()] == [b[::2] for b in other.blocks()]
        assert one.certificate() == other.certificate() and one.counts() == other.counts()
        assert one._replay.player.state() == other._replay.player.state()


def killed(clinic, folder, path, kills, seed, size=0):
    """Kill the clinic at random moments; check every time that nothing acknowledged is lost.

    With a size, it asks and tells of so many patients at once.
    """
    rng, log = random.Random(seed), folder / "log"
    first = extra = 0
    for _ in range(kills):
        lines = lines_of(log)
        job = {"do": "treat", "path": str(path), "log": str(log), "patients": 10**6}
        job["behind"] = rng.choice([20, 1000])  # with snapshots, and without
        more = {"do": "many", "size": size, "patients": 10**5} if size else {}
        pid = clinic.start(**job | more, first=first)
        wait_for_lines(clinic, log, lines + rng.randrange(1, 12))
        time.sleep(rng.random() * 0.01)
        os.kill(pid, signal.SIGKILL)
        assert clinic.wait() == -signal.SIGKILL
        with uli.Study.open(path) as study:  # at once: nothing is waited for
            history, acknowledged = study.history(), said(log)
            asked = {x[1]: (x[2], x[3]) for x in acknowledged if x[0] == "ask" and not size}
            told = {x[2]: x[3] for x in acknowledged if x[0] == "tell" and not size}
            for kind, rows in acknowledged if size else ():
                asked |= {i: (id, arm) for i, id, arm in rows} if kind == "ask" else {}
                told |= dict(rows) if kind == "tell" else {}
            assert [r.id for r in history] == list(range(1, len(history) + 1))  # no gaps
            for i, (id, arm) in asked.items():
                record = history[id - 1]
                assert (record.request_id, record.arm) == (f"patient-{i}", arm)
                assert study.ask(f"patient-{i}")[:2] == (id, arm)
            for id, result in told.items():
                record = history[id - 1]
                assert (record.status, record.reward) == (
                    ("missing", None) if result is None else ("reward", result)
                )
            settled = sum(r.status != "pending" for r in history)
            unacknowledged = len(history) - len(asked) + settled - len(told)
            assert 0 <= unacknowledged <= (size or 1) + extra
            assert not size or (unacknowledged - extra) % size == 0  # all of a call, or nothing
            extra = unacknowledged  # the clinic hears of these only when it asks again
            pending = study.pending()
        first = int(pending[0].request_id.split("-")[1]) if pending else len(history)
    return history


def test_nothing_acknowledged_is_lost_to_kills(clinic, folder, path):
    history = killed(clinic, folder, path, 20, seed=1)
    check_history(history)


def test_nothing_acknowledged_is_lost_to_kills_in_batches(clinic, folder, path):
    history = killed(clinic, folder, path, 10, seed=3, size=16)
    check_batches(history, 16)


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_to_100_kills_in_batches(clinic, tmp_path):
    history = killed(clinic, tmp_path, tmp_path / "trial.db", 100, seed=4, size=16)
    check_batches(history, 16)


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_to_500_kills(clinic, tmp_path):
    history = killed(clinic, tmp_path, tmp_path / "trial.db", 500, seed=2)
    check_history(history)


def check_history(history):
    """The decisions are those of a bare player that was never killed."""
    player = learner().start(ARMS)
    told = 0
    for i, record in enumerate(history):
        assert player.ask().arm == record.arm and record.metadata == {"number": i}
        while told < i - 1:  # two patients late, as the clinic tells
            tell(player, told + 1, outcome(told, history[told].arm))
            told += 1


def check_batches(history, size):
    """The decisions are those of a bare player that was never killed, a batch late."""
    player = learner().start(ARMS)
    assert len(history) % size == 0
    for i, record in enumerate(history):
        assert player.ask().arm == record.arm and record.metadata == {"number": i}
        if (i + 1) % size == 0 and i >= size:
            for j in range(i + 1 - 2 * size, i + 1 - size):
                tell(player, j + 1, outcome(j, history[j].arm))


def tell(player, id, result):
    player.tell_missing(id, "x") if result is None else player.tell(id, result)


def test_a_second_process_is_turned_away_and_a_killed_one_leaves_no_lock(clinic, folder, path):
    treat(path, range(3))
    log = folder / "log"
    pid = clinic.start(do="hold", path=str(path), log=str(log))
    wait_for_lines(clinic, log, 1)
    with pytest.raises(StudyLockedError):
        uli.Study.open(path)
    with uli.Study.read(path) as study:  # looking is allowed
        assert len(study.history()) == 3
    os.kill(pid, signal.SIGKILL)
    assert clinic.wait() == -signal.SIGKILL
    with uli.Study.open(path) as study:
        assert len(study.history()) == 3


def test_a_forked_child_is_turned_away(path):
    with uli.Study.open(path, learner(), ARMS) as study:
        study._pid += 1  # as it looks from a child
        with pytest.raises(uli.errors.StudyError, match="another process"):
            study.ask()
        study._pid -= 1
        study.ask()
