"""Linear bandits: arms are vectors, and expected rewards are linear in them.

The noise decides the range. Gaussian rewards are unbounded; the others stay in a
declared range, because clipping a reward would make its mean non-linear.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast import _check, designs
from uli_fast._typing import F64
from uli_fast.problems.arms import ArmBandit, _short

if TYPE_CHECKING:
    from uli_fast.kernels._rewards import Law

NOISES = ("gaussian", "bernoulli", "uniform")


class LinearBandit(ArmBandit):
    """Finitely many arms a with expected rewards linear in <theta, a>.

    Parameters
    ----------
    theta
        The unknown parameter, (d,).
    arms
        One arm per row, (K, d).
    sigma
        Standard deviation of the noise; not used by "bernoulli".
    noise
        "gaussian": <theta, a> + N(0, sigma^2), unbounded. "bernoulli": 1 with
        probability (1 + <theta, a>) / 2, else 0; reward gaps are half those of
        <theta, a>. "uniform": <theta, a> plus noise uniform on [-h, h] with
        h = sqrt(3) sigma, in the range [-(S + h), S + h] with
        S = max(1, max |<theta, a>|).
    names
        Names of the arms; by default "0", "1", ...

    Attributes
    ----------
    means, gaps
        Expected rewards and their distance from the best, (K,).
    intercept
        The expected reward where <theta, a> = 0: 1/2 if "bernoulli", else 0.
    """

    def __init__(
        self,
        theta: Any,
        arms: Any,
        sigma: float = 1.0,
        noise: str = "gaussian",
        names: Sequence[str] | None = None,
    ) -> None:
        self.noise = _check.one_of("noise", noise, NOISES)
        self.sigma = _check.positive("sigma", sigma)
        self.theta, self.arms = _check.vector("theta", theta), _check.matrix("arms", arms)
        self.theta.flags.writeable = self.arms.flags.writeable = False
        self.intercept = 0.5 if noise == "bernoulli" else 0.0
        # A mean of (1 + <theta, a>) / 2 has slope theta / 2; uniform noise is as
        # subgaussian as its standard deviation says.
        self.noise_subgaussian = 0.5 if noise == "bernoulli" else self.sigma
        self.slope_norm = float(np.linalg.norm(self.theta)) * (0.5 if noise == "bernoulli" else 1.0)
        if noise == "bernoulli":
            inner = _check.inner_products("theta", self.theta, self.arms, largest=1.0)
            self.binary = True
            super().__init__((1.0 + inner) / 2.0, names, 0.0, 1.0)
            return
        inner = _check.inner_products("theta", self.theta, self.arms)
        if noise == "gaussian":
            super().__init__(inner, names)
            return
        reach = max(1.0, float(np.abs(inner).max())) + self._half_width
        self.has_block_law = False
        super().__init__(inner, names, -reach, reach)

    @property
    def features(self) -> F64:
        """The arms, (K, d)."""
        return self.arms

    @property
    def dimension(self) -> int:
        """Length d of an arm."""
        return self.theta.size

    @cached_property
    def rank(self) -> int:
        """Dimension of the span of the arms."""
        return designs.rank(self.arms)

    @property
    def subgaussian(self) -> float:
        """The standard deviation if Gaussian; 1/2 on the learner's scale where bounded."""
        return self.sigma if self.noise == "gaussian" else 0.5

    @property
    def _half_width(self) -> float:
        return self.sigma * math.sqrt(3.0)

    def law(self, rng: np.random.Generator, engine: str = "rounds") -> Law:
        """Return the rewards as the kernels of an engine draw them."""
        from uli_fast.kernels._rewards import GAUSSIAN, UNIFORM

        if self.noise == "bernoulli":
            return self._bernoulli_law(rng, engine)
        if self.noise == "gaussian":
            kind, width = GAUSSIAN, self.sigma
        else:
            kind, width = UNIFORM, self._half_width / self.scale
        return self._real_law(kind, rng, scale=np.full((2, self.n_arms), width))

    def _parameters(self) -> dict[str, Any]:
        shown = {"theta": _short(self.theta, "entries"), "n_arms": self.n_arms}
        spread = {} if self.noise == "bernoulli" else {"sigma": self.sigma}
        return shown | spread | {"noise": repr(self.noise)}
