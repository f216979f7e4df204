"""Ctrl-C while Python objects are made of a kernel's tuple would end the process."""

import ast
import importlib
import inspect
from pathlib import Path

import uli_fast
from uli_fast.compat import _stepper

FOLDER = Path(uli_fast.__file__).parent / "players"


def imported():
    """Yield every function of the kernels that players and steppers call."""
    for file in (*FOLDER.glob("*.py"), Path(_stepper.__file__)):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "uli_fast.kernels."
            ):
                module = importlib.import_module(node.module)
                yield from ((module, getattr(module, alias.name)) for alias in node.names)


def test_players_call_no_kernel_that_returns_a_tuple():
    checked = 0
    for module, found in imported():
        function = getattr(found, "py_func", found)
        if not inspect.isfunction(function):
            continue  # a type
        result = function.__annotations__["return"]
        kind = getattr(module, result, None)
        assert not result.startswith("tuple") and not hasattr(kind, "_fields"), function
        checked += 1
    assert checked > 8
