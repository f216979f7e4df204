"""What a study is opened with: written down, compared, refused if it differs."""

import json
import math
import sqlite3
import threading
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import uli_fast as uli
from tests.study.forging import rewritten, swapped
from tests.study.live import SE, VECTORS
from uli_fast.errors import (
    ArgumentError,
    StateError,
    StudyError,
    StudyLockedError,
    StudyWriteError,
    UliError,
    UnsupportedError,
)


def test_a_second_opener_is_turned_away_at_once(path):
    with uli.Study.open(path, SE, 2):
        with pytest.raises(StudyLockedError):
            uli.Study.open(path)
        with pytest.raises(StudyLockedError, match="this process"):
            uli.Study.read(path)
    uli.Study.open(path).close()


def test_reopening_with_something_else_names_it(place):
    place.open(SE, ["a", "b"], seed=4).close()
    before = place.events()
    for argument, given in (
        ("learner", {"learner": uli.SuccessiveElimination(0.2)}),
        ("learner", {"learner": "SE"}),
        ("arms", {"arms": ["a", "c"]}),
        ("arms", {"learner": SE, "arms": 2}),
        ("arms", {"arms": []}),
        ("seed", {"seed": 5}),
        ("low", {"low": -1.0}),
        ("high", {"high": 2.0}),
        ("horizon", {"horizon": 10}),
        ("intercept", {"intercept": 1.0}),
    ):
        with pytest.raises(ArgumentError) as caught:
            place.open(**given)
        assert caught.value.argument == argument, given
    assert place.events() == before
    place.open(SE, ["a", "b"], seed=4, low=0.0, high=1.0).close()


def test_bad_beginnings_leave_nothing_behind(path, folder):
    for argument, given in (
        ("learner", {}),
        ("learner", {"learner": "x"}),
        ("learner", {"learner": uli.UCBVI(0.1), "arms": 2}),
        ("arms", {"learner": SE}),
        ("arms", {"learner": SE, "arms": "ab"}),
        ("seed", {"learner": SE, "arms": 2, "seed": -1}),
        ("high", {"learner": SE, "arms": 2, "low": 2.0}),
        ("colour", {"learner": SE, "arms": 2, "colour": "red"}),
        ("rewards", {"learner": uli.PolicyElimination(0.1)}),
        ("horizon", {"learner": uli.Exp3P(0.1), "arms": 2}),
    ):
        with pytest.raises(ArgumentError) as caught:
            uli.Study.open(path, **given)
        assert caught.value.argument == argument, given
    assert list(folder.iterdir()) == []
    for wrong in (3, None, folder, "a\0b"):
        with pytest.raises(ArgumentError, match="path"):
            uli.Study.open(wrong, SE, 2)
    with pytest.raises(StudyError):
        uli.Study.open(folder / "no" / "folder.db", SE, 2)
    with pytest.raises(StudyError, match="there is no"):
        uli.Study.read(path)


def test_other_files_are_not_touched(path):
    for content in (b"not a database" * 100, b"SQLite format 3\0" + bytes(4080)):
        path.write_bytes(content)
        with pytest.raises(StudyError):
            uli.Study.open(path, SE, 2)
        assert path.read_bytes() == content
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE mine (x)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StudyError, match="not a study"):
        uli.Study.open(path, SE, 2)
    assert path.read_bytes() == before
    path.write_bytes(b"")  # what a kill while the file is made may leave
    with pytest.raises(ArgumentError, match="learner"):
        uli.Study.open(path)
    uli.Study.open(path, SE, 2).close()


class Own:
    """An oracle of one's own: it cannot be written down."""

    dimension = 2

    def __init__(self, radius=1.0):
        self.ball = uli.arm_sets.Ball(2, radius)

    def maximize(self, u, eq=None, le=None):
        return self.ball.maximize(u, eq=eq, le=le)


