"""Logs replayed: the same as written down slowly, within delta whoever made the log, refusals."""

import csv
import io
import math
import tracemalloc

import numpy as np
import pytest

import uli_fast as uli
from tests.naive.replay import replay_blocks, replay_queues
from tests.support import logs
from uli_fast.errors import (
    ArgumentError,
    NoGuaranteeError,
    ReportError,
    RewardRangeError,
    UnsupportedError,
)
from uli_fast.logs import courses
from uli_fast.logs.log import Log, read_log
from uli_fast.players._assumptions import MEANS, MISSING, ROWS

BETTING = uli.BettingElimination(0.2)
NASTY = "\x1b[31mred\x1b[0m\u202e<script>alert(1)</script>=1+1 $x^2$"


def drops(replay):
    return {arm: (drop.row, drop.plays) for arm, drop in replay.dropped.items()}


@pytest.fixture(scope="module")
def page_log():
    """Return 30,000 rows with rates .10, .12 and .06, drawn alike."""
    return logs.rows(*logs.uniform(np.random.default_rng(15), (0.10, 0.12, 0.06), 30_000))


# The same as written down slowly.


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("leader", [1, 2, 3])
def test_queues_equal_the_naive_twin(leader, seed):
    rng = np.random.default_rng(seed)
    arms, rewards = (logs.uniform, logs.winner)[seed % 2](rng, (0.75, 0.35, 0.55), 500)
    rows = logs.rows(arms, rewards)
    found = uli.replay(uli.BettingElimination(0.2, leader), rows)
    assert drops(found) == replay_queues(rows, found.arms, 0.2, leader)
    assert found.dropped


@pytest.mark.parametrize("shares", [None, (0.7, 0.1, 0.2), (0.05, 0.5, 0.45)])
@pytest.mark.parametrize("seed", range(3))
def test_blocks_equal_the_naive_twin(shares, seed):
    rng = np.random.default_rng(seed)
    rows = logs.rows(*logs.drawn(rng, (0.75, 0.35, 0.55), 700, shares))
    found = uli.replay(uli.BettingElimination(0.2), rows, assignment="randomized")
    assert drops(found) == replay_blocks(rows, found.arms, 0.2)
    assert found.dropped


def test_blocks_use_every_row_up_to_the_last_look():
    rng = np.random.default_rng(3)
    rows = logs.rows(*logs.drawn(rng, (0.5, 0.5), 400, (0.8, 0.2)))
    found = uli.replay(uli.BettingElimination(0.01), rows, assignment="randomized")
    last = int(found.looks.rows[-1])
    assert found.plays == {a: sum(b == a for b, _ in rows[:last]) for a in found.arms}
    assert last > 380


def test_sums_and_single_plays_say_the_same():
    rng = np.random.default_rng(8)
    arms, rewards = logs.winner(rng, (0.7, 0.5, 0.3), 800)
    log = read_log(logs.rows(arms, rewards), "arm", "reward", None, (0.0, 1.0))
    found = []
    for course in (courses.in_queues, courses.in_allocations):
        player, gone = uli.BettingElimination(0.3, 2).start(log.labels), []
        for row in course(player, log):
            gone += [(a, row) for a in log.labels if a not in player.active + tuple(dict(gone))]
        found.append((gone, player.intervals(), player.arm_state.n.tolist()))
    assert found[0][0] == found[1][0]
    assert found[0][0]
    # Asked singly, the sweeps since the last look count as well.
    assert sum(found[1][2]) <= sum(found[0][2])


def test_outcomes_between_0_and_1_go_in_one_by_one():
    rng = np.random.default_rng(2)
    arms = rng.integers(0, 2, 900)
    rewards = rng.beta(*np.array([[6.0, 4.0], [4.0, 6.0]])[arms].T)
    rows = logs.rows(arms, rewards)
    found = uli.replay(BETTING, rows)
    queues = {a: [x for b, x in rows if b == a][::-1] for a in found.arms}
    player = BETTING.start(found.arms)
    while len(player.active) > 1:
        decision = player.ask()
        player.tell(decision.id, queues[decision.arm].pop())
    assert found.active == player.active
    assert found.intervals == player.intervals()
    assert found.certificate[:5] == player.certificate()[:5]


