"""A learner of one's own: a class, functions, compiled functions; simulated, compared, live."""

import copy
import functools
import json
import math
import random

import numba
import numpy as np
import pytest

import uli_fast as uli
from tests.naive.own_learner import MyUCB, count, no_plays, play, ucb_arm
from tests.support.coupling import assert_equals_naive, assert_same_runs
from tests.support.examples import Wavering
from uli_fast.errors import (
    ArgumentError,
    GuaranteeWarning,
    NoGuaranteeError,
    OwnLearnerError,
    RuleError,
    StateError,
    StudyDivergedError,
)

CLASS = uli.OwnLearner(MyUCB)
FUNCTIONS = uli.OwnLearner(no_plays, ucb_arm, count, name="MyUCB")
COMPILED = uli.OwnLearner(no_plays, numba.njit(ucb_arm), numba.njit(count), name="MyUCB")
PROBLEM = uli.BernoulliBandit([0.7, 0.5, 0.45], names=["a", "b", "c"])


def coins(rng, K, T):
    means = rng.uniform(0.2, 0.8, K)
    return (rng.random((K, T)) < means[:, None]).astype(float)


def test_ucb_through_the_protocol_is_ucb_and_the_naive_loop():
    rng = np.random.default_rng(5)
    for seed in range(12):
        T = int(rng.integers(1, 400))
        table = coins(rng, int(rng.integers(2, 6)), T)
        problem = uli.TableBandit(table, means=table.mean(axis=1))
        every = range(1, T + 1)
        ucb = uli.simulate(uli.UCB(0.05), problem, T, seed=seed, engine="rounds", rounds=every)
        naive = play(MyUCB(len(table), None), table.tolist(), T)
        for learner in (CLASS, FUNCTIONS, COMPILED):
            own = uli.simulate(learner, problem, T, seed=seed, rounds=every)
            assert_equals_naive(own, naive)
            assert (own.plays == ucb.plays).all() and (own.last_play == ucb.last_play).all()
            assert (own.regret == ucb.regret).all()


@numba.njit
def wavering(state, t):
    n, total, rng = state
    if rng.random() < 0.1:
        return int(rng.random() * n.size)
    return int(np.argmax(total / np.maximum(n, 1.0)))


@numba.njit
def counted(state, arm, reward):
    state[0][arm] += 1.0
    state[1][arm] += reward


class SlowlyWavering(Wavering):
    """The same draws as the compiled one."""

    def choose(self, t):
        return wavering.py_func((self.n, self.total, self.rng), t)


def test_a_compiled_learner_that_draws_plays_as_the_class_does():
    compiled = uli.OwnLearner(lambda K, rng: (np.zeros(K), np.zeros(K), rng), wavering, counted)
    for problem in (PROBLEM, uli.GaussianBandit([0.3, 0.0], sigma=0.5)):
        one, two = (
            uli.simulate(learner, problem, 3000, 5, seed=2, n_jobs=jobs)
            for learner, jobs in ((compiled, 2), (uli.OwnLearner(SlowlyWavering), 1))
        )
        assert_same_runs(one, two)
        assert len({tuple(row) for row in one.final_plays}) == 5  # every run has its own draws


def test_rewards_come_in_the_units_of_the_problem():
    heard = set()

    class Listening(MyUCB):
        def update(self, arm, reward):
            assert type(arm) is int and type(reward) is float
            heard.add(reward)
            super().update(arm, reward)

    uli.simulate(uli.OwnLearner(Listening), uli.BernoulliBandit([-1.0, 2.0], low=-3, high=5), 50)
    assert heard == {-3.0, 5.0}


@pytest.mark.parametrize(
    "chosen", [3, -1, 1.0, math.nan, None, True, "a", np.array([1, 2]), (0, 0.5, 1), (0, 1.5)]
)
def test_what_is_no_arm_is_refused_by_name_and_round(chosen):
    class Lost(MyUCB):
        def choose(self, t):
            return chosen if t == 7 else 0

    learner = uli.OwnLearner(Lost)
    with pytest.raises(OwnLearnerError, match=r"Lost.* at round 7"):
        uli.simulate(learner, PROBLEM, 100, seed=1)
    player = learner.start(3, seed=1)
    for _ in range(6):
        player.tell(player.ask().id, 1.0)
    before = player.state()
    with pytest.raises(OwnLearnerError, match=r"Lost.* at round 7"):
        player.ask()
    assert player.state() == before


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (3, "chose 3 at"),
        (-1, "chose -1 at"),
        (1.0, "choose returned a float at round 1"),
        (math.nan, "choose returned a float at round 1"),
        (None, "choose returned None at"),
        (True, "choose returned True or False at"),
        ("a", "choose returned a string at"),
        ((0.5, 0.5), "choose returned a value of type UniTuple"),
    ],
)
def test_what_is_no_arm_is_refused_from_compiled_code_too(chosen, said):
    learner = uli.OwnLearner(no_plays, numba.njit(lambda state, t: chosen), count_compiled)
    with pytest.raises(OwnLearnerError, match=rf"no_plays.* {said}.* from 0 to 2"):
        uli.simulate(learner, PROBLEM, 100, seed=1)


