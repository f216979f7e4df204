"""The notebook in examples/ runs, shows each figure once, and is stored as it ran."""

import warnings
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE

ROOT = Path(__file__).parent.parent
TOUR = ROOT / "examples" / "tour.ipynb"
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the tools that run notebooks, while they are imported
    import nbclient
    import nbformat

# Zero, one and two calls of pyplot before a figure is the last line of a cell.
FIGURES = """
import uli_fast as uli
found = uli.compare([uli.SuccessiveElimination(), uli.UCB()], uli.BernoulliBandit([0.7, 0.5]), 50)
----
found.plot()
----
import matplotlib.pyplot as plt
found[0].plot(what="regret")
----
figure, ax = plt.subplots()
found.plot(ax=ax)
----
%matplotlib inline
found.plot();
found.plot()
"""


def executed(book, monkeypatch):
    """Run a notebook in a kernel of its own and return its code cells."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("MPLBACKEND", raising=False)  # what a notebook chooses by itself
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nbclient.NotebookClient(book, timeout=PATIENCE, kernel_name="python3").execute()
    return [cell for cell in book.cells if cell.cell_type == "code"]


def images(cell):
    return sum("image/png" in output.get("data", {}) for output in cell.outputs)


def kinds(cell):
    """What a cell shows, leaving the text that stands for everything else."""
    return [sorted({*o.get("data", {})} - {"text/plain"}) for o in cell.outputs]


def test_a_figure_appears_once_whatever_was_imported_before(monkeypatch):
    sources = FIGURES.split("----\n")
    cells = [nbformat.v4.new_code_cell(source.strip()) for source in sources]
    done = executed(nbformat.v4.new_notebook(cells=cells), monkeypatch)
    assert [images(cell) for cell in done] == [0, 1, 1, 1, 1]


def test_the_tour_runs_and_shows_what_is_stored(monkeypatch):
    stored = nbformat.read(TOUR, as_version=4)
    nbformat.validate(stored)
    before = [cell for cell in stored.cells if cell.cell_type == "code"]
    assert before and all(cell.execution_count for cell in before)
    shown = [kinds(cell) for cell in before]
    now = executed(nbformat.read(TOUR, as_version=4), monkeypatch)
    assert [kinds(cell) for cell in now] == shown
    assert not [o for cell in (*before, *now) for o in cell.outputs if o.output_type == "error"]


@pytest.mark.parametrize("part", ["/tmp", "/home", "/work", "Traceback", "Warning", "<script"])
def test_the_tour_is_small_and_says_nothing_of_where_it_ran(part):
    text = TOUR.read_text(encoding="utf-8")
    assert len(text) < 300_000 and part not in text
