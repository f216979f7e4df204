"""Model elimination in other people's loops, in tables and in plots."""

from tests.sabotage.anchors import Sabotage

GYM = "tests/compat/test_gymnasium.py"
RLBERRY = "tests/compat/test_rlberry.py"
LIVE = "tests/players/test_model_elimination.py"
MDPS = "tests/problems/test_tabular_mdp.py"
TABLES = "tests/report/test_models.py"
AGENT = "uli_fast.compat.gymnasium:PolicyAgent"
RECORD = "uli_fast.results.record:RunRecord"

SABOTAGES = (
    Sabotage(
        "adapters: every episode draws the same actions",
        f"{AGENT}._draws",
        "spawn_key=(self._decision.id,)",
        "spawn_key=(1,)",
        f"{GYM}::test_policies_that_draw_do_so_by_their_probabilities_and_the_seed",
    ),
    Sabotage(
        "adapters: looking twice draws twice",
        "uli_fast.compat.gymnasium:_StagedAgent.act",
        "if self._open is None:\n            self._open",
        "if True:\n            self._open",
        f"{GYM}::test_policies_that_draw_do_so_by_their_probabilities_and_the_seed",
    ),
    Sabotage(
        "adapters: a lost episode is forgotten",
        f"{AGENT}.abandon",
        "self.player.tell_missing(self._decision.id, reason)",
        "_check.text('reason', reason)",
        f"{GYM}::test_an_episode_that_is_given_up_is_missing",
    ),
    Sabotage(
        "adapters: an agent is started without the masks of its MDP",
        "uli_fast.learners.model_elimination:ModelElimination.start_on",
        "mdp.successors)",
        "None)",
        f"{GYM}::test_what_the_mdp_tells_is_what_the_player_knows",
    ),
    Sabotage(
        "adapters: a new seed comes too late for the player",
        "uli_fast.compat._rlberry_tabular:TabularAgent._play",
        "total, player.seed = 0.0, self.seed",
        "total = 0.0",
        f"{RLBERRY}::test_live_model_elimination_is_one_path_however_it_is_cut",
    ),
    Sabotage(
        "models live: after the last stage anything may follow",
        "uli_fast._check.structure:follows_last",
        "if not mask[-1, s, action, after]:",
        "if False:",
        f"{LIVE}::TestErrors::test_after_the_last_stage_its_own_mask_counts",
    ),
    Sabotage(
        "policies that draw: laws need not sum to 1",
        "uli_fast._check.policies:any_policy",
        "return stochastic(name, np.where(",
        "return np.asarray(np.where(",
        f"{MDPS}::test_bad_input_names_the_argument",
    ),
    Sabotage(
        "policies that draw: what comes after is the best action's",
        "uli_fast.problems.tabular_mdp:TabularMDP._unit_value",
        "@ V)).sum(axis=1)",
        "@ V)).max(axis=1)",
        f"{MDPS}::test_a_policy_that_draws_is_worth_the_mean_of_the_tables_it_draws",
    ),
    Sabotage(
        "runs of models are settled off the event",
        f"{RECORD}.settled",
        "(self.certified == 0.0) & self.event_held",
        "self.certified == 0.0",
        "tests/results/test_record.py"
        "::test_a_run_that_drops_actions_is_settled_once_nothing_worse_may_be_played",
    ),
    Sabotage(
        "tables: a withdrawn certificate is left out of the median",
        "uli_fast.report.tables:middle_certificate",
        "np.median(np.where(np.isnan(r.certified), np.inf, r.certified))",
        "np.nanmedian(r.certified)",
        f"{TABLES}::test_tables_have_the_certificate_of_those_that_have_one",
    ),
    Sabotage(
        "tables: no learner on MDPs is ever ahead",
        f"{RECORD}.eliminates",
        " or self.makes_looks",
        "",
        f"{TABLES}::test_tables_say_from_when_on_a_learner_on_mdps_is_ahead",
    ),
    Sabotage(
        "plots of certificates take the next colours",
        "uli_fast.report.figures:figure_of",
        "lines = [line for line in lines if line.runs.makes_looks]",
        "lines = lines_of(*zip(*((x.runs, x.name) for x in lines if x.runs.makes_looks)))",
        f"{TABLES}::test_comparisons_draw_those_that_look_in_their_colours",
    ),
)
