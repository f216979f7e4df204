"""Pages of the API reference: one for every public name, in groups, written before each build.

Names come from the package itself: learners, problems and arm sets from its registry, the rest
from ``__all__``. A new one is on a page without being listed here: under "Also", on the page of the
room that it comes from. tests/test_reference.py compares, and asks every name for its docstring and
its example.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from sphinx.errors import ExtensionError

import uli_fast as uli
from uli_fast import _registry

FOLDER = "api"
# What users call of a learner; the rest is between it and the runner.
OF_A_LEARNER = ("guarantee", "start", "planned", "g", "start_phase")
# The same of everything else: public within the package, and nothing to call from outside.
INSIDE = frozenset(
    """absorb adopt also_started_with arms_info certified check_horizon check_state check_supply
    content count counted decision decisions drawn_again eliminates eliminates_arms follow
    forget has_all_gaps has_block_law has_gaps has_regret iid informed joined known_gaps largest
    law learners_in_order load_part looks made makes_looks noise_subgaussian of oracle_work own
    parts plays_by_arm policy_phases proves recount refuse_contradiction row_names runs_out
    save_part slope_norm spanners started_with unit unit_means unit_noise unit_optimal widens
    worse_gaps Player.load""".split()
)
# Classes that users are given rather than make: how they are made is no concern of theirs.
GIVEN = {
    "Certificate": "players._certificate",
    "Decision": "players._arms",
    "Player": "players._arms",
}


class Section(NamedTuple):
    """Names under a heading; each is written as users write it, after ``uli.``."""

    title: str
    about: str
    names: tuple[str, ...]


class Page(NamedTuple):
    """A page of tables."""

    stem: str
    title: str
    about: str
    sections: tuple[Section, ...]


def public_names() -> tuple[str, ...]:
    """Return every public name: those of ``uli`` and of its public modules."""
    found = []
    for name in uli.__all__:
        value = getattr(uli, name)
        if isinstance(value, ModuleType):
            found += [f"{name}.{x}" for x in names_of(value)]
        elif name != "__version__":
            found.append(name)
    return tuple(found)


def names_of(module: ModuleType) -> tuple[str, ...]:
    """Return what a module offers: its ``__all__``, or what it defines."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return tuple(listed)
    here = ((name, value) for name, value in vars(module).items() if not name.startswith("_"))
    return tuple(name for name, value in here if _home(value) == module.__name__)


def _home(value: Any) -> Any:
    return getattr(value, "__module__", None)


def resolved(name: str) -> Any:
    """Return what a name of a page stands for."""
    if name in GIVEN and not hasattr(uli, name):
        return getattr(importlib.import_module(f"uli_fast.{GIVEN[name]}"), name)
    value: Any = uli
    for part in name.split("."):
        value = getattr(value, part)
    return value


def pages() -> tuple[Page, ...]:
    """Return all pages; every public name is on one of them."""
    found = [
        Page(
            "learners",
            "Learners",
            "They play. Each is a small frozen object with its parameters, ``guarantee(about)`` "
            "and ``start(arms)``.",
            tuple(_learners()),
        ),
        Page(
            "problems",
            "Problems",
            "The truth for simulations: means, vectors, transitions, and the gaps that follow.",
            tuple(_problems()),
        ),
        Page(
            "simulating",
            "Simulate and compare",
            "Learners on problems, and the ``Runs`` that come of it.",
            tuple(_simulating()),
        ),
        Page(
            "planning",
            "Plan",
            "What is promised beforehand, what to expect of a trial, what no learner can do.",
            tuple(_planning()),
        ),
        Page(
            "live",
            "Decide live",
            "One decision at a time: in memory, in a file or in a database.",
            tuple(_live()),
        ),
        Page(
            "races",
            "Races and logs",
            "Candidates on common instances, and past outcomes.",
            tuple(_races()),
        ),
        Page(
            "geometry",
            "Arm sets, designs, spanners",
            "The geometry of linear bandits, useful on its own.",
            tuple(_geometry()),
        ),
        Page(
            "errors",
            "Errors and warnings",
            "What is raised when something is wrong.",
            (_module("errors", "Errors", ""),),
        ),
    ]
    listed = {name for page in found for section in page.sections for name in section.names}
    others = tuple(name for name in public_names() if name not in listed)
    for at, page in enumerate(found):
        here = tuple(name for name in others if _page_of(name) == page.stem)
        if here:
            also = Section("Also", "", here)
            found[at] = page._replace(sections=(*page.sections, also))
    return tuple(found)


