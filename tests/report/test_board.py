"""What a board reads first: how much the runs show, what it cost, all problems at a glance."""

import re

import numpy as np
import pytest

import uli_fast as uli
from tests.report.test_page import Page, browse, made, page
from tests.support import browser
from uli_fast.guarantees import Guarantee
from uli_fast.report.canvas import lines_of
from uli_fast.report.checks import verdict
from uli_fast.report.figures_models import certified_at, certifies
from uli_fast.report.overview import overall, overviews_of
from uli_fast.report.page import write_report
from uli_fast.report.power import runs_needed
from uli_fast.results.comparison import Comparison
from uli_fast.results.metrics import coverage


def judged(**learners):
    return verdict(lines_of(list(learners.values()), list(learners)))


def plain(sentences):
    return " ".join(sentences).replace("\u00a0", " ")


@pytest.mark.parametrize("delta", [0.5, 0.1, 0.05, 0.01, 1e-3, 1e-6])
def test_as_many_runs_as_needed_and_no_fewer_show_the_promise(delta):
    n = runs_needed(delta)
    if n < 10**6:
        assert coverage(np.ones(n, bool), delta).high <= delta
        assert n == 1 or coverage(np.ones(n - 1, bool), delta).high > delta
    assert n == np.ceil(np.log(0.025) / np.log1p(-delta))


def test_the_verdict_says_how_much_few_runs_show():
    said = plain(judged(A=made(0), B=made(0)).power)
    assert said.startswith("0 of 20 runs broke F. That would also happen to a learner that breaks ")
    assert "in up to 17 % of its runs (95 % interval, Clopper and Pearson)" in said
    assert (
        "the promise is 5 %" in said
        and "Showing 5 % by counting alone would take 72 runs without" in said
    )
    assert said.endswith("The proof does not depend on the number of runs.")
    assert coverage(np.ones(20, bool), 0.05).high == pytest.approx(0.168, abs=1e-3)


def test_enough_runs_are_said_to_be_enough():
    enough = plain(judged(A=made(0, M=72)).power)
    assert "in up to 4.99 % of its runs" in enough and "no more than the promise of 5 %" in enough
    assert "by counting" not in enough
    assert "by counting alone would take 72 runs" in plain(judged(A=made(0, M=71)).power)


def test_power_speaks_of_those_that_kept_their_promise_and_were_tested():
    mixed = plain(judged(A=made(0), B=made(2), C=made(0, M=300)).power)
    assert "0 of 20 runs (A) broke F." in mixed and "0 of 300 runs (C) broke F." in mixed
    assert judged(A=made(3)).power == ()
    assert judged(A=made(0, T=11)).power == ()  # nothing was tested
    assert judged(rival=made(0, guarantee=None, baseline=True)).power == ()
    claim = Guarantee("user", 0.05, function=lambda t: 1.0 / t)
    claimed = plain(judged(A=made(0, guarantee=claim, ratios=np.full(20, 0.5))).power)
    assert "0 of 20 runs broke F" in claimed and "proof" not in claimed


def rival(regret, **more):
    """Return a baseline whose regret at the horizon is that of its plays of the worse arm."""
    plays = np.full((20, 2), [10**6 - 2 * regret, 2 * regret])
    recorded = np.full((20, 3), [0.0, min(regret, 1), regret])
    more = {"guarantee": None, "baseline": True, "eliminated_at": None} | more
    return made(20, final_plays=plays, recorded_regret=recorded, **more)


def test_the_price_is_told_beside_the_cheapest_rival():
    said = plain(judged(A=made(0), dear=rival(400), cheap=rival(20)).price)
    assert "A 5, 0.25 times the 20 of cheap, the cheapest rival, which promises nothing." in said
    two = plain(judged(A=made(0), B=made(0), cheap=rival(20)).price)
    assert "A 5 (0.25 times) and B 5 (0.25 times), beside the 20 of cheap, the cheapest" in two
    assert said.endswith("A was farthest behind it at round 100, by 4.")
    never = made(0, recorded_regret=np.zeros((20, 3)))
    assert "A was never behind it" in plain(judged(A=never, cheap=rival(20)).price)
    alone = plain(judged(A=made(0)).price)
    assert "the price is not known" in alone and "KLUCB()" in alone
    assert judged(cheap=rival(20)).price == ()


def test_arms_are_certified_by_f_until_one_is_left():
    r = uli.simulate(
        uli.SuccessiveElimination(0.1), uli.BernoulliBandit([0.9, 0.5, 0.1]), 10**5, 4, 1
    )
    alone = r.eliminated_at.max(axis=1)  # the reward of that round removes the second arm
    for i, t in enumerate(alone):
        said = certified_at(r, np.array([1, t, t + 1, 10**5]))[i]
        assert said.tolist() == [1.0, min(1.0, float(r.guarantee.bound(t))), 0.0, 0.0]
    assert certifies(r) and not certifies(made(0, guarantee=None))
    claim = Guarantee("user", 0.05, function=lambda t: 1.0 / t)
    assert not certifies(made(0, guarantee=claim, ratios=np.full(20, 0.5)))


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """The page of three problems, of which one has fewer learners."""
    folder = tmp_path_factory.mktemp("several")
    name = "BettingElimination leader=1, delta=0.05"
    sections = {
        "one": Comparison({name: made(0), "B": made(0), "rival": rival(20)}),
        "two": Comparison({"rival": rival(40), name: made(2)}),
        "three": Comparison({name: made(0, T=11), "rival": rival(20)}),
    }
    write_report(sections, folder / "page.html", "Title", {})
    return folder / "page.html"


