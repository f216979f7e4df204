"""Policies of a tabular MDP."""

from tests.sabotage.anchors import Sabotage

POLICY = "tests/learners/test_policy_elimination.py"
SETS = "tests/learners/test_policy_sets.py"
SETTLED = "tests/learners/test_settled_policies.py"
RUNS = "tests/learners/test_policy_runs.py"

SABOTAGES = (
    Sabotage(
        "policy bonus x 0.8",
        "uli_fast.kernels.policy_elimination:bonus",
        "min(b[0] * math.sqrt",
        "min(0.8 * b[0] * math.sqrt",
        f"{POLICY}::test_every_way_of_choosing_equals_enumeration_on_the_same_draws",
    ),
    Sabotage(
        "P_hat divides by one visit too many",
        "uli_fast.kernels.mdp.episodes:count",
        "model.P[h, s, a, k] = model.N3[h, s, a, k] / n\n    return",
        "model.P[h, s, a, k] = model.N3[h, s, a, k] / (n + 1)\n    return",
        f"{POLICY}::test_every_way_of_choosing_equals_enumeration_on_the_same_draws",
    ),
    Sabotage(
        "enumeration: ties go to the largest index (>= for >)",
        "uli_fast.kernels.mdp.enumeration:choose_by_enumeration",
        "if value > best:",
        "if value >= best:",
        f"{SETS}::test_ties_go_to_the_smallest_index",
    ),
    Sabotage(
        "induction takes best actions only",
        "uli_fast.kernels.mdp.backward_induction:first_action",
        "for a in range(room.first[h, s]):",
        "for a in range(0):",
        f"{POLICY}::test_every_way_of_choosing_equals_enumeration_on_the_same_draws",
    ),
    Sabotage(
        "induction takes actions where nothing is to be decided",
        "uli_fast.kernels.mdp.backward_induction:best_action",
        "better = (q > best) & (a < width)",
        "better = q > best",
        f"{SETS}::test_actions_off_the_decision_points_are_not_chosen",
    ),
    Sabotage(
        "trie passes over rows that tie",
        "uli_fast.kernels.mdp.trie:best_row",
        "winner = min(winner, smallest(trie.policy[g], bits, most, n, none))",
        "pass",
        f"{SETS}::test_ties_among_thousands_go_to_the_smallest_index",
    ),
    Sabotage(
        "trie does not clip at H",
        "uli_fast.kernels.mdp.trie:best_row",
        "top = min(largest(bits, n), bits[n])",
        "top = largest(bits, n)",
        f"{SETS}::test_ties_go_to_the_smallest_index",
    ),
    Sabotage(
        "trie takes absent policies",
        "uli_fast.learners._policies.policy_sets:rows_of",
        "smallest = np.full((first.size, columns), n)",
        "smallest = np.full((first.size, columns), n - 1)",
        f"{POLICY}::test_longer_runs_on_thousands_of_policies_equal_enumeration",
    ),
    Sabotage(
        "rows of the trie end too early",
        "uli_fast.learners._policies.policy_sets:rows_of",
        "end = np.minimum((last // LANES + 1) * LANES, columns)",
        "end = np.minimum(LANES, columns) + 0 * last",
        f"{POLICY}::test_longer_runs_on_thousands_of_policies_equal_enumeration",
    ),
    Sabotage(
        "trie bounds a little too low",
        "uli_fast.kernels.mdp.trie:bound_rows",
        "value = min(value + model.c[0, s1, a], limit)",
        "value = 0.99 * min(value + model.c[0, s1, a], limit)",
        f"{SETS}::test_ties_among_thousands_go_to_the_smallest_index",
    ),
    Sabotage(
        "suffixes of many states share a key",
        "uli_fast.learners._policies.policy_sets:distinct",
        "if key.max() > 2**40:",
        "if False:",
        f"{SETS}::test_many_states_of_one_stage_are_chosen_as_by_enumeration",
    ),
    Sabotage(
        "search bounds a little too low",
        "uli_fast.kernels.mdp.search:fill_bounds",
        "value = min(value + c[h, s, a], float(H))",
        "value = 0.99 * min(value + c[h, s, a], float(H))",
        f"{POLICY}::test_every_way_of_choosing_equals_enumeration_on_the_same_draws",
    ),
    Sabotage(
        "search forgets who is in the set",
        "uli_fast.kernels.mdp.search:search_best",
        "(value == best and not found)) and member(search):",
        "(value == best and not found)):",
        f"{POLICY}::test_longer_runs_on_thousands_of_policies_equal_enumeration",
    ),
    Sabotage(
        "policies 2^(-m-1) behind are dropped",
        "uli_fast.learners._policies.policy_sets:PolicySet.after",
        "values.max() - values <= 2.0**-m",
        "values.max() - values <= 2.0 ** (-m - 1)",
        f"{POLICY}::test_every_way_of_choosing_equals_enumeration_on_the_same_draws",
    ),
    Sabotage(
        "policy phases half as precise",
        "uli_fast.guarantees.policy_schedule:proved_length",
        "share(delta, m), 2.0 ** (-m - 1)",
        "share(delta, m), 2.0**-m",
        f"{POLICY}::test_phase_lengths_are_the_golden_ones",
    ),
    Sabotage(
        "F of policy elimination a phase ahead",
        "uli_fast.guarantees.policy_elimination:_bound.at",
        "np.searchsorted(np.array(ends, np.float64), t) + 1.0",
        "np.searchsorted(np.array(ends, np.float64), t) + 2.0",
        f"{POLICY}::test_the_bound_is_a_step_per_phase",
    ),
    Sabotage(
        "a settled phase draws its transitions unconditionally",
        "uli_fast.kernels.mdp.episodes:multinomial",
        "(cdf[i] - below) / (1.0 - below)",
        "(cdf[i] - below)",
        f"{SETTLED}::test_episodes_drawn_at_once_have_the_moments_of_episodes",
    ),
    Sabotage(
        "the policy_log forgets last plays",
        "uli_fast.kernels.mdp.policy_log:enter",
        "policy_log.plays[e] += 1\n    policy_log.last[e] = t",
        "policy_log.plays[e] += 1\n    policy_log.last[e] = max(policy_log.last[e], 1)",
        f"{RUNS}::test_runs_hold_what_the_trace_says",
    ),
)
