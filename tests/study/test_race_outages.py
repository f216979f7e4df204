"""The scorer of a race fails for a while, now and then, or at some instances for ever."""

import random
import threading

import numpy as np
import pytest

import uli_fast as uli
from uli_fast.errors import ArgumentError, EvaluateError, MissingScoresWarning
from uli_fast.study.journal import read_events

CHANCES = {"a": 0.5, "b": 0.55, "c": 0.6, "d": 0.4, "e": 0.52, "f": 0.7}
ROWS = range(500)


def truth(name, i):
    """Return what a candidate has on an instance."""
    return float(random.Random(f"{name}{i}").random() < CHANCES[name])


class Scorer:
    """Counts its calls, and fails at those for which ``fails(call, name, instance)``."""

    def __init__(self, fails=lambda call, name, i: False):
        self.calls, self._fails, self._lock = 0, fails, threading.Lock()

    def __call__(self, name, given):
        with self._lock:
            self.calls += 1
            call = self.calls
        if self._fails(call, name, given):
            raise ConnectionError("down")
        return [truth(name, i) for i in given] if isinstance(given, list) else truth(name, given)


def race(evaluate, path=None, **more):
    given = {"seed": 1, "study": path} | more
    return uli.race(list(CHANCES), evaluate, ROWS, **given)


def essence(found):
    scores = np.nan_to_num(found.scores, nan=-1.0).tolist()
    return found.ranking, found.certificate, found.evaluations, found.missing, scores


def recorded(path):
    return [x for event in read_events(path)[1:] for x in event.content["outcomes"]]


@pytest.fixture(scope="module")
def undisturbed():
    scorer = Scorer()
    found = race(scorer)
    assert found.stopped == "one left" and scorer.calls == found.evaluations == 609
    return essence(found)


@pytest.mark.parametrize(("more", "flying"), [({}, 0), ({"n_jobs": 4}, 8), ({"batched": True}, 0)])
def test_after_an_outage_the_verdict_is_the_same_at_twenty_calls_more(
    more, flying, folder, undisturbed
):
    path, begins = folder / "race.db", 100 if "batched" in more else 300
    scorer = Scorer(lambda call, *_: begins < call <= begins + 1000)
    with pytest.raises(
        EvaluateError, match=r"no score in 20 calls in a row, on 3.*once it works"
    ) as ended:
        race(scorer, path, **more)
    assert ended.value.argument == "evaluate" and isinstance(ended.value.__cause__, ConnectionError)
    assert scorer.calls <= begins + 20 + flying
    assert all(score is not None for _, _, score, _ in recorded(path))
    before, scorer.calls = scorer.calls, 10**6  # it works again
    found = race(scorer, path, **more)
    assert essence(found) == undisturbed
    if "batched" not in more:
        assert before + scorer.calls - 10**6 <= found.evaluations + 20 + flying


def test_while_it_is_down_every_further_call_costs_twenty_more(folder, undisturbed):
    path = folder / "race.db"
    scorer, ended = Scorer(lambda call, *_: 300 < call <= 400), 0
    for _ in range(5):
        with pytest.raises(EvaluateError):
            race(scorer, path)
        ended += 1
    assert scorer.calls == 400 and len(recorded(path)) == 300
    assert essence(race(scorer, path)) == undisturbed and scorer.calls == 609 + 100


def test_failures_on_both_sides_of_an_interrupt_are_asked_for_again(folder):
    path = folder / "race.db"

    def fails(call, *_):
        if call == 316:
            raise KeyboardInterrupt
        return call > 300

    with pytest.raises(KeyboardInterrupt):
        race(Scorer(fails), path)
    assert len(recorded(path)) == 300  # not known yet what the 15 failures are
    scorer = Scorer(lambda call, *_: call <= 15)
    found = race(scorer, path)
    assert len(found.missing) == 15 and scorer.calls == found.evaluations - 300
    with pytest.raises(EvaluateError):
        race(Scorer(fails), folder / "other.db", max_failures=15)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_an_instance_that_works_for_nobody_is_missing_and_no_outage(n_jobs, folder):
    names, path = [f"c{a}" for a in range(25)], folder / "race.db"

    def evaluate(name, i):
        if i == 3:
            raise ValueError("cannot be scored")
        return float(name == "c7")

    found = uli.race(names, evaluate, range(30), seed=1, study=path, n_jobs=n_jobs)
    assert {x.instance for x in found.missing} <= {3}
    missing = uli.race(names, evaluate, range(4), seed=1, n_jobs=n_jobs).missing
    assert [x.instance for x in missing] == [3] * 25


