"""How a study went: what every event has shown, thinned, and with the numbers of the audit.

The naive twin replays every prefix of the journal from its beginning.
"""

import math
from collections import Counter
from dataclasses import fields
from fractions import Fraction

import numpy as np
import pytest

import uli_fast as uli
from tests.study.live import AT_ONCE, LEARNERS, asked, outcome
from uli_fast.errors import UliError
from uli_fast.study import course, following, snapshots
from uli_fast.study.course import PER_OCTAVE
from uli_fast.study.past import Listed
from uli_fast.study.replay import StudyReplay
from uli_fast.study.setup import Setup, first_content

pytestmark = pytest.mark.filterwarnings("ignore::uli_fast.errors.SaturationWarning")
CHANCES = {"a": 0.95, "b": 0.5, "c": 0.1}
SE = uli.SuccessiveElimination(0.3)


def drive(study, n, seed=0, late=3):
    """Ask and tell in batches, out of order, some missing; the last few stay awaited, unless 0."""
    rng, waiting = np.random.default_rng(seed), []
    for i in range(0, n, 3):
        waiting += study.ask_many([f"{seed}-{i + k}" for k in range(3)])
        told = []
        while len(waiting) > (late if i + 3 >= n else 3):
            d = waiting.pop(int(rng.integers(len(waiting))))
            gone = rng.random() < 0.02
            reward = float(rng.random() < CHANCES[d.arm])
            told.append((d.id, None, f"reason {int(rng.integers(3))}") if gone else (d.id, reward))
        study.tell_many(told)


def naive(place):
    """Return what each event left: counts, means, intervals, active arms, bound, oldest awaited."""
    events = place.events()
    about = {k: v for k, v in first_content("", events[0]).items() if k != "versions"}
    setup, found = Setup.recorded(about, None, None), {}
    replay = StudyReplay("", Listed(events), events[0], setup.start())
    records = {}  # of decisions: arm, when asked, what became of it, its reward
    sums, blocks = {arm: Fraction(0) for arm in replay.player.labels}, {}
    for event in events:
        if event.sequence > 1:
            replay.replay([event])
        if event.kind == "ask":
            records[event.decision] = [str(event.content["arm"]), event.time, "pending", None]
        elif event.kind in ("tell", "missing", "closed"):
            reward = event.content.get("reward")
            records[event.decision][2:] = ["missing" if reward is None else "reward", reward]
        elif event.kind == "block":
            for arm, plays, total, lost in event.content["sums"]:
                of = blocks.setdefault(str(arm), Counter())
                of.update(reward=plays - lost, missing=lost)
                sums[arm] += Fraction(total)
        found[event.sequence] = state(replay, records, sums, blocks, event)
    return found


def learned_from(arm, replay, records, total, of):
    """Return the mean of what an arm's player has learned from: blocks and the first decisions."""
    plays = int(replay.player.arm_state.n[replay.player.labels.index(arm)])
    rows = [reward for name, _, _, reward in records.values() if name == str(arm)]
    came = [x for x in rows[: plays - of["reward"] - of["missing"]] if x is not None]
    n = len(came) + of["reward"]
    return float((total + sum(map(Fraction, came))) / n) if n else math.nan


def state(replay, records, sums, blocks, event):
    player = replay.player
    counts = {str(arm): Counter(blocks.get(str(arm), {})) for arm in player.labels}
    total = Counter()
    for arm, _, status, _ in records.values():
        total[status] += 1
        if counts:
            counts[arm][status] += 1
    for of in blocks.values():
        total.update(of)
    try:
        bound = player.certificate().bound
    except UliError:
        bound = None
    waiting = [when for _, when, status, _ in records.values() if status == "pending"]
    active = set(player.active) if player.labels else set()
    return {
        "time": event.time,
        "totals": (total["reward"], total["missing"], total["pending"]),
        "oldest": min(waiting, default=None),
        "bound": bound,
        "counts": [[of["reward"], of["missing"], of["pending"]] for of in counts.values()],
        "means": [
            learned_from(arm, replay, records, sums[arm], Counter(blocks.get(str(arm), {})))
            for arm in player.labels
        ],
        "intervals": [list(x) for x in player.intervals().values()] if player.labels else [],
        "active": [arm in active for arm in player.labels],
    }


