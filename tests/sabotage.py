"""Break the package on purpose and show which test notices: ``make sabotage``.

Each sabotage is applied to a copy, with a kernel cache of its own; the named
test must fail there. It must also pass on the untouched copy, run first.
``python -m tests.sabotage --named`` runs 25 of them, one or two of every kind.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
NAIVE = "tests/learners/test_against_naive.py"
META = "tests/learners/test_meta_elimination.py"
EXP3P = "tests/learners/test_exp3p.py"
HEDGE = "tests/learners/test_geometric_hedge.py"
LINEAR = "tests/learners/test_linear_elimination.py"
SPANNER = "tests/learners/test_spanner_elimination.py"
POLICY = "tests/learners/test_policy_elimination.py"
CHOICES = f"{POLICY}::test_every_way_of_choosing_equals_enumeration_on_the_same_draws"
EVENTS = "tests/theory/test_nice_events.py"
SE = "uli_fast/kernels/successive_elimination.py"
PE = "uli_fast/kernels/phased_elimination.py"
BET = "uli_fast/kernels/betting_elimination.py"
BOOK = "uli_fast/kernels/_book.py"
LIVE, BETTOR = "uli_fast/kernels/_betting_live.py", "uli_fast/players/betting_elimination.py"
LIVE_TESTS = "tests/players/test_betting_elimination.py"
BETTING = "tests/learners/test_betting_elimination.py"
WIDTH = "uli_fast/kernels/_intervals.py"
BRIDGES = "uli_fast/kernels/_bridges.py"
LEAVING = "tests/kernels/test_event.py"
MISSING = "tests/players/test_missing.py"
CERTIFIED = "tests/players/test_certificates.py"
TRUTH = "tests/players/test_certified_truth.py"
ASSUMED = "tests/players/test_assumptions.py"
STUDY = "tests/study/test_contract.py"
DAMAGE = "tests/study/test_damage.py"
PLACE = "tests/study/test_place.py"
CRASH = "tests/study/test_crash.py"
READING = "tests/study/test_reading.py"
HOSTILE = "tests/test_hostile.py"
FLIPS = "tests/study/test_flips.py"
INTERRUPTS = "tests/study/test_interrupts.py"
JOURNAL = "uli_fast/_journal.py"
EVENT = "uli_fast/_events.py"
REMAINS = "uli_fast/_remains.py"
WAL = "uli_fast/_wal.py"
LINES = "uli_fast/kernels/_lines.py"
TOUCH = "tests/kernels/test_lines.py"
SHARDS = "tests/experiments/test_shards.py"
MERGING = "uli_fast/experiments/merging.py"
FIXED_TRIAL = "tests/planning/test_fixed_trial.py"
OPERATING = "tests/planning/test_operating_characteristics.py"
ROW = "tests/verify/test_verify.py::test_a_row_holds"
PHASES = "uli_fast/_phase_bounds.py"
SLACK = "tests/test_phase_bounds.py"
CONSTANT = "tests/theory/test_exp3p_constant.py"

# How an event gets into the journal, to be done otherwise.
COMMITTING = (Path(__file__).parent.parent / JOURNAL).read_text(encoding="utf-8")
COMMITTING = COMMITTING[COMMITTING.index('            self._run("BEGIN IMM') :]
COMMITTING = COMMITTING[: COMMITTING.index("        except")]

# Copies that are worked on at once.
WORKERS = 2
NAMED = (
    "SE width x 0.8",
    "SE width without its log s",
    "SE tests the first sweep",
    "SE skips a fifth too far",
    "PE quota halved",
    "PE drops an arm exactly 2^-l behind (>= for >)",
    "UCB ties go to the largest index (>= for >)",
    "UCB bonus without log t",
    "lil'UCB bonus without log log",
    "optimistic blocks forget that the leader may lose",
    "blocks below the ceiling are accepted unseen",
    "a replication's stream depends on the seed alone",
    "F of SE with 13 for 14",
    "a live phase closes on the first arrivals",
    "meta eliminates beyond 70 for 7",
    "Exp3.P bonus for the played arm alone",
    "GeometricHedge without bonus",
    "PE-linear eliminates beyond 2^-l for 2^(1-l)",
    "the spanner's box is dropped",
    "an exchange forgets the determinant",
    "policy bonus x 0.8",
    "policy phases half as precise",
    "missing: SE does not widen",
    "study: the chain is not checked",
    "study: an event is committed when the next one begins",
)


class Sabotage(NamedTuple):
    what: str
    file: str
    old: str
    new: str
    test: str


SABOTAGES = (
    Sabotage(
        "SE width x 0.8",
        WIDTH,
        "return float(R * np.sqrt(",
        "return float(0.8 * R * np.sqrt(",
        f"{EVENTS}::test_successive_elimination_fails_as_often_as_computed",
    ),
    Sabotage(
        "SE width without its log s",
        WIDTH,
        "+ 2.0 * np.log(float(n))",
        "",
        f"{EVENTS}::test_successive_elimination_with_narrow_widths_fails_as_often_as_computed",
    ),
    Sabotage(
        "SE tests the first sweep",
        SE,
        "if best > lowest and state.clock[ROUND] > K:",
        "if best > lowest:",
        f"{NAIVE}::test_rounds_equals_naive_on_the_same_draws[successive_elimination]",
    ),
    Sabotage(
        "SE skips a fifth too far",
        SE,
        "return 2.0 * (n - 1) * wd",
        "return 2.4 * (n - 1) * wd",
        f"{NAIVE}::test_skipping_equals_rounds_on_a_thousand_reward_tables[successive_elimination]",
    ),
    Sabotage(
        "SE block does not count a pull",
        SE,
        "state.n[a], total = n + k, state.total[a]",
        "state.n[a], total = n + k - 1, state.total[a]",
        f"{NAIVE}::test_skipping_equals_rounds_on_a_thousand_reward_tables[successive_elimination]",
    ),
    Sabotage(
        "SE block ends its last plays a round early",
        SE,
        "t + (turns - 1) * m + i + 1",
        "t + (turns - 1) * m + i",
        f"{NAIVE}::test_skipping_equals_rounds_on_a_thousand_reward_tables[successive_elimination]",
    ),
    Sabotage(
        "blocks are not watched inside",
        SE,
        "watched = not state.broken[0] and may_leave(",
        "watched = False and may_leave(",
        f"{EVENTS}::test_events_are_the_same_in_both_engines_on_shared_rewards",
    ),
    Sabotage(
        "an arm that is left alone is not watched",
        SE,
        "    if is_watched(law) and not state.broken[0]:",
        "    if False:",
        f"{EVENTS}::test_an_arm_that_is_left_alone_fails_as_often_as_computed",
    ),
    Sabotage(
        "whatever leaves its band under Q counts",
        BRIDGES,
        "    if side == NEITHER:",
        "    if True:",
        f"{LEAVING}::test_arrangements_leave_as_often_as_computed",
    ),
    Sabotage(
        "a path that leaves on the other side counts",
        BRIDGES,
        "    if (there < at * band.mu) != (side == LOW):",
        "    if False:",
        f"{LEAVING}::test_arrangements_leave_as_often_as_computed",
    ),
    Sabotage(
        "only the lower edge of the band is watched",
        BRIDGES,
        "LOW if uniform(words) < 0.5 else HIGH",
        "LOW",
        f"{LEAVING}::test_bridges_leave_as_often_as_computed",
    ),
    Sabotage(
        "misses beyond the horizon count",
        BRIDGES,
        "for i in range(min(k, limit - n)):",
        "for i in range(k):",
        f"{LEAVING}::test_arrangements_leave_as_often_as_computed",
    ),
    Sabotage(
        "live Exp3.P steps are not kept on disk",
        "uli_fast/learners/_adversarial.py",
        "self.kernel.choose_once(",
        "self.kernel.choose(",
        "tests/players/test_warm.py::test_live_rounds_compile_nothing_once_they_have_been_played",
    ),
    Sabotage(
        "binomial distances are squared in int64",
        "uli_fast/kernels/_binomial.py",
        "far = abs(k - mode)",
        "far = int(abs(k - mode))",
        "tests/kernels/test_binomial.py::test_no_draw_is_impossibly_far_from_its_mean",
    ),
    Sabotage(
        "betting: a third of the threshold",
        "uli_fast/_looks.py",
        "return math.log(K - 1) - math.log(delta) if",
        "return math.log(K - 1) - math.log(3.0 * delta) if",
        f"{BETTING}::test_failures_stay_within_delta[gaussian]",
    ),
    Sabotage(
        "betting: no union over the arms",
        "uli_fast/_looks.py",
        "return math.log(K - 1) - math.log(delta) if",
        "return -math.log(delta) if",
        f"{BETTING}::test_failures_stay_within_delta[ten arms]",
    ),
    Sabotage(
        "betting: theta from the future",
        BET,
        """    kind, leader = reward_kind(law), book.mark[LEADER]
""",
        """    kind, leader = reward_kind(law), book.mark[LEADER]
    if leader >= 0 and bets.u.shape[0] > 0:
        set_bets(book, bets, (state.total[leader] + 0.5) / (state.n[leader] + 1.0))
