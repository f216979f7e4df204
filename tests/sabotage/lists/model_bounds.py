"""What is known of a tabular MDP, and F of the learner that keeps boxes of models."""

from tests.sabotage.anchors import Sabotage

BOUND = "tests/guarantees/test_model_boxes.py"
KNOWN = "tests/problems/test_known_structure.py"

SABOTAGES = (
    Sabotage(
        "rows are thought half as wide",
        "uli_fast.guarantees.model_boxes:row_width",
        "return min(",
        "return 0.5 * min(",
        f"{BOUND}::test_bounds_are_those_of_the_page",
    ),
    Sabotage(
        "all of delta is spent on boxes",
        "uli_fast.formulas.model_elimination:level_of",
        "/ BOXES",
        "/ 1.0",
        f"{BOUND}::test_bounds_are_those_of_the_page",
    ),
    Sabotage(
        "the five exponents share one failure",
        "uli_fast.guarantees.model_boxes:width_bound",
        "len(_THETAS) * max(",
        "max(",
        f"{BOUND}::test_bounds_are_those_of_the_page",
    ),
    Sabotage(
        "pooled visits are counted once per episode",
        "uli_fast.guarantees.model_boxes:width_bound",
        'max(1.0, p["H"] - 1.0) if p["pooled"] else 1.0',
        "1.0",
        f"{BOUND}::test_bounds_are_those_of_the_page",
    ),
    Sabotage(
        "stochastic policies are cut off too",
        "uli_fast.guarantees.model_boxes:_parts",
        'play == "stochastic"',
        'play == "never"',
        f"{BOUND}::test_bounds_are_those_of_the_page",
    ),
    Sabotage(
        "rows with two successors are not counted",
        "uli_fast.guarantees.model_boxes:model_size",
        "(of_stages > 1).sum",
        "(of_stages > 2).sum",
        f"{BOUND}::test_masks_are_counted_as_on_the_page",
    ),
    Sabotage(
        "pooled rows may lead wherever one stage allows",
        "uli_fast.guarantees.model_boxes:model_size",
        "np.logical_and.reduce",
        "np.logical_or.reduce",
        f"{BOUND}::test_laws_that_are_pooled_have_common_successors",
    ),
    Sabotage(
        "masks may call impossible what happens",
        "uli_fast._check.structure:covers_transitions",
        "~mask & (P > 0.0)",
        "~mask & (P > 1.0)",
        f"{KNOWN}::test_bad_masks_name_the_argument",
    ),
    Sabotage(
        "first states of probability 0 are known as possible",
        "uli_fast.problems.tabular_mdp:TabularMDP.with_known_structure",
        "self.initial > 0.0",
        "self.initial >= 0.0",
        f"{KNOWN}::test_known_structure_is_the_true_support_and_changes_no_value",
    ),
    Sabotage(
        "actions without a common successor may be called the same",
        "uli_fast._check.policies:denied_choice",
        "differ[:-1] |= ~_overlap(successors[:-1])",
        "pass",
        f"{KNOWN}::test_masks_that_contradict_decision_points_are_refused",
    ),
)
