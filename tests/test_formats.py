"""What an earlier version wrote is refused in one sentence, and left as it is."""

import json
import shutil
import sqlite3

import pytest

import uli_fast as uli
from uli_fast import experiments
from uli_fast.errors import RunsFileError, StateError, StudyError
from uli_fast.experiments import results
from uli_fast.players import _player
from uli_fast.results import storage
from uli_fast.study import journal

EARLIER = r"was written by an earlier version of uli_fast \({} {}, this one reads {}\)"
TWO = uli.BernoulliBandit([0.2, 0.8])
EXPERIMENT = """
horizon = 100
replications = 1
seed = 1

[problems.two]
type = "BernoulliBandit"
means = [0.2, 0.8]

[learners.UCB]
type = "UCB"
"""


def numbers(ours):
    """Return the numbers of all formats before this one."""
    assert ours > 1
    return range(1, ours)


def test_states():
    player = uli.BettingElimination().start(2)
    player.tell(player.ask().id, 1.0)
    for schema in numbers(_player.SCHEMA):
        said = EARLIER.format("schema", schema, _player.SCHEMA)
        with pytest.raises(StateError, match=rf"^state: {said}.*: start a new player$"):
            uli.restore({**player.state(), "schema": schema})
    for schema in (_player.SCHEMA + 1, 0, True, "5", None):
        with pytest.raises(StateError, match=f"has schema {schema!r}, this version reads"):
            uli.restore({**player.state(), "schema": schema})


def test_studies(tmp_path):
    path = tmp_path / "study.db"
    with uli.Study.open(path, uli.BettingElimination(), 2) as study:
        study.tell(study.ask("first").id, 1.0)
    for number in (*numbers(journal.FORMAT), journal.FORMAT + 1):
        other = shutil.copyfile(path, tmp_path / f"{number}.db")
        connection = sqlite3.connect(other)
        connection.execute(f"PRAGMA user_version={number}")
        connection.close()
        before = other.read_bytes()
        said = EARLIER.format("format", number, journal.FORMAT) + ".*: begin a new study under"
        if number > journal.FORMAT:
            said = f"has format {number}, this version reads {journal.FORMAT}"
        for look in (uli.Study.open, uli.Study.read, uli.Study.audit):
            with pytest.raises(StudyError, match=said):
                look(other)
        with pytest.raises(StudyError, match=said):
            uli.Study.open(other, uli.BettingElimination(), 2)
        assert other.read_bytes() == before


def test_runs(tmp_path):
    uli.simulate(uli.UCB(), TWO, 100, seed=1).save(tmp_path / "runs")
    file = tmp_path / "runs" / "manifest.json"
    for schema in numbers(storage.SCHEMA):
        manifest = json.loads(file.read_text())
        del manifest["sha256"]
        manifest["schema"] = schema
        file.write_text(json.dumps(manifest | {"sha256": storage._digest_of(manifest)}))
        with pytest.raises(RunsFileError, match=EARLIER.format("schema", schema, storage.SCHEMA)):
            uli.Runs.load(tmp_path / "runs")


def test_experiments(tmp_path):
    experiment = tmp_path / "experiment.toml"
    experiment.write_text(EXPERIMENT)
    experiments.run(experiment, tmp_path / "out", progress=False)
    file = tmp_path / "out" / "manifest.json"
    for schema in numbers(results.SCHEMA):
        file.write_text(json.dumps(json.loads(file.read_text()) | {"schema": schema}))
        before = file.read_bytes()
        with pytest.raises(RunsFileError, match=EARLIER.format("schema", schema, results.SCHEMA)):
            experiments.run(experiment, tmp_path / "out", resume=True, progress=False)
        assert file.read_bytes() == before
