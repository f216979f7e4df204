"""The HTML page says what the runs say, whatever the names in it, and needs nothing else."""

import base64
import csv
import functools
import io
import math
import re
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import uli_fast as uli
from tests.support import browser
from tests.support.patience import PATIENCE
from uli_fast.errors import ArgumentError, ReportError
from uli_fast.guarantees import Guarantee
from uli_fast.report.canvas import lines_of
from uli_fast.report.checks import verdict
from uli_fast.report.page import write_report
from uli_fast.results.comparison import Comparison

PAPER = functools.partial(uli.LinearElimination, schedule="paper")

HOSTILE = (
    "<script>alert(1)</script>",
    "$x^",
    "$\\frac{1}{2}$",
    "a&b",
    "\"quoted\" and 'so'",
    "{{ 7 * 7 }}",
    "</svg></style><img src=x onerror=alert(1)>",
    "=HYPERLINK(1)",
    "long " * 60,
    "\u05e9\u05dc\u05d5\u05dd \u4e2d\u6587",
    "turned \u202e around",
    "nul \x00 bell \x07 half \ud800",
)


class Page(HTMLParser):
    """What a browser would see: elements, links, text."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.words, self.inside = [], [], []
        self.raw = text
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.inside.append(tag)

    def handle_endtag(self, tag):
        if tag in self.inside:
            while self.inside.pop() != tag:
                pass

    def handle_data(self, data):
        if "style" not in self.inside[-1:]:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    @property
    def figures(self):
        return [a["id"] for tag, a in self.elements if tag == "figure"]

    @property
    def drawings(self):
        return re.findall(r"<svg.*?</svg>", self.raw, flags=re.DOTALL)

    @property
    def verdict(self):
        return next(a["class"] for t, a in self.elements if "verdict" in a.get("class", ""))

    def table(self, number):
        """Return the exact numbers of a table, by the name of the row."""
        rows = re.findall(r"<table>.*?</table>", self.raw, flags=re.DOTALL)[number]
        found = {}
        for row in re.findall(r"<tr><th scope=\"row\">.*?</tr>", rows, flags=re.DOTALL):
            name = re.sub(r"<.*?>", "", re.search(r"<th.*?</th>", row)[0])
            found[name] = [float(x) for x in re.findall(r'<data value="(.*?)">', row)]
        return found

    def csv(self, name):
        (url,) = (a["href"] for _, a in self.elements if name in a.get("download", ""))
        text = base64.b64decode(url.removeprefix("data:text/csv;base64,")).decode()
        return list(csv.DictReader(io.StringIO(text)))


def page(comparison, tmp_path):
    write_report({"problem": comparison}, tmp_path / "page.html", "Title", {"seed": 1})
    return Page((tmp_path / "page.html").read_text(encoding="utf-8"))


F = Guarantee("SE-MAB", 0.05, {"K": 2, "R": 0.5, "largest_gap": 1.0})


def made(failures, M=20, T=10**6, **more):
    """Return M runs on two arms, some of which play the worse one at the very end."""
    last = np.full((M, 2), [T, 10])
    last[:failures, 1] = T - 1
    plays = np.full((M, 2), [T - 10, 10])
    values = {
        "learner": "Made()",
        "problem": "Two()",
        "names": ("good", "bad"),
        "horizon": T,
        "seed": 1,
        "engine": "rounds",
        "gaps": np.array([0.0, 0.5]),
        "rounds": np.array([1, 100, T]),
        "plays": None,
        "final_plays": plays,
        "last_play": last,
        "eliminated_at": np.full((M, 2), [0, 11]),
        "recorded_regret": np.full((M, 3), [0.5, 5.0, 5.0]),
        "guarantee": F,
        "delta": 0.05,
    }
    return uli.Runs(**(values | more))


@pytest.fixture(scope="module")
def arms():
    problem = uli.BernoulliBandit([0.9, 0.6, 0.3], names=["a", "b", "c"])
    learners = [uli.SuccessiveElimination(0.1), uli.PhasedElimination(0.1), uli.UCB(0.1)]
    return uli.compare(learners, problem, 10**6, 6, seed=3)


@pytest.fixture(scope="module")
def shown(arms, tmp_path_factory):
    """The page of these runs."""
    return page(arms, tmp_path_factory.mktemp("page"))


def said(**learners):
    found = verdict(lines_of(list(learners.values()), list(learners)))
    return found.status, " ".join(found.sentences).replace("\u00a0", " ")


def test_the_verdict_is_true_to_the_runs(tmp_path):
    kept = "A and B stayed within F at every round of all 40 runs."
    assert said(A=made(0), B=made(0)) == ("kept", kept)
    once = "A stayed within F at every round of the only run."
    assert said(A=made(0, M=1)) == ("kept", once)
    status, words = said(A=made(2))
    assert status == "allowed"
    assert words.startswith("A went beyond F in 2 of 20 runs, compatible with delta = 0.05 ")
    assert words.endswith("(95 % interval 1.2 % to 31.7 %).")
    status, words = said(A=made(9), B=made(0))
    assert status == "broken"
    assert "A went beyond F in 9 of 20 runs, more than delta = 0.05" in words
    assert "B stayed within F at every round of all 20 runs." in words
    shown = page(Comparison({"A": made(9), "B": made(0)}), tmp_path)
    assert shown.verdict == "verdict broken"
    assert words in shown.text


def test_learners_without_a_bound_are_held_against_the_tightest(tmp_path):
    loose = replace(F, formula="PE-MAB")
    learners = {
        "loose": made(0, guarantee=loose),
        "tight": made(0),
        "rival": made(7, guarantee=None, baseline=True),
        "calm": made(0, guarantee=None, baseline=True),
        "unproved": made(20, guarantee=None),
    }
    shown = page(Comparison(learners), tmp_path)
    assert shown.verdict == "verdict kept"
    assert "rival* (7 of 20 runs) and unproved* (20 of 20 runs) have no F" in shown.text
    assert (
        "went beyond that of tight. calm* has no F and stayed within that of tight." in shown.text
    )
    assert "* no F of its own: held against the tightest one here, that of tight." in shown.text
    assert "unproved: no guarantee covers its parameters on this problem." in shown.text
    assert "rival: no guarantee" not in shown.text
    assert "7 of 20*" in shown.text


def test_without_any_guarantee_nothing_is_claimed(tmp_path):
    shown = page(Comparison({"rival": made(3, guarantee=None, baseline=True)}), tmp_path)
    assert shown.verdict == "verdict none"
    assert "No learner here has a guarantee that could be checked." in shown.text
    assert "stayed within" not in shown.text and "went beyond" not in shown.text
    assert "figure-1-failures" not in shown.figures
    assert "figure-1-gap" in shown.figures
    assert "With probability up to delta" not in shown.text


def test_a_users_claim_and_certified_blocks_are_marked(tmp_path):
    claim = Guarantee("user", 0.05, function=lambda t: 1.0 / t)
    ratios = np.full(20, 0.5)
    shown = page(Comparison({"mine": made(0, guarantee=claim, ratios=ratios)}), tmp_path)
    assert "mine: its F is a claim of its user, checked here and not proved." in shown.text
    assert "total variation" not in shown.text
    kept = made(0, guarantee=None, ratios=ratios, tv_bound=1e-12)  # as it is loaded again
    shown = page(Comparison({"mine": kept}), tmp_path)
    assert "mine: its F is a claim of its user" in shown.text
    assert "within 10\u207b\u00b9\u00b2 of the exact one, in total variation" in shown.text


def test_tables_show_the_numbers_of_the_runs(arms, shown):
    against = arms["SuccessiveElimination"].guarantee
    summary, _, worse, eliminated = (shown.table(i) for i in range(4))
    for name, r in arms.runs.items():
        ratio = r.worst_ratio_against(against) if name == "UCB" else r.worst_ratio
        regret = np.median(r.final_regret())
        beside = [] if name == "UCB" else [regret / np.median(arms["UCB"].final_regret())]
        may_be = [] if name == "UCB" else [r.coverage().high]
        expected = [
            *(regret, *beside, np.median(r.last_mistake())),
            *(r.gap_from(np.array([10**5 + 1])).max(), (ratio > 1.0).sum()),
            *(*may_be, ratio.max()),
        ]
        assert summary[name][: len(expected)] == expected
        plays = r.final_plays[:, 1:].sum(axis=1)
        assert worse[name] == [np.median(plays), plays.min(), plays.max(), np.median(plays) / 1e6]
    first = arms["SuccessiveElimination"]
    assert eliminated["c"][:2] == [first.gaps[2], np.median(first.eliminated_at[:, 2])]
    assert "never" in shown.text


def test_the_data_are_those_of_the_runs(arms, shown):
    r = arms["UCB"]
    rows = [row for row in shown.csv("rounds") if row["learner"] == "UCB"]
    assert [int(row["round"]) for row in rows] == r.rounds.tolist()
    assert [float(row["regret_most"]) for row in rows] == r.regret.max(axis=0).tolist()
    bounded = shown.csv("rounds")[-1 - len(rows)]
    assert float(bounded["F"]) == arms["PhasedElimination"].guarantee.bound(10**6)
    rows = [row for row in shown.csv("runs") if row["learner"] == "UCB"]
    assert [int(row["last_mistake"]) for row in rows] == r.last_mistake().tolist()
    assert {row["own_F"] for row in rows} == {"0"} and {row["certificate"] for row in rows} == {""}
    rows = [row for row in shown.csv("arms") if row["learner"] == "UCB"]
    assert [float(row["plays_median"]) for row in rows] == np.median(r.final_plays, axis=0).tolist()


def test_every_figure_that_applies_to_arms_is_there(shown):
    kinds = ["gap", "failures", "regret", "mistakes", "active", "certificate", "plays"]
    assert shown.figures == [f"figure-1-{kind}" for kind in kinds]
    assert len(shown.drawings) == len(kinds) + 1  # the gap is drawn for wide screens too
    for drawing in shown.drawings:
        root = ElementTree.fromstring(drawing)
        assert root.get("role") == "img" and root.find("title").text == root.get("aria-label")
        assert len(list(root.iter("path"))) > 5
    ids = re.findall(r'\bid="(.*?)"', shown.raw)
    assert len(ids) == len(set(ids))
    used = set(re.findall(r'(?:href="|url\()#(.*?)["\)]', shown.raw))
    assert used <= set(ids)


def test_figures_draw_the_runs(arms):
    from matplotlib.figure import Figure

    from uli_fast.report import figures_activity, figures_guarantee

    lines = lines_of(list(arms.runs.values()), list(arms.runs))
    axes = Figure().subplots()
    figures_guarantee.draw_failures(axes, lines)
    middle = [line for line in axes.lines if line.get_marker() == "o"]
    found = arms["SuccessiveElimination"].coverage()
    assert middle[0].get_xdata()[0] == found.rate
    assert axes.lines[0].get_xdata().tolist() == [found.low, found.high]
    assert axes.lines[2].get_xdata().tolist() == [0.1, 0.1]
    assert middle[2].get_markerfacecolor() == "white"  # UCB has no F of its own

    axes = Figure().subplots()
    figures_guarantee.draw_mistakes(axes, lines)
    eps, counts = axes.lines[0].get_data()
    for e, count in list(zip(eps, counts, strict=True))[::10]:
        expected = np.median(lines[0].runs.mistakes(e))
        assert count == expected or (math.isnan(count) and expected == 0)
    eps, allowed = axes.lines[2].get_data()
    assert allowed[5] == lines[0].runs.guarantee.rounds_until(eps[5])

    removed = lines[0].runs.eliminated_at
    t = np.array([1, removed[0, 2], removed[0, 2] + 1, 10**6])
    left = figures_activity.arms_left(removed, t)
    assert left[0].tolist() == [3, 3, 2, (removed[0] == 0).sum()]


def test_linear_arms_arm_sets_and_policies(tmp_path):
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]])
    finite = uli.LinearBandit([0.6, 0.3], vectors)
    ball = uli.LinearBandit([0.6, 0.3, 0.1], arm_set=uli.arm_sets.Ball(3))
    lock = uli.mdps.combination_lock(length=2, n_actions=2).restricted()
    sections = {
        "vectors": uli.compare([PAPER(0.1, R=1.0)], finite, 10**6, 2, seed=1),
        "ball": uli.compare([uli.SpannerElimination(0.1, R=1.0)], ball, 10**9, 2, seed=1),
        "lock": uli.compare([uli.PolicyElimination(0.1, "sharp")], lock, 10**9, 2, seed=1),
    }
    write_report(sections, tmp_path / "page.html", "Three", {})
    shown = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    common = ["gap", "failures", "regret", "mistakes"]
    kinds = (
        [*common, "active", "certificate", "plays"],
        [*common, "oracle"],
        [*common, "policies"],
    )
    assert shown.figures == [f"figure-{i}-{k}" for i, ks in enumerate(kinds, 1) for k in ks]
    for name in sections:
        assert f'">{name}</a>' in shown.raw
    assert "10⁹ episodes, 2 runs of each learner" in shown.text
    last = sections["ball"]["SpannerElimination"].phases[0][-1]
    rows = shown.table(7)
    assert [row[0] for row in rows.values()] == last.gaps.tolist()
    assert "docs/proofs_sets.md" in shown.text


def test_policies_left_are_those_of_the_phases():
    from uli_fast.report.figures_activity import policies_left

    lock = uli.mdps.combination_lock(length=2, n_actions=2).restricted()
    r = uli.simulate(uli.PolicyElimination(0.1, "sharp"), lock, 10**9, 2, seed=1)
    for i, phases in enumerate(r.phases):
        ends = np.array([t for p in phases for t in (p.first_round, p.last_round)])
        expected = np.repeat([p.policies for p in phases], 2)
        assert (policies_left(r.policy_phases, ends)[i] == expected).all()


def test_names_are_text_and_nothing_else(tmp_path):
    learners = {name: made(0, names=HOSTILE[i : i + 2]) for i, name in enumerate(HOSTILE[:-1])}
    learners[HOSTILE[-1]] = made(1, guarantee=None, names=HOSTILE[:2])
    title = HOSTILE[0] + HOSTILE[6]
    provenance = {HOSTILE[0]: HOSTILE[6], "text": "\n".join(HOSTILE), "list": list(HOSTILE)}
    write_report(
        {HOSTILE[0]: Comparison(learners)},
        tmp_path / "page.html",
        title,
        provenance,
    )
    shown = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    tags = {tag for tag, _ in shown.elements}
    assert tags.isdisjoint({"script", "img", "iframe", "object", "link", "form", "input"})
    assert not any(key.startswith("on") for _, a in shown.elements for key in a)
    for name in HOSTILE[:7]:
        assert " ".join(name.split()) in shown.text
    assert not re.search("[\x00-\x08\ud800-\udfff]", shown.raw)
    assert "\u202e" not in shown.raw.partition("</h4>")[0]  # provenance is isolated instead
    for drawing in shown.drawings:
        ElementTree.fromstring(drawing)
    failures = ElementTree.fromstring(shown.drawings[2])
    written = ["".join(text.itertext()) for text in failures.iter("text")]
    assert "$x^" in written and "a&b" in written and "$\\frac{1}{2}$" in written
    assert "<script>alert(1)</script>" in written
    assert all(len(text) < 60 for text in written)
    assert "'=HYPERLINK(1)" in {row["learner"] for row in shown.csv("runs")}


def test_nothing_is_fetched_and_nothing_can_run(shown):
    assert not re.search(r"https?:|//\w+\.|@import|src=|javascript:", shown.raw)
    assert "default-src 'none'" in shown.raw
    links = [a["href"] for _, a in shown.elements if "href" in a]
    assert all(link.startswith(("#", "data:text/csv;base64,")) for link in links)
    assert "width=device-width" in shown.raw and "@media print" in shown.raw


def test_the_same_runs_give_the_same_bytes(arms, tmp_path):
    arms.report(tmp_path / "a.html")
    arms.report(tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_provenance_and_caveats(arms, tmp_path):
    arms.report(tmp_path / "page.html", title="Mine & yours")
    shown = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "<h1>Mine &amp; yours</h1>" in shown.raw
    r = arms["SuccessiveElimination"]
    assert r.learner in shown.text and r.problem in shown.text
    assert "horizon 1000000, runs 6, seed 3, engine skip" in shown.text
    for constant in r.guarantee.constants:
        assert f"{constant.name} ({constant.value:g}): {constant.source}" in shown.text
    assert uli.__version__ in shown.text and np.__version__ in shown.text
    for word in ("delta = 0.1", "drawn independently", "delays", "expected regret"):
        assert word in shown.text


def test_overtaking_is_read_off_the_mean_regrets(arms, tmp_path):
    from uli_fast.report.turning import ahead_from

    rival, own = arms["UCB"], arms["SuccessiveElimination"]
    assert (own.eliminated_at[:, own.gaps > 0.0] > 0).all()
    late = replace(own, recorded_regret=rival.regret * 0.5)
    late.recorded_regret[0, :7] = rival.regret[:, :7].sum(axis=0) * 2.0  # the mean decides
    late.recorded_regret[1, 9] = 10.0 * rival.regret[:, 9].sum()
    assert ahead_from(late, rival) == own.rounds[10]
    equal = replace(own, recorded_regret=rival.regret)
    assert ahead_from(equal, rival) == own.rounds[0]  # no larger: equal will do
    unsettled = late.eliminated_at.copy()
    unsettled[2, np.flatnonzero(own.gaps > 0.0)[0]] = 0
    assert ahead_from(replace(late, eliminated_at=unsettled), rival) is None
    never = replace(own, recorded_regret=rival.regret * 1.01)
    assert ahead_from(never, rival) is None
    told = Comparison({"late": late, "never": never, "UCB": rival})
    shown = page(told, tmp_path)
    assert (
        "Ahead at: from this recorded round on" in shown.text and "that of UCB, once" in shown.text
    )
    numbers = shown.table(0)
    assert own.rounds[10] == numbers["late"][7] and len(numbers["late"]) == 9
    assert len(numbers["never"]) == 8 and len(numbers["UCB"]) == 6 and "not yet" in shown.text
    columns = {str(c.header): list(c.cells) for c in told.table().columns}
    assert columns["ahead"] == [str(own.rounds[10]), "not yet", ""]


def test_a_page_is_replaced_whole_or_not_at_all(arms, tmp_path):
    target = tmp_path / "deep" / "page.html"
    arms.report(target)
    before = target.read_bytes()
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))  # a disk that is soon full
    try:
        with pytest.raises(ReportError, match=r"page\.html"):
            arms.report(target, title="new")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [p.name for p in target.parent.iterdir()] == ["page.html"]
    assert target.read_bytes() == before
    with pytest.raises(ReportError):
        arms.report(target / "below.html")  # a file, not a folder
    with pytest.raises(ReportError):
        arms.report(target.parent)
    assert target.read_bytes() == before
    assert [p.name for p in target.parent.iterdir()] == ["page.html"]


@pytest.mark.parametrize("sections", [{}, [], {"x": Comparison({})}, {"x": 1}, {1: None}])
def test_sections_that_hold_nothing_are_refused(sections, tmp_path):
    with pytest.raises(ArgumentError, match="sections"):
        write_report(sections, tmp_path / "page.html", "Title", {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("means", [[0.5], [0.5, 0.5], [0.9, 0.1]])
def test_the_smallest_runs_have_a_page(means, tmp_path):
    problem = uli.BernoulliBandit(means)
    for horizon in (1, 40):
        result = uli.compare([uli.SuccessiveElimination(0.1), uli.UCB(0.1)], problem, horizon)
        shown = page(result, tmp_path)
        assert shown.verdict == "verdict untested" and "nothing was tested" in shown.text
        assert "stayed within" not in shown.text and "figure-1-failures" not in shown.figures
        assert "figure-1-gap" in shown.figures


def test_unknown_means_are_said_to_be(tmp_path):
    blind = uli.play(uli.SuccessiveElimination(0.1), lambda arm: 0.5, 50, 3)
    seeing = uli.play(uli.UCB(0.1), lambda arm: 0.5, 50, 3, means=[0.5, 0.4, 0.3])
    shown = page(Comparison({"blind": blind, "seeing": seeing}), tmp_path)
    assert shown.verdict == "verdict none"
    assert "blind: the true means are unknown, so no gap can be checked." in shown.text
    alone = page(Comparison({"blind": blind}), tmp_path)
    assert alone.figures == ["figure-1-active", "figure-1-plays"]


def test_large_runs_make_small_pages(tmp_path):
    K, M, T = 500, 100, 10**6
    rng = np.random.default_rng(0)
    gaps = np.concatenate([[0.0], rng.random(K - 1)])
    rounds = np.arange(1, 20_001) * 50
    more = {
        "names": tuple(map(str, range(K))),
        "gaps": gaps,
        "last_play": rng.integers(1, T, (M, K)),
        "final_plays": rng.integers(0, T // K, (M, K)),
        "eliminated_at": rng.integers(0, T, (M, K)),
        "rounds": rounds,
        "recorded_regret": np.cumsum(rng.random((M, rounds.size)), axis=1),
    }
    many = Comparison({"A": made(0, **more), "B": made(0, guarantee=None, **more)})
    shown = page(many, tmp_path)
    assert (tmp_path / "page.html").stat().st_size < 2_000_000
    assert len(shown.csv("rounds")) < 1000 and len(shown.csv("arms")) == 1000
    assert "the best 24 of 500 arms" in shown.raw and "476 arms with larger gaps" in shown.text


def test_the_template_is_part_of_the_package():
    from importlib.resources import files

    folder = files("uli_fast.report").joinpath("templates")
    assert {"page.html", "page.css"} <= {entry.name for entry in folder.iterdir()}


def test_the_documentation_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[2] / "docs" / "report.md").read_text(encoding="utf-8")
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(compile(block, "docs/report.md", "exec"), {})
    assert (tmp_path / "report.html").exists()


def browse(path, profile, *more):
    """Open a page in Chromium; return what it printed and what it complained of."""
    flags = (
        "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
        "--disable-background-networking --disable-component-update --enable-logging=stderr --v=0"
    ).split()
    command = ["chromium", *flags, f"--user-data-dir={profile}", *more, path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def test_a_browser_shows_the_page_without_complaint(arms, tmp_path):
    if reason := browser.missing():
        pytest.skip(reason)
    shown = page(arms, tmp_path)
    tree, complaints = browse(tmp_path / "page.html", tmp_path / "profile", "--dump-dom")
    assert complaints == []
    seen = Page(tree)
    assert seen.verdict == "verdict kept"
    assert "SuccessiveElimination and PhasedElimination stayed within F" in seen.text
    assert seen.figures == shown.figures
    assert len(seen.drawings) == len(shown.drawings)

    # The same check notices a page that wants to run something.
    bad = tmp_path / "bad.html"
    bad.write_text(shown.raw.replace("</body>", "<script>alert(1)</script></body>"))
    assert browse(bad, tmp_path / "profile", "--dump-dom")[1]


def test_without_any_f_the_page_does_not_speak_of_it(arms, tmp_path):
    problem = uli.BernoulliBandit([0.9, 0.1])
    alone = uli.simulate(uli.UCB(), problem, 1000, 3, seed=1)
    shown = page(Comparison({"UCB": alone}), tmp_path)
    for words in ("Dashed: F", "Beyond F:", "gap / F", "above F are relapses", "F rules them"):
        assert words not in shown.text
    assert len(shown.table(0)["UCB"]) == 4  # regret, last bad round, late gap, speed
    both = page(arms, tmp_path).text
    assert "Dashed: F, below which" in both and "; those above F are relapses." in both
    assert "after this many rounds F rules them out" in both and "gap / F" in both
