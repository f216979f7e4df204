"""One formatter of numbers, and one of shares: what a reader without a computer would write."""

import re

import pytest

from uli_fast.report.words import number, percent, squeezed, unbroken


@pytest.mark.parametrize(
    ("x", "shown"),
    [
        (0.0, "0"),
        (1.88e-7, "1.9 \u00d7 10⁻⁷"),
        (1e-4, "10⁻⁴"),
        (-3e-9, "-3.0 \u00d7 10⁻⁹"),
        (0.00123, "0.00123"),
        (0.05, "0.05"),
        (12.34, "12.3"),
        (5524.4, "5,524"),
        (999_999, "999,999"),
        (10**6, "10⁶"),
        (2.94e6, "2.9 \u00d7 10⁶"),
        (float("inf"), "∞"),
        (float("-inf"), "-∞"),
        (float("nan"), "\u2013"),
    ],
)
def test_numbers_read_well(x, shown):
    assert number(x).replace("\u00a0", " ") == shown


@pytest.mark.parametrize("power", range(-320, 309, 7))
def test_no_number_is_written_as_a_computer_would(power):
    for digits in (1.0, 1.88, 9.996, -4.4):
        assert not re.search(r"\de[-+]?\d", number(digits * 10.0**power))


def test_only_what_is_certain_is_shown_as_certain():
    chances = (0.0, 1e-9, 0.5, 0.12345, 0.99999, 1.0)
    shown = {
        1: ["0 %", "<0.1 %", "50 %", "12.3 %", ">99.9 %", "100 %"],
        0: ["0 %", "<1 %", "50 %", "12 %", ">99 %", "100 %"],
        2: ["0 %", "<0.01 %", "50 %", "12.35 %", ">99.99 %", "100 %"],
    }
    for digits, expected in shown.items():
        assert [percent(x, digits).replace("\u00a0", " ") for x in chances] == expected
    assert percent(1.88e-7, 2) == "<0.01\u00a0%"  # and not 1.88e-05 %


def test_names_are_not_broken_and_shortened_in_their_middle():
    assert unbroken("BettingElimination leader=1") == "BettingElimination\u00a0leader=1"
    long = "a learner with a very long name, delta=0.05"
    assert len(squeezed(long, 20)) == 20 and squeezed(long, 20).endswith("a=0.05")