def _page_of(name: str) -> str:
    """Return the page for a name that none lists, by the room it comes from."""
    room = getattr(resolved(name), "__module__", "").split(".")[1:2]
    rooms = {
        "live": ("players", "service", "study"),
        "planning": ("guarantees", "planning"),
        "races": ("logs", "races"),
        "problems": ("problems",),
    }
    return next((stem for stem, known in rooms.items() if room and room[0] in known), "simulating")


def _learners() -> Iterator[Section]:
    titles = {
        "arms": ("On K arms", "They drop arms, and promise something about every round."),
        "vectors": ("On vectors", "Rewards are linear in the arm."),
        "set": ("On sets of vectors", "Infinitely many arms, seen through an oracle."),
        "policies": ("On tabular MDPs", "A decision is a policy, a round an episode."),
    }
    rows = {row.name: row for row in _registry.LEARNERS}
    promising = [name for name, row in rows.items() if not row.load().baseline]
    for kind, (title, about) in titles.items():
        yield Section(title, about, tuple(n for n in promising if rows[n].kind == kind))
    own = ("OwnLearner",)
    yield Section("Your own", "No guarantee; checks your claim if you make one.", own)
    others = (name for name in rows if name not in (*promising, *own))
    rivals = [name for name in others if not rows[name].base]
    yield Section(
        "Rivals", "For comparison: none of them promises anything about a round.", tuple(rivals)
    )
    bases = tuple(name for name, row in rows.items() if row.base)
    yield Section("Bases of MetaElimination", "On their own: tuned to a horizon.", bases)


def _problems() -> Iterator[Section]:
    names = tuple(row.name for row in _registry.PROBLEMS)
    yield Section("Problems", "The truth that learners are tried on, with exact gaps.", names)
    yield _module("datasets", "Real trials", "Arm means of published trials.")
    yield _module("mdps", "MDPs by name", "Small tabular MDPs, and random ones.")


def _simulating() -> Iterator[Section]:
    calls = ("simulate", "compare", "play", "turning_point")
    yield Section("Functions", "", calls)
    yield Section("What they return", "", ("Runs", "Comparison", "TurningPoint"))


def _planning() -> Iterator[Section]:
    yield Section("What is promised", "What ``learner.guarantee(...)`` returns.", ("Guarantee",))
    names = ("operating_characteristics", "fixed_trial")
    yield Section("Before a trial", "", names)
    given = ("OperatingCharacteristics", "FixedTrial", "Planned")
    yield Section("What they return", "", given)
    yield _module("lower_bounds", "Lower bounds", "Two-armed instances, solved exactly.")


def _live() -> Iterator[Section]:
    yield Section("Studies", "Live decisions that survive a crash.", ("Study",))
    yield Section(
        "Players", "What ``learner.start(...)`` returns, and what it gives you.", tuple(_players())
    )


def _players() -> Iterator[str]:
    yield from ("Player", "Decision", "Certificate", "restore")


def _races() -> Iterator[Section]:
    yield Section("Races", "", ("race", "Race"))
    yield Section("Logs of past outcomes", "", ("replay", "Replay"))


def _geometry() -> Iterator[Section]:
    yield _module("arm_sets", "Arm sets", "Sets of arms and the oracle that maximises over them.")
    yield _module("designs", "Designs", "How to spread plays over arms.")
    yield Section("Spanners", "", ("barycentric_spanner", "verify_spanner"))


def _module(name: str, title: str, about: str) -> Section:
    return Section(title, about, tuple(f"{name}.{x}" for x in names_of(getattr(uli, name))))


def members(kind: type) -> dict[str, Any]:
    """Return what a page shows of a class, in the order in which it is written."""
    if issubclass(kind, BaseException):
        return {}
    bases = [base for base in kind.__mro__ if base.__module__.startswith("uli_fast")]
    found: dict[str, Any] = {}
    for base in bases:  # its own members first
        for name, value in vars(base).items():
            found.setdefault(name, value)
    kept = {name: value for name, value in found.items() if _shows(kind, name, value)}
    if _is_learner(kind):
        kept = {name: kept[name] for name in OF_A_LEARNER if name in kept}
    return kept


def _is_learner(kind: type) -> bool:
    return is_dataclass(kind) and hasattr(kind, "guarantee") and hasattr(kind, "engines")


def _shows(kind: type, name: str, value: Any) -> bool:
    if name.startswith("_") or {name, f"{kind.__name__}.{name}"} & INSIDE:
        return False
    told = inspect.getdoc(kind) or ""  # what its own docstring explains is not told twice
    if isinstance(value, property | cached_property):
        return f"\n{name}\n    " not in told
    return isinstance(value, classmethod | staticmethod) or inspect.isfunction(value)


