"""The rows on caps: each can fail."""

import pytest

from tests.verify.spoiling import CHECKS, all_fail, bound_times, times
from uli_fast.learners import cap_elimination
from uli_fast.verify import caps

OURS = [id for id in CHECKS if id.startswith("caps-")]


def test_rows_say_that_they_are_ours():
    assert len(OURS) == 5
    assert all(CHECKS[id].statement.startswith("Ours") for id in OURS)


def low_pole(m):
    """Play an arm a little below the pole in its place."""
    design = caps.design

    def lower(u, y, points):
        design(u, y, points)
        points[0] += 0.01 * (points[1] - points[0])

    m.setattr(caps, "design", lower)


def short_lengths(m):
    quantiles = caps.cap_quantiles
    m.setattr(caps, "cap_quantiles", lambda *args: tuple(0.7 * q for q in quantiles(*args)))


def greedy_cuts(m):
    m.setattr(cap_elimination, "CAP_CUTS", 0.4)


def bold_certificates(m):
    m.setattr(cap_elimination, "ROUNDED", 0.7)


@pytest.mark.parametrize(
    "spoil, rows",
    [
        (low_pole, ("caps-design",)),
        (times(caps, "cap_kappa", 0.99), ("caps-kappa",)),
        (short_lengths, ("caps-noise",)),
        (greedy_cuts, ("caps-edge",)),
        (bold_certificates, ("caps-edge",)),
        (times(cap_elimination, "cap_eta", 0.36), ("caps-edge",)),
        (bound_times("CAP-schedule", 0.2), ("caps-ULI",)),
    ],
    ids=["pole", "kappa", "lengths", "cuts", "certificates", "too sure", "F"],
)
def test_a_sabotage_turns_the_rows(spoil, rows, monkeypatch):
    all_fail(spoil, rows, monkeypatch)
