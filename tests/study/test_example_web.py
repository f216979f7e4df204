"""The worked example of a web app, called as gunicorn calls it."""

import importlib
import io
import json
import sys
from urllib.parse import urlencode

import pytest

from tests.study.web import EXAMPLE, read_page
from uli_fast.errors import StudyUnavailableError


@pytest.fixture
def intake(path, monkeypatch):
    """The app of a worker of its own, whose study is in a file."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.setenv("TRIAL", str(path))
    yield importlib.import_module("intake")
    sys.modules.pop("intake").TRIAL.study().close()


def called(intake, method, target, body="", length=None):
    """Return the status, the headers and the body of an answer."""
    said, body = [], body.encode()
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": target,
        "CONTENT_LENGTH": str(len(body) if length is None else length),
        "wsgi.input": io.BytesIO(body),
    }
    content = b"".join(intake.app(environ, lambda *what: said.extend(what)))
    headers = dict(said[1])
    assert headers["Content-Length"] == str(len(content))
    return int(said[0].split()[0]), headers, content


def posted(intake, target, what):
    status, _, content = called(intake, "POST", target, json.dumps(what))
    return status, json.loads(content)


def entered(intake, patient):
    status, _, page = called(intake, "POST", "/intake", urlencode({"patient": patient}))
    assert status == 200
    return read_page(page)


def test_a_patient_has_one_treatment_whoever_asks(intake):
    assert b'<form method="post" action="/intake">' in called(intake, "GET", "/")[2]
    case, treatment = entered(intake, "ann")
    assert entered(intake, "ann") == (case, treatment)
    status, rows = posted(intake, "/intakes", ["bob", "ann", "cleo"])
    assert status == 200 and rows[1] == {"case": case, "treatment": treatment}
    assert posted(intake, "/outcomes", {"case": case, "recovered": True}) == (200, {"taken": 1})
    told = [{"case": rows[0]["case"], "recovered": False}, {"case": 3, "lost": "moved away"}]
    assert posted(intake, "/outcomes", told) == (200, {"taken": 2})
    assert posted(intake, "/outcomes", told) == (200, {"taken": 2})  # reported again
    assert posted(intake, "/outcomes", told[1]) == (200, {"taken": 1})
    history = intake.TRIAL.study().history()
    assert [(r.request_id, r.reward, r.reason) for r in history] == [
        ("ann", 1.0, None),
        ("bob", 0.0, None),
        ("cleo", None, "moved away"),
    ]
    assert [r.metadata["desk"] for r in history] == ["front", "list", "list"]


def test_names_are_escaped(intake):
    status, headers, page = called(
        intake, "POST", "/intake", urlencode({"patient": "<script>alert(1)</script>"})
    )
    assert status == 200 and b"<script" not in page and b"&lt;script&gt;" in page
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")


@pytest.mark.parametrize(
    ("target", "body", "status"),
    [
        ("/outcomes", '{"case": 99, "recovered": true}', 404),
        ("/outcomes", '{"case": 1, "recovered": false}', 409),
        ("/outcomes", '[{"case": 1, "recovered": true}, {"case": 1, "lost": "x"}]', 409),
        ("/outcomes", '{"case": 1, "recovered": 0.3}', 400),
        ("/outcomes", '{"case": "1; DROP TABLE", "recovered": true}', 404),
        ("/outcomes", "17", 400),
        ("/outcomes", "[" * 100_000, 400),
        ("/outcomes", "{", 400),
        ("/intake", "patient=", 400),
        ("/intake", "patient=a&patient=b", 400),
        ("/intake", "", 400),
        ("/intakes", '{"a": 1}', 400),
        ("/intakes", '["a", 7]', 400),
        ("/elsewhere", "", 404),
    ],
)
def test_what_is_wrong_is_refused_and_changes_nothing(intake, target, body, status):
    case, _ = entered(intake, "ann")
    assert posted(intake, "/outcomes", {"case": case, "recovered": True})[0] == 200
    before = list(intake.TRIAL.study().history())
    assert called(intake, "POST", target, body)[0] == status
    assert list(intake.TRIAL.study().history()) == before


def test_a_request_that_is_too_long_or_cut_off_is_not_read_on(intake):
    assert called(intake, "POST", "/intakes", "[]", length=10**7)[0] == 413
    assert called(intake, "POST", "/intakes", '["ann"', length=10)[0] == 400


def test_what_is_away_is_to_be_asked_again(intake, monkeypatch):
    def away():
        raise StudyUnavailableError("the database is away")

    with monkeypatch.context() as patch:
        patch.setattr(intake, "opened", away)
        status, headers, _ = called(intake, "POST", "/intake", "patient=ann")
        assert (status, headers["Retry-After"]) == (503, "1")
        assert called(intake, "GET", "/health")[0] == 200  # the worker itself is well
    assert entered(intake, "ann") == (1, "usual care")
