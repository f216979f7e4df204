"""What is written from the registry, so that nobody lists a learner twice.

``python -m tests.lists`` (``make lists``) writes it again: the stub that tells type checkers and
editors of every public name, and the table of learners in docs/learners.md. tests/test_registry.py
compares.
"""

import inspect
from pathlib import Path

import uli_fast as uli
from uli_fast import _registry
from uli_fast.guarantees import bounds

ROOT = Path(__file__).parent.parent
STUB = ROOT / "uli_fast" / "__init__.pyi"
PAGE = ROOT / "docs" / "learners.md"
BEGIN, END = "<!-- learners: written by make lists -->\n", "<!-- end of learners -->\n"


def stub():
    """Return the stub: the package looks names up, which type checkers cannot."""
    names = [(f"uli_fast.{home}", name) for name, home in uli._HOME.items()]
    homes = [f"uli_fast.{home}".rpartition(".") for home in uli._MODULES.values()]
    names += [(package, name) for package, _, name in homes]
    lines = ["# Written by `make lists` from uli_fast/__init__.py and the registry.", ""]
    for module, name in sorted(names, key=lambda x: (x[0], not x[1][0].isupper(), x[1])):
        line = f"from {module} import {name} as {name}"
        if len(line) > 100:
            line = f"from {module} import (\n    {name} as {name},\n)"
        lines.append(line)
    return "\n".join([*lines, "", "__all__: list[str]", "__version__: str", ""])


def entry(row):
    """Return a learner's line: its parameters, its docstring's first sentence, and its F."""
    learner = row.load()
    called = f"{row.name}({', '.join(inspect.signature(learner).parameters)})"
    about = inspect.cleandoc(learner.__doc__).split("\n\n")[0].replace("\n", " ")
    promised = "; ".join(filter(None, (bounds.find(name).formula for name in row.bounds[::-1])))
    cells = f"`{called}`", row.what.replace("``", "`"), about.replace("``", "`")
    return " | ".join(["", *(x.replace("|", "\\|") for x in cells), promised or row.instead, ""])


def page():
    """Return the page of learners, its table written anew."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    lines = ["| learner | what | how it plays | guarantee |", "|---|---|---|---|"]
    lines += [entry(row).strip() for row in _registry.LEARNERS]
    return before + BEGIN + "\n".join(lines) + "\n" + END + rest.split(END)[1]


WRITTEN = {STUB: stub, PAGE: page}


def main():
    """Write all that differs."""
    for path, text in WRITTEN.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text():
            path.write_text(text(), encoding="utf-8")
            print(f"{path.relative_to(ROOT)} is written")


if __name__ == "__main__":
    main()
