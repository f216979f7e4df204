"""The experiment that the package must be able to show: three trials, a billion rounds each."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from uli_fast import experiments
from uli_fast.cli import main

EXPERIMENT = Path(__file__).parents[2] / "examples/trials.toml"


def test_the_experiment_is_that_of_the_example():
    experiment = experiments.ExperimentFile.read(EXPERIMENT)
    assert experiment.replications == 200
    assert {cell.spec["horizon"] for cell in experiment.cells} == {10**9}
    assert {cell.problem for cell in experiment.cells} == {"isis2", "recovery", "ist_14day"}
    learners = {
        f"{name} (delta={d})" for name in ("SE", "PE", "UCB", "LilUCB") for d in (0.1, 0.05)
    }
    assert {cell.learner for cell in experiment.cells} == learners
    assert len(experiment.cells) == 3 * 8


@pytest.mark.slow
def test_the_experiment_runs_and_its_report_says_who_kept_the_guarantee(tmp_path):
    folder = tmp_path / "trials"
    done = CliRunner().invoke(main, ["run", str(EXPERIMENT), "--out", str(folder), "--jobs", "2"])
    assert done.exit_code == 0, done.output
    assert experiments.Results.load(folder).complete
    assert CliRunner().invoke(main, ["report", str(folder)]).exit_code == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count('<div class="verdict kept">') == 3  # a verdict for each problem
    assert page.count("held at every round of every run of the learners that have one.") == 3
    own = ", ".join(("SE (delta=0.1)", "SE (delta=0.05)", "PE (delta=0.1) and PE (delta=0.05)"))
    assert page.count(f"{own} stayed within F at every round of all 800 runs.") == 3
    assert page.count("LilUCB (delta=0.05)* (200 of 200 runs) have no F and went beyond") == 3
