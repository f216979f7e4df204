"""Every step of docs/proofs_phases.md on the constant of GeometricHedge.P."""

import math

import numpy as np
import pytest

import uli_fast as uli
from uli_fast.errors import NoGuaranteeError
from uli_fast.learners.geometric_hedge import RHO
from uli_fast.learners.meta_elimination import MODES, sharp_mode

HEDGE = uli.GeometricHedge()
# u = sqrt(d L / T): phases have T >= 2 16 81 d L.
LARGEST_U = 1 / math.sqrt(2 * 16 * 81.0)


def psi(y):
    return math.expm1(y) - y


def least(f, low, high):
    """Return the least value of a function that falls and then grows."""
    for _ in range(200):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if f(a) < f(b) else (a, high)
    return f((low + high) / 2)


def step_constants():
    """Return eta / s, beta / s, gamma / (rho d s) as a phase has them."""
    arms, T, delta = np.random.default_rng(0).standard_normal((9, 3)), 10**6, 0.1
    state = HEDGE.start_phase(arms, T, delta).state
    s = math.sqrt(math.log(10 * 9 / delta) / (3 * T))
    rho = (state.x**2).sum(axis=0).max() / 3  # arms are whitened by the design
    return state.eta / s, state.beta / s, state.gamma / (rho * 3 * s)


ETA, BETA, GAMMA = step_constants()


def constant_terms(u):
    """Bound all terms of [regret + 2 |dev|] / S that do not fall with d, at d = 1, by u."""
    gamma, reach = GAMMA * RHO * u, 1.0 / GAMMA  # v <= rho d / gamma = reach / s
    low, high = 1e-9, 3.0
    for _ in range(200):
        x = (low + high) / 2
        fits = (3 - gamma) * psi(x) / (x * reach) <= 2 * BETA * (1 - gamma)
        low, high = (x, high) if fits else (low, x)
    x = low
    estimate = reach / x
    z = ETA * reach * (1 + 2 * BETA * u)
    curve = psi(z) / z**2
    more = least(lambda y: psi(y) / y + reach * u / y, 1e-6, 3.0)
    square = curve * ETA * (math.sqrt(1 + more) + 2 * BETA * math.sqrt(reach * u)) ** 2
    assert psi(x) / (x * reach) <= 2 * BETA  # so that V_nu cancels too
    return {
        "hedge": 1 / ETA,
        "bonus": 2 * BETA,
        "exploration": GAMMA * RHO,
        "estimates of the exploration": gamma * estimate,
        "estimates": 3 * estimate,
        "squares": square,
    }


def falling_terms(u):
    """Bound sqrt(d) times those that fall with d, at d = 1."""
    b = u + math.sqrt(u / GAMMA)
    drawn = least(lambda w: w * psi(w * b) / (w * b) ** 2 + 1 / w, 0.1, 5.0)
    return {"drawn losses": drawn, "losses": 3 / math.sqrt(2)}


def test_the_step_constants_are_those_of_the_page():
    assert (ETA, BETA, GAMMA, RHO) == pytest.approx((0.5, 1.1, 1.5, 1.01))


def test_the_terms_add_up_to_nine_and_three_point_six():
    constant, falling = constant_terms(LARGEST_U), falling_terms(LARGEST_U)
    assert sum(constant.values()) <= 9.0 and sum(falling.values()) <= 3.6
    assert sum(constant.values()) == pytest.approx(8.952, abs=1e-3)
    assert sum(falling.values()) == pytest.approx(3.580, abs=1e-3)
    for d in (1, 2, 3, 10, 1000):
        assert HEDGE.least_constant(d) == pytest.approx((9 + 3.6 / math.sqrt(d)) ** 2)


def test_longer_phases_have_smaller_terms():
    for terms in (constant_terms, falling_terms):
        sums = [sum(terms(u).values()) for u in np.linspace(1e-6, LARGEST_U, 40)]
        assert sums == sorted(sums)