def test_a_candidate_that_never_works_is_no_outage():
    with pytest.warns(MissingScoresWarning, match=r"of the \d+ scores of b: .*: down"):
        found = race(Scorer(lambda call, name, i: name == "b"))
    assert found["b"].evaluations == found["b"].missing > 20 and found.best == "f"


def even(name, i):
    if i % 5 == 2:
        raise ValueError("cannot be scored")
    return float(i % 2)


def test_what_failed_now_and_then_is_no_outage_when_it_is_asked_for_again(folder):
    """Alone they are failures in a row; in the order drawn there are scores between them."""
    path, asked = folder / "race.db", []

    def evaluate(name, i):
        asked.append(i)
        return even(name, i)

    found = uli.race(["a", "b"], evaluate, range(100), seed=1, study=path)
    assert found.stopped == "no instances left" and len(found.missing) == 40
    asked.clear()
    again = uli.race(["a", "b"], evaluate, range(100), seed=1, study=path)
    assert len(asked) == 40 and again.missing == found.missing  # it may yet have told
    size, asked[:] = len(recorded(path)), []
    assert size == 200  # that it is missing is written once
    given = {"seed": 1, "study": path, "retry_missing": False}
    assert uli.race(["a", "b"], evaluate, range(100), **given).ranking == found.ranking
    assert asked == []
    mended = uli.race(["a", "b"], lambda name, i: float(i % 2), range(100), seed=1, study=path)
    assert not mended.missing and mended.certificate.bound < 1e-12


def test_a_known_score_between_two_failures_counts(folder):
    """Within the rows of a look: of each instance one score came, and one did not."""
    path = folder / "race.db"

    def evaluate(name, i):
        if name == "b" and i % 2:
            raise ValueError("cannot be scored")
        return 0.5

    given = {"batch": 100, "seed": 1, "study": path}
    found = uli.race(["a", "b"], evaluate, range(100), **given)
    assert uli.race(["a", "b"], evaluate, range(100), **given).missing == found.missing
    assert len(found.missing) == 50


def test_a_race_that_is_decided_is_read_whatever_was_missing(folder):
    path = folder / "race.db"
    found = race(Scorer(lambda call, name, i: i % 40 == 4), path)
    assert found.stopped == "one left" and found.missing
    scorer = Scorer()
    assert essence(race(scorer, path)) == essence(found) and scorer.calls == 0


