"""What is sent and answered, as JSON.

A float that is not finite is null: the bound of a certificate that knows nothing, an end of an
interval without a range. Integers are exact, however large. Arms are numbers or names, lists of
floats where they are points of a set, lists of lists where they are policies, as in histories.
Requests say no more than their fields: what is unknown is refused.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

Key = Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": 1000})]
Reason = Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": 10_000})]
Id = Annotated[int, Meta(description="The number of a decision.", extra_json_schema={"minimum": 1})]
# What the study itself checks, to say what is wrong with it in its own words.
GivenId = Annotated[
    Any,
    Meta(
        description="The number of a decision.", extra_json_schema={"type": "integer", "minimum": 1}
    ),
]
GivenCount = Annotated[Any, Meta(extra_json_schema={"type": "integer", "minimum": 0})]
Given = Annotated[Any, Meta(extra_json_schema={"type": "number"})]
GivenList = Annotated[Any, Meta(extra_json_schema={"type": "array", "items": {"type": "integer"}})]
Arm = Annotated[
    int | str | list[Any],
    Meta(description="A number or name; a vector; a policy, by stage and state."),
]
Label = Annotated[int | str, Meta(description="The number or name of an arm.")]
Metadata = Annotated[dict[str, Any], Meta(description="Whatever is to be kept with a decision.")]
Number = Annotated[float | None, Meta(description="null: not finite.")]
Time = Annotated[str, Meta(description="UTC, as ISO 8601 has it.")]


RequestOf = Annotated[
    Key | None,
    Meta(description="What the decision was asked for with; one of another request is refused."),
]


class Sent(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Base of what is sent."""


class AskBody(Sent):
    """A decision that is asked for."""

    request_id: Annotated[
        Key | None, Meta(description="Asking again with it gives the same decision.")
    ] = None
    metadata: Metadata = {}
    state: Annotated[int | None, Meta(description="Of policies: where the episode begins.")] = None


class AskManyBody(Sent):
    """Decisions that are asked for at once: all of them or none."""

    requests: Annotated[
        Annotated[int, Meta(extra_json_schema={"minimum": 1})] | list[Key | None],
        Meta(description="How many, or the request id of each; null: without one."),
    ]
    metadata: Annotated[
        Metadata | list[Metadata] | None, Meta(description="Of all of them, or of each.")
    ] = None
    state: int | None = None


class TellBody(Sent):
    """What became of a decision."""

    decision_id: GivenId
    reward: Given = UNSET
    states: Annotated[GivenList, Meta(description="Of policies: of stages 1 to H.")] = UNSET
    actions: GivenList = UNSET
    request_id: RequestOf = None


class TellMissingBody(Sent):
    """That an outcome will never come."""

    decision_id: GivenId
    reason: Reason
    request_id: RequestOf = None


class OutcomeBody(TellBody):
    """What became of one of several decisions: a reward, an episode, or why there is none."""

    reason: Reason | UnsetType = UNSET


class TellManyBody(Sent):
    """Outcomes that are told at once: all of them or none."""

    outcomes: list[OutcomeBody]
    only_pending: Annotated[
        bool, Meta(description="Leave out those of which something is known already.")
    ] = False


class BlockRow(Sent):
    """Counts and sums of an arm."""

    arm: Label
    plays: GivenCount
    total: Given
    missing: GivenCount = 0


class TellBlockBody(Sent):
    """Counts and sums of plays that ``allocation`` has handed out."""

    block_id: Key
    sums: list[BlockRow]


# Answers.


class DecisionAnswer(Struct):
    """What to play: tell its outcome under ``id``."""

    id: Id
    arm: Arm
    probability: float


class DecisionsAnswer(Struct):
    """Decisions, in the order of the requests."""

    decisions: list[DecisionAnswer]


class RecordAnswer(Struct, omit_defaults=True):
    """A decision and what became of it."""

    id: Id
    arm: Arm
    probability: float
    request_id: str | None
    metadata: Metadata
    asked: Time
    status: Annotated[str, Meta(extra_json_schema={"enum": ["pending", "reward", "missing"]})]
    reward: float | None
    reason: str | None
    told: Time | None
    late: Annotated[
        float | None, Meta(description="What came after the window, and was not used.")
    ] = None
    states: list[int] | UnsetType | None = UNSET
    actions: list[int] | UnsetType | None = UNSET


class RecordsAnswer(Struct):
    """A page of decisions; ``next`` is where the next one begins, null after the last."""

    records: list[RecordAnswer]
    next: str | None


