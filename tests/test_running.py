"""Progress, interruption, the command line and the kernel cache."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

import uli_fast as uli
from uli_fast.cli import main


def test_progress_reaches_one():
    seen = []
    uli.simulate(
        uli.SuccessiveElimination(),
        uli.BernoulliBandit([0.5, 0.4]),
        10**5,
        5,
        seed=0,
        progress=seen.append,
    )
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_a_bar_can_be_shown(capsys):
    uli.simulate(uli.UCB(), uli.BernoulliBandit([0.5, 0.4]), 1000, 2, seed=0, progress=True)
    assert "simulating" in capsys.readouterr().err


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_stops_a_long_run(n_jobs):
    code = (
        "import uli_fast as uli\n"
        "problem = uli.BernoulliBandit([.5, .5])\n"
        "uli.simulate(uli.UCB(), problem, 1000, 2, seed=0, engine='rounds')\n"
        "print('ready', flush=True)\n"
        f"uli.simulate(uli.UCB(), problem, 10**15, 2, seed=0, engine='rounds', n_jobs={n_jobs})\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout.readline().strip() == "ready"
    time.sleep(1.0)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=30)
    assert "KeyboardInterrupt" in errors
    assert child.returncode != 0


def test_an_error_in_a_thread_comes_out():
    table = uli.TableBandit([[1.0] * 50, [0.0] * 50], means=[1.0, 0.0])
    with pytest.raises(uli.errors.RewardsExhaustedError):
        uli.simulate(uli.SuccessiveElimination(0.1), table, 10**5, 4, seed=0, n_jobs=2)


def test_demo(tmp_path):
    done = CliRunner().invoke(
        main,
        [*"demo --horizon 10000000 --replications 4 --trials 20 --out".split(), str(tmp_path)],
    )
    assert done.exit_code == 0, done.output
    assert done.output.index("BettingElimination") < done.output.index("SuccessiveElimination")
    assert "17,187 patients" in done.output
    assert "Deaths avoided: expected, against equal allocation" in done.output
    assert "loses the best one" in " ".join(done.output.split())
    assert (tmp_path / "trial.html").stat().st_size > 10_000
    row = next(line for line in done.output.splitlines() if line.startswith("LilUCB "))
    assert "never drops" in row
    assert (tmp_path / "gap.png").stat().st_size > 10_000


def test_the_demo_says_what_its_page_says(tmp_path):
    """Of learners with F and without, and nothing that was not seen."""
    words = [*"demo --horizon 100000000 --replications 3 --trials 2 --out".split(), str(tmp_path)]
    said = " ".join(CliRunner(env={"COLUMNS": "200"}).invoke(main, words).output.split())
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    found = re.search(r'<p class="headline">(.*?)</p>\s*<p>(.*?)</p>', page, re.DOTALL)
    assert found is not None
    for sentence in (found[1], *found[2].split(". ")):
        assert sentence in said
    assert "UCB* (3 of 3 runs)" in said
    assert "* no F of its own; held against that of BettingElimination, the tightest" in said
    assert "held at every round of every run of the learners that have one." in said
    assert re.search(r"LilUCB</th>.*?3\u00a0of\u00a03\*</data>", page, re.DOTALL)
    assert "The elimination learners" not in said


def test_the_closing_words_of_the_demo_are_computed():
    from tests.report.test_page import made
    from uli_fast.cli.demo import _closing
    from uli_fast.compare import Comparison

    kept, broke = made(0), made(3)
    said = " ".join(_closing(Comparison({"A": kept, "B": broke})))
    assert "A stayed within F at every round of all 20 runs." in said
    assert "B went beyond F in 3 of 20 runs" in said
    assert said.endswith(
        "In the last nine tenths of the rounds A played only the best arm. "
        "In the last nine tenths of the rounds B played worse arms too."
    )


def test_bad_options_are_messages():
    done = CliRunner().invoke(main, ["demo", "--delta", "2"])
    assert done.exit_code == 1
    assert "delta: must lie strictly between 0 and 1" in done.output


def test_datasets_and_doctor():
    listing = CliRunner().invoke(main, ["datasets"])
    assert listing.exit_code == 0
    assert "isis2" in listing.output
    doctor = CliRunner().invoke(main, ["doctor"])
    assert doctor.exit_code == 0
    assert "numba" in doctor.output


def test_doctor_shows_and_removes_old_kernels(tmp_path, monkeypatch):
    from uli_fast.kernels import _jit

    names = {"own": "0" * 16, "old": "1" * 16, "young": "2" * 16, "strange": "photos"}
    for name in names.values():
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.nbc").write_bytes(bytes(2**20))
    for name in ("old", "strange", "own"):
        for path in (tmp_path / names[name] / "a.nbc", tmp_path / names[name]):
            os.utime(path, (1e9, 1e9))
    monkeypatch.setattr(_jit, "CACHE_FOLDER", tmp_path / names["own"])
    shown = CliRunner().invoke(main, ["doctor"]).output
    assert "1 compiled, 1 MB" in shown and "of other versions: 2 beside it, 2 MB" in shown
    cleaned = CliRunner().invoke(main, ["doctor", "--clean"])
    assert cleaned.exit_code == 0 and "1 folders of other versions, 1 MB" in cleaned.output
    left = {p.name for p in tmp_path.iterdir()}
    assert left == {names["own"], names["young"], names["strange"]}


def test_warming_up_policies_is_quiet():
    from uli_fast.cli.doctor import _warm_up_policies

    _warm_up_policies()  # warnings are errors here


WARM = """
import sys
import numpy as np
import uli_fast as uli
from uli_fast.cli.doctor import _warm_up_betting, _warm_up_races_and_logs

