"""Shared by the benchmarks: one way to measure a case."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest
from cases import Case, Run


@pytest.fixture
def measure(benchmark) -> Callable[[Case, int], None]:
    """Time runs of a case, each from a new seed; the first one, which compiles, is not timed."""

    def time_case(case: Case, rounds: int) -> None:
        seeds = count()

        def setup() -> tuple[tuple[Run], dict[str, Run]]:
            return (case.prepare(next(seeds)),), {}

        benchmark.extra_info["counts_fold"] = case.factor
        benchmark.pedantic(lambda run: run(), setup=setup, rounds=rounds, warmup_rounds=1)

    return time_case