def shown(moment):
    return {
        "time": moment.time,
        "totals": (moment.rewards, moment.missing, moment.awaited),
        "oldest": moment.oldest,
        "bound": moment.bound,
        "counts": moment.counts.tolist(),
        "means": moment.means.tolist(),
        "intervals": moment.intervals.tolist(),
        "active": moment.active.tolist(),
    }


def same(a, b):
    return repr(a) == repr(b)  # NaN is NaN here


def kept(last, step):
    """Return the events whose moments are kept: every step, the first of each quarter octave."""
    octave = [int(PER_OCTAVE * math.log2(s)) for s in range(1, last + 1)]
    first = {1} | {s for s in range(2, last + 1) if octave[s - 1] > octave[s - 2]}
    return sorted(first | set(range(step, last + 1, step)) | {last})


def check_same(overview, other):
    """Compare two overviews in everything but which moments they keep."""
    for field in fields(overview):
        if field.name not in ("moments", "begun"):
            assert getattr(overview, field.name) == getattr(other, field.name), field.name
    assert overview.begun[1:] == other.begun[1:]


def test_a_course_is_what_every_event_has_shown(place, monkeypatch):
    monkeypatch.setattr(course, "MOST", 32)
    with place.open(SE, ["a", "b", "c"]) as study:
        drive(study, 240)
    overview, truth = place.audit().overview, naive(place)
    last, step = overview.events, 16
    assert [m.sequence for m in overview.moments] == kept(last, step)
    for moment in overview.moments:
        assert same(shown(moment), truth[moment.sequence])
    assert overview.drops
    for drop in overview.drops:
        before, after = truth[drop.sequence - 1]["active"], truth[drop.sequence]["active"]
        assert (
            before != after
            and sum(after) == drop.left
            and drop.time == truth[drop.sequence]["time"]
        )


@pytest.mark.parametrize("behind", (40, 10**9), ids=("from a snapshot", "from the beginning"))
def test_a_study_that_is_followed_says_what_its_audit_says(place, monkeypatch, behind):
    monkeypatch.setattr(snapshots, "BEHIND", behind)
    monkeypatch.setattr(following, "PAGE", 50)
    with place.open(SE, ["a", "b", "c"]) as study:
        drive(study, 210, late=0)
    with place.open() as study:
        assert study.overview(wait=False).events == len(place_events(study))
        drive(study, 210, seed=1, late=0)
        overview = study.overview()
        assert overview.reading is None and overview.problem is None
        drive(study, 30, seed=2)
        after = study.overview()
    audit = place.audit()
    check_same(after, audit.overview)
    assert overview.events < after.events
    truth = naive(place)
    for moment in (*overview.moments, *after.moments):
        assert same(shown(moment), truth[moment.sequence])
    assert after.drops == audit.drops and len(after.drops) == 2


def place_events(study):
    return list(study._replay.source.events())


def test_an_overview_has_the_numbers_of_the_audit(place):
    """What is counted as events come is what is in the history."""
    with place.open(SE, ["a", "b", "c"]) as study:
        drive(study, 200)
        live = study.overview()
    audit = place.audit()
    assert live.arms == audit.arms and live.drops == audit.drops
    assert Counter(live.statuses) == audit.statuses and live.why_missing() == audit.reasons
    assert (live.events, live.head, live.last) == (audit.events, audit.head, audit.last)
    assert (live.begun.time, live.begun.versions) == (audit.begun, audit.versions)
    assert live.decisions == len(audit.history)
    assert (live.certificate, live.recommended) == (audit.certificate, audit.recommended)
    assert (live.bounded, live.widens, live.assumes) == (
        audit.bounded,
        audit.widens,
        audit.assumes,
    )
    assert [(x.id, x.arm, x.request_id, x.asked) for x in live.awaited] == [
        (r.id, r.arm, r.request_id, r.asked) for r in audit.pending
    ]
    statuses = Counter((r.arm, r.status) for r in audit.history)
    for line in live.arms:
        found = line.rewards, line.missing, line.pending
        assert found == tuple(statuses[line.arm, x] for x in ("reward", "missing", "pending"))
    by_arm = Counter((r.arm, r.reason) for r in audit.history if r.reason is not None)
    assert {(arm, why): n for arm, why, n in live.reasons} == by_arm