def test_phased_elimination_plays_on_the_queues():
    learner = uli.PhasedElimination(0.2)
    rows = logs.rows(*logs.winner(np.random.default_rng(4), (0.9, 0.1), 900))
    found = uli.replay(learner, rows)
    queues = {a: [x for b, x in rows if b == a][::-1] for a in found.arms}
    player = learner.start(found.arms)
    while len(player.active) > 1:
        decision = player.ask()
        player.tell(decision.id, queues[decision.arm].pop())
    assert found.active == player.active == ("0",)
    assert found.plays == dict(zip(found.arms, player.arm_state.n.tolist(), strict=True))


def test_successive_elimination_takes_the_rows_as_they_come():
    from uli_fast.compat.mabwiser import MAB

    rng = np.random.default_rng(6)
    rows = logs.rows(*logs.winner(rng, (0.9, 0.5, 0.1), 1500))
    found = uli.replay(uli.SuccessiveElimination(0.1), rows)
    other = MAB(list(found.arms), uli.SuccessiveElimination(0.1))
    gone = {}
    for i, (arm, reward) in enumerate(rows, 1):
        other.partial_fit([arm], [reward])
        gone |= {a: i for a in found.arms if a not in other.active and a not in gone}
    assert {arm: drop.row for arm, drop in found.dropped.items()} == gone
    assert gone
    assert found.active == tuple(other.active)
    assert found.certificate.bound == other.certificate().bound
    assert found.certificate.envelope == math.inf


# What a log shows.


@pytest.mark.parametrize("assignment", ["any", "randomized"])
@pytest.mark.parametrize("leader", [1, 2])
def test_the_bad_arm_of_the_log_is_dropped_early(page_log, leader, assignment):
    learner = uli.BettingElimination(0.05, leader)
    found = uli.replay(learner, page_log, assignment=assignment)
    assert found.dropped["2"].row < 5000
    assert max(found.dropped["2"].plays.values()) < 1600
    assert found.best == "1"
    assert "1" in found.active
    successive = uli.replay(uli.SuccessiveElimination(0.05), page_log)
    assert not successive.dropped


def test_looks_are_in_order_and_intervals_hold(page_log):
    found = uli.replay(uli.BettingElimination(0.05), page_log, assignment="randomized")
    looks = found.looks
    assert (np.diff(looks.rows) > 0).all()
    assert (np.diff(looks.plays, axis=0) >= 0).all()
    assert looks.plays[-1].tolist() == list(found.plays.values())
    truth = np.array([(0.10, 0.12, 0.06)[int(a)] for a in found.arms])
    assert ((looks.lower <= truth) & (truth <= looks.upper)).all()
    assert found.counts == {a: sum(b == a for b, _ in page_log) for a in found.arms}


def test_nothing_is_used_after_the_last_arm_is_left():
    rows = [("a", 1), ("b", 0)] * 500
    found = uli.replay(BETTING, rows)
    assert found.active == ("a",)
    assert found.certificate.bound == 0.0
    assert found.dropped["b"].row < 100
    assert sum(found.plays.values()) < 100


def test_an_arm_with_few_rows_ends_the_queues_and_not_the_blocks():
    rng = np.random.default_rng(5)
    arms, rewards = logs.drawn(rng, (0.5, 0.5), 1000, (0.97, 0.03))
    few = int((arms == 1).sum())
    queued = uli.replay(BETTING, logs.rows(arms, rewards))
    assert max(queued.plays.values()) <= 2 * few
    blocked = uli.replay(BETTING, logs.rows(arms, rewards), assignment="randomized")
    assert blocked.plays["0"] > 900


def test_a_named_arm_that_never_comes_leaves_everything_open():
    found = uli.replay(BETTING, [("a", 1), ("b", 0)] * 50, arms=["a", "b", "c"])
    assert found.active == ("a", "b", "c")
    assert found.certificate.bound == 1.0
    assert found.looks.rows.size == 0
    assert found.best is None
    assert "Replay(" in repr(found)
    found.table()
    found.plot()


@pytest.mark.parametrize("assignment", ["any", "randomized"])
@pytest.mark.parametrize(
    "learner", [uli.BettingElimination(0.2, 1), uli.SuccessiveElimination(0.1)], ids=repr
)
def test_outcomes_that_contradict_each_other_certify_nothing(learner, assignment):
    rows = [(arm, int(i < 400)) for i in range(3000) for arm in "ab"]
    found = uli.replay(learner, rows, assignment=assignment)
    with pytest.raises(NoGuaranteeError, match="contradict"):
        _ = found.certificate
    assert "nothing is certified" in repr(found)
    found.table()


