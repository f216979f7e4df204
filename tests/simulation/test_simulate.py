"""Simulations as they go: progress, Ctrl-C, errors in threads."""

import signal
import subprocess
import sys
import time

import pytest

import uli_fast as uli
from tests.support.patience import PATIENCE


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
    _, errors = child.communicate(timeout=PATIENCE)
    assert "KeyboardInterrupt" in errors
    assert child.returncode != 0


def test_an_error_in_a_thread_comes_out():
    table = uli.TableBandit([[1.0] * 50, [0.0] * 50], means=[1.0, 0.0])
    with pytest.raises(uli.errors.RewardsExhaustedError):
        uli.simulate(uli.SuccessiveElimination(0.1), table, 10**5, 4, seed=0, n_jobs=2)
