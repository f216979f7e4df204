"""The page in a real browser, while its study is driven."""

import numpy as np
import pytest

import uli_fast as uli
from tests.service.test_page import CHANCES, SE
from tests.support import browser
from tests.support.patience import wait_until

pytest.importorskip("jinja2")
NASTY = "<img src=x onerror=alert(1)>\u202e\" ' & \u05d0\u05d1"


@pytest.fixture
def chromium(tmp_path):
    if reason := browser.missing():
        pytest.skip(reason)
    made = browser.Browser(tmp_path / "profile")
    yield made
    made.close()


def complaints(chromium):
    """Return errors and warnings of the console, those about the policy among them."""
    found = [x for x in chromium.complaints if x.get("entry", {}).get("level") != "verbose"]
    return [x for x in found if x.get("entry", {}).get("source") != "network"]


def text(chromium, selector):
    return chromium.run(f"document.querySelector({selector!r}).innerText")


def test_it_shows_a_study_that_is_driven_and_updates_itself(serve, roles, chromium):
    tokens, made = roles
    arms = {**CHANCES, NASTY: 0.5}
    served = serve(SE, tuple(arms), tokens=tokens)
    study, rng = served.study, np.random.default_rng(0)
    chromium.size(1280, 900)
    chromium.open(served.url + "/")
    chromium.run(f"document.getElementById('token').value = {made['read']!r}")
    chromium.run("document.querySelector('button').click()")
    chromium.wait("document.getElementById('watch')")
    assert chromium.run("document.cookie") == ""  # scripts do not see it
    assert text(chromium, ".headline").startswith("All 4 arms are in play: control-arm, wide-arm")

    chromium.run("document.querySelector('#table-intervals').open = true")
    chromium.run("window.scrollTo(0, 500)")
    for i in range(600):
        d = study.ask(f"patient {i}")
        if i % 200 == 9:
            study.tell_missing(d.id, NASTY)
        elif i < 597:
            study.tell(d.id, float(rng.random() < arms[d.arm]))
    chromium.wait("document.querySelector('#provenance').innerText.includes('1,198')")
    assert chromium.run("window.scrollY") == 500
    assert chromium.run("document.querySelector('#table-intervals').open")
    assert chromium.run("document.querySelectorAll('figure svg.plot').length") == 4
    assert chromium.run("document.querySelectorAll('img, script:not([src])').length") == 0
    assert text(chromium, "#news").startswith("live")
    rows = chromium.run(
        "[...document.querySelectorAll('#arms tbody tr')]"
        ".map(r => [...r.children].map(c => c.innerText.trim()))"
    )
    said = text(chromium, "#words")
    head = text(chromium, "#provenance")
    assert complaints(chromium) == []

    # On a telephone nothing is wider than the screen.
    chromium.size(360, 740)
    assert chromium.run("document.documentElement.scrollWidth") <= 360
    study.close()
    audit = uli.Study.audit(study.path)
    for row, line in zip(rows, audit.arms, strict=True):
        assert row[1] == ("yes" if line.active else "no")
        numbers = [int(x.replace(",", "")) for x in row[2:5]]
        assert numbers == [line.rewards, line.missing, line.pending]
        assert row[5] == f"{line.mean:.4g}"
    assert [row[0] for row in rows[:3]] == list(CHANCES)
    assert audit.certificate[1:] in said and audit.head in head
    out = sum(line.plays for line in audit.arms if not line.active)
    assert f"{out:,} of 600 plays" in said


def test_it_says_when_nobody_answers_and_goes_on_by_itself(serve, chromium):
    served = serve()
    chromium.open(served.url + "/")
    chromium.wait("document.getElementById('news').innerText.startsWith('live, looked')")
    chromium.do("Network.emulateNetworkConditions", offline=True, latency=0, **SPEED)
    chromium.wait("document.getElementById('news').innerText.startsWith('not reachable since')")
    assert chromium.run("document.getElementById('state').classList.contains('away')")
    served.study.ask("meanwhile")
    chromium.do("Network.emulateNetworkConditions", offline=False, latency=0, **SPEED)
    chromium.wait(
        "document.querySelector('.headline') && document.body.innerText.includes('meanwhile')"
        " && document.getElementById('news').innerText.startsWith('live')"
    )


SPEED = {"downloadThroughput": -1, "uploadThroughput": -1}


def test_a_page_that_breaks_its_policy_is_noticed(serve, chromium):
    """What the tests above would say of a script or a style of a page's own."""
    served = serve()
    chromium.open(served.url + "/")
    assert complaints(chromium) == []
    chromium.run("document.body.insertAdjacentHTML('beforeend', '<p style=\"color:red\">x</p>')")
    found = []

    def complains():  # it may do so later than it answers
        chromium.wait("true")
        found.extend(complaints(chromium))
        return found

    wait_until(complains)
    assert any("Content Security Policy" in str(x) for x in found)
