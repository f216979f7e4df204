"""The one list of learners, problems and arm sets, and that it is the only one."""

import ast
import importlib
from pathlib import Path

import pytest

import uli_fast as uli
from tests.lists import STUB, WRITTEN
from uli_fast._registry import ARM_SETS, LEARNERS, MDPS, PROBLEMS

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "uli_fast"


def files(folder):
    return sorted((PACKAGE / folder).glob("*.py"))


REGISTERED = {row.name for row in (*LEARNERS, *PROBLEMS, *MDPS, *ARM_SETS)}


def test_everything_registered_is_where_its_row_says():
    for row in (*LEARNERS, *PROBLEMS):
        assert row.load() is getattr(uli, row.name) and row.name in uli.__all__
        assert row.load().__module__ == f"uli_fast.{row.module}"
    for row in MDPS:
        assert row.load() is getattr(uli.mdps, row.name)
    for row in ARM_SETS:
        assert row.load() is getattr(uli.arm_sets, row.name) and row.name in uli.arm_sets.__all__


def test_everything_public_is_registered():
    """What has no row is neither found nor tested."""
    rooms = ("uli_fast.learners.", "uli_fast.problems.")
    public = [getattr(uli, name) for name in uli.__all__]
    classes = {x.__name__ for x in public if isinstance(x, type) and x.__module__.startswith(rooms)}
    assert classes == {row.name for row in (*LEARNERS, *PROBLEMS)}
    stems = {path.stem for path in files("learners") if not path.stem.startswith("_")}
    assert {f"learners.{stem}" for stem in stems} == {row.module for row in LEARNERS}
    sets = {
        name for name in uli.arm_sets.__all__ if hasattr(getattr(uli.arm_sets, name), "maximize")
    }
    assert sets - {"ArmSet", "Restricted"} == {row.name for row in ARM_SETS}
    mdps = {
        n for n, x in vars(uli.mdps).items() if callable(x) and x.__module__ == uli.mdps.__name__
    }
    assert {name for name in mdps if not name.startswith("_")} == {row.name for row in MDPS}


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_what_is_written_from_the_registry_is_up_to_date(path):
    assert path.read_text(encoding="utf-8") == WRITTEN[path](), "write it again: make lists"


def test_type_checkers_are_told_of_all_public_names():
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    told = {a.asname: a.name for x in tree.body if isinstance(x, ast.ImportFrom) for a in x.names}
    assert sorted([*told, "__version__"]) == uli.__all__
    assert all(name == real for name, real in told.items())


def registered_in(literal):
    """Return what a tuple, list, set or dict names of the registry: strings and classes.

    A learner with parameters of its own, as in ``uli.UCB(0.1)``, is a case and not a name.
    """
    made = {id(x.func) for x in ast.walk(literal) if isinstance(x, ast.Call)}
    found = set()
    for x in ast.walk(literal):
        if isinstance(x, ast.Constant) and isinstance(x.value, str):
            found.add(x.value)
        elif isinstance(x, ast.Name | ast.Attribute) and id(x) not in made:
            found.add(x.id if isinstance(x, ast.Name) else x.attr)
    return found & REGISTERED


def test_no_list_of_learners_but_the_registry():
    """Three names together are a list that somebody would have to keep."""
    literals = ast.Tuple | ast.List | ast.Set | ast.Dict
    for path in sorted(PACKAGE.rglob("*.py")):
        if path != PACKAGE / "_registry.py":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, literals):
                    assert len(registered_in(node)) < 3, f"{path}:{node.lineno}"


@pytest.mark.parametrize(
    "text, count",
    [
        ('["UCB", "KLUCB", "Exp3P"]', 3),
        ('{"UCB": 1, "KLUCB": {"x": ("Exp3P",)}}', 3),
        ("(uli.UCB, KLUCB, learners.Exp3P)", 3),
        ("{uli.UCB(0.1), uli.KLUCB(delta=0.1), Exp3P()}", 0),
        ('("Ball", "Box", "BernoulliBandit")', 3),
    ],
)
def test_lists_are_found(text, count):
    assert len(registered_in(ast.parse(text, mode="eval").body)) == count


def homes(row):
    """Yield every file in which a learner's stem is looked for."""
    stem = row.stem
    yield f"uli_fast/learners/{stem}.py"
    if stem != "meta_elimination":  # its hot loops are its base's
        yield f"uli_fast/kernels/{stem}.py"
    if row.live:
        yield f"uli_fast/players/{stem}.py"
    if row.bounds:
        yield f"uli_fast/guarantees/{stem}.py"
    yield f"tests/naive/{stem}.py"
    yield f"tests/learners/test_{stem}.py"
    yield f"bench/test_{stem}.py"


@pytest.mark.parametrize("row", LEARNERS, ids=lambda row: row.name)
def test_a_learner_has_the_bounds_that_its_row_names(row):
    if row.bounds:
        home = importlib.import_module(f"uli_fast.guarantees.{row.stem}")
        assert tuple(home.BOUNDS) == row.bounds
        assert all(bound.sources for bound in home.BOUNDS.values())


@pytest.mark.parametrize("row", LEARNERS, ids=lambda row: row.name)
def test_one_guess_finds_an_algorithm(row):
    assert [path for path in homes(row) if not (ROOT / path).exists()] == []
