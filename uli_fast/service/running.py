"""Opening a study and serving it until somebody says stop."""

from __future__ import annotations

import importlib
import logging
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field

from uli_fast.errors import ArgumentError, MissingExtraError, StateError, StudyError
from uli_fast.service.limits import Limits
from uli_fast.service.loopback import is_loopback
from uli_fast.service.tokens import Tokens
from uli_fast.study.study import Study


@dataclass(frozen=True)
class Options:
    """What ``uli serve`` is told."""

    place: str
    name: str | None = None
    host: str = "127.0.0.1"
    port: int = 8321
    token_file: str | None = None
    no_token: bool = False
    tls_cert: str | None = None
    tls_key: str | None = None
    log: bool = False
    limits: Limits = field(default_factory=Limits)


def run(options: Options, say: Callable[[str], None]) -> None:
    """Serve a study; return when that was ended by SIGTERM or Ctrl-C, and all is answered."""
    try:
        from uli_fast.service import server

        importlib.import_module("jinja2")  # what the page needs is missed before it listens
    except ImportError as problem:
        raise MissingExtraError(
            "uli serve needs uvicorn, h11, jinja2 and markupsafe: "
            f"pip install 'uvicorn<0.55' h11 jinja2 markupsafe ({problem})"
        ) from None
    from uli_fast.service.app import Service
    from uli_fast.service.page import WatchedService

    tokens, tls = _tokens(options), _tls(options)
    if options.log:
        logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO)
    try:
        listening = server.bound(options.host, options.port)
    except OSError as problem:
        where = f"{options.host} port {options.port}"
        raise StudyError(f"cannot listen at {where}: {problem.strerror or problem}") from None
    with listening, _opened(options) as study:
        service = WatchedService(Service(study, tokens, options.limits), tokens)
        made = server.new_server(service, tls)
        host, port = listening.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        say(f"{study.path} at {'https' if tls else 'http'}://{shown}:{port}, Ctrl-C to stop")
        made.run(sockets=[listening])
    say("stopped; all that was acknowledged is recorded")


def _opened(options: Options) -> Study:
    try:
        return Study.open(options.place, name=options.name)
    except ArgumentError as problem:
        begun = isinstance(problem, StateError)  # by code that the file does not hold
        if problem.argument != "learner" or begun:
            raise
        name = "" if options.name is None else f", name={options.name!r}"
        why = problem.problem.removeprefix("must be given: ")
        raise StudyError(
            f"{why}. Begin the study in Python, then serve it: "
            f"uli.Study.open(..., uli.BettingElimination(0.05), ['placebo', 'drug']{name}).close()"
        ) from None


def _tokens(options: Options) -> Tokens | None:
    """Return who may do what; nobody need say who they are only where nobody else can come."""
    if options.token_file is not None:
        if options.no_token:
            raise ArgumentError("--no-token", "contradicts --token-file")
        return Tokens(options.token_file)
    if not options.no_token:
        raise ArgumentError(
            "--token-file",
            "must be given: uli token NAME --role drive --token-file FILE makes one "
            "(--no-token lets everybody on this machine do everything)",
        )
    if not is_loopback(options.host):
        raise ArgumentError("--no-token", "is for 127.0.0.1 only: others can reach this address")
    return None


def _tls(options: Options) -> ssl.SSLContext | None:
    """Read certificate and key, before anybody can come."""
    if options.tls_cert is None and options.tls_key is None:
        return None
    if options.tls_cert is None:
        raise ArgumentError("--tls-cert", "must be given with --tls-key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(options.tls_cert, options.tls_key, _no_password)
    except OSError as problem:  # what TLS says is one, too
        said = problem.strerror or problem
        files = " and ".join(x for x in (options.tls_cert, options.tls_key) if x is not None)
        raise ArgumentError("--tls-cert", f"{files} cannot be used: {said}") from None
    return context


def _no_password() -> str:
    raise ArgumentError("--tls-key", "is encrypted, and nobody is there to type its password")
