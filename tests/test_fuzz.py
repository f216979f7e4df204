"""Generated bad input: a few hundred cases here, ten thousand in ``make reliability``."""

import random

from tests import fuzz


def test_malformed_input_is_refused_by_name():
    rng = random.Random(7)
    wrong = [said for said in (fuzz.fails(rng) for _ in range(400)) if said is not None]
    assert wrong == []


def test_every_target_accepts_what_is_valid():
    for target in fuzz.targets().values():
        target.call(**target.valid)
