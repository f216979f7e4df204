"""More of the same, for minutes: ``make test-slow``."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ks_2samp

import uli_fast as uli
from tests.learners.test_against_naive import ALGORITHMS
from tests.support.coupling import assert_equals_naive, random_problem, totals
from tests.theory.test_laws import CASES

pytestmark = pytest.mark.slow


@pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
@pytest.mark.parametrize("name", ALGORITHMS)
def test_rounds_equals_naive_on_500_longer_instances(name):
    learner, naive = ALGORITHMS[name]
    rng = np.random.default_rng(101)
    for seed in range(500):
        T = int(rng.integers(1, 5000))
        problem = random_problem(rng, T)
        delta, R = float(rng.uniform(0.001, 0.99)), float(rng.choice([0.5, 0.1, 2.0]))
        runs = uli.simulate(
            learner(delta, R), problem, T, seed=seed, engine="rounds", rounds=range(1, T + 1)
        )
        assert_equals_naive(runs, naive(totals(problem, seed), problem.n_arms, T, delta, R))


@pytest.mark.parametrize("case", CASES)
def test_skipping_has_the_law_of_rounds_over_20_000_seeds(case):
    learner, problem, T = CASES[case]
    skip = uli.simulate(learner, problem, T, 20_000, seed=31, engine="skip", rounds=[T])
    play = uli.simulate(learner, problem, T, 20_000, seed=32, engine="rounds", rounds=[T])
    for a in range(3):
        for name in ("last_play", "eliminated_at", "final_plays"):
            one, two = getattr(skip, name)[:, a], getattr(play, name)[:, a]
            assert ks_2samp(one, two, method="asymp").pvalue > 1e-4, (name, a)


def test_no_kernel_leaves_its_arrays(tmp_path):
    root = Path(__file__).parent.parent.parent
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "tests/learners",
            "tests/players",
            "tests/results/test_runs.py",
        ],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
