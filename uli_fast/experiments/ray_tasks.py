"""Parts of an experiment as Ray tasks: on the connected cluster, or on a Ray started here.

Ray's backend for joblib has no generator: it would hand over all results at the end.
"""

from __future__ import annotations

import ipaddress
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from uli_fast.errors import ResultsError, UnsupportedError

T = TypeVar("T")
R = TypeVar("R")
# What makes Ray stay on the loopback device: a switch of its own, and the variable behind it,
# for the processes that it starts.
SWITCH, VARIABLE = "ENABLE_RAY_CLUSTER", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"


@contextmanager
def connected(jobs: int, say: Callable[[str], None]) -> Iterator[None]:
    """Use the Ray that is connected already, that of RAY_ADDRESS, or one that ends afterwards."""
    import ray

    if ray.is_initialized():
        yield
    elif os.environ.get("RAY_ADDRESS", "local") != "local":
        with cluster(os.environ["RAY_ADDRESS"]):
            yield
    else:
        with _folder() as folder, _unreachable(), _begun("local", _temp_dir=folder, num_cpus=jobs):
            _only_here(ray.util.get_node_ip_address())
            say(f"Ray {ray.__version__} on this machine, jobs={jobs}")
            yield


@contextmanager
def cluster(address: str) -> Iterator[None]:
    """Connect to a cluster for a while; it keeps running afterwards."""
    with _begun(address):
        yield


@contextmanager
def _begun(address: str, **options: Any) -> Iterator[None]:
    import ray

    if address == "local":
        options["include_dashboard"] = False
    try:
        try:
            ray.init(address=address, log_to_driver=False, logging_level="error", **options)
        except (OSError, ValueError, RuntimeError) as problem:
            raise ResultsError(f"Ray at {address}: {_line(problem)}") from problem
        yield
    finally:
        ray.shutdown()


@contextmanager
def _folder() -> Iterator[str]:
    """Give Ray a folder for its sockets and logs: /tmp/ray may be another user's."""
    folder = tempfile.mkdtemp(prefix="uli-ray-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _unreachable() -> Iterator[None]:
    """Let a Ray begin that listens on the loopback device alone.

    ``_node_ip_address="127.0.0.1"`` does not do it: Ray takes an address of the network instead.
    """
    from ray._private import ray_constants

    before = getattr(ray_constants, SWITCH, True), os.environ.get(VARIABLE)
    setattr(ray_constants, SWITCH, False)
    os.environ[VARIABLE] = "0"
    try:
        yield
    finally:
        setattr(ray_constants, SWITCH, before[0])
        if before[1] is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before[1]


def _only_here(address: str) -> None:
    """Refuse a Ray that listens on the network: whoever reaches it can have code executed."""
    if not ipaddress.ip_address(address).is_loopback:
        raise UnsupportedError(
            f"this Ray listens on {address}, not on this machine alone; "
            "if that is wanted, call ray.init() first"
        )


def played(work: Callable[[T], R], parts: Sequence[T], jobs: int) -> Generator[R]:
    """Yield what the work makes of the parts, as it comes; ``jobs`` of them at once.

    A task asks for one core, for which Ray allows it one thread of BLAS. What a worker that died
    had in hand is done again elsewhere, as often as Ray does that.
    """
    import ray
    from ray.exceptions import RayError

    task = ray.remote(num_cpus=1)(_done)
    waiting, running = iter(parts), list[Any]()
    try:
        while True:
            more = itertools.islice(waiting, jobs - len(running))
            running += [task.remote(work, part) for part in more]
            if not running:
                return
            done, running = ray.wait(running)
            yield ray.get(done[0])
    except RayError as problem:
        cause = getattr(problem, "cause", None)
        if cause is not None and not isinstance(cause, RayError):
            raise cause from None  # the error of the work itself
        raise ResultsError(
            f"Ray: {_line(problem)}; finished parts are kept; go on with --resume (resume=True)"
        ) from problem
    finally:
        for one in running:  # after an error or Ctrl-C, nobody wants them any more
            with suppress(RayError, RuntimeError):  # nor is it an error where Ray itself is gone
                ray.cancel(one, force=True)


def _done(work: Callable[[T], R], part: T) -> R:
    """Do the work: Ray takes functions only, and a partial is not one."""
    return work(part)


def _line(problem: BaseException) -> str:
    """Return the first line of what an error says."""
    lines = str(problem).strip().splitlines()
    return f"{type(problem).__name__}: {lines[0]}" if lines else type(problem).__name__
