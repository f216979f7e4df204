"""Parts of results are bound to their batch and their place; headers are believed last."""

import json
import shutil

import pytest

import uli_fast as uli
from uli_fast import experiments
from uli_fast.errors import RunsFileError
from uli_fast.experiments import ExperimentFile, Results
from uli_fast.results.storage import _digest, _digest_of

EXPERIMENT = """
horizon = 500
replications = 6

[problems.two]
type = "BernoulliBandit"
means = [0.5, 0.4]

[learners.SE]
type = "SuccessiveElimination"

[learners.UCB]
type = "UCB"
"""


@pytest.fixture
def folder(tmp_path):
    experiments.run(ExperimentFile.parse(EXPERIMENT), tmp_path / "r", keep_every=1e-9)
    return tmp_path / "r"


def cell(folder, learner):
    (found,) = (folder / "cells").glob(f"two*{learner}*")
    return found


def part(folder, learner, first):
    (found,) = cell(folder, learner).glob(f"part-{first}-*")
    return found


def test_a_part_of_another_cell_is_refused(folder):
    target = part(folder, "SE", 2)
    shutil.rmtree(target)
    shutil.copytree(part(folder, "UCB", 2), target)
    with pytest.raises(RunsFileError, match="part of something else"):
        Results.load(folder)


def test_a_part_in_another_place_is_refused(folder):
    target = part(folder, "SE", 3)
    shutil.rmtree(target)
    shutil.copytree(part(folder, "SE", 2), target)
    with pytest.raises(RunsFileError, match="part of something else"):
        Results.load(folder)


def test_a_part_with_fewer_replications_than_its_name_says_is_refused(folder):
    for first in (4, 5):
        kept = part(folder, "SE", first)
        if first == 4:
            kept.rename(kept.with_name("part-4-2"))
        else:
            shutil.rmtree(kept)
    with pytest.raises(RunsFileError, match="part of something else"):
        Results.load(folder)


def test_rows_keep_their_numbers_where_some_are_missing(folder):
    shutil.rmtree(part(folder, "SE", 3))
    results = Results.load(folder)
    assert results.missing == {"two": {"SE": 1}}
    frame = results.to_pandas()
    assert frame[frame.learner == "SE"].replication.tolist() == [0, 1, 2, 4, 5]
    alone = uli.simulate(
        uli.SuccessiveElimination(), uli.BernoulliBandit([0.5, 0.4]), 500, 6, seed=1
    )
    assert (
        frame[frame.learner == "SE"].regret.tolist()
        == alone.final_regret()[[0, 1, 2, 4, 5]].tolist()
    )


def test_a_manifest_that_leads_outside_is_refused(folder):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    for name in ("..", "../x", "a/b"):
        manifest["cells"][0]["id"] = name
        path.write_text(json.dumps(manifest))
        with pytest.raises(RunsFileError):
            Results.load(folder)


def test_a_header_that_claims_too_much_is_refused_before_it_is_believed(tmp_path):
    runs = uli.simulate(uli.SuccessiveElimination(), uli.BernoulliBandit([0.5, 0.4]), 50, seed=0)
    runs.save(tmp_path / "r")
    path = tmp_path / "r" / "rounds.npy"
    size, raw = path.stat().st_size, path.read_bytes()
    shape = f"({runs.rounds.size},)".encode()
    huge = raw.replace(shape + b", }" + b" " * 13, b"(10000000000000,), }", 1)
    huge = huge.ljust(size, b" ") if len(huge) < size else huge[:size]
    assert huge != raw
    path.write_bytes(huge)
    about = tmp_path / "r" / "manifest.json"
    manifest = json.loads(about.read_text())
    manifest["arrays"]["rounds"]["sha256"] = _digest(path)
    del manifest["sha256"]
    about.write_text(json.dumps(manifest | {"sha256": _digest_of(manifest)}))
    with pytest.raises(RunsFileError):
        uli.Runs.load(tmp_path / "r")
