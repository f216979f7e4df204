"""Laws of rewards, drawn one by one or in blocks, and what is watched inside a block."""

from tests.sabotage.anchors import Sabotage

EVENTS = "tests/theory/test_nice_events.py"
LEAVING = "tests/kernels/test_event.py"
BINOMIAL = "tests/kernels/test_binomial.py"
TOUCH = "tests/kernels/test_above_line.py"

SABOTAGES = (
    Sabotage(
        "blocks are not watched inside",
        "uli_fast.kernels.arms.successive_skip:sweep_block",
        "watched = is_watched(law) and not state.broken[0]",
        "watched = False",
        f"{EVENTS}::test_events_are_the_same_in_both_engines_on_shared_rewards",
    ),
    Sabotage(
        "an arm that is left alone is not watched",
        "uli_fast.kernels.arms.successive_blocks:batch_skipping",
        "if not states.broken[r, 0]:",
        "if False:",
        f"{EVENTS}::test_an_arm_that_is_left_alone_fails_as_often_as_computed",
    ),
    Sabotage(
        "whatever leaves its band under Q counts",
        "uli_fast.kernels.rewards.bridges:counts_under_P",
        "if side == NEITHER:",
        "if True:",
        f"{LEAVING}::test_arrangements_leave_as_often_as_computed",
    ),
    Sabotage(
        "a path that leaves on the other side counts",
        "uli_fast.kernels.rewards.bridges:counts_under_P",
        "if (there < at * band.mu) != (side == LOW):",
        "if False:",
        f"{LEAVING}::test_arrangements_leave_as_often_as_computed",
    ),
    Sabotage(
        "only the lower edge of the band is watched",
        "uli_fast.kernels.rewards.bridges:choose_law",
        "LOW if uniform(words) < 0.5 else HIGH",
        "LOW",
        f"{LEAVING}::test_bridges_leave_as_often_as_computed",
    ),
    Sabotage(
        "misses beyond the horizon count",
        "uli_fast.kernels.rewards.bridges:play_singly",
        "for i in range(min(k, limit - n)):",
        "for i in range(k):",
        f"{LEAVING}::test_arrangements_leave_as_often_as_computed",
    ),
    Sabotage(
        "binomial distances are squared in int64",
        "uli_fast.kernels.draws.binomial:_accepted",
        "far = abs(k - mode)",
        "far = int(abs(k - mode))",
        f"{BINOMIAL}::test_no_draw_is_impossibly_far_from_its_mean",
    ),
    Sabotage(
        "what is left of a Bernoulli block is thrown away",
        "uli_fast.kernels.rewards.above_line:play_above",
        "law.urn[0, a], law.urn[1, a] = left + lost, left",
        "law.urn[0, a], law.urn[1, a] = 0, 0",
        f"{TOUCH}::test_what_is_left_of_a_block_is_in_the_urn",
    ),
    Sabotage(
        "the ceiling on touching a line is too low",
        "uli_fast.kernels.rewards.above_line:tilt",
        "return D, D * z * (1.0",
        "return D, D * z * (1.2",
        f"{TOUCH}::test_no_first_touch_is_likelier_than_the_ceiling_allows",
    ),
    Sabotage(
        "Q takes two successes too many",
        "uli_fast.kernels.rewards.above_line:tilt",
        "* room) + 1",
        "* room) + 3",
        f"{TOUCH}::test_no_first_touch_is_likelier_than_the_ceiling_allows",
    ),
    Sabotage(
        "blocks below the ceiling are accepted unseen",
        "uli_fast.kernels.rewards.above_line:play_above",
        "if D > 0 and math.log(uniform(words)) >= safety:",
        "if D > 0:",
        f"{TOUCH}::test_blocks_end_as_single_rewards_do",
    ),
    Sabotage(
        "every touch of Q counts",
        "uli_fast.kernels.rewards.above_line:play_above",
        "if D > 0 and math.log(uniform(words)) >= safety:",
        "if D < 0:",
        f"{TOUCH}::test_blocks_end_as_single_rewards_do",
    ),
    Sabotage(
        "a block touches its line a play late",
        "uli_fast.kernels.rewards.above_line:play_above",
        "if wins - left <= m * i - x:",
        "if wins - left <= m * (i - 1) - x:",
        f"{TOUCH}::test_blocks_end_as_single_rewards_do",
    ),
    Sabotage(
        "a line that forgets how a bonus falls",
        "uli_fast.kernels.arms.optimism:line_of",
        "c - bonus * (np.sqrt(n * (n + k)) - n) / k",
        "c - bonus",
        f"{TOUCH}::test_above_its_line_an_arm_leads",
    ),
    Sabotage(
        "binomial draws below the mode are never refused",
        "uli_fast.kernels.draws.binomial:_accepted",
        "return v * ratio <= 1.0 if k < mode",
        "return True if k < mode",
        f"{BINOMIAL}::test_draws_have_their_probabilities",
    ),
    Sabotage(
        "SE accepts every block that it has drawn",
        "uli_fast.kernels.rewards.blocks:_draw_bernoulli",
        "accepted = bool(min(most, k - least) <= room)",
        "accepted = True",
        "tests/kernels/test_blocks.py::"
        "test_no_arrangement_of_accepted_sweeps_spreads_beyond_the_room",
    ),
    Sabotage(
        "deterministic rewards accumulated",
        "uli_fast.kernels.rewards.laws:_real",
        "return (n + k) * law.mu[a]",
        "return total + k * law.mu[a]",
        "tests/learners/test_against_naive.py::test_rounds_equals_naive_on_the_same_draws",
    ),
)
