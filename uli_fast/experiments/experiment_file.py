"""Experiment files: which learners play which problems, for how long and how often.

title = "Two trials"
horizon = 1_000_000_000
replications = 200
seed = 1

[problems.isis2]
dataset = "isis2"

[problems.close]
type = "BernoulliBandit"
means = [0.5, 0.45]

[learners.SE]
type = "SuccessiveElimination"
sweep = { delta = [0.05, 0.01] }    # a learner for each value

[learners.UCB]
type = "UCB"
on = ["close"]                      # by default, all problems
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from uli_fast import _check
from uli_fast._support.files import read_regular
from uli_fast._support.streams import entropy_of
from uli_fast._support.text import label
from uli_fast.errors import ArgumentError, ConfigError, NoGuaranteeError
from uli_fast.experiments.build import MOST_CELLS, learner_of, problem_of, swept, unknown

LARGEST_FILE = 4 * 2**20  # bytes: TOML is read at about two megabytes a second
MOST_PARTS = 100  # of a dotted key
_WORD = r"""(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')"""
LONG_KEY = re.compile(rf"(?<![A-Za-z0-9_-]){_WORD}(?:[ \t]*+\.[ \t]*+{_WORD}){{{MOST_PARTS}}}")


class Tables(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What an experiment file may hold."""

    horizon: int | float
    problems: dict[str, dict[str, Any]]
    learners: dict[str, dict[str, Any]]
    title: str = ""
    replications: int = 1
    seed: int = 1
    engine: str = "auto"
    rounds: list[int] | None = None


@dataclass(frozen=True, eq=False)
class ExperimentCell:
    """A learner on a problem; everything that decides its runs but their number."""

    problem: str
    learner: str
    spec: Mapping[str, Any]  # plain: problem, learner, horizon, seed, engine, rounds
    baseline: bool = False  # a rival, without F by its nature
    no_guarantee: str | None = None  # why there is no F, where there might be

    @property
    def id(self) -> str:
        """A name for a folder: readable, and different if a name or anything in the spec is.

        The words alone are not: other letters and long names are lost on the way to them.
        """
        text = json.dumps([self.problem, self.learner, self.spec], sort_keys=True)
        words = re.sub(r"[^A-Za-z0-9.=]+", "-", f"{self.problem}--{self.learner}").strip("-.")
        return f"{words[:60] or 'cell'}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    @property
    def warning(self) -> str | None:
        """What to say about a cell without F where there might be one."""
        if self.no_guarantee is None:
            return None
        return f"{label(self.learner)} on {label(self.problem)}: no guarantee: {self.no_guarantee}"


@dataclass(frozen=True)
class ExperimentFile:
    """A checked experiment file."""

    text: str
    title: str
    replications: int
    cells: tuple[ExperimentCell, ...]
    unplayed: tuple[str, ...] = ()  # problems that no learner plays

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> ExperimentFile:
        """Read and check a file; a ConfigError names the key that is wrong."""
        source = Path(path)
        try:
            text = read_regular(source, LARGEST_FILE).decode("utf-8-sig")  # some begin with a mark
        except OSError as problem:
            said = problem.strerror or problem
            raise ConfigError("file", f"{source} cannot be read: {said}") from None
        except UnicodeDecodeError as problem:
            raise ConfigError("file", f"{source} cannot be read: {problem}") from None
        return cls.parse(text, source.stem)

    @classmethod
    def parse(cls, text: str, name: str = "experiment") -> ExperimentFile:
        """Check the text of an experiment file."""
        if LONG_KEY.search(text):  # each part of a key costs time for every part before it
            raise ConfigError("file", f"holds a dotted key of more than {MOST_PARTS} parts")
        try:
            tables = msgspec.convert(tomllib.loads(text.removeprefix("\ufeff")), Tables)
        except msgspec.ValidationError as problem:
            raise ConfigError(*_where(str(problem))) from None
        except ValueError as problem:  # or a number with thousands of digits
            raise ConfigError("file", f"is not TOML: {problem}") from None
        except RecursionError:
            raise ConfigError("file", "is nested too deeply") from None
        M: int = _named("replications", _check.replications, tables.replications)
        cells = _cells(tables)
        played = {cell.problem for cell in cells}
        unplayed = (x for x in _expanded("problems", tables.problems) if x not in played)
        return cls(text, tables.title or name, M, cells, tuple(unplayed))


def _where(message: str) -> tuple[str, str]:
    """Split what msgspec says into a key and the rest."""
    found = re.search(r"`\$\.([^`]*)`", message)
    if found:
        return found[1], message.split(" - at ")[0].lower()
    field = re.search(r"field `([^`]*)`", message)
    if field and "unknown" in message:
        hint = unknown(field[1], Tables.__struct_fields__)
        return field[1], f"is not a key of an experiment file; {hint}"
    return (field[1] if field else "file"), message.lower()


def _named(key: str, check: Any, value: Any, *more: Any) -> Any:
    try:
        return check(key, value, *more)
    except ArgumentError as refused:
        raise ConfigError(key, str(refused).removeprefix(f"{refused.argument}: ")) from None


def _cells(tables: Tables) -> tuple[ExperimentCell, ...]:
    horizon = _named("horizon", _check.horizon, tables.horizon)
    seed = entropy_of(_named("seed", _check.seed, tables.seed))
    if tables.rounds is not None:
        _named("rounds", _check.recorded_rounds, tables.rounds, horizon)
    if tables.engine not in ("auto", "skip", "rounds"):
        raise ConfigError("engine", f"must be auto, skip or rounds, got {tables.engine!r}")
    common = {"horizon": horizon, "seed": seed, "engine": tables.engine, "rounds": tables.rounds}
    problems = _expanded("problems", tables.problems)
    learners = _expanded("learners", tables.learners)
    played, n_cells = {}, 0
    for name, one in learners.items():
        played[name] = _on(one.key, one.table, problems)
        n_cells += len(played[name])
        if n_cells > MOST_CELLS:
            raise ConfigError("learners", f"make more than {MOST_CELLS:,} cells with the problems")
    made = {name: _made(problem_of, one) for name, one in problems.items()}
    cells = []
    for name, one in learners.items():
        where = played[name]
        spec = {k: v for k, v in one.table.items() if k != "on"}
        learner = _made(learner_of, one._replace(table=spec))
        for problem in where:
            _check_cell(one.key, learner, problem, made[problem], common)
            plain = {"problem": problems[problem].table, "learner": spec} | common
            facts = learner.baseline, _no_guarantee(learner, made[problem])
            cells.append(ExperimentCell(problem, name, plain, *facts))
    return tuple(cells)


class _Entry(NamedTuple):
    """A problem or a learner as it is written down."""

    key: str
    table: dict[str, Any]
    swept: tuple[str, ...] = ()  # the parameters that a sweep gave


def _expanded(key: str, tables: Mapping[str, Any]) -> dict[str, _Entry]:
    """Return each table under its name; sweeps make several of one."""
    if not tables:
        raise ConfigError(key, "must hold at least one table")
    found: dict[str, _Entry] = {}
    for name, one in tables.items():
        if not name.strip():
            raise ConfigError(f"{key}.{name!r}", "must have a name that is not blank")
        for suffix, table in swept(f"{key}.{name}", one):
            if f"{name}{suffix}" in found:
                raise ConfigError(f"{key}.{name}", f"{name}{suffix!r} appears twice")
            parameters = tuple(one.get("sweep", ()))
            found[f"{name}{suffix}"] = _Entry(f"{key}.{name}", table, parameters)
    return found


def _made(make: Callable[[str, Mapping[str, Any]], Any], one: _Entry) -> Any:
    """Make a problem or a learner; an error in a swept value names the sweep."""
    try:
        return make(one.key, one.table)
    except ConfigError as refused:
        for name in one.swept:
            at = f"{one.key}.{name}"
            if refused.argument == at or refused.argument.startswith(f"{at}."):
                key = refused.argument.replace(at, f"{one.key}.sweep.{name}", 1)
                said = str(refused).removeprefix(f"{refused.argument}: ")
                raise ConfigError(key, said) from None
        raise


def _no_guarantee(learner: Any, problem: Any) -> str | None:
    """Say why a learner that might have F has none on a problem."""
    if learner.baseline:
        return None
    try:
        learner.guarantee(problem)
    except NoGuaranteeError as reason:
        return str(reason)
    return None


def _on(key: str, table: Mapping[str, Any], problems: Mapping[str, _Entry]) -> list[str]:
    """Return the problems that a learner plays: all, or those whose names it lists."""
    names = table.get("on")
    if names is None:
        return list(problems)
    if not isinstance(names, list) or not names:
        raise ConfigError(f"{key}.on", "must be a list of names of problems")
    roots = {name: one.key.removeprefix("problems.") for name, one in problems.items()}
    known = dict.fromkeys(roots.values())
    for name in names:
        if not isinstance(name, str) or name not in known:
            there = ", ".join(known)
            raise ConfigError(f"{key}.on", f"there is no problem {name!r}; there are {there}")
    wanted = set(names)
    return [name for name in problems if roots[name] in wanted]


def _check_cell(key: str, learner: Any, name: str, problem: Any, common: Any) -> None:
    """Refuse a learner that cannot play a problem, before anything runs."""
    from uli_fast.simulation.simulate import paired

    try:
        paired(learner, problem, common["horizon"], common["engine"])
    except ArgumentError as refused:
        message = f"cannot play {name}: {refused}; name others in {key}.on"
        raise ConfigError(key, message) from None
