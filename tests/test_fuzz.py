"""Generated bad input: a few hundred cases here, ten thousand in ``make reliability``."""

import random
import time

from tests.support import fuzz


def test_malformed_input_is_refused_by_name():
    rng = random.Random(7)
    wrong = [
        said for said in (fuzz.fails(case) for case in fuzz.distinct(rng, 600)) if said is not None
    ]
    assert wrong == []


def test_cases_differ_and_reach_every_target():
    cases = list(fuzz.distinct(random.Random(1), 2000))
    assert len({fuzz.label(*case[:3]) for case in cases}) == 2000
    assert {name for name, *_ in cases} == set(fuzz.targets())


def test_a_case_that_hangs_is_interrupted(monkeypatch):
    def sleeps(x):
        time.sleep(60)

    monkeypatch.setattr(fuzz, "SECONDS", 1)
    target = fuzz.Target(sleeps, {"x": 1}, {"x": "whole"})
    assert "Hang" in fuzz.fails(("sleeps", "x", 0, target))


def test_every_target_accepts_what_is_valid():
    for target in fuzz.targets().values():
        target.call(**target.valid)