def test_a_trend_common_to_all_arms_does_harm():
    """The leader's queue is ahead of the others: days are held against other days."""
    rows = [(arm, int(i < 400)) for i in range(3000) for arm in "ab"]
    assert uli.replay(BETTING, rows).dropped


# Whoever made the log.


def lost(make, means, n, assignment, runs, delta=0.3, **about):
    """Return how often the best arm is dropped."""
    learner, count = uli.BettingElimination(delta), 0
    labels = tuple(str(a) for a in range(len(means)))
    for i in range(runs):
        arms, rewards = make(np.random.default_rng((7, i)), means, n, **about)
        log, player = Log("", labels, arms, rewards, True), learner.start(labels)
        course = courses.faster(courses.course_of(learner, assignment), player, log)
        for _ in course(player, log):
            pass
        count += "0" not in player.active
    return count


MAKERS = {
    "uniform, all rows": (logs.uniform, "randomized", {}),
    "one in ten, all rows": (logs.drawn, "randomized", {"shares": (0.9, 0.1)}),
    "uniform, queues": (logs.uniform, "any", {}),
    "Thompson, queues": (logs.thompson, "any", {}),
    "play the winner, queues": (logs.winner, "any", {}),
    "until success, queues": (logs.until_success, "any", {}),
}


@pytest.mark.parametrize("case", ["one in ten, all rows", "until success, queues"])
def test_the_best_arm_is_lost_within_delta(case):
    make, assignment, about = MAKERS[case]
    # The binomial .999 quantile of 80 runs at .3 is 37.
    assert lost(make, (0.5, 0.495), 500, assignment, 80, **about) <= 37


@pytest.mark.slow
@pytest.mark.parametrize("case", list(MAKERS))
def test_the_best_arm_is_lost_within_delta_in_many_logs(case):
    from scipy.stats import binom

    make, assignment, about = MAKERS[case]
    found = lost(make, (0.5, 0.495), 600, assignment, 2000, **about)
    assert found <= binom.ppf(0.999, 2000, 0.3)
    assert found > 0


def test_all_rows_of_a_log_that_looked_at_outcomes_break_the_promise():
    """A log in which arms are played until they win must not be called randomized."""
    assert lost(logs.until_success, (0.5, 0.495), 500, "randomized", 60) > 40


# What is assumed.


def test_what_is_assumed_is_said():
    rows = logs.rows(*logs.uniform(np.random.default_rng(1), (0.5, 0.4), 60))
    q = uli.replay(BETTING, rows)
    assert q.assumes[:2] == (courses.QUEUED, courses.CHOSEN)
    assert q.assumes[-2:] == (ROWS, courses.FOUND)
    assert q.certificate.assumes == q.assumes
    b = uli.replay(BETTING, rows, assignment="randomized", arms=["0", "1"])
    assert b.assumes[:2] == (courses.PLANNED, courses.DRAWN)
    assert courses.FOUND not in b.assumes
    for found in (q, b):
        assert not any(sentence.startswith(MEANS) for sentence in found.assumes)
        assert "outcomes lie in [0, 1]" in found.assumes
    assert uli.replay(uli.SuccessiveElimination(), rows).assumes[0] == MEANS


@pytest.mark.parametrize(
    "learner", [BETTING, uli.SuccessiveElimination(0.2), uli.PhasedElimination(0.2)], ids=repr
)
@pytest.mark.parametrize("assignment", ["any", "randomized"])
def test_missing_outcomes_count_at_their_worst(learner, assignment):
    rng = np.random.default_rng(9)
    arms, rewards = logs.uniform(rng, (0.6, 0.5), 3000)
    # All that the better arm wins in the first half goes missing: without them it would be lost.
    hidden = (arms == 0) & (rewards == 1.0) & (np.arange(3000) < 1500)
    rows = [
        (a, None if h else x) for (a, x), h in zip(logs.rows(arms, rewards), hidden, strict=True)
    ]
    found = uli.replay(learner, rows, assignment=assignment)
    assert "0" in found.active
    assert found.missing == hidden.sum()
    low, high = found.intervals["0"]
    assert low <= 0.6 <= high
    assert MISSING in found.assumes
    told = uli.replay(learner, [row for row in rows if row[1] is not None], assignment=assignment)
    assert told.missing == 0
    assert MISSING not in told.assumes


