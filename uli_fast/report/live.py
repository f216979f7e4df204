"""The audit of a live study as one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from uli_fast import _check
from uli_fast.report.page import write_page
from uli_fast.report.watch.page import document, fragment

if TYPE_CHECKING:
    from uli_fast.study.audit import Audit


def write_audit(audit: Audit, path: str | Path, title: str | None = None) -> None:
    """Write an audit as a page that needs nothing else.

    Parameters
    ----------
    audit
        From ``Study.audit(path)``: a file that is damaged has none.
    path
        The page; one that is there already is replaced once the new one is on the disk.
    title
        The page's heading; the name of the file, or of the study in its database, by default.
    """
    target = _check.file("path", path)
    _check.not_the_study("path", target, audit.path)
    _check.page("path", target)
    heading = audit.overview.name if title is None else title
    write_page(document(heading, fragment(audit.overview, audited=True), live=False), target)
