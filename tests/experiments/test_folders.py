"""Folders of results: nothing is created, rewritten or shrunk by accident, and errors help."""

import json
import os
import shutil

import pytest

import uli_fast as uli
from uli_fast import experiments
from uli_fast.errors import (
    ArgumentError,
    ReportError,
    ResultsError,
    RunsFileError,
)

EXPERIMENT = """
horizon = 500
replications = 4

[problems.two]
type = "BernoulliBandit"
means = [0.9, 0.1]

[learners.SE]
type = "SuccessiveElimination"
sweep = { delta = [0.1, 0.05, 0.01] }
"""
PROBLEM = uli.BernoulliBandit([0.9, 0.1])


def experiment(text=EXPERIMENT):
    return experiments.ExperimentFile.parse(text)


def contents(folder):
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


# Before anything is created.


def test_a_checkpoint_does_not_go_into_an_experiment(tmp_path):
    experiments.run(experiment(), tmp_path / "r", replications=1)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos/cat.png").write_bytes(b"cat")
    for folder in ("r", "photos"):
        before = contents(tmp_path / folder)
        with pytest.raises(ResultsError, match="holds something else"):
            uli.simulate(uli.UCB(), PROBLEM, 50, 2, seed=1, checkpoint=tmp_path / folder)
        assert contents(tmp_path / folder) == before


@pytest.mark.parametrize("folder", [5, "", b"x", None, "a\0b"])
def test_folders_are_paths(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runs = uli.simulate(uli.UCB(), PROBLEM, 50, 2, seed=1)
    with pytest.raises(ArgumentError, match="folder"):
        experiments.run(experiment(), folder)
    with pytest.raises(ArgumentError, match="folder"):
        runs.save(folder)
    with pytest.raises(ArgumentError, match="folder"):
        uli.Runs.load(folder)
    if folder is not None:
        with pytest.raises(ArgumentError, match="checkpoint"):
            uli.simulate(uli.UCB(), PROBLEM, 50, 2, seed=1, checkpoint=folder)
        with pytest.raises(ArgumentError, match="path"):
            runs.plot(folder)
    assert list(tmp_path.iterdir()) == []


# Resuming.


@pytest.mark.parametrize("manifest", ["{", '{"schema": 99}', "[]", '{"schema": 1}', "\xff"])
def test_resuming_never_rewrites_a_manifest_it_cannot_read(manifest, tmp_path):
    experiments.run(experiment(), tmp_path / "r", replications=1)
    (tmp_path / "r/manifest.json").write_text(manifest, encoding="latin-1")
    before = contents(tmp_path / "r")
    for resume in (True, False):
        with pytest.raises(RunsFileError, match=r"manifest|schema"):
            experiments.run(experiment(), tmp_path / "r", resume=resume)
    assert contents(tmp_path / "r") == before


def test_resuming_never_shrinks_unless_asked(tmp_path):
    said = []
    whole = experiments.run(experiment(), tmp_path / "r", replications=10)
    again = experiments.run(experiment(), tmp_path / "r", resume=True, say=said.append)
    assert again.replications == 10 and again.digest() == whole.digest()
    assert said[0] == "10 replications as before, where the file says 4"
    fewer = experiments.run(
        experiment(), tmp_path / "r", resume=True, replications=4, say=said.append
    )
    assert "10 are kept, 4 shown" in said
    assert fewer.replications == 4 and fewer.complete
    back = experiments.run(experiment(), tmp_path / "r", resume=True)
    assert back.digest() == whole.digest()


def test_an_interrupted_growth_is_gone_on_with(tmp_path):
    experiments.run(experiment(), tmp_path / "r", replications=10)
    for part in (tmp_path / "r/cells").rglob("part-*"):
        if not part.name.startswith("part-0-"):
            shutil.rmtree(part)
    assert experiments.run(experiment(), tmp_path / "r", resume=True).replications == 10


def test_an_edited_file_is_said_to_be(tmp_path):
    said = []
    experiments.run(experiment(), tmp_path / "r")
    edited = experiment(EXPERIMENT.replace("[0.1, 0.05, 0.01]", "[0.1, 0.2]"))
    results = experiments.run(edited, tmp_path / "r", resume=True, say=said.append)
    assert said[0] == "the file changed: 1 new cell, 2 no longer used"
    assert set(results.comparisons["two"].runs) == {"SE (delta=0.1)", "SE (delta=0.2)"}
    said.clear()
    experiments.run(edited, tmp_path / "r", resume=True, say=said.append)
    assert said == ["nothing is missing"]


def test_a_damaged_part_comes_with_its_remedy(tmp_path):
    whole = experiments.run(experiment(), tmp_path / "r")
    array = sorted((tmp_path / "r").rglob("last_play.npy"))[0]
    array.write_bytes(array.read_bytes()[:-9])
    with pytest.raises(RunsFileError, match=r"remove .*part-.* and resume") as refused:
        experiments.Results.load(tmp_path / "r")
    part = str(refused.value).partition("remove ")[2].partition(" and resume")[0]
    shutil.rmtree(part)
    again = experiments.run(experiment(), tmp_path / "r", resume=True)
    assert again.digest() == whole.digest()


# What is said.


def test_results_are_shown_in_a_line(tmp_path):
    results = experiments.run(experiment(), tmp_path / "r")
    assert len(repr(results)) < 200 and "\n" not in repr(results)
    assert repr(results).startswith(f"Results({results.title!r}, problems=[")
    runs = sum(r.replications for c in results.comparisons.values() for r in c.runs.values())
    assert repr(results).endswith(f"{runs} runs)")


# Files of one's own.


def test_what_the_disk_refuses_is_typed(tmp_path):
    runs = uli.simulate(uli.UCB(), PROBLEM, 50, 2, seed=1)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ResultsError, match="file"):
        runs.save(tmp_path / "file" / "runs")
    with pytest.raises(ReportError, match="cannot be written") as refused:
        runs.plot(tmp_path / "file" / "gap.png")
    assert "PosixPath" not in str(refused.value)
    with pytest.raises(ArgumentError, match=r"path: must end in one of .*png.*; got 'gap\.xyz'"):
        runs.plot(tmp_path / "gap.xyz")
    runs.plot(tmp_path / "new" / "folder" / "gap.png")
    assert (tmp_path / "new/folder/gap.png").stat().st_size > 1000
    result = uli.compare([uli.UCB()], PROBLEM, 50, 2, seed=1)
    with pytest.raises(ReportError) as refused:
        result.report(tmp_path / "file" / "page.html")
    said = str(refused.value)
    assert "PosixPath" not in said and str(os.getpid()) not in said
    assert (tmp_path / "file").read_text() == "in the way"


