"""The API reference has every public name, each is explained, and its examples run."""

import doctest
import importlib.util
import inspect
import re
import types
from pathlib import Path

import pytest

import uli_fast as uli
from uli_fast._registry import ARM_SETS, LEARNERS, PROBLEMS

ROOT = Path(__file__).parent.parent


def extension(name):
    """Load one of the site's own extensions."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"docs/_ext/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reference = extension("reference")
NAMES = reference.public_names()
LISTED = [name for page in reference.pages() for part in page.sections for name in part.names]
# They are shown by the examples of what returns them; a client needs a service to talk to.
WITHOUT_EXAMPLES = {"Client", "Comparison", "Guarantee", "Race", "Runs"}
MADE = {row.name for row in (*LEARNERS, *PROBLEMS, *ARM_SETS)}


def own_doc(value):
    """Return the docstring of an object itself, not one that it inherits or is given."""
    text = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    made = f"{getattr(value, '__name__', '')}("  # what dataclass and NamedTuple write
    return "" if text is None or text.startswith(made) else inspect.cleandoc(text)


def missing_words(name, value):
    """Yield what an object and its members lack by way of explanation."""
    text = own_doc(value)
    if not re.match(r"[A-Z].*\S\.(\n|$)", text):
        yield f"{name} needs a docstring that begins with one sentence on one line"
    for member, what in reference.members(value).items() if inspect.isclass(value) else ():
        if not inspect.getdoc(getattr(what, "__func__", what)):
            yield f"{name}.{member} needs a docstring"
    if inspect.isfunction(value) or name.split(".")[-1] in MADE:
        described = re.search(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", text, re.M | re.S)
        told = re.findall(r"^(\w.*)$", described[1] if described else "", re.M)
        known = {x.strip() for line in told for x in line.split(":")[0].split(",")}
        for parameter in inspect.signature(value).parameters.values():
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                if parameter.name not in known:
                    yield f"{name}: its Parameters do not explain {parameter.name}"


def needs_example(name, value):
    return name not in WITHOUT_EXAMPLES and not name.startswith("errors.")


def test_every_public_name_is_on_a_page_and_on_one_only():
    assert set(NAMES) <= set(LISTED)
    assert set(LISTED) - set(NAMES) <= set(reference.GIVEN)
    assert len(LISTED) == len(set(LISTED))


def test_the_first_page_of_the_reference_leads_to_every_page_and_name():
    text = reference.overview()
    linked = re.findall(r"\{py:obj\}`[^`]* <([^`]*)>`", text)
    assert linked == [reference.home(name) for name in LISTED]
    stems = re.findall(r"\{doc\}`[^`]* </api/(\w+)>`", text)
    assert stems == [page.stem for page in reference.pages()]
    listed = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    assert re.findall(r"^api/(\w+)$", listed, re.M) == stems


@pytest.mark.parametrize("name", LISTED)
def test_every_name_is_explained(name):
    assert list(missing_words(name, reference.resolved(name))) == []


@pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
@pytest.mark.parametrize("name", NAMES)
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    value = reference.resolved(name)
    parser, globs = doctest.DocTestParser(), {}
    example = parser.get_doctest(own_doc(value), globs, name, None, 0)
    if needs_example(name, value):
        assert example.examples, f"{name} needs an example"
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    found = runner.run(example, out=said.append)
    assert found.failed == 0, "".join(said)


def test_what_is_not_explained_is_found():
    def bare(x):
        pass

    def half(x, y):
        """Do it.

        Parameters
        ----------
        x
            A number.
        """

    class Silent:
        """Say nothing."""

        def speak(self):
            pass

    Silent.__module__ = "uli_fast.silent"
    assert len(list(missing_words("bare", bare))) == 2
    assert list(missing_words("half", half)) == ["half: its Parameters do not explain y"]
    assert list(missing_words("Silent", Silent)) == ["Silent.speak needs a docstring"]


def test_what_pages_would_fetch_is_found(tmp_path):
    offline = extension("offline")
    good = '<a href="https://example.org">there</a> <img src="_images/here.svg">'
    (tmp_path / "good.html").write_text(good)
    assert offline.fetched(tmp_path) == []
    (tmp_path / "bad.html").write_text('<script async src="https://example.org/x.js"></script>')
    (tmp_path / "bad.css").write_text("@font-face { src: url(//example.org/f.woff2) }")
    assert len(offline.fetched(tmp_path)) == 2


def test_links_that_read_as_files_get_titles():
    nodes = pytest.importorskip("docutils.nodes")
    page = nodes.Element()
    for text in ("live.md", "here", "gone.md", "sets.md"):
        page += nodes.reference("", text, refuri="there.html")
    said = {"live": "Live studies: a guide", "sets": "Arm sets: proofs", "arm_sets": "Arm sets"}
    titles = {name: nodes.title("", title) for name, title in said.items()}
    env = types.SimpleNamespace(titles=titles)
    extension("titles").retitle(types.SimpleNamespace(env=env), page, "index")
    found = [link.astext() for link in page.children]
    assert found == ["Live studies", "here", "gone.md", "Arm sets: proofs"]


def test_a_new_name_is_picked_up(monkeypatch):
    monkeypatch.setattr(uli, "__all__", [*uli.__all__, "Newcomer"])
    known = {"__module__": "uli_fast.service.newcomer"}
    monkeypatch.setattr(uli, "Newcomer", type("Newcomer", (), known), raising=False)
    pages = {page.stem: page for page in reference.pages()}
    assert "Newcomer" in pages["live"].sections[-1].names
    assert "~uli_fast.Newcomer" in reference.table_page(pages["live"])
    assert ".. autoclass:: Newcomer" in reference.object_page("Newcomer")
