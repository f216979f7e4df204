"""The arrows between the rooms, lazy imports, and what the repository says of itself."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import uli_fast as uli

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "uli_fast"


def imports(path):
    """Return the uli_fast modules that a file imports when it runs (not for typing)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
        for node in ast.walk(block)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("uli_fast"):
            names = [node.module] + [f"{node.module}.{alias.name}" for alias in node.names]
            found.update(names)
        if isinstance(node, ast.Import):
            found.update(a.name for a in node.names if a.name.startswith("uli_fast"))
    return found


def files(*folders):
    return [p for f in folders for p in sorted((PACKAGE / f).rglob("*.py"))]


@pytest.mark.parametrize("path", files("kernels"), ids=lambda p: p.stem)
def test_kernels_import_kernels_only(path):
    allowed = ("uli_fast.kernels", "uli_fast._typing", "uli_fast.errors")
    for name in imports(path) - {"uli_fast"}:
        assert name.startswith(allowed), name


@pytest.mark.parametrize("path", files("problems"), ids=lambda p: p.stem)
def test_problems_know_no_learner(path):
    for name in imports(path):
        assert not name.startswith(("uli_fast.learners", "uli_fast.simulate", "uli_fast.runs")), (
            name
        )


def test_only_runs_comparisons_plans_and_the_command_line_report():
    doors = ("runs.py", "compare.py", "characteristics.py", "replay.py")
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parent.name in ("report", "cli") or path.name in doors:
            continue
        if path == PACKAGE / "race/result.py":
            continue
        assert not any(name.startswith("uli_fast.report") for name in imports(path)), path


@pytest.mark.parametrize("path", files("learners"), ids=lambda p: p.stem)
def test_one_guess_finds_an_algorithm(path):
    stem = path.stem
    if stem.startswith("_"):
        return
    for folder in ("uli_fast/kernels", "tests/naive"):
        # The meta-algorithm has no hot loop of its own.
        if folder == "tests/naive" or stem != "meta_elimination":
            assert (ROOT / folder / f"{stem}.py").exists()
    assert (ROOT / "tests/learners" / f"test_{stem}.py").exists()


def test_importing_loads_nothing_heavy():
    heavy = ["numba", "cvxpy", "matplotlib", "pandas", "pyarrow", "jinja2", "scipy"]
    code = f"import sys, uli_fast; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_but_adapters_imports_adapters():
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parent.name != "compat":
            assert not any(name.startswith("uli_fast.compat") for name in imports(path)), path


def test_public_names_resolve():
    for name in uli.__all__:
        assert getattr(uli, name) is not None
    assert callable(uli.simulate)
    import uli_fast.compare
    import uli_fast.simulate  # noqa: F401

    assert callable(uli.simulate)
    assert callable(uli.compare)
    with pytest.raises(AttributeError, match="nothing"):
        _ = uli.nothing


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == uli.__version__
    assert f"## {uli.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_no_fastmath_no_pickle_no_global_random_state():
    banned = re.compile(
        r"fastmath\s*=\s*True|import pickle|allow_pickle=True|np\.random\.(seed|rand)\b"
    )
    for path in sorted(PACKAGE.rglob("*.py")):
        assert not banned.search(path.read_text(encoding="utf-8")), path


def test_datasets_have_sources():
    assert "isis2" in uli.datasets.names()
    for name in uli.datasets.names():
        facts, problem = uli.datasets.info(name), uli.datasets.load(name)
        assert facts["source"] and facts["licence"] and facts["certainty"]
        assert problem.n_arms == len(facts["events"]) == len(facts["patients"])
    best = uli.datasets.load("isis2")
    assert best.names[int(best.means.argmax())] == "both"
    assert best.gaps[0] == pytest.approx(568 / 4300 - 343 / 4292)


@pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/arm_sets.md",
        "docs/bases.md",
        "docs/coming_from_gymnasium.md",
        "docs/coming_from_mabwiser.md",
        "docs/coming_from_rlberry.md",
        "docs/coming_from_smpybandits.md",
        "docs/live.md",
        "docs/mdps.md",
        "docs/open_questions.md",
        "docs/planning.md",
        "docs/rivals.md",
        "docs/races.md",
        "docs/replay.md",
        "docs/studies.md",
    ],
)
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert blocks
    space = {}
    for block in blocks:
        exec(compile(block, page, "exec"), space)
