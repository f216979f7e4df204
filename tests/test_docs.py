"""Every example of README and docs runs as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"\*\*(\w+)\*\*: .*?\n\n```python\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
@pytest.mark.parametrize(
    "page",
    [
        "docs/adversarial.md",
        "docs/arm_sets.md",
        "docs/bases.md",
        "docs/coming_from_gymnasium.md",
        "docs/coming_from_mabwiser.md",
        "docs/coming_from_rlberry.md",
        "docs/coming_from_smpybandits.md",
        "docs/elimination_rules.md",
        "docs/get_started.md",
        "docs/learners.md",
        "docs/linear.md",
        "docs/live.md",
        "docs/many_workers.md",
        "docs/mdps.md",
        "docs/open_questions.md",
        "docs/planning.md",
        "docs/players.md",
        "docs/rivals.md",
        "docs/races.md",
        "docs/replay.md",
        "docs/experiments.md",
        "docs/your_own_learner.md",
        "docs/watch.md",
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


def run_alone(block, folder):
    """Run a block as a program of its own in an empty folder; return what it prints."""
    known = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    done = subprocess.run(
        [sys.executable, "-c", block], cwd=folder, env=known, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_readme_has_four_blocks():
    assert [name for name, _ in BLOCKS] == ["Simulate", "Plan", "Race", "Live"]
    assert README.count("```python") == 4


@pytest.mark.parametrize(("name", "block"), BLOCKS, ids=[name for name, _ in BLOCKS])
def test_a_block_of_readme_runs_by_itself(name, block, tmp_path):
    printed = run_alone(block, tmp_path)
    if name == "Simulate":
        assert "BettingElimination" in printed and "failures=0, runs=20" in printed
    if name == "Plan":  # what the comments say
        assert printed.startswith("12705\n0.013") and "# 12705:" in block and "# 0.013:" in block
    if name == "Race":
        found = re.search(r"long prompt is the best on this list, with .* (262.*)\)", printed)
        assert found[1] in block
    if name == "Live":
        bounds = [float(line.split()[-1]) for line in printed.splitlines()]
        assert len(bounds) == 4 and 1.0 > bounds[0] > bounds[1] > bounds[2] > bounds[3] == 0.0
        assert printed.splitlines()[-1].startswith("('drug',)")


def test_readme_is_short_and_its_links_lead_somewhere():
    assert len(README.splitlines()) <= 150
    links = re.findall(r"\]\((?!#)(.*?)\)", README)
    assert len(links) > 20 and [x for x in links if not (ROOT / x.partition("#")[0]).exists()] == []


def test_readme_says_which_commands_do_everything_and_how_to_cite():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test"):
        assert f"\nmake {target} " in README and re.search(rf"^{target}:", makefile, re.MULTILINE)
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    for word in re.findall(r"(?:family-names|title): \"?([^\"\n]*)", citation)[1:]:
        assert word in README


def price():
    import runpy

    return runpy.run_path(str(ROOT / "examples" / "price.py"))


def test_the_price_is_measured_and_drawn_by_a_program(tmp_path):
    made = price()
    found = made["simulate"](20_000, 3)
    rows = made["table"](found)
    assert len(rows) == 6 and all(row.count("|") == 7 for row in rows)
    assert rows[0].startswith("| `BettingElimination` | only the best arm from round 265,721 on |")
    assert rows[3].startswith("| `KLUCB` | nothing |") and rows[3].endswith("| never |")
    share = r"only the best arm is left within the trial in \d+% of 3 runs; "
    lost = "the best one was dropped in 0; arms at random cost 446"
    assert re.fullmatch(share + lost, made["bought"](found["BettingElimination"]))
    made["draw"](found, tmp_path / "price.svg")
    assert (tmp_path / "price.svg").stat().st_size > 10_000


@pytest.mark.slow
def test_readme_has_the_prices_that_are_measured():
    made = price()
    for row in made["table"](made["simulate"](10**9, 200)):
        name, promise, *numbers = (cell.strip() for cell in row.strip("|").split("|"))
        (line,) = (
            x for x in README.splitlines() if x.startswith("|") and f"{name}" in x.split("|")[1]
        )
        shown = [cell.strip(" *").removesuffix(" ends") for cell in line.strip("|").split("|")]
        assert shown[1:] == [promise, *numbers]
