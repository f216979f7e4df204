"""The intake of a clinic as a web app: several workers, one trial.

Whoever comes in is entered on a form and assigned to a treatment. Their case number is what the
follow-up system sends outcomes with, weeks later, to a webhook. The app has no database of its own
and keeps nothing in memory: every worker asks the study with the patient's id, so that one who is
entered twice, at two desks, or again after a crash, has the treatment that was chosen first.

One setting, ``TRIAL``, says where the study is. In PostgreSQL, where every worker opens it:

    cd examples/web_trial
    TRIAL=postgresql://worker@db.example/lab gunicorn intake:app

Behind a service, which alone has it open, be it in a file or in a database:

    TRIAL=trial.db python intake.py                               # begins the study
    uli token intake --role drive --token-file tokens             # prints a token
    uli serve trial.db --token-file tokens
    TRIAL=http://127.0.0.1:8321 TRIAL_TOKEN=uli_... gunicorn intake:app

In a file, which is for one process; its threads share it:

    TRIAL=trial.db gunicorn --workers 1 --threads 16 intake:app

It is plain WSGI, to show that nothing else is needed: in Flask, Django or FastAPI the three
handlers look the same. Put it behind what authenticates your staff.
"""

from __future__ import annotations

import html
import json
import os
import threading
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

import uli_fast as uli
from uli_fast import errors

LEARNER = uli.BettingElimination(delta=0.05)
TREATMENTS = ["usual care", "old drug", "new drug"]
LONGEST = 1_000_000  # bytes of a request

