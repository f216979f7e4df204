"""One way to measure: ours and a rival taking turns, in one process, from the same seeds.

``versus`` hands ours to pytest-benchmark, and times the rival just before each run of ours. A
side's time is the median over seeds of the minimum over repeats: the minimum removes what else
the machine does, the median keeps easy seeds from flattering. Short runs are repeated for some
time, and a whole run has two laps, minutes apart: machines have slow moments. What is compared,
and what it should reach, is in goals.toml under the name of the benchmark, ``stem/name``; one that
has no entry there is in no table, and its docstring says what it does.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.support.cases import Case, Run, yardstick
from bench.support.limits import gcc_version
from bench.tools.results import about, figures, goals, refuse_threads

# Whose versions are kept with a run.
LIBRARIES = ("numpy", "numba", "scipy", "cvxpy", "highspy", "clarabel")

# Short runs of both sides are repeated for this many seconds in all, but not more often than this.
SPAN, MOST = 0.3, 500


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="fewer repeats, nothing long")
    parser.addoption("--lap", action="store_true", help="one of two laps: half the repeats")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: not in a quick run")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if config.getoption("--quick") and item.get_closest_marker("long"):
            item.add_marker(pytest.mark.skip(reason="long: not in a quick run"))


def key_of(item: pytest.Item) -> str:
    """Return a benchmark's name in goals.toml."""
    return f"{Path(item.path).stem.removeprefix('test_')}/{item.name.removeprefix('test_')}"


def words_of(item: Any) -> str:
    """Return what a benchmark without an entry in goals.toml does: its docstring."""
    return " ".join(item.function.__doc__.split()).rstrip(".")


def clock(case: Case, seed: int) -> float:
    """Return the seconds of one run, as they count."""
    return case.factor * timed(case, case.prepare(seed))


def timed(case: Case, run: Run) -> float:
    """Return the seconds of a run that is prepared."""
    begun = time.perf_counter()
    said = run()
    took = time.perf_counter() - begun
    return float(said) if case.says_its_time else took


@pytest.fixture
def versus(benchmark: Any, request: pytest.FixtureRequest) -> Callable[..., None]:
    """Measure ours against a rival; without one, against a yardstick that shows the machine.

    A quick run has the same seeds, so that its ratios can be compared with those of a whole one.
    """
    refuse_threads()

    def measure(
        ours: Case | None,
        rival: Case | None = None,
        seeds: int = 5,
        repeats: int = 5,
        counts: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        assert ours is not None
        if request.config.getoption("--quick"):
            repeats = max(min(repeats, 3), repeats // 10)
        elif request.config.getoption("--lap"):
            repeats = (repeats + 1) // 2
        other = yardstick() if rival is None else rival
        best = np.full((2, seeds), np.inf)
        once = 0.0
        for side in (ours, other):
            if side.says_its_time:
                once = np.inf
            elif side.warm:
                side.warm.prepare(0)()
                once = np.inf
            else:
                side.prepare(0)()  # compiles
                once += clock(side, 0) / side.factor
        repeats = max(repeats, int(min(SPAN / (seeds * once), MOST)))
        order = iter([seed for _ in range(repeats) for seed in range(seeds)])

        def setup() -> tuple[tuple[int, Any], dict[str, Any]]:
            seed = next(order)
            best[1, seed] = min(best[1, seed], clock(other, seed))
            return (seed, ours.prepare(seed)), {}

        def play(seed: int, run: Callable[[], Any]) -> None:
            best[0, seed] = min(best[0, seed], ours.factor * timed(ours, run))

        gc.collect()
        gc.disable()
        try:
            benchmark.pedantic(play, setup=setup, rounds=seeds * repeats)
        finally:
            gc.enable()
        key = key_of(request.node)
        benchmark.extra_info.update(
            key=key,
            about=about(goals().get(key) or {"work": words_of(request.node)}),
            **figures(best.tolist()),
            yardstick=rival is None,
            seeds=seeds,
            repeats=repeats,
            counts=counts or {},
        )

    return measure


def pytest_benchmark_update_machine_info(config: pytest.Config, machine_info: dict) -> None:
    """Keep what matters for the figures, and nothing that names a place."""
    import uli_fast

    cpu = machine_info.get("cpu", {}).get("brand_raw", machine_info.get("machine", ""))
    python = machine_info["python_version"]
    machine_info.clear()
    machine_info.update(cpu=cpu, python_version=python)
    machine_info.update({name: version(name) for name in LIBRARIES})
    machine_info.update(gcc=gcc_version(), uli_fast=uli_fast.__version__)


def pytest_benchmark_update_commit_info(config: pytest.Config, commit_info: dict) -> None:
    for name in set(commit_info) - {"id", "dirty"}:
        del commit_info[name]
