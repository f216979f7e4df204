"""What is made of runs: turning points, clocks, coverage, pages."""

from tests.sabotage.anchors import Sabotage

TURNING = "tests/simulation/test_turning_point.py"
CENSORED = "tests/report/test_censored.py"

SABOTAGES = (
    Sabotage(
        "a pair that leaves the table is drawn anew",
        "uli_fast.simulation.coupled_runs:CoupledRun._settle",
        "self.coupled = False",
        "self.table, self.coupled = None, False",
        f"{TURNING}::test_tables_that_are_too_large_do_not_change_the_law",
    ),
    Sabotage(
        "Thompson sampling: a coupled run forgets that it draws",
        "uli_fast.simulation.coupled_runs:Match.random",
        "return self.tabled or self.uli.draws or self.rival.draws",
        "return self.tabled",
        f"{TURNING}::test_thompson_sampling_draws_on_the_same_table",
    ),
    Sabotage(
        "speed: compiling counts as playing",
        "uli_fast._support.clock:now",
        "return time.perf_counter() - _compiling.seconds",
        "return time.perf_counter()",
        "tests/simulation/test_clock.py::test_the_clock_of_a_thread_stands_still_while_it_compiles",
    ),
    Sabotage(
        "report: what the horizon cuts off counts as settled",
        "uli_fast.results.record:RunRecord.settled",
        "return np.zeros(self.replications, np.bool_)",
        "return np.ones(self.replications, np.bool_)",
        f"{CENSORED}::test_nothing_is_known_to_settle_on_an_arm_set",
    ),
    Sabotage(
        "report: an arm that was not eliminated counts as gone",
        "uli_fast.results.record:RunRecord.decisions",
        "gaps, self.eliminated_at > 0)",
        "gaps, self.eliminated_at >= 0)",
        f"{CENSORED}::test_what_is_cut_off_is_hollow_and_ends_in_a_triangle",
    ),
    Sabotage(
        "coverage: an interval of another level",
        "uli_fast.results.metrics:share_of",
        "int(happened.sum()), (1.0 - level) / 2.0",
        "int(happened.sum()), 1.0 - level",
        "tests/results/test_coverage.py::test_the_ends_of_the_interval_miss_with_half_of_what_is_left_each",
    ),
)