@pytest.mark.parametrize(
    "region",
    [
        VECTORS,
        uli.arm_sets.Ball(2, 0.5, [0.1, 0.2]),
        uli.arm_sets.Box([-1, -1], [1, 0.5]),
        uli.arm_sets.Simplex(3),
        uli.arm_sets.L1Ball(2),
        uli.arm_sets.Ellipsoid([0.0, 0.0], [[1.0, 0.2], [0.2, 0.5]]),
        uli.arm_sets.Polytope([[1, 0], [-1, 0], [0, 1], [0, -1]], [1, 1, 1, 1]),
        Own(),
    ],
    ids=lambda r: type(r).__name__,
)
def test_arm_sets_are_written_down_or_asked_for(place, region):
    learner = uli.SpannerElimination(0.1, R=1.0)
    with place.open(learner, region) as study:
        arms = [study.ask().arm for _ in range(3)]
        assert study.arms == () and next(iter(study.counts())) == str(list(arms[0]))
    if isinstance(region, Own):
        for wrong in (None, uli.arm_sets.Ball(2, 2.0), Own(2.0)):
            with pytest.raises(ArgumentError) as caught:
                place.open(arms=wrong)
            assert caught.value.argument == "arms"
        reopened = place.open(arms=Own())
    else:
        with pytest.raises(ArgumentError, match="arms"):
            place.open(arms=uli.arm_sets.Ball(2, 3.0))
        place.open(arms=region).close()
        reopened = place.open()
    with reopened as study:
        assert [tuple(r.arm) for r in study.history()] == arms
        for name in ("active", "intervals"):
            with pytest.raises(UnsupportedError, match=name):
                study.intervals() if name == "intervals" else study.active


def test_a_rule_of_ones_own_must_be_given_again(place):
    rule = uli.EliminationFramework(lambda n, total, active, t: active, lambda delta, t: 1.0)
    with place.open(rule, 2) as study:
        study.tell(study.ask().id, 1.0)
    with pytest.raises(ArgumentError, match=r"learner: must be given: code of your own .*audit"):
        place.open()
    with place.open(rule) as study:
        assert len(study.history()) == 1


def framework(slack=1.0, keep=4):
    rule = lambda n, total, active, t: active if t < keep else active & (n > 0)  # noqa: E731
    return uli.EliminationFramework(rule, lambda delta, t: slack / t)


class Even:
    """A base of one's own."""

    losses = "unit"

    def __init__(self, factor=1.0):
        self.factor = factor

    def g(self, arms, delta):
        return self.factor * len(arms) * math.log(10 * len(arms) / delta)

    def start_phase(self, arms, rounds, delta):
        return uli.Exp3P().start_phase(arms, rounds, delta)


class Odd(Even):
    def g(self, arms, delta):
        return 2.0 * super().g(arms, delta)


Odd.__qualname__ = Odd.__name__ = "Even"


@pytest.mark.parametrize(
    "begun, others",
    [
        (framework(), {"f": framework(slack=2.0), "rule": framework(keep=5)}),
        (
            uli.MetaElimination(Even(), 0.1),
            {"base": uli.MetaElimination(Even(2.0), 0.1), "its base": uli.MetaElimination(Odd())},
        ),
    ],
    ids=["functions", "a base"],
)
def test_a_rule_or_base_of_ones_own_that_differs_is_refused(place, begun, others):
    place.open(begun, 2).close()
    for name, other in others.items():
        for look in (place.open, place.read, place.audit):
            with pytest.raises(ArgumentError, match=f"{name} is not what") as caught:
                look(replace(other, delta=begun.delta))
            assert caught.value.argument == "learner"
    place.open(begun).close()


@pytest.mark.parametrize("kind", [Fraction, np.float32, float])
def test_a_number_that_differs_is_refused_whatever_it_is_written_with(place, kind):
    begun, other = (uli.SuccessiveElimination(kind(x)) for x in (0.25, 0.5))
    place.open(begun, 2).close()
    with pytest.raises(ArgumentError, match="begun with"):
        place.open(other)
    place.open(begun).close()


def test_a_rule_is_told_apart_only_where_that_is_certain(path, monkeypatch):
    """Not where nothing was marked, nor under another Python."""
    uli.Study.open(path, framework(), 2).close()
    marks = uli.Study.read(path, framework())._setup.record(framework().start(2))["own"]
    for own in ({}, marks | {"python": "3.10.1"}, {"python": marks["python"]}):
        rewritten(path, swapped(0, own=own))
        uli.Study.open(path, framework(slack=2.0)).close()
    path.unlink()


