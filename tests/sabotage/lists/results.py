"""How replications are run and what is made of them: turning points, clocks, coverage, pages."""

from tests.sabotage.anchors import Sabotage

RUNNER = "tests/simulation/test_runner.py"
TURNING = "tests/simulation/test_turning_point.py"
BOARD = "tests/report/test_board.py"
CENSORED = "tests/report/test_censored.py"

SABOTAGES = (
    Sabotage(
        "runner: every group takes the first streams",
        "uli_fast.simulation.runner:play_all",
        "words[group.start : group.stop]",
        "words[: len(group)]",
        f"{RUNNER}::test_every_replication_is_kept_once_with_its_stream",
    ),
    Sabotage(
        "runner: a call forgets the number of its first replication",
        "uli_fast.simulation.runner:play_all",
        "stream_words(seed[0], seed[1], M)",
        "stream_words(seed[0], 0, M)",
        f"{RUNNER}::test_each_replication_of_a_group_draws_from_its_own_stream",
    ),
    Sabotage(
        "runner: a group overwrites the first one",
        "uli_fast.simulation.outcomes:ArmOutcome.keep",
        "rows, states = slice(group.start, group.stop), batch.states",
        "rows, states = slice(0, len(group)), batch.states",
        f"{RUNNER}::test_groups_threads_and_chunks_do_not_show",
    ),
    Sabotage(
        "runner: a batch driven from Python is done with its first replication",
        "uli_fast.learners._arms:OneByOne.advance",
        "return self._at == self._size",
        "return self._at > 0",
        f"{RUNNER}::test_groups_threads_and_chunks_do_not_show",
    ),
    Sabotage(
        "runner: replications driven from Python share a stream",
        "uli_fast.learners._arms:rows_of",
        "getattr(law, name)[r]",
        "getattr(law, name)[0]",
        f"{RUNNER}::test_a_replication_alone_is_what_it_is_in_company",
    ),
    Sabotage(
        "runner: an exhausted table is noticed in the first replication alone",
        "uli_fast.simulation.outcomes:ArmOutcome.check",
        "check_supply(pulls.max(axis=0))",
        "check_supply(pulls[0])",
        f"{RUNNER}::test_one_replication_that_exhausts_the_table_is_enough",
    ),
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
        "return self.tabled or self.uli.learner.draws or self.rival.learner.draws",
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
        "report: fewer runs than needed are said to show the promise",
        "uli_fast.report.power:runs_needed",
        "(1.0 - level) / 2.0",
        "1.0 - level",
        f"{BOARD}::test_as_many_runs_as_needed_and_no_fewer_show_the_promise",
    ),
    Sabotage(
        "report: few runs are taken for enough",
        "uli_fast.report.power:_said",
        "if highest > delta]",
        "if highest > 4.0 * delta]",
        f"{BOARD}::test_the_verdict_says_how_much_few_runs_show",
    ),
    Sabotage(
        "report: the price beside the dearest rival",
        "uli_fast.report.turning:rival_among",
        "return min(able",
        "return max(able",
        f"{BOARD}::test_the_price_is_told_beside_the_cheapest_rival",
    ),
    Sabotage(
        "report: arms certified before one is left",
        "uli_fast.report.figures_models:certified_at",
        "> 1.0, bound, 0.0)",
        "> 2.0, bound, 0.0)",
        f"{BOARD}::test_arms_are_certified_by_f_until_one_is_left",
    ),
    Sabotage(
        "report: an arm that was not eliminated counts as gone",
        "uli_fast.results.record:RunRecord.decisions",
        "gaps, made.eliminated > 0)",
        "gaps, made.eliminated >= 0)",
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
