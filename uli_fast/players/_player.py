"""What all live players share, whatever they decide on: arms, points of a set, policies.

A player holds a queue of its decisions. The queue says in which order outcomes are taken in, the
player what it learns from each. While outcomes are awaited, asking goes on.
"""

from __future__ import annotations

import contextlib
import copy
import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, overload

import numpy as np

from uli_fast import _check
from uli_fast._check import Labels
from uli_fast._support.html import as_shown, facts, listing
from uli_fast._support.text import without_addresses
from uli_fast._support.versions import other_format
from uli_fast.errors import ArgumentError, StateError, UliError
from uli_fast.players._certificate import Certificate, waiting
from uli_fast.players._descriptions import describe, own_code
from uli_fast.players._queue import DecisionQueue
from uli_fast.players._saved_states import compare, contradicts, digest, dump, load

if TYPE_CHECKING:
    from uli_fast.arm_sets import ArmSet

SCHEMA = 6
# What a state is about, beside the parts of its player.
HEAD = ("schema", "learner", "range", "own", "start", "hash")

D = TypeVar("D")


def check_schema(schema: Any) -> None:
    """Refuse a state of another version."""
    if isinstance(schema, bool) or schema != SCHEMA:
        raise StateError("state", other_format("schema", schema, SCHEMA, "start a new player"))


class LivePlayer:
    """Decisions one by one, outcomes when they come."""

    # What ``tell`` is given besides the id of a decision.
    outcome_names: ClassVar[tuple[str, ...]] = ("reward",)
    # Whether missing outcomes of bounded rewards count at their worst, else they are left out.
    widens: ClassVar[bool] = False
    # Whether a fresh player that is asked and told the same comes to the same, else a state is held
    # against its sums (``recount``): a user's own code may do anything when it is asked twice.
    repeats: bool = True
    # Parts that only choices made again would tell about.
    believed: ClassVar[tuple[str, ...]] = ()
    # Blocks of sums that were told in place of decisions.
    blocks: Sequence[Any] = ()

    labels: Labels = ()  # the arms, where they can be listed
    region: ArmSet | None = None  # the set of arms, where they cannot

    def __init__(self, learner: Any, low: float, high: float, queue: DecisionQueue) -> None:
        self.learner, self.low, self.high, self.queue = learner, low, high, queue
        with contextlib.suppress(ArgumentError):  # what cannot be marked is said when it is saved
            _ = learner.own_code  # before it is used

    @property
    def room(self) -> int | None:
        """How many more decisions F allows for before outcomes are told; None: any number."""
        return None

    @property
    def withdrawn(self) -> bool:
        """Whether F is not claimed, because of rounding alone."""
        return False

    # What a kind of player supplies.

    def _take_in(self, decision: Any, outcome: Any) -> None:
        """Learn from what became of the next decision; a missing outcome is None."""
        raise NotImplementedError

    def parts(self) -> dict[str, Any]:
        """Return all that changes, by name: see ``_saved_states``."""
        return {"queue": self.queue}

    def _repeat(self, decision: Any, outcome: Any) -> None:
        """Ask again for a decision of another player; refuse an outcome that cannot be its."""
        raise NotImplementedError

    def _repeat_block(self, block: Any) -> None:
        """Be told a block of sums that another player was told."""
        raise NotImplementedError

    def _what(self) -> str:
        """Say what is played."""
        raise NotImplementedError

    def certificate(self) -> Certificate:
        """Return what is certain about everything in play, from settled outcomes alone."""
        raise NotImplementedError

    # What a user calls.

    def tell_missing(self, id: int, reason: str) -> None:
        """Say that the outcome of a decision will never come; saying it again changes nothing."""
        if self.queue.tell_missing(self.queue.position(id), reason):
            self._settle()

    @property
    def pending(self) -> tuple[int, ...]:
        """Ids of the decisions whose outcome is still awaited."""
        return self.queue.pending

    def state(self) -> dict[str, Any]:
        """Return everything as plain numbers and strings, for JSON and ``uli.restore``."""
        parts = self.parts()
        head = {
            "schema": SCHEMA,
            "learner": describe(self.learner),
            "range": [self.low, self.high] if math.isfinite(self.low) else [None, None],
            "own": own_code(self.learner, self.region),
            "start": self.started_with() | self.also_started_with(),
        }
        saved: dict[str, Any] = dump(parts)
        return head | saved | {"hash": digest(head, parts)}

    def __repr__(self) -> str:
        asked = len(self.queue)
        counts = f"{asked} asked, {asked - len(self.pending)} settled"
        return f"{type(self).__name__}({self.learner!r}, {self._what()}, {counts})"

    @as_shown
    def _repr_html_(self) -> str:
        return facts(without_addresses(repr(self.learner)), self.facts())

    def facts(self) -> list[tuple[str, str]]:
        """Return what is to be known first: who is in play, what is awaited, what is certain."""
        try:
            certain = self.certificate().sentence
        except UliError as reason:
            certain = f"nothing: {reason}"
        asked, awaited, settled = len(self.queue), len(self.pending), self.queue.settled
        found = [
            ("decides on", self._what()),
            ("in play", self._in_play()),
            ("decisions", f"{asked:,} asked, {asked - awaited:,} told, {awaited:,} awaited"),
            ("certain", certain),
        ]
        if held := asked - settled - awaited:
            found.append(("held up", waiting(held, settled + 1)))
        return found

    def _in_play(self) -> str:
        """Say who is in play."""
        if self.region is not None:
            return f"points of {self.region!r}"
        found: Any = getattr(self, "active", ())
        if isinstance(found, tuple):
            return f"{listing(found)} ({len(found)} of {len(self.labels)})"
        if isinstance(found, np.ndarray):
            return f"{int(found.sum()):,} actions at all stages and states"
        return f"{found:,} policies" if found < 10**15 else "more than 1e15 policies"

    def forget(self) -> None:
        """Drop the settled decisions, if they are needed no more than to be told again.

        Then ``state`` is without them, and only who remembers them can go on from it.
        """

    # What studies need to know about a player.

    # Whether it can do without its settled decisions.
    forgets: ClassVar[bool] = False

    @property
    def lost(self) -> int:
        """How many missing outcomes count at their worst."""
        return 0

    def check_ask(self, n: int) -> None:
        """Refuse n more decisions before the first of them is made."""

    def read_request(self, about: dict[str, Any]) -> dict[str, Any]:
        """Take out of keywords what ``ask`` needs, and check it."""
        return {}

    def check_request(self, position: int, request: Mapping[str, Any]) -> None:
        """Refuse to repeat a decision that was asked for with something else."""

    def decision(self, id: int, content: Mapping[str, Any]) -> Any:
        """Return a decision with the very numbers that a file has of it."""
        raise NotImplementedError

    def read_outcome(self, position: int, *outcome: Any) -> Any:
        """Return what ``tell`` is given as the queue has it; refuse what cannot have happened."""
        raise NotImplementedError

    def tell_again(self, position: int, told: Any) -> None:
        """Tell an outcome as a file has it."""
        raise NotImplementedError

    def outcome(self, position: int, told: Any) -> dict[str, Any]:
        """Return an outcome by name, as histories have it, from what a file has."""
        return {"reward": told}

    def started_with(self) -> dict[str, Any]:
        """Return what it was started with besides learner, range and set of arms, for JSON."""
        raise NotImplementedError

    def also_started_with(self) -> dict[str, Any]:
        """Return what else it was started with: its seed and its horizon, where they matter."""
        return {}

    # Saved states.

    def load(self, saved: Mapping[str, Any]) -> None:
        """Take over what ``state`` returned, if it is whole."""
        parts = self.parts()
        load(parts, {name: saved[name] for name in saved if name not in HEAD})
        head = {name: saved[name] for name in HEAD if name != "hash"}
        if saved["hash"] != digest(head, parts):
            raise StateError("state", "is not whole: its hash is another")

    def check_state(self) -> None:
        """Refuse what no player can hold, whatever led to it."""

    def follow(self, other: Any) -> None:
        """Ask and be told what another player was, in the same order."""
        queue, theirs, blocks = self.queue, other.queue, deque(other.blocks)
        for i, (decision, seen) in enumerate(zip(theirs.decisions, theirs.seen, strict=True)):
            while blocks and blocks[0].position <= i:
                self._settle(i)
                self._repeat_block(blocks.popleft())
            if queue.settled < seen:
                queue.settle(self._take_in, seen)
            if queue.settled != seen:
                raise contradicts("what was settled at each decision")
            self._repeat(decision, theirs.outcomes[i])
            if queue.decisions[i] != decision:
                raise contradicts(f"decision {i + 1} is not what is asked for")
            queue.copy_outcome(theirs, i)
        self._settle()
        for block in blocks:
            self._repeat_block(block)

    def adopt(self, fresh: Any) -> None:
        """Take over what a state does not hold from a player that came to the same."""

    def _settle(self, end: int | None = None) -> None:
        """Take in the outcomes that are next in the order of decisions."""
        self.queue.settle(self._take_in, end)


