"""What a rival is said to come back to, it must have left."""

import uli_fast as uli
from uli_fast.verify import checks
from uli_fast.verify.policy_runs import relapses

ROWS = {check.id: check for check in checks()}


def test_a_rival_that_never_left_bad_policies_has_no_relapses():
    found = relapses(uli.UCBVI(0.1), 10**5)
    assert "1e+05 mistakes" in found.measured  # in every episode
    assert "at least 0 episodes without one" in found.measured
    assert not found.holds


def test_the_row_of_ucbvi_shows_one_that_left_and_came_back():
    row = ROWS["UCB-VI"].row(quick=True)
    assert row.verdict == "illustration", row.measured
    assert int(row.measured.split("at least ")[1].split()[0]) > 10**5
