"""The elimination framework around a compiled rule, against a plain loop with the same rule."""

import pytest

from bench.plain import elimination as loops
from bench.support.cases import EQUAL, GAP, SPREAD, framework, ours, plain


@pytest.mark.parametrize("means", [GAP, SPREAD, EQUAL], ids=["2", "10", "equal"])
def test_rounds(versus, means):
    rival = plain(loops.elimination_framework, means, 10**5)
    versus(ours(framework(), means, 10**5, "rounds"), rival)
