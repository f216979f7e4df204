"""Live decisions on balls and ellipsoids."""

import json
import math

import numpy as np
import pytest

import uli_fast as uli
from tests.support.signing import signed
from uli_fast.errors import NoGuaranteeError, StateError

THETA = np.array([0.8, -0.3])
BALL = uli.arm_sets.Ball(2)
# A generous bound on theta makes the first phases short.
LEARNER = uli.CapElimination(0.1, R=0.1, theta_norm=2.0)


def noisy(seed, size=20_000):
    noise = 0.1 * np.random.default_rng(seed).standard_normal(size)
    return lambda t, arm: float(np.array(arm) @ THETA + noise[t])


def drive(player, rounds, reward, begin=0):
    history = []
    for t in range(begin, begin + rounds):
        decision = player.ask()
        player.tell(decision.id, reward(t, decision.arm))
        history.append(decision.arm)
    return history


@pytest.mark.parametrize(
    "arms", [BALL, uli.arm_sets.Ellipsoid([3.0, 1.0], [[1.0, 0.2], [0.0, 0.5]])]
)
def test_live_play_gives_the_blocks_of_the_simulation(arms):
    """Noise-free rewards: the means are the same however they are drawn."""
    problem = uli.LinearBandit(THETA, arm_set=arms, sigma=1e-13)
    runs = uli.simulate(LEARNER, problem, 3000, seed=1)
    player = LEARNER.start(arms)
    history = np.array(drive(player, 3000, lambda t, arm: float(np.array(arm) @ THETA)))
    for phase in runs.phases[0]:
        part = history[phase.first_round - 1 : phase.last_round]
        expected = np.repeat(phase.arms, phase.plays, axis=0)
        assert part == pytest.approx(expected, abs=1e-5)
    assert player.phase > 3


def test_a_saved_player_goes_on_as_if_nothing_had_happened():
    reward = noisy(1)
    whole = drive(LEARNER.start(BALL), 2500, reward)
    player = LEARNER.start(BALL)
    first = drive(player, 777, reward)
    best = player.recommend()
    player = uli.restore(json.loads(json.dumps(player.state())), arms=BALL)
    assert player.recommend() == best
    assert first + drive(player, 1723, reward, 777) == whole
    with pytest.raises(StateError, match="arms"):
        uli.restore(player.state())
    with pytest.raises(StateError, match="extent"):
        uli.restore(player.state(), arms=uli.arm_sets.Ball(2, radius=2.0))


def test_altered_states_are_refused():
    player = LEARNER.start(BALL)
    drive(player, 100, noisy(1))
    good = player.state()
    assert good["phases"]["depth"] != "inf" and player.phase > 1
    cap = {"theta": "x", "pole": [0.0, 2.0], "depth": 0.5, "phase": -1, "eta": 1.0, "gap": 1e-3}
    more = [("pole", [1.0]), ("depth", None), ("depth", "inf")]
    counts = {"asked": [-1], "lost": [0, 0], "all_lost": [1], "closed": [1], "largest": [9.0]}
    parts = [("phases", x) for x in (*cap.items(), *more)]
    parts += [("memory", x) for x in counts.items()] + [("queue", ("settled", 10**6))]
    for part, (key, value) in parts:
        wrong = good | {part: good[part] | {key: value}}
        with pytest.raises(StateError):
            uli.restore(signed(wrong, arms=BALL), arms=BALL)
    with pytest.raises(StateError):
        uli.restore(good | {"schema": 9}, arms=BALL)


def test_late_rewards_in_any_order_give_the_same_player():
    reward, order = noisy(2), np.random.default_rng(3)
    players = [LEARNER.start(BALL), LEARNER.start(BALL)]
    for batch in range(30):
        for player, shuffled in zip(players, (False, True), strict=True):
            decisions = player.ask(50)
            for i in order.permutation(50) if shuffled else range(50):
                player.tell(decisions[i].id, reward(50 * batch + i, decisions[i].arm))
    assert players[0].state() == players[1].state()
    assert players[0].phase > 2