count_compiled = numba.njit(count)


def test_arms_of_any_kind_of_whole_number_are_arms_and_may_come_with_probabilities():
    for chosen in (np.int8(1), np.uint64(1), (1, 0.5)):

        class Sure(MyUCB):
            def choose(self, t, arm=chosen):
                return arm

        compiled = uli.OwnLearner(no_plays, numba.njit(lambda s, t, a=chosen: a), count_compiled)
        for learner in (uli.OwnLearner(Sure), compiled):
            assert uli.simulate(learner, PROBLEM, 20).final_plays.tolist() == [[0, 20, 0]]


def test_functions_that_cannot_be_compiled_together_say_so():
    learner = uli.OwnLearner(lambda K, rng: object(), numba.njit(ucb_arm), count_compiled)
    with pytest.raises(OwnLearnerError) as refused:
        uli.simulate(learner, PROBLEM, 10)
    first = str(refused.value).splitlines()[0]
    assert "the state must be something Numba can type" in first and "returned object" in first
    learner = uli.OwnLearner(no_plays, numba.njit(lambda state, t: state.nothing), count_compiled)
    with pytest.raises(OwnLearnerError, match="cannot be used: Unknown attribute 'nothing'"):
        uli.simulate(learner, PROBLEM, 10)


def test_a_class_that_only_needs_to_be_wrapped_is_told_so():
    with pytest.raises(ArgumentError, match=r"did you mean uli\.OwnLearner\(MyUCB\)\?"):
        uli.simulate(MyUCB, PROBLEM, 10)
    with pytest.raises(ArgumentError, match=r"did you mean uli\.OwnLearner\(MyUCB\)\?"):
        uli.compare([MyUCB], PROBLEM, 10)


@pytest.mark.parametrize(
    ("make", "argument", "said"),
    [
        (lambda: uli.OwnLearner(MyUCB(3, None)), "make", "pass the class, not an instance"),
        (lambda: uli.OwnLearner(no_plays, ucb_arm), "update", "must be given where choose is"),
        (lambda: uli.OwnLearner(no_plays, update=count), "choose", "must be given where update is"),
        (lambda: uli.OwnLearner(MyUCB, name="UCB (mine)"), "name", "no parenthesis"),
    ],
)
def test_what_is_no_learner_is_refused(make, argument, said):
    with pytest.raises(ArgumentError, match=said) as refused:
        make()
    assert refused.value.argument == argument


def test_what_make_returns_needs_both_methods():
    class Deaf:
        def __init__(self, K, rng):
            pass

        def choose(self, t):
            return 0

    said = r"Deaf has no method `update`: add update\(self, arm, reward\)"
    with pytest.raises(OwnLearnerError, match=said):
        uli.simulate(uli.OwnLearner(Deaf), PROBLEM, 10)
    with pytest.raises(OwnLearnerError, match=said):
        uli.OwnLearner(Deaf).start(2)


def test_code_that_cannot_begin_leaves_no_file_behind(tmp_path):
    class Deaf:
        def __init__(self, K, rng):
            pass

        def choose(self, t):
            return 0

    with pytest.raises(OwnLearnerError, match="no method `update`"):
        uli.Study.open(tmp_path / "s.db", uli.OwnLearner(Deaf, name="m"), 3)
    assert not list(tmp_path.iterdir())
    study_of(tmp_path / "s.db", uli.OwnLearner(Wavering, name="m"), 5)  # the mended code


def test_a_run_and_a_study_make_what_they_know_once(tmp_path):
    made = []

    class Counted(Wavering):
        def __init__(self, K, rng):
            made.append(K)
            super().__init__(K, rng)

    study_of(tmp_path / "s.db", uli.OwnLearner(Counted), 5)
    assert made == [3]


# Claims.


def claim(K, delta, t):
    return math.sqrt(20 * K * math.log(K * t * t / delta) / t)


def test_it_promises_nothing_unless_it_claims_to():
    with pytest.raises(NoGuaranteeError, match="nothing is proved about MyUCB"):
        CLASS.guarantee(3)
    runs = uli.simulate(CLASS, PROBLEM, 100, seed=1)
    assert runs.baseline and runs.guarantee is None and np.isnan(runs.worst_ratio).all()


