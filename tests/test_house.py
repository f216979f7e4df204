"""How the house is built: the order of its rooms, its doors, and one place for everything."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from uli_fast._registry import LEARNERS

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "uli_fast"

# A room imports from those before it, when a module is loaded and later. Rooms of one line do not
# know each other.
ROOMS = (
    "_registry _typing errors",
    "_support",
    "_check",
    "formulas",
    "kernels",
    "arm_sets",
    "geometry",
    "problems",
    "guarantees lower_bounds",
    "learners",
    "players",
    "results",
    "simulation",
    "study",
    "experiments logs planning races",
    "report",
    "compat service verify",
    "cli",
)
# These know even less.
KNOWN = {
    "kernels": {"errors", "_typing", "formulas"},
    "formulas": {"errors", "_typing"},
    "_check": {"errors", "_typing"},
    "_support": {"errors", "_typing"},
}
RANK = {room: rank for rank, line in enumerate(ROOMS) for room in line.split()}
# The two doors back: what happened shows itself, and a learner starts its player.
DOORS = {("results", "report"), ("learners", "players")}
# What may be asked of any NamedTuple, although it begins with an underscore.
TUPLE_METHODS = {"_replace", "_asdict", "_fields", "_make"}
LONGEST_FILE = 500


@cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def modules():
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path):
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return name.removesuffix(".__init__")


NAMES = {name_of(path) for path in modules()}


def room_of(name):
    return name.split(".")[1] if "." in name else ""


def typing_only(tree):
    """Return the nodes of blocks that only type checkers read."""
    return {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
        for node in ast.walk(block)
    }


def imports(path, eager=False):
    """Yield (module, name) for all that a file imports from the package when it runs.

    ``eager`` leaves out what it imports inside functions.
    """
    tree = tree_of(path)
    skipped = typing_only(tree)
    for node in tree.body if eager else ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "uli_fast":
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield (full, "") if full in NAMES else (node.module, alias.name)
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "uli_fast":
                    yield alias.name, ""


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_rooms_import_from_rooms_before_them(path):
    here = room_of(name_of(path))
    if not here:  # the front door
        return
    for module, name in imports(path):
        there = room_of(module)
        if not there:  # the package itself: below the command line, only to know its version
            assert name == "__version__" or RANK[here] >= RANK["compat"], (module, name)
        elif there != here and (here, there) not in DOORS:
            assert RANK[there] < RANK[here], f"{module} is not for {here}/"
            assert there in KNOWN.get(here, RANK), f"{module} is not for {here}/"


def test_doors_back_are_opened_only_when_they_are_needed():
    for path in modules():
        for module, _ in imports(path, eager=True):
            assert (room_of(name_of(path)), room_of(module)) not in DOORS, path


def test_every_room_has_its_place_in_the_order():
    rooms = {room_of(name) for name in NAMES} - {""}
    assert rooms == set(RANK)


def test_no_modules_import_each_other_when_loaded():
    eager = defaultdict(set)
    for path in modules():
        top = {id(node) for node in tree_of(path).body}
        for node in ast.walk(tree_of(path)):
            if id(node) in top and isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    eager[name_of(path)].add(full if full in NAMES else node.module)
    done, open_now = set(), []

    def visit(name):
        assert name not in open_now, " -> ".join([*open_now, name])
        if name in done:
            return
        open_now.append(name)
        for other in sorted(eager[name] & NAMES):
            visit(other)
        open_now.pop()
        done.add(name)

    for name in sorted(NAMES):
        visit(name)


@pytest.mark.parametrize("path", sorted((ROOT / "tests/naive").glob("*.py")), ids=lambda p: p.stem)
def test_naive_references_import_nothing_of_the_package(path):
    for node in ast.walk(tree_of(path)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not any(name.split(".")[0] == "uli_fast" for name in names)


def own_privates(tree):
    """Return the private names that a module gives: methods, and attributes that it sets."""
    found = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


def foreign_privates(path):
    """Yield what a module reads of others' private names; NamedTuple's methods are nobody's."""
    tree = tree_of(path)
    own = own_privates(tree) | TUPLE_METHODS
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "uli_fast":
            for alias in node.names:
                module = f"{node.module}.{alias.name}" in NAMES
                if re.match("_[a-zA-Z]", alias.name) and not module:
                    yield f"{node.module}: {alias.name}"
        if isinstance(node, ast.Attribute) and re.match("_[a-z]", node.attr):
            value = ast.unparse(node.value)
            if value not in ("self", "cls", "super()", "os") and node.attr not in own:
                yield f"{value}.{node.attr}"


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_no_module_reads_private_names_of_another(path):
    assert list(foreign_privates(path)) == []


# Where kinds are told apart: the runner, and the checks that refuse a wrong one.
RUNNER = {"uli_fast.simulation.simulate", "uli_fast.simulation.outcomes"}
CHECKS = {"uli_fast.learners._kinds", "uli_fast.problems.kinds"}


@cache
def kinds():
    """Return the names of all classes of learners, players and problems."""
    return {
        node.name
        for folder in ("learners", "players", "problems")
        for path in (PACKAGE / folder).rglob("*.py")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef)
        and node.name.endswith(("Learner", "Player", "Bandit", "MDP", "Elimination"))
    } | {row.name for row in LEARNERS}


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_nobody_asks_of_what_kind_something_is(path):
    if name_of(path) in RUNNER | CHECKS:
        return
    known = kinds()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            asked = {x.id for x in ast.walk(node.args[1]) if isinstance(x, ast.Name)}
            asked |= {x.attr for x in ast.walk(node.args[1]) if isinstance(x, ast.Attribute)}
            assert not asked & known, f"line {node.lineno}: {asked & known}"


def test_class_names_are_unique():
    homes = defaultdict(set)
    for path in modules():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                homes[node.name].add(name_of(path))
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def test_at_most_two_private_modules_stand_at_the_root():
    private = [p.stem for p in PACKAGE.glob("_*.py") if p.stem != "__init__"]
    assert len(private) <= 2, private


def test_no_module_at_the_root_has_the_name_of_a_public_function():
    import uli_fast as uli

    functions = {name for name in uli.__all__ if callable(getattr(uli, name))}
    assert not functions & {p.stem for p in PACKAGE.iterdir()}


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_files_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE


def test_no_fastmath_no_pickle_no_global_random_state():
    banned = re.compile(
        r"fastmath\s*=\s*True|import pickle|allow_pickle=True|np\.random\.(seed|rand)\b"
    )
    for path in modules():
        assert not banned.search(path.read_text(encoding="utf-8")), path


def test_nothing_is_imported_for_its_side_effects():
    for path in modules():
        assert "F401" not in path.read_text(encoding="utf-8"), path