def object_page(name: str) -> str:
    """Return the page of one name."""
    value = resolved(name)
    title = name.rsplit(".", 1)[-1]
    module = f"uli_fast.{name.rpartition('.')[0]}".rstrip(".")
    if name in GIVEN and not hasattr(uli, name):
        module = f"uli_fast.{GIVEN[name]}"
    lines = [title, "=" * len(title), "", f".. currentmodule:: {module}", ""]
    if not inspect.isclass(value):
        return "\n".join([*lines, f".. autofunction:: {title}", ""])
    kind = "exception" if issubclass(value, BaseException) else "class"
    lines += [f".. auto{kind}:: {title}", ""]
    for member, what in members(value).items():
        made = isinstance(what, property | cached_property)
        role = "autoattribute" if made else "automethod"
        lines += [f"   .. {role}:: {member}", ""]
    return "\n".join(lines)


def table_page(page: Page) -> str:
    """Return a page with a table of names for each section."""
    lines = [page.title, "=" * len(page.title), ""]
    entries = []
    for section in page.sections:
        if not section.names:
            continue
        if len(page.sections) > 1:
            lines += [section.title, "-" * len(section.title), ""]
        lines += [section.about, "", ".. autosummary::", "   :nosignatures:", ""]
        for name in section.names:
            lines.append(f"   ~{home(name)}")
        lines.append("")
        entries += [f"   {label(name)} <objects/{name}>" for name in section.names]
    return "\n".join([*lines, ".. toctree::", "   :hidden:", "   :maxdepth: 1", "", *entries, ""])


def overview() -> str:
    """Return what the first page of the reference takes in: every group, every name, with links."""
    lines = []
    for page in pages():
        lines += [
            f"## {page.title}",
            "",
            page.about,
            f"{{doc}}`A line on each </api/{page.stem}>`.",
        ]
        for section in page.sections:
            if not section.names:
                continue
            alone = len(page.sections) == 1
            links = ", ".join(f"{{py:obj}}`{label(x)} <{home(x)}>`" for x in section.names)
            lines += ["", links if alone else f"**{section.title}**: {links}"]
        lines.append("")
    return "\n".join(lines)


def home(name: str) -> str:
    """Return a name as Python imports it."""
    return f"uli_fast.{GIVEN[name]}.{name}" if name in GIVEN else f"uli_fast.{name}"


def label(name: str) -> str:
    """Return a name as the navigation shows it."""
    return name.removeprefix("errors.")


def write(docs: Path) -> None:
    """Write all pages; leave those alone that are as they should be, remove what is left over."""
    texts = {"overview.txt": overview()}
    for page in pages():
        texts[f"{page.stem}.rst"] = table_page(page)
        for section in page.sections:
            texts |= {f"objects/{name}.rst": object_page(name) for name in section.names}
    folder = docs / FOLDER
    (folder / "objects").mkdir(parents=True, exist_ok=True)
    for path in folder.rglob("*.rst"):
        if path.relative_to(folder).as_posix() not in texts:
            path.unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _hide_making(
    app: Any, what: str, name: str, value: Any, options: Any, signature: str | None, returned: Any
) -> tuple[str, str] | None:
    """Leave out how a class is made if its docstring does: users only ever receive it."""
    if value is uli.LinearBandit:  # its __new__ chooses between arms and a set
        return "(theta, arms=None, *, arm_set=None, sigma=1.0, noise='gaussian', names=None)", ""
    told = "\nParameters\n---" in (inspect.getdoc(value) or "")
    if signature and what in ("class", "exception") and not told:
        return "", ""
    if signature and "<factory>" in signature:
        return signature.replace("<factory>", f"{type(value().base).__name__}()"), ""
    return None


def _link_pages(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Turn the names of pages, as docstrings have them for the terminal, into links."""
    lines[:] = [re.sub(r"(?<![`\w/])docs/(\w+)\.md", r":doc:`/\1`", line) for line in lines]


def _compare(app: Any, env: Any) -> None:
    """Every public name has its entry in the index that the site is searched by."""
    found = env.get_domain("py").objects
    missing = [name for name in public_names() if f"uli_fast.{name}" not in found]
    if missing:
        raise ExtensionError(f"not in the reference: {', '.join(missing)}")


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    for name in uli.__all__:  # uli.designs lives elsewhere; autodoc imports what it documents
        if isinstance(getattr(uli, name), ModuleType):
            sys.modules.setdefault(f"uli_fast.{name}", getattr(uli, name))
    app.connect("config-inited", lambda app, config: write(Path(app.confdir)))
    app.connect("autodoc-process-signature", _hide_making)
    app.connect("autodoc-process-docstring", _link_pages)
    app.connect("env-check-consistency", _compare)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
