"""Races."""

from tests.sabotage.anchors import Sabotage

RACE = "tests/races/test_race.py"
RACE_FILE = "tests/study/test_race_file.py"
OUTAGES = "tests/study/test_race_outages.py"

SABOTAGES = (
    Sabotage(
        "race: threshold / 3",
        "uli_fast.races.verdict:levels",
        "log_threshold(K, ELIMINATION * delta),",
        "log_threshold(K, 3.0 * ELIMINATION * delta),",
        f"{RACE}::test_equals_naive_decision_by_decision",
    ),
    Sabotage(
        "race: the union over candidates is forgotten",
        "uli_fast.races.verdict:levels",
        "log_threshold(K, ELIMINATION * delta),",
        "log_threshold(2, ELIMINATION * delta),",
        f"{RACE}::test_equals_naive_decision_by_decision",
    ),
    Sabotage(
        "race: a list without its correction",
        "uli_fast.kernels.race:highest_mean",
        "return 0.0 if N == 0 else min(1.0, max(-1.0, -S / (N - n)))",
        "return 0.0",
        f"{RACE}::test_step_3_the_kernels_wealth_is_a_supermartingale_on_a_list",
    ),
    Sabotage(
        "race: the variance proxy of independent scores",
        "uli_fast.kernels.race:variance",
        "if N == 0:\n        return 1.0\n    return 0.0 if n == N",
        "if N == 0:\n        return 0.5\n    return 0.0 if n == N",
        f"{RACE}::test_step_3_and_in_a_population",
    ),
    Sabotage(
        "race: the scaled sum of a list keeps the proxy of a population",
        "uli_fast.kernels.race:variance",
        "(N / (N - n)) ** 2",
        "1.0",
        f"{RACE}::test_step_3_the_kernels_wealth_is_a_supermartingale_on_a_list",
    ),
    Sabotage(
        "race: a missing score counts as 1/2",
        "uli_fast.races.scores:Scores.ends",
        "np.nan_to_num(found, nan=0.0), np.nan_to_num(found, nan=1.0)",
        "np.nan_to_num(found, nan=0.5), np.nan_to_num(found, nan=0.5)",
        f"{RACE}::test_reasons_are_kept_and_intervals_widen",
    ),
    Sabotage(
        "race: the certificate forgets c(n)",
        "uli_fast.kernels.race:gap_bound",
        "(worst + c) / n))",
        "worst / n))",
        f"{RACE}::test_gap_bound_equals_naive",
    ),
    Sabotage(
        "race: intervals of a list as if drawn with replacement",
        "uli_fast.kernels.betting.mean_intervals:log_evidence",
        "r = p if N == 0 else",
        "r = p if N >= 0 else",
        f"{RACE}::test_binary_scores_of_a_list_give_the_hypergeometric_beta_binomial_interval",
    ),
    Sabotage(
        "race: what waits is not written when Ctrl-C comes",
        "uli_fast.races.journal:RaceRecord.close",
        "try:\n            self.flush()\n        finally:",
        "try:\n            pass\n        finally:",
        f"{RACE_FILE}::test_ctrl_c_goes_through_with_nothing_lost",
    ),
    Sabotage(
        "race: an interrupted write is not looked up",
        "uli_fast.races.journal:RaceRecord.flush",
        "self._stale = True  # until",
        "self._stale = False  # until",
        f"{RACE_FILE}::test_what_comes_after_an_interrupted_write_is_written_too",
    ),
    Sabotage(
        "race: the file of another race is taken",
        "uli_fast.races.journal:_check_same",
        "if then != now:",
        "if False:",
        f"{RACE_FILE}::test_another_race_is_refused_by_name",
    ),
    Sabotage(
        "race: scores that no race asks for are passed over",
        "uli_fast.races.scores:Scores.check_all_used",
        "if self._unused:",
        "if False:",
        f"{RACE_FILE}::test_a_forged_file_is_refused",
    ),
    Sabotage(
        "race: failures of an outage are recorded",
        "uli_fast.races.scores:Scores._take",
        "if not result.failed:",
        "if True:",
        f"{OUTAGES}::test_after_an_outage_the_verdict_is_the_same_at_twenty_calls_more",
    ),
    Sabotage(
        "race: missing scores are not asked for again",
        "uli_fast.races.scores:Scores.ask_missing_again",
        "if not places:",
        "if places:",
        f"{OUTAGES}::test_scores_that_come_later_send_the_race_the_way_it_would_have_gone",
    ),
    Sabotage(
        "race: scores that no verdict rests on are counted",
        "uli_fast.races.scores:Scores.finish",
        "unused = self.done & ~self._asked",
        "unused = self.done & False",
        f"{OUTAGES}::test_scores_that_come_later_send_the_race_the_way_it_would_have_gone",
    ),
    Sabotage(
        "race: one bad instance is an outage",
        "uli_fast.races.scores:Scores._settle",
        "if len(instances) >= LEAST_INSTANCES:",
        "if instances:",
        f"{OUTAGES}::test_an_instance_that_works_for_nobody_is_missing_and_no_outage",
    ),
    Sabotage(
        "race: known scores are passed over when failures are counted",
        "uli_fast.races.scores:Scores._settle",
        "if result.call.after_score or not result.failed:",
        "if not result.failed:",
        f"{OUTAGES}::test_a_known_score_between_two_failures_counts",
    ),
    Sabotage(
        "race: certain at a tiny delta",
        "uli_fast.report.races:summary",
        "with probability {confidence(race.delta)}",
        "with probability {1.0 - race.delta:g}",
        f"{RACE}::test_probabilities_are_not_rounded_to_certainty",
    ),
    Sabotage(
        "race: nobody is tied at the end of a list",
        "uli_fast.kernels.race:envelope",
        "return tied(N) / N + N * LAST_DIGIT",
        "return 0.0",
        f"{RACE}::test_at_the_end_of_a_list_what_is_said_of_exact_means_allows_for_rounding",
    ),
    Sabotage(
        "race: exact means are not rounded outward",
        "uli_fast.kernels.betting.mean_intervals:mean_interval",
        "return max(0.0, low - N * LAST_DIGIT), min(1.0, high + N * LAST_DIGIT)",
        "return low, high",
        f"{RACE}::test_at_the_end_of_a_list_what_is_said_of_exact_means_allows_for_rounding",
    ),
    Sabotage(
        "race: sums drift less than the mixture says",
        "uli_fast.formulas.mixture:outer_boundary",
        "(1.0 + ROUNDING)",
        "(1.0 - 1e-6)",
        f"{RACE}::test_how_far_sums_may_drift_is_the_root_of_the_mixture_from_above",
    ),
    Sabotage(
        "doctor: races are not warmed up",
        "uli_fast.cli.doctor:_warm_up_races_and_logs",
        'for about in ("list", "population"):',
        "for about in ():",
        "tests/cli/test_uli_doctor.py::test_warming_up_leaves_nothing_of_races_and_replays_to_compile",
    ),
)
