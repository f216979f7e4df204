"""``uli merge``: shards of ``uli run --shard`` become one experiment."""

from click.testing import CliRunner

from tests.experiments.test_shards import EXPERIMENT, experiment
from uli_fast import experiments
from uli_fast.cli import main


def test_the_commands_run_and_merge_shards(tmp_path):
    (tmp_path / "experiment.toml").write_text(EXPERIMENT)
    invoke = lambda *words: CliRunner().invoke(main, [str(word) for word in words])  # noqa: E731
    for i in (1, 2):
        done = invoke("run", tmp_path / "experiment.toml", "--shard", f"{i}/2")
        assert done.exit_code == 0 and f"this is shard {i}/2" in done.output, done.output
    folders = [tmp_path / f"experiment-shard-{i}-of-2" for i in (1, 2)]
    one = invoke("merge", folders[0], "--out", tmp_path / "out")
    assert one.exit_code == 1 and "Error: missing: shard 2/2" in one.output
    both = invoke("merge", *folders, "--out", tmp_path / "out")
    assert both.exit_code == 0 and "7 replications of every cell from 2 shards" in both.output
    found = experiments.Results.load(tmp_path / "out")
    assert found.digest() == experiments.run(experiment(), tmp_path / "whole").digest()
    wrong = invoke("run", tmp_path / "experiment.toml", "--shard", "3/2")
    assert wrong.exit_code == 1 and "shard: must be from 1/2 to 2/2, got 3/2" in wrong.output
    report = invoke("report", folders[0])
    assert report.exit_code == 0 and "9 of 21" in report.output, report.output
