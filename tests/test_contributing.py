"""CONTRIBUTING.md describes the house as it stands."""

import inspect
import re
from pathlib import Path

import pytest

from tests.test_house import DOORS, LONGEST_FILE, ROOMS
from tests.test_registry import homes
from uli_fast import errors, guarantees
from uli_fast._registry import learners
from uli_fast.guarantees import Guarantee, bounds
from uli_fast.guarantees import phased_elimination as bound
from uli_fast.kernels import phased_elimination as kernel
from uli_fast.learners import phased_elimination as learner
from uli_fast.players import phased_elimination as player

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, flags=re.MULTILINE | re.DOTALL))
# Targets of links, and paths in code; "x" stands for the stem of a new algorithm.
LINKS = dict(re.findall(r"\[([^\]]+)\]\(([^)]+)\)", PAGE))
PATHS = re.findall(r"`((?:uli_fast|tests|bench)(?:/\w+)*(?:\.\w+)?)`", PAGE)


@pytest.mark.parametrize("name", sorted({*LINKS.values(), *PATHS}))
def test_what_it_names_exists(name):
    # PE has all the files that a learner can have.
    assert (ROOT / re.sub(r"\b(test_)?x\.py$", r"\1phased_elimination.py", name)).exists()


def test_links_say_where_they_lead():
    assert [text for text, target in LINKS.items() if not f"/{target}".endswith(text)] == []


def test_its_rooms_stand_in_their_order():
    rows = re.findall(r"^\| (`[^|]+`) \|", SECTIONS["The map of the house"], flags=re.MULTILINE)
    assert tuple(row.replace("`", "") for row in rows) == ROOMS


def test_its_other_facts_about_the_house():
    words = {1: "One door leads", 2: "Two doors lead"}[len(DOORS)]
    assert f"{words} back" in PAGE and f"no file above {LONGEST_FILE} lines" in PAGE


def test_the_new_files_of_a_learner_are_those_that_are_looked_for():
    new, edited = (
        re.findall(r"^\d\. (?:`|\[)([^`\]]+)", part, flags=re.MULTILINE)
        for part in SECTIONS["How to add a learner"].split("\nEdited:\n")
    )
    row = learners()["PhasedElimination"]
    assert set(new) == {path.replace(row.stem, "x") for path in homes(row)} and len(new) == 7
    assert edited == ["uli_fast/_registry.py", "CHANGELOG.md"]
    assert "Seven new files and two edited ones" in PAGE


def test_what_it_names_of_learners_and_players_is_there():
    """Every attribute that a newcomer is told to think of."""
    told = set(re.findall(r"`(\w+)(?:\(\))?`", SECTIONS["How to add a learner"]))
    homes = (kernel, learner, player, bound, bounds, bounds.Bound, Guarantee, guarantees, errors)
    known = set().union(*map(dir, (*homes, learner.PhasedElimination, player.PhasedPlayer)))
    known |= {"arm_state", "advance", "examples", *inspect.signature(Guarantee).parameters}
    stems = {row.module.removeprefix("learners.") for row in learners().values()}
    assert told - known - stems == {"x", "name"}


def test_its_commands_name_what_is_there():
    commands = re.findall(r"^```sh\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    paths = re.findall(r"\b(?:tests|bench)/[\w/.]+", "".join(commands))
    assert len(paths) >= 6 and all((ROOT / path).exists() for path in paths)


def test_its_make_targets_are_there():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (targets,) = re.findall(r"^\.PHONY: (.+)$", makefile, flags=re.MULTILINE)
    named = set(re.findall(r"`make ([\w-]+)", PAGE))
    assert {"test", "demo", "lint"} <= named <= set(targets.split())
