"""The same and others, as rows of `uli verify` see them."""

from tests.sabotage.anchors import Sabotage

VERIFY = "tests/verify/test_verify.py"

SABOTAGES = (
    Sabotage(
        "row: SE width x 0.8",
        "uli_fast.formulas.successive_elimination:width_at",
        "return R * np.sqrt(",
        "return 0.8 * R * np.sqrt(",
        f"{VERIFY}::test_a_row_holds[upperbound_pull]",
    ),
    Sabotage(
        "row: PE quota halved",
        "uli_fast.formulas.phased_elimination:phase_size",
        "2.0 ** (2 * phase + 3)",
        "2.0 ** (2 * phase + 2)",
        f"{VERIFY}::test_a_row_holds[PE_upperbound_pull]",
    ),
    Sabotage(
        "row: PE drops arms 2^(-l-1) behind",
        "uli_fast.kernels.phased_elimination:close_phase",
        "slack = 2.0 ** -state.clock[PHASE]",
        "slack = 2.0 ** (-state.clock[PHASE] - 1)",
        f"{VERIFY}::test_a_row_holds[PE_upperbound_pull]",
    ),
    Sabotage(
        "row: PE-linear eliminates beyond 2^-l for 2^(1-l)",
        "uli_fast.learners.linear_elimination:Phases.close",
        "(values + error) > 2.0 ** (1 - phase)",
        "(values + error) > 2.0 ** (-phase)",
        f"{VERIFY}::test_a_row_holds[linear_PE_upperbound_pull]",
    ),
    Sabotage(
        "row: the spanner's box is dropped, as printed",
        "uli_fast.learners._spanner_sets:Boxed.__init__",
        "self.oracle = self._built(self.exact)",
        "self.exact, self.oracle = True, self._built(False)",
        f"{VERIFY}::test_a_row_holds[bary_span-literal]",
    ),
    Sabotage(
        "row: Exp3.P lanes without bonus",
        "uli_fast.kernels.exp3p:play_lanes",
        "1.0 - gamma, 2.0 * eta * eta",
        "1.0 - gamma, 0.0 * eta",
        f"{VERIFY}::test_a_row_holds[exp3p]",
    ),
    Sabotage(
        "row: GeometricHedge without bonus",
        "uli_fast.kernels.geometric_hedge:update",
        "bonus = 2.0 * state.eta * state.beta",
        "bonus = 0.0",
        f"{VERIFY}::test_a_row_holds[GeometricHedge]",
    ),
    Sabotage(
        "row: policy bonus x 0.8",
        "uli_fast.kernels.policy_elimination:bonus",
        "min(b[0] * math.sqrt",
        "min(0.8 * b[0] * math.sqrt",
        f"{VERIFY}::test_a_row_holds[RL_ULI_main_subroutine]",
    ),
    Sabotage(
        "row: UCB bonus without log t",
        "uli_fast.formulas.ucb:level_at",
        "+ 2.0 * np.log(t)",
        "",
        f"{VERIFY}::test_a_row_holds[UCB]",
    ),
    Sabotage(
        "row: lil'UCB bonus without log log",
        "uli_fast.kernels.lil_ucb:_radius.lil_ucb_radius",
        "np.log(np.log(max(n, np.e))) + level",
        "level",
        f"{VERIFY}::test_a_row_holds[LB_lilUCB]",
    ),
    Sabotage(
        "row: the error of initial states x 0.1",
        "uli_fast.guarantees.policy_schedule:initial_error",
        "return size.H / 2.0 * math.sqrt(2.0 * size.S",
        "return size.H / 20.0 * math.sqrt(2.0 * size.S",
        f"{VERIFY}::test_a_row_holds[initial_state_concentration]",
    ),
    Sabotage(
        "row: policy bonus x 0.002",
        "uli_fast.kernels.policy_elimination:bonus",
        "min(b[0] * math.sqrt",
        "0.002 * min(b[0] * math.sqrt",
        f"{VERIFY}::test_a_row_holds[optimism_V]",
    ),
    Sabotage(
        "row: PE quota halved, and best arms are lost more often",
        "uli_fast.formulas.phased_elimination:phase_size",
        "2.0 ** (2 * phase + 3)",
        "2.0 ** (2 * phase + 2)",
        f"{VERIFY}::test_a_row_holds[discussion_expected_reg]",
    ),
    Sabotage(
        "row: lil'UCB bonus without log log, and mistakes end elsewhere",
        "uli_fast.kernels.lil_ucb:_radius.lil_ucb_radius",
        "np.log(np.log(max(n, np.e))) + level",
        "level",
        f"{VERIFY}::test_a_row_holds[LB_lilUCB-none]",
    ),
    Sabotage(
        "row: log(10 K / delta) x 0.9",
        "uli_fast.formulas.meta_elimination:log_term",
        "return math.log(10.0 * K) - math.log(delta)",
        "return 0.9 * (math.log(10.0 * K) - math.log(delta))",
        f"{VERIFY}::test_a_row_holds[hoeffding_reward_concentration]",
    ),
    Sabotage(
        "verify: a rival that never left has relapses",
        "uli_fast.verify.policy_runs:relapses",
        "late > T // 100 and away > late // 2",
        "late > T // 100",
        "tests/verify/test_relapses.py::test_a_rival_that_never_left_bad_policies_has_no_relapses",
    ),
)
