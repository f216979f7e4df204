"""BettingElimination, simulated and live, and its proof."""

from tests.sabotage.anchors import Sabotage

BETTING = "tests/learners/test_betting_elimination.py"
PROOF = "tests/theory/test_betting.py"
LIVE_TESTS = "tests/players/test_betting_elimination.py"
ADVERSARY = "tests/players/test_betting_adversary.py"
INTERVALS = "tests/players/test_betting_intervals.py"
BLOCKS = "tests/players/test_betting_blocks.py"
DRIFT = "tests/players/test_betting_drift.py"

SABOTAGES = (
    Sabotage(
        "betting: a third of the threshold",
        "uli_fast.formulas.betting_elimination:log_threshold",
        "return math.log(K - 1) - math.log(delta) if",
        "return math.log(K - 1) - math.log(3.0 * delta) if",
        f"{BETTING}::test_failures_stay_within_delta[gaussian]",
    ),
    Sabotage(
        "betting: no union over the arms",
        "uli_fast.formulas.betting_elimination:log_threshold",
        "return math.log(K - 1) - math.log(delta) if",
        "return -math.log(delta) if",
        f"{BETTING}::test_failures_stay_within_delta[ten arms]",
    ),
    Sabotage(
        "betting: theta from the future",
        "uli_fast.kernels.betting_elimination:close_block",
        "kind, leader = reward_kind(law), book.mark[LEADER]",
        "kind, leader = reward_kind(law), book.mark[LEADER]\n"
        "    if leader >= 0 and bets.u.shape[0] > 0:\n"
        "        set_bets(book, bets, (state.total[leader] + 0.5) / (state.n[leader] + 1.0))",
        f"{BETTING}::test_rounds_equals_the_page_on_the_same_draws",
    ),
    Sabotage(
        "betting: the leader's bets are not divided by its plays",
        "uli_fast.kernels.betting.book:fill_odds",
        "u = stake[g] / r",
        "u = stake[g]",
        f"{BETTING}::test_products_decide_as_logarithms_do[rounds]",
    ),
    Sabotage(
        "betting on coins: the leader's bets are not divided by its plays",
        "uli_fast.kernels.betting.coins:set_factors",
        "u = (u if u > -cap else -cap) / r",
        "u = u if u > -cap else -cap",
        f"{BETTING}::test_rounds_equals_the_page_on_the_same_draws",
    ),
    Sabotage(
        "betting on coins: powers lose the last reward",
        "uli_fast.kernels.betting.coins:multiply",
        "while bit > 1:",
        "while bit > 2:",
        f"{BETTING}::test_products_decide_as_logarithms_do[skip]",
    ),
    Sabotage(
        "betting on coins: waiting bets are forgotten",
        "uli_fast.kernels.betting.coins:look",
        "bets.rest[(mark[ENTERED] + 3) // 4 * 4]",
        "0.0",
        f"{BETTING}::test_products_decide_as_logarithms_do[skip]",
    ),
    Sabotage(
        "betting on coins: the event is not looked at",
        "uli_fast.kernels.betting.coins:look",
        "states.broken[m, 0] = True",
        "states.broken[m, 0] = False",
        f"{BETTING}::test_products_decide_as_logarithms_do[rounds]",
    ),
    Sabotage(
        "betting on coins: what is too close is decided nevertheless",
        "uli_fast.kernels.betting.coins:verdict",
        "if abs(x - limit) <= bets.test[MARGIN] + book.lost[0]:",
        "if abs(x - limit) <= 0.0:",
        f"{BETTING}::test_products_decide_as_logarithms_do[skip]",
    ),
    Sabotage(
        "betting on coins: a replication is played again from where its stream was",
        "uli_fast.learners._betting:CoinRuns._from_the_start",
        "law.words[own] = self._words[own]",
        "law.words[own] = law.words[own]",
        f"{BETTING}::test_products_decide_as_logarithms_do[skip]",
    ),
    Sabotage(
        "betting on coins: a cut sweep ends its last plays a round late",
        "uli_fast.kernels.betting.coins:play_coins",
        "t + (plays - 1) * L + i + 1)",
        "t + (plays - 1) * L + i + 2)",
        f"{BETTING}::test_rounds_equals_the_page_on_the_same_draws",
    ),
    Sabotage(
        "betting: half of the variance",
        "uli_fast.kernels.betting_elimination:log_second",
        "return log_mix(D, R * R * (book.V[j] + book.V[a]), rho)",
        "return log_mix(D, 0.5 * R * R * (book.V[j] + book.V[a]), rho)",
        f"{BETTING}::test_failures_stay_within_delta[gaussian]",
    ),
    Sabotage(
        "betting: a skipped block ends its last plays a round late",
        "uli_fast.kernels.betting_elimination:play_skipping",
        "note_last(state.last, order, L, t, 0, min(k * L, T - t))",
        "note_last(state.last, order, L, t + 1, 0, min(k * L, T - t))",
        f"{BETTING}::test_skipping_equals_rounds_on_a_thousand_reward_tables",
    ),
    Sabotage(
        "betting: single rewards lose their last factors",
        "uli_fast.kernels.betting.book:fold",
        "if book.factors[a] == 0:",
        "if book.factors[a] < 40:",
        f"{BETTING}::test_rounds_equals_the_page_on_the_same_draws",
    ),
    Sabotage(
        "betting: F counts sweeps without the leader's plays",
        "uli_fast.guarantees.betting_looks:_table",
        'longest = int(p["K"]) - 1 + int(p["leader"])',
        'longest = int(p["K"])',
        f"{BETTING}::test_f_is_the_page_s_table_of_looks",
    ),
    Sabotage(
        "proof of betting: the threshold is a third",
        "uli_fast.learners._betting:new_bets",
        "log_threshold(K, ELIMINATION * delta)",
        "log_threshold(K, 3.0 * ELIMINATION * delta)",
        f"{PROOF}::test_simulated_drops_are_as_frequent_as_enumerated",
    ),
    Sabotage(
        "proof of betting: F of two arms forgets that the first sweep has no leader",
        "uli_fast.guarantees.betting_looks:pair_variance",
        "return n * (1.0 + 1.0 / r) + 1.0 - 1.0 / r",
        "return n * (1.0 + 1.0 / r)",
        f"{PROOF}::test_the_guarantee_is_the_naive_table",
    ),
    Sabotage(
        "proof of betting: enumerated bets all begin at once",
        "uli_fast.verify.betting_paths:Paths.after",
        "np.where(n >= ENTRIES, ",
        "np.where(n >= 0 * ENTRIES, ",
        f"{PROOF}::test_paths_are_those_of_the_naive_twin",
    ),
    Sabotage(
        "proof of betting: a leader's plays count whole in the enumeration",
        "uli_fast.verify.betting_paths:Paths.after",
        "(1.0 - theta) * u / k, -theta * u / k",
        "(1.0 - theta) * u, -theta * u",
        f"{PROOF}::test_paths_are_those_of_the_naive_twin",
    ),
    Sabotage(
        "live betting: a missing outcome is a half",
        "uli_fast.kernels.betting.live:enter",
        "take_missing(book, odds, a, each, new[MISSING])",
        "take_sums(book, odds, a, each, new[MISSING], 0.5 * new[MISSING])",
        f"{ADVERSARY}::test_no_false_certificate_against_an_adversary",
    ),
    Sabotage(
        "live betting: the bound forgets what sums may be off by",
        "uli_fast.kernels.betting.live:gap_bound",
        "worst = max(worst, D + outer_boundary(v, level, rho))",
        "worst = max(worst, D)",
        f"{ADVERSARY}::test_no_false_certificate_against_an_adversary",
    ),
    Sabotage(
        "live betting: plays in a sweep of a block are forgotten",
        "uli_fast.kernels.betting.live:enter_block",
        "r = plays[a] / sweeps",
        "r = 1.0",
        f"{BLOCKS}::test_a_block_equals_the_twin_s",
    ),
    Sabotage(
        "live betting: missing outcomes of a block are forgotten",
        "uli_fast.kernels.betting.live:enter_block",
        "take_missing(book, odds, a, r, missing[a])",
        "book.V[a] += 0.0",
        f"{BLOCKS}::test_missing_outcomes_of_blocks_are_taken_at_their_worst",
    ),
    Sabotage(
        "live betting: intervals without the union over arms",
        "uli_fast.players.betting_elimination:BettingPlayer.__init__",
        "log_interval(K,",
        "log_interval(1,",
        f"{INTERVALS}::test_intervals_share_a_tenth_of_delta",
    ),
    Sabotage(
        "live betting: F at the rounds that were asked for",
        "uli_fast.players.betting_elimination:BettingPlayer._envelope",
        "promise.bound(1 + min(t - 1, n * (K - 1 + r)))",
        "promise.bound(1 + len(self._arms))",
        f"{INTERVALS}::test_f_s_clock_is_that_of_settled_sweeps",
    ),
    Sabotage(
        "live betting: F at the plays of unbalanced blocks",
        "uli_fast.players.betting_elimination:BettingPlayer._envelope",
        "promise.bound(1 + min(t - 1, n * (K - 1 + r)))",
        "promise.bound(t)",
        f"{BLOCKS}::test_f_of_unbalanced_blocks_counts_sweeps_not_plays",
    ),
    Sabotage(
        "live betting: F of two arms with a leader where none led",
        "uli_fast.players.betting_elimination:BettingPlayer._envelope",
        "if K == 2 and n and",
        "if K == 0 and n and",
        f"{INTERVALS}::test_f_s_clock_is_that_of_settled_sweeps",
    ),
    Sabotage(
        "live betting: sweeps are bet on with the latest theta",
        "uli_fast.players.betting_elimination:BettingPlayer._take_in",
        "            self._turn_to(epoch)\n",
        "            self._at = epoch\n",
        f"{LIVE_TESTS}::test_outcomes_are_bet_on_with_the_theta_of_their_asking",
    ),
    Sabotage(
        "live betting: an arm that is gone is asked for",
        "uli_fast.players._sweeps:Sweeps.drop",
        "self.rest[:] = [a for a in self.rest if active[a]]",
        "pass",
        f"{ADVERSARY}::test_no_false_certificate_against_an_adversary",
    ),
    Sabotage(
        "live betting: a block told twice counts twice",
        "uli_fast.players.betting_elimination:BettingPlayer._told_before",
        "return known is not None",
        "return False",
        f"{BLOCKS}::test_a_block_told_twice_counts_once",
    ),
    Sabotage(
        "betting, told: a state may hold any sweeps",
        "uli_fast.players._saved_states:compare",
        "not same(saved[name], dump(part)):",
        "part is None:",
        f"{LIVE_TESTS}::test_a_sweep_that_lost_its_old_leader_can_be_restored",
    ),
    Sabotage(
        "betting, told: rounding is measured by what is known",
        "uli_fast.players.betting_elimination:BettingPlayer._refuse_rounding",
        "least = float(half_width(float(self.arm_state.n[active].max()), R, rho, level))",
        "least = float((self.known[1] - self.known[0]).min()) / 2.0",
        f"{DRIFT}::test_unbounded_means_that_change_are_certified_on_average",
    ),
    Sabotage(
        "betting, told: a restored player forgets how large blocks were",
        "uli_fast.players.betting_elimination:BettingPlayer._note_block",
        "        self.tally.largest[0] = max(self.largest, *means)\n",
        "",
        f"{DRIFT}::"
        "test_outcomes_too_large_for_their_sums_are_certified_neither_before_nor_after_a_restore",
    ),
    Sabotage(
        "betting, told: sums far from 0 are taken as they are",
        "uli_fast.players.betting_elimination:BettingPlayer._refuse_rounded",
        "far = max(self.low, -self.high, 0.0)",
        "far = 0.0",
        f"{BLOCKS}::test_blocks_of_a_range_far_from_0_add_up_to_what_is_refused",
    ),
    Sabotage(
        "betting, told: ends of intervals are rounded to the nearest",
        "uli_fast.players._arms:Player._reward_units",
        "2.0**-50 * max",
        "0.0 * max",
        f"{INTERVALS}::test_interval_ends_are_rounded_outward",
    ),
)