""",
        f"{BETTING}::test_rounds_equals_the_page_on_the_same_draws",
    ),
    Sabotage(
        "betting: the leader's bets are not divided by its plays",
        BOOK,
        "u = stake[g] / r",
        "u = stake[g]",
        f"{BETTING}::test_rounds_equals_the_page_on_the_same_draws",
    ),
    Sabotage(
        "betting: half of the variance",
        BET,
        "return log_mix(D, R * R * (book.V[j] + book.V[a]), rho)",
        "return log_mix(D, 0.5 * R * R * (book.V[j] + book.V[a]), rho)",
        f"{BETTING}::test_failures_stay_within_delta[gaussian]",
    ),
    Sabotage(
        "betting: a skipped block ends its last plays a round late",
        BET,
        "note_last(state.last, order, L, t, 0, min(k * L, T - t))",
        "note_last(state.last, order, L, t + 1, 0, min(k * L, T - t))",
        f"{BETTING}::test_skipping_equals_rounds_on_a_thousand_reward_tables",
    ),
    Sabotage(
        "betting: single rewards lose their last factors",
        BOOK,
        "if book.factors[a] == 0:",
        "if book.factors[a] < 40:",
        f"{BETTING}::test_rounds_equals_the_page_on_the_same_draws",
    ),
    Sabotage(
        "betting: F counts sweeps without the leader's plays",
        "uli_fast/_looks.py",
        'longest = int(p["K"]) - 1 + int(p["leader"])',
        'longest = int(p["K"])',
        f"{BETTING}::test_f_is_the_page_s_table_of_looks",
    ),
    Sabotage(
        "PE quota halved",
        PE,
        "2.0 ** (2 * phase + 3)",
        "2.0 ** (2 * phase + 2)",
        f"{EVENTS}::test_phased_elimination_fails_as_often_as_computed",
    ),
    Sabotage(
        "PE drops an arm exactly 2^-l behind (>= for >)",
        PE,
        "best - mean > slack",
        "best - mean >= slack",
        "tests/learners/test_phased_elimination.py::test_an_arm_exactly_the_slack_behind_stays",
    ),
    Sabotage(
        "PE keeps rewards of earlier phases",
        PE,
        "start.total[a] = state.total[a]",
        "start.total[a] = 0",
        f"{NAIVE}::test_rounds_equals_naive_on_the_same_draws[phased_elimination]",
    ),
    Sabotage(
        "UCB ties go to the largest index (>= for >)",
        "uli_fast/kernels/_optimism.py",
        "if index > best:\n            arm",
        "if index >= best:\n            arm",
        f"{NAIVE}::test_rounds_equals_naive_on_the_same_draws[ucb]",
    ),
    Sabotage(
        "UCB bonus without log t",
        "uli_fast/kernels/ucb.py",
        "+ 2.0 * np.log(float(t))",
        "",
        f"{NAIVE}::test_rounds_equals_naive_on_the_same_draws[ucb]",
    ),
    Sabotage(
        "lil'UCB bonus without log log",
        "uli_fast/kernels/lil_ucb.py",
        "np.log(np.log(max(n, np.e))) + level",
        "level",
        "tests/learners/test_lil_ucb.py::test_lil_ucb_plays_the_worse_arm_at_the_predicted_round",
    ),
    Sabotage(
        "optimistic blocks forget that the leader may lose",
        "uli_fast/kernels/_blocks.py",
        "return float(total / (n + k))",
        "return float(total / n)",
        f"{NAIVE}::test_skipping_equals_rounds_on_a_thousand_reward_tables[lil_ucb]",
    ),
    Sabotage(
        "a design is certified by long arms alone",
        "uli_fast/designs.py",
        "squares * bound > known",
        "squares * bound > 4.0 * known",
        "tests/test_designs.py::test_the_largest_leverage_is_that_of_all_arms",
    ),
    Sabotage(
        "what is left of a Bernoulli block is thrown away",
        LINES,
        "law.urn[0, a], law.urn[1, a] = left + lost, left",
        "law.urn[0, a], law.urn[1, a] = 0, 0",
        f"{TOUCH}::test_what_is_left_of_a_block_is_in_the_urn",
    ),
    Sabotage(
        "the ceiling on touching a line is too low",
        LINES,
        "return D, D * z * (1.0",
        "return D, D * z * (1.2",
        f"{TOUCH}::test_no_first_touch_is_likelier_than_the_ceiling_allows",
    ),
    Sabotage(
        "Q takes two successes too many",
        LINES,
        "* room) + 1",
        "* room) + 3",
        f"{TOUCH}::test_no_first_touch_is_likelier_than_the_ceiling_allows",
    ),
    Sabotage(
        "blocks below the ceiling are accepted unseen",
        LINES,
        "if D > 0 and math.log(rng.random()) >= safety:",
        "if D > 0:",
        f"{TOUCH}::test_blocks_end_as_single_rewards_do",
    ),
    Sabotage(
        "every touch of Q counts",
        LINES,
        "if D > 0 and math.log(rng.random()) >= safety:",
        "if D < 0:",
        f"{TOUCH}::test_blocks_end_as_single_rewards_do",
    ),
    Sabotage(
        "a block touches its line a play late",
        LINES,
        "if wins - left <= m * i - x:",
        "if wins - left <= m * (i - 1) - x:",
        f"{TOUCH}::test_blocks_end_as_single_rewards_do",
    ),
    Sabotage(
        "a line that forgets how a bonus falls",
        "uli_fast/kernels/_optimism.py",
        "c - bonus * (np.sqrt(n * (n + k)) - n) / k",
        "c - bonus",
        f"{TOUCH}::test_above_its_line_an_arm_leads",
    ),
    Sabotage(
        "UCB's line against the rivals' index of now",
        "uli_fast/kernels/_leads.py",
        "best_rival(rule, indices, A, t + k)",
        "best_rival(rule, indices, A, t + 1)",
        "tests/theory/test_laws.py::test_long_leads_end_when_a_rival_has_grown",
    ),
    Sabotage(
        "binomial draws below the mode are never refused",
        "uli_fast/kernels/_binomial.py",
        "return v * ratio <= 1.0 if k < mode",
        "return True if k < mode",
        "tests/kernels/test_binomial.py::test_draws_have_their_probabilities",
    ),
    Sabotage(
        "SE accepts every block that it has drawn",
        "uli_fast/kernels/_blocks.py",
        "accepted = bool(min(most, k - least) <= room)",
        "accepted = True",
        "tests/kernels/test_blocks.py::test_no_arrangement_of_accepted_sweeps_spreads_beyond_the_room",
    ),
    Sabotage(
        "deterministic rewards accumulated",
        "uli_fast/kernels/_rewards.py",
        "return (n + k) * law.mu[a]",
        "return total + k * law.mu[a]",
        f"{NAIVE}::test_rounds_equals_naive_on_the_same_draws",
    ),
    Sabotage(
        "a replication's stream depends on the seed alone",
        "uli_fast/simulate.py",
        "spawn_key=(replication,)",
        "spawn_key=(0,)",
        "tests/learners/test_same_path.py::test_replications_differ",
    ),
    Sabotage(
        "F of SE with 13 for 14",
        "uli_fast/guarantees.py",
        "np.sqrt(14.0 * p",
        "np.sqrt(13.0 * p",
        "tests/test_guarantees.py::test_bounds_are_the_paper_s",
    ),
    Sabotage(
        "a live phase closes on the first arrivals",
        "uli_fast/players/_base.py",
        "self._settled not in self._missing:\n                return",
        "self._settled not in self._missing:\n                self._settled += 1; continue",
        "tests/players/test_players.py::test_a_phase_waits_for_its_whole_quota_and_keeps_the_survivors_surplus",
    ),
    Sabotage(
        "meta eliminates beyond 70 for 7",
        "uli_fast/learners/meta_elimination.py",
        "_Mode(576.0, 7.0, 4608.0, 3.83)",
        "_Mode(576.0, 70.0, 4608.0, 3.83)",
        f"{META}::test_whole_runs_with_the_papers_constants",
    ),
    Sabotage(
        "meta eliminates beyond 0.7 for 7",
        "uli_fast/learners/meta_elimination.py",
        "_Mode(576.0, 7.0, 4608.0, 3.83)",
        "_Mode(576.0, 0.7, 4608.0, 3.83)",
        f"{META}::test_exp3p_in_lanes_equals_naive_on_the_same_draws",
    ),
    Sabotage(
        "meta with delta / m^2 for delta / (2 m^2)",
        "uli_fast/learners/meta_elimination.py",
        "g = checked_g(base, features, delta / (2.0 * m**2))",
        "g = checked_g(base, features, delta / m**2)",
        f"{META}::test_phases_last_as_long_as_the_paper_says",
    ),
    Sabotage(
        "meta's F without the log log",
        "uli_fast/guarantees.py",
        '    log_term = math.log(20.0 * p["K"]) - math.log(delta) + 2.0 * np.log(np.log2(t + 1.0))',
        '    log_term = math.log(20.0 * p["K"]) - math.log(delta) + 0.0 * t',
        f"{META}::test_the_phase_bound_is_below_f_at_every_round_of_the_phase",
    ),
    Sabotage(
        "Exp3.P lanes without bonus",
        "uli_fast/kernels/exp3p.py",
        "1.0 - gamma, 2.0 * eta * eta",
        "1.0 - gamma, 0.0 * eta",
        f"{EXP3P}::test_lanes_follow_the_naive_reference",
    ),
    Sabotage(
        "Exp3.P lanes: loss from the whole uniform",
        "uli_fast/kernels/exp3p.py",
        "b[U * R + r] - b[BELOW * R + r] < b[P",
        "b[U * R + r] < b[P",
        f"{EXP3P}::test_lanes_and_the_reference_agree_in_distribution",
    ),
    Sabotage(
        "Exp3.P lanes rescale one lane too few",
        "uli_fast/kernels/exp3p.py",
        "        W[r] *= factor",
        "        W[r] *= factor if r else 1.0",
        f"{EXP3P}::test_lanes_follow_the_naive_reference",
    ),
    Sabotage(
        "Exp3.P lanes: the middle polynomial a degree short",
        "uli_fast/kernels/exp3p.py",
        "fma(square, fma(y, 1 / 5040.0, 1 / 720.0)",
        "fma(square, 1 / 720.0",
        f"{EXP3P}::test_growth_is_as_good_as_exp_where_it_is_used",
    ),
    Sabotage(
        "Exp3.P lanes: the longest polynomial a degree short",
        "uli_fast/kernels/exp3p.py",
        "fma(square, 1 / 87178291200.0, fma(",
        "fma(square, 0.0, fma(",
        f"{EXP3P}::test_a_polynomial_is_cut_off_below_the_last_bit",
    ),
    Sabotage(
        "Exp3.P lanes: a polynomial beyond its range",
        "uli_fast/kernels/exp3p.py",
        "largest: float = 0.0349",
        "largest: float = 0.04",
        f"{EXP3P}::test_a_polynomial_is_cut_off_below_the_last_bit",
    ),
    Sabotage(
        "Exp3.P lanes: a polynomial for eta where 2 eta counts",
        "uli_fast/kernels/exp3p.py",
        "Steady() if 2.0 * eta <=",
        "Steady() if eta <=",
        f"{EXP3P}::test_bonuses_stay_within_the_range_of_their_polynomial",
    ),
    Sabotage(
        "Exp3.P bonus for the played arm alone",
        "uli_fast/kernels/exp3p.py",
        "        state.lw[a] += 2.0 * state.eta",
        "        state.lw[arm] += 2.0 * state.eta",
        f"{EXP3P}::test_invariants_of_the_proof",
    ),
    Sabotage(
        "Exp3.P explores half as much",
        "uli_fast/kernels/exp3p.py",
        "/ total + state.gamma / k",
        "/ total + 0.5 * state.gamma / k",
        f"{EXP3P}::test_invariants_of_the_proof",
    ),
    Sabotage(
        "a lane keeps another's generator",
        "uli_fast/learners/_lanes.py",
        "lanes.words[r::R] = self.words[i]",
        "lanes.words[r::R] = self.words[who[0]]",
        f"{EXP3P}::test_a_lane_does_not_depend_on_its_company",
    ),
    Sabotage(
        "a block takes its losses from one member's arms",
        "uli_fast/learners/_lanes.py",
        "lanes.q[r::R] = self.q[arms[:, r]]",
        "lanes.q[r::R] = self.q[arms[:, 0]]",
        f"{EXP3P}::test_members_with_different_arms_share_a_block",
    ),
    Sabotage(
        "losses of unbounded rewards as they are",
        "uli_fast/learners/_solo.py",
        "self.losses.slope / self.shrink",
        "self.losses.slope",
        f"{META}::test_losses_of_unbounded_rewards_are_divided_by_the_phases_bound",
    ),
    Sabotage(
        "GeometricHedge forgets part of a factor",
        "uli_fast/kernels/geometric_hedge.py",
        "            for m in range(j):\n",
        "            for m in range(1, j):\n",
        f"{HEDGE}::test_invariants_of_the_proof",
    ),
    Sabotage(
        "GeometricHedge without bonus",
        "uli_fast/kernels/geometric_hedge.py",
        "bonus = 2.0 * state.eta * state.beta",
        "bonus = 0.0",
        f"{HEDGE}::test_rounds_equal_naive_on_the_same_draws",
    ),
    Sabotage(
        "a linear loss without its intercept",
        "uli_fast/learners/_adversarial.py",
        "return Losses((intercept - low) / B",
        "return Losses((0.0 - low) / B",
        f"{HEDGE}::test_simulated_rounds_equal_naive_on_the_same_draws",
    ),
    Sabotage(
        "a late loss is weighted with today's probabilities",
        "uli_fast/players/adversarial.py",
        "        if p is not None:\n",
        "        if p is None:\n",
        "tests/players/test_adversarial.py::test_late_losses_are_weighted_with_the_probabilities_of_their_draw",
    ),
    Sabotage(
        "PE-linear eliminates beyond 2^-l for 2^(1-l)",
        "uli_fast/learners/linear_elimination.py",
        "(values + error) > 2.0 ** (1 - phase)",
        "(values + error) > 2.0 ** (-phase)",
        f"{LINEAR}::test_rounds_equal_naive_on_the_same_draws",
    ),
    Sabotage(
        "PE-linear weighs arms alike",
        "uli_fast/learners/_linear.py",
        "weight = np.sqrt(n[played] / n.max())",
        "weight = np.ones(int(played.sum()))",
        f"{LINEAR}::test_least_squares_weigh_arms_by_their_plays",
    ),
    Sabotage(
        "F of PE-linear with 512 for 2048",
        "uli_fast/guarantees.py",
        "np.sqrt(2048.0 *",
        "np.sqrt(512.0 *",
        f"{LINEAR}::test_the_bound_has_2048",
    ),
    Sabotage(
        "LinUCB shrinks too much",
        "uli_fast/kernels/lin_ucb.py",
        "ridge.square[a] -= along * along * shrink",
        "ridge.square[a] -= along * along",
        "tests/learners/test_lin_ucb.py::test_rounds_equal_naive_on_the_same_draws",
    ),
    Sabotage(
        "the spanner's box is dropped",
        "uli_fast/learners/spanner_elimination.py",
        "self.oracle = self._built(self.exact)",
        "self.exact, self.oracle = True, self._built(False)",
        f"{SPANNER}::test_the_trap_is_escaped_in_four_hundred_runs",
    ),
    Sabotage(
        "the spanner stops at 2 C",
        "uli_fast/spanners.py",
        "return coefficient > (1.0 if first else self.C * MARGIN)",
        "return coefficient > (1.0 if first else 2.0 * self.C)",
        f"{SPANNER}::test_random_sets",
    ),
    Sabotage(
        "an exchange forgets the determinant",
        "uli_fast/kernels/spanner_elimination.py",
        "log_det[0] += math.log(abs(pivot))",
        "log_det[0] += 0.0",
        "tests/test_spanners.py::test_exchanges_keep_the_inverse_and_the_determinant",
    ),
    Sabotage(
        "a live phase on vectors closes early",
        "uli_fast/players/spanner_elimination.py",
        "if (self._counts == self._n).all():",
        "if (self._counts >= self._n - 1).all():",
        "tests/players/test_spanner_elimination.py::test_live_play_gives_the_blocks_of_the_simulation",
    ),
    Sabotage(
        "policy bonus x 0.8",
        "uli_fast/kernels/policy_elimination.py",
        "min(b[0] * math.sqrt",
        "min(0.8 * b[0] * math.sqrt",
        CHOICES,
    ),
    Sabotage(
        "P_hat divides by one visit too many",
        "uli_fast/kernels/_mdp.py",
        "model.P[h, s, a, k] = model.N3[h, s, a, k] / n\n    return",
        "model.P[h, s, a, k] = model.N3[h, s, a, k] / (n + 1)\n    return",
        CHOICES,
    ),
    Sabotage(
        "enumeration: ties go to the largest index (>= for >)",
        "uli_fast/kernels/_enumeration.py",
        "if value > best:",
        "if value >= best:",
        f"{POLICY}::test_ties_go_to_the_smallest_index",
    ),
    Sabotage(
        "induction takes best actions only",
        "uli_fast/kernels/_induction.py",
        "for a in range(room.first[h, s]):",
        "for a in range(0):",
        CHOICES,
    ),
    Sabotage(
        "induction takes actions where nothing is to be decided",
        "uli_fast/kernels/_induction.py",
        "better = (q > best) & (a < width)",
        "better = q > best",
        f"{POLICY}::test_actions_off_the_decision_points_are_not_chosen",
    ),
    Sabotage(
        "trie passes over rows that tie",
        "uli_fast/kernels/_trie.py",
        "winner = min(winner, smallest(trie.policy[g], bits, most, n, none))",
        "pass",
        f"{POLICY}::test_ties_among_thousands_go_to_the_smallest_index",
    ),
    Sabotage(
        "trie does not clip at H",
        "uli_fast/kernels/_trie.py",
        "top = min(largest(bits, n), bits[n])",
        "top = largest(bits, n)",
        f"{POLICY}::test_ties_go_to_the_smallest_index",
    ),
    Sabotage(
        "trie takes absent policies",
        "uli_fast/learners/_policy_sets.py",
        "smallest = np.full((first.size, columns), n)",
        "smallest = np.full((first.size, columns), n - 1)",
        f"{POLICY}::test_longer_runs_on_thousands_of_policies_equal_enumeration",
    ),
    Sabotage(
        "rows of the trie end too early",
        "uli_fast/learners/_policy_sets.py",
        "end = np.minimum((last // LANES + 1) * LANES, columns)",
        "end = np.minimum(LANES, columns) + 0 * last",
        f"{POLICY}::test_longer_runs_on_thousands_of_policies_equal_enumeration",
    ),
    Sabotage(
        "trie bounds a little too low",
        "uli_fast/kernels/_trie.py",
        "value = min(value + model.c[0, s1, a], limit)",
        "value = 0.99 * min(value + model.c[0, s1, a], limit)",
        f"{POLICY}::test_ties_among_thousands_go_to_the_smallest_index",
    ),
    Sabotage(
        "suffixes of many states share a key",
        "uli_fast/learners/_policy_sets.py",
        "if key.max() > 2**40:",
        "if False:",
        f"{POLICY}::test_many_states_of_one_stage_are_chosen_as_by_enumeration",
    ),
    Sabotage(
        "search bounds a little too low",
        "uli_fast/kernels/_search.py",
        "value = min(value + c[h, s, a], float(H))",
        "value = 0.99 * min(value + c[h, s, a], float(H))",
        CHOICES,
    ),
    Sabotage(
        "search forgets who is in the set",
        "uli_fast/kernels/_search.py",
        "(value == best and not found)) and member(search):",
        "(value == best and not found)):",
        f"{POLICY}::test_longer_runs_on_thousands_of_policies_equal_enumeration",
    ),
    Sabotage(
        "policies 2^(-m-1) behind are dropped",
        "uli_fast/learners/_policy_sets.py",
        "values.max() - values <= 2.0**-m",
        "values.max() - values <= 2.0 ** (-m - 1)",
        CHOICES,
    ),
    Sabotage(
        "policy phases half as precise",
        "uli_fast/_schedule.py",
        "delta / (2.0 * m**2), 2.0 ** (-m - 1)",
        "delta / (2.0 * m**2), 2.0**-m",
        f"{POLICY}::test_phase_lengths_are_the_golden_ones",
    ),
    Sabotage(
        "F of policy elimination a phase ahead",
        "uli_fast/guarantees.py",
        "np.searchsorted(np.array(ends, np.float64), t) + 1.0",
        "np.searchsorted(np.array(ends, np.float64), t) + 2.0",
        f"{POLICY}::test_the_bound_is_a_step_per_phase",
    ),
    Sabotage(
        "a settled phase draws its transitions unconditionally",
        "uli_fast/kernels/_mdp.py",
        "(cdf[i] - below) / (1.0 - below)",
        "(cdf[i] - below)",
        f"{POLICY}::test_episodes_drawn_at_once_have_the_moments_of_episodes",
    ),
    Sabotage(
        "the ledger forgets last plays",
        "uli_fast/kernels/_ledger.py",
        "    ledger.plays[e] += 1\n    ledger.last[e] = t\n",
        "    ledger.plays[e] += 1\n    ledger.last[e] = max(ledger.last[e], 1)\n",
        f"{POLICY}::test_runs_hold_what_the_trace_says",
    ),
    Sabotage(
        "SCRiBLe's rate stands still",
        "uli_fast/kernels/scrible.py",
        "state.kappa",
        "1.0",
        "tests/kernels/test_scrible.py",
    ),
    # The same and others, as rows of `uli verify` see them.
    Sabotage(
        "row: SE width x 0.8",
        WIDTH,
        "return float(R * np.sqrt(",
        "return float(0.8 * R * np.sqrt(",
        f"{ROW}[upperbound_pull]",
    ),
    Sabotage(
        "row: PE quota halved",
        PE,
        "2.0 ** (2 * phase + 3)",
        "2.0 ** (2 * phase + 2)",
        f"{ROW}[PE_upperbound_pull]",
    ),
    Sabotage(
        "row: PE drops arms 2^(-l-1) behind",
        PE,
        "slack = 2.0 ** -state.clock[PHASE]",
        "slack = 2.0 ** (-state.clock[PHASE] - 1)",
        f"{ROW}[PE_upperbound_pull]",
    ),
    Sabotage(
        "row: PE-linear eliminates beyond 2^-l for 2^(1-l)",
        "uli_fast/learners/linear_elimination.py",
        "(values + error) > 2.0 ** (1 - phase)",
        "(values + error) > 2.0 ** (-phase)",
        f"{ROW}[linear_PE_upperbound_pull]",
    ),
    Sabotage(
        "row: the spanner's box is dropped, as printed",
        "uli_fast/learners/spanner_elimination.py",
        "self.oracle = self._built(self.exact)",
        "self.exact, self.oracle = True, self._built(False)",
        f"{ROW}[bary_span-literal]",
    ),
    Sabotage(
        "row: Exp3.P lanes without bonus",
        "uli_fast/kernels/exp3p.py",
        "1.0 - gamma, 2.0 * eta * eta",
        "1.0 - gamma, 0.0 * eta",
        f"{ROW}[exp3p]",
    ),
    Sabotage(
        "row: GeometricHedge without bonus",
        "uli_fast/kernels/geometric_hedge.py",
        "bonus = 2.0 * state.eta * state.beta",
        "bonus = 0.0",
        f"{ROW}[GeometricHedge]",
    ),
    Sabotage(
        "row: policy bonus x 0.8",
        "uli_fast/kernels/policy_elimination.py",
        "min(b[0] * math.sqrt",
        "min(0.8 * b[0] * math.sqrt",
        f"{ROW}[RL_ULI_main_subroutine]",
    ),
    Sabotage(
        "row: UCB bonus without log t",
        "uli_fast/kernels/ucb.py",
        "+ 2.0 * np.log(float(t))",
        "",
        f"{ROW}[UCB]",
    ),
    Sabotage(
        "row: lil'UCB bonus without log log",
        "uli_fast/kernels/lil_ucb.py",
        "np.log(np.log(max(n, np.e))) + level",
        "level",
        f"{ROW}[LB_lilUCB]",
    ),
    Sabotage(
        "row: the error of initial states x 0.1",
        "uli_fast/_schedule.py",
        "return size.H / 2.0 * math.sqrt(2.0 * size.S",
        "return size.H / 20.0 * math.sqrt(2.0 * size.S",
        f"{ROW}[initial_state_concentration]",
    ),
    Sabotage(
        "row: policy bonus x 0.002",
        "uli_fast/kernels/policy_elimination.py",
        "min(b[0] * math.sqrt",
        "0.002 * min(b[0] * math.sqrt",
        f"{ROW}[optimism_V]",
    ),
    Sabotage(
        "row: PE quota halved, and best arms are lost more often",
        PE,
        "2.0 ** (2 * phase + 3)",
        "2.0 ** (2 * phase + 2)",
        f"{ROW}[discussion_expected_reg]",
    ),
    Sabotage(
        "row: lil'UCB bonus without log log, and mistakes end elsewhere",
        "uli_fast/kernels/lil_ucb.py",
        "np.log(np.log(max(n, np.e))) + level",
        "level",
        f"{ROW}[LB_lilUCB-none]",
    ),
    Sabotage(
        "row: log(10 K / delta) x 0.9",
        "uli_fast/learners/_adversarial.py",
        "return math.log(10.0 * K) - math.log(delta)",
        "return 0.9 * (math.log(10.0 * K) - math.log(delta))",
        f"{ROW}[hoeffding_reward_concentration]",
    ),
    # Turning points, checkpoints.
    Sabotage(
        "a pair that leaves the table is drawn anew",
        "uli_fast/_duel.py",
        "        self.coupled = False\n",
        "        self.table, self.coupled = None, False\n",
        "tests/test_turning_point.py::test_tables_that_are_too_large_do_not_change_the_law",
    ),
    Sabotage(
        "a checkpoint does not look at closures",
        "uli_fast/_fingerprint.py",
        "value.__kwdefaults__, cells))",
        "value.__kwdefaults__))",
        "tests/experiments/test_checkpoints.py::test_a_rule_that_differs_in_its_closure_is_refused",
    ),
    Sabotage(
        "a checkpoint does not look at delta",
        "uli_fast/experiments/checkpoints.py",
        "repr(learner) if is_plain(learner)",
        "type(learner).__name__ if is_plain(learner)",
        "tests/experiments/test_checkpoints.py::test_another_run_is_refused",
    ),
    Sabotage(
        "missing: SE does not widen",
        SE,
        "bounds.upper[a] += missing / state.n[a]",
        "bounds.upper[a] += 0.0",
        f"{MISSING}::test_the_best_arm_stays_and_intervals_cover_whatever_is_missing[successive]",
    ),
    Sabotage(
        "missing: PE does not widen",
        PE,
        "/ m + start.missing[a] / m",
        "/ m",
        f"{MISSING}::test_the_best_arm_stays_and_intervals_cover_whatever_is_missing[phased]",
    ),
    Sabotage(
        "missing: PE intervals do not widen",
        "uli_fast/players/phased_elimination.py",
        "mean + self._closed_width + self._closed_missing",
        "mean + self._closed_width",
        f"{MISSING}::test_the_best_arm_stays_and_intervals_cover_whatever_is_missing[phased]",
    ),
    Sabotage(
        "missing: UCB averages over the plays asked for",
        "uli_fast/players/optimistic.py",
        "n, total = self._came(), self._state.total",
        "n, total = self._state.n, self._state.total",
        f"{MISSING}::test_optimism_counts_the_play_and_averages_what_came",
    ),
    Sabotage(
        "missing: linear estimates allow for nothing",
        "uli_fast/learners/linear_elimination.py",
        "error = np.abs(influence(arms, n)) @ off",
        "error = 0.0 * np.abs(influence(arms, n)) @ off",
        f"{MISSING}::test_linear_arms[-2.0-2.0]",
    ),
    Sabotage(
        "missing: F is still claimed",
        "uli_fast/players/_base.py",
        "envelope = bound if self._complete is None else math.inf",
        "envelope = bound",
        f"{MISSING}::test_few_missing_outcomes_still_let_arms_go",
    ),
    Sabotage(
        "missing: what is left out is certified",
        "uli_fast/players/_base.py",
        "if self._omitted.any():",
        "if False:",
        f"{MISSING}::test_without_a_range_nothing_is_certified",
    ),
    Sabotage(
        "R: without a range one is made up",
        "uli_fast/_check.py",
        "    if range_ is not None:\n        return range_ / 2.0\n",
        "    return (range_ or 1.0) / 2.0\n",
        "tests/test_reward_units.py::test_without_a_range_arms_need_r",
    ),
    Sabotage(
        "R: of arms on the scale of [0, 1]",
        "uli_fast/_check.py",
        "unit = noise(R, bounds, own) / scale",
        "unit = 0.5 if R is None else R",
        "tests/test_reward_units.py::test_r_is_in_reward_units_on_arms",
    ),
    Sabotage(
        "R: that of an older state is taken for reward units",
        "uli_fast/players/__init__.py",
        'if state["schema"] in UNIT_SCHEMAS:',
        "if False:",
        "tests/older/test_0_6_0.py::test_a_saved_player_says_and_does_what_it_did",
    ),
    Sabotage(
        "R: that of an older study is taken for reward units",
        "uli_fast/_study_setup.py",
        'if about.pop("units", None) is None:',
        'if about.pop("units", "") is None:',
        "tests/older/test_0_6_0.py::test_a_study_goes_on_as_it_would_have",
    ),
    Sabotage(
        "certificate: arms that are nearly flat count as flat",
        "uli_fast/learners/geometric_hedge.py",
        "THINNEST = 1e-6",
        "THINNEST = 0.0",
        "tests/players/test_certified_edges.py::test_arms_that_are_nearly_flat_are_not_certified",
    ),
    Sabotage(
        "certificate: what the oracle could not exclude is cut off",
        "uli_fast/learners/spanner_elimination.py",
        "np.maximum(limits, self.spanner.reach)",
        "np.array(limits)",
        "tests/players/test_certified_edges.py::test_a_best_arm_that_the_oracle_did_not_show_stays_in_the_box",
    ),
    Sabotage(
        "certificate: sums may be rounded away",
        "uli_fast/players/_base.py",
        "> 1e-3 * half",
        "> math.inf",
        "tests/players/test_certified_edges.py::test_outcomes_that_drown_in_rounding_are_not_certified",
    ),
    Sabotage(
        "intervals: an R that is too small is believed",
        "uli_fast/players/_base.py",
        "(self._omitted > 0) | self._too_narrow()",
        "self._omitted > 0",
        "tests/players/test_certified_edges.py::test_an_r_below_half_the_range_gives_no_intervals",
    ),
    Sabotage(
        "certificate: F goes on after a missing outcome",
        "uli_fast/players/_base.py",
        "latest = t if self._complete is None else self._complete",
        "latest = t",
        f"{CERTIFIED}::test_f_of_before_the_first_missing_outcome_stays",
    ),
    Sabotage(
        "certificate: earlier lower bounds are forgotten",
        SE,
        "known[0, a] = max(known[0, a], bounds.lower[a])",
        "known[0, a] = bounds.lower[a]",
        f"{CERTIFIED}::test_the_bound_is_that_of_the_naive_reference",
    ),
    Sabotage(
        "certificate: an arm is compared with itself",
        "uli_fast/players/_certificate.py",
        "others = np.where(high == first, second, first)",
        "others = np.full(high.size, first)",
        f"{CERTIFIED}::test_an_arm_is_compared_with_the_others",
    ),
    Sabotage(
        "certificate: outcomes that contradict each other are certified",
        "uli_fast/players/_base.py",
        "self._refuse_contradiction()\n",
        "pass\n",
        f"{CERTIFIED}::test_outcomes_that_no_means_explain_certify_nothing",
    ),
    Sabotage(
        "certificate: what was known is not saved",
        "uli_fast/players/_base.py",
        'if "known" in saved:',
        "if False:",
        f"{CERTIFIED}::test_what_was_known_survives_a_round_trip_bit_for_bit",
    ),
    Sabotage(
        "certificate: estimated losses deviate half as far",
        "uli_fast/learners/meta_elimination.py",
        "_Mode(576.0, 7.0, 4608.0, 3.83)",
        "_Mode(576.0, 7.0, 4608.0, 1.91)",
        f"{TRUTH}::test_estimated_losses_on_the_edge",
    ),
    Sabotage(
        "certificate: estimates of policies err half as far",
        "uli_fast/players/policy_elimination.py",
        "error, all_of_them = 2.0 ** (-m - 1)",
        "error, all_of_them = 2.0 ** (-m - 2)",
        f"{TRUTH}::test_policy_values_on_the_edge",
    ),
    Sabotage(
        "certificate: sets that are not nested are taken for such",
        "uli_fast/learners/spanner_elimination.py",
        "self.gap = self._largest_gap(oracle, arms)",
        "self.gap = min(self.gap, self._largest_gap(oracle, arms))",
        f"{TRUTH}::test_an_arm_of_a_set_may_come_back",
    ),
    Sabotage(
        "certificate: the slope's size is not said",
        "uli_fast/players/_assumptions.py",
        "<a, theta>, with |<a, theta>| at most 1",
        "<a, theta>",
        f"{ASSUMED}::test_a_certificate_says_all_that_it_rests_on",
    ),
    Sabotage(
        "certificate: a mask that rewards contradict is accepted",
        "uli_fast/learners/policy_elimination.py",
        '_check.kept_choices("decision_points", *about)',
        "pass",
        f"{ASSUMED}::test_a_mask_that_the_rewards_contradict_is_refused",
    ),
    Sabotage(
        "certificate: where episodes pass is not looked at",
        "uli_fast/players/policy_elimination.py",
        "self._look_where(states)",
        "pass",
        f"{ASSUMED}::test_a_mask_that_an_episode_contradicts_certifies_nothing",
    ),
    Sabotage(
        "study: the chain is not checked",
        EVENT,
        "intact = event.previous == previous and event.hash == digest(event)",
        "intact = True",
        f"{STUDY}::test_an_altered_or_removed_event_breaks_the_chain",
    ),
    Sabotage(
        "study: decisions are not made anew",
        "uli_fast/_trace.py",
        "or not _same(content, found)",
        "",
        f"{STUDY}::test_a_journal_that_the_learner_would_not_have_written_is_refused",
    ),
    Sabotage(
        "study: an event is committed when the next one begins",
        JOURNAL,
        COMMITTING,
        COMMITTING.replace('self._run("COMMIT")', "pass").replace(
            'self._run("BEGIN', 'self._connected().commit(), self._run("BEGIN'
        ),
        f"{CRASH}::test_nothing_acknowledged_is_lost_to_kills",
    ),
    Sabotage(
        "study: commits do not wait for the disk",
        JOURNAL,
        "PRAGMA synchronous=FULL",
        "PRAGMA synchronous=NORMAL",
        f"{STUDY}::test_what_is_on_the_disk_is_what_was_said",
    ),
    Sabotage(
        "study: a log begun anew while it is read is not noticed",
        JOURNAL,
        "return stamps[path][0], os.fstat(log.fileno()).st_ino, header",
        "return stamps[path][0], os.fstat(log.fileno()).st_ino",
        f"{READING}::test_a_log_begun_anew_meanwhile_is_read_once_more",
    ),
    Sabotage(
        "study: the log is read before its file",
        JOURNAL,
        'in zip(_stamps(path), ("", "-wal"), strict=False):',
        'in reversed(list(zip(_stamps(path), ("", "-wal"), strict=False))):',
        f"{READING}::test_a_checkpoint_meanwhile_does_no_harm",
    ),
    Sabotage(
        "study: a log without its file is not noticed",
        REMAINS,
        "if log and size < HEADER:",
        "if False:",
        f"{DAMAGE}::test_a_log_without_its_file_begins_no_new_study",
    ),
    Sabotage(
        "study: a damaged file is merged with its log",
        JOURNAL,
        "if not copied and size_of(self._log):",
        "if False:",
        f"{DAMAGE}::test_a_file_that_is_refused_can_be_put_back",
    ),
    Sabotage(
        "study: SQLite's lock is the only one",
        "uli_fast/_files.py",
        "fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)",
        "pass",
        f"{PLACE}::test_a_copy_made_by_the_driving_process_lets_nobody_in",
    ),
    Sabotage(
        "study: a forked child keeps the lock",
        JOURNAL,
        "journal._lock.leave()",
        "pass",
        f"{PLACE}::test_the_lock_ends_with_the_process_that_opened_whatever_it_forked",
    ),
    Sabotage(
        "study: another rule is let in",
        "uli_fast/_study_setup.py",
        "if begun[name] != now[name]:",
        "if False:",
        f"{STUDY}::test_a_rule_or_base_of_ones_own_that_differs_is_refused",
    ),
    Sabotage(
        "study: the lock is not kept",
        JOURNAL,
        'run("PRAGMA locking_mode=EXCLUSIVE")',
        "pass",
        f"{PLACE}::test_other_programs_that_know_sqlite_are_kept_out",
    ),
    Sabotage(
        "study: a failed commit leaves the player ahead",
        "uli_fast/study.py",
        "            self._stale = True\n            decision",
        "            decision",
        f"{STUDY}::test_a_failed_commit_leaves_the_player_as_the_disk_has_it",
    ),
    Sabotage(
        "study: a request is not remembered",
        "uli_fast/study.py",
        'known = self._trace.requests.get(_check.key("request_id", request_id))',
        'known = self._trace.requests.get("x" + _check.key("request_id", request_id))',
        f"{CRASH}::test_a_crash_at_any_point_changes_nothing",
    ),
    Sabotage(
        "study: telling again is news",
        "uli_fast/study.py",
        'if self._trace.records[position].status == "pending":',
        "if True:",
        f"{CRASH}::test_a_crash_at_any_point_changes_nothing",
    ),
    Sabotage(
        "study: events may be changed",
        EVENT,
        "BEFORE UPDATE ON event\nBEGIN SELECT RAISE(ABORT",
        "BEFORE UPDATE ON event\nBEGIN SELECT RAISE(IGNORE); SELECT RAISE(ABORT",
        f"{STUDY}::test_what_is_on_the_disk_is_what_was_said",
    ),
    Sabotage(
        "study: a bad frame ends the log",
        WAL,
        "lost = int((later > end).sum())",
        "lost = 0",
        f"{FLIPS}::test_any_field_of_a_frame_that_others_follow_is_damage",
    ),
    Sabotage(
        "study: a log with a bad header is passed over",
        WAL,
        'return "its header is not what was written"',
        'return ""',
        f"{FLIPS}::test_a_bit_of_the_header_does_not_lose_the_log",
    ),
    Sabotage(
        "study: an end that lost its mark is taken for the middle of a transaction",
        WAL,
        "(frames.size[bad] or _size_was_lost(frames, bad))",
        "frames.size[bad]",
        f"{FLIPS}::test_an_end_of_a_transaction_that_looks_like_none_is_damage",
    ),
    Sabotage(
        "study: a torn end is taken for damage",
        WAL,
        "end = int(ends[0]) if ends.size else len(right)",
        "end = bad",
        f"{FLIPS}::test_a_torn_last_transaction_is_what_a_crash_leaves",
    ),
    Sabotage(
        "study: a new one begins where a log lies",
        JOURNAL,
        "if not _read_copy(copy, self.path):",
        "if _read_copy(copy, self.path) is None:",
        f"{FLIPS}::test_no_study_is_begun_where_a_log_lies",
    ),
    Sabotage(
        "study: what failed writes left stays in the log",
        JOURNAL,
        'self._run("PRAGMA wal_checkpoint(TRUNCATE)")',
        "pass",
        f"{FLIPS}::test_what_failed_writes_leave_in_the_log_is_no_damage",
    ),
    Sabotage(
        "study: the size of the log outlives an interrupt",
        JOURNAL,
        "self._log_size = None  # unknown until",
        "pass  # unknown until",
        f"{INTERRUPTS}::test_an_interrupt_when_the_size_of_the_log_is_looked_up_is_forgiven",
    ),
    Sabotage(
        "study: an interrupt in a tell leaves the player ahead",
        "uli_fast/study.py",
        "        self._stale = True\n        try:",
        "        try:",
        f"{INTERRUPTS}::test_no_interrupt_leaves_a_study_stuck_or_loses_anything",
    ),
    Sabotage(
        "study: a second name is let in",
        REMAINS,
        "if names > 1:",
        "if False:",
        f"{PLACE}::test_a_second_name_is_refused_since_the_log_belongs_to_the_first",
    ),
    Sabotage(
        "study: a failed write makes it play everything again",
        "uli_fast/study.py",
        "if self._saved is not None:",
        "if False:",
        f"{STUDY}::test_after_a_failed_write_only_the_last_events_are_played_again",
    ),
    Sabotage(
        "study: looking writes to the file",
        JOURNAL,
        "journal = Journal(copy, path)",
        "journal = Journal(path, path)",
        "tests/study/test_crash.py::test_a_second_process_is_turned_away_and_a_killed_one_leaves_no_lock",
    ),
    Sabotage(
        "study: names are printed as they are",
        "uli_fast/cli/study.py",
        "return label(text, most)",
        "return text",
        "tests/study/test_cli.py::test_show_and_audit_tell_what_there_is_and_change_nothing",
    ),
    Sabotage(
        "files: a pipe is opened",
        "uli_fast/_files.py",
        "    if not stat.S_ISREG(found.st_mode):",
        "    if stat.S_ISCHR(found.st_mode):",
        f"{HOSTILE}::test_what_is_no_regular_file_is_never_opened",
    ),
    Sabotage(
        "files: what was looked at is not looked at again once it is open",
        "uli_fast/_files.py",
        "        _check_regular(os.fstat(file.fileno()), most)\n",
        "",
        f"{HOSTILE}::test_a_file_that_becomes_a_pipe_once_it_was_looked_at_is_refused",
    ),
    Sabotage(
        "files: loaded runs need not add up",
        "uli_fast/runs.py",
        "            check_runs(runs)\n",
        "",
        f"{HOSTILE}::test_runs_that_nobody_can_have_come_to_are_refused_however_signed",
    ),
    Sabotage(
        "files: a part may be of any size",
        "uli_fast/experiments/store.py",
        "> MOST_REPLICATIONS",
        "> 10**18",
        f"{HOSTILE}::test_a_part_that_claims_more_than_there_can_be_is_refused",
    ),
    Sabotage(
        "files: formulas hide behind white space",
        "uli_fast/_names.py",
        "if _FORMULA.match(text)",
        'if text[:1] in "=+-@"',
        f"{HOSTILE}::test_no_cell_of_an_export_begins_with_a_formula_behind_white_space",
    ),
    Sabotage(
        "states: nothing is played again",
        "uli_fast/players/__init__.py",
        "            verify(player, state, start)\n",
        "            pass\n",
        f"{HOSTILE}::test_totals_and_masks_of_states_must_be_those_of_their_rewards",
    ),
    Sabotage(
        "states: draws are not made again",
        "uli_fast/players/_verify.py",
        "return not player._overlapped and not own",
        "return False",
        f"{HOSTILE}::test_a_state_that_overlapped_cannot_claim_that_it_did_not",
    ),
    Sabotage(
        "shards: a share begins one replication late",
        "uli_fast/experiments/shards.py",
        "n * (self.number - 1) // self.of,",
        "n * (self.number - 1) // self.of + (self.number > 1),",
        f"{SHARDS}::test_shares_are_even_and_cover_every_replication_once",
    ),
    Sabotage(
        "shards: a shard forgets where its replications begin",
        "uli_fast/experiments/running.py",
        ".missing(end, first)",
        ".missing(end)",
        f"{SHARDS}::test_a_shard_holds_the_replications_of_its_share_alone",
    ),
    Sabotage(
        "merge: shards are joined in the order given",
        MERGING,
        "return [found[i] for i in range(1, n + 1)]",
        "return list(sources)",
        f"{SHARDS}::test_shards_run_in_different_ways_merge_to_the_same",
    ),
    Sabotage(
        "merge: a shard that is not finished is taken",
        MERGING,
        "        if left:\n",
        "        if left > 10**9:\n",
        f"{SHARDS}::test_what_is_not_a_whole_study_is_not_merged",
    ),
    Sabotage(
        "merge: replications of another shard are taken",
        MERGING,
        "if first < begin or first + count > end:",
        "if first + count > 10**9:",
        f"{SHARDS}::test_what_is_not_a_whole_study_is_not_merged",
    ),
    Sabotage(
        "merge: shards of other studies are taken",
        MERGING,
        'for key in ("replications", "versions", "study", "title", "cells"):',
        'for key in ("replications", "versions", "title"):',
        f"{SHARDS}::test_what_is_not_a_whole_study_is_not_merged",
    ),
    Sabotage(
        "spread: workers of other versions are taken",
        "uli_fast/experiments/running.py",
        "    if here != expected:\n",
        "    if not here:\n",
        f"{SHARDS}::test_a_worker_of_other_versions_is_refused",
    ),
    Sabotage(
        "speed: compiling counts as playing",
        "uli_fast/_clock.py",
        "return time.perf_counter() - _compiling.seconds",
        "return time.perf_counter()",
        "tests/test_clock.py::test_the_clock_of_a_thread_stands_still_while_it_compiles",
    ),
    Sabotage(
        "report: what the horizon cuts off counts as settled",
        "uli_fast/report/censored.py",
        "return np.zeros(r.replications, np.bool_)",
        "return np.ones(r.replications, np.bool_)",
        "tests/report/test_censored.py::test_nothing_is_known_to_settle_on_an_arm_set",
    ),
    Sabotage(
        "report: an arm that was not eliminated counts as gone",
        "uli_fast/report/censored.py",
        "return np.asarray(r.eliminated_at > 0)",
        "return np.asarray(r.eliminated_at >= 0)",
        "tests/report/test_censored.py::test_what_is_cut_off_is_hollow_and_ends_in_a_triangle",
    ),
    Sabotage(
        "coverage: an interval of another level",
        "uli_fast/metrics.py",
        "int(happened.sum()), (1.0 - level) / 2.0",
        "int(happened.sum()), 1.0 - level",
        "tests/test_coverage.py::test_the_ends_of_the_interval_miss_with_half_of_what_is_left_each",
    ),
    Sabotage(
        "verify: a rival that never left has relapses",
        "uli_fast/verify/policies.py",
        "late > T // 100 and away > late // 2",
        "late > T // 100",
        "tests/verify/test_relapses.py::test_a_rival_that_never_left_bad_policies_has_no_relapses",
    ),
    Sabotage(
        "progress: a slow first replication is not followed",
        "uli_fast/experiments/running.py",
        "functools.partial(play_as, versions(), watch)",
        "functools.partial(play_as, versions(), UNWATCHED)",
        "tests/experiments/test_watch.py::test_a_slow_first_replication_moves_the_bar",
    ),
    Sabotage(
        "proof of betting: the threshold is a third",
        "uli_fast/learners/_betting.py",
        "log_threshold(K, ELIMINATION * delta)",
        "log_threshold(K, 3.0 * ELIMINATION * delta)",
        "tests/theory/test_betting.py::test_simulated_drops_are_as_frequent_as_enumerated",
    ),
    Sabotage(
        "proof of betting: F of two arms forgets that the first sweep has no leader",
        "uli_fast/_looks.py",
        "return n * (1.0 + 1.0 / r) + 1.0 - 1.0 / r",
        "return n * (1.0 + 1.0 / r)",
        "tests/theory/test_betting.py::test_the_guarantee_is_the_naive_table",
    ),
    Sabotage(
        "proof of betting: enumerated bets all begin at once",
        "uli_fast/verify/betting_paths.py",
        "np.where(n >= ENTRIES, ",
        "np.where(n >= 0 * ENTRIES, ",
        "tests/theory/test_betting.py::test_paths_are_those_of_the_naive_twin",
    ),
    Sabotage(
        "proof of betting: a leader's plays count whole in the enumeration",
        "uli_fast/verify/betting_paths.py",
        "(1.0 - theta) * u / k, -theta * u / k",
        "(1.0 - theta) * u, -theta * u",
        "tests/theory/test_betting.py::test_paths_are_those_of_the_naive_twin",
    ),
    Sabotage(
        "KL-UCB: blocks forget that the others' indices grow",
        "uli_fast/kernels/kl_ucb.py",
        "later = np.log(float(t + k + 1))",
        "later = level",
        f"{NAIVE}::test_skipping_equals_rounds_without_noise[kl_ucb]",
    ),
    Sabotage(
        "KL-UCB: a tenth less confidence",
        "uli_fast/kernels/kl_ucb.py",
        "above(m, level / n)",
        "above(m, 0.9 * level / n)",
        "tests/learners/test_kl_ucb.py::test_rounds_equals_naive_on_the_same_draws",
    ),
    Sabotage(
        "KL-UCB: tangents half as steep",
        "uli_fast/kernels/kl_ucb.py",
        "q * (1.0 - q) / (ix.pulls[a] * d)",
        "0.5 * q * (1.0 - q) / (ix.pulls[a] * d)",
        "tests/learners/test_kl_ucb.py::test_rounds_equals_naive_on_the_same_draws",
    ),
    Sabotage(
        "KL-UCB: lines not as steep as their chord",
        "uli_fast/kernels/kl_ucb.py",
        "(least_sum(q, n + k, level) - floor) / k",
        "0.97 * (least_sum(q, n + k, level) - floor) / k",
        "tests/learners/test_kl_ucb.py::test_lines_equal_rounds_on_known_coins",
    ),
    Sabotage(
        "Thompson sampling: another prior",
        "uli_fast/kernels/thompson_sampling.py",
        "plays + 2.0 / 3.0",
        "plays + 5.0 / 3.0",
        "tests/learners/test_thompson_sampling.py::test_chances_of_coins_are_exact",
    ),
    Sabotage(
        "Thompson sampling: live decisions say they were certain",
        "uli_fast/players/thompson_sampling.py",
        "self.labels[a], self._chance(a))",
        "self.labels[a], 1.0)",
        "tests/learners/test_thompson_sampling.py::"
        "test_a_decision_s_probability_is_the_one_it_is_drawn_with",
    ),
    Sabotage(
        "Thompson sampling: a coupled run forgets that it draws",
        "uli_fast/_duel.py",
        "return self.tabled or draws",
        "return self.tabled",
        "tests/test_turning_point.py::test_thompson_sampling_draws_on_the_same_table",
    ),
    Sabotage(
        "fixed trial: without Bonferroni",
        "uli_fast/planning/fixed_trial.py",
        "norm.isf(self.alpha / (self.means.size - 1))",
        "norm.isf(self.alpha)",
        f"{FIXED_TRIAL}::test_chances_equal_enumeration",
    ),
    Sabotage(
        "fixed trial: one success too few beats",
        "uli_fast/planning/fixed_trial.py",
        "np.floor(s) + np.floor(d) + 1.0",
        "np.floor(s) + np.floor(d)",
        f"{FIXED_TRIAL}::test_the_least_winning_count_is_that_of_the_test",
    ),
    Sabotage(
        "plan: dropped at any time counts as dropped by the horizon",
        "uli_fast/planning/characteristics.py",
        "when <= patients",
        "when < NEVER",
        f"{OPERATING}::test_numbers_are_those_of_counting",
    ),
    Sabotage(
        "plan: patients needed among the trials that dropped at all",
        "uli_fast/planning/characteristics.py",
        "share * when.size - 1e-9",
        "share * int((when < NEVER).sum()) - 1e-9",
        f"{OPERATING}::test_the_best_arm_is_lost_as_often_as_the_runs_say",
    ),
    Sabotage(
        "plan: one of several best arms dropped counts as lost",
        "uli_fast/planning/characteristics.py",
        "[:, self.gaps == 0.0].max(axis=1)",
        "[:, self.gaps == 0.0].min(axis=1)",
        f"{OPERATING}::test_of_several_best_arms_all_must_be_lost",
    ),
    Sabotage(
        "plan: patients after the horizon are counted",
        "uli_fast/planning/operating_characteristics.py",
        "runs.plays[:, 0]",
        "runs.plays[:, -1]",
        f"{OPERATING}::test_numbers_are_those_of_counting",
    ),
    Sabotage(
        "plan: events avoided against the worst arm",
        "uli_fast/metrics.py",
        "plays.sum(axis=1) * gaps.mean()",
        "plays.sum(axis=1) * gaps.max()",
        f"{OPERATING}::test_runs_count_patients_on_inferior_arms_and_events_avoided",
    ),
    Sabotage(
        "plan: what is nearly certain is shown as certain",
        "uli_fast/report/planning.py",
        'if shown == "100.0" and chance < 1.0:',
        'if shown == "100.0" and chance < 0.5:',
        "tests/report/test_planning.py::test_only_what_is_certain_is_shown_as_certain",
    ),
    # Races.
    Sabotage(
        "race: threshold / 3",
        "uli_fast/race/verdict.py",
        "log_threshold(K, ELIMINATION * delta), single",
        "log_threshold(K, 3.0 * ELIMINATION * delta), single",
        "tests/test_race.py::test_equals_naive_decision_by_decision",
    ),
    Sabotage(
        "race: the union over candidates is forgotten",
        "uli_fast/race/verdict.py",
        "log_threshold(K, ELIMINATION * delta), single",
        "log_threshold(2, ELIMINATION * delta), single",
        "tests/test_race.py::test_equals_naive_decision_by_decision",
    ),
    Sabotage(
        "race: a list without its correction",
        "uli_fast/kernels/race.py",
        "return 0.0 if N == 0 else min(1.0, max(-1.0, -S / (N - n)))",
        "return 0.0",
        "tests/test_race.py::test_step_3_the_kernels_wealth_is_a_supermartingale_on_a_list",
    ),
    Sabotage(
        "race: the variance proxy of independent scores",
        "uli_fast/kernels/race.py",
        "    if N == 0:\n        return 1.0\n    return 0.0 if n == N",
        "    if N == 0:\n        return 0.5\n    return 0.0 if n == N",
        "tests/test_race.py::test_step_3_and_in_a_population",
    ),
    Sabotage(
        "race: the scaled sum of a list keeps the proxy of a population",
        "uli_fast/kernels/race.py",
        "(N / (N - n)) ** 2",
        "1.0",
        "tests/test_race.py::test_step_3_the_kernels_wealth_is_a_supermartingale_on_a_list",
    ),
    Sabotage(
        "race: a missing score counts as 1/2",
        "uli_fast/race/scores.py",
        "np.nan_to_num(found, nan=0.0), np.nan_to_num(found, nan=1.0)",
        "np.nan_to_num(found, nan=0.5), np.nan_to_num(found, nan=0.5)",
        "tests/test_race.py::test_reasons_are_kept_and_intervals_widen",
    ),
    Sabotage(
        "race: the certificate forgets c(n)",
        "uli_fast/kernels/race.py",
        "(worst + c) / n))",
        "worst / n))",
        "tests/test_race.py::test_gap_bound_equals_naive",
    ),
    Sabotage(
        "race: intervals of a list as if drawn with replacement",
        "uli_fast/kernels/_mean_intervals.py",
        "r = p if N == 0 else",
        "r = p if N >= 0 else",
        "tests/test_race.py::test_binary_scores_of_a_list_give_the_hypergeometric_beta_binomial_interval",
    ),
    Sabotage(
        "race: what waits is not written when Ctrl-C comes",
        "uli_fast/race/record.py",
        "        try:\n            self.flush()\n        finally:",
        "        try:\n            pass\n        finally:",
        "tests/study/test_race_file.py::test_ctrl_c_goes_through_with_nothing_lost",
    ),
    Sabotage(
        "race: an interrupted write is not looked up",
        "uli_fast/race/record.py",
        "            self._stale = True  # until",
        "            self._stale = False  # until",
        "tests/study/test_race_file.py::test_what_comes_after_an_interrupted_write_is_written_too",
    ),
    Sabotage(
        "race: the file of another race is taken",
        "uli_fast/race/record.py",
        "        if then != now:",
        "        if False:",
        "tests/study/test_race_file.py::test_another_race_is_refused_by_name",
    ),
    Sabotage(
        "race: scores that no race asks for are passed over",
        "uli_fast/race/scores.py",
        "        if self._unused:",
        "        if False:",
        "tests/study/test_race_file.py::test_a_forged_file_is_refused",
    ),
    # F of the schedule, and mode "sharp".
    Sabotage(
        "F of the schedule: SE with 3 wd for 4 wd",
        PHASES,
        '    bound: F64 = 4.0 * width(plays, p["K"], delta, p["R"])\n    return np.where',
        '    bound: F64 = 3.0 * width(plays, p["K"], delta, p["R"])\n    return np.where',
        f"{SLACK}::test_an_adversary_on_the_event_brings_successive_elimination_to_its_bound",
    ),
    Sabotage(
        "F of the schedule: SE with floor(t / K) + 1 plays",
        PHASES,
        'np.floor_divide(t - 1.0, p["K"])',
        'np.floor_divide(t, p["K"]) + 1.0',
        f"{SLACK}::test_an_adversary_on_the_event_brings_successive_elimination_to_its_bound",
    ),
    Sabotage(
        "F of the schedule: SE tested in its first sweep",
        PHASES,
        'np.where(t > p["K"] + 1.0, bound',
        'np.where(t > p["K"], bound',
        f"{SLACK}::test_no_test_is_made_before_round_k_plus_1_is_over",
    ),
    Sabotage(
        "F of the schedule: the phase after that of the round",
        PHASES,
        "gaps[np.searchsorted(ends, t)]",
        "gaps[np.searchsorted(ends, t) + 1]",
        f"{SLACK}::test_an_adversary_on_the_event_brings_phased_elimination_to_its_bound",
    ),
    Sabotage(
        "F of the schedule: a phase ends a round early",
        PHASES,
        "bisect_left(self.ends, t)",
        "bisect_left(self.ends, t + 1)",
        f"{SLACK}::test_golden_figures",
    ),
    Sabotage(
        "F of the schedule: designs of any number of arms",
        "uli_fast/learners/linear_elimination.py",
        "        if arms > most:",
        "        if False:",
        f"{SLACK}::test_a_design_of_more_arms_is_refused",
    ),
    Sabotage(
        "meta, sharp: half the threshold",
        "uli_fast/learners/meta_elimination.py",
        "threshold = 1.0 + 4.0 * kappa",
        "threshold = 0.5 + 2.0 * kappa",
        f"{CONSTANT}::test_worst_estimates_keep_the_best_arm_and_lose_the_others",
    ),
    Sabotage(
        "meta, sharp: the multiplier forgets a half of the threshold",
        "uli_fast/learners/meta_elimination.py",
        "max(16.0 * threshold**2,",
        "max(9.0 * threshold**2,",
        f"{CONSTANT}::test_worst_estimates_keep_the_best_arm_and_lose_the_others",
    ),
    Sabotage(
        "meta, sharp: Exp3.P with 58 for 62",
        "uli_fast/learners/exp3p.py",
        "proved_constant: ClassVar[float] = 62.0",
        "proved_constant: ClassVar[float] = 58.0",
        f"{CONSTANT}::test_sixty_two_is_proved_for_the_phases_of_the_meta_algorithm",
    ),
    Sabotage(
        "meta, sharp: a first phase too short for GeometricHedge",
        "uli_fast/learners/geometric_hedge.py",
        "proved_rounds_each: ClassVar[float] = 1e4",
        "proved_rounds_each: ClassVar[float] = 0.0",
        f"{META}::test_the_first_phase_of_geometric_hedge_is_as_long_as_its_proof_asks_for",
    ),
    Sabotage(
        "states of 0.7 are read with the constants of today",
        "uli_fast/players/_described.py",
        'found["mode"] = "sharp-0.7"',
        'found["mode"] = "sharp"',
        "tests/older/test_0_7_0.py::test_a_saved_player_goes_on_as_it_would_have",
    ),
    Sabotage(
        "studies of 0.7 are read with the constants of today",
        "uli_fast/_study_setup.py",
        'if about.pop("sharp", None) is None:',
        'if about.pop("sharp", None) == 0:',
        "tests/older/test_0_7_0.py::test_a_study_goes_on_as_it_would_have",
    ),
    # Replayed logs.
    Sabotage(
        "a replay uses rows twice",
        "uli_fast/_replaying.py",
        "self._at[arm] = at + n",
        "self._at[arm] = at + (n + 1) // 2",
        "tests/test_replay.py::test_queues_equal_the_naive_twin",
    ),
    Sabotage(
        "a replay goes backwards",
        "uli_fast/_log.py",
        "found = np.array(arms, np.int64), np.array(rewards, np.float64)",
        "found = np.array(arms, np.int64)[::-1], np.array(rewards, np.float64)[::-1]",
        "tests/test_replay.py::test_blocks_equal_the_naive_twin",
    ),
    Sabotage(
        "blocks of a log forget r",
        "uli_fast/kernels/_betting_live.py",
        "        r = plays[a] / sweeps\n",
        "        r = 1.0\n",
        "tests/test_replay.py::test_blocks_equal_the_naive_twin",
    ),
    Sabotage(
        "all rows are used whoever made the log",
        "uli_fast/_replaying.py",
        'return in_blocks if assignment == "randomized" else in_queues',
        "return in_blocks",
        "tests/test_replay.py::test_the_best_arm_is_lost_within_delta",
    ),
    Sabotage(
        "empty cells are outcomes of 0",
        "uli_fast/_replaying.py",
        "int(np.isnan(rewards).sum())",
        "0",
        "tests/test_replay.py::test_missing_outcomes_count_at_their_worst",
    ),
    Sabotage(
        "empty cells are outcomes of 0 in successive elimination",
        SE,
        "            lost[a] += 1\n        else:",
        "            lost[a] += 0\n        else:",
        "tests/test_replay.py::test_missing_outcomes_count_at_their_worst",
    ),
    Sabotage(
        "an arm is dropped before its rows had come",
        "uli_fast/_replaying.py",
        "row = max(row, *(queues.row(arm, n) for arm, n in plays.items()))",
        "row = min(queues.row(arm, n) for arm, n in plays.items())",
        "tests/test_replay.py::test_queues_equal_the_naive_twin",
    ),
    Sabotage(
        "stated mean: the whole of delta for theta",
        "uli_fast/planning/_staying.py",
        "BAND = 0.05",
        "BAND = 0.5",
        "tests/planning/test_stated_mean.py::test_theta_has_the_naive_band",
    ),
    Sabotage(
        "stated mean: arms that cannot lead are forgotten",
        "uli_fast/planning/_staying.py",
        "q = p * ones if r == 1 else",
        "q = p * ones if r >= 1 else",
        "tests/planning/test_stated_mean.py::test_theta_has_the_naive_band",
    ),
    Sabotage(
        "stated mean: theta is not shrunk",
        "uli_fast/planning/_staying.py",
        "least += np.minimum(0.0, 0.5 - least) / (i + 1.0)",
        "least += 0.0",
        "tests/planning/test_stated_mean.py::test_theta_has_the_naive_band",
    ),
    Sabotage(
        "stated mean: the mean of theta's band is enough",
        "uli_fast/planning/_staying.py",
        "coin(p - self.g, down0, down1)).max(axis=0)  # convex",
        "coin(p - self.g, down0, down1)).mean(axis=0)  # convex",
        "tests/planning/test_stated_mean.py::test_bounds_are_the_naive_ones",
    ),
    Sabotage(
        "stated mean: the leader has the best mean",
        "uli_fast/planning/_staying.py",
        "np.maximum(up0, coin(p, up0, lam + up1))",
        "coin(p, up0, lam + up1)",
        "tests/planning/test_stated_mean.py::test_bounds_are_the_naive_ones",
    ),
    Sabotage(
        "stated mean: a bet never leaves",
        "uli_fast/planning/_staying.py",
        "total = np.logaddexp(total, np.minimum(*left))",
        "total = total + 0.0 * left[0]",
        "tests/planning/test_stated_mean.py::test_bounds_are_the_naive_ones",
    ),
    Sabotage(
        "stated mean: bets take part from the start",
        "uli_fast/planning/_staying.py",
        "up = np.where(at[:-1] >= enter[k], u[k], 0.0)",
        "up = np.where(at[:-1] >= 0, u[k], 0.0)",
        "tests/planning/test_stated_mean.py::test_bounds_are_the_naive_ones",
    ),
    Sabotage(
        "stated mean: one leader for all",
        "uli_fast/planning/_staying.py",
        "math.log(K - 1) + s * self.level",
        "s * self.level",
        "tests/planning/test_stated_mean.py::test_bounds_are_the_naive_ones",
    ),
    Sabotage(
        "stated mean: half a wealth is a whole one",
        "uli_fast/planning/_staying.py",
        "self.level = math.log(2.0) + needed",
        "self.level = needed",
        "tests/planning/test_stated_mean.py::test_bounds_are_the_naive_ones",
    ),
    Sabotage(
        "stated mean: every arm may fail with all of the share",
        "uli_fast/planning/_staying.py",
        "math.log(TAIL) - log_threshold(self.K, self.delta)",
        "math.log(TAIL) + math.log(self.delta)",
        "tests/planning/test_stated_mean.py::test_bounds_are_the_naive_ones",
    ),
    Sabotage(
        "stated mean: one look too early",
        "uli_fast/planning/_staying.py",
        "most = int(enough[0]) + 1",
        "most = max(1, int(enough[0]))",
        "tests/planning/test_stated_mean.py::test_a_found_look_is_one_at_which_the_naive_bound_is_small",
    ),
    Sabotage(
        "stated mean: F is not looked at",
        "uli_fast/planning/stated_mean.py",
        "return known if planned is None else min(known, planned)",
        "return known if planned is None else planned",
        "tests/planning/test_stated_mean.py::test_golden_rounds",
    ),
    Sabotage(
        "stated mean: a sweep has K rounds",
        "uli_fast/planning/stated_mean.py",
        "sweeps * (K - 1 + r)",
        "sweeps * K",
        "tests/planning/test_stated_mean.py::test_golden_rounds",
    ),
    Sabotage(
        "stated mean: a step begins a round early",
        "uli_fast/planning/stated_mean.py",
        "np.searchsorted(starts, early)",
        'np.searchsorted(starts, early, side="right")',
        "tests/planning/test_stated_mean.py::test_the_bound_falls_in_steps_that_were_fixed_in_advance",
    ),
    Sabotage(
        "stated mean: a mean in other units",
        "uli_fast/planning/stated_mean.py",
        "p = (self.best_mean - self.low) / self.scale",
        "p = self.best_mean / self.scale",
        "tests/planning/test_stated_mean.py::test_reward_units",
    ),
    Sabotage(
        "stated mean: a problem's own mean is ignored",
        "uli_fast/planning/stated_mean.py",
        "abs(own - mean) > ROUNDING * arms.scale",
        "abs(own - mean) > arms.scale",
        "tests/planning/test_stated_mean.py::test_other_bad_input_is_named",
    ),
    Sabotage(
        "stated mean: unbounded rewards have a plan",
        "uli_fast/planning/stated_mean.py",
        "if arms.low is None or arms.high is None:",
        "if arms.low is None and arms.high == 1.0:",
        "tests/planning/test_stated_mean.py::test_other_bad_input_is_named",
    ),
    Sabotage(
        "stated mean: it does not say that it is a plan",
        "uli_fast/planning/stated_mean.py",
        "A plan under an assumption, not a certificate",
        "A certificate",
        "tests/planning/test_stated_mean.py::test_it_says_what_it_is",
    ),
    Sabotage(
        "live betting: a missing outcome is a half",
        LIVE,
        "        take_missing(book, odds, a, each, new[MISSING])",
        "        take_sums(book, odds, a, each, new[MISSING], 0.5 * new[MISSING])",
        f"{LIVE_TESTS}::test_no_false_certificate_against_an_adversary",
    ),
    Sabotage(
        "live betting: the bound forgets what sums may be off by",
        LIVE,
        "worst = max(worst, D + boundary(R * R * (book.V[a] + book.V[j]), level, rho))",
        "worst = max(worst, D)",
        f"{LIVE_TESTS}::test_no_false_certificate_against_an_adversary",
    ),
    Sabotage(
        "live betting: plays in a sweep of a block are forgotten",
        LIVE,
        "        r = plays[a] / sweeps",
        "        r = 1.0",
        f"{LIVE_TESTS}::test_a_block_equals_the_twin_s",
    ),
    Sabotage(
        "live betting: missing outcomes of a block are forgotten",
        LIVE,
        "            take_missing(book, odds, a, r, missing[a])",
        "            book.V[a] += 0.0",
        f"{LIVE_TESTS}::test_missing_outcomes_of_blocks_are_taken_at_their_worst",
    ),
    Sabotage(
        "live betting: intervals without the union over arms",
        BETTOR,
        "level = math.log(K) - math.log(INTERVALS",
        "level = -math.log(INTERVALS",
        f"{LIVE_TESTS}::test_intervals_share_a_tenth_of_delta",
    ),
    Sabotage(
        "live betting: F at the rounds that were asked for",
        BETTOR,
        "promise.bound(1 + min(t - 1, n * (K - 1 + r)))",
        "promise.bound(1 + len(self._arms))",
        f"{LIVE_TESTS}::test_f_s_clock_is_that_of_settled_sweeps",
    ),
    Sabotage(
        "live betting: F at the plays of unbalanced blocks",
        BETTOR,
        "promise.bound(1 + min(t - 1, n * (K - 1 + r)))",
        "promise.bound(t)",
        f"{LIVE_TESTS}::test_f_of_unbalanced_blocks_counts_sweeps_not_plays",
    ),
    Sabotage(
        "live betting: F of two arms with a leader where none led",
        BETTOR,
        "if K == 2 and n and",
        "if K == 0 and n and",
        f"{LIVE_TESTS}::test_f_s_clock_is_that_of_settled_sweeps",
    ),
    Sabotage(
        "live betting: sweeps are bet on with the latest theta",
        BETTOR,
        "            self._turn_to(epoch)\n",
        "            self._at = epoch\n",
        f"{LIVE_TESTS}::test_outcomes_are_bet_on_with_the_theta_of_their_asking",
    ),
    Sabotage(
        "live betting: an arm that is gone is asked for",
        BETTOR,
        "self._rest = [a for a in self._rest if state.active[a]]",
        "self._rest = list(self._rest)",
        f"{LIVE_TESTS}::test_no_false_certificate_against_an_adversary",
    ),
    Sabotage(
        "live betting: a block told twice counts twice",
        BETTOR,
        "        return known is not None",
        "        return False",
        f"{LIVE_TESTS}::test_a_block_told_twice_counts_once",
    ),
    Sabotage(
        "Thompson sampling: chances not seen from the arm itself",
        "uli_fast/players/_chances.py",
        "centre, spread = (mean - mean[a]) / deviation[a], deviation / deviation[a]",
        "centre, spread = mean / deviation[a] - mean[a] / deviation[a], deviation / deviation[a]",
        "tests/learners/test_thompson_sampling.py::test_chances_of_posteriors_narrower_than_the_last_digit_of_their_means",
    ),
    Sabotage(
        "fixed trial: groups of any size",
        "uli_fast/planning/fixed_trial.py",
        "    if n > LARGEST_GROUP:",
        "    if n > 10**30:",
        "tests/planning/test_fixed_trial.py::test_bad_input_names_the_argument",
    ),
    Sabotage(
        "race: certain at a tiny delta",
        "uli_fast/report/races.py",
        "with probability {confidence(race.delta)}",
        "with probability {1.0 - race.delta:g}",
        "tests/test_race.py::test_probabilities_are_not_rounded_to_certainty",
    ),
    Sabotage(
        "race: nobody is tied at the end of a list",
        "uli_fast/kernels/race.py",
        "        return tied(N) / N + N * LAST_DIGIT",
        "        return 0.0",
        "tests/test_race.py::test_at_the_end_of_a_list_what_is_said_of_exact_means_allows_for_rounding",
    ),
    Sabotage(
        "race: exact means are not rounded outward",
        "uli_fast/kernels/_mean_intervals.py",
        "return max(0.0, low - N * LAST_DIGIT), min(1.0, high + N * LAST_DIGIT)",
        "return low, high",
        "tests/test_race.py::test_at_the_end_of_a_list_what_is_said_of_exact_means_allows_for_rounding",
    ),
    Sabotage(
        "race: sums drift less than the mixture says",
        "uli_fast/kernels/_wealth.py",
        "    return math.sqrt(v + rho) * x * (1.0 + ROUNDING)",
        "    return math.sqrt(v + rho) * x * (1.0 - 1e-6)",
        "tests/test_race.py::test_how_far_sums_may_drift_is_the_root_of_the_mixture_from_above",
    ),
    Sabotage(
        "doctor: races are not warmed up",
        "uli_fast/cli/doctor.py",
        '    for about in ("list", "population"):',
        "    for about in ():",
        "tests/test_running.py::test_warming_up_leaves_nothing_of_races_and_replays_to_compile",
    ),
    Sabotage(
        "betting, told: a sweep that lost its old leader is refused",
        BETTOR,
        "min(spare.values()) >= 0",
        "set(spare.values()) == {0}",
        f"{LIVE_TESTS}::test_a_sweep_that_lost_its_old_leader_can_be_restored",
    ),
    Sabotage(
        "betting, told: any sweep may lack plays of a dropped arm",
        BETTOR,
        "spare.keys() <= left",
        "True",
        f"{LIVE_TESTS}::test_a_sweep_that_lost_its_old_leader_can_be_restored",
    ),
    Sabotage(
        "betting, told: rounding is measured by what is known",
        BETTOR,
        "least = float(half_width(float(self._state.n[active].max()), R, rho, level))",
        "least = float((self._known[1] - self._known[0]).min()) / 2.0",
        f"{LIVE_TESTS}::test_unbounded_means_that_change_are_certified_on_average",
    ),
    Sabotage(
        "betting, told: a restored player forgets how large blocks were",
        BETTOR,
        "        self._largest = max(self._largest, *means)\n",
        "",
        f"{LIVE_TESTS}::test_outcomes_too_large_for_their_sums_are_certified_neither_before_nor_"
        "after_a_restore",
    ),
    Sabotage(
        "betting, told: sums far from 0 are taken as they are",
        BETTOR,
        "far = max(self.low, -self.high, 0.0)",
        "far = 0.0",
        f"{LIVE_TESTS}::test_blocks_of_a_range_far_from_0_add_up_to_what_is_refused",
    ),
    Sabotage(
        "betting, told: ends of intervals are rounded to the nearest",
        "uli_fast/players/_base.py",
        "2.0**-50 * max",
        "0.0 * max",
        f"{LIVE_TESTS}::test_interval_ends_are_rounded_outward",
    ),
    Sabotage(
        "betting, told: arms of a log are numbered as they come",
        "uli_fast/_log.py",
        "tuple(sorted(log.labels))",
        "log.labels",
        "tests/test_replay.py::test_arms_are_numbered_by_name_and_not_by_who_came_first",
    ),
    Sabotage(
        "betting, told: queues of a range far from 0 go by sums",
        "uli_fast/_replaying.py",
        "near = player.low <= 0.0 <= player.high",
        "near = True",
        "tests/test_replay.py::test_a_range_far_from_0_is_refused_by_blocks_and_not_by_queues",
    ),
)


def red(folder: Path, test: str) -> bool:
    """Run one test in a copy; say whether it failed (an error elsewhere is not a catch)."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / ".cache")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", test],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"{test}: pytest could not run\n{done.stdout}\n{done.stderr}")
    return done.returncode == 1