def test_left_out_instead_the_missing_ones_would_lose_the_best_arm():
    rng = np.random.default_rng(9)
    arms, rewards = logs.uniform(rng, (0.6, 0.5), 3000)
    kept = ~((arms == 0) & (rewards == 1.0) & (np.arange(3000) < 1500))
    assert "0" in uli.replay(BETTING, logs.rows(arms[kept], rewards[kept])).dropped


# What a log can be.


def forms(tmp_path, rows):
    import pandas as pd

    path = tmp_path / "log.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["day", "arm", "reward"])
        writer.writerows((i, arm, "" if x is None else x) for i, (arm, x) in enumerate(rows))
    arms, rewards = zip(*rows, strict=True)

    class Polars:
        columns = ("arm", "reward")

        def __getitem__(self, name):
            class Series:
                def to_list(self):
                    return list({"arm": arms, "reward": rewards}[name])

            return Series()

    frame = pd.DataFrame({"arm": arms, "reward": rewards})
    return [path, str(path), frame, Polars(), {"arm": arms, "reward": rewards}, rows, iter(rows)]


def test_all_forms_of_a_log_say_the_same(tmp_path):
    rows = logs.rows(*logs.uniform(np.random.default_rng(1), (0.9, 0.2), 200))
    rows[17] = (rows[17][0], None)
    found = [uli.replay(BETTING, form) for form in forms(tmp_path, rows)]
    for other in found[1:]:
        assert other.dropped == found[0].dropped
        assert other.certificate == found[0].certificate
        assert other.missing == 1
    assert found[0].source == "log.csv"


def test_arms_are_numbered_by_name_and_not_by_who_came_first():
    """Ties are broken by number: who came first may be known to whoever saw the outcomes."""
    learner = uli.BettingElimination(0.3)
    rng = np.random.default_rng(4)
    rows = [(arm, int(rng.random() < 0.5)) for _ in range(200) for arm in ("b", "a", "c")]
    turned = [row for i in range(0, 600, 3) for row in (rows[i + 2], rows[i + 1], rows[i])]
    one, other = uli.replay(learner, rows), uli.replay(learner, turned)
    named = uli.replay(learner, rows, arms=["a", "b", "c"])
    assert one.arms == other.arms == ("a", "b", "c")
    assert one.plays == other.plays == named.plays
    assert one.intervals == other.intervals == named.intervals
    assert one.means == named.means
    assert uli.replay(learner, rows, arms=["c", "b", "a"]).arms == ("c", "b", "a")


def test_a_range_far_from_0_is_refused_by_blocks_and_not_by_queues():
    rng = np.random.default_rng(5)
    rows = [("ab"[i % 2], float(rng.random() < (0.2, 0.8)[i % 2])) for i in range(600)]
    moved = [(arm, 1e12 + x) for arm, x in rows]
    ends = {"low": 1e12, "high": 1e12 + 1.0}
    learner = uli.BettingElimination(0.1)
    assert uli.replay(learner, moved, **ends).plays == uli.replay(learner, rows).plays
    with pytest.raises(ArgumentError, match="rounded") as caught:
        uli.replay(learner, moved, **ends, assignment="randomized")
    assert caught.value.argument == "low"


