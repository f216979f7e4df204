"""A MAB with MABWiser's methods, and what its certificate may say of logged data."""

import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import uli_fast as uli
from tests.compat.cases import DETERMINISTIC, DRAWING, IN_SWEEPS, MEANS, SMALL, live_path, table
from uli_fast.compat import mabwiser
from uli_fast.compat.mabwiser import MAB, LearningPolicy
from uli_fast.errors import ArgumentError, NoGuaranteeError, RewardRangeError, UnsupportedError

LABELS = ["new", ("a", 1), 7]
ELIMINATION = DETERMINISTIC[:2]


def drive(mab, rewards, T):
    counts, arms = np.zeros(len(mab.arms), int), []
    for _ in range(T):
        label = mab.predict()
        assert mab.predict() == label
        a = mab.arms.index(label)
        mab.partial_fit([label], [rewards[a, counts[a]]])
        counts[a] += 1
        arms.append(a)
    return arms


@pytest.mark.parametrize("learner", DETERMINISTIC + IN_SWEEPS, ids=str)
def test_predict_and_partial_fit_are_the_live_player_s_loop(learner):
    T, rewards = 1200, table(1200)
    expected, player = live_path(learner, rewards, T)
    mab = MAB(LABELS, learner)
    assert drive(mab, rewards, T) == expected
    means = {x: rewards[a, : expected.count(a)].mean() for a, x in enumerate(LABELS)}
    assert mab.predict_expectations() == pytest.approx(means)
    if not learner.baseline:
        live = player.certificate()
        assert mab.certificate() == live._replace(active=tuple(LABELS[a] for a in live.active))


def test_why_a_log_is_refused_is_what_the_learner_does():
    """BettingElimination draws nothing: what is proved is about the order in which it asks."""
    betting = MAB(LABELS, uli.BettingElimination(0.05))
    said = "learns from its own decisions, one at a time, and not from a log; uli.replay"
    with pytest.raises(ArgumentError, match=f"decisions: BettingElimination {said}"):
        betting.fit([LABELS[0]] * 4, [1, 0, 1, 0])
    with pytest.raises(ArgumentError, match="learns from the arms it chose; it chose no arm"):
        betting.fit([LABELS[0]], [1])


@pytest.mark.parametrize("learner", DRAWING, ids=str)
def test_learners_that_draw(learner):
    rewards = table(200)
    paths = [drive(MAB(LABELS, learner, seed=s, horizon=400), rewards, 200) for s in (1, 1, 2)]
    assert paths[0] == paths[1] != paths[2]
    mab = MAB(LABELS, learner, horizon=400)
    first = drive(mab, rewards, 50)
    mab.fit([], [])
    assert mab.cold_arms == LABELS
    assert drive(mab, rewards, 50) != first  # a new stream, as MABWiser's goes on
    with pytest.raises(ArgumentError, match="one reward, then draws again"):
        mab.partial_fit(["new", "new"], [1, 0])
    with pytest.raises(ArgumentError, match="drew no arm"):
        mab.fit(["new"], [1])
    assert not mab.cold_arms  # a refused fit forgets nothing
    with pytest.raises(UnsupportedError, match="each reward before"):
        mab.predict([[0], [0]])


def test_labels_and_containers():
    pandas = pytest.importorskip("pandas")
    rows = [("new", 1.0), (("a", 1), 0.0), (7, 1.0), ("new", 0.0)]
    decisions, rewards = [list(x) for x in zip(*rows, strict=True)]
    held = np.empty(4, object)
    held[:] = decisions
    for d, r in (
        (decisions, rewards),
        (held, np.array(rewards)),
        (pandas.Series(held), pandas.Series(rewards)),
    ):
        mab = MAB(LABELS, LearningPolicy.SuccessiveElimination(delta=0.1))
        mab.partial_fit(d, r)  # before any fit
        assert mab.predict_expectations() == {"new": 0.5, ("a", 1): 0.0, 7: 1.0}
    numbers = MAB([3, 4], LearningPolicy.UCB())
    numbers.fit(np.array([3, 4, 4]), np.array([1, 0, 0]))
    assert numbers.predict() == 3 and type(numbers.predict()) is int
    assert MAB(["x", "y"], LearningPolicy.LilUCB()).predict() == "x"  # without any data