def test_a_claim_is_the_users_and_is_tested_in_every_round():
    def waves(K, delta, t):
        return 0.5 if t == 100 else 2.0 + math.sin(t)  # worst in the first chunk of rounds

    class InTurn(MyUCB):
        def choose(self, t):
            return (t - 1) % 2

    two = uli.BernoulliBandit([9.0, 1.0], low=0.0, high=10.0)
    runs = uli.simulate(uli.OwnLearner(InTurn, claim=waves), two, 20_000, 2, seed=1)
    expected = max(8.0 / waves(2, 0.05, t) for t in range(2, 20_001, 2))
    assert runs.worst_ratio == pytest.approx(expected) and not runs.holds.any()
    promise = uli.OwnLearner(MyUCB, claim=claim, delta=0.2).guarantee(3)
    assert not promise.proved and promise.bound(9.0) == claim(3, 0.2, 9.0)
    assert "the user's claim" in promise.constants[0].source
    with pytest.raises(RuleError, match="claim must return a number"):
        uli.OwnLearner(MyUCB, claim=lambda *_: "low").guarantee(2).bound(1)


def test_a_claim_on_a_table_without_means_is_not_attached():
    table = uli.TableBandit(coins(np.random.default_rng(1), 2, 50))
    with pytest.warns(GuaranteeWarning, match="no guarantee"):
        runs = uli.simulate(uli.OwnLearner(MyUCB, claim=claim), table, 50)
    assert runs.guarantee is None


def test_a_live_claim_certifies_no_set_of_arms():
    player = uli.OwnLearner(MyUCB, claim=claim).start(2, seed=1)
    with pytest.raises(NoGuaranteeError, match="does not say which arms"):
        player.certificate()
    with pytest.raises(NoGuaranteeError, match="nothing is proved"):
        CLASS.start(2).certificate()


# Names, comparisons, reports.


def test_tables_call_it_by_its_name():
    names = {
        "MyUCB": CLASS,
        "mine": uli.OwnLearner(MyUCB, name="mine"),
        "OwnLearner": uli.OwnLearner(lambda K, rng: MyUCB(K, rng)),
        "no_plays": uli.OwnLearner(no_plays, ucb_arm, count),
    }
    assert [x.title for x in names.values()] == list(names)
    other = uli.OwnLearner(MyUCB, delta=0.1)
    found = uli.compare([CLASS, other, uli.UCB()], PROBLEM, 50, seed=1)
    assert list(found.runs) == ["MyUCB (delta=0.05)", "MyUCB (delta=0.1)", "UCB"]
    assert repr(CLASS) == "MyUCB(OwnLearner, delta=0.05)"


def test_reports_and_saved_runs_have_it(tmp_path):
    learners = [uli.SuccessiveElimination(0.1), uli.OwnLearner(Wavering, claim=claim), CLASS]
    found = uli.compare(learners, PROBLEM, 500, 3, seed=1)
    found.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Wavering" in page and "MyUCB" in page
    found.runs["Wavering"].save(tmp_path / "runs")
    again = uli.Runs.load(tmp_path / "runs")
    assert (again.worst_ratio == found.runs["Wavering"].worst_ratio).all()


def test_play_and_simulate_see_the_same_rewards_alike():
    table = coins(np.random.default_rng(3), 3, 300)
    taken = [iter(row) for row in table.tolist()]
    played = uli.play(CLASS, lambda arm: next(taken[arm]), 300, 3, means=table.mean(axis=1))
    problem = uli.TableBandit(table, means=table.mean(axis=1))
    assert (played.plays == uli.simulate(CLASS, problem, 300).plays).all()


def test_it_eliminates_no_arms_and_so_has_no_turning_point_of_its_own():
    with pytest.raises(ArgumentError, match="must eliminate arms"):
        uli.turning_point(uli.OwnLearner(MyUCB, claim=claim), uli.UCB(), PROBLEM)


# Live.


def test_a_decision_knows_its_probability_where_it_is_told_or_sure():
    class Saying(Wavering):
        def choose(self, t):
            return (int(self.rng.integers(4)), 0.25)

    assert CLASS.start(4).ask().probability == 1.0
    assert uli.OwnLearner(Saying).start(4).ask().probability == 0.25
    assert math.isnan(uli.OwnLearner(Wavering).start(4).ask().probability)


def test_late_and_missing_rewards_come_in_the_order_of_decisions():
    class Diary(MyUCB):
        def __init__(self, K, rng):
            super().__init__(K, rng)
            self.notes = []

        def choose(self, t):
            self.notes.append(t)
            return (t - 1) % 3

        def update(self, arm, reward):
            self.notes.append((arm, reward))

    player = uli.OwnLearner(Diary).start(["a", "b", "c"], low=-1.0)
    ids = [d.id for d in player.ask(3)]
    player.tell(ids[2], 0.5)
    player.tell_missing(ids[0], "lost")
    assert player.mind.notes == [1, 2, 3]
    player.tell(ids[1], -1.0)
    assert player.mind.notes == [1, 2, 3, (1, -1.0), (2, 0.5)]
    again = uli.restore(json.loads(json.dumps(player.state())), player.learner)
    assert again.mind.notes == [1, 2, 3, (1, -1.0), (2, 0.5)]