def test_an_experiment_is_not_runs(tmp_path):
    experiments.run(experiment(), tmp_path / "r", replications=1)
    with pytest.raises(RunsFileError, match=r"is an experiment: experiments\.Results\.load"):
        uli.Runs.load(tmp_path / "r")
    uli.simulate(uli.UCB(), PROBLEM, 50, 2, seed=1).save(tmp_path / "runs")
    with pytest.raises(RunsFileError, match="not the manifest of an experiment"):
        experiments.Results.load(tmp_path / "runs")
    manifest = json.loads((tmp_path / "r/manifest.json").read_text())
    for key, value in (("replications", "3"), ("title", 5), ("replications", 0)):
        (tmp_path / "r/manifest.json").write_text(json.dumps(manifest | {key: value}))
        with pytest.raises(RunsFileError, match="not the manifest of an experiment"):
            experiments.Results.load(tmp_path / "r")


# Links.


@pytest.mark.parametrize("link", ["cells", "a cell", ".lock", ".lock to a file"])
def test_links_in_a_folder_of_results_are_not_followed(link, tmp_path):
    """Whoever shares the folder would choose what is written elsewhere."""
    results, elsewhere = tmp_path / "r", tmp_path / "elsewhere"
    experiments.run(experiment(), results, replications=1)
    place = {"cells": results / "cells", "a cell": next((results / "cells").iterdir())}
    name = place.get(link, results / ".lock")
    if "cell" in link:
        name.rename(elsewhere)
    else:
        name.unlink()
    if "file" in link:
        elsewhere.write_text("mine")
    name.symlink_to(elsewhere)
    before = contents(tmp_path)
    looks = [lambda: experiments.run(experiment(), results, resume=True)]
    if "cell" in link:
        looks += [
            lambda: experiments.Results.load(results),
            lambda: experiments.merge([results], tmp_path / "merged"),
        ]
    for look in looks:
        with pytest.raises(ResultsError, match="symbolic link"):
            look()
    shutil.rmtree(tmp_path / "merged", ignore_errors=True)
    assert contents(tmp_path) == before and (elsewhere.exists() or link == ".lock")


def test_a_lock_of_a_checkpoint_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "c/.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ResultsError, match="symbolic link"):
        uli.simulate(uli.UCB(), PROBLEM, 50, 2, seed=1, checkpoint=tmp_path / "c")
    assert not (tmp_path / "elsewhere").exists()
