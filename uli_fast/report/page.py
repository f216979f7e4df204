"""One HTML page that holds everything there is to say of some Runs, and needs nothing else."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from uli_fast import _check
from uli_fast.errors import MissingExtraError, ReportError
from uli_fast.report.canvas import Line, lines_of
from uli_fast.report.checks import Verdict, caveats, notes, verdict
from uli_fast.report.data import Data, tables_of
from uli_fast.report.pictures import Picture, pictures_of
from uli_fast.report.summaries import Table, details_of, summary_of
from uli_fast.report.words import clean, label, number
from uli_fast.runs import Runs, write_text

if TYPE_CHECKING:
    from uli_fast.compare import Comparison


def write_report(
    sections: Mapping[str, Comparison],
    path: str | os.PathLike[str],
    title: str,
    provenance: Mapping[str, Any],
) -> None:
    """Write one self-contained HTML page, whole or not at all.

    Parameters
    ----------
    sections
        The learners on each problem, under the problem's name.
    path
        The page; one that is there already is replaced once the new one is on the disk.
    title
        The page's heading.
    provenance
        Where the runs come from: names and plain values (text, numbers, lists or
        mappings of them), shown as they are.
    """
    _check.sections("sections", sections)
    page = render(
        "page.html",
        title=label(title),
        sections=[
            _section(i, name, section.runs)
            for i, (name, section) in enumerate(sections.items(), start=1)
        ],
        provenance=provenance,
        caveats=caveats([r for section in sections.values() for r in section.runs.values()]),
    )
    write_page(page, path)


def write_page(page: str, path: str | os.PathLike[str]) -> None:
    """Write a page whole or not at all."""
    try:
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_text(target, page)
    except (OSError, ValueError, TypeError) as problem:
        raise ReportError(f"{path!r} cannot be written: {problem}") from problem


def render(template: str, **content: Any) -> str:
    """Fill a template; everything in it is escaped."""
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("report needs jinja2: pip install 'uli-fast[report]'") from None
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("uli_fast.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "label": label}
    return clean(environment.get_template(template).render(content))


class Download(NamedTuple):
    """A CSV file inside the page."""

    file: str
    data: Data
    url: str


@dataclass(frozen=True)
class Section:
    """What the page shows of one problem."""

    number: int
    name: str
    problem: str
    size: str
    lines: list[Line]
    verdict: Verdict
    summary: Table
    notes: list[str]
    pictures: list[Picture]
    tables: list[Table]
    downloads: list[Download]


def _section(i: int, name: str, runs: Mapping[str, Runs]) -> Section:
    lines = lines_of(list(runs.values()), [label(key) for key in runs])
    return Section(
        number=i,
        name=label(name),
        problem=lines[0].runs.problem,
        size=_size(lines),
        lines=lines,
        verdict=verdict(lines),
        summary=summary_of(lines),
        notes=notes(lines),
        pictures=pictures_of(lines, f"{i}"),
        tables=details_of(lines),
        downloads=[_download(i, data) for data in tables_of(runs)],
    )


def _size(lines: Sequence[Line]) -> str:
    """Say how long and how often the learners played."""
    unit = "rounds" if lines[0].runs.visits is None else "episodes"
    rounds, runs = (
        " to ".join(number(x) for x in sorted({min(values), max(values)}))
        for values in zip(*((x.runs.horizon, x.runs.replications) for x in lines), strict=True)
    )
    return f"{rounds} {unit}, {runs} {'run' if runs == '1' else 'runs'} of each learner"


def _download(i: int, data: Data) -> Download:
    text = base64.b64encode(clean(data.text).encode()).decode()
    return Download(f"problem-{i}-{data.name}.csv", data, f"data:text/csv;base64,{text}")