def test_code_that_fails_leaves_no_trace():
    class Fragile(Wavering):
        fails = False

        def update(self, arm, reward):
            super().update(arm, reward)
            if Fragile.fails:
                self.rng.random(7)
                raise ZeroDivisionError

    def drive(player, fail):
        arms = []
        for i in range(60):
            decision = player.ask()
            if fail and i % 20 == 7:
                before, Fragile.fails = player.state(), True
                with pytest.raises(ZeroDivisionError):
                    player.tell(decision.id, 1.0)
                Fragile.fails = False
                assert player.state() == before and player.pending == (decision.id,)
            player.tell(decision.id, float(decision.arm == 1))
            arms.append(decision.arm)
        return arms, player.state()

    learner = uli.OwnLearner(Fragile)
    assert drive(learner.start(3, seed=4), True) == drive(learner.start(3, seed=4), False)


def test_a_copy_needs_nothing_of_the_users_to_be_copied():
    class Open(Wavering):
        def __deepcopy__(self, memo):
            raise TypeError

    player = uli.OwnLearner(Open).start(3, seed=1)
    for _ in range(30):
        player.tell(player.ask().id, 1.0)
    twin = copy.deepcopy(player)
    assert [player.ask().arm for _ in range(20)] == [twin.ask().arm for _ in range(20)]


def test_code_with_randomness_of_its_own_is_found_out():
    hidden = np.random.default_rng(1)

    class Hidden(MyUCB):
        def choose(self, t):
            return int(hidden.integers(3))

    player = uli.OwnLearner(Hidden).start(3, seed=1)
    for _ in range(30):
        player.tell(player.ask().id, 1.0)
    with pytest.raises(StateError, match="is not what Hidden chooses"):
        uli.restore(player.state(), player.learner)


def study_of(path, learner, rounds):
    with uli.Study.open(path, learner, ["a", "b", "c"], seed=3) as study:
        return [one_round(study) for _ in range(rounds)]


def one_round(study):
    decision = study.ask()
    study.tell(decision.id, float(decision.arm == "b"))
    return decision.arm


def test_a_study_goes_on_as_if_it_had_never_been_closed(tmp_path):
    learner = uli.OwnLearner(Wavering)
    whole = study_of(tmp_path / "whole.db", learner, 60)
    parts = [arm for _ in range(3) for arm in study_of(tmp_path / "parts.db", learner, 20)]
    assert parts == whole and len(set(whole)) == 3
    with uli.Study.read(tmp_path / "parts.db", learner) as study:
        assert [x.probability for x in study.history()] == [None] * 60
    assert uli.Study.audit(tmp_path / "parts.db", learner).events == 121


def test_a_study_says_what_a_decision_was_when_it_is_asked_for_again(tmp_path):
    with uli.Study.open(tmp_path / "s.db", uli.OwnLearner(Wavering), 3, seed=1) as study:
        one, two = study.ask("p"), study.ask("p")
        assert one[:2] == two[:2] and math.isnan(two.probability)


def variant(constant, base=Wavering):
    """The same class but for a constant."""

    class Mine(base):
        eps = constant

        def choose(self, t):
            return 0 if self.rng.random() < self.eps else 1

    return Mine


@pytest.mark.parametrize("wrap", [lambda c: c, lambda c: lambda K, rng: c(K, rng)])
def test_a_study_and_a_checkpoint_refuse_another_class_of_the_same_name(tmp_path, wrap):
    one, same, other = (uli.OwnLearner(wrap(variant(x)), name="m") for x in (0.5, 0.5, 0.25))
    study_of(tmp_path / "s.db", one, 5)
    study_of(tmp_path / "s.db", same, 5)
    with pytest.raises(ArgumentError, match=r"this study was begun with.*Begin a new"):
        study_of(tmp_path / "s.db", other, 5)
    kept = functools.partial(uli.simulate, horizon=50, seed=1, checkpoint=tmp_path / "kept")
    assert_same_runs(kept(one, PROBLEM, replications=2), kept(same, PROBLEM, replications=2))
    with pytest.raises(Exception, match="learner"):
        kept(other, PROBLEM, replications=2)


def test_a_study_of_code_that_chooses_otherwise_has_diverged(tmp_path):
    random.seed(1)

    class Moody(MyUCB):
        def choose(self, t):
            return random.randrange(3)

    study_of(tmp_path / "s.db", uli.OwnLearner(Moody), 9)
    with pytest.raises(StudyDivergedError, match="and comes out as"):
        study_of(tmp_path / "s.db", uli.OwnLearner(Moody), 1)