def test_a_smaller_constant_would_not_do():
    """However long the phase, the terms add up to more than 8.6 + 3.53 / sqrt(d)."""
    assert sum(constant_terms(1e-9).values()) > 8.6
    assert sum(falling_terms(1e-9).values()) > 3.53


def test_phases_are_as_long_as_that():
    """The multiplier is 16 or more, the constant 81 or more, also for arms of less rank."""
    for d in (1, 2, 3, 8, 50, 10**6):
        c = HEDGE.least_constant(d)
        mode = sharp_mode(c * d, 1.0)
        for part in (1, max(1, d // 2), d):  # rank of the arms that are left
            u = math.sqrt(part / (2 * mode.multiplier * c * d))
            assert u <= LARGEST_U
            assert 9 * math.sqrt(part) + 3.6 <= math.sqrt(c * d) * (1 + 1e-12)


def test_the_exponential_is_below_its_parabola():
    """e^-z <= 1 - z + (psi(y) / y^2) z^2 for z >= -y."""
    for y in (0.1, 1 / 3, 0.35):
        z = np.linspace(-y, 5.0, 5001)
        assert (np.exp(-z) <= 1 - z + psi(y) / y**2 * z**2 + 1e-15).all()


@pytest.mark.parametrize("seed", range(20))
def test_moments_by_enumeration(seed):
    """Means, squares and sizes of all that is summed, and its exponential moments."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 5))
    arms = rng.standard_normal((int(rng.integers(d + 1, 9)), d))
    T = int(2600 * d * math.log(10 * len(arms) / 0.1))
    phase = HEDGE.start_phase(arms, T, 0.1)
    phase.state.lw[:] = rng.uniform(-8.0, 0.0, len(arms))
    phase.choose(rng)
    phase.update(0, 0.0)
    x, p, v = phase.state.x.T, phase.p, phase.state.v
    s = math.sqrt(math.log(10 * len(arms) / 0.1) / (d * T))
    b = 1 / (GAMMA * s)
    assert v.max() <= b * (1 + 1e-9)
    assert p @ v == pytest.approx(d)
    inverse = np.linalg.inv((x.T * p) @ x)
    cross = x @ inverse @ x.T  # of every arm and the one drawn
    means = x @ rng.standard_normal(d)
    means /= 2 * np.abs(means).max()
    assert np.allclose(cross @ (p * means), means)
    assert (cross**2 @ p <= v * (1 + 1e-9)).all() and np.abs(cross).max() <= b * (1 + 1e-9)
    assert p @ v**2 <= b * d
    drawn = 1 - (p @ x) @ inverse @ x.T  # D = y times this
    assert abs(p @ (drawn * means)) < 1e-9 and p @ drawn**2 <= 1 + 1e-9
    assert np.abs(drawn).max() <= 1 + math.sqrt(b)
    assert (phase.state.nu @ x) @ inverse @ (phase.state.nu @ x) <= b
    for rate in (0.2, 0.74, 2.0):
        for sign in (1.0, -1.0):
            worst = np.exp(sign * rate / b * cross * means) @ p
            most = sign * rate / b * means + psi(rate) / b**2 * (cross**2 @ (p * means**2))
            assert (worst <= np.exp(most) * (1 + 1e-12)).all()
        assert p @ np.exp(rate / b * v) <= math.exp(rate / b * d + psi(rate) / b * d) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_inequality_of_hedge_holds_on_every_path(seed):
    """Whatever the losses: all that is random is kept as it came."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    arms = rng.standard_normal((int(rng.integers(d + 1, 7)), d))
    K, delta = len(arms), 0.3
    L = math.log(10 * K / delta)
    T = int(2 * 16 * 81 * d * L) // 8 if d > 1 else int(2 * 16 * 81 * L)
    phase = HEDGE.start_phase(arms, T, delta)
    state = phase.state
    s, reach = math.sqrt(L / (d * T)), 1 / GAMMA
    paid = drawn = squares = played = 0.0
    V, seen = np.zeros(K), phase.estimates.copy()
    for _ in range(T):
        a, _ = phase.choose(rng)
        p, y = phase.p.copy(), rng.uniform(-1, 1)
        phase.update(a, y)
        v, hat = state.v.copy(), phase.estimates - seen
        seen += hat
        tilde = hat - 2 * state.beta * v
        assert (state.eta * tilde >= -ETA * reach * (1 + 2 * BETA * s) - 1e-9).all()
        V += v
        paid, played = paid + y, played + v[a]
        drawn += y - p @ tilde - 2 * state.beta * d  # D
        squares += p @ tilde**2
    z = ETA * reach * (1 + 2 * BETA * s)
    sums = phase.estimates - 2 * state.beta * V
    right = state.gamma * (state.nu @ sums) + (1 - state.gamma) * (sums + math.log(K) / state.eta)
    right += psi(z) / z**2 * state.eta * squares + drawn + 2 * state.beta * d * T
    assert (paid <= right).all()
    most = (math.sqrt(played) + 2 * state.beta * math.sqrt(reach / s * d * T)) ** 2
    assert squares <= most


def test_failures_add_up_to_three_fifths():
    """Estimates and losses of K arms, both ways; drawn losses and v(A) once."""
    for K in (1, 2, 100):
        assert (2 * K + 2 * K + 2) / (10 * K) <= 3 / 5


def test_what_a_constant_promises():
    arms = {1: np.array([[1.0], [0.5]]), 2: np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])}
    for d, constant in ((1, 158.7), (2, 133.3)):
        for mode in MODES:
            weak = uli.MetaElimination(uli.GeometricHedge(constant=constant), 0.1, mode=mode)
            with pytest.raises(NoGuaranteeError, match="is proved with a constant of"):
                weak.guarantee(arms[d])
            fine = uli.MetaElimination(uli.GeometricHedge(constant=constant + 0.1), 0.1, mode=mode)
            assert fine.guarantee(arms[d]).proved
            given = uli.MetaElimination(HEDGE, 0.1, mode=mode).guarantee(arms[d])
            known = {x.name: x.value for x in given.constants}["g"]
            assert known == (HEDGE.least_constant(d) if mode == "sharp" else 256.0)


