"""What hosts and packagers read of the project says the same as the project."""

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOW = (ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8")


def minor(version):
    return tuple(map(int, version.split(".")))


def test_hosted_tests_run_on_the_versions_that_the_classifiers_name():
    words = "Programming Language :: Python :: "
    named = [x.removeprefix(words) for x in PROJECT["project"]["classifiers"] if words in x]
    versions = [x for x in named if "." in x]
    (listed,) = re.findall(r"python-version: \[(.*)\]", WORKFLOW)
    assert re.findall(r'"([\d.]+)"', listed) == versions == sorted(versions, key=minor)
    assert PROJECT["project"]["requires-python"] == f">={versions[0]}"
    # The weekly benchmarks run on one of them.
    (single,) = re.findall(r'python-version: "([\d.]+)"', WORKFLOW)
    assert single in versions


def test_hosted_jobs_call_targets_of_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    called = re.findall(r"run: make ([\w-]+)", WORKFLOW)
    assert called == ["test", "bench-check"]
    for target in called:
        assert re.search(rf"^{target}[ :]|^[\w -]+ {target}[ :]", makefile, flags=re.MULTILINE)
    assert re.search(r"^  schedule:\n    - cron: ", WORKFLOW, flags=re.MULTILINE)
    assert "\t" not in WORKFLOW


def test_a_demo_installs_what_it_shows_and_tests_add_the_rest():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.findall(r"^demo: (.+)$", makefile, flags=re.MULTILINE) == ["$(SHOWS)"]
    rules = dict(re.findall(r"^\$\((SHOWS|READY)\): (.*\n(?:\t.*\n)+)", makefile, re.MULTILINE))
    assert rules["SHOWS"].startswith("pyproject.toml\n") and rules["READY"].startswith("$(SHOWS)\n")
    for rule, extra in (("SHOWS", "report"), ("READY", "dev")):
        assert re.findall(r"-e '\.\[(\w+)\]'", rules[rule]) == [extra]
        assert re.search(r'@echo "Installing .+ \.\.\."', rules[rule])  # pip is silent for long


def test_hooks_run_the_tools_of_make_lint_and_fetch_nothing():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert re.findall(r"repo: (\S+)", hooks) == ["local"]
    assert set(re.findall(r"language: (\S+)", hooks)) == {"system"}
    assert re.findall(r"entry: \.venv/bin/(\w+(?: \w+)?)", hooks) == [
        "ruff check",
        "ruff format",
        "mypy",
    ]


def test_the_citation_is_of_this_version_and_of_the_paper():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {PROJECT['project']['version']}\n" in citation
    assert f"\nlicense: {PROJECT['project']['license']}\n" in citation
    assert "Uniform Last-Iterate Guarantee for Bandits and Reinforcement Learning" in citation
    assert re.findall(r"family-names: (\w+)", citation) == ["Liu", "Li", "Wang", "Yang"]


def test_what_a_source_archive_holds_exists():
    include = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert [name for name in include if not (ROOT / name).exists()] == []
    ours = {"CITATION.cff", "CONTRIBUTING.md", "SECURITY.md", ".github", ".pre-commit-config.yaml"}
    assert ours <= set(include)


# Not ours to install: adapters for those who have them.
OF_OTHERS = {"rlberry", "ray", "dask"}


def test_whatever_is_imported_is_declared():
    """Not only what happens to come with something else, and may stop to."""
    known = PROJECT["project"]["optional-dependencies"]
    declared = [*PROJECT["project"]["dependencies"], *(x for more in known.values() for x in more)]
    names = {re.match(r"[\w-]+", one)[0] for one in declared}
    imported = set()
    for path in (ROOT / "uli_fast").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {name.name.split(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module.split(".")[0])
    assert imported - sys.stdlib_module_names - {"uli_fast"} - OF_OTHERS <= names
    for name in ("h11", "jinja2", "markupsafe", "uvicorn"):  # what a service imports
        assert any(one.startswith(name) for one in known["serve"])
