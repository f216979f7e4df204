"""Caps of balls and ellipsoids."""

from tests.sabotage.anchors import Sabotage

THEORY = "tests/theory/test_caps.py"
LEARNER = "tests/learners/test_cap_elimination.py"
PLAYER = "tests/players/test_cap_elimination.py"

SABOTAGES = (
    Sabotage(
        "caps: arms that are played have all their digits",
        "uli_fast.learners.cap_elimination:CapPhases.close",
        "            off += moved",
        "            off += 0.0 * moved",
        f"{LEARNER}::test_a_theta_too_long_for_its_digits_withdraws_f",
    ),
    Sabotage(
        "caps: kappa forgets what is beside the pole",
        "uli_fast.formulas.cap_elimination:cap_kappa",
        "(along + (d * d - 1.0) * tau)",
        "(along + (d * d - 1.0))",
        f"{THEORY}::test_arms_of_a_cap_tau_times_as_deep_are_within_kappa_d",
    ),
    Sabotage(
        "caps: deep caps are played at their rim",
        "uli_fast.kernels.cap_elimination:played_depth",
        "return min(y, 1.0 + 1.0 / d)",
        "return min(y, 1.999)",
        f"{THEORY}::test_no_arm_of_a_cap_is_further_than_d_and_the_design_is",
    ),
    Sabotage(
        "caps: one side of the fixed error",
        "uli_fast.formulas.cap_elimination:cap_quantiles",
        "L2 = L1 + math.log(2.0)",
        "L2 = L1",
        f"{LEARNER}::test_the_bound_is_that_of_the_page",
    ),
    Sabotage(
        "caps: the length of the noise without its tail",
        "uli_fast.formulas.cap_elimination:cap_quantiles",
        "math.sqrt(d + 2.0 * math.sqrt(d * L1) + 2.0 * L1)",
        "math.sqrt(d + math.sqrt(d * L1))",
        f"{THEORY}::test_quantiles_of_gaussian_noise",
    ),
    Sabotage(
        "caps: phases share delta as 1 / m",
        "uli_fast.formulas.cap_elimination:cap_quantiles",
        "math.log(2.0) + math.log(m) + math.log(m + 1.0) - math.log(delta)",
        "math.log(2.0) + math.log(m) - math.log(delta)",
        f"{THEORY}::test_quantiles_of_gaussian_noise",
    ),
    Sabotage(
        "caps: cuts at .4 eta for 1.9 eta",
        "uli_fast.learners.cap_elimination:CapPhases.close",
        "CAP_CUTS * eta / length",
        "0.4 * eta / length",
        f"{THEORY}::test_on_the_edge_of_the_event",
    ),
    Sabotage(
        "caps: the pole is not played",
        "uli_fast.kernels.cap_elimination:design",
        "points[0, j] = u[j]",
        "points[0, j] = 0.5 * u[j]",
        f"{THEORY}::test_designs_are_those_of_the_page_and_lie_in_their_cap",
    ),
    Sabotage(
        "caps: the slope believes the pole alone",
        "uli_fast.kernels.cap_elimination:slope",
        "theta[j] = beside * z - rim / y * u[j]",
        "theta[j] = beside * z + means[0] * u[j]",
        f"{THEORY}::test_a_constant_in_all_means_cancels",
    ),
    Sabotage(
        "caps: F of the first phase is that of the second",
        "uli_fast.guarantees.cap_elimination:_gap",
        "return largest if m == 1 else min(",
        "return min(",
        f"{LEARNER}::test_the_first_phase_is_bounded_by_what_the_caller_said_alone",
    ),
    Sabotage(
        "caps: F is a phase early",
        "uli_fast.guarantees.cap_elimination:_gap",
        "cap_eta(m - 1)",
        "cap_eta(m)",
        f"{LEARNER}::test_random_balls_and_ellipsoids",
    ),
    Sabotage(
        "caps: a certificate leaves the fixed error out",
        "uli_fast.learners.cap_elimination:CapPhases._largest_gap",
        "noise * (moved * norm + fix * fixed)",
        "noise * moved * norm * 0.2",
        f"{THEORY}::test_on_the_edge_of_the_event",
    ),
    Sabotage(
        "caps: half-axes that are left out have no gap",
        "uli_fast.learners.cap_elimination:CapElimination.guarantee",
        "ball.reach(problem.slope) * (1.0 + FLAT)",
        "math.inf",
        f"{LEARNER}::test_means_along_a_half_axis_that_is_rounding_are_refused",
    ),
    Sabotage(
        "caps: missing outcomes are believed to be the middle",
        "uli_fast.players.cap_elimination:CapPlayer._close",
        "self.memory.sums / self.quota, off)",
        "self.memory.sums / self.quota, 0.0)",
        f"{PLAYER}::test_one_missing_outcome_widens_by_half_the_range",
    ),
    Sabotage(
        "caps: a phase that misses too much cuts all the same",
        "uli_fast.learners.cap_elimination:CapPhases.close",
        "if not eta <= CAP_SHRINKS * self.eta * (1.0 + 1e-12):",
        "if not eta <= 2.0 * self.eta:",
        f"{PLAYER}::test_a_phase_that_misses_too_much_cuts_nothing",
    ),
)
