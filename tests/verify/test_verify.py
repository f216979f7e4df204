"""The executable paper: its rows hold, and a wrong constant turns the row that is named."""

import errno
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import uli_fast as uli
from tests.support.unprivileged import open_folder, said_by
from tests.theory.exact import pe_failure, se_failure
from tests.verify.spoiling import bound_times
from uli_fast.errors import ResultsError
from uli_fast.geometry import designs
from uli_fast.guarantees import policy_schedule
from uli_fast.learners import (
    _spanner_sets,
    exp3p,
    geometric_hedge,
    linear_elimination,
    meta_elimination,
    spanner_elimination,
)
from uli_fast.learners._adversarial.bases import CompiledPhase
from uli_fast.learners._policies.policy_sets import PolicySet
from uli_fast.learners.spanner_elimination import SpannerPhases
from uli_fast.results import metrics
from uli_fast.verify import PaperCheck, VerifyOutcome, checks, exact, verify
from uli_fast.verify.page import BEGIN, END, write_page

CHECKS = {check.id: check for check in checks()}
# Rows of some seconds; the others take a second or less.
LONG = {
    "SE_concentration",
    "PE_concentration",
    "PE_linear_concentration",
    "ULI_RL",
    "LB_ULI",
}


def verdict(id):
    row = CHECKS[id].row(quick=True)
    return row.verdict, row.measured


@pytest.mark.parametrize("id", [id for id in CHECKS if id not in LONG])
def test_a_row_holds(id):
    found, measured = verdict(id)
    assert found == ("illustration" if CHECKS[id].illustration else "holds"), measured


@pytest.mark.slow
@pytest.mark.parametrize("id", sorted(LONG))
def test_a_longer_row_holds(id):
    assert verdict(id)[0] != "fails"


@pytest.mark.slow
@pytest.mark.parametrize("quick", [True, False], ids=["quick", "full"])
def test_the_whole_paper(quick):
    rows = verify(quick)
    assert [row.id for row in rows] == list(CHECKS)
    assert [row.measured for row in rows if row.verdict == "fails"] == []


def test_a_row_is_the_same_every_time():
    for id in ("verify_elimination_algs-PE", "bary_span-literal"):
        first, second = (CHECKS[id].row(quick=True)._replace(seconds=0.0) for _ in range(2))
        assert first == second


# Sabotage: each patch spoils one constant, and every row named must fail.


def scaled(monkeypatch, learner, factor):
    """Let the kernels of a learner work with another R: widths grow with it, quotas with R^2."""
    begin = learner.begin

    def begin_scaled(self, on, *rest):
        return begin(self, replace(self, R=factor * self.R).on(on.about), *rest)

    monkeypatch.setattr(learner, "begin", begin_scaled)


def bound_scaled(monkeypatch, formula, factor):
    """Multiply a proved F."""
    bound_times(formula, factor)(monkeypatch)


def patched(monkeypatch, module, name, make):
    """Put make(original) in the place of a function."""
    monkeypatch.setattr(module, name, make(getattr(module, name)))


def times(factor):
    """Return what multiplies the result of a function."""
    return lambda f: lambda *args: factor * f(*args)


def scaled_bounds(*factors):
    def spoil(m):
        for formula, factor in factors:
            bound_scaled(m, formula, factor)

    return spoil


def patches(module, name, make):
    return lambda m: patched(m, module, name, make)


def meta_mode(name, **change):
    def spoil(m):
        m.setitem(meta_elimination.FIXED, name, meta_elimination.FIXED[name]._replace(**change))

    return spoil


def sharp_threshold(factor):
    """Make the threshold of mode "sharp" larger or smaller."""

    def spoilt(f):
        def mode(*args):
            found = f(*args)
            return found._replace(threshold=factor * found.threshold)

        return mode

    return patches(meta_elimination, "sharp_mode", spoilt)


def without_box(f):
    return lambda *args: (f(*args)[0], np.full(len(f(*args)[1]), 1e9))


