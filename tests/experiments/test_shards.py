"""Shards of an experiment: run apart in any way and merged, they are the files of one run."""

import json
import pickle
import shutil
import sys
import time
from importlib.util import find_spec

import pytest
from click.testing import CliRunner

from tests.experiments.files import hashes, timeless
from uli_fast import experiments
from uli_fast.cli import main
from uli_fast.errors import (
    ArgumentError,
    ConfigError,
    MissingExtraError,
    ResultsError,
    RunsFileError,
    ShardsError,
)
from uli_fast.experiments.results import kept_in
from uli_fast.experiments.shards import Shard

M = 7
EXPERIMENT = f"""
horizon = 3_000
replications = {M}
seed = 5

[problems.two]
type = "BernoulliBandit"
means = [0.5, 0.4]

[learners.SE]
type = "SuccessiveElimination"
sweep = {{ delta = [0.1, 0.05] }}

[learners.Exp3P]
type = "Exp3P"
"""


def experiment(text=EXPERIMENT):
    return experiments.ExperimentFile.parse(text)


def sharded(folder, n, **options):
    """Run every shard of an experiment into a folder of its own and return the folders."""
    folders = [folder / f"{i}-of-{n}" for i in range(1, n + 1)]
    for i, one in enumerate(folders, 1):
        experiments.run(experiment(), one, shard=(i, n), **options)
    return folders


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A whole experiment and three shards of it."""
    folder = tmp_path_factory.mktemp("made")
    experiments.run(experiment(), folder / "whole")
    sharded(folder, 3)
    return folder


@pytest.fixture
def three(made, tmp_path):
    """Three shards to be spoiled."""
    return [shutil.copytree(made / f"{i}-of-3", tmp_path / f"s{i}") for i in (1, 2, 3)]


def test_shares_are_even_and_cover_every_replication_once():
    for n in range(1, 14):
        shares = [Shard(i, n).share(13) for i in range(1, n + 1)]
        numbers = [r for first, end in shares for r in range(first, end)]
        sizes = {end - first for first, end in shares}
        assert numbers == list(range(13)) and max(sizes) - min(sizes) <= 1


def test_a_shard_holds_the_replications_of_its_share_alone(made):
    found = experiments.Results.load(made / "2-of-3")
    assert found.numbers["two"] == {key: [2, 3] for key in found.comparisons["two"].runs}
    assert found.provenance["shard"] == "2/3" and not found.complete
    assert kept_in(made / "2-of-3") == (6, 6)
    assert json.loads((made / "whole/manifest.json").read_text()).keys().isdisjoint({"shard"})


@pytest.mark.parametrize("n", [1, 2, M])
def test_merged_shards_are_the_files_of_one_run_hash_by_hash(n, tmp_path, monkeypatch):
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)  # else runs take different times
    experiments.run(experiment(), tmp_path / "whole")
    experiments.merge([tmp_path / "whole"], tmp_path / "expected")
    experiments.merge(sharded(tmp_path, n), tmp_path / "merged")
    expected = hashes(tmp_path / "expected")
    assert len(expected) > 3 * 5 and hashes(tmp_path / "merged") == expected
    of_run = hashes(tmp_path / "whole")
    for name in ("manifest.json", *(x for x in of_run if x.endswith("about.json"))):
        assert of_run[name] == expected[name]


def test_shards_run_in_different_ways_merge_to_the_same(made, tmp_path):
    folders = [made / "1-of-3", tmp_path / "2", tmp_path / "3"]
    experiments.run(experiment(), folders[1], shard="2/3", jobs=2, keep_every=1e-6)
    experiments.run(experiment(), folders[2], shard="3/3", jobs=2, keep_every=1e9)
    merged = experiments.merge(reversed(folders), tmp_path / "merged")
    whole = experiments.Results.load(made / "whole")
    assert merged.complete and merged.digest() == whole.digest()
    experiments.merge([made / "whole"], tmp_path / "expected")
    assert timeless(tmp_path / "merged") == timeless(tmp_path / "expected")
    frames = merged.to_pandas(), whole.to_pandas()
    assert frames[0].equals(frames[1])


def test_a_shard_is_resumed(made, tmp_path):
    def stop(fraction):
        if fraction > 0.5:
            raise KeyboardInterrupt

    folder = tmp_path / "s3"
    with pytest.raises(KeyboardInterrupt):
        experiments.run(experiment(), folder, shard="3/3", progress=stop, keep_every=1e-6)
    kept, wanted = kept_in(folder)
    assert 0 < kept < wanted == 9
    with pytest.raises(ShardsError, match="s3, shard 3/3, is not finished"):
        experiments.merge([made / "1-of-3", made / "2-of-3", folder], tmp_path / "merged")
    before = {p: p.stat().st_mtime_ns for p in folder.rglob("*.npy")}
    experiments.run(experiment(), folder, shard="3/3", resume=True)
    assert all(p.stat().st_mtime_ns == at for p, at in before.items())
    merged = experiments.merge([made / "1-of-3", made / "2-of-3", folder], tmp_path / "merged")
    assert merged.digest() == experiments.Results.load(made / "whole").digest()


def test_a_merged_experiment_grows(made, three, tmp_path):
    experiments.merge(three, tmp_path / "merged")
    grown = experiments.run(experiment(), tmp_path / "merged", resume=True, replications=M + 2)
    alone = experiments.run(experiment(), tmp_path / "alone", replications=M + 2)
    assert grown.digest() == alone.digest()


# Refused.


@pytest.mark.parametrize(
    "shard", ["", "2", "2/", "/3", "a/b", "1/3/3", "-1/3", "1.5/3", "1 /3", "1/٣", (1,), 5, b"13"]
)
def test_shards_have_a_form(shard, tmp_path):
    with pytest.raises(ArgumentError, match="shard: must be like 2/8") as refused:
        experiments.run(experiment(), tmp_path / "r", shard=shard)
    assert refused.value.argument == "shard" and not list(tmp_path.iterdir())


@pytest.mark.parametrize("shard", ["0/3", "4/3", (0, 3), (4, 3), "1/0", (1.5, 3), (True, 3)])
def test_shards_are_numbered_from_one_to_n(shard, tmp_path):
    with pytest.raises(ArgumentError, match="shard: ") as refused:
        experiments.run(experiment(), tmp_path / "r", shard=shard)
    assert refused.value.argument == "shard" and not list(tmp_path.iterdir())


def test_there_are_no_more_shards_than_replications(tmp_path):
    for n, replications in ((M + 1, None), (3, 2)):
        with pytest.raises(ArgumentError, match=r"shard: must be one of at most [72], the repl"):
            experiments.run(experiment(), tmp_path / "r", shard=(1, n), replications=replications)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"shard": "1/3"}, "holds shard 2/3, not shard 1/3"),
        ({"shard": "2/4"}, "holds shard 2/3, not shard 2/4"),
        ({}, "holds shard 2/3, not a whole experiment"),
        ({"shard": "2/3", "replications": 8}, "a share of 7 replications, not of 8; shards do not"),
    ],
)
def test_a_shard_goes_on_as_the_same_shard_alone(options, said, three):
    before = hashes(three[1])
    with pytest.raises(ResultsError, match=said):
        experiments.run(experiment(), three[1], resume=True, **options)
    assert hashes(three[1]) == before


def test_a_whole_experiment_does_not_become_a_shard(made, tmp_path):
    folder = shutil.copytree(made / "whole", tmp_path / "whole")
    with pytest.raises(ResultsError, match="holds a whole experiment, not shard 1/3"):
        experiments.run(experiment(), folder, shard="1/3", resume=True)


def test_the_number_of_replications_of_a_shard_stays(three):
    said = []
    text = EXPERIMENT.replace(f"replications = {M}", "replications = 90")
    experiments.run(experiment(text), three[1], shard="2/3", resume=True, say=said.append)
    assert f"{M} replications as before, where the file says 90" in said
    assert "nothing is missing" in said


def changed(folder, **values):
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def spoil(three, how):
    """Spoil three shards in one way; return the folders to be merged."""
    one, two, _ = three
    if how == "missing":
        return [one, two]
    if how == "only one":
        return [two]
    if how == "the same twice":
        return [*three, two]
    if how == "a copy":
        return [*three, shutil.copytree(two, two.with_name("copy"))]
    if how == "of another number":
        shutil.rmtree(two)
        experiments.run(experiment(), two, shard="2/4")
    elif how == "whole among them":
        shutil.rmtree(two)
        experiments.run(experiment(), two)
    elif how == "of another file":
        shutil.rmtree(two)
        experiments.run(experiment(EXPERIMENT.replace("0.4]", "0.3]")), two, shard="2/3")
    elif how == "of another seed":
        shutil.rmtree(two)
        experiments.run(experiment(EXPERIMENT.replace("seed = 5", "seed = 6")), two, shard="2/3")
    elif how == "another title":
        changed(two, title="other")
    elif how == "other replications":
        shutil.rmtree(two)
        experiments.run(experiment(), two, shard="2/3", replications=9)
    elif how == "other versions":
        versions = json.loads((two / "manifest.json").read_text())["versions"]
        changed(two, versions=versions | {"numba": "0.1"})
    elif how == "all of other versions":
        versions = json.loads((two / "manifest.json").read_text())["versions"]
        for folder in three:
            changed(folder, versions=versions | {"uli_fast": "0.1"})
    elif how == "a cell of other versions":
        about = next(two.rglob("about.json"))
        about.write_text(about.read_text().replace('"numba": "', '"numba": "0.1'))
    elif how == "unfinished":
        shutil.rmtree(next(two.rglob("part-*")))
    elif how == "a cell without anything":
        shutil.rmtree(next(two.glob("cells/*")))
    elif how == "a part of another shard":
        part = next(one.rglob("part-*"))
        shutil.copytree(part, two / part.relative_to(one))
    elif how == "a part that goes too far":
        part = next(two.rglob("part-3-1"))
        part.rename(part.with_name("part-3-2"))
    elif how == "damaged":
        array = next(two.rglob("last_play.npy"))
        array.write_bytes(array.read_bytes()[:-1] + b"x")
    elif how == "another shard's number":
        changed(two, shard=[3, 3])
        changed(three[2], shard=[2, 3])
    elif how == "a number too large":
        changed(two, shard=[4, 3])
    elif how == "no manifest":
        (two / "manifest.json").unlink()
    return three


@pytest.mark.parametrize(
    ("how", "error", "said"),
    [
        ("missing", ShardsError, "missing: shard 3/3"),
        ("only one", ShardsError, "missing: shard 1/3, 3/3"),
        ("the same twice", ShardsError, "shard 2/3 appears twice: .*s2 and .*s2"),
        ("a copy", ShardsError, "shard 2/3 appears twice: .*s2 and .*copy"),
        ("of another number", ShardsError, "s2 is shard 2/4, .*s1 is shard 1/3"),
        ("whole among them", ShardsError, "s2 is shard 1/1, .*s1 is shard 1/3"),
        ("of another file", ShardsError, "s2: its experiment is not that of .*s1"),
        ("of another seed", ShardsError, "s2: its experiment is not that of .*s1"),
        ("another title", ShardsError, "s2: its title is not that of .*s1"),
        ("other replications", ShardsError, "s2: its replications are not those of .*s1"),
        ("other versions", ShardsError, "s2: its versions are not those of .*s1"),
        ("all of other versions", ShardsError, r"s1: made by uli_fast 0\.1, this is \d"),
        ("a cell of other versions", ResultsError, r"s2.* numba was 0\.1"),
        ("unfinished", ShardsError, "s2, shard 2/3, is not finished: 1 of 2 replications"),
        ("a cell without anything", RunsFileError, r"s2.*about\.json cannot be read"),
        ("a part of another shard", ShardsError, "s2.*is not of shard 2/3, replications 2 to 3"),
        ("a part that goes too far", ShardsError, "part-3-2 is not of shard 2/3"),
        ("damaged", RunsFileError, "s2.*has been altered.*resume"),
        ("another shard's number", ShardsError, "is not of shard 2/3"),
        ("a number too large", RunsFileError, "s2.*is not the manifest of an experiment"),
        ("no manifest", RunsFileError, r"s2 does not hold .*no manifest\.json"),
    ],
)
def test_what_is_not_a_whole_experiment_is_not_merged(how, error, said, three, tmp_path):
    folders = spoil(three, how)
    before = {folder: hashes(folder) for folder in three}
    with pytest.raises(error, match=said):
        experiments.merge(folders, tmp_path / "merged")
    assert {folder: hashes(folder) for folder in three} == before
    assert not [x for x in tmp_path.rglob("merged/*") if x.name != ".lock"]


def test_a_merge_that_failed_is_done_again_in_the_same_folder(made, three, tmp_path):
    spoil(three, "damaged")
    with pytest.raises(RunsFileError):
        experiments.merge(three, tmp_path / "merged")
    (tmp_path / "merged/.merged-killed").mkdir()  # as a kill leaves it
    shutil.rmtree(next(three[1].rglob("last_play.npy")).parent)
    experiments.run(experiment(), three[1], shard="2/3", resume=True)
    merged = experiments.merge(three, tmp_path / "merged")
    assert merged.digest() == experiments.Results.load(made / "whole").digest()
    assert sorted(x.name for x in (tmp_path / "merged").iterdir()) == [
        ".lock",
        "cells",
        "manifest.json",
    ]


def test_shards_are_merged_into_a_folder_of_their_own(three, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos/cat.png").write_bytes(b"cat")
    for out, said in (("photos", "something else"), ("s2", "results already")):
        before = hashes(tmp_path / out)
        with pytest.raises(ResultsError, match=said):
            experiments.merge(three, tmp_path / out)
        assert hashes(tmp_path / out) == before


@pytest.mark.parametrize("folders", [[], "s1", b"s1", 5, None, [5], [""]])
def test_folders_are_listed(folders, tmp_path):
    with pytest.raises(ArgumentError) as refused:
        experiments.merge(folders, tmp_path / "merged")
    assert refused.value.argument == "folders" and not list(tmp_path.iterdir())


# Ray; with Ray itself in tests/compat/drivers.


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_a_ray_that_is_not_there_is_a_typed_error_that_creates_nothing(tmp_path):
    with pytest.raises(MissingExtraError, match="pip install ray"):
        experiments.run(experiment(), tmp_path / "r", backend="ray")
    (tmp_path / "s.toml").write_text(EXPERIMENT)
    for words in ((), ("--address", "127.0.0.1:6379")):
        done = CliRunner().invoke(
            main, ["run", str(tmp_path / "s.toml"), "--backend", "ray", *words]
        )
        assert done.exit_code == 1 and "pip install ray" in done.output
    assert [p.name for p in tmp_path.iterdir()] == ["s.toml"] and "ray" not in sys.modules


def test_a_backend_without_a_generator_gives_the_same_bytes(made, tmp_path):
    from joblib import parallel_config, register_parallel_backend
    from joblib._parallel_backends import ThreadingBackend

    class Lists(ThreadingBackend):
        supports_return_generator = False

    register_parallel_backend("lists of ours", Lists)
    seen = []
    with parallel_config("lists of ours"):
        found = experiments.run(experiment(), tmp_path / "r", jobs=2, progress=seen.append)
    assert found.digest() == experiments.Results.load(made / "whole").digest()
    assert seen == sorted(seen) and len(seen) > 6  # kept as they come, not all at the end


def test_errors_about_arguments_come_back_from_other_processes():
    for kind in (ArgumentError, ConfigError):
        there = pickle.loads(pickle.dumps(kind("shard", "must be like 2/8")))
        assert type(there) is kind and there.argument == "shard"
        assert str(there) == "shard: must be like 2/8"


def test_a_worker_of_other_versions_is_refused(tmp_path, monkeypatch):
    from uli_fast.experiments import running

    monkeypatch.setattr(running, "versions", lambda: {"numpy": next(numbers)})
    numbers = iter(["1.0"] + ["2.0"] * 99)
    with pytest.raises(ResultsError, match=r"a worker has numpy 2\.0, not 1\.0"):
        experiments.run(experiment(), tmp_path / "r")