@pytest.mark.parametrize("constant", [None, 120.0, 140.0, 256.0, 300.0])
@pytest.mark.parametrize("mode", MODES)
def test_the_bound_is_about_the_phases_that_are_played(mode, constant):
    arms = np.random.default_rng(1).standard_normal((12, 4))
    learner = uli.MetaElimination(uli.GeometricHedge(constant=constant), 0.05, mode=mode)
    guarantee, end = learner.guarantee(arms), 0
    for m in range(1, 12):
        end += learner.schedule(arms, None)(m).rounds
        assert guarantee.bound(end) == 2.0 ** (-(m - 1) / 2.0)
        assert guarantee.bound(end + 1) == 2.0 ** (-m / 2.0)


def test_a_given_constant_of_256_has_the_phases_of_its_proof():
    arms = np.random.default_rng(2).standard_normal((5, 3))
    learner = uli.MetaElimination(uli.GeometricHedge(constant=256.0), 0.1, mode="sharp")
    L = [math.log(50 / 0.1 * 2 * m**2) for m in (1, 2)]
    lengths = [math.ceil(5000.0 * 3 * x * 2**m) for m, x in zip((1, 2), L, strict=True)]
    found = [learner.schedule(arms, None)(m).rounds for m in (1, 2)]
    assert found == pytest.approx(lengths, abs=1)
    assert uli.MetaElimination(HEDGE, 0.1).schedule(arms, None)(1) == (
        uli.MetaElimination(uli.GeometricHedge(constant=256.0), 0.1).schedule(arms, None)(1)
    )