def test_blocks_count_and_drop(place):
    with place.open(uli.BettingElimination(0.2), ["a", "b", "c"]) as study:
        study.overview()
        for i in range(6):
            sums = {}
            for arm in study.active:
                plays = 400 + i
                sums[arm] = (plays, round(CHANCES[arm] * (plays - 1)), 1)
            study.tell_block(sums, f"block {i}")
        for _ in range(20):
            study.tell(study.ask().id, 1.0)
        study.ask()
        live = study.overview()
    audit = place.audit()
    check_same(live, audit.overview)
    assert live.arms == audit.arms and live.blocks == 6 and live.drops
    assert live.in_blocks == (
        sum(b.plays for b in audit.blocks),
        sum(b.missing for b in audit.blocks),
    )
    assert live.statuses == {"reward": 20, "missing": 0, "pending": 1}
    truth = naive(place)
    for moment in audit.overview.moments:
        assert same(shown(moment), truth[moment.sequence])


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_can_be_followed(name, path):
    learner, start = LEARNERS[name]
    rng = np.random.default_rng(0)
    late = 1 if type(learner).__name__ in AT_ONCE or "rewards" in start else 3
    with uli.Study.open(path, learner, **start) as study:
        study.overview()
        waiting = []
        for i in range(60):
            waiting.append(asked(study))
            while len(waiting) >= late:
                d = waiting.pop(0)
                if i == 50:
                    study.tell_missing(d.id, "gone")
                else:
                    study.tell(d.id, *outcome(d, rng))
        asked(study)
        live = study.overview()
        active = study.active if study.arms else ()
    audit = uli.Study.audit(path)
    check_same(live, audit.overview)
    assert live.arms == audit.arms and Counter(live.statuses) == audit.statuses
    assert tuple(x.arm for x in live.arms if x.active) == tuple(active)
    assert live.why_missing() == audit.reasons == {"gone": 1}
    assert sorted(m.sequence for m in live.moments) == [m.sequence for m in live.moments]


def test_a_course_stays_small(path, monkeypatch):
    monkeypatch.setattr(course, "MOST", 16)
    looks, moment = [], course.StudyCourse.moment

    def counting(self, replay):
        looks.append(replay.last.sequence)
        return moment(self, replay)

    monkeypatch.setattr(course.StudyCourse, "moment", counting)
    with uli.Study.open(path, SE, ["a", "b", "c"]) as study:
        study.overview()
        for i in range(400):
            d = study.ask()
            study.tell(d.id, float(i % 2))
        overview = study.overview()
    octaves = PER_OCTAVE * (overview.events.bit_length())
    assert 16 <= len(overview.moments) <= 16 + octaves + 1
    assert len(looks) < 250  # of 801 events


def test_many_arms_keep_fewer_moments(path):
    with uli.Study.open(path, SE, 40_000) as study:
        study.overview()
        for d in study.ask_many(300):
            study.tell(d.id, 1.0)
        overview = study.overview()
    assert len(overview.moments) <= course.LEAST + PER_OCTAVE * 10 + 1
    assert len(overview.arms) == 40_000


def test_reasons_beyond_a_thousand_are_counted_together(path, monkeypatch):
    monkeypatch.setattr(course, "MOST_REASONS", 5)
    with uli.Study.open(path, SE, ["a", "b"]) as study:
        for i, d in enumerate(study.ask_many(12)):
            study.tell_missing(d.id, f"reason {i}")
    overview = uli.Study.audit(path).overview
    assert sum(n for _, _, n in overview.reasons) == 12
    assert overview.why_missing()[None] == 7
    assert len([why for _, why, _ in overview.reasons if why is not None]) == 5