def compiled():
    found = {}
    for name, module in sorted(sys.modules.items()):
        if name.startswith("uli_fast.kernels."):
            for x in vars(module).values():
                if hasattr(x, "signatures"):
                    found[f"{x.__module__}.{x.__name__}"] = len(x.signatures)
    return found

_warm_up_betting()
_warm_up_races_and_logs()
before = compiled()
for about in ("list", "population"):
    for lost in (-1, 7):
        score = lambda c, i: None if i == lost else c * (i % 3) / 4
        uli.race({"x": 1, "y": 2, "z": 0}, score, range(60), about=about, seed=1)
rng = np.random.default_rng(0)
for lost in (100.0, 0.9):
    log = [(a, None if x > lost else x) for a, x in zip(rng.integers(0, 3, 300), rng.random(300))]
    uli.replay(uli.SuccessiveElimination(), log)
    uli.replay(uli.BettingElimination(), log)
player = uli.BettingElimination().start(3)
for i in range(30):
    id = player.ask().id
    player.tell_missing(id, "lost") if i % 4 == 3 else player.tell(id, 0.5)
player.certificate()
after = compiled()
assert "uli_fast.kernels.race.feed" in before
assert after == before, set(after.items()) - set(before.items())
"""


def test_warming_up_leaves_nothing_of_races_and_replays_to_compile():
    done = subprocess.run([sys.executable, "-c", WARM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


RUN = (
    "import uli_fast as uli; "
    "print(uli.simulate(uli.PhasedElimination(), uli.BernoulliBandit([.5, .4]), 1000, seed=0)"
    ".final_plays.tolist())"
)


def run_with_cache(folder):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    return subprocess.run(
        [sys.executable, "-W", "default", "-c", RUN],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )


def test_an_empty_cache_file_is_purged(tmp_path):
    first = run_with_cache(tmp_path)
    assert first.returncode == 0, first.stderr
    kept = list(tmp_path.rglob("*.nbi"))
    assert kept
    for entry in kept:
        entry.write_bytes(b"")
    again = run_with_cache(tmp_path)
    assert (again.returncode, again.stdout) == (0, first.stdout), again.stderr


def test_an_unusable_cache_folder_is_one_warning(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    done = run_with_cache(blocked)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("CacheWarning") == 1
