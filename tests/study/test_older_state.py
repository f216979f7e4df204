"""An older state in place of a study: no outcome is recorded of somebody else."""

import shutil

import pytest

import uli_fast as uli
from tests.study.live import SE
from tests.study.places import File
from uli_fast.errors import ArgumentError, ConflictingRewardError, UnknownDecisionError

COPY = """INSERT INTO uli_fast.event
SELECT %s, sequence, kind, decision, request, payload, time, version, previous, hash, append
FROM uli_fast.event WHERE study = %s ORDER BY sequence"""


def backup(place):
    """Return a place with the study as it is now."""
    made = place.another()
    if isinstance(place, File):
        shutil.copyfile(place.where, made.where)
    else:
        place.run(COPY, (made.name, place.name))
    return made


@pytest.fixture
def restored(place):
    """The decisions that an older state does not know, and that state, which has gone on."""
    learner = uli.ThompsonSampling()
    with place.open(learner, ["drug", "placebo"], seed=3) as study:
        for i in range(10):
            study.tell(study.ask(f"p{i}").id, float(i % 2))
    older = backup(place)
    with place.open() as study:
        for i in range(10, 14):
            study.tell(study.ask(f"p{i}").id, 1.0)
        lost = study.ask_many(["anna", "bert"])
    with older.open() as study:
        for key in ("bob", "carl", "dora", "eve"):
            study.tell(study.ask(key).id, 0.0)
        study.ask_many(["fred", "gina"])
        yield study, lost


def test_an_outcome_is_not_recorded_of_another_request(restored):
    study, (anna, bert) = restored
    before = study.head
    for tell in (
        lambda: study.tell(anna.id, 1.0, request_id="anna"),
        lambda: study.tell_missing(anna.id, "moved", request_id="anna"),
        lambda: study.tell_many([(anna.id, 1.0), (bert.id, 1.0)], ["anna", "bert"]),
        lambda: study.tell_many([(16, 1.0), (anna.id, 1.0)], ["gina", "anna"]),
        lambda: study.tell(anna.id, 1.0, request_id="eve"),  # of another decision
        lambda: study.tell(1, 0.0, request_id="anna"),  # told before, of somebody else
    ):
        with pytest.raises(UnknownDecisionError, match="ask again") as caught:
            tell()
        assert caught.value.argument == "request_id"
    assert study.head == before and len(study.pending()) == 2
    found = study.together(
        [("tell_many", [(anna.id, 1.0)], ["anna"]), ("tell_missing", 16, "gone", "gina")]
    )
    assert isinstance(found[0], UnknownDecisionError) and found[1] is None
    assert [r.request_id for r in study.pending()] == ["fred"]


def test_an_id_that_only_the_lost_state_knew_says_what_may_have_happened(restored):
    study, _ = restored
    for tell in (lambda: study.tell(17, 1.0), lambda: study.tell_many([(17, None, "gone")])):
        with pytest.raises(UnknownDecisionError, match="17 was asked for; if an older state was"):
            tell()


def test_who_is_asked_for_again_is_told_of_then(restored):
    study, (anna, _) = restored
    again = study.ask("anna")
    assert again.id != anna.id
    study.tell(again.id, 1.0, request_id="anna")
    study.tell(again.id, 1.0, request_id="anna")  # again: no news
    with pytest.raises(ConflictingRewardError):
        study.tell(again.id, 0.0, request_id="anna")
    record = study.history()[again.id - 1]
    assert (record.request_id, record.reward) == ("anna", 1.0)


def test_a_request_that_is_told_with_its_outcome_may_be_of_the_same_write(place):
    with place.open(SE, 2) as study:
        first, told, other = study.together(
            [("ask", "a"), ("tell_many", [(1, 1.0)], ["a"]), ("tell_many", [(1, 1.0)], ["b"])]
        )
        assert first.id == 1 and told is None and isinstance(other, UnknownDecisionError)


def test_a_request_that_is_no_request_is_refused(place):
    with place.open(SE, 2) as study:
        study.ask("a")
        for wrong in (3, "", "x" * 1001):
            for call in (
                lambda wrong=wrong: study.tell(1, 1.0, request_id=wrong),
                lambda wrong=wrong: study.tell_missing(1, "x", request_id=wrong),
                lambda wrong=wrong: study.tell_many([(1, 1.0)], [wrong]),
            ):
                with pytest.raises(ArgumentError):
                    call()
        for wrong in ("a", ["a", "a"], [], {"a": 1}, 1, True):
            with pytest.raises(ArgumentError) as caught:
                study.tell_many([(1, 1.0)], wrong)
            assert caught.value.argument == "request_ids"
        study.tell_many([(1, 1.0)], [None])
        assert study.head.sequence == 3
