"""What importing the package gives, and how much it loads."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import uli_fast as uli

ROOT = Path(__file__).parent.parent


def test_importing_loads_nothing_heavy():
    heavy = ["numba", "cvxpy", "matplotlib", "pandas", "pyarrow", "jinja2", "scipy"]
    code = f"import sys, uli_fast; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_resolve():
    for name in uli.__all__:
        assert getattr(uli, name) is not None
    for name in ("compare", "play", "race", "replay", "simulate", "turning_point"):
        assert callable(getattr(uli, name))
    with pytest.raises(AttributeError, match="nothing"):
        _ = uli.nothing


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == uli.__version__
    assert f"## {uli.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
