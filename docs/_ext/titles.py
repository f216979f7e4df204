"""Links whose text is the name of a file, ``live.md``, show the title of the page on the site."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from docutils import nodes

FILE = re.compile(r"(?:\.\./|docs/)*([\w/]+)\.md")


def retitle(app: Any, doctree: nodes.Element, docname: str) -> None:
    """Show titles where links show the names of files: up to a colon if no other begins so."""
    whole = {name: title.astext() for name, title in app.env.titles.items()}
    begin = {name: title.partition(":")[0] for name, title in whole.items()}
    often = Counter(begin.values())
    for link in doctree.findall(nodes.reference):
        found = FILE.fullmatch(link.astext())
        if found and found[1] in whole and "refuri" in link:
            short = begin[found[1]]
            link.children = []
            link += nodes.inline("", short if often[short] == 1 else whole[found[1]])


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("doctree-resolved", retitle)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
