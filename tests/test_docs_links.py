"""Links between pages lead somewhere, on the site and where the files are read as they are."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    p for p in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")) if "_build" not in p.parts
)
# Pages whose first words are made elsewhere, or that only take in another file.
TAKEN_IN = {"docs/changelog.md"}


def prose(path):
    """Return a page without its code."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"^(`{3,}|~{3,}).*?^\1\s*$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(path):
    """Return what a link to a place on this page may say: headings as hosts and MyST write them."""
    text = re.sub(r"^```.*?^```\s*$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    found = set()
    for heading in re.findall(r"^#{1,4} (.+)$", text, flags=re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        count = sum(bool(re.fullmatch(rf"{re.escape(slug)}(-\d+)?", x)) for x in found)
        found.add(f"{slug}-{count}" if count else slug)
    return found


def links(path):
    return re.findall(r"\]\(([^)\s]+)\)", prose(path))


def broken(path):
    """Yield the links of a page that lead nowhere."""
    for link in links(path):
        target, _, place = link.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        there = (path.parent / target).resolve() if target else path
        if not there.exists():
            yield link
        elif place and there.suffix == ".md" and place not in anchors(there):
            yield link


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(path):
    assert list(broken(path)) == []


def test_broken_links_are_found(tmp_path):
    (tmp_path / "there.md").write_text("# There\n\n## A place: here\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](there.md) [b](there.md#a-place-here) [c](https://example.org) [d](gone.md)\n"
        "[e](there.md#gone) [f](#gone)\n\n```\n[g](gone.md)\n```\n"
    )
    assert list(broken(page)) == ["gone.md", "there.md#gone", "#gone"]


def test_every_page_with_examples_is_run():
    tests = "".join(
        (ROOT / x).read_text() for x in ("tests/test_docs.py", "tests/report/test_page.py")
    )
    for path in ROOT.glob("docs/*.md"):
        if "```python\n" in path.read_text(encoding="utf-8"):
            assert f"docs/{path.name}" in tests, f"name docs/{path.name} in tests/test_docs.py"


def test_every_tutorial_is_run_and_listed():
    index = (ROOT / "docs/tutorials/index.md").read_text(encoding="utf-8")
    found = sorted(p for p in ROOT.glob("docs/tutorials/*.md") if p.stem != "index")
    assert len(found) >= 7
    for path in found:
        text = path.read_text(encoding="utf-8")
        assert text.startswith("---\nfile_format: mystnb\n"), path
        assert "```{code-cell}" in text and "```python" not in text, path
        assert "raises-exception" not in text and "skip-execution" not in text, path
        assert f"]({path.name})" in index and f"\n{path.stem}\n" in index, path
    configuration = (ROOT / "docs/conf.py").read_text(encoding="utf-8")
    assert 'nb_execution_mode = "force"' in configuration
    assert "nb_execution_raise_on_error = True" in configuration


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_pages_begin_with_what_they_are_for(path):
    text = re.sub(r"\A---\n.*?\n---\n", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert re.match(r"\s*# \S", text), "a page begins with its title"
    if path.relative_to(ROOT).as_posix() not in TAKEN_IN and path.parent != ROOT:
        after = re.split(r"\A\s*# .*\n", text)[1].lstrip("\n")
        assert re.match(r"[A-Z*\"`\[]", after), "and then says in words what it is for"