def test_arms_may_be_whole_numbers_and_files_may_have_a_mark_and_blank_lines(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(b"\xef\xbb\xbfarm , reward\r\n\r\n1, 1\r\n2, 0\r\n\r\n")
    assert uli.replay(BETTING, path).counts == {"1": 1, "2": 1}
    assert uli.replay(BETTING, [(1, 1), (np.int64(2), 0)]).counts == {"1": 1, "2": 1}


def test_rewards_of_another_range_are_brought_to_it():
    rng = np.random.default_rng(1)
    arms, rewards = logs.uniform(rng, (0.8, 0.3), 300)
    one = uli.replay(BETTING, logs.rows(arms, rewards))
    two = uli.replay(BETTING, logs.rows(arms, 4.0 * rewards - 2.0), low=-2.0, high=2.0)
    assert two.dropped == one.dropped
    assert two.intervals["0"] == pytest.approx([4.0 * x - 2.0 for x in one.intervals["0"]])
    free = uli.replay(
        uli.BettingElimination(0.2, R=0.5), logs.rows(arms, rewards), low=-math.inf, high=math.inf
    )
    assert free.active == ("0",)
    assert courses.SPREAD.format(R=0.5) in free.assumes


BAD_ROWS = [
    ([("a", 1), ("b", 1.5)], RewardRangeError, "row 2, column 'reward'.*must lie in"),
    ([("a", math.nan), ("b", 1)], RewardRangeError, "row 1, column 'reward'.*nan"),
    ([("a", 1), ("b", "x")], RewardRangeError, "row 2, column 'reward'.*must be a number"),
    ([("a", 1), (None, 1)], ArgumentError, "row 2, column 'arm'.*an arm's name"),
    ([("a", 1), (1.5, 1)], ArgumentError, "row 2, column 'arm'.*an arm's name"),
    ([("a", 1), ("b",)], ArgumentError, "row 2 must be a pair"),
    ([("a", 1), "ab"], ArgumentError, "row 2 must be a pair"),
    ([("a", 1), ("a", 0)], ArgumentError, "only one arm, 'a'"),
    ([], ArgumentError, "has no rows"),
    (7, ArgumentError, "must be the path of a CSV file"),
    (b"ab", ArgumentError, "must be the path of a CSV file"),
    ({"arm": ["a"], "reward": [1, 0]}, ArgumentError, "different lengths"),
    ({"arm": 3, "reward": [1, 0]}, ArgumentError, "must name a column"),
    ({"arms": ["a"], "reward": [1]}, ArgumentError, "no column 'arm'.*Did you mean 'arms'"),
]


@pytest.mark.parametrize("log, error, said", BAD_ROWS, ids=[x[2] for x in BAD_ROWS])
def test_bad_rows_are_named(log, error, said):
    with pytest.raises(error, match=said) as caught:
        uli.replay(BETTING, log)
    assert caught.value.argument in ("log", "arm")


BAD_FILES = [
    (b"", "has no column 'arm', but none"),
    (b"arm,reward\n", "log.csv has no rows"),
    (b"arm,revard\na,1\n", "no column 'reward'.*Did you mean 'revard'"),
    (b"arm,arm,reward\na,a,1\n", "2 columns called 'arm'"),
    (b"arm,reward\na,1\nb\n", "row 2 has 1 cells, the header 2"),
    (b"arm,reward\na,1\n,1\n", "row 2, column 'arm'"),
    (b"arm,reward\na,nan\n", "row 1, column 'reward'.*nan"),
    (b"arm,reward\na,1_0\n", "row 1, column 'reward'.*must be a number, got '1_0'"),
    (b"arm,reward\na,yes\n", "row 1, column 'reward'.*must be a number, got 'yes'"),
    (b"\x1f\x8b\x08\x00\xff\xfe", "not text in UTF-8; a compressed file"),
    (b'arm,reward\n"a,1\n', "not a CSV file"),
    (b"arm,reward\n" + b"a" * 200_000 + b",1\n", "not a CSV file"),
]


@pytest.mark.parametrize("data, said", BAD_FILES, ids=[x[1] for x in BAD_FILES])
def test_bad_files_are_refused(tmp_path, data, said):
    path = tmp_path / "log.csv"
    path.write_bytes(data)
    with pytest.raises(ArgumentError, match=said):
        uli.replay(BETTING, path)


def test_a_file_that_is_none_is_refused(tmp_path, monkeypatch):
    with pytest.raises(ArgumentError, match="cannot be read"):
        uli.replay(BETTING, tmp_path / "none.csv")
    with pytest.raises(ArgumentError, match="folder"):
        uli.replay(BETTING, tmp_path)
    path = tmp_path / "log.csv"
    path.write_text("arm,reward\na,1\nb,0\n", encoding="utf-8")
    monkeypatch.setattr("uli_fast.logs.log.LARGEST_LOG", 10)
    with pytest.raises(ArgumentError, match="the limit here is 10"):
        uli.replay(BETTING, path)
    monkeypatch.setattr("uli_fast.logs.log.MOST_ARMS", 1)
    with pytest.raises(ArgumentError, match="is it the column of the arms"):
        uli.replay(BETTING, [("a", 1), ("b", 0)])


ROWS_OF_TWO = [("a", 1), ("b", 0)]
BAD_ARGUMENTS = [
    ({"learner": uli.BettingElimination}, "learner", "did you mean BettingElimination"),
    ({"learner": 3}, "learner", "not a learner"),
    ({"assignment": "fair"}, "assignment", "any, randomized"),
    ({"low": 1.0, "high": 0.0}, "high", "low"),
    ({"low": -math.inf, "high": math.inf}, "R", "must be given"),
    ({"arm": 3}, "arm", "string"),
    ({"reward": ""}, "reward", "empty"),
    ({"arms": ["a"]}, "arms", "two or more"),
    ({"arms": ["a", "a"]}, "arms", "distinct"),
    ({"arms": ["a", "c"]}, "log", "row 2, column 'arm': 'b' is not one of the arms"),
]


@pytest.mark.parametrize("change, argument, said", BAD_ARGUMENTS, ids=[x[2] for x in BAD_ARGUMENTS])
def test_bad_arguments_are_named(change, argument, said):
    about = {"learner": BETTING, "log": ROWS_OF_TWO} | change
    with pytest.raises(ArgumentError, match=said) as caught:
        uli.replay(**about)
    assert caught.value.argument == argument or change == {"low": 1.0, "high": 0.0}


def test_a_missing_outcome_without_a_range_is_refused():
    with pytest.raises(RewardRangeError, match=r"row 2.*is missing"):
        uli.replay(
            uli.BettingElimination(R=1.0),
            [("a", 1.0), ("b", None)],
            low=-math.inf,
            high=math.inf,
        )


@pytest.mark.parametrize(
    "learner, why",
    [
        (uli.UCB(), "promises nothing"),
        (uli.LilUCB(), "promises nothing"),
        (uli.Exp3P(), "promises nothing"),
        (uli.MetaElimination(uli.Exp3P()), "draws by their probabilities"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_learners_that_learn_nothing_certain_are_refused(learner, why):
    with pytest.raises(UnsupportedError, match=why):
        uli.replay(learner, ROWS_OF_TWO)


# How it is shown.


@pytest.fixture(scope="module")
def shown():
    arms, rewards = logs.uniform(np.random.default_rng(1), (0.9, 0.4, 0.3), 600)
    names = [NASTY, "good", "bad"]
    return uli.replay(BETTING, [(names[a], x) for a, x in zip(arms, rewards, strict=True)])


def test_the_page_stands_alone_and_takes_names_as_text(shown, tmp_path):
    shown.report(tmp_path / "a.html", title="A log")
    shown.report(tmp_path / "b.html", title="A log")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert page == (tmp_path / "b.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")
    assert "\x1b" not in page
    assert "<h1>A log</h1>" in page
    assert f"row {shown.dropped['bad'].row:,}" in page
    for sentence in shown.assumes:
        assert sentence.replace("'", "&#39;") in page
    with pytest.raises(ReportError):
        shown.report(tmp_path / "a.html" / "c.html")


def test_table_figure_and_frame(shown, tmp_path):
    from rich.console import Console

    console = Console(width=100, record=True, file=io.StringIO())
    console.print(shown.table())
    text = console.export_text()
    assert "good" in text and f"row {shown.dropped['bad'].row:,}" in text
    assert "\x1b" not in text and "\u202e" not in text
    assert shown.active == (NASTY,)
    assert "<script>alert(1)</script>" in shown.verdict and "\x1b" not in shown.verdict
    shown.plot(tmp_path / "log.png")
    assert (tmp_path / "log.png").stat().st_size > 1000
    with pytest.raises(ArgumentError, match="must end in one of"):
        shown.plot(tmp_path / "log.txt")
    frame = shown.to_pandas()
    assert len(frame) == 3 * shown.looks.rows.size
    assert (
        frame[frame.arm == "bad"].active.sum()
        == shown.looks.active[:, shown.arms.index("bad")].sum()
    )
    assert repr(shown).startswith("Replay(BettingElimination(delta=0.2")


@pytest.mark.parametrize("begins", ["arm,reward\n", "", 'arm,reward\na,1.0\n"a'])
def test_a_file_without_an_end_of_line_is_not_read_as_one_line(tmp_path, begins):
    """A hole of gigabytes takes no room on a disk, and would take it all in memory."""
    path = tmp_path / "log.csv"
    with path.open("w") as file:
        file.write(begins)
        file.truncate(200 * 2**20)
    tracemalloc.start()
    try:
        with pytest.raises(ArgumentError) as caught:
            uli.replay(BETTING, path, arm="arm", reward="reward")
        assert caught.value.argument == "log" and "1,048,576 characters" in caught.value.problem
        assert tracemalloc.get_traced_memory()[1] < 64 * 2**20
    finally:
        tracemalloc.stop()


def test_a_line_may_be_long(tmp_path):
    path = tmp_path / "log.csv"
    many = ",".join("x" * 1000 for _ in range(1000))
    path.write_text(f"arm,reward,rest\na,1.0,{many}\nb,0.0,\n")
    assert uli.replay(BETTING, path, arm="arm", reward="reward")
