"""Progress and an estimate while a first replication is played, however slow it is."""

import pickle
import threading

import pytest

import uli_fast as uli
from tests.support.patience import PATIENCE
from uli_fast import experiments
from uli_fast._support import progress
from uli_fast.experiments import running, watch
from uli_fast.experiments.running import Part
from uli_fast.experiments.watch import PartWatch, Unwatched

# UCB on equal arms cannot skip: to 10^18 it takes thousands of years, and here some seconds, so
# that what never tells its pace fails and does not hang.
SLOW = """
horizon = 20_000_000
replications = 3
seed = 1
[problems.equal]
type = "BernoulliBandit"
means = [0.0, 0.0, 0.0]
[learners.UCB]
type = "UCB"
"""


class EnoughError(Exception):
    pass


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(watch, "SLOW", 0.0)
    monkeypatch.setattr(watch, "OFTEN", 0.0)


@pytest.fixture
def curious(monkeypatch):
    monkeypatch.setattr(watch, "UNSEEN", 0.0)
    monkeypatch.setattr(watch, "TRIAL", 0.0)


def experiment(tmp_path):
    file = tmp_path / "slow.toml"
    file.write_text(SLOW)
    return experiments.ExperimentFile.read(file)


def first_part(tmp_path):
    return Part(experiment(tmp_path).cells[0], 0, 1, 3)


def enough(*said):
    raise EnoughError(*said)


def test_a_slow_first_replication_tells_its_pace(tmp_path, impatient):
    with pytest.raises(
        EnoughError, match=r"^UCB on equal: .* % of a replication after .* for each$"
    ):
        experiments.run(experiment(tmp_path), tmp_path / "r", progress=False, say=enough)


@pytest.mark.parametrize("backend", [None, "threading"])
def test_a_slow_first_replication_moves_the_bar(tmp_path, impatient, backend):
    monotone = []

    def report(fraction):
        monotone.append(fraction)
        if len(monotone) == 3:
            raise EnoughError

    with pytest.raises(EnoughError):
        experiments.run(experiment(tmp_path), tmp_path / "r", progress=report, backend=backend)
    assert 0.0 < monotone[0] < monotone[1] < monotone[2] < 1.0 / 3.0  # of three replications


def test_a_checkpoint_reports_while_its_first_replication_is_played(tmp_path):
    equal = uli.BernoulliBandit([0.0, 0.0, 0.0])
    with pytest.raises(EnoughError) as told:
        uli.simulate(uli.UCB(), equal, 10**7, 2, 1, progress=enough, checkpoint=tmp_path / "c")
    assert 0.0 < told.value.args[0] < 0.5


def test_what_is_slow_elsewhere_is_tried_here(tmp_path, curious):
    said, heard = [], threading.Event()

    def say(sentence):
        said.append(sentence)
        heard.set()

    with PartWatch(3, lambda fraction: None, say).trying([first_part(tmp_path)]):
        assert heard.wait(PATIENCE)
    assert said[0].startswith("UCB on equal: tried here, ") and said[0].endswith(" for each")


def test_nothing_is_tried_here_where_parts_can_be_followed(tmp_path, curious, monkeypatch):
    tried = []
    monkeypatch.setattr(watch, "tried", lambda *about: tried.append(about))
    watched, part = PartWatch(3, lambda fraction: None, enough), first_part(tmp_path)
    watched.follow(part)
    over = threading.Event()
    watched._try([part], over)
    measured = PartWatch(3, lambda fraction: None, enough)
    measured.finished(part)
    measured._try([part], over)
    assert tried == []


def test_a_trial_that_is_done_in_time_or_fails_says_nothing(tmp_path, monkeypatch):
    part, over = first_part(tmp_path), threading.Event()
    for done in (lambda *about: None, enough):
        monkeypatch.setattr(running, "simulated", done)
        assert watch.tried(part, over) is None


def test_the_pace_is_told_at_twice_the_time_and_not_of_a_cell_that_is_known(tmp_path, monkeypatch):
    seconds, said, shares = [0.0], [], []
    monkeypatch.setattr(watch.clock, "now", lambda: seconds[0])
    part = first_part(tmp_path)
    watched = PartWatch(3, shares.append, said.append)
    note = watched.follow(part)
    for at in (1.0, 9.0, 10.0, 19.0, 20.0, 39.0, 40.0):
        seconds[0] = at
        note(at / 1000.0)
    assert [x.split(" after ")[1].split(",")[0] for x in said] == ["10 s", "20 s", "40 s"]
    assert said[0] == (
        "UCB on equal: 1 % of a replication after 10 s, at this pace 17 min for each"
    )
    assert shares[-1] == pytest.approx(0.04 / 3.0)
    watched.finished(part)
    assert shares[-1] == pytest.approx(1.0 / 3.0)
    seconds[0] = 1000.0
    watched.follow(part._replace(first=1))(0.5)
    seconds[0] = 2000.0
    watched.follow(part._replace(first=1))(0.5)
    assert len(said) == 3


def test_a_watch_that_is_sent_away_says_nothing_there(tmp_path):
    sent = pickle.loads(pickle.dumps(PartWatch(3, lambda fraction: None, enough)))
    assert isinstance(sent, Unwatched) and sent.follow(first_part(tmp_path)) is False


def test_times_are_told_in_words_from_seconds_to_millennia():
    words = [progress.duration(x) for x in (3.2, 89, 600, 7200, 3e5, 1e7, 1e9, 1e12)]
    assert words == [
        "3 s",
        "89 s",
        "10 min",
        "2.0 h",
        "3 days",
        "116 days",
        "32 years",
        ("31,688 years"),
    ]
    assert [progress.percentage(x) for x in (0.0, 1e-10, 0.004, 0.5)] == [
        "0 %",
        "1e-08 %",
        "0.4 %",
        "50 %",
    ]


def test_a_bar_says_how_long_a_hopeless_run_would_take(capsys):
    seen = []

    class Impatient(progress._Bar):
        def show(self, fraction):
            super().show(fraction)
            seen.append(fraction)

    bar = Impatient(0.0)
    for fraction in (1e-12, 2e-12, 3e-12):
        bar.show(fraction)
    bar.close()
    assert "3e-10 %" in capsys.readouterr().err and seen
