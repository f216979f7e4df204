"""Experiments: checkpoints, shards, merging, files from elsewhere."""

from tests.sabotage.anchors import Change, Sabotage

CHECKPOINTS = "tests/simulation/test_checkpoints.py"
HOSTILE = "tests/test_hostile.py"
SHARDS = "tests/experiments/test_shards.py"

SABOTAGES = (
    Sabotage(
        "a checkpoint does not look at closures",
        "uli_fast._support.fingerprint:_Feeder._function",
        "        self._used(cells, used)\n        self._used({k",
        "        self._used({k",
        f"{CHECKPOINTS}::test_a_rule_that_differs_in_its_closure_is_refused",
    ),
    Sabotage(
        "a checkpoint does not look at delta",
        "uli_fast.simulation.checkpoints:simulate_kept",
        "without_addresses(repr(learner))",
        "type(learner).__name__",
        f"{CHECKPOINTS}::test_another_run_is_refused",
        also=(
            Change(
                "uli_fast.simulation.checkpoints:simulate_kept",
                "fingerprint(learner)",
                "type(learner).__name__",
            ),
        ),
    ),
    Sabotage(
        "files: a pipe is opened",
        "uli_fast._support.files:_check_regular",
        "if not stat.S_ISREG(found.st_mode):",
        "if stat.S_ISCHR(found.st_mode):",
        f"{HOSTILE}::test_what_is_no_regular_file_is_never_opened",
    ),
    Sabotage(
        "files: what was looked at is not looked at again once it is open",
        "uli_fast._support.files:open_regular",
        "        _check_regular(os.fstat(file.fileno()), most)\n",
        "",
        f"{HOSTILE}::test_a_file_that_becomes_a_pipe_once_it_was_looked_at_is_refused",
    ),
    Sabotage(
        "files: loaded runs need not add up",
        "uli_fast.results.storage:load",
        "        check_runs(runs)\n",
        "",
        f"{HOSTILE}::test_runs_that_nobody_can_have_come_to_are_refused_however_signed",
    ),
    Sabotage(
        "files: a part may be of any size",
        "uli_fast.results.parts:Store.parts",
        "> MOST_REPLICATIONS",
        "> 10**18",
        f"{HOSTILE}::test_a_part_that_claims_more_than_there_can_be_is_refused",
    ),
    Sabotage(
        "files: formulas hide behind white space",
        "uli_fast._support.text:spreadsheet",
        "if _FORMULA.match(text)",
        'if text[:1] in "=+-@"',
        f"{HOSTILE}::test_no_cell_of_an_export_begins_with_a_formula_behind_white_space",
    ),
    Sabotage(
        "shards: a share begins one replication late",
        "uli_fast.experiments.shards:Shard.share",
        "n * (self.number - 1) // self.of,",
        "n * (self.number - 1) // self.of + (self.number > 1),",
        f"{SHARDS}::test_shares_are_even_and_cover_every_replication_once",
    ),
    Sabotage(
        "shards: a shard forgets where its replications begin",
        "uli_fast.experiments.running:_Work._missing",
        ".missing(end, first)",
        ".missing(end)",
        f"{SHARDS}::test_a_shard_holds_the_replications_of_its_share_alone",
    ),
    Sabotage(
        "merge: shards are joined in the order given",
        "uli_fast.experiments.merging:_ordered",
        "return [found[i] for i in range(1, n + 1)]",
        "return list(sources)",
        f"{SHARDS}::test_shards_run_in_different_ways_merge_to_the_same",
    ),
    Sabotage(
        "merge: a shard that is not finished is taken",
        "uli_fast.experiments.merging:_finished",
        "if left:",
        "if left > 10**9:",
        f"{SHARDS}::test_what_is_not_a_whole_experiment_is_not_merged",
    ),
    Sabotage(
        "merge: replications of another shard are taken",
        "uli_fast.experiments.merging:_finished",
        "if first < begin or first + count > end:",
        "if first + count > 10**9:",
        f"{SHARDS}::test_what_is_not_a_whole_experiment_is_not_merged",
    ),
    Sabotage(
        "merge: shards of other studies are taken",
        "uli_fast.experiments.merging:_experiment",
        'for key in ("replications", "versions", "study", "title", "cells"):',
        'for key in ("replications", "versions", "title"):',
        f"{SHARDS}::test_what_is_not_a_whole_experiment_is_not_merged",
    ),
    Sabotage(
        "spread: workers of other versions are taken",
        "uli_fast.experiments.running:play_as",
        "if here != expected:",
        "if not here:",
        f"{SHARDS}::test_a_worker_of_other_versions_is_refused",
    ),
    Sabotage(
        "progress: a slow first replication is not followed",
        "uli_fast.experiments.running:_Work._played",
        "functools.partial(play_as, versions(), watch)",
        "functools.partial(play_as, versions(), UNWATCHED)",
        "tests/experiments/test_watch.py::test_a_slow_first_replication_moves_the_bar",
    ),
    Sabotage(
        "files: cells that are links are followed",
        "uli_fast.experiments.results:cell_folder",
        "if os.path.islink(place):",
        "if False:",
        "tests/experiments/test_folders.py::test_links_in_a_folder_of_results_are_not_followed",
    ),
)