def test_fit_forgets_and_partial_fit_does_not():
    mab = MAB(["a", "b"], LearningPolicy.SuccessiveElimination())
    mab.fit(["a"] * 400 + ["b"] * 400, [1.0] * 400 + [0.0] * 400)
    assert mab.active == ["a"] and mab.predict() == "a" and mab.certificate().bound == 0.0
    mab.partial_fit(["b"] * 400, [1.0] * 400)
    assert mab.active == ["a"]  # an eliminated arm never comes back
    assert mab.predict_expectations()["b"] == 0.5
    mab.fit(["a"] * 400 + ["b"] * 400, [0.0] * 400 + [1.0] * 400)
    assert mab.active == ["b"] and mab.predict_expectations() == {"a": 0.0, "b": 1.0}


@pytest.mark.parametrize("learner", DETERMINISTIC, ids=str)
def test_a_list_holds_the_decisions_ahead(learner):
    rewards = table(300)
    mab = MAB([0, 1, 2], learner)
    drive(mab, rewards, 100)
    _, player = live_path(learner, rewards, 100)
    expected = [d.arm for d in player.ask(1500)]
    assert mab.predict([[0.0]] * 1500) == expected
    assert mab.predict(np.zeros((1, 2))) == expected[0]  # a scalar for one row
    assert len(mab.predict_expectations(np.zeros((4, 2)))) == 4


@pytest.mark.parametrize("learner", ELIMINATION, ids=str)
def test_a_log_in_any_order_leaves_what_its_counts_prove(learner):
    """Unequal counts, arm after arm: intervals hold, the envelope is not claimed."""
    rewards = table(4000, seed=3)
    order = np.repeat([2, 0, 1], [4000, 3000, 2000])
    mab = MAB(LABELS, learner)
    mab.fit(
        [LABELS[a] for a in order],
        np.concatenate([rewards[a, : (order == a).sum()] for a in (2, 0, 1)]),
    )
    found = mab.certificate()
    assert found.envelope == math.inf and found.proved and found.delta == learner.delta
    assert "no row was chosen, left out or put in order by its own" in found.assumes[-1]
    assert 7 not in found.active and "new" in found.active
    if isinstance(learner, uli.SuccessiveElimination):
        low, high = [], []  # what the intervals of all counts have in common
        for a, many in ((0, 3000), (1, 2000)):
            n = np.arange(1, many + 1)
            mean = rewards[a, :many].cumsum() / n
            width = 0.5 * np.sqrt(2 * (np.log(4 * 3 / 0.3) + 2 * np.log(n)) / n)
            low.append(max(0.0, (mean - width).max()))
            high.append(min(1.0, (mean + width).min()))
        assert found.bound == pytest.approx(max(high[1] - low[0], high[0] - low[1]))
    gaps = MEANS.max() - MEANS
    assert max(gaps[LABELS.index(x)] for x in found.active) <= found.bound < 1.0


@pytest.mark.parametrize("learner", DETERMINISTIC, ids=str)
def test_rows_at_once_are_rows_one_by_one(learner):
    rewards = table(1500, seed=5)
    order = np.random.default_rng(1).integers(3, size=1500)
    values = rewards[order, range(1500)]
    at_once, singly = MAB([0, 1, 2], learner), MAB([0, 1, 2], learner)
    for part in np.split(np.arange(1500), [7, 700]):
        at_once.partial_fit(order[part], values[part])
        for i in part:
            singly.partial_fit(order[i : i + 1], values[i : i + 1])
        assert at_once.predict([[0]] * 40) == singly.predict([[0]] * 40)
        for key in ("n", "total", "active", "clock"):
            one, other = (getattr(x._stepper.player.arm_state, key) for x in (at_once, singly))
            assert one.tolist() == other.tolist()
    followed, player = live_path(learner, rewards, 60)
    counts = [followed[:i].count(a) for i, a in enumerate(followed)]
    again = MAB([0, 1, 2], learner)
    again.fit(followed, rewards[followed, counts])
    if not learner.baseline:
        assert again.certificate() == player.certificate()
    assert singly.predict_expectations() == at_once.predict_expectations()


