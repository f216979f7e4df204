"""Exp3.P, GeometricHedge, SCRiBLe, and the meta algorithm above them."""

from tests.sabotage.anchors import Sabotage

META = "tests/learners/test_meta_elimination.py"
EXP3P = "tests/learners/test_exp3p.py"
HEDGE = "tests/learners/test_geometric_hedge.py"
CONSTANT = "tests/theory/test_exp3p_constant.py"

SABOTAGES = (
    Sabotage(
        "live Exp3.P steps are not kept on disk",
        "uli_fast.learners._adversarial.bases:CompiledPhase.choose",
        "self.kernel.choose_once(",
        "self.kernel.choose(",
        "tests/players/test_warm.py::test_live_rounds_compile_nothing_once_they_have_been_played",
    ),
    Sabotage(
        "meta eliminates beyond 70 for 7",
        "uli_fast.learners.meta_elimination:FIXED",
        "_Mode(576.0, 7.0, 4608.0, 3.83)",
        "_Mode(576.0, 70.0, 4608.0, 3.83)",
        f"{META}::test_whole_runs_with_the_papers_constants",
    ),
    Sabotage(
        "meta eliminates beyond 0.7 for 7",
        "uli_fast.learners.meta_elimination:FIXED",
        "_Mode(576.0, 7.0, 4608.0, 3.83)",
        "_Mode(576.0, 0.7, 4608.0, 3.83)",
        f"{META}::test_exp3p_in_lanes_equals_naive_on_the_same_draws",
    ),
    Sabotage(
        "meta with delta / m^2 for delta / (2 m^2)",
        "uli_fast.learners.meta_elimination:MetaElimination.schedule.phase",
        "g = checked_g(base, features, delta / (2.0 * m**2))",
        "g = checked_g(base, features, delta / m**2)",
        f"{META}::test_phases_last_as_long_as_the_paper_says",
    ),
    Sabotage(
        "meta's F without the log log",
        "uli_fast.guarantees.formulas:_meta_g",
        'log_term = math.log(20.0 * p["K"]) - math.log(delta) + 2.0 * np.log(np.log2(t + 1.0))',
        'log_term = math.log(20.0 * p["K"]) - math.log(delta) + 0.0 * t',
        f"{META}::test_the_phase_bound_is_below_f_at_every_round_of_the_phase",
    ),
    Sabotage(
        "Exp3.P lanes without bonus",
        "uli_fast.kernels.exp3p:play_lanes",
        "1.0 - gamma, 2.0 * eta * eta",
        "1.0 - gamma, 0.0 * eta",
        f"{EXP3P}::test_lanes_follow_the_naive_reference",
    ),
    Sabotage(
        "Exp3.P lanes: loss from the whole uniform",
        "uli_fast.kernels.exp3p:settle",
        "b[U * R + r] - b[BELOW * R + r] < b[P",
        "b[U * R + r] < b[P",
        f"{EXP3P}::test_lanes_and_the_reference_agree_in_distribution",
    ),
    Sabotage(
        "Exp3.P lanes rescale one lane too few",
        "uli_fast.kernels.exp3p:rescale",
        "W[r] *= factor",
        "W[r] *= factor if r else 1.0",
        f"{EXP3P}::test_lanes_follow_the_naive_reference",
    ),
    Sabotage(
        "Exp3.P lanes: the middle polynomial a degree short",
        "uli_fast.kernels.exp3p:_grown_steadily",
        "fma(square, fma(y, 1 / 5040.0, 1 / 720.0)",
        "fma(square, 1 / 720.0",
        f"{EXP3P}::test_growth_is_as_good_as_exp_where_it_is_used",
    ),
    Sabotage(
        "Exp3.P lanes: the longest polynomial a degree short",
        "uli_fast.kernels.exp3p:_grown_steeply",
        "fma(square, 1 / 87178291200.0, fma(",
        "fma(square, 0.0, fma(",
        f"{EXP3P}::test_a_polynomial_is_cut_off_below_the_last_bit",
    ),
    Sabotage(
        "Exp3.P lanes: a polynomial beyond its range",
        "uli_fast.kernels.exp3p:Steady",
        "largest: float = 0.0349",
        "largest: float = 0.04",
        f"{EXP3P}::test_a_polynomial_is_cut_off_below_the_last_bit",
    ),
    Sabotage(
        "Exp3.P lanes: a polynomial for eta where 2 eta counts",
        "uli_fast.kernels.exp3p:slope_of",
        "if 2.0 * eta <=",
        "if eta <=",
        f"{EXP3P}::test_bonuses_stay_within_the_range_of_their_polynomial",
    ),
    Sabotage(
        "Exp3.P bonus for the played arm alone",
        "uli_fast.kernels.exp3p:update",
        "state.lw[a] += 2.0 * state.eta",
        "state.lw[arm] += 2.0 * state.eta",
        f"{EXP3P}::test_invariants_of_the_proof",
    ),
    Sabotage(
        "Exp3.P explores half as much",
        "uli_fast.kernels.exp3p:choose",
        "/ total + state.gamma / k",
        "/ total + 0.5 * state.gamma / k",
        f"{EXP3P}::test_invariants_of_the_proof",
    ),
    Sabotage(
        "a lane keeps another's stream",
        "uli_fast.kernels.exp3p:take_seats",
        "lanes.words[j * R + r] = words[m, j]",
        "lanes.words[j * R + r] = words[seats.who[0], j]",
        f"{EXP3P}::test_a_lane_does_not_depend_on_its_company",
    ),
    Sabotage(
        "a block takes its losses from one member's arms",
        "uli_fast.kernels.exp3p:take_seats",
        "= q[a], states.n[m, a]",
        "= q[seats.arms[0, j]], states.n[m, a]",
        f"{EXP3P}::test_members_with_different_arms_share_a_block",
    ),
    Sabotage(
        "losses of unbounded rewards as they are",
        "uli_fast.learners._adversarial.solo:SoloTeam._play",
        "self.losses.slope / self.shrink",
        "self.losses.slope",
        f"{META}::test_losses_of_unbounded_rewards_are_divided_by_the_phases_bound",
    ),
    Sabotage(
        "GeometricHedge forgets part of a factor",
        "uli_fast.kernels.geometric_hedge:factor",
        "for m in range(j):",
        "for m in range(1, j):",
        f"{HEDGE}::test_invariants_of_the_proof",
    ),
    Sabotage(
        "GeometricHedge without bonus",
        "uli_fast.kernels.geometric_hedge:update",
        "bonus = 2.0 * state.eta * state.beta",
        "bonus = 0.0",
        f"{HEDGE}::test_rounds_equal_naive_on_the_same_draws",
    ),
    Sabotage(
        "a linear loss without its intercept",
        "uli_fast.learners._adversarial.bases:losses_of",
        "return Losses((intercept - low) / B",
        "return Losses((0.0 - low) / B",
        f"{HEDGE}::test_simulated_rounds_equal_naive_on_the_same_draws",
    ),
    Sabotage(
        "a late loss is weighted with today's probabilities",
        "uli_fast.players._adversarial:AdversarialPlayer.absorb",
        "        if p is not None:\n",
        "        if p is None:\n",
        "tests/players/test_adversarial.py::"
        "test_late_losses_are_weighted_with_the_probabilities_of_their_draw",
    ),
    Sabotage(
        "SCRiBLe's rate stands still",
        "uli_fast.kernels.scrible:prepare",
        "state.kappa",
        "1.0",
        "tests/kernels/test_scrible.py",
    ),
    Sabotage(
        "meta, sharp: half the threshold",
        "uli_fast.learners.meta_elimination:sharp_mode",
        "threshold = 1.0 + 4.0 * kappa",
        "threshold = 0.5 + 2.0 * kappa",
        f"{CONSTANT}::test_worst_estimates_keep_the_best_arm_and_lose_the_others",
    ),
    Sabotage(
        "meta, sharp: the multiplier forgets a half of the threshold",
        "uli_fast.learners.meta_elimination:sharp_mode",
        "max(16.0 * threshold**2,",
        "max(9.0 * threshold**2,",
        f"{CONSTANT}::test_worst_estimates_keep_the_best_arm_and_lose_the_others",
    ),
    Sabotage(
        "meta, sharp: Exp3.P with 58 for 62",
        "uli_fast.learners.exp3p:Exp3P",
        "proved_constant: ClassVar[float] = 62.0",
        "proved_constant: ClassVar[float] = 58.0",
        f"{CONSTANT}::test_sixty_two_is_proved_for_the_phases_of_the_meta_algorithm",
    ),
    Sabotage(
        "meta, sharp: a first phase too short for GeometricHedge",
        "uli_fast.learners.geometric_hedge:GeometricHedge",
        "proved_rounds_each: ClassVar[float] = 1e4",
        "proved_rounds_each: ClassVar[float] = 0.0",
        f"{META}::test_the_first_phase_of_geometric_hedge_is_as_long_as_its_proof_asks_for",
    ),
)
