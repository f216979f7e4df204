"""One case of the campaign, and how it is run."""

import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

LIMIT = 2 * 2**30  # bytes of address space
SECONDS = 2.0  # that a case may take, where this is measured
HANGS = 120  # seconds after which it is interrupted


class Case(NamedTuple):
    name: str
    prepare: Callable[[Path], Callable[[], Any]]


class Hanging(BaseException):
    """A case took far too long."""


def interrupted(*_: Any) -> None:
    raise Hanging


def outcome(case: Case) -> tuple[float, str | None]:
    """Run a case; return its seconds, and what is wrong if anything is."""
    from uli_fast.errors import UliError

    with tempfile.TemporaryDirectory() as folder:
        call = case.prepare(Path(folder))
        begun = time.perf_counter()
        signal.alarm(HANGS)
        try:
            call()
            problem: str | None = "was accepted"
        except (UliError, click.ClickException):
            problem = None
        except (Exception, Hanging) as other:
            problem = f"ended in {other!r:.300}"
        finally:
            signal.alarm(0)
        return time.perf_counter() - begun, problem
