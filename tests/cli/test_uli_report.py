"""``uli report``: a page of results, whole or not."""

from click.testing import CliRunner

from tests.report.test_page import Page
from tests.report.test_what_was_tested import EXPERIMENT
from uli_fast import experiments
from uli_fast.cli import main


def test_an_incomplete_experiment_says_so(tmp_path):
    import shutil

    folder = tmp_path / "r"
    experiments.run(experiments.ExperimentFile.parse(EXPERIMENT), folder)
    whole = CliRunner().invoke(main, ["report", str(folder)])
    assert whole.exit_code == 0 and "Incomplete" not in whole.output
    assert "Incomplete" not in (folder / "report.html").read_text(encoding="utf-8")
    (cell,) = (folder / "cells").glob("two-SE-*")
    shutil.rmtree(cell / "part-0-1")
    (other,) = (folder / "cells").glob("two-UCB-*")
    for part in other.glob("part-*"):
        shutil.rmtree(part)
    done = CliRunner().invoke(main, ["report", str(folder)])
    assert done.exit_code == 0
    assert "Incomplete: 3 of 8 runs are in." in done.output
    assert "Without any run yet: UCB on two." in done.output
    shown = Page((folder / "report.html").read_text(encoding="utf-8"))
    assert shown.verdict == "verdict incomplete"  # the first box
    header = shown.text.partition("Provenance")[0]
    assert header.count("Incomplete: 3 of 8 runs are in.") == 2  # and in the verdict
    assert "every run so far." in header or "nothing was tested so far." in header
