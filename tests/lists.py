"""What is written from the registry, so that nobody lists a learner twice.

``python -m tests.lists`` (``make lists``) writes it again: the stub that tells type checkers and
editors of every public name. tests/test_registry.py compares.
"""

from pathlib import Path

import uli_fast as uli

ROOT = Path(__file__).parent.parent
STUB = ROOT / "uli_fast" / "__init__.pyi"


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


WRITTEN = {STUB: stub}


def main():
    """Write all that differs."""
    for path, text in WRITTEN.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text():
            path.write_text(text(), encoding="utf-8")
            print(f"{path.relative_to(ROOT)} is written")


if __name__ == "__main__":
    main()
