"""``uli run``: what it refuses, says and leaves behind."""

import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from tests.experiments.test_folders import EXPERIMENT, experiment
from tests.experiments.test_running import EXPERIMENT as OF_SEVEN_CELLS
from tests.experiments.watching import parts_in
from uli_fast import experiments
from uli_fast.cli import main
from uli_fast.errors import GuaranteeWarning


@pytest.fixture
def invoke(tmp_path):
    (tmp_path / "s.toml").write_text(EXPERIMENT)

    def call(*words, command="run"):
        return CliRunner().invoke(main, [command, str(tmp_path / "s.toml"), *words])

    return call


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


@pytest.mark.parametrize("name", ["pandas", "pyarrow"])
def test_parquet_is_refused_before_anything_runs(name, invoke, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    done = invoke("--out", str(tmp_path / "new"), "--parquet")
    assert done.exit_code == 1
    assert f"to_parquet needs {name}: pip install {name}" in done.output
    assert not (tmp_path / "new").exists()


def test_check_names_problems_that_nobody_plays(tmp_path):
    file = tmp_path / "experiment.toml"
    river = '[problems.river]\ntype = "mdps.river_swim"\nn_states = 2\nhorizon = 2\n'
    file.write_text(EXPERIMENT + 'on = ["two"]\n' + river)
    done = CliRunner().invoke(main, ["run", str(file), "--check"])
    assert done.exit_code == 0, done.output
    assert "played by no learner: river" in done.output


def test_results_that_are_there_name_the_way_on(invoke):
    assert invoke().exit_code == 0
    assert "go on with --resume" in invoke().output


def test_missing_guarantees_are_said_once_for_each_cell(tmp_path):
    text = EXPERIMENT.replace('"BernoulliBandit"', '"GaussianBandit"') + "R = 0.5\n"
    text += '[learners.UCB]\ntype = "UCB"\nR = 0.5\n'
    with pytest.warns(GuaranteeWarning) as told:
        experiments.run(experiment(text), tmp_path / "r", keep_every=1e-6, jobs=2)
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
    (tmp_path / "s.toml").write_text(EXPERIMENT.replace(", 0.05, 0.01", ""))
    assert call("--check").output.strip().endswith("is fine: 1 cell")


def test_names_reach_the_terminal_as_plain_text(tmp_path):
    learners = '[learners."\\u001b[31mred"]\ntype = "SuccessiveElimination"\nR = 0.5\n'
    learners += '[learners."\\u001b[2Jrival\\u202e"]\ntype = "UCB"\nR = 0.5\n'
    text = EXPERIMENT.partition("[learners")[0].replace("Bernoulli", "Gaussian") + learners
    text = text.replace("problems.two", 'problems."\\u009b1m\\r\\ntwo"')
    with pytest.warns(GuaranteeWarning) as told:
        experiments.run(experiment(text), tmp_path / "r")
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


def test_the_command_checks_runs_resumes_and_exports(tmp_path):
    (tmp_path / "s.toml").write_text(OF_SEVEN_CELLS)
    invoke = lambda *words: CliRunner().invoke(main, ["run", str(tmp_path / "s.toml"), *words])  # noqa: E731
    assert "7 cells" in invoke("--check").output
    first = invoke("--replications", "2", "--parquet")
    assert first.exit_code == 0, first.output
    import pandas as pd

    frame = pd.read_parquet(tmp_path / "s-results/runs.parquet")
    assert len(frame) == 7 * 2 and {"problem", "learner", "regret"} <= set(frame.columns)
    again = invoke()
    assert again.exit_code == 1 and "resume" in again.output
    assert invoke("--resume", "--replications", "3").exit_code == 0
    assert invoke("--address", "tcp://127.0.0.1:1").exit_code == 2
    (tmp_path / "s.toml").write_text(OF_SEVEN_CELLS.replace("means", "meens", 1))
    wrong = invoke()
    assert wrong.exit_code == 1 and "problems.two.meens" in wrong.output
