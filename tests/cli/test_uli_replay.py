"""``uli replay``: what it says is what the library says."""

import numpy as np
from click.testing import CliRunner

import uli_fast as uli
from tests.support import logs
from uli_fast.cli import main


def test_the_command_says_it_all(tmp_path):
    path, page = tmp_path / "log.csv", tmp_path / "page.html"
    arms, rewards = logs.uniform(np.random.default_rng(1), (0.8, 0.3), 400)
    lines = [f"{'ab'[a]},{x}" for a, x in zip(arms, rewards, strict=True)]
    path.write_text("variant,clicked\n" + "\n".join(lines), encoding="utf-8")

    def run(*words):
        return CliRunner().invoke(main, ["replay", str(path), *words])

    columns = ("--arm", "variant", "--reward", "clicked")
    done = run(*columns, "--assignment", "randomized", "--leader", "1", "--html", str(page))
    assert done.exit_code == 0, done.output
    found = uli.replay(
        uli.BettingElimination(leader=1), path, "variant", "clicked", assignment="randomized"
    )
    assert f"row {found.dropped['b'].row:,}" in done.output
    for sentence in found.assumes:
        assert f"assumed: {sentence}\n" in done.output
    assert "<!doctype html>" in page.read_text(encoding="utf-8")
    for learner in ("successive", "phased"):
        assert run(*columns, "--learner", learner, "--arms", "a, b").exit_code == 0
    before = path.read_bytes()
    for words, said in (
        (("--arm", "varant", "--reward", "clicked"), "Did you mean 'variant'?"),
        ((*columns, "--learner", "phased", "--leader", "1"), "--leader goes with"),
        ((*columns, "--leader", "0"), "leader: must be at least 1"),
        ((*columns, "--delta", "2"), "delta"),
        ((*columns, "--arms", "a,c"), "is not one of the arms"),
        ((*columns, "--html", str(path)), "is the log itself"),
    ):
        refused = run(*words)
        assert refused.exit_code != 0 and said in refused.output, refused.output
    assert path.read_bytes() == before