FORM = """<form method="post" action="/intake">
<label>Patient <input name="patient" required maxlength="200"></label> <button>Assign</button>
</form>"""
ASSIGNED = """<p>Patient <b>{patient}</b>: <output name="treatment">{treatment}</output>,
case <output name="case">{case}</output></p>
<p><a href="/">Next patient</a></p>"""
PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Intake</title>
{content}
</html>
"""


class Trial:
    """The study as a worker has it, opened by the first request.

    Not when the module is loaded: that may be before the worker is forked off, and a worker that
    cannot start because the database is away would stop the whole server.
    """

    def __init__(self) -> None:
        self._lock, self._study = threading.Lock(), None

    def study(self) -> Any:
        """Return the study; threads share it."""
        with self._lock:
            if self._study is None:
                self._study = opened()
            return self._study


def opened() -> Any:
    """Open the study where ``TRIAL`` says; there it is begun, if it was not."""
    where = os.environ["TRIAL"]
    if served(where):
        return uli.Client(where, os.environ.get("TRIAL_TOKEN"))
    name = os.environ.get("TRIAL_NAME", "web trial") if "://" in where else None
    return uli.Study.open(where, LEARNER, TREATMENTS, name=name)


def served(where: str) -> bool:
    """Return whether a service has the study, and decides."""
    return where.startswith(("http://", "https://"))


def warm() -> None:
    """Load what decides, which takes a second, before workers are forked off."""
    if not served(os.environ["TRIAL"]):
        player = LEARNER.start(TREATMENTS)
        player.tell(player.ask().id, 1.0)


TRIAL = Trial()


# Reading what comes in; whatever these raise is the caller's mistake.


def patient_of(body: bytes) -> str:
    """Return whom the form names."""
    (patient,) = parse_qs(body.decode(), strict_parsing=True)["patient"]
    return patient


def settled(told: dict[str, Any]) -> tuple[Any, ...]:
    """Return an outcome as ``tell_many`` takes it."""
    if "lost" in told:
        return told["case"], None, told["lost"]
    return told["case"], {True: 1.0, False: 0.0}[told["recovered"]]


def outcomes_of(body: bytes) -> list[tuple[Any, ...]]:
    """Return what the follow-up system reports: one outcome, or a list of them.

    ``{"case": 17, "recovered": true}``, or ``{"case": 18, "lost": "moved away"}``.
    """
    told = json.loads(body)
    return [settled(one) for one in (told if isinstance(told, list) else [told])]


def nothing(body: bytes) -> None:
    """Read nothing."""


# Acting on it; what these return is a page, or JSON.


def show_form(_: None) -> str:
    """Show the form."""
    return PAGE.format(content=FORM)


def assign(patient: str) -> str:
    """Assign a patient, and show what to."""
    decision = TRIAL.study().ask(patient, desk="front")
    shown = {"patient": patient, "treatment": decision.arm, "case": decision.id}
    safe = {key: html.escape(str(value)) for key, value in shown.items()}
    return PAGE.format(content=ASSIGNED.format(**safe))


def assign_all(patients: Any) -> Any:
    """Assign many patients at once, from a list of their ids (a ward that is moved, say)."""
    decisions = TRIAL.study().ask_many(patients, desk="list")
    return [{"case": d.id, "treatment": d.arm} for d in decisions]


def take_in(outcomes: list[tuple[Any, ...]]) -> Any:
    """Tell the study; who reports does so until answered, and each outcome is taken in once."""
    study, first = TRIAL.study(), outcomes[0] if outcomes else ()
    if len(outcomes) != 1:
        study.tell_many(outcomes)
    elif len(first) == 3:
        study.tell_missing(first[0], first[2])
    else:
        study.tell(*first)
    return {"taken": len(outcomes)}


def alive(_: None) -> Any:
    """Say that this worker is there; it says nothing of the study."""
    return {"alive": True}


HANDLERS: dict[tuple[str, str], tuple[Callable[[bytes], Any], Callable[[Any], Any]]] = {
    ("GET", "/"): (nothing, show_form),
    ("POST", "/intake"): (patient_of, assign),
    ("POST", "/intakes"): (json.loads, assign_all),
    ("POST", "/outcomes"): (outcomes_of, take_in),
    ("GET", "/health"): (nothing, alive),
}
# What to answer where the study refuses. The first two are for the client to repeat: nothing was
# acknowledged, and the same request again comes out right whatever has become of this one.
ANSWERS = (
    (errors.StudyUnavailableError, HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.StudyWriteError, HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.UnknownDecisionError, HTTPStatus.NOT_FOUND),
    (errors.ConflictingRewardError, HTTPStatus.CONFLICT),
    (errors.ArgumentError, HTTPStatus.BAD_REQUEST),
)


def answer(environ: dict[str, Any]) -> tuple[HTTPStatus, Any]:
    """Return the status and what to say."""
    handler = HANDLERS.get((environ["REQUEST_METHOD"], environ["PATH_INFO"]))
    if handler is None:
        return HTTPStatus.NOT_FOUND, {"problem": "there is nothing here"}
    length = int(environ.get("CONTENT_LENGTH") or 0)
    if length > LONGEST:
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"problem": f"above {LONGEST} bytes"}
    body = environ["wsgi.input"].read(length)
    if len(body) < length:
        return HTTPStatus.BAD_REQUEST, {"problem": "the request was cut off"}
    read, act = handler
    try:
        what = read(body)
    except (KeyError, RecursionError, TypeError, ValueError):
        return HTTPStatus.BAD_REQUEST, {"problem": "this is not what belongs here"}
    try:
        return HTTPStatus.OK, act(what)
    except errors.UliError as problem:
        status = next((code for kind, code in ANSWERS if isinstance(problem, kind)), None)
        if status is None:
            raise  # the study is damaged, say: gunicorn logs it and answers 500
        return status, {"problem": str(problem)}


def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer a request."""
    status, said = answer(environ)
    page = isinstance(said, str)
    body = (said if page else json.dumps(said)).encode()
    headers = [
        ("Content-Type", f"{'text/html' if page else 'application/json'}; charset=utf-8"),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"),
        ("Content-Security-Policy", "default-src 'none'; form-action 'self'"),
    ]
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        headers.append(("Retry-After", "1"))
    start_response(f"{status.value} {status.phrase}", headers)
    return [body]


if __name__ == "__main__":
    with opened() as study:
        print(study)