class EpisodePlayer(LivePlayer):
    """Decisions that are policies: what a state says is brought about by playing it again.

    What is given out of it stays as it was saved.
    """

    repeats = False

    def load(self, saved: Mapping[str, Any]) -> None:
        """Take over what ``state`` returned."""
        record = copy.deepcopy(self)
        load(record.parts()["queue"], saved["queue"])
        load(record.parts()["policies"], saved["policies"])
        self.follow(record)
        compare(self, saved)
        super().load(saved)

    def recount(self) -> None:
        """Do nothing: loading has played everything again."""


class RewardPlayer(LivePlayer, Generic[D]):
    """Decisions that do not depend on a state, and whose outcomes are rewards."""

    def _ask(self) -> D:
        """Make the next decision."""
        raise NotImplementedError

    @overload
    def ask(self, n: None = None) -> D: ...
    @overload
    def ask(self, n: int) -> list[D]: ...
    def ask(self, n: int | None = None) -> D | list[D]:
        """Return the next decision, or a list of the next n."""
        if n is None:
            self.check_ask(1)
            return self._ask()
        many = _check.decisions("n", n)
        self.check_ask(many)
        return [self._ask() for _ in range(many)]

    def tell(self, id: int, reward: float) -> None:
        """Give the reward of a decision; telling the same again changes nothing."""
        position = self.queue.position(id)
        if self.queue.tell(position, self.read_outcome(position, reward)):
            self._settle()

    def read_outcome(self, position: int, *outcome: Any) -> float:
        """Return a reward, if it is one."""
        return self._read(*outcome)

    def tell_again(self, position: int, told: Any) -> None:
        """Tell a reward as a file has it."""
        self.tell(position + 1, told)

    def _read(self, reward: Any) -> float:
        return _check.reward(reward, self.low, self.high)
