"""Any sequence of calls, against a model that is a dict."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import uli_fast as uli
from tests.study.conftest import MEMORY
from tests.study.live import settled_state
from uli_fast.errors import ConflictingRewardError, UnknownDecisionError
from uli_fast.study import snapshots

ARMS = ["a", "b", "c"]
STARTS = {
    "SE": (uli.SuccessiveElimination(0.5), {}),
    "PE": (uli.PhasedElimination(0.9), {}),
    "BET": (uli.BettingElimination(0.9), {}),
    "UCB": (uli.UCB(0.5), {}),
    "Exp3P": (uli.Exp3P(0.5), {"seed": 3, "horizon": 10**5}),
}
REWARDS = st.sampled_from([0.0, 0.25, 1.0])
PLACES = st.integers(0, 10**6)


class Machine(RuleBasedStateMachine):
    """The study, a bare player beside it, and what each decision was told."""

    @initialize(name=st.sampled_from(sorted(STARTS)), behind=st.sampled_from([3, 10, 1000]))
    def begin(self, name, behind):
        self.behind, snapshots.BEHIND = snapshots.BEHIND, behind
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self.path = self.folder / "trial.db"
        learner, start = STARTS[name]
        self.study = uli.Study.open(self.path, learner, ARMS, **start)
        self.player = learner.start(ARMS, **start)
        self.requests, self.told, self.arms = {}, {}, {}

    def teardown(self):
        if hasattr(self, "study"):
            snapshots.BEHIND = self.behind
            self.study.close()
            shutil.rmtree(self.folder)

    def pick(self, place, ids):
        return sorted(ids)[place % len(ids)]

    @property
    def waiting(self):
        return [id for id in self.arms if id not in self.told]

    @rule(key=st.one_of(st.none(), st.integers(0, 30)))
    def ask(self, key):
        request = None if key is None else f"patient {key}"
        decision = self.study.ask(request)
        if request in self.requests:
            assert decision == self.requests[request]
            return
        assert decision == self.player.ask() and decision.id == len(self.arms) + 1
        self.arms[decision.id] = decision.arm
        if request is not None:
            self.requests[request] = decision

    @rule(n=st.integers(1, 20), reward=REWARDS)
    def many(self, n, reward):
        """Go forward, so that arms fall and phases close."""
        for _ in range(n):
            self.ask(None)
            self.settle(len(self.arms), reward)

    @rule(n=st.integers(1, 5), key=st.one_of(st.none(), st.integers(0, 30)))
    def ask_many(self, n, key):
        """Some that were asked for before, and some that were not."""
        keys = [None] * n if key is None else [f"patient {key + i}" for i in range(n)]
        for request, decision in zip(keys, self.study.ask_many(keys), strict=True):
            if request in self.requests:
                assert decision == self.requests[request]
                continue
            assert decision == self.player.ask() and decision.id == len(self.arms) + 1
            self.arms[decision.id] = decision.arm
            if request is not None:
                self.requests[request] = decision

    @precondition(lambda self: self.waiting)
    @rule(place=PLACES, n=st.integers(1, 5), told=st.sampled_from([0.0, 1.0, "lost"]))
    def tell_many(self, place, n, told):
        """Some that wait, and what is known of one that does not."""
        ids = list(dict.fromkeys(self.pick(place * i, self.waiting) for i in range(1, n + 1)))
        rows = dict.fromkeys(ids, told)
        if self.told:
            old = self.pick(place, self.told)
            rows[old] = self.told[old]
        self.study.tell_many(
            [(id, None, x) if isinstance(x, str) else (id, x) for id, x in rows.items()]
        )
        for id in ids:
            if isinstance(told, str):
                self.player.tell_missing(id, told)
            else:
                self.player.tell(id, told)
            self.told[id] = told

    def settle(self, id, outcome):
        for live in (self.study, self.player):
            if isinstance(outcome, str):
                live.tell_missing(id, outcome)
            else:
                live.tell(id, outcome)
        self.told[id] = outcome

    @precondition(lambda self: self.waiting)
    @rule(place=PLACES, reward=REWARDS)
    def tell_in_any_order(self, place, reward):
        self.settle(self.pick(place, self.waiting), reward)

    @precondition(lambda self: self.waiting)
    @rule(place=PLACES, reason=st.sampled_from(["withdrew", "lost"]))
    def tell_missing(self, place, reason):
        self.settle(self.pick(place, self.waiting), reason)

    @precondition(lambda self: self.told)
    @rule(place=PLACES)
    def tell_again(self, place):
        id = self.pick(place, self.told)
        self.settle(id, self.told[id])

    @precondition(lambda self: self.told)
    @rule(place=PLACES, other=st.sampled_from([0.125, "moved"]))
    def contradict(self, place, other):
        id = self.pick(place, self.told)
        with pytest.raises(ConflictingRewardError):
            if isinstance(other, str):
                self.study.tell_missing(id, other)
            else:
                self.study.tell(id, other)

    @rule()
    def tell_of_nobody(self):
        with pytest.raises(UnknownDecisionError):
            self.study.tell(len(self.arms) + 1, 0.5)

    @rule()
    def reopen(self):
        self.study.close()
        self.study = uli.Study.open(self.path)

    @rule()
    def die(self):
        """Leave the files as a kill would, and go on with a copy of them."""
        copy = self.folder / f"copy{len(list(self.folder.iterdir()))}.db"
        for suffix in ("", "-wal"):  # this drops SQLite's lock; ours stays
            if Path(f"{self.path}{suffix}").exists():
                shutil.copyfile(f"{self.path}{suffix}", f"{copy}{suffix}")
        self.study.close()
        self.path = copy
        self.study = uli.Study.open(self.path)

    @invariant()
    def agree(self):
        if not hasattr(self, "study"):
            return
        history = self.study.history()
        assert [r.id for r in history] == list(self.arms)
        assert [r.arm for r in history] == list(self.arms.values())
        for record in history:
            told = self.told.get(record.id)
            assert told == (record.reason if isinstance(told, str) else record.reward)
            assert (record.status == "pending") == (record.id not in self.told)
        assert [r.id for r in self.study.pending()] == self.waiting
        assert settled_state(self.study._replay.player) == settled_state(self.player)


TestStudy = Machine.TestCase
TestStudy.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