def copy(folder: Path) -> None:
    for name in ("uli_fast", "tests", "examples", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder)


def work(folder: Path, chosen: list[Sabotage], caught: list[str], missed: list[str]) -> None:
    """Apply one sabotage after the other to a copy; kernels that stay the same stay compiled."""
    copy(folder)
    for test in dict.fromkeys(s.test for s in chosen):
        if red(folder, test):
            missed.append(f"{test} fails on the untouched package")
            return
    for s in chosen:
        path = folder / s.file
        text = path.read_text(encoding="utf-8")
        if s.old not in text:
            missed.append(f"{s.what}: {s.old!r} is not in {s.file}")
            continue
        path.write_text(text.replace(s.old, s.new), encoding="utf-8")
        noticed = red(folder, s.test)
        path.write_text(text, encoding="utf-8")
        (caught if noticed else missed).append(s.what)
        print(f"{'caught' if noticed else 'MISSED':7} {s.what:54} {s.test}", flush=True)


def main(only: str = "") -> int:
    """Show that sabotages are caught: all, the named 25, or those with a word in their name."""
    chosen = [s for s in SABOTAGES if only in s.what or only in s.file]
    if only == "--named":
        chosen = [s for s in SABOTAGES if s.what in NAMED]
        assert len(chosen) == len(NAMED) == 25
    # What one test should notice is played on one copy: it is run untouched only once.
    tests = sorted({s.test for s in chosen})
    caught: list[str] = []  # counted one by one: a worker may break off
    missed: list[str] = []
    with tempfile.TemporaryDirectory() as temporary:
        workers = []
        for i in range(WORKERS):
            share = [s for s in chosen if tests.index(s.test) % WORKERS == i]
            workers.append(
                threading.Thread(
                    target=work, args=(Path(temporary) / str(i), share, caught, missed)
                )
            )
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    for what in missed:
        print(f"not caught: {what}")
    print(f"{len(caught)} of {len(chosen)} caught")
    return int(len(caught) < len(chosen))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