def test_phases_use_rewards_at_fixed_positions():
    """PE-MAB on a log is PE-MAB on the arms' own sequences, whatever the order of the log."""
    learner, rewards = uli.PhasedElimination(0.3), table(6000, seed=4)
    states = []
    blocks = np.repeat([2, 0, 1], 6000)  # most rewards wait
    for order in (blocks, blocks[::-1], np.random.default_rng(0).permutation(blocks)):
        counts, mab = np.zeros(3, int), MAB([0, 1, 2], learner)
        values = []
        for a in order:
            values.append(rewards[a, counts[a]])
            counts[a] += 1
        mab.fit(order, values)
        player = mab._stepper.player
        states.append((player.phase, mab.active, mab.certificate().bound, player.intervals()))
    assert states[0] == states[1] == states[2]
    assert states[0][0] > 3


@pytest.mark.parametrize("learner", ELIMINATION, ids=str)
def test_failures_on_logs_of_another_s_making_stay_within_delta(learner):
    """A greedy, adaptive logger: the certificate fails in no more than a share delta of logs."""
    failures, means = 0, np.array([0.6, 0.5])
    for seed in range(60):
        rng = np.random.default_rng(seed)
        mab = MAB([0, 1], learner)
        n, total, rows = np.ones(2), np.full(2, 0.5), []
        for _ in range(1500):
            a = int(rng.integers(2)) if rng.random() < 0.2 else int((total / n).argmax())
            x = float(rng.random() < means[a])
            n[a] += 1
            total[a] += x
            rows.append((a, x))
        mab.fit(*[list(x) for x in zip(*rows, strict=True)])
        found = mab.certificate()
        failures += any(means.max() - means[a] > found.bound for a in found.active)
        failures += 0 not in found.active
    assert failures <= 0.3 * 60


def test_certificates_are_refused_where_nothing_is_proved():
    for learner in DETERMINISTIC[2:]:
        mab = MAB([0, 1], learner)
        mab.fit([0, 1], [1, 0])
        with pytest.raises(NoGuaranteeError):
            mab.certificate()
    followed = MAB([0, 1, 2], SMALL)
    drive(followed, table(20), 20)
    with pytest.raises(NoGuaranteeError, match="62"):
        followed.certificate()  # the small constant proves nothing
    paper = MAB([0, 1, 2], LearningPolicy.MetaElimination())
    drive(paper, table(20), 20)
    assert paper.certificate().proved and math.isfinite(paper.certificate().envelope)


def test_the_envelope_is_claimed_only_while_the_learner_is_followed():
    mab = MAB(["a", "b"], LearningPolicy.SuccessiveElimination())
    for _ in range(10):
        mab.partial_fit([mab.predict()], [1.0])
    assert math.isfinite(mab.certificate().envelope)
    mab.partial_fit(mab.predict([[0]] * 4), [0.0] * 4)
    assert math.isfinite(mab.certificate().envelope)  # in turn, as asked for
    mab.partial_fit(["b"], [1.0])
    assert mab.certificate().envelope == math.inf


