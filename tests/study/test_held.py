"""What holds up outcomes that are known is named wherever a study is looked at."""

import re
import warnings

import numpy as np
import pytest
from click.testing import CliRunner

import uli_fast as uli
from tests.study.clock import DAY, Clock
from tests.study.live import AT_ONCE, LEARNERS, SE, asked, outcome
from uli_fast.cli import main
from uli_fast.errors import DelayWarning
from uli_fast.report.watch import words
from uli_fast.report.watch.page import blinded_fragment, fragment

BET = uli.BettingElimination(0.05)
BEHIND = "2,989 outcomes wait behind decision 11"
BY_HAND = "pending(older_than=...) and tell_many(..., only_pending=True)"
NEXT_CALL = "the next call to the open study settles it"
WAY_OUT = f"tell it, or tell_missing(11, reason) if it never comes; for many, {BY_HAND}"


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def stalled(study, n=3000):
    """Tell the outcomes of all decisions but the eleventh."""
    rng = np.random.default_rng(1)
    made = study.ask_many(n)
    told = [(d.id, float(rng.random() < {"A": 0.1, "B": 0.4}[d.arm])) for d in made]
    study.tell_many(told[:10] + told[11:])
    return told


def test_one_outcome_that_is_never_told_is_named_everywhere(path, clock):
    with uli.Study.open(path, BET, ["A", "B"]) as study:
        told = stalled(study)
        clock.passes(3.5 * DAY)
        assert study.held == (2989, 11, study.history()[10].asked)
        with pytest.warns(DelayWarning, match=re.escape(f"{BEHIND} (asked 3 days ago): {WAY_OUT}")):
            certificate = study.certificate()
        assert certificate.held == f"{BEHIND} (asked 3 days ago): {WAY_OUT}"
        assert BEHIND in repr(certificate) and BEHIND in certificate._repr_html_()
        assert BEHIND in study._repr_html_()
        o = study.overview()
        said = f"{BEHIND}, asked on 1 Mar 2026, 00:00 UTC: {WAY_OUT}."
        assert words.plain(words.held(o)) == said
        for page in (fragment(o), blinded_fragment(o)):
            assert BEHIND in page and "tell_missing(11, reason)" in page
        assert study.active == ("A", "B")  # nothing is learned from them
    assert uli.Study.audit(path).held == certificate.held
    for command in ("show", "audit"):
        shown = CliRunner().invoke(main, ["study", command, str(path)]).output
        table, _, rest = shown.partition("certificate: ")
        assert f"held up: {BEHIND} (asked 3 days ago): {WAY_OUT}" in rest.partition("assumed: ")[0]
        assert "means and intervals are of outcomes that were learned from" in table
    with uli.Study.open(path) as study:
        study.tell(*told[10])
        assert study.held is None and study.certificate().held == "" and study.active == ("B",)
        assert "held" not in repr(study.certificate())
        assert "outcomes wait" not in fragment(study.overview())


def test_a_warning_names_each_decision_once_and_only_where_much_waits(path):
    with uli.Study.open(path, BET, ["A", "B"]) as study:
        study.ask_many(2)
        for count, warned in ((90, False), (20, True), (20, False)):
            study.tell_many([(d.id, 0.0) for d in study.ask_many(count)])
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                study.certificate()
            assert [x.category for x in found] == [DelayWarning] * warned
        study.tell(1, 0.0)
        with pytest.warns(DelayWarning, match="130 outcomes wait behind decision 2"):
            study.certificate()
        study.tell(2, 0.0)
        study.tell_many([(d.id, 0.0) for d in study.ask_many(2000)])
        late = study.ask()
        study.tell_many([(d.id, 0.0) for d in study.ask_many(150)])
        study.certificate()  # warnings are errors: what waits would change little
        assert study.held[:2] == (150, late.id)


def test_a_wait_within_the_window_is_no_warning(path, clock):
    with uli.Study.open(path, SE, 2, window=7 * DAY) as study:
        made = study.ask_many(200)
        study.tell_many([(d.id, 0.0) for d in made[1:]])
        clock.passes(7 * DAY - 1.0)
        assert study.certificate().held.startswith("199 outcomes wait")  # warnings are errors
        assert study.held[:2] == (199, 1)
    clock.passes(1.0)
    with uli.Study.read(path) as study:
        with pytest.warns(DelayWarning, match="its window was over 0 seconds ago"):
            study.certificate()