def test_it_closes_in_on_the_best_arm_and_says_how_close():
    player = LEARNER.start(BALL)
    drive(player, 12_000, noisy(4))
    best, size = THETA / np.linalg.norm(THETA), np.linalg.norm(THETA)
    assert np.linalg.norm(np.array(player.recommend()) - best) < 0.1
    certificate = player.certificate()
    assert certificate.envelope == LEARNER.guarantee(BALL).bound(12_001)
    assert 0.0 < certificate.bound <= certificate.envelope < 0.2
    assert (size - player.arms @ THETA).max() <= certificate.bound
    assert certificate.active == () and certificate.proved


def test_what_is_asked_ahead_makes_no_certificate_better():
    player = LEARNER.start(BALL)
    quota = player.quota * len(player.arms)
    for t, decision in enumerate(player.ask(150 * quota)):
        player.tell(decision.id, noisy(6)(t % 1000, decision.arm))
    assert player.phase == 2
    assert player.certificate().round == quota + 1
    with pytest.raises(NoGuaranteeError, match=r"R = 0\.1"):
        LEARNER.start(BALL, low=0.0, high=100.0).certificate()


def test_nothing_is_certified_that_nobody_said():
    """Without a bound on theta or a range the first phase knows nothing, and says so."""
    player = uli.CapElimination(0.1, R=0.1).start(BALL)
    assert player.certificate().bound == player.certificate().envelope == math.inf
    assert "nothing is known yet" in repr(player.certificate())
    said = player.certificate().assumes
    assert "the mean of an arm a is c + <a, theta> for some c and theta" in said
    coins = uli.CapElimination(0.1).start(BALL, low=2.0, high=5.0)
    assert coins.certificate().bound == 3.0
    assert any("norm at most 2" in x for x in LEARNER.start(BALL).certificate().assumes)


def test_a_constant_in_all_rewards_changes_nothing():
    reward = noisy(7)
    plain, shifted = LEARNER.start(BALL), LEARNER.start(BALL)
    known = LEARNER.start(BALL, intercept=100.0)
    for t in range(1500):
        arms = [p.ask().arm for p in (plain, shifted, known)]
        x = reward(t, arms[0])
        for player, value in ((plain, x), (shifted, x + 100.0), (known, x + 100.0)):
            player.tell(t + 1, value)
        assert np.array(arms[1:]) == pytest.approx(np.array([arms[0]] * 2), abs=1e-9)
    assert plain.phase == shifted.phase > 3
    assert shifted.certificate().bound == pytest.approx(plain.certificate().bound)


def test_outcomes_beyond_rounding_are_refused():
    player = LEARNER.start(BALL)
    drive(player, 200, lambda t, arm: 1e13 + float(np.array(arm) @ THETA))
    with pytest.raises(NoGuaranteeError, match="rounded"):
        player.certificate()


# Missing outcomes.


def tell(player, decision, outcome):
    """Tell an outcome, None for one that is missing."""
    if outcome is None:
        player.tell_missing(decision.id, "gone")
    else:
        player.tell(decision.id, outcome)


def answered(player, means, hidden, share):
    """Settle a phase: a share of each arm's outcomes is missing, and would have been ``hidden``."""
    n, phase = player.quota, player.phase
    lost = min(int(share * n), n - 1)
    for a, mean in enumerate(means):
        told = (mean * n - hidden[a] * lost) / (n - lost)
        for i, d in enumerate(player.ask(n)):
            tell(player, d, None if i < lost else told)
    assert player.phase == phase + 1


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2])
def test_missing_outcomes_of_bounded_rewards_count_at_their_worst(share):
    """Outcomes that are missing because of what they were: the certificate is true all the same."""
    learner = uli.CapElimination(0.5, R=0.5, theta_norm=8.0)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        direction = rng.standard_normal(2)
        theta = rng.uniform(0.08, 0.25) * direction / np.linalg.norm(direction)
        player = learner.start(BALL, low=0.0, high=1.0)
        for _ in range(4):
            worse = player.arms @ theta < np.median(player.arms @ theta)
            hidden = np.where(worse == bool(seed % 2), 0.8, 0.2)
            answered(player, 0.5 + player.arms @ theta, hidden, share)
            certificate = player.certificate()
            gaps = np.linalg.norm(theta) - player.arms @ theta
            assert gaps.max() <= certificate.bound + 1e-9
        assert player.lost > 0 and certificate.envelope == math.inf
        assert any("missing" in x for x in certificate.assumes)
        again = uli.restore(json.loads(json.dumps(player.state())), arms=BALL)
        assert again.state() == player.state()


