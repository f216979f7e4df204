"""Links whose text is the name of a file, ``live.md``, show the title of the page on the site."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes

FILE = re.compile(r"(?:\.\./|docs/)*([\w/]+)\.md")


def _retitle(app: Any, doctree: nodes.document, docname: str) -> None:
    for link in doctree.findall(nodes.reference):
        found = FILE.fullmatch(link.astext())
        title = app.env.titles.get(found[1]) if found and "refuri" in link else None
        if title is not None:
            link.children = []
            link += nodes.inline("", title.astext(), classes=["doc"])


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("doctree-resolved", _retitle)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
