"""Live players: what is missing, what is certified, what is saved."""

from tests.sabotage.anchors import Sabotage

MISSING = "tests/players/test_missing.py"
UNITS = "tests/test_reward_units.py"
EDGES = "tests/players/test_certified_edges.py"
CERTIFIED = "tests/players/test_certificates.py"
TRUTH = "tests/players/test_certified_truth.py"
ASSUMED = "tests/players/test_assumptions.py"
HOSTILE = "tests/test_hostile.py"

SABOTAGES = (
    Sabotage(
        "a live phase closes on the first arrivals",
        "uli_fast.players._queue:DecisionQueue.settle",
        "at not in self.missing:\n                return",
        "at not in self.missing:\n                at += 1; self.settled = at; continue",
        "tests/players/test_players.py::"
        "test_a_phase_waits_for_its_whole_quota_and_keeps_the_survivors_surplus",
    ),
    Sabotage(
        "missing: SE does not widen",
        "uli_fast.kernels.successive_elimination:absorb",
        "bounds.upper[a] += missing / state.n[a]",
        "bounds.upper[a] += 0.0",
        f"{MISSING}::test_the_best_arm_stays_and_intervals_cover_whatever_is_missing[successive]",
    ),
    Sabotage(
        "missing: PE does not widen",
        "uli_fast.kernels.phased_elimination:close_phase",
        "/ m + start.missing[a] / m",
        "/ m",
        f"{MISSING}::test_the_best_arm_stays_and_intervals_cover_whatever_is_missing[phased]",
    ),
    Sabotage(
        "missing: PE intervals do not widen",
        "uli_fast.players.phased_elimination:PhasedPlayer._unit_intervals",
        "mean + width + self.memory.missing",
        "mean + width",
        f"{MISSING}::test_the_best_arm_stays_and_intervals_cover_whatever_is_missing[phased]",
    ),
    Sabotage(
        "missing: UCB averages over the plays asked for",
        "uli_fast.players._optimistic:OptimisticPlayer._settled",
        "n, total = self.came(), self.arm_state.total",
        "n, total = self.arm_state.n, self.arm_state.total",
        f"{MISSING}::test_optimism_counts_the_play_and_averages_what_came",
    ),
    Sabotage(
        "missing: linear estimates allow for nothing",
        "uli_fast.learners.linear_elimination:Phases.close",
        "error = np.abs(influence(arms, n)) @ off",
        "error = 0.0 * np.abs(influence(arms, n)) @ off",
        f"{MISSING}::test_linear_arms[-2.0-2.0]",
    ),
    Sabotage(
        "missing: F is still claimed",
        "uli_fast.players._arms:Player.certified",
        "envelope = bound if self._complete is None else math.inf",
        "envelope = bound",
        f"{MISSING}::test_few_missing_outcomes_still_let_arms_go",
    ),
    Sabotage(
        "missing: what is left out is certified",
        "uli_fast.players._arms:Player.certified",
        "if self.tally.omitted.any():",
        "if False:",
        f"{MISSING}::test_without_a_range_nothing_is_certified",
    ),
    Sabotage(
        "R: without a range one is made up",
        "uli_fast._check.rewards:noise",
        "if range_ is not None:\n        return range_ / 2.0",
        "return (range_ or 1.0) / 2.0",
        f"{UNITS}::test_without_a_range_arms_need_r",
    ),
    Sabotage(
        "R: of arms on the scale of [0, 1]",
        "uli_fast._check.rewards:unit_noise",
        "unit = noise(R, bounds, own) / scale",
        "unit = 0.5 if R is None else R",
        f"{UNITS}::test_r_is_in_reward_units_on_arms",
    ),
    Sabotage(
        "certificate: arms that are nearly flat count as flat",
        "uli_fast.learners.geometric_hedge:THINNEST",
        "1e-6",
        "0.0",
        f"{EDGES}::test_arms_that_are_nearly_flat_are_not_certified",
    ),
    Sabotage(
        "certificate: what the oracle could not exclude is cut off",
        "uli_fast.learners.spanner_elimination:SpannerPhases._box",
        "np.maximum(limits, self.spanner.reach)",
        "np.array(limits)",
        f"{EDGES}::test_a_best_arm_that_the_oracle_did_not_show_stays_in_the_box",
    ),
    Sabotage(
        "certificate: sums may be rounded away",
        "uli_fast.players._arms:Player._refuse_rounding",
        "> 1e-3 * half",
        "> math.inf",
        f"{EDGES}::test_outcomes_that_drown_in_rounding_are_not_certified",
    ),
    Sabotage(
        "intervals: an R that is too small is believed",
        "uli_fast.players._arms:Player.intervals",
        "(self.tally.omitted > 0) | self._too_narrow()",
        "self.tally.omitted > 0",
        f"{EDGES}::test_an_r_below_half_the_range_gives_no_intervals",
    ),
    Sabotage(
        "certificate: F goes on after a missing outcome",
        "uli_fast.players._arms:Player.certified",
        "latest = t if self._complete is None else self._complete",
        "latest = t",
        f"{CERTIFIED}::test_f_of_before_the_first_missing_outcome_stays",
    ),
    Sabotage(
        "certificate: earlier lower bounds are forgotten",
        "uli_fast.kernels.successive_elimination:absorb",
        "known[0, a] = max(known[0, a], bounds.lower[a])",
        "known[0, a] = bounds.lower[a]",
        f"{CERTIFIED}::test_the_bound_is_that_of_the_naive_reference",
    ),
    Sabotage(
        "certificate: an arm is compared with itself",
        "uli_fast.players._certificate:gap_bound",
        "others = np.where(high == first, second, first)",
        "others = np.full(high.size, first)",
        f"{CERTIFIED}::test_an_arm_is_compared_with_the_others",
    ),
    Sabotage(
        "certificate: outcomes that contradict each other are certified",
        "uli_fast.players._arms:Player.certified",
        "self.refuse_contradiction()\n",
        "pass\n",
        f"{CERTIFIED}::test_outcomes_that_no_means_explain_certify_nothing",
    ),
    Sabotage(
        "certificate: what was known is not saved",
        "uli_fast.players._arms:Player.parts",
        '{"arms": self.arm_state, "tally": self.tally}',
        '{"arms": self.arm_state}',
        f"{CERTIFIED}::test_what_was_known_survives_a_round_trip_bit_for_bit",
    ),
    Sabotage(
        "states of earlier versions are read",
        "uli_fast.players._player:check_schema",
        "schema != SCHEMA",
        "schema > SCHEMA",
        "tests/test_formats.py::test_states",
    ),
    Sabotage(
        "certificate: estimated losses deviate half as far",
        "uli_fast.learners.meta_elimination:FIXED",
        "_Mode(576.0, 7.0, 4608.0, 3.83)",
        "_Mode(576.0, 7.0, 4608.0, 1.91)",
        f"{TRUTH}::test_estimated_losses_on_the_edge",
    ),
    Sabotage(
        "certificate: estimates of policies err half as far",
        "uli_fast.players.policy_elimination:PolicyPlayer._close",
        "error, all_of_them = 2.0 ** (-m - 1)",
        "error, all_of_them = 2.0 ** (-m - 2)",
        f"{TRUTH}::test_policy_values_on_the_edge",
    ),
    Sabotage(
        "certificate: sets that are not nested are taken for such",
        "uli_fast.learners._spanner_sets:SpannedPhases.open",
        "self.gap = self._largest_gap(oracle, arms)",
        "self.gap = min(self.gap, self._largest_gap(oracle, arms))",
        f"{TRUTH}::test_an_arm_of_a_set_may_come_back",
    ),
    Sabotage(
        "certificate: the slope's size is not said",
        "uli_fast.players._assumptions:of_slope",
        "<a, theta>, with |<a, theta>| at most 1",
        "<a, theta>",
        f"{ASSUMED}::test_a_certificate_says_all_that_it_rests_on",
    ),
    Sabotage(
        "certificate: a mask that rewards contradict is accepted",
        "uli_fast.learners.policy_elimination:PolicyElimination.start",
        '_check.kept_choices("decision_points", points, table, support)',
        "pass",
        f"{ASSUMED}::test_a_mask_that_the_rewards_contradict_is_refused",
    ),
    Sabotage(
        "certificate: where episodes pass is not looked at",
        "uli_fast.players.policy_elimination:PolicyPlayer._take_in",
        "self._look_where(states)",
        "pass",
        f"{ASSUMED}::test_a_mask_that_an_episode_contradicts_certifies_nothing",
    ),
    Sabotage(
        "states: nothing is played again",
        "uli_fast.players:_restored",
        "verify(player, state, start)",
        "pass",
        f"{HOSTILE}::test_totals_and_masks_of_states_must_be_those_of_their_rewards",
    ),
    Sabotage(
        "states: a hash is not looked at",
        "uli_fast.players._player:LivePlayer.load",
        'if saved["hash"] != digest(head, parts):',
        "if False:",
        "tests/players/test_players.py::test_a_state_is_whole_or_refused",
    ),
    Sabotage(
        "states: when a decision was asked for is not looked at",
        "uli_fast.players._player:LivePlayer.follow",
        "if queue.settled != seen:",
        "if False:",
        "tests/learners/test_thompson_sampling.py::test_a_changed_state_is_found_out[seen]",
    ),
    Sabotage(
        "states: draws are not made again",
        "uli_fast.players._saved_states:verify",
        "if not player.repeats:",
        "if True:",
        f"{HOSTILE}::test_a_state_that_overlapped_cannot_claim_that_it_did_not",
    ),
)
