"""Every sabotage finds its place and its test; whether the test notices, `make sabotage` shows."""

import ast
import functools
import shutil
import subprocess
import sys

import pytest

from tests.sabotage.anchors import ROOT, Change, file_of, find
from tests.sabotage.lists import NAMED, SABOTAGES, TOPICS


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A copy of the package, to be mended after every change."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "uli_fast", folder / "uli_fast")
    return folder


@pytest.mark.parametrize("topic", TOPICS)
def test_every_change_is_made_where_it_says_and_leaves_python(topic, package):
    for sabotage in TOPICS[topic]:
        before = {}
        for change in sabotage.changes:
            path, _ = find(change.at, package)
            before.setdefault(path, path.read_text(encoding="utf-8"))
            change.apply(package)
        for path, text in before.items():
            after = path.read_text(encoding="utf-8")
            assert after != text, sabotage.what
            ast.parse(after)
            path.write_text(text, encoding="utf-8")


@functools.cache
def functions(file):
    """Return the names of the functions of a file of tests; of a class, Class::function."""
    body = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
    found = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    for kind in (node for node in body if isinstance(node, ast.ClassDef)):
        found |= {f"{kind.name}::{x.name}" for x in kind.body if isinstance(x, ast.FunctionDef)}
    return found


def test_every_test_named_is_there():
    for sabotage in SABOTAGES:
        file, _, name = sabotage.test.partition("::")
        assert not name or name.partition("[")[0] in functions(file), sabotage.what


def test_every_parameter_named_is_there(request):
    """Among what was collected beside this test, or else by collecting it."""
    known = {item.nodeid for item in request.session.items}
    tests = sorted({s.test for s in SABOTAGES if "[" in s.test} - known)
    if not tests:
        return
    command = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_names_are_their_own_and_25_of_them_are_for_the_campaign():
    names = [sabotage.what for sabotage in SABOTAGES]
    assert len(set(names)) == len(names)
    assert len(set(NAMED)) == 25
    assert set(NAMED) <= set(names)


SOURCE = '''"""A module."""

LIMIT = 3


class Box:
    size: int = 3

    @property
    def half(self):
        return self.size / 2

    def twice(self):
        return self.size * 2


@overload
def twice(x: int) -> int: ...
def twice(x):
    for y in ():
        LIMIT = y

    def step(x):
        return x + 3

    return step(x) * 2
'''


@pytest.fixture
def small(tmp_path):
    """A package with one module."""
    (tmp_path / "box").mkdir()
    (tmp_path / "box" / "__init__.py").write_text(SOURCE)
    return tmp_path


@pytest.mark.parametrize(
    ("at", "old", "new", "line"),
    [
        ("box:LIMIT", "3", "4", "LIMIT = 4"),
        ("box:Box.size", "3", "4", "    size: int = 4"),
        ("box:Box.half", "@property", "@cached_property", "    @cached_property"),
        ("box:Box.twice", "* 2", "* 4", "        return self.size * 4"),
        ("box:twice", "* 2", "* 4", "    return step(x) * 4"),
        ("box:twice.step", "3", "4", "        return x + 4"),
    ],
)
def test_a_change_stays_within_its_anchor(at, old, new, line, small):
    Change(at, old, new).apply(small)
    text = file_of("box", small).read_text()
    differing = [b for a, b in zip(SOURCE.split("\n"), text.split("\n"), strict=True) if a != b]
    assert differing == [line]


@pytest.mark.parametrize(
    ("at", "old", "said"),
    [
        ("box.lid:LIMIT", "3", "no module box.lid"),
        ("box:thrice", "3", "defined 0 times"),
        ("box:twice.LIMIT", "3", "defined 0 times"),
        ("box:Box", "self.size", "2 times"),
        ("box:LIMIT", "4", "0 times"),
    ],
)
def test_an_anchor_that_does_not_hold_is_refused(at, old, said, small):
    with pytest.raises(ValueError, match=said):
        Change(at, old, "5").apply(small)
    assert file_of("box", small).read_text() == SOURCE
