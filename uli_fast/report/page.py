"""One HTML page that holds everything there is to say of some Runs, and needs nothing else."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from uli_fast import _check
from uli_fast._support.files import write_text
from uli_fast.errors import MissingExtraError, ReportError
from uli_fast.report.canvas import Line, kind_of, lines_of, pens
from uli_fast.report.checks import Verdict, caveats, notes, verdict
from uli_fast.report.data import Data, tables_of
from uli_fast.report.incomplete import incomplete, with_missing
from uli_fast.report.overview import overall, overviews_of
from uli_fast.report.pictures import Picture, pictures_of
from uli_fast.report.summaries import SummaryTable, details_of, summary_of
from uli_fast.report.words import clean, label, number, squeezed, unbroken
from uli_fast.results.runs import Runs

if TYPE_CHECKING:
    from uli_fast.results.comparison import Comparison


def write_report(
    sections: Mapping[str, Comparison],
    path: str | os.PathLike[str],
    title: str,
    provenance: Mapping[str, Any],
    missing: Mapping[str, Mapping[str, int]] | None = None,
) -> Path:
    """Write one self-contained HTML page, whole or not at all; return where it is.

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
    missing
        How many runs are still to come, by problem and learner; the page says so.
    """
    _check.sections("sections", sections)
    _check.page("path", path)
    heading = _check.text("title", title)
    files, left, looks = _file_names(sections), missing or {}, _looks(sections)
    shown = [
        _section(i, name, section.runs, files[name], left.get(name, {}), looks)
        for i, (name, section) in enumerate(sections.items(), start=1)
    ]
    page = render(
        "page.html",
        title=label(heading),
        missing=incomplete({name: c.runs for name, c in sections.items()}, left),
        sections=shown,
        verdict=_verdict(shown),
        overviews=overviews_of([(s.name, s.lines, s.verdict) for s in shown]),
        provenance=provenance,
        caveats=caveats([r for section in sections.values() for r in section.runs.values()]),
    )
    return write_page(page, path)


def write_page(page: str, path: str | os.PathLike[str]) -> Path:
    """Write a page whole or not at all; return where it is."""
    try:
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_text(target, page)
    except OSError as problem:
        raise ReportError(f"{path} cannot be written: {problem.strerror or problem}") from problem
    except (ValueError, TypeError) as problem:
        raise ReportError(f"{path!r} cannot be written: {problem}") from problem
    return target


def render(template: str, **content: Any) -> str:
    """Fill a template; everything in it is escaped."""
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("report needs jinja2: pip install jinja2") from None
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("uli_fast.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "label": label, "squeezed": squeezed}
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
    summary: SummaryTable
    notes: list[str]
    pictures: list[Picture]
    tables: list[SummaryTable]
    downloads: list[Download]


def _verdict(sections: Sequence[Section]) -> Verdict:
    if len(sections) == 1:
        return sections[0].verdict
    return overall([s.verdict for s in sections], [s.lines for s in sections])


def _looks(sections: Mapping[str, Comparison]) -> dict[str, tuple[str, int]]:
    """Return the colour and pattern of every name, the same in all sections."""
    kinds = {
        name: kind_of(r.learner)
        for section in sections.values()
        for name, r in section.runs.items()
    }
    return dict(zip(kinds, pens(list(kinds.values())), strict=True))


def _section(
    i: int,
    name: str,
    runs: Mapping[str, Runs],
    file: str,
    missing: Mapping[str, int],
    looks: Mapping[str, tuple[str, int]],
) -> Section:
    names = [unbroken(key) for key in runs]
    lines = lines_of(list(runs.values()), names, [looks[key] for key in runs])
    return Section(
        number=i,
        name=label(name),
        problem=lines[0].runs.problem,
        size=_size(lines),
        lines=lines,
        verdict=with_missing(verdict(lines), runs, missing),
        summary=summary_of(lines),
        notes=notes(lines),
        pictures=pictures_of(lines, f"{i}"),
        tables=details_of(lines),
        downloads=[download_of(file, data) for data in tables_of(runs)],
    )


def _size(lines: Sequence[Line]) -> str:
    """Say how long and how often the learners played."""
    rounds, runs = (
        " to ".join(number(x) for x in sorted({min(values), max(values)}))
        for values in zip(*((x.runs.horizon, x.runs.replications) for x in lines), strict=True)
    )
    many = "run" if runs == "1" else "runs"
    return f"{rounds} {lines[0].runs.unit}s, {runs} {many} of each learner"


def _file_names(names: Iterable[str]) -> dict[str, str]:
    """Return the beginning of the names of each problem's files: its own, as far as is safe."""
    found: dict[str, str] = {}
    for i, name in enumerate(names, start=1):
        words = re.sub(r"[^A-Za-z0-9_.=]+", "-", name).strip("-.")[:60] or f"problem-{i}"
        taken = words.lower() in {x.lower() for x in found.values()}
        found[name] = f"{words}-{i}" if taken else words
    return found


def download_of(file: str, data: Data) -> Download:
    """Return a CSV file as a link that holds it."""
    text = base64.b64encode(clean(data.text).encode()).decode()
    return Download(f"{file}-{data.name}.csv", data, f"data:text/csv;base64,{text}")