def test_several_problems_are_one_table_under_one_verdict(several):
    shown = Page(several.read_text(encoding="utf-8"))
    head = shown.raw.partition("<main")[0]
    assert head.count('class="verdict ') == 1 and shown.verdict == "verdict allowed"
    assert (
        "Some runs went beyond F, as few as delta can explain, on 1 of 3 problems; the guarantee "
        "held at every round of every run on 1 of 3 problems; nothing was tested on 1 of 3"
    ) in shown.text
    assert "0 of 20 runs broke F" in Page(head).text
    (table,) = re.findall(r"<table>.*?</table>", head, flags=re.DOTALL)
    rows = [Page(row).text for row in re.findall(r"<tr>.*?</tr>", table, flags=re.DOTALL)]
    assert rows[0] == "learner one held two broken, within delta three not tested"
    assert rows[1].endswith(
        "delta=0.05 5 0.25 times 0 of 20 beyond F 5 0.12 times 2 of 20 beyond F 5 F not tested"
    )
    assert rows[2] == "B 5 0.25 times 0 of 20 beyond F not run not run"
    assert rows[3] == "rival 20 no promise 40 no promise 20 no promise"


def test_a_learner_looks_the_same_in_every_section(several):
    shown = Page(several.read_text(encoding="utf-8"))
    keys = re.findall(
        r'<span class="name" title="(.*?)"><i class="(.*?)" style="(.*?)">', shown.raw
    )
    assert len(keys) > 20
    assert len(set(keys)) == len({name for name, _, _ in keys}) == 3


def test_many_problems_are_shown_a_few_at_a_time():
    lines = lines_of([made(0)], ["A"])
    problems = [(f"p{i}", lines, verdict(lines)) for i in range(7)]
    first, second = overviews_of(problems)
    assert [head.number for head in (*first.heads, *second.heads)] == [1, 2, 3, 4, 5, 6, 7]
    assert [len(row.cells) for row in (*first.rows, *second.rows)] == [5, 2]
    said = overall([v for _, _, v in problems], [lines] * 7)
    assert said.headline == "The guarantee held at every round of every run on all 7 problems"


def test_no_page_has_a_number_as_a_computer_writes_it(several, tmp_path):
    tiny = {"gaps": np.array([0.0, 1e-5]), "tv_bound": 1.88e-9}
    recorded = {"recorded_regret": np.full((20, 3), [1e-5, 1e-4, 1e-4])}
    shown = page(Comparison({"A": made(0, **tiny, **recorded), "B": made(3)}), tmp_path)
    for text in (shown.raw, several.read_text(encoding="utf-8")):
        words = Page(re.sub(r"<code>.*?</code>|<svg.*?</svg>", "", text, flags=re.DOTALL)).text
        assert re.findall(r"\S*\de[-+]?\d+\S*", words) == []


MEASURE = """<!doctype html><body style="margin:0"><iframe style="border:0;width:%dpx;height:900px"
srcdoc="%s"></iframe><pre id="found">nothing</pre><script>
const frame = document.querySelector("iframe");
frame.onload = () => {
  const page = frame.contentDocument, names = [...page.querySelectorAll(".name")];
  const broken = names.filter(x => {
    const tops = [...x.getClientRects()].filter(r => r.width).map(r => Math.round(r.top));
    return new Set(tops).size > 1 || x.scrollHeight > 60;
  });
  const table = page.querySelector("main table"), rest = page.documentElement;
  document.getElementById("found").textContent = [
    names.length, broken.length, rest.scrollWidth, Math.round(table.getBoundingClientRect().width),
  ].join(" ");
};
</script>"""


@pytest.mark.parametrize("width", [390, 1280])
def test_no_name_is_broken_and_nothing_sticks_out_of_a_screen(several, width, tmp_path):
    if reason := browser.missing():
        pytest.skip(reason)
    text = several.read_text(encoding="utf-8")
    inner = re.sub(r'<meta http-equiv="Content-Security-Policy".*?>', "", text)
    inner = inner.replace("&", "&amp;").replace('"', "&quot;")
    outer = tmp_path / "outer.html"
    outer.write_text(MEASURE % (width, inner), encoding="utf-8")
    tree, _ = browse(outer, tmp_path / "profile", "--dump-dom", "--window-size=1400,1000")
    names, broken, across, table = map(int, re.search(r'id="found">(.*?)<', tree)[1].split())
    assert names > 20 and broken == 0
    assert across <= width
    assert table > 0.85 * width  # tables have the full width