def test_a_phase_that_misses_too_much_cuts_nothing():
    learner = uli.CapElimination(0.5, R=0.5, theta_norm=2.0)
    player = learner.start(BALL, low=0.0, high=1.0)
    means = lambda: 0.5 + player.arms @ [0.12, 0.05]  # noqa: E731
    answered(player, means(), [0.5] * 3, 0.0)
    cap, bound = player.arms.tolist(), player.certificate().bound
    assert player.lost == 0 and player.certificate().envelope < math.inf
    answered(player, means(), [0.5] * 3, 0.5)
    assert player.arms.tolist() == cap and player.certificate().bound == bound
    answered(player, means(), [0.5] * 3, 0.0)
    answered(player, means(), [0.5] * 3, 0.0)
    assert player.arms.tolist() != cap and player.certificate().bound < bound
    assert player.certificate().envelope == math.inf  # what is late stays late


def test_one_missing_outcome_widens_by_half_the_range():
    learner = uli.CapElimination(0.5, R=0.5, theta_norm=2.0)
    player = learner.start(BALL, low=0.0, high=1.0)
    n, d = player.quota, 2
    for i, decision in enumerate(player.ask(3 * n)):
        tell(player, decision, None if i == 0 else 0.5)
    tau = (2 + 2.9 * 0.36) / 1.9
    kappa = ((3 * tau - 2) ** 2 + 3 * tau) / 4
    off = 0.5 / n * math.sqrt(d / (d + 1)) * (math.sqrt(kappa) + 1)
    assert player.state()["phases"]["eta"] == pytest.approx(2.0 * 0.36 + off)


def test_missing_outcomes_of_unbounded_rewards_are_asked_for_again():
    player = LEARNER.start(BALL)
    arms = player.arms.tolist()
    for d in player.ask(player.quota * len(arms)):
        tell(player, d, None if d.id == 1 else 0.1)
    assert player.phase == 1 and player.pending == () and player.lost == 0
    with pytest.raises(NoGuaranteeError, match="missing"):
        player.certificate()
    d = player.ask()
    assert list(d.arm) == arms[0]
    player.tell(d.id, 0.1)
    assert player.phase == 2
    with pytest.raises(NoGuaranteeError, match="missing"):
        player.certificate()


def test_what_cannot_be_listed_is_said():
    player = LEARNER.start(BALL)
    for what in ("active", "intervals"):
        with pytest.raises(uli.errors.UnsupportedError, match=f"{what}: CapElimination"):
            found = getattr(player, what)
            found()
    assert repr(player).startswith("CapPlayer(CapElimination(delta=0.1")


def test_studies_keep_it(tmp_path):
    path, reward = tmp_path / "study.db", noisy(9)
    learner = uli.CapElimination(0.1, R=9.0)
    with uli.Study.open(path, learner, BALL, low=-9.0, high=9.0) as study:
        for t in range(120):
            d = study.ask()
            if t == 50:
                study.tell_missing(d.id, "lost")
            else:
                study.tell(d.id, reward(t, d.arm))
        certificate, best = study.certificate(), study.recommend()
    with uli.Study.open(path) as again:
        assert again.certificate() == certificate and again.recommend() == best
        assert again.learner == learner and len(again.history()) == 120
    assert certificate.bound == 18.0 and certificate.envelope == math.inf
    assert uli.Study.audit(path).widens


def test_an_intercept_beyond_rounding_is_refused():
    """Rewards near 0 less 1e14 have no digits left."""
    player = uli.CapElimination(0.1, R=1.0).start(uli.arm_sets.Ball(2), intercept=1e14)
    player.tell(player.ask().id, 0.5)
    with pytest.raises(uli.errors.NoGuaranteeError, match="so large beside R"):
        player.certificate()
