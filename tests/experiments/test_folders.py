"""Folders of results: nothing is created, rewritten or shrunk by accident, and errors help."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

import uli_fast as uli
from tests.experiments.watching import parts_in
from uli_fast import experiments
from uli_fast.cli import main
from uli_fast.errors import (
    ArgumentError,
    GuaranteeWarning,
    ReportError,
    ResultsError,
    RunsFileError,
)

STUDY = """
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


def study(text=STUDY):
    return experiments.StudyFile.parse(text)


@pytest.fixture
def invoke(tmp_path):
    (tmp_path / "s.toml").write_text(STUDY)

    def call(*words, command="run"):
        return CliRunner().invoke(main, [command, str(tmp_path / "s.toml"), *words])

    return call


def contents(folder):
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


# Before anything is created.


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--backend", "foo"), "backend: 'foo' cannot be used"),
        (("--backend", ""), "backend: must not be empty"),
        (("--backend", "multiprocessing"), "use loky"),
        (("--backend", "dask", "--address", "nonsense://x"), "--address nonsense://x"),
        (("--out", ""), "must not be empty"),
        (("--jobs", "0"), "jobs: must be at least 1"),
    ],
)
def test_what_cannot_be_run_creates_nothing(words, said, invoke, tmp_path):
    pytest.importorskip("distributed")
    done = invoke(*words)
    assert done.exit_code != 0 and said in done.output
    assert len(done.output.strip().splitlines()[-1:]) == 1 and "Traceback" not in done.output
    assert [p.name for p in tmp_path.iterdir()] == ["s.toml"]