def test_an_interrupted_course_is_made_again(path, monkeypatch):
    with uli.Study.open(path, SE, ["a", "b", "c"]) as study:
        drive(study, 60)
        study.overview()
        monkeypatch.setattr(course.StudyCourse, "_compare", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            study.tell(study.ask().id, 1.0)
        monkeypatch.undo()
        drive(study, 60, seed=1)
        overview = study.overview()
    check_same(overview, uli.Study.audit(path).overview)


def _interrupted(self, event, active):
    raise KeyboardInterrupt


def test_an_interrupt_before_the_past_is_read_has_it_read_later(path, monkeypatch):
    monkeypatch.setattr(snapshots, "BEHIND", 20)
    with uli.Study.open(path, uli.SuccessiveElimination(0.1), arms=["a", "b"]) as study:
        drive(study, 120)
    with uli.Study.open(path) as study:
        with monkeypatch.context() as patch:
            patch.setattr(following.PastReader, "start", _not_started)
            with pytest.raises(KeyboardInterrupt):
                study.overview()
        drive(study, 10, seed=1)
        overview = study.overview()
        assert overview.reading is None and overview.moments[0].sequence == 1
    check_same(overview, uli.Study.audit(path).overview)


def _not_started(self):
    raise KeyboardInterrupt


def test_a_player_that_is_made_again_is_not_counted_again(place):
    with place.open(SE, ["a", "b", "c"]) as study:
        study.overview()
        drive(study, 60)
        study._stale = True  # as after a write that was refused, or another worker that was first
        drive(study, 60, seed=1)
        overview = study.overview()
    check_same(overview, place.audit().overview)


def test_a_snapshot_that_lies_is_told_by_the_past(path, monkeypatch):
    """Opening trusts what a snapshot says of old outcomes; who reads them finds out."""
    monkeypatch.setattr(snapshots, "BEHIND", 20)
    with uli.Study.open(path, SE, ["a", "b", "c"]) as study:
        drive(study, 60)
    with uli.Study.open(path) as study:
        study._replay.counts["a"]["missing"] += 1  # as a forged snapshot would have it
        study._replay.counts["a"]["reward"] -= 1
        overview = study.overview()
        assert overview.reading is not None and "not what its events lead to" in overview.problem
        study.ask("another")  # watching never gets in the way of deciding


def test_the_study_is_not_held_while_its_past_is_replayed(path, monkeypatch):
    monkeypatch.setattr(snapshots, "BEHIND", 20)
    with uli.Study.open(path, SE, ["a", "b", "c"]) as study:
        drive(study, 90)
    held = []
    with uli.Study.open(path) as study:
        repeat = StudyReplay._repeat

        def watched(self, event, content):
            if self is not study._replay:
                held.append(study._lock._is_owned())
            repeat(self, event, content)

        monkeypatch.setattr(StudyReplay, "_repeat", watched)
        study.overview()
    assert len(held) > 100 and not any(held)


def test_a_followed_study_that_is_dropped_lets_go_of_its_file(path, monkeypatch):
    monkeypatch.setattr(snapshots, "BEHIND", 20)
    monkeypatch.setattr(following, "PAGE", 10)
    with uli.Study.open(path, SE, ["a", "b", "c"]) as study:
        drive(study, 90)
    study = uli.Study.open(path)
    study.overview(wait=False)
    reader = study._reader
    del study
    reader.join()  # it holds the study while it reads a page
    uli.Study.open(path).close()


def test_other_workers_events_are_followed_too(database):
    with database.open(SE, ["a", "b", "c"]) as one, database.open() as other:
        one.overview()
        for i in range(40):
            study = (one, other)[i % 2]
            study.tell(study.ask(f"p{i}").id, CHANCES[study.ask(f"p{i}").arm])
        live = one.overview()
    check_same(live, database.audit().overview)
