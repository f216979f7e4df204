"""What a page says and draws of a study: words that never say too much, names that stay names."""

import math
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import uli_fast as uli
from tests.service.pages import Seen
from tests.study.live import AT_ONCE, LEARNERS, asked, outcome
from uli_fast.report.live import write_audit
from uli_fast.report.watch import figures, page, words
from uli_fast.report.watch.scales import Scale, TimeScale, around, decades_around
from uli_fast.report.watch.words import Name, When, plain

pytest.importorskip("jinja2")
pytestmark = pytest.mark.filterwarnings("ignore::uli_fast.errors.SaturationWarning")
SE = uli.SuccessiveElimination(0.3)
CHANCES = {"poor": 0.1, "middling": 0.45, "good": 0.97}
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "' onmouseover='alert(3)",
    "</title></style></svg><b>out</b>",
    "{{ 7 * 7 }}{% raw %}",
    "\u202egnp.exe\u2066",
    "\u05d0\u05d1\u05d2 (1)",
    "a\x1b[31mb",
    "&lt;b&gt; &amp;",
    "long " * 2000,
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "trial.db"


def driven(path, arms=CHANCES, n=420, awaited=3, learner=SE):
    rng = np.random.default_rng(1)
    with uli.Study.open(path, learner, list(arms)) as study:
        for i in range(n):
            d = study.ask(f"patient {i}")
            if i in (10, 90):
                study.tell_missing(d.id, "moved")
            elif i < n - awaited:
                study.tell(d.id, float(rng.random() < CHANCES.get(d.arm, 0.5)))
    return uli.Study.audit(path)


# Words.


def test_the_words_tell_the_state_of_a_trial(path):
    audit = driven(path)
    o = audit.overview
    assert [line.active for line in audit.arms] == [False, False, True]
    assert plain(words.headline(o)) == "1 of 3 arms is in play: good."
    first, second = audit.drops
    assert [plain(x) for x in words.out_of_play(o)] == [
        f"{drop.arms[0]} has been out since event {drop.sequence:,}, {When(drop.time).text}."
        for drop in (first, second)
    ]
    said = plain(words.certified(o))
    assert said[1:] == f"{audit.certificate[1:]}." and said[0] == audit.certificate[0].upper()
    out = sum(r.arm != "good" for r in audit.history)
    percent = round(100 * out / 420)
    assert plain(words.inferior(o)) == (
        f"{out} of 420 plays ({percent} %) were of arms that are out of play now. "
        "That they are inferior is as sure as the certificate."
    )
    oldest = When(audit.pending[0].asked).text
    assert plain(words.awaited(o)) == f"3 outcomes are awaited, the oldest since {oldest}."
    assert plain(words.came(o)) == "420 decisions: 415 with an outcome, 2 missing, 3 awaited."
    by_arm = {x.arm: x.missing for x in audit.arms if x.missing}
    said = plain(words.missing(o)[0])
    assert said.startswith("2 outcomes are missing: ")
    assert all(f"{n} of {arm}" in said for arm, n in by_arm.items())
    assert plain(words.recommended(o)) == "Recommended so far: good."
    assert words.reading(o) == ()


def test_nothing_is_said_to_be_inferior_that_is_not_known_to_be(path):
    o = driven(path, n=12, awaited=0).overview
    assert "no play is known to have been of an inferior one" in plain(words.inferior(o))
    assert plain(words.headline(o)) == "All 3 arms are in play: poor, middling and good."
    assert words.out_of_play(o) == []
    assert plain(words.awaited(o)) == "No outcome is awaited."
    none = replace(driven(path.with_name("b.db")).overview, certificate="nothing is certified: x")
    assert "Nothing certifies that they are inferior." in plain(words.inferior(none))
    assert "as sure as" not in plain(words.inferior(none))
    assert page._tiles(none)[-1] == ("nothing", "certified")
    assert "certified now" in plain(figures._certificate_title(none))


def test_shares_are_never_rounded_to_nothing_or_everything():
    assert words.share(1, 100_000) == "1 %" and words.share(99_999, 100_000) == "99 %"
    assert words.share(0, 5) == "0 %" and words.share(5, 5) == "100 %"


