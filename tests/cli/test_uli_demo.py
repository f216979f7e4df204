"""``uli demo``: what it says is computed, and is what its page says."""

import re

import pytest
from click.testing import CliRunner

import uli_fast as uli
from uli_fast.cli import main


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """What the demo says, and the folder that it writes."""
    folder = tmp_path_factory.mktemp("demo")
    words = [*"demo --horizon 100000000 --replications 3 --trials 20 --out".split(), str(folder)]
    return CliRunner(env={"COLUMNS": "200"}).invoke(main, words), folder


def test_demo(demo):
    done, folder = demo
    assert done.exit_code == 0, done.output
    assert done.output.index("BettingElimination") < done.output.index("SuccessiveElimination")
    assert "17,187 patients" in done.output
    assert "Deaths avoided: expected, against equal allocation" in done.output
    assert "loses the best one" in " ".join(done.output.split())
    assert (folder / "trial.html").stat().st_size > 10_000
    row = next(line for line in done.output.splitlines() if line.startswith("LilUCB "))
    assert "never drops" in row
    assert (folder / "gap.png").stat().st_size > 10_000


def test_the_demo_says_what_its_page_says(demo):
    """Of learners with F and without, and nothing that was not seen."""
    done, folder = demo
    said = " ".join(done.output.split())
    page = (folder / "report.html").read_text(encoding="utf-8")
    found = re.search(r'<p class="headline">(.*?)</p>\s*<p>(.*?)</p>', page, re.DOTALL)
    assert found is not None
    for sentence in (found[1], *found[2].split(". ")):
        assert " ".join(sentence.split()) in said
    assert "UCB* (3 of 3 runs)" in said
    assert "* no F of its own; held against that of BettingElimination, the tightest" in said
    assert "held at every round of every run of the learners that have one." in said
    assert re.search(r"LilUCB</span></th>.*?3\u00a0of\u00a03\*</data>", page, re.DOTALL)
    assert "The elimination learners" not in said


def test_the_closing_words_of_the_demo_are_computed():
    from tests.report.test_page import made
    from uli_fast.cli.demo import _closing
    from uli_fast.simulation.compare import Comparison

    kept, broke = made(0), made(3)
    said = " ".join(_closing(Comparison({"A": kept, "B": broke})))
    assert "A stayed within F at every round of all 20 runs." in said
    assert "B went beyond F in 3 of 20 runs" in said
    assert said.endswith(
        "In the last nine tenths of the rounds A played only the best arm. "
        "In the last nine tenths of the rounds B played worse arms too."
    )


def test_kernels_are_compiled_first_where_none_are_kept(tmp_path, monkeypatch, capsys):
    """By processes of their own; and it says how far that is."""
    from rich.console import Console

    from uli_fast.cli.demo import _compile
    from uli_fast.kernels import _jit

    learners = [uli.ThompsonSampling(), uli.UCB()]
    monkeypatch.setattr(_jit, "CACHE_FOLDER", tmp_path)
    _compile(Console(), learners)
    said = capsys.readouterr().out
    assert "Compiling kernels: 1 of 2 learners\nCompiling kernels: 2 of 2 learners" in said
    (tmp_path / "some.nbi").touch()
    _compile(Console(), learners)
    monkeypatch.setattr(_jit, "CACHE_FOLDER", None)  # nothing can be kept
    _compile(Console(), learners)
    assert capsys.readouterr().out == ""


def test_bad_options_are_messages():
    done = CliRunner().invoke(main, ["demo", "--delta", "2"])
    assert done.exit_code == 1
    assert "delta: must lie strictly between 0 and 1" in done.output
