"""What a sabotage is, and where in a package it strikes.

An anchor is ``module:name``: a function, a method or a constant by its dotted module and its
qualified name, as in ``uli_fast.players._arms:Player.intervals``. What is replaced must stand in
that definition exactly once, so that code elsewhere can move and change.
"""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent


class Change(NamedTuple):
    """A replacement in the source of what an anchor names."""

    at: str
    old: str
    new: str

    def apply(self, root: Path) -> None:
        """Make the change in the package below a folder, or say by a ValueError why not."""
        path, definition = find(self.at, root)
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        first, last = _lines(definition)
        source = "".join(lines[first - 1 : last])
        if (n := source.count(self.old)) != 1:
            raise ValueError(f"{self.old!r} is {n} times in {self.at}, not once")
        lines[first - 1 : last] = [source.replace(self.old, self.new)]
        path.write_text("".join(lines), encoding="utf-8")


class Sabotage(NamedTuple):
    """A way to break the package, and the test that must notice."""

    what: str
    at: str
    old: str
    new: str
    test: str
    also: tuple[Change, ...] = ()  # where one replacement is not enough

    @property
    def changes(self) -> tuple[Change, ...]:
        """All replacements, in the order they are made."""
        return (Change(self.at, self.old, self.new), *self.also)


def file_of(module: str, root: Path = ROOT) -> Path:
    """Return the file of a module below a folder."""
    path = root.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def find(at: str, root: Path = ROOT) -> tuple[Path, ast.stmt]:
    """Return the file and the only definition that an anchor names."""
    module, _, name = at.partition(":")
    path = file_of(module, root)
    if not path.is_file():
        raise ValueError(f"{at}: there is no module {module}")
    found = [node for known, node in _defined(path.read_text("utf-8")) if known == name]
    if len(found) != 1:
        raise ValueError(f"{at}: {name!r} is defined {len(found)} times in {module}, not once")
    return path, found[0]


@functools.lru_cache(maxsize=64)
def _defined(source: str) -> tuple[tuple[str, ast.stmt], ...]:
    """Return all that a module defines."""
    return tuple(_definitions(ast.parse(source)))


def _definitions(
    node: ast.AST, prefix: str = "", local: bool = False
) -> Iterator[tuple[str, ast.stmt]]:
    """Yield functions, classes and constants with their qualified names; no local variables."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if not any(ast.unparse(above) == "overload" for above in child.decorator_list):
                yield prefix + child.name, child
            inside = local or not isinstance(child, ast.ClassDef)
            yield from _definitions(child, f"{prefix}{child.name}.", inside)
        elif not isinstance(child, ast.Assign | ast.AnnAssign):
            yield from _definitions(child, prefix, local)
        elif not local:
            targets = child.targets if isinstance(child, ast.Assign) else [child.target]
            yield from ((prefix + t.id, child) for t in targets if isinstance(t, ast.Name))


def _lines(definition: ast.stmt) -> tuple[int, int]:
    """Return the first and the last line of a definition, decorators included."""
    above = getattr(definition, "decorator_list", [])
    assert definition.end_lineno is not None
    return min(node.lineno for node in (definition, *above)), definition.end_lineno
