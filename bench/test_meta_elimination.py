"""The meta-algorithm on Exp3.P with proved constants: three phases, 32 replications."""

import pytest

from bench.support.cases import meta_run


@pytest.mark.long
def test_three_phases(versus):
    versus(meta_run(), seeds=1, repeats=2)