def test_a_scheduler_that_does_not_answer_is_given_up_soon(invoke, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    from uli_fast.cli import run  # noqa: F401

    module = sys.modules["uli_fast.cli.run"]
    assert module.CONNECT_SECONDS <= 10
    monkeypatch.setattr(module, "CONNECT_SECONDS", 1)
    done = invoke("--backend", "dask", "--address", "tcp://127.0.0.1:1")
    assert done.exit_code == 1
    expected = "Error: --address tcp://127.0.0.1:1: no scheduler answers within 1 s"
    assert done.output.strip().splitlines()[-1] == expected
    assert [p.name for p in tmp_path.iterdir()] == ["s.toml"]


def test_folders_of_other_things_are_left_alone(invoke, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos/cat.png").write_bytes(b"cat")
    for resume in ((), ("--resume",)):
        done = invoke("--out", str(tmp_path / "photos"), *resume)
        assert done.exit_code == 1 and "holds something else ('cat.png')" in done.output
    assert [p.name for p in (tmp_path / "photos").iterdir()] == ["cat.png"]
    (tmp_path / "empty").mkdir()
    assert invoke("--out", str(tmp_path / "empty")).exit_code == 0


def test_a_checkpoint_does_not_go_into_a_study(tmp_path):
    experiments.run(study(), tmp_path / "r", replications=1)
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
        experiments.run(study(), folder)
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
    experiments.run(study(), tmp_path / "r", replications=1)
    (tmp_path / "r/manifest.json").write_text(manifest, encoding="latin-1")
    before = contents(tmp_path / "r")
    for resume in (True, False):
        with pytest.raises(RunsFileError, match=r"manifest|schema"):
            experiments.run(study(), tmp_path / "r", resume=resume)
    assert contents(tmp_path / "r") == before


def test_resuming_never_shrinks_unless_asked(tmp_path):
    said = []
    whole = experiments.run(study(), tmp_path / "r", replications=10)
    again = experiments.run(study(), tmp_path / "r", resume=True, say=said.append)
    assert again.replications == 10 and again.digest() == whole.digest()
    assert said[0] == "10 replications as before, where the file says 4"
    fewer = experiments.run(study(), tmp_path / "r", resume=True, replications=4, say=said.append)
    assert "10 are kept, 4 shown" in said
    assert fewer.replications == 4 and fewer.complete
    back = experiments.run(study(), tmp_path / "r", resume=True)
    assert back.digest() == whole.digest()


def test_an_interrupted_growth_is_gone_on_with(tmp_path):
    experiments.run(study(), tmp_path / "r", replications=10)
    for part in (tmp_path / "r/cells").rglob("part-*"):
        if not part.name.startswith("part-0-"):
            shutil.rmtree(part)
    assert experiments.run(study(), tmp_path / "r", resume=True).replications == 10


def test_an_edited_file_is_said_to_be(tmp_path):
    said = []
    experiments.run(study(), tmp_path / "r")
    edited = study(STUDY.replace("[0.1, 0.05, 0.01]", "[0.1, 0.2]"))
    results = experiments.run(edited, tmp_path / "r", resume=True, say=said.append)
    assert said[0] == "the file changed: 1 new cell, 2 no longer used"
    assert set(results.comparisons["two"].runs) == {"SE (delta=0.1)", "SE (delta=0.2)"}
    said.clear()
    experiments.run(edited, tmp_path / "r", resume=True, say=said.append)
    assert said == ["nothing is missing"]


def test_a_damaged_part_comes_with_its_remedy(tmp_path):
    whole = experiments.run(study(), tmp_path / "r")
    array = sorted((tmp_path / "r").rglob("last_play.npy"))[0]
    array.write_bytes(array.read_bytes()[:-9])
    with pytest.raises(RunsFileError, match=r"remove .*part-.* and resume") as refused:
        experiments.Results.load(tmp_path / "r")
    part = str(refused.value).partition("remove ")[2].partition(" and resume")[0]
    shutil.rmtree(part)
    again = experiments.run(study(), tmp_path / "r", resume=True)
    assert again.digest() == whole.digest()


LONG = """
horizon = 4_000_000
replications = 60
engine = "rounds"

[problems.tie]
type = "BernoulliBandit"
means = [0.5, 0.5]

[learners.UCB]
type = "UCB"
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_says_what_is_kept(jobs, tmp_path):
    (tmp_path / "s.toml").write_text(LONG)
    code = "from uli_fast.cli import main; main()"
    command = [sys.executable, "-c", code, "run", str(tmp_path / "s.toml")]
    child = subprocess.Popen(
        [*command, "--keep-every", "0.01", "--jobs", str(jobs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while child.poll() is None and not parts_in(tmp_path):
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    out, error = (text.decode() for text in child.communicate())
    kept = experiments.Results.load(tmp_path / "s-results").comparisons["tie"]["UCB"].replications
    assert child.returncode == 130, error
    assert error.strip() == f"{kept} of 60 kept; go on with --resume"
    assert "Traceback" not in out


# What is said.


@pytest.mark.parametrize("name", ["pandas", "pyarrow"])
def test_parquet_is_refused_before_anything_runs(name, invoke, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    done = invoke("--out", str(tmp_path / "new"), "--parquet")
    assert done.exit_code == 1
    assert f"to_parquet needs {name}: pip install 'uli-fast[report]'" in done.output
    assert not (tmp_path / "new").exists()


def test_check_names_problems_that_nobody_plays(tmp_path):
    file = tmp_path / "study.toml"
    river = '[problems.river]\ntype = "mdps.river_swim"\nn_states = 2\nhorizon = 2\n'
    file.write_text(STUDY + 'on = ["two"]\n' + river)
    done = CliRunner().invoke(main, ["run", str(file), "--check"])
    assert done.exit_code == 0, done.output
    assert "played by no learner: river" in done.output


def test_results_are_shown_in_a_line(tmp_path):
    results = experiments.run(study(), tmp_path / "r")
    assert len(repr(results)) < 200 and "\n" not in repr(results)
    assert repr(results).startswith(f"Results({results.title!r}, problems=[")
    runs = sum(r.replications for c in results.comparisons.values() for r in c.runs.values())
    assert repr(results).endswith(f"{runs} runs)")


def test_results_that_are_there_name_the_way_on(invoke):
    assert invoke().exit_code == 0
    assert "go on with --resume" in invoke().output


def test_missing_guarantees_are_said_once_for_each_cell(tmp_path):
    text = STUDY.replace('"BernoulliBandit"', '"GaussianBandit"') + "R = 0.5\n"
    text += '[learners.UCB]\ntype = "UCB"\nR = 0.5\n'
    with pytest.warns(GuaranteeWarning) as told:
        experiments.run(study(text), tmp_path / "r", keep_every=1e-6, jobs=2)
    assert [str(w.message).partition(": no guarantee: ")[0] for w in told] == [
        f"SE (delta={delta}) on two" for delta in ("0.1", "0.05", "0.01")
    ]
    (tmp_path / "s.toml").write_text(text)
    call = lambda *words: CliRunner().invoke(main, ["run", str(tmp_path / "s.toml"), *words])  # noqa: E731
    for done in (call("--check"), call()):
        assert done.exit_code == 0
        assert done.output.count("SE (delta=0.05) on two: no guarantee: rewards are 1-sub") == 1
        assert "running.py" not in done.output and "Warning" not in done.output
    assert "4 cells" in call("--check").output
    assert "as rivals: UCB" in call("--check").output
    (tmp_path / "s.toml").write_text(STUDY.replace(", 0.05, 0.01", ""))
    assert call("--check").output.strip().endswith("is fine: 1 cell")


def test_names_reach_the_terminal_as_plain_text(tmp_path):
    learners = '[learners."\\u001b[31mred"]\ntype = "SuccessiveElimination"\nR = 0.5\n'
    learners += '[learners."\\u001b[2Jrival\\u202e"]\ntype = "UCB"\nR = 0.5\n'
    text = STUDY.partition("[learners")[0].replace("Bernoulli", "Gaussian") + learners
    text = text.replace("problems.two", 'problems."\\u009b1m\\r\\ntwo"')
    with pytest.warns(GuaranteeWarning) as told:
        experiments.run(study(text), tmp_path / "r")
    said = [str(warning.message) for warning in told]
    (tmp_path / "s.toml").write_text(text)
    call = lambda *words: CliRunner().invoke(  # noqa: E731
        main, ["run", str(tmp_path / "s.toml"), *words], color=True
    )
    wrong = text.replace("SuccessiveElimination", "Succesive")
    said += [call("--check").output, call().output]
    (tmp_path / "s.toml").write_text(wrong)
    said += [call().output]
    assert "31mred" in said[0] and "2Jrival" in said[1] and "two" in said[2] and "red" in said[3]
    for text in said:
        assert not {"\x1b", "\x9b", "\r", "\u202e"} & set(text)


def test_tables_carry_the_names_of_the_file(invoke):
    done = invoke()
    assert "two: BernoulliBandit(means=[0.9, 0.1])" in done.output


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


def test_a_study_is_not_runs(tmp_path):
    experiments.run(study(), tmp_path / "r", replications=1)
    with pytest.raises(RunsFileError, match=r"is a study: experiments\.Results\.load"):
        uli.Runs.load(tmp_path / "r")
    uli.simulate(uli.UCB(), PROBLEM, 50, 2, seed=1).save(tmp_path / "runs")
    with pytest.raises(RunsFileError, match="not the manifest of a study"):
        experiments.Results.load(tmp_path / "runs")
    manifest = json.loads((tmp_path / "r/manifest.json").read_text())
    for key, value in (("replications", "3"), ("title", 5), ("replications", 0)):
        (tmp_path / "r/manifest.json").write_text(json.dumps(manifest | {key: value}))
        with pytest.raises(RunsFileError, match="not the manifest of a study"):
            experiments.Results.load(tmp_path / "r")
