"""F of the schedule."""

from tests.sabotage.anchors import Sabotage

SLACK = "tests/guarantees/test_phase_bounds.py"

SABOTAGES = (
    Sabotage(
        "F of the schedule: SE with 3 wd for 4 wd",
        "uli_fast.guarantees.successive_elimination:_schedule",
        'bound: F64 = 4.0 * width(plays, p["K"], delta, p["R"])\n    return np.where',
        'bound: F64 = 3.0 * width(plays, p["K"], delta, p["R"])\n    return np.where',
        f"{SLACK}::test_an_adversary_on_the_event_brings_successive_elimination_to_its_bound",
    ),
    Sabotage(
        "F of the schedule: SE with floor(t / K) + 1 plays",
        "uli_fast.guarantees.successive_elimination:_schedule",
        'np.floor_divide(t - 1.0, p["K"])',
        'np.floor_divide(t, p["K"]) + 1.0',
        f"{SLACK}::test_an_adversary_on_the_event_brings_successive_elimination_to_its_bound",
    ),
    Sabotage(
        "F of the schedule: SE tested in its first sweep",
        "uli_fast.guarantees.successive_elimination:_schedule",
        'np.where(t > p["K"] + 1.0, bound',
        'np.where(t > p["K"], bound',
        f"{SLACK}::test_no_test_is_made_before_round_k_plus_1_is_over",
    ),
    Sabotage(
        "F of the schedule: the phase after that of the round",
        "uli_fast.guarantees.bounds:Steps.at_all",
        "gaps[np.searchsorted(ends, t)]",
        "gaps[np.searchsorted(ends, t) + 1]",
        f"{SLACK}::test_an_adversary_on_the_event_brings_phased_elimination_to_its_bound",
    ),
    Sabotage(
        "F of the schedule: a phase ends a round early",
        "uli_fast.guarantees.bounds:Steps.at",
        "bisect_left(self.ends, t)",
        "bisect_left(self.ends, t + 1)",
        f"{SLACK}::test_golden_figures",
    ),
    Sabotage(
        "F of the schedule: designs of any number of arms",
        "uli_fast.learners.linear_elimination:Phases._check_support",
        "if arms > most:",
        "if False:",
        f"{SLACK}::test_a_design_of_more_arms_is_refused",
    ),
)