def test_a_window_is_named_as_what_settles_it(path, clock):
    with uli.Study.open(path, SE, 2, window=7 * DAY) as study:
        a, b = study.ask_many(2)
        study.tell(b.id, 1.0)
        clock.passes(100.0)
        assert study.certificate().held == (
            "1 outcome waits behind decision 1 (asked 100 seconds ago): tell it, or "
            f"tell_missing(1, reason); once its window of 7 days is over, {NEXT_CALL}"
        )
        assert f"once its window of 7 days is over, {NEXT_CALL}." in words.plain(
            words.held(study.overview())
        )
        clock.passes(7 * DAY)
        study.tell(a.id, 1.0)
        o = study.overview()
    said = (
        "An outcome that is not told within 7 days is missing: 1 outcome was settled so, 1 came "
        "later and was not used."
    )
    assert words.plain(words.window(o)) == said
    for page in (fragment(o), blinded_fragment(o)):
        assert "1 came later and was not used" in page
    assert f"window: a{said[1:]}" in CliRunner().invoke(main, ["study", "show", str(path)]).output


def test_a_window_that_is_over_is_not_said_to_wait(path, clock):
    with uli.Study.open(path, SE, 2, window=6.0) as study:
        study.ask_many(2)
        study.tell(2, 1.0)
    clock.passes(10.0)  # nobody has called the study since
    said = (
        "1 outcome waits behind decision 1 (asked 10 seconds ago): its window was over "
        f"4 seconds ago; {NEXT_CALL}"
    )
    with uli.Study.read(path) as study:
        assert study.certificate().held == said
    audit = uli.Study.audit(path)
    assert audit.held == said
    for page in (fragment(audit.overview), blinded_fragment(audit.overview)):
        assert f"once its window of 6 seconds is over, {NEXT_CALL}" in page
    assert f"held up: {said}" in CliRunner().invoke(main, ["study", "show", str(path)]).output
    with uli.Study.open(path) as study:
        assert study.held is None


def test_a_bare_player_names_it_too():
    player = BET.start(2)
    player.ask(3)
    player.tell(2, 1.0)
    assert ("held up", "1 outcome waits behind decision 1") in player.facts()
    player.tell(1, 1.0)
    assert "held up" not in dict(player.facts())


def test_outcomes_known_are_those_that_came(path):
    with uli.Study.open(path, SE, 2) as study:
        study.ask_many(5)
        study.tell_many([(1, 1.0), (2, None, "gone"), (3, None, "gone")])
        page = fragment(study.overview())
    tiles = dict(re.findall("<dt>([^<]*)</dt><dd>([^<]*)</dd>", page))
    assert (tiles["outcomes known"], tiles["awaited"]) == ("1", "2")


@pytest.mark.parametrize("name", [n for n in LEARNERS if "rewards" not in LEARNERS[n][1]])
def test_means_that_are_shown_lie_in_their_intervals(name, path):
    """Also while much waits, out of order: means and intervals are of the same outcomes."""
    learner, start = LEARNERS[name]
    rng, at_once = np.random.default_rng(2), type(learner).__name__ in AT_ONCE
    with uli.Study.open(path, learner, **start) as study:
        waiting = []
        for i in range(120):
            waiting.append(asked(study))
            while len(waiting) > (0 if at_once else 20):
                d = waiting.pop(int(rng.integers(1, len(waiting))) if len(waiting) > 1 else 0)
                if i % 40 == 39:
                    study.tell_missing(d.id, "gone")
                else:
                    study.tell(d.id, *outcome(d, rng))
        lines = study.overview().arms
    assert uli.Study.audit(path).arms == lines
    assert all(line.mean is None or line.low <= line.mean <= line.high for line in lines)


def test_means_are_of_what_was_learned_from(path):
    with uli.Study.open(path, SE, ["a", "b"]) as study:
        study.ask_many(8)
        study.tell_many([(1, 1.0), (2, 0.0), (3, 0.5), (4, None, "gone")])
        study.tell_many([(6, 1.0), (7, 0.0), (8, 1.0)])  # behind the fifth
        a, b = study.overview().arms
        assert (a.mean, b.mean) == (0.75, 0.0) and (a.rewards, b.rewards) == (3, 3)
        study.tell(5, 0.0)
        a, b = study.overview().arms
        assert (a.mean, b.mean) == (1.5 / 4, 2.0 / 3)
