"""A learner of the user's own, and what shows itself in notebooks."""

from tests.sabotage.anchors import Sabotage

OWN = "tests/learners/test_own_learner.py"
NOTEBOOK = "tests/report/test_notebook.py"
LEARNER = "uli_fast.learners.own_learner"
PLAYER = "uli_fast.players.own_learner"

SABOTAGES = (
    Sabotage(
        "own: a study has its file before the user's code has begun",
        f"{LEARNER}:OwnLearner.start",
        "_ = player.mind",
        "_ = player",
        f"{OWN}::test_code_that_cannot_begin_leaves_no_file_behind",
    ),
    Sabotage(
        "own: runs share one generator",
        f"{LEARNER}:OwnLearner.begin",
        "generator_of(law.words)",
        "generator_of(law.words * 0)",
        f"{OWN}::test_a_compiled_learner_that_draws_plays_as_the_class_does",
    ),
    Sabotage(
        "own: rewards are told on the unit scale",
        f"{LEARNER}:OwnRun._play_one_by_one",
        "low + scale * pull(",
        "pull(",
        f"{OWN}::test_rewards_come_in_the_units_of_the_problem",
    ),
    Sabotage(
        "own: True is an arm",
        f"{LEARNER}:OwnLearner.chosen",
        " and not isinstance(arm, bool)",
        "",
        f"{OWN}::test_what_is_no_arm_is_refused_by_name_and_round",
    ),
    Sabotage(
        "own: the compiled loop takes arms from the end",
        "uli_fast.kernels.own_learner:play_rounds",
        "if a < 0 or a >=",
        "if a >=",
        f"{OWN}::test_what_is_no_arm_is_refused_from_compiled_code_too",
    ),
    Sabotage(
        "own: a claim is looked at in the last chunk only",
        f"{LEARNER}:OwnLearner.begin",
        "np.fmax(worst[r], ratio)",
        "ratio",
        f"{OWN}::test_a_claim_is_the_users_and_is_tested_in_every_round",
    ),
    Sabotage(
        "own: a claim certifies all arms",
        f"{PLAYER}:OwnPlayer.certificate",
        "self.learner.guarantee(self.arms_info())",
        "return super().certificate()",
        f"{OWN}::test_a_live_claim_certifies_no_set_of_arms",
    ),
    Sabotage(
        "own: after a failure the user's code stays where it got to",
        "uli_fast.players.own_learner:OwnPlayer._start_over",
        "self._mind = None",
        "pass",
        f"{OWN}::test_code_that_fails_leaves_no_trace",
    ),
    Sabotage(
        "own: restored code need not choose the same",
        "uli_fast.players.own_learner:OwnPlayer._repeat",
        "[0] != decision",
        "[0] < 0",
        f"{OWN}::test_code_with_randomness_of_its_own_is_found_out",
    ),
    Sabotage(
        "own: marks do not look into classes",
        "uli_fast._support.fingerprint:_Feeder._class",
        "self._pairs({k: v for k, v in own.items() if not isinstance(v, _DESCRIPTORS)})",
        "pass",
        f"{OWN}::test_a_study_and_a_checkpoint_refuse_another_class_of_the_same_name",
    ),
    Sabotage(
        "notebook: names are not escaped",
        "uli_fast._support.html:_text",
        "html.escape(label(_safe(value), LONGEST_CELL))",
        "label(_safe(value), LONGEST_CELL)",
        f"{NOTEBOOK}::test_a_comparison_has_a_line_per_learner",
    ),
    Sabotage(
        "notebook: what fails ends the cell",
        "uli_fast._support.html:as_shown",
        "return facts(type(self).__name__",
        "raise; facts(type(self).__name__",
        f"{NOTEBOOK}::test_whatever_fails_is_said_and_never_raised",
    ),
    Sabotage(
        "notebook: a figure is drawn beside the axes given",
        "uli_fast.report.sheet:sheet",
        "return whole, ax",
        "return whole, new_figure(width, height).subplots()",
        f"{NOTEBOOK}::test_plots_draw_on_the_axes_they_are_given_and_leave_the_rest_alone",
    ),
    Sabotage(
        "notebook: figures do not show themselves",
        "uli_fast.report.sheet:_kind",
        "def _repr_png_(",
        "def _png_(",
        f"{NOTEBOOK}::test_plots_draw_on_the_axes_they_are_given_and_leave_the_rest_alone",
    ),
)