@pytest.mark.parametrize("learner", ELIMINATION, ids=str)
def test_f_never_enters_what_is_said_of_a_log_that_did_not_follow(learner):
    """Long, unbalanced logs: F(delta, t) is far below what the data prove."""
    few, many = (80, 40_000) if isinstance(learner, uli.PhasedElimination) else (40, 40_000)
    envelope = learner.guarantee(MAB([0, 1], learner)._stepper.player.arms_info()).bound
    for order in ([1, 0], [0, 1]):
        mab = MAB([0, 1], learner)
        mab.fit(np.repeat(order, [many, few]), np.full(many + few, 0.5))
        found = mab.certificate()
        t = few + many + 1
        assert envelope(t) < 0.5 * found.bound and found.envelope == math.inf
        assert len(found.active) == 2
        for _ in range(3):  # rows that follow it, one by one and at once, do not bring F back
            mab.partial_fit([mab.predict()], [0.5])
            mab.partial_fit(mab.predict([[0]] * 4), [0.5] * 4)
        again = mab.certificate()
        assert again.envelope == math.inf and again.bound > envelope(t + 15)


def test_units_of_reward():
    mab = MAB(["a", "b"], LearningPolicy.SuccessiveElimination(), low=-10, high=30)
    assert mab.certificate().bound == 40.0
    mab.fit(["a", "b"], [30, -10])
    assert mab.predict_expectations() == {"a": 30.0, "b": -10.0}
    log = ["b"] * 300 + ["a"] * 200
    for learner in ELIMINATION:
        mab, unit = MAB(["a", "b"], learner, low=-10, high=30), MAB(["a", "b"], learner)
        mab.fit(log, [10] * 500)
        unit.fit(log, [0.5] * 500)
        assert mab.certificate().bound == pytest.approx(40 * unit.certificate().bound)
        assert mab.certificate().bound < 40.0
    unbounded = MAB(["a", "b"], LearningPolicy.UCB(R=5.0), low=-math.inf, high=math.inf)
    unbounded.fit(["a", "b"], [300, -100])
    assert unbounded.predict() == "a"


def test_what_cannot_be_kept_is_refused():
    mab = MAB(["a", "b"], LearningPolicy.UCB())
    mab.fit(["a"], [1.0])
    refusals = {
        "decisions": [(["c"], [1]), ([["a"]], [1]), ("a", [1])],
        "rewards": [(["a"], [1, 0]), (["a"], 1)],
    }
    for argument, calls in refusals.items():
        for call in calls:
            with pytest.raises(ArgumentError) as refused:
                mab.partial_fit(*call)
            assert refused.value.argument == argument
    for many in (1, 100):  # few rows and many are checked in different ways
        for wrong in (2.0, math.nan, "x", None):
            with pytest.raises(ArgumentError, match="reward"):
                mab.partial_fit(["a", "b"] * many, [1.0] * (2 * many - 1) + [wrong])
        with pytest.raises(RewardRangeError):
            mab.partial_fit(["b"] * many, [1.5] * many)
        with pytest.raises(ArgumentError, match="decisions"):
            mab.partial_fit(["b"] * many + ["c"], [1.0] * (many + 1))
    assert mab.cold_arms == ["b"] and mab.predict_expectations()["a"] == 1.0
    for bad in ([], "ab", ["a", "a"], [None], [math.nan], [["a"]], 3):
        with pytest.raises(ArgumentError, match="arms"):
            MAB(bad, LearningPolicy.UCB())
    for call in (
        lambda: MAB(["a"], LearningPolicy.UCB(), "KNearest"),
        lambda: mab.fit(["a"], [1.0], [[1.0]]),
        lambda: mab.add_arm("c"),
        lambda: mab.remove_arm("a"),
        lambda: mab.warm_start({}, 0.5),
    ):
        with pytest.raises(UnsupportedError):
            call()
    with pytest.raises(ArgumentError, match="learner"):
        MAB(["a"], "UCB1")
    with pytest.raises(ArgumentError, match="contexts"):
        mab.predict(3)


def test_the_simulator_is_told_of_the_class(monkeypatch):
    admitted = []
    base = SimpleNamespace(BaseMAB=SimpleNamespace(register=admitted.append))
    monkeypatch.setitem(sys.modules, "mabwiser.base_mab", base)
    MAB(["a"], LearningPolicy.UCB())
    assert admitted == [MAB]
    assert mabwiser.MAB(["a"], LearningPolicy.UCB())._imp.arm_to_expectation == {"a": 0.0}
