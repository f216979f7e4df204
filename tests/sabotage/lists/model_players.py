"""Live model elimination: blocks, impossible moves, what is certified, what is saved."""

from tests.sabotage.anchors import Sabotage

LIVE = "tests/players/test_model_elimination.py"
PLAYER = "uli_fast.players.model_elimination:ModelPlayer"

SABOTAGES = (
    Sabotage(
        "models live: a visit counts twice",
        "uli_fast.kernels.model_elimination:count_episode",
        "boxes.n[i] += 1",
        "boxes.n[i] += 2",
        f"{LIVE}::TestDecisions::test_they_are_the_kernel_s_on_the_same_transitions",
    ),
    Sabotage(
        "models live: a look comes before its block is over",
        f"{PLAYER}._take_in",
        "self.queue.settled == self._end",
        "self.queue.settled >= self._end - 1",
        f"{LIVE}::TestDecisions::test_a_block_has_one_policy_whatever_comes_in_the_meantime",
    ),
    Sabotage(
        "models live: missing episodes do no harm",
        f"{PLAYER}._take_in",
        "self.memory.omitted[0] += 1",
        "self.memory.omitted[0] += 0",
        f"{LIVE}::TestCertificates::test_missing_episodes_are_not_counted_and_nothing_is_proved",
    ),
    Sabotage(
        "models live: impossible moves are believed",
        f"{PLAYER}._read",
        "if h > 0:",
        "if h > 10**9:",
        f"{LIVE}::TestErrors::test_impossible_moves_change_nothing",
    ),
    Sabotage(
        "models live: episodes may begin anywhere",
        f"{PLAYER}._read",
        "if h == 0:",
        "if h == 10**9:",
        f"{LIVE}::TestErrors::test_impossible_moves_change_nothing",
    ),
    Sabotage(
        "models live: actions need not be drawn by the policy",
        "uli_fast._check.policies:drawn_by",
        "<= 0.0",
        "< 0.0",
        f"{LIVE}::TestErrors::test_actions_that_are_never_drawn_are_refused",
    ),
    Sabotage(
        "models live: an empty box is not noticed",
        f"{PLAYER}._is_empty",
        "math.isnan(self.memory.facts[0])",
        "False",
        f"{LIVE}::TestCertificates::test_an_empty_box_withdraws_it_and_play_goes_on",
    ),
    Sabotage(
        "models live: F is claimed of blocks without end",
        f"{PLAYER}._ask",
        "min(self._in_time, self._end)",
        "math.inf",
        f"{LIVE}::TestCertificates::test_beyond_its_block_a_policy_plays_on_and_f_is_not_claimed",
    ),
    Sabotage(
        "models live: what was asked for beyond a block is not counted",
        f"{PLAYER}._take_in",
        "if told is None:",
        "if told is None or self.queue.settled <= self.memory.openings[-1]:",
        f"{LIVE}::TestCertificates::test_beyond_its_block_a_policy_plays_on_and_f_is_not_claimed",
    ),
    Sabotage(
        "models live: certificates are on rewards in [0, 1]",
        f"{PLAYER}.certificate",
        "self.memory.facts[CERTIFICATE]) * scale",
        "self.memory.facts[CERTIFICATE])",
        f"{LIVE}::TestCertificates::test_they_come_in_reward_units",
    ),
    Sabotage(
        "models live: the first action left is recommended",
        "uli_fast.kernels.mdp.robust:surest",
        "if q * (1.0 - TIE) > mark:",
        "if mark < 0.0:",
        f"{LIVE}::TestCertificates::test_what_is_recommended_is_worth_what_is_certain",
    ),
    Sabotage(
        "models live: a saved state is not compared",
        "uli_fast.players._player:EpisodePlayer.load",
        "compare(self, saved)",
        "pass",
        f"{LIVE}::TestSaving::test_states_that_contradict_themselves_are_refused",
    ),
    Sabotage(
        "models live: a saved state is not kept to its last digit",
        "uli_fast.players._player:EpisodePlayer.load",
        "super().load(saved)",
        "pass",
        f"{LIVE}::TestSaving::test_probabilities_are_restored_as_they_were_given_out",
    ),
    Sabotage(
        "models live: boxes are far too small",
        "uli_fast.learners.model_elimination:ModelElimination.rule",
        "level_of(size.entries, self.delta)",
        "0.05 * level_of(size.entries, self.delta)",
        f"{LIVE}::test_certificates_hold_against_the_truth",
    ),
)