def test_many_arms_are_not_all_listed(path):
    with uli.Study.open(path, SE, 80) as study:
        study.ask()
    o = uli.Study.audit(path).overview
    said = plain(words.headline(o))
    assert said.startswith("All 80 arms are in play: arm 0, arm 1") and "74 others" in said


def test_a_past_that_is_being_read_is_told(path):
    o = replace(driven(path, n=30).overview, reading=(500, 2000))
    assert "event 500 of 2,000" in plain(words.reading(o))
    broken = replace(o, problem="event 7 of 'poor' is gone")
    assert "event 7 of 'poor' is gone" in plain(words.reading(broken))
    assert "poor" not in plain(words.reading(broken, blinded=True))
    unknown = replace(driven(path.with_name("b.db")).overview, drops=(), reading=(1, 9))
    assert [plain(x) for x in words.out_of_play(unknown)] == ["poor and middling are out."]


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_has_its_words_and_figures(name, path):
    learner, start = LEARNERS[name]
    rng = np.random.default_rng(0)
    late = 1 if type(learner).__name__ in AT_ONCE or "rewards" in start else 3
    with uli.Study.open(path, learner, **start) as study:
        waiting = []
        for _ in range(50):
            waiting.append(asked(study))
            while len(waiting) >= late:
                d = waiting.pop(0)
                study.tell(d.id, *outcome(d, rng))
        asked(study)
        try:
            certificate = study.certificate()
        except uli.errors.UliError:
            certificate = None
    audit = uli.Study.audit(path)
    o = audit.overview
    seen = Seen(page.fragment(o))
    shown = {x["id"] for x in seen.all("figure")}
    assert plain(words.certified(o))[1:-1] in seen.text and "awaited" in seen.text
    known = certificate is not None and math.isfinite(certificate.bound)
    assert words.is_certified(o) == known and ("figure-certificate" in shown) >= known
    wanted = {"figure-intervals", "figure-allocation"} if o.arms else {"figure-outcomes"}
    assert wanted | {"figure-awaited"} <= shown
    if not known:
        assert "othing is certified" in seen.text
    for sentence in audit.assumes:
        assert sentence in seen.text
    assert audit.head in seen.text and audit.learner.__class__.__name__ in seen.text


# Names.


class Strict(HTMLParser):
    """Notes elements that a hostile name would have made."""

    def __init__(self, html):
        super().__init__()
        self.found = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        bad = tag in ("script", "img", "b", "iframe")
        if bad or any(name.startswith("on") for name, _ in attributes):
            self.found.append((tag, attributes))


def test_hostile_names_stay_names(path, tmp_path):
    with uli.Study.open(path, SE, HOSTILE) as study:
        for i, d in enumerate(study.ask_many(60)):
            if i < 20:
                study.tell_missing(d.id, HOSTILE[i % 10][:900])
            elif i < 55:
                study.tell(d.id, float(d.arm == HOSTILE[0]))
        for name in HOSTILE:
            study.ask(name[:200])
    audit = uli.Study.audit(path)
    write_audit(audit, tmp_path / "page.html", HOSTILE[1])
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert Strict(html).found == []
    assert Strict("<b onclick=1>").found  # the check can fail
    assert not any(x in html for x in "\u202e\u2066\x1b\x00")
    seen = Seen(html)
    names = [x for x in seen.all("bdi") if x["text"].startswith("\u2068long long")]
    assert names and all(len(x["text"]) <= 122 for x in names)
    assert any((x.get("title") or "").strip("\u2068\u2069") == HOSTILE[-1].strip() for x in names)
    for name in HOSTILE[:5]:
        assert any(name in x["text"] for x in seen.all("bdi")), name
    assert "49" not in [x["text"] for x in seen.all("bdi")]
    # Every name in the words stands alone: what runs leftwards turns nothing around it.
    assert all("\u05d0" not in text or text.startswith("\u2068") for text in seen.texts)
    assert page.blinded_fragment(audit.overview).count("<script") == 0


