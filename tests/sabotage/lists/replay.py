"""Replayed logs."""

from tests.sabotage.anchors import Sabotage

REPLAY = "tests/logs/test_replay.py"

SABOTAGES = (
    Sabotage(
        "a replay uses rows twice",
        "uli_fast.logs.courses:_Queues.taken",
        "self._at[arm] = at + n",
        "self._at[arm] = at + (n + 1) // 2",
        f"{REPLAY}::test_queues_equal_the_naive_twin",
    ),
    Sabotage(
        "a replay goes backwards",
        "uli_fast.logs.log:_gathered",
        "found = np.array(arms, np.int64), np.array(rewards, np.float64)",
        "found = np.array(arms, np.int64)[::-1], np.array(rewards, np.float64)[::-1]",
        f"{REPLAY}::test_blocks_equal_the_naive_twin",
    ),
    Sabotage(
        "blocks of a log forget r",
        "uli_fast.kernels.betting.live:enter_block",
        "r = plays[a] / sweeps",
        "r = 1.0",
        f"{REPLAY}::test_blocks_equal_the_naive_twin",
    ),
    Sabotage(
        "all rows are used whoever made the log",
        "uli_fast.learners.betting_elimination:BettingElimination.reads_logs",
        '"any": "queues"',
        '"any": "blocks"',
        f"{REPLAY}::test_the_best_arm_is_lost_within_delta",
    ),
    Sabotage(
        "empty cells are outcomes of 0",
        "uli_fast.logs.courses:_Queues.taken",
        "int(np.isnan(rewards).sum())",
        "0",
        f"{REPLAY}::test_missing_outcomes_count_at_their_worst",
    ),
    Sabotage(
        "empty cells are outcomes of 0 in successive elimination",
        "uli_fast.kernels.successive_elimination:absorb_log",
        "lost[a] += 1\n        else:",
        "lost[a] += 0\n        else:",
        f"{REPLAY}::test_missing_outcomes_count_at_their_worst",
    ),
    Sabotage(
        "an arm is dropped before its rows had come",
        "uli_fast.logs.courses:in_allocations",
        "row = max(row, *(queues.row(arm, n) for arm, n in plays.items()))",
        "row = min(queues.row(arm, n) for arm, n in plays.items())",
        f"{REPLAY}::test_queues_equal_the_naive_twin",
    ),
    Sabotage(
        "betting, told: arms of a log are numbered as they come",
        "uli_fast.logs.log:_by_name",
        "tuple(sorted(log.labels))",
        "log.labels",
        f"{REPLAY}::test_arms_are_numbered_by_name_and_not_by_who_came_first",
    ),
    Sabotage(
        "betting, told: queues of a range far from 0 go by sums",
        "uli_fast.logs.courses:faster",
        "near = player.low <= 0.0 <= player.high",
        "near = True",
        f"{REPLAY}::test_a_range_far_from_0_is_refused_by_blocks_and_not_by_queues",
    ),
)