class Locked(Even):
    """A base with something in it that cannot be told from another one."""

    def __init__(self, factor):
        super().__init__(factor)
        self.lock = threading.Lock()


class Told(Locked):
    def __getstate__(self):
        return {"factor": self.factor}


def test_what_cannot_be_told_apart_is_refused_before_there_is_a_file(path):
    with pytest.raises(ArgumentError, match=r"lock is a lock.*add|__getstate__") as refused:
        uli.Study.open(path, uli.MetaElimination(Locked(1.0), 0.1), 2)
    assert refused.value.argument == "learner" and not path.exists()
    uli.Study.open(path, uli.MetaElimination(Told(1.0), 0.1), 2).close()
    uli.Study.open(path, uli.MetaElimination(Told(1.0), 0.1)).close()
    with pytest.raises(ArgumentError, match="base is not what"):
        uli.Study.open(path, uli.MetaElimination(Told(2.0), 0.1))


def test_a_refusal_says_whether_code_or_what_an_object_holds_differs(place):
    with place.open(uli.MetaElimination(Even(), 0.1), 2) as study:
        assert "Even object>" in repr(study)  # without its address
    for base, said in (
        (Even(2.0), r"what it holds differs, factor, .*__getstate__ returns what counts"),
        (Odd(), "its code, or what that uses, differs"),
    ):
        with pytest.raises(ArgumentError, match=rf"as its base is not what.*: {said}"):
            place.read(uli.MetaElimination(base, 0.1))


def corners(slack):
    """Return an oracle whose code has this slack; two reach equally far."""

    class Corners:
        dimension = 2

        def __init__(self):
            self.points = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
            self.calls = 0

        def maximize(self, u, eq=None, le=None):
            self.calls += 1
            left = np.ones(4, np.bool_)
            if eq is not None:
                left &= (np.abs(self.points @ eq[0].T - eq[1]) <= slack).all(axis=1)
            if le is not None:
                left &= (self.points @ le[0].T <= le[1] + slack).all(axis=1)
            if not left.any():
                raise uli.errors.InfeasibleError("nothing is left")
            values = np.where(left, self.points @ u, -np.inf)
            return self.points[values.argmax()], float(values.max())

    return Corners()


def test_an_oracle_of_other_code_is_refused_and_one_that_was_used_is_not(path):
    learner, first = uli.SpannerElimination(0.1, R=0.5), corners(1e-9)
    with uli.Study.open(path, learner, first, seed=1) as study:
        study.tell(study.ask().id, 0.5)
        state = study._replay.player.state()
    for same in (first, corners(1e-9)):
        uli.Study.open(path, arms=same).close()
        assert uli.restore(state, arms=same).ask()
    with pytest.raises(ArgumentError, match="their code is not what") as refused:
        uli.Study.open(path, arms=corners(1e-8))
    assert refused.value.argument == "arms"
    with pytest.raises(StateError, match="arms is not what the state was saved with: its code"):
        uli.restore(state, arms=corners(1e-8))


def test_a_saved_player_of_other_code_is_not_restored():
    state = json.loads(json.dumps(framework().start(2).state()))
    assert uli.restore(state, framework()).ask().arm == 0
    with pytest.raises(StateError, match="f is not what the state was saved with: its code, or"):
        uli.restore(state, framework(slack=2.0))


def test_a_closed_study_says_so(place):
    study = place.open(SE, 2)
    d = study.ask()
    study.close()
    study.close()
    for call in (study.ask, study.history, study.certificate, lambda: study.tell(d.id, 1.0)):
        with pytest.raises(StudyError, match="closed"):
            call()
    looked = place.read()
    with pytest.raises(StudyWriteError, match="reading"):
        looked.ask()
    assert looked.active == (0, 1) and looked.intervals()[0] == (0.0, 1.0)
    with pytest.raises(UliError, match="recommend"):
        looked.recommend()
    assert "1 decisions" in repr(looked) and looked.begun.startswith("20")
    assert "numpy" in looked.versions
