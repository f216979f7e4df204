"""What is public stays: names, parameters, commands. Adding is allowed.

``python -m tests.support.public_api tests/public_api.json`` writes it down anew.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from tests.support.public_api import described

THEN = json.loads((Path(__file__).parent / "public_api.json").read_text())
# Changed on purpose since: what the changelog has under "Breaking".
CHANGED: tuple[str, ...] = ()


@pytest.fixture(scope="module")
def now():
    return described()


def broken(then, now, where=""):
    """Yield what is gone or changed."""
    if isinstance(then, dict):
        for name, about in then.items():
            if not isinstance(now, dict) or name not in now:
                yield f"{where}.{name} is gone"
            else:
                yield from broken(about, now[name], f"{where}.{name}")
    elif isinstance(then, list) and isinstance(now, list):
        yield from broken_call(then, now, where)
    elif then != now:
        yield f"{where} was {then!r}, is {now!r}"


def broken_call(then, now, where):
    """Yield what is gone or changed of parameters; new ones need a default and come last."""
    fixed = [p for p in then if not p.startswith(("keyword ", "*"))]
    if [p for p in now if not p.startswith(("keyword ", "*"))][: len(fixed)] != fixed:
        yield f"{where} was called with {then}, now with {now}"
    yield from (f"{where}: {p} is gone" for p in then if p not in now)
    new = (p for p in now if p not in then and not p.startswith("*"))
    yield from (f"{where}: {p} must be given" for p in new if "=" not in p)


@pytest.mark.parametrize("part", THEN)
def test_nothing_public_is_gone_or_changed(now, part):
    found = broken(THEN[part], now[part], part)
    assert [what for what in found if not what.startswith(CHANGED)] == []


def test_what_is_gone_or_changed_is_found():
    def changed(change):
        found = copy.deepcopy(THEN)
        change(found)
        return list(broken(THEN, found))

    spanner = ("uli_fast", "SpannerElimination")
    start = lambda api: api[spanner[0]][spanner[1]]["has"]["start"]  # noqa: E731
    made = lambda api: api[spanner[0]][spanner[1]]["made with"]  # noqa: E731
    assert changed(lambda api: None) == []
    assert changed(lambda api: made(api).append("more=1")) == []
    assert changed(lambda api: made(api).append("keyword more=1")) == []
    assert changed(lambda api: api["uli"]["uli run"].update(new={})) == []
    for change in (
        lambda api: api["uli_fast"].pop("race"),
        lambda api: api["errors"]["ArgumentError"].update({"is": ["Exception"]}),
        lambda api: api["uli"]["uli run"].pop("--shard"),
        lambda api: api["uli"]["uli run"]["--jobs"].update(default="2"),
        lambda api: api["uli_fast"]["Study"]["has"].pop("tell_missing"),
        lambda api: made(api).append("more"),
        lambda api: made(api).reverse(),
        lambda api: made(api).pop(),
        lambda api: start(api).insert(1, "more=1"),
        lambda api: made(api).__setitem__(0, "delta=0.1"),
    ):
        assert changed(change) != []
