"""How far one call of ``simulate`` walks through the house: calls, files, borders, depth.

``python -m bench.tools.walk`` counts, ``python -m bench.tools.walk tree`` prints the way. Python
calls of the package are counted, on the second run, when kernels are compiled and modules loaded.
A border is a call from one room into another: a folder of the package, or a module at its root.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import uli_fast as uli

ROOT = Path(uli.__file__).parent


class Step(NamedTuple):
    """A call of one of the package's functions."""

    depth: int  # how many such calls it is inside of, itself included
    file: str
    name: str
    caller: str  # the file of the nearest of these calls, empty for the first one


def everyday() -> Any:
    """Play what most people play."""
    problem = uli.BernoulliBandit([0.3, 0.4, 0.5])
    return uli.simulate(uli.BettingElimination(0.05), problem, 10**9, replications=20, seed=1)


def walk() -> list[Step]:
    """Return the steps of a second run."""
    everyday()
    steps, open_now = list[Step](), list[str]()  # an empty name for what is not the package's

    def note(frame: FrameType, event: str, arg: Any) -> None:
        if event == "call":
            path, code = Path(frame.f_code.co_filename), frame.f_code
            file = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
            inside = [name for name in open_now if name]
            open_now.append(file)
            if file:
                caller = inside[-1] if inside else ""
                steps.append(Step(len(inside) + 1, file, code.co_qualname, caller))
        elif event == "return" and open_now:
            open_now.pop()

    sys.setprofile(note)
    everyday()
    sys.setprofile(None)
    return steps


def room_of(file: str) -> str:
    """Return the folder of the package, or the module at its root."""
    return file.split("/")[0]


def main() -> None:
    """Print what was asked for."""
    steps = walk()
    if sys.argv[1:] == ["tree"]:
        for step in steps:
            print("  " * step.depth + step.file, step.name)
    borders = sum(bool(x.caller) and room_of(x.caller) != room_of(x.file) for x in steps)
    files, depth = len({x.file for x in steps}), max(x.depth for x in steps)
    print(f"{len(steps)} calls, {files} files, {borders} borders, depth {depth}")


if __name__ == "__main__":
    main()
