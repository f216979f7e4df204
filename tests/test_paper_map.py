"""docs/paper_map.md: every statement of the paper has a row, and what a row names exists."""

import re
from pathlib import Path

import pytest

from uli_fast._registry import LEARNERS
from uli_fast.verify import checks, registered
from uli_fast.verify.page import entry, read_page

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/paper_map.md"
CHECKS = checks()

# Every theorem, lemma, proposition, corollary, condition and algorithm that has a label.
LABELS = """
    ULI discussion_expected_reg UPAC_implications LB_ULI ULI_implications SC framework_ULI
    verify_elimination_algs
    AAE_alg SE_concentration optarm_always_active upperbound_pull
    PE_alg PE_concentration PE_MAB_optarm_always_active PE_upperbound_pull PE_MAB_bound4ellt
    PE_MAB_FULI linear_PE design_conditions boundVnorm defE_PElinear PE_optarm_always_active
    linear_PE_upperbound_pull PE_linear_bound4ellt PE_linear_FULI
    UCB_UPAC LB_lilUCB UCB_subarm_bounded_play LB_second_last_play UB_second_last_U
    non_elimination_ULI condition4meta_ULI Meta_alg_corr meta_ULI EXP3P_condition exp3p_prop
    concentration_X concentration_Xiv absUB loss_concentration opt_active UB_complexity
    Meta_bound4ellt meta_FULI exp3p concentration_supermartingale bound_wtill_loss
    hoeffding_reward_concentration freedman_ineq lhat_mu absBound square_term_bound
    pwtill_wtill_k PE_infinite_arm bary_span LI_argmax bary_spanner Bm_bary_span opt_oracle
    equivalent_expression Bm_bary_span_Sm bary_span_optimal_design bound_norm_a
    PE_inf_optarm_always_active bound_phase PE_Inf_bound4ellt FULI_PE_infinite numof_restart
    ULI_PE_infinite RL_ULI_main RL_ULI_main_subroutine RL_ULI_subroutine1 ULI_RL
    uniform_estimation RL_defmpi concentration_V concentration_whatV optimism_V
    abs_whatV_V_bound bound_integral whatV_pit_bound xi_bound bound_s1_mu
    initial_state_concentration
""".split()


def test_the_page_has_the_rows_of_the_registry():
    lines = [line for line in read_page(PAGE)[1].splitlines() if line.startswith("| `")]
    expected = [entry(check) for check in CHECKS]
    assert [line[: len(want)] for line, want in zip(lines, expected, strict=False)] == expected
    assert len(lines) == len(expected), "write the page again: uli verify --write docs/paper_map.md"
    for line, check in zip(lines, CHECKS, strict=True):
        ending = "illustration" if check.illustration else "holds"
        assert line.endswith(f"| {ending} |"), line


@pytest.mark.parametrize("label", LABELS)
def test_every_statement_has_a_row(label):
    assert any(re.search(rf"\b{label}\b", check.statement) for check in CHECKS)


def names(path, name):
    """Return whether a Python file defines a test, a function, a class or a constant."""
    text = path.read_text(encoding="utf-8")
    return re.search(rf"^\s*(def {name}\(|class {name}\b|{name}\b.* = )", text, re.MULTILINE)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_what_a_row_names_exists(check):
    assert check.code and check.tests
    for folder, named in ((ROOT / "uli_fast", check.code), (ROOT, check.tests)):
        for each in named:
            file, _, name = each.partition("::")
            assert (folder / file).exists(), each
            assert not name or names(folder / file, name), each


def test_every_learner_has_a_row():
    named = {each.removesuffix(".py") for check in CHECKS for each in check.code}
    named |= {row.module.replace(".", "/") for row in registered.covered().values()}
    for row in LEARNERS:
        if row.name == "OwnLearner":  # the user's code: there is no statement to check
            continue
        assert row.module.replace(".", "/") in named


def test_the_rows_that_errata_names_exist():
    ids = {check.id for check in CHECKS}
    rows = 0
    for line in (ROOT / "docs/errata.md").read_text(encoding="utf-8").splitlines():
        cells = re.split(r"(?<!\\)\|", line)
        if line.startswith("|") and len(cells) == 7 and cells[1].strip() not in ("where", "---"):
            rows += 1
            evidence = cells[5].strip()
            assert evidence == "-" or set(re.findall(r"`([^`]+)`", evidence)) <= ids, line
            assert evidence, line
    assert rows > 50
