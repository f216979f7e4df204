"""G-optimal designs to leverages of 2d against straightforward Frank-Wolfe."""

import pytest

from bench.support.linear import cloud, design, plain_design, support


@pytest.mark.parametrize("shape", ["ball", "sphere"])
@pytest.mark.parametrize(
    ("d", "K", "repeats"),
    [
        pytest.param(20, 10**4, 7, id="20"),
        pytest.param(50, 10**5, 2, id="50", marks=pytest.mark.long),
    ],
)
def test_design(versus, shape, d, K, repeats):
    arms = cloud(K, d, shape)
    versus(design(arms), plain_design(arms), 1, repeats, counts=support(arms))
