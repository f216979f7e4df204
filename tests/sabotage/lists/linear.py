"""Arms that are vectors: designs, spanners, PE-linear, LinUCB."""

from tests.sabotage.anchors import Change, Sabotage

LINEAR = "tests/learners/test_linear_elimination.py"
SPANNER = "tests/learners/test_spanner_elimination.py"

SABOTAGES = (
    Sabotage(
        "a design is certified by long arms alone",
        "uli_fast.geometry.designs:_largest_leverage",
        "squares * bound > known",
        "squares * bound > 4.0 * known",
        "tests/geometry/test_designs.py::test_the_largest_leverage_is_that_of_all_arms",
    ),
    Sabotage(
        "PE-linear eliminates beyond 2^-l for 2^(1-l)",
        "uli_fast.learners.linear_elimination:Phases.close",
        "(values + error) > 2.0 ** (1 - phase)",
        "(values + error) > 2.0 ** (-phase)",
        f"{LINEAR}::test_rounds_equal_naive_on_the_same_draws",
    ),
    Sabotage(
        "PE-linear weighs arms alike",
        "uli_fast.geometry.least_squares:least_squares",
        "weight = np.sqrt(n[played] / n.max())",
        "weight = np.ones(int(played.sum()))",
        f"{LINEAR}::test_least_squares_weigh_arms_by_their_plays",
        also=(
            Change(
                "uli_fast.geometry.least_squares:influence",
                "weight = np.sqrt(n[played] / n.max())",
                "weight = np.ones(int(played.sum()))",
            ),
        ),
    ),
    Sabotage(
        "F of PE-linear with 512 for 2048",
        "uli_fast.guarantees.formulas:_pe_linear",
        "np.sqrt(2048.0 *",
        "np.sqrt(512.0 *",
        f"{LINEAR}::test_the_bound_has_2048",
    ),
    Sabotage(
        "LinUCB shrinks too much",
        "uli_fast.kernels.lin_ucb:absorb",
        "ridge.square[a] -= along * along * shrink",
        "ridge.square[a] -= along * along",
        "tests/learners/test_lin_ucb.py::test_rounds_equal_naive_on_the_same_draws",
    ),
    Sabotage(
        "the spanner's box is dropped",
        "uli_fast.learners.spanner_elimination:Boxed.__init__",
        "self.oracle = self._built(self.exact)",
        "self.exact, self.oracle = True, self._built(False)",
        f"{SPANNER}::test_the_trap_is_escaped_in_four_hundred_runs",
    ),
    Sabotage(
        "the spanner stops at 2 C",
        "uli_fast.geometry.spanners:_Search._exchanges",
        "return coefficient > (1.0 if first else self.C * MARGIN)",
        "return coefficient > (1.0 if first else 2.0 * self.C)",
        f"{SPANNER}::test_random_sets",
    ),
    Sabotage(
        "an exchange forgets the determinant",
        "uli_fast.kernels.spanner_elimination:exchange",
        "log_det[0] += math.log(abs(pivot))",
        "log_det[0] += 0.0",
        "tests/geometry/test_spanners.py::test_exchanges_keep_the_inverse_and_the_determinant",
    ),
    Sabotage(
        "a live phase on vectors closes early",
        "uli_fast.players.spanner_elimination:SpannerPlayer._take_in",
        "if (self._counts == self._n).all():",
        "if (self._counts >= self._n - 1).all():",
        "tests/players/test_spanner_elimination.py::"
        "test_live_play_gives_the_blocks_of_the_simulation",
    ),
)
