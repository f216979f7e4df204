"""Boxes of plausible models of a tabular MDP."""

from tests.sabotage.anchors import Sabotage

MODEL = "tests/learners/test_model_elimination.py"
BOXES = "tests/kernels/test_boxes.py"
VISITS = "tests/kernels/test_visit_bounds.py"

SABOTAGES = (
    Sabotage(
        "model boxes: Lambda x 0.2",
        "uli_fast.kernels.mdp.boxes:refresh_row",
        "y = level_at(n, log_term) / n",
        "y = 0.2 * level_at(n, log_term) / n",
        f"{MODEL}::test_failures_stay_within_delta",
    ),
    Sabotage(
        "model boxes: ends are moved inwards",
        "uli_fast.kernels.mdp.boxes:upper_end",
        "(1.0 + WIDER)",
        "(1.0 - WIDER)",
        f"{BOXES}::test_ends_lie_outside_for_many_counts",
    ),
    Sabotage(
        "model boxes are not intersected",
        "uli_fast.kernels.mdp.boxes:refresh_row",
        "low = max(boxes.low[i, j], lower_end(boxes.seen[i, j], n, y))",
        "low = lower_end(boxes.seen[i, j], n, y)",
        f"{BOXES}::test_boxes_are_nested_and_refreshed_when_counts_have_grown",
    ),
    Sabotage(
        "model elimination drops an action by the largest value of another",
        "uli_fast.kernels.mdp.robust:weigh_state",
        "sure = max(sure, down)",
        "sure = max(sure, up)",
        f"{MODEL}::test_failures_stay_within_delta",
    ),
    Sabotage(
        "model certificates leave out what comes later",
        "uli_fast.kernels.mdp.robust:weigh_state",
        "look.g[h, s, a] = max(0.0, other - look.Q[1, a])",
        "look.g[h, s, a] = max(0.0, other - look.Q[0, a])",
        f"{MODEL}::test_failures_stay_within_delta",
    ),
    Sabotage(
        "the value constraint is met on the wrong side",
        "uli_fast.kernels.mdp.robust:choose_within",
        "if r2 >= least:",
        "if r2 > least + 1e-6:",
        f"{MODEL}::test_inductions_agree_with_a_linear_programme",
    ),
    Sabotage(
        "a mixture weighs its parts the other way round",
        "uli_fast.kernels.mdp.robust:blend",
        "m, k = alpha * choice.x[0, h, s], (1.0 - alpha) * choice.x[1, h, s]",
        "m, k = (1.0 - alpha) * choice.x[0, h, s], alpha * choice.x[1, h, s]",
        f"{MODEL}::test_inductions_agree_with_a_linear_programme",
    ),
    Sabotage(
        "blocks as long as the crude bounds allow",
        "uli_fast.kernels.mdp.visit_bounds:block_length",
        "probability = reach(boxes, choice, h, s, (1.0 - CLEAR) * need[h, s] / K, order)",
        "probability = x[h, s]",
        f"{MODEL}::test_looks_stay_few_on_a_chain",
    ),
    Sabotage(
        "visits are bounded by laws of less than mass 1",
        "uli_fast.kernels.mdp.visit_bounds:within",
        "c += above / mass",
        "c += above / mass\n        least = min(least, c)",
        f"{VISITS}::test_blocks_are_as_long_as_if_every_visit_was_bounded",
    ),
    Sabotage(
        "inductions of visits are broken off too soon",
        "uli_fast.kernels.mdp.visit_bounds:reach",
        "if bound <= enough:",
        "if bound <= 1.5 * enough:",
        f"{VISITS}::test_what_is_broken_off_is_a_bound_and_small_enough",
    ),
    Sabotage(
        "a bound of visits may be a little above the least without being followed up",
        "uli_fast.kernels.mdp.visit_bounds:block_length",
        "(1.0 - CLEAR) * need[h, s] / K",
        "1.02 * need[h, s] / K",
        f"{VISITS}::test_blocks_are_as_long_as_if_every_visit_was_bounded",
    ),
    Sabotage(
        "halving takes off a hundredth",
        "uli_fast.kernels.mdp.robust:choose_within",
        "lam = 0.5 * (low + high)",
        "lam = 0.99 * low + 0.01 * high",
        "tests/kernels/test_robust.py::test_duals_are_solved_by_halving_alone",
    ),
    Sabotage(
        "a block's visits forget the second action of a mixture",
        "uli_fast.kernels.model_elimination:draw_block",
        "count = k if way == 0 else m - k",
        "count = m if way == 0 else 0",
        f"{MODEL}::test_skipping_equals_rounds_visit_by_visit",
    ),
    Sabotage(
        "an empty box withdraws nothing",
        "uli_fast.kernels.model_elimination:look",
        "if not fits:",
        "if False and not fits:",
        f"{MODEL}::test_empty_boxes_withdraw_the_certificate_and_the_run_goes_on",
    ),
)