def even_design(f):
    return lambda arms: replace(f(arms), weights=np.full(len(arms), 1.0 / len(arms)))


def optimistic_rule(f):
    """Make the bonus of an optimistic learner larger."""

    def rule(self):
        known = f(self)
        return known._replace(factor=1.01 * known.factor)

    return rule


def se_width(m):
    scaled(m, uli.SuccessiveElimination, 0.8)


def pe_quota(m):
    scaled(m, uli.PhasedElimination, math.sqrt(0.5))


def constants_of_one(m):
    m.setattr(uli.Exp3P, "proved_constant", 1.0)
    m.setattr(uli.GeometricHedge, "least_constant", lambda self, d: 1.0)


def uniform_p(m):
    even = property(lambda self: np.full(self.state.p.size, 1.0 / self.state.p.size))
    m.setattr(CompiledPhase, "p", even)


def without_h(m):
    error = policy_schedule.proved_error
    m.setitem(policy_schedule.ERRORS, "proved", lambda size, *args: error(size, *args) / size.H)


pe_linear_phases = patches(linear_elimination, "phase_size", times(0.5))
spanner_phases = patches(uli.SpannerElimination, "phase_size", times(0.5))

SABOTAGES = {
    "SE width x 0.8": (se_width, ("AAE_alg", "upperbound_pull", "SC")),
    "F of SE x 0.4": (
        scaled_bounds(("SE-MAB", 0.4)),
        ("upperbound_pull", "ULI_implications-UPAC", "verify_elimination_algs-SE"),
    ),
    "PE quota halved": (pe_quota, ("PE_upperbound_pull",)),
    "F of PE x 0.3": (
        scaled_bounds(("PE-MAB", 0.3)),
        ("PE_MAB_FULI", "PE_upperbound_pull", "verify_elimination_algs-PE"),
    ),
    "F of PE-linear with 512 for 2048": (scaled_bounds(("PE-linear", 0.5)), ("PE_linear_FULI",)),
    "F of PE-linear x 0.2": (
        scaled_bounds(("PE-linear", 0.2)),
        ("verify_elimination_algs-PE-linear",),
    ),
    "phases of PE-linear halved": (pe_linear_phases, ("boundVnorm",)),
    "designs that are even": (patches(designs, "g_optimal", even_design), ("design_conditions",)),
    "meta removes beyond 70 for 7": (meta_mode("paper", threshold=70.0), ("UB_complexity",)),
    "meta removes beyond 0.7 for 7": (meta_mode("paper", threshold=0.7), ("UB_complexity",)),
    "meta, sharp: removes a hundredth too soon": (sharp_threshold(0.99), ("UB_complexity",)),
    "meta, sharp: removes ten times too late": (
        sharp_threshold(10.0),
        ("UB_complexity", "Meta_alg_corr-Exp3P", "Meta_alg_corr-GeometricHedge"),
    ),
    "meta with 400 for 576": (meta_mode("paper", multiplier=400.0), ("UB_complexity",)),
    "F of meta with 2200 for 4608": (meta_mode("paper", factor=2200.0), ("meta_FULI",)),
    "Exp3.P learns faster": (
        patches(uli.Exp3P, "rates", lambda f: lambda *args: (f(*args)[0], 1.2 * f(*args)[1])),
        ("exp3p",),
    ),
    "Exp3.P explores less": (patches(exp3p, "log_term", times(0.5)), ("exp3p",)),
    "bases claim a constant of 1": (
        constants_of_one,
        ("EXP3P_condition", "GeometricHedge-condition"),
    ),
    "probabilities that are not those of the draws": (uniform_p, ("concentration_Xiv", "exp3p")),
    "GeometricHedge tuned to another L": (
        patches(geometric_hedge, "log_term", times(0.8)),
        ("GeometricHedge",),
    ),
    "the spanner's box dropped": (
        patches(spanner_elimination, "box_of", without_box),
        ("bary_span-literal", "equivalent_expression"),
    ),
    "the spanner stops at 2 C": (
        patches(
            _spanner_sets,
            "find_spanner",
            lambda f: lambda oracle, d, length, C, *rest: f(oracle, d, length, 2.0 * C, *rest),
        ),
        ("Bm_bary_span",),
    ),
    "phases of the spanner halved": (
        spanner_phases,
        ("bound_norm_a", "PE_infinite_concentration"),
    ),
    "the spanner cuts a phase late": (
        patches(SpannerPhases, "active", lambda f: lambda self, m: f(self, m - 1)),
        ("bound_phase",),
    ),
    "F of the spanner x 0.15": (
        scaled_bounds(("PE-spanner", 0.15)),
        ("FULI_PE_infinite", "ULI_PE_infinite"),
    ),
    "the ball forgets its constraints": (
        patches(uli.arm_sets.Ball, "maximize", lambda f: lambda self, u, **more: f(self, u)),
        ("opt_oracle",),
    ),
    "policy bonus x 0.8": (
        patches(policy_schedule, "log_iota", times(0.64)),
        ("RL_ULI_main_subroutine", "RL_ULI_main"),
    ),
    "a factor H of the policies' error lost": (without_h, ("RL_ULI_main-H", "RL_ULI_main")),
    "visits of a stage undercounted": (
        patches(policy_schedule, "visit_sum", times(0.9)),
        ("bound_integral", "RL_ULI_main"),
    ),
    "policies 2^(1-m) behind are kept": (
        patches(PolicySet, "after", lambda f: lambda self, model, r, m: f(self, model, r, m - 1)),
        ("RL_defmpi",),
    ),
    "policy phases far too short": (
        patches(policy_schedule, "proved_length", lambda f: lambda *args: 1 + f(*args) // 10**5),
        ("uniform_estimation", "RL_ULI_main"),
    ),
    "gaps of policies halved": (patches(uli.TabularMDP, "gap", times(0.5)), ("MDP-values",)),
    "ratios at half the last play": (
        patches(metrics, "worst_ratio", lambda f: lambda last, *args: f(last // 2, *args)),
        ("ULI",),
    ),
    "F_UPAC one round late": (
        patches(uli.Guarantee, "rounds_until", lambda f: lambda *args: f(*args) + 1),
        ("ULI_implications-UPAC",),
    ),
    "regret bound 1 % too small": (
        patches(uli.Guarantee, "regret", times(0.99)),
        ("ULI_implications-regret", "UPAC_implications"),
    ),
    "lil'UCB's bonus x 1.01": (patches(uli.LilUCB, "rule", optimistic_rule), ("LB_lilUCB",)),
    "UCB's bonus x 1.01": (patches(uli.UCB, "rule", optimistic_rule), ("UCB",)),
    "F of PE's schedule x 0.01": (scaled_bounds(("PE-MAB-schedule", 0.01)), ("registered",)),
    "a rival promises something": (
        patches(uli.KLUCB, "guarantee", lambda f: uli.SuccessiveElimination.guarantee),
        ("registered",),
    ),
}


@pytest.fixture
def schedules():
    """Forget the phase lengths that a sabotage leaves behind."""
    yield
    policy_schedule.proved_length.cache_clear()
    policy_schedule.phase_ends.cache_clear()


@pytest.mark.parametrize("name", SABOTAGES)
def test_a_sabotage_is_noticed(name, monkeypatch, schedules):
    spoil, rows = SABOTAGES[name]
    policy_schedule.proved_length.cache_clear()
    spoil(monkeypatch)
    found = {id: verdict(id) for id in rows}
    monkeypatch.undo()
    assert {id: said for id, (said, _) in found.items()} == dict.fromkeys(rows, "fails"), found


SLOW_SABOTAGES = {
    "SE width x 0.8": (se_width, "SE_concentration"),
    "PE quota halved": (pe_quota, "PE_concentration"),
    "phases of PE-linear halved": (pe_linear_phases, "PE_linear_concentration"),
    "F of policy elimination halved": (scaled_bounds(("POLICY-sharp", 0.5)), "ULI_RL"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW_SABOTAGES)
def test_a_sabotage_is_noticed_by_a_rate(name, monkeypatch):
    spoil, id = SLOW_SABOTAGES[name]
    spoil(monkeypatch)
    assert verdict(id)[0] == "fails"


# What the rows compute with.


@pytest.mark.parametrize("both", [True, False])
def test_walks_cross_as_often_as_they_do(both):
    steps = 9

    def limit(n):
        return 0.3 + 1.1 * math.sqrt(n)

    paths = np.cumsum(list(itertools.product([-1, 1], repeat=steps)), axis=1)
    limits = [limit(n) for n in range(1, steps + 1)]
    crossed = ((np.abs(paths) if both else paths) > limits).any(axis=1).mean()
    assert exact.walk_crosses(steps, limit, both) == pytest.approx(crossed, abs=1e-14)


def test_rates_are_those_of_the_other_tests():
    assert exact.interval_missed(2, 0.5, 0.3, 60, 0.35) == pytest.approx(
        se_failure(2, 0.5, 0.3, 60, 0.35)
    )
    assert exact.phase_missed(3, 0.4, 0.9, 3) == pytest.approx(pe_failure(3, 0.4, 0.9, 3))
    assert exact.surprise(0, 10, 0.1) == 1.0
    assert exact.surprise(10, 10, 0.1) == pytest.approx(1e-10)
    assert exact.any_of([0.5, 0.5, 0.0]) == pytest.approx(0.75)


# The command.


def fake(holds=True):
    return PaperCheck(
        "none", "Lemma none", ("runs.py",), (), lambda quick: VerifyOutcome("a", "b", holds)
    )


def test_a_page_keeps_what_is_around_the_markers(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\n{BEGIN}\nstale\n{END}\n\nafter\n")
    each = [fake(), replace(fake(False), id="other", statement="|a| <= 1")]
    rows = [check.row() for check in each]
    write_page(page, each, rows, quick=True)
    text = page.read_text()
    assert text.startswith("# Title\n\n") and text.endswith(f"{END}\n\nafter\n")
    assert "stale" not in text and "| fails |" in text and "\\|a\\| <= 1" in text
    write_page(page, each, rows, quick=True)
    assert page.read_text() == text


def test_a_disk_that_refuses_a_page_is_a_typed_error(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(before := f"{BEGIN}\n{END}\n")

    def full(file):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("uli_fast._support.files.flush", full)
    with pytest.raises(ResultsError, match="No space left on device"):
        write_page(page, [fake()], [fake().row()], quick=True)
    assert page.read_text() == before and list(tmp_path.iterdir()) == [page]


CLOSED = """
import uli_fast.verify
from uli_fast.cli import main
uli_fast.verify.verify = lambda *args: print("rows were run")
for page in sys.argv[1:]:
    say(lambda: main(["verify", "--write", page], standalone_mode=False))
    drop()  # once everything is imported: not every user may read the library
"""


def test_a_folder_that_is_closed_is_noticed_before_rows_are_run():
    with open_folder() as folder:
        page = folder / "page.md"
        page.write_text(f"{BEGIN}\n{END}\n")
        folder.chmod(0o555)
        none, closed = said_by(CLOSED, folder / "none.md", page)
        assert "No such file" in none
        assert closed.startswith("ClickException") and "Permission denied" in closed


def test_a_check_that_breaks_has_failed():
    def broken(quick):
        raise ZeroDivisionError("by nought")

    row = replace(fake(), run=broken).row()
    assert row.verdict == "fails" and row.measured == "ZeroDivisionError: by nought"


def test_progress_is_told_before_and_after():
    told = []
    rows = verify(True, "PE_MAB_FULI", lambda check, row: told.append((check.id, row)))
    assert told == [("PE_MAB_FULI", None), ("PE_MAB_FULI", rows[0])]
    with pytest.raises(uli.errors.ArgumentError, match="only"):
        verify(True, "nonsense")