def test_scores_that_come_later_send_the_race_the_way_it_would_have_gone(folder):
    """Whoever is dropped earlier then has scores in the file that no verdict rests on."""
    beyond = 0
    for seed in range(4):
        path, whole = folder / f"{seed}.db", Scorer()
        expected = race(whole, seed=seed)

        def fails(call, name, i, seed=seed, stop=whole.calls * 3 // 4):
            if call == stop:
                raise KeyboardInterrupt
            return random.Random(f"{seed}{call}").random() < 0.3

        with pytest.raises(KeyboardInterrupt):
            race(Scorer(fails), path, seed=seed)
        scorer = Scorer()
        found = race(scorer, path, seed=seed)
        assert essence(found) == essence(expected)
        read = Scorer()
        assert essence(race(read, path, seed=seed)) == essence(expected) and read.calls == 0
        came = sum(score is not None for _, _, score, _ in recorded(path))
        beyond += came - found.evaluations
    assert beyond > 0


def test_missing_scores_stay_missing_if_they_are_not_to_be_asked_for(folder):
    path = folder / "race.db"

    def fails(call, name, i):
        if call == 300:
            raise KeyboardInterrupt
        return call % 7 == 0

    with pytest.raises(KeyboardInterrupt):
        race(Scorer(fails), path)
    missing = sum(score is None for _, _, score, _ in recorded(path))
    scorer = Scorer()
    found = race(scorer, path, retry_missing=False)
    assert len(found.missing) == missing > 20
    assert scorer.calls == found.evaluations - 299


def test_retries_come_before_a_score_is_missing(undisturbed):
    tried = set()

    def once(call, name, i):
        first = (name, i) not in tried
        tried.add((name, i))
        return first

    scorer = Scorer(once)
    assert essence(race(scorer, retries=10**9)) == undisturbed
    assert scorer.calls == 2 * undisturbed[2]
    with pytest.raises(EvaluateError):
        tried.clear()
        race(Scorer(once))


def test_a_batch_is_tried_again_where_it_has_no_scores():
    asked = []

    def evaluate(name, items):
        asked.append((name, tuple(items)))
        seen = [x for _, given in asked[:-1] for x in given]
        return [None if i % 2 and i not in seen else 0.5 for i in items]

    found = uli.race(["a", "b"], evaluate, range(6), batch=6, batched=True, retries=3, seed=1)
    assert not found.missing
    assert [sorted(items) for _, items in asked] == [[*range(6)], [1, 3, 5], [*range(6)]]


@pytest.mark.parametrize("most", [1, 5, 50, None])
def test_how_many_failures_in_a_row_are_an_outage_can_be_set(most, folder):
    scorer = Scorer(lambda call, *_: 200 < call <= 240)
    if most in (1, 5):
        with pytest.raises(EvaluateError):
            race(scorer, folder / "race.db", max_failures=most)
        # On three instances at least, and six candidates are left.
        assert 200 + most <= scorer.calls <= 200 + 13
        return
    assert len(race(scorer, folder / "race.db", max_failures=most).missing) == 40


def test_an_outage_says_how_often_each_call_was_tried():
    scorer = Scorer(lambda call, *_: call > 300)
    with pytest.raises(EvaluateError, match=r"20 calls in a row, each tried 3 times") as ended:
        race(scorer, retries=2)
    assert scorer.calls == 360 and "on instance '" not in str(ended.value)


def nothing(*_):
    raise ValueError("no")


def test_without_any_score_there_is_no_verdict(folder):
    for more in ({}, {"max_failures": None}, {"n_jobs": 3}):
        with pytest.raises(EvaluateError, match="has returned no score yet: ValueError: no"):
            path = folder / f"{len(more)}{more.get('n_jobs')}.db"
            uli.race(["a", "b"], nothing, range(4), study=path, **more)
        assert recorded(path) == []


def test_without_a_file_the_message_says_how_to_keep_scores():
    with pytest.raises(
        EvaluateError, match=r"300 scores that came are lost; with study= and a file"
    ):
        race(Scorer(lambda call, *_: call > 300))


@pytest.mark.parametrize(
    "more", [{"retries": -1}, {"max_failures": 0}, {"max_failures": "9"}, {"retry_missing": 1}]
)
def test_what_is_no_rule_for_failures_is_refused(more, folder):
    with pytest.raises(ArgumentError) as refused:
        race(Scorer(), folder / "race.db", **more)
    assert [refused.value.argument] == list(more) and not list(folder.iterdir())


@pytest.mark.parametrize(
    ("about", "said"), [("list", "on this list"), ("population", "in the population")]
)
def test_it_says_of_what_it_speaks(about, said):
    one = uli.race(["a", "b"], lambda c, i: float(c == "a"), range(200), seed=1, about=about)
    even = uli.race(["a", "b"], lambda c, i: 0.5, range(20), seed=1, about=about)
    for found in (one, even):
        assert said in repr(found) and said in found.table().title.plain
