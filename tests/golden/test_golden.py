"""What every registered example does is what it did when its digest was kept.

Slow, as it holds sums that another processor may round otherwise, if seldom at the sixth digit.
"""

import json
from pathlib import Path

import pytest

from tests.golden.facts import computed, digest, facts

pytestmark = pytest.mark.slow
KEPT = Path(__file__).with_name("digests.json")
NAMES = sorted(facts())


def test_there_is_a_digest_of_everything():
    assert sorted(json.loads(KEPT.read_text(encoding="utf-8"))) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_nothing_has_changed(name):
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    assert digest(computed(name)) == kept[name], f'python -m tests.golden show "{name}"'