def test_the_file_needs_nothing_else(path, tmp_path):
    write_audit(driven(path), tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    seen = Seen(html)
    policy = next(x for x in seen.all("meta") if x.get("http-equiv"))
    assert policy["content"].startswith("default-src 'none'")
    assert not seen.all("script") and not seen.all("link") and not seen.all("form")
    assert all("style" not in x and "src" not in x and "href" not in x for x in seen.elements)
    assert "The journal holds" in seen.text
    assert len(html) < 300_000


# Figures.


def test_figures_have_titles_axes_and_a_table_behind_them(path):
    o = driven(path).overview
    made = figures.figures_of(o)
    assert [x.id for x in made] == ["intervals", "allocation", "certificate", "awaited"]
    for figure in made:
        drawing = Seen(figure.svg)
        assert drawing.elements[0]["role"] == "img"
        assert drawing.elements[0]["aria-label"] == plain(figure.title)
        assert figure.x and figure.y and len(drawing.all("text")) >= 4
        assert 2 <= len(figure.rows) <= figures.MOST_ROWS + 1
        assert all(len(row) == len(figure.headers) for row in figure.rows)
    drawing = Seen(made[0].svg)
    crosses = [x for x in drawing.all("svg") if x.get("class") == "mark"]
    assert len(crosses) == len(o.drops) == 2
    written = {x["text"] for x in drawing.all("text") if "name" in x["class"]}
    assert written == set(CHANCES)
    looks = {x["class"] for x in drawing.all("path") if x["class"].startswith("curve hue")}
    assert len(looks) == 3 and len({x.split()[2] for x in looks}) == 3  # hue and dashes both


def test_of_many_arms_those_in_play_are_drawn(path):
    arms = [f"arm number {i}" for i in range(30)]
    with uli.Study.open(path, SE, arms) as study:
        for d in study.ask_many(90):
            study.tell(d.id, 0.5)
    o = uli.Study.audit(path).overview
    out = replace(o, arms=tuple(x._replace(active=i >= 27) for i, x in enumerate(o.arms)))
    assert {27, 28, 29} <= set(figures.drawn(out)) and len(figures.drawn(out)) == 8
    made = figures.figures_of(out)
    assert "8 of 30 arms are drawn" in made[0].note and "box rest" in made[1].svg


def test_scales_put_things_where_they_are():
    scale = Scale(0.0, 10.0)
    assert [scale.at(x) for x in (-1.0, 0.0, 5.0, 10.0, 11.0)] == [0.0, 0.0, 0.5, 1.0, 1.0]
    assert [tick.text for tick in scale.ticks()] == ["0", "2", "4", "6", "8", "10"]
    logarithmic = Scale(1.0, 10_000.0, logarithmic=True)
    assert logarithmic.at(100.0) == pytest.approx(0.5) and logarithmic.at(0.0) == 0.0
    assert [tick.text for tick in logarithmic.ticks()] == ["1", "10", "100", "1,000", "10,000"]
    assert around([math.nan, math.inf, 2.0, 2.0]) == Scale(1.0, 3.0)
    assert decades_around([0.0, math.inf]).ticks() is not None
    times = [f"2026-11-{day:02d}T12:00:00+00:00" for day in (1, 2, 9)]
    over = TimeScale.over(times)
    assert [over.at(x) for x in times] == [0.0, 0.125, 1.0]
    assert [tick.text for tick in over.ticks()] == ["3 Nov", "5 Nov", "7 Nov", "9 Nov"]
    assert TimeScale.over(times[:1]).at(times[0]) == 0.0
    for days in (0.01, 0.5, 3, 40, 800, 20_000):
        end = (np.datetime64("2026-01-01T00:00:00") + np.timedelta64(int(86400 * days), "s")).item()
        ticks = TimeScale.over(["2026-01-01T00:00:00+00:00", f"{end.isoformat()}+00:00"]).ticks()
        assert 1 <= len(ticks) <= 7 and all(0.0 <= tick.at <= 1.0 for tick in ticks)


def test_names_are_shortened_where_they_are_seen():
    assert len(Name("x" * 10_000).short.strip("\u2068\u2069")) == words.LONGEST
    assert plain(words.listed(["a"])) == "a" and plain(words.listed([0, 1])) == "arm 0 and arm 1"
