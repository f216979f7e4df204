"""Learners on arms: SE, PE, UCB, lil'UCB, KL-UCB, Thompson sampling."""

from tests.sabotage.anchors import Change, Sabotage

EVENTS = "tests/theory/test_nice_events.py"
NAIVE = "tests/learners/test_against_naive.py"
KL_UCB = "tests/learners/test_kl_ucb.py"
THOMPSON = "tests/learners/test_thompson_sampling.py"

SABOTAGES = (
    Sabotage(
        "SE width x 0.8",
        "uli_fast.kernels.arms.successive_width:width",
        "return float(R * np.sqrt(",
        "return float(0.8 * R * np.sqrt(",
        f"{EVENTS}::test_successive_elimination_fails_as_often_as_computed",
    ),
    Sabotage(
        "SE width without its log s",
        "uli_fast.kernels.arms.successive_width:width",
        "+ 2.0 * np.log(float(n))",
        "",
        f"{EVENTS}::test_successive_elimination_with_narrow_widths_fails_as_often_as_computed",
    ),
    Sabotage(
        "SE tests the first sweep",
        "uli_fast.kernels.successive_elimination:play_singly",
        "if best > lowest and state.clock[ROUND] > K:",
        "if best > lowest:",
        f"{NAIVE}::test_rounds_equals_naive_on_the_same_draws[successive_elimination]",
    ),
    Sabotage(
        "SE skips a fifth too far",
        "uli_fast.kernels.successive_elimination:room_to_spread",
        "return 2.0 * (n - 1) * wd",
        "return 2.4 * (n - 1) * wd",
        f"{NAIVE}::test_skipping_equals_rounds_on_a_thousand_reward_tables[successive_elimination]",
    ),
    Sabotage(
        "SE block does not count a pull",
        "uli_fast.kernels.arms.successive_skip:sweep_block",
        "state.n[a], total = n + k, state.total[a]",
        "state.n[a], total = n + k - 1, state.total[a]",
        f"{NAIVE}::test_skipping_equals_rounds_on_a_thousand_reward_tables[successive_elimination]",
    ),
    Sabotage(
        "SE block ends its last plays a round early",
        "uli_fast.kernels.arms.successive_skip:sweep_block",
        "t + (turns - 1) * m + i + 1",
        "t + (turns - 1) * m + i",
        f"{NAIVE}::test_skipping_equals_rounds_on_a_thousand_reward_tables[successive_elimination]",
    ),
    Sabotage(
        "PE quota halved",
        "uli_fast.kernels.phased_elimination:quota",
        "2.0 ** (2 * phase + 3)",
        "2.0 ** (2 * phase + 2)",
        f"{EVENTS}::test_phased_elimination_fails_as_often_as_computed",
    ),
    Sabotage(
        "PE drops an arm exactly 2^-l behind (>= for >)",
        "uli_fast.kernels.phased_elimination:close_phase",
        "best - mean > slack",
        "best - mean >= slack",
        "tests/learners/test_phased_elimination.py::test_an_arm_exactly_the_slack_behind_stays",
    ),
    Sabotage(
        "PE keeps rewards of earlier phases",
        "uli_fast.kernels.phased_elimination:close_phase",
        "start.total[a] = state.total[a]",
        "start.total[a] = 0",
        f"{NAIVE}::test_rounds_equals_naive_on_the_same_draws[phased_elimination]",
    ),
    Sabotage(
        "UCB ties go to the largest index (>= for >)",
        "uli_fast.kernels.arms.optimism:two_best",
        "if index > best:\n            arm",
        "if index >= best:\n            arm",
        f"{NAIVE}::test_rounds_equals_naive_on_the_same_draws[ucb]",
    ),
    Sabotage(
        "UCB bonus without log t",
        "uli_fast.kernels.ucb:_confidence.ucb_confidence",
        "+ 2.0 * np.log(float(t))",
        "",
        f"{NAIVE}::test_rounds_equals_naive_on_the_same_draws[ucb]",
    ),
    Sabotage(
        "lil'UCB bonus without log log",
        "uli_fast.kernels.lil_ucb:_radius.lil_ucb_radius",
        "np.log(np.log(max(n, np.e))) + level",
        "level",
        "tests/learners/test_lil_ucb.py::test_lil_ucb_plays_the_worse_arm_at_the_predicted_round",
    ),
    Sabotage(
        "optimistic blocks forget that the leader may lose",
        "uli_fast.kernels.rewards.blocks:mean_floor",
        "return float(total / (n + k))",
        "return float(total / n)",
        f"{NAIVE}::test_skipping_equals_rounds_on_a_thousand_reward_tables[lil_ucb]",
    ),
    Sabotage(
        "UCB's line against the rivals' index of now",
        "uli_fast.kernels.arms.optimistic_skip:follow_line",
        "while k >= SHORTEST_LINE:\n                rival = best_rival(rule, indices, A, t + k)",
        "while k >= SHORTEST_LINE:\n                rival = best_rival(rule, indices, A, t + 1)",
        "tests/theory/test_laws.py::test_long_leads_end_when_a_rival_has_grown",
        also=(
            Change(
                "uli_fast.kernels.arms.optimistic_skip:follow_line",
                "k = min(n, WINDOW)\n    rival = best_rival(rule, indices, A, t + k)",
                "k = min(n, WINDOW)\n    rival = best_rival(rule, indices, A, t + 1)",
            ),
        ),
    ),
    Sabotage(
        "a replication's stream depends on the seed alone",
        "uli_fast._support.streams:stream_words",
        "return _outputs(starts, first, count)",
        "return _outputs(starts, 0, 1).repeat(count, axis=0)",
        "tests/learners/test_same_path.py::test_replications_differ",
    ),
    Sabotage(
        "F of SE with 13 for 14",
        "uli_fast.guarantees.formulas:_se_mab",
        "np.sqrt(14.0 * p",
        "np.sqrt(13.0 * p",
        "tests/guarantees/test_guarantees.py::test_bounds_are_the_paper_s",
    ),
    Sabotage(
        "KL-UCB: blocks forget that the others' indices grow",
        "uli_fast.kernels.kl_ucb:safe_plays",
        "later = np.log(float(t + k + 1))",
        "later = level",
        f"{NAIVE}::test_skipping_equals_rounds_without_noise[kl_ucb]",
    ),
    Sabotage(
        "KL-UCB: a tenth less confidence",
        "uli_fast.kernels.kl_ucb:index_of",
        "above(m, level / n)",
        "above(m, 0.9 * level / n)",
        f"{KL_UCB}::test_rounds_equals_naive_on_the_same_draws",
    ),
    Sabotage(
        "KL-UCB: tangents half as steep",
        "uli_fast.kernels.kl_ucb:solve",
        "q * (1.0 - q) / (ix.pulls[a] * d)",
        "0.5 * q * (1.0 - q) / (ix.pulls[a] * d)",
        f"{KL_UCB}::test_rounds_equals_naive_on_the_same_draws",
    ),
    Sabotage(
        "KL-UCB: lines not as steep as their chord",
        "uli_fast.kernels.kl_ucb:line_of",
        "(least_sum(q, n + k, level) - floor) / k",
        "0.97 * (least_sum(q, n + k, level) - floor) / k",
        f"{KL_UCB}::test_lines_equal_rounds_on_known_coins",
    ),
    Sabotage(
        "Thompson sampling: another prior",
        "uli_fast.kernels.thompson_sampling:reshape",
        "wins + 2.0 / 3.0, losses + 2.0 / 3.0",
        "wins + 5.0 / 3.0, losses + 5.0 / 3.0",
        f"{THOMPSON}::test_chances_of_coins_are_exact",
    ),
    Sabotage(
        "Thompson sampling: live decisions say they were certain",
        "uli_fast.players.thompson_sampling:ThompsonPlayer._ask",
        "self.labels[a], self._chance(a))",
        "self.labels[a], 1.0)",
        f"{THOMPSON}::test_a_decision_s_probability_is_the_one_it_is_drawn_with",
    ),
    Sabotage(
        "Thompson sampling: chances not seen from the arm itself",
        "uli_fast.players._chances:normal_chance",
        "centre, spread = (mean - mean[a]) / deviation[a], deviation / deviation[a]",
        "centre, spread = mean / deviation[a] - mean[a] / deviation[a], deviation / deviation[a]",
        f"{THOMPSON}::test_chances_of_posteriors_narrower_than_the_last_digit_of_their_means",
    ),
)
