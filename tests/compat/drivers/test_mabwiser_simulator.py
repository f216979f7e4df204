"""MABWiser's own Simulator runs our learners beside its own (`make compat-test`)."""

import numpy as np
import pytest

mabwiser = pytest.importorskip("mabwiser.mab", reason="mabwiser is not installed")
simulator = pytest.importorskip("mabwiser.simulator")

from uli_fast.compat.mabwiser import MAB, LearningPolicy  # noqa: E402

ARMS = ["new", "standard", "placebo"]
MEANS = np.array([0.8, 0.5, 0.2])


def history(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    arms = rng.integers(3, size=n)
    rewards = (rng.random(n) < MEANS[arms]).astype(float)
    return np.array(ARMS)[arms], rewards


@pytest.mark.parametrize("batch_size", [0, 100])
def test_the_simulator_takes_our_learners_beside_its_own(batch_size):
    decisions, rewards = history()
    bandits = [
        ("UCB1", mabwiser.MAB(ARMS, mabwiser.LearningPolicy.UCB1(alpha=1.25))),
        ("SE", MAB(ARMS, LearningPolicy.SuccessiveElimination(delta=0.1))),
        ("PE", MAB(ARMS, LearningPolicy.PhasedElimination(delta=0.1))),
        ("UCB", MAB(ARMS, LearningPolicy.UCB(delta=0.1))),
        ("LilUCB", MAB(ARMS, LearningPolicy.LilUCB(delta=0.1))),
    ]
    run = simulator.Simulator(
        bandits, decisions, rewards, test_size=0.5, batch_size=batch_size, is_ordered=True
    )
    run.run()
    for name, _ in bandits:
        predictions = run.bandit_to_predictions[name]
        assert len(predictions) == 1000 and set(predictions) <= set(ARMS)
    assert set(run.bandit_to_predictions["SE"][-100:]) == {"new"}
    train = [rewards[:1000][decisions[:1000] == arm].mean() for arm in ARMS]
    if batch_size == 0:
        found = run.bandit_to_expectations["SE"]
        assert [found[arm] for arm in ARMS] == pytest.approx(train)
        assert set(run.bandit_to_predictions["UCB1"]) == {"new"}  # then their worth is the same
        worth = run.bandit_to_arm_to_stats_avg
        assert worth["SE"]["new"]["mean"] == worth["UCB1"]["new"]["mean"] > 0.7


def test_learners_that_draw_refuse_a_log():
    decisions, rewards = history(200)
    bandits = [("Meta", MAB(ARMS, LearningPolicy.MetaElimination()))]
    run = simulator.Simulator(bandits, decisions, rewards, test_size=0.5, batch_size=0)
    with pytest.raises(ValueError, match=r"then draws again"):
        run.run()


def test_expectations_are_those_of_mabwiser_s_greedy_policy():
    decisions, rewards = history()
    theirs = mabwiser.MAB(ARMS, mabwiser.LearningPolicy.EpsilonGreedy(epsilon=0))
    ours = MAB(ARMS, LearningPolicy.SuccessiveElimination())
    for bandit in (theirs, ours):
        bandit.partial_fit(decisions[:500], rewards[:500])
        bandit.partial_fit(decisions[500:], rewards[500:])
    assert ours.predict_expectations() == pytest.approx(theirs.predict_expectations())
    assert type(ours.predict()) is type(theirs.predict())
    contexts = np.zeros((3, 1))
    assert len(ours.predict(contexts)) == len(theirs.predict(contexts)) == 3
    one = np.zeros((1, 1))
    assert isinstance(ours.predict(one), str) and isinstance(theirs.predict(one), str)
