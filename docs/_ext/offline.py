"""Pages fetch nothing: a script, style, font, picture or frame from elsewhere fails the build."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError

TAGS = r"<(?:script|link|img|iframe|source|object|embed)\b[^>]*\b(?:src|href|data)=\"(?:https?:)?//"
STYLES = r"(?:@import|url\()\s*['\"]?(?:https?:)?//"


def fetched(folder: Path) -> list[str]:
    """Return what the pages and styles in a folder would fetch from elsewhere."""
    found = []
    for pattern, suffix in ((TAGS, "*.html"), (STYLES, "*.css")):
        for path in sorted(folder.rglob(suffix)):
            text = path.read_text(encoding="utf-8")
            found += [f"{path.relative_to(folder)}: {x}" for x in re.findall(pattern, text)]
    return found


def _check(app: Any, error: Exception | None) -> None:
    found = [] if error or app.builder.format != "html" else fetched(Path(app.outdir))
    if found:
        raise ExtensionError("these pages want something from elsewhere:\n" + "\n".join(found))


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("build-finished", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