class SumsAnswer(Struct):
    """Counts and sums of an arm, as they were told."""

    arm: Label
    plays: int
    total: float
    missing: int


class BlockAnswer(Struct):
    """Counts and sums that were told under an id."""

    id: str
    told: Time
    sums: list[SumsAnswer]


class BlocksAnswer(Struct):
    """All blocks."""

    blocks: list[BlockAnswer]


class AllocationRow(Struct):
    """How often to play an arm."""

    arm: Label
    plays: int


class AllocationAnswer(Struct):
    """How often to play each arm until the next look, by anybody and in any order."""

    allocation: list[AllocationRow]


class RecommendAnswer(Struct):
    """What looks best so far among what is still in play."""

    arm: Arm


class CertificateAnswer(Struct):
    """What is certain about everything in play."""

    round: int
    bound: Number
    envelope: Number
    delta: float
    active: Annotated[
        int | list[Label], Meta(description="Arms, or how many policies; empty: points of a set.")
    ]
    proved: bool
    assumes: list[str]
    words: Annotated[str, Meta(description="The certificate in a sentence.")]
    held: Annotated[
        str, Meta(description="What outcomes that are known wait for; empty: for nothing.")
    ]
    blocking: Annotated[
        int | None,
        Meta(description="The decision that so many wait for, and so long, that it is a warning."),
    ]


class IntervalRow(Struct):
    """Where the mean of an arm lies."""

    arm: Label
    low: Number
    high: Number


class IntervalsAnswer(Struct):
    """Each arm's confidence interval."""

    intervals: list[IntervalRow]


class CountRow(Struct):
    """How many plays of an arm have a reward, are missing, are awaited."""

    arm: Label
    reward: int
    missing: int
    pending: int


class CountsAnswer(Struct):
    """Counts of every arm: where bad arms are played less, they show which ones those are."""

    counts: list[CountRow]


class TotalsAnswer(Struct):
    """Counts of all decisions, and since when the oldest is awaited: what a blinded reader sees.

    Plays in blocks are left out: how many they are follows the number of arms in play.
    """

    decisions: int
    reward: int
    missing: int
    pending: int
    oldest: str | None


class ActiveAnswer(Struct):
    """What is still in play."""

    active: Annotated[
        int | list[Any], Meta(description="Arms; how many policies; or the actions left, a mask.")
    ]


class WindowAnswer(Struct):
    """How long outcomes may take, and what stands for one that took longer."""

    seconds: float
    then: Annotated[float | None, Meta(description="A reward; null: it is missing.")]


class HeldAnswer(Struct):
    """Outcomes that are known and not learned from, and the decision that they wait for."""

    outcomes: int
    decision: Id
    asked: Time


class StudyAnswer(Struct):
    """What the study is."""

    learner: str
    arms: list[Label]
    outcome: Annotated[list[str], Meta(description="What a decision is told.")]
    begun: Time
    versions: dict[str, str]
    room: Annotated[
        int | None, Meta(description="Decisions before outcomes are told; null: any number.")
    ]
    window: Annotated[
        WindowAnswer | None, Meta(description="How long outcomes may take; null: for ever.")
    ]
    windows: Annotated[
        dict[str, int], Meta(description="How many were closed, and outcomes that came late.")
    ]
    held: Annotated[
        HeldAnswer | None, Meta(description="What known outcomes wait for; null: for nothing.")
    ]


class HeadAnswer(Struct):
    """The last event: keep it elsewhere to prove later that nothing was cut off."""

    sequence: int
    hash: str
    time: Time


class ArmLineAnswer(Struct):
    """What is known about an arm."""

    arm: Label
    active: bool
    rewards: int
    missing: int
    pending: int
    mean: Number
    low: Number
    high: Number


class DropAnswer(Struct):
    """The event after which arms were out of play."""

    time: Time
    sequence: int
    decision: int
    arms: list[Label]
    left: int


class AuditAnswer(Struct):
    """A journal whose chain holds and whose decisions came out the same."""

    events: int
    head: str
    begun: Time
    last: Time
    versions: dict[str, str]
    decisions: int
    statuses: dict[str, int]
    reasons: dict[str, int]
    arms: list[ArmLineAnswer]
    drops: list[DropAnswer]
    certificate: str
    recommended: str
    assumes: list[str]
    held: str


class ProblemAnswer(Struct, omit_defaults=True):
    """What went wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    argument: str | UnsetType = UNSET
    notes: list[str] | UnsetType = UNSET


class HealthAnswer(Struct):
    """How the service is."""

    status: str
