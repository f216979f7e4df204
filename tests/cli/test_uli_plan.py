"""``uli plan``: the same numbers as the library's, and errors that say what is wrong."""

import re

import pytest
from click.testing import CliRunner

import uli_fast as uli
from uli_fast._registry import LEARNERS
from uli_fast.cli import main
from uli_fast.guarantees import ArmsInfo


def plan(*words):
    done = CliRunner(env={"COLUMNS": "140"}).invoke(main, ["plan", *words])
    return done.exit_code, done.output


def row(text, name):
    """Return the cells of a table's line."""
    (line,) = (x for x in text.splitlines() if x.strip().startswith(f"{name}  "))
    return line.replace(name, "").split()


def test_arms():
    code, text = plan("--arms", "2", "--delta", "0.1", "--eps", "1,0.1")
    assert code == 0
    bound = uli.SuccessiveElimination(0.1).guarantee(2)
    assert row(text, "SuccessiveElimination") == [
        "0",
        str(bound.rounds_until(0.1)),
        f"{bound.regret(10**6):.0f}",
    ]
    assert bound.rounds_until(0.1) == 38_588
    assert bound.rounds_until(1.0) == 222  # F alone; but rewards in [0, 1] have no larger gap
    assert row(text, "PhasedElimination")[0] == "0"
    assert row(text, "Meta, Exp3.P")[:2] == ["0", "1.01e+09"]
    assert row(text, "Meta, Exp3.P, sharp")[:2] == ["0", "7.55e+06"]
    assert "probability 0.9" in text


def test_vectors_and_a_longer_horizon():
    code, text = plan("--arms", "4", "--dimension", "2", "--horizon", "1e12")
    assert code == 0
    assert "regret by 1e+12" in text
    bound = uli.LinearElimination(0.05, R=1.0).guarantee((4, 2))
    assert row(text, "LinearElimination")[0] == f"{bound.rounds_until(0.1)}"
    for name in ("SpannerElimination", "Meta, GeometricHedge"):
        assert len(row(text, name)) == 3


def test_a_ball_has_caps_beside_the_spanner():
    code, text = plan("--arm-set", "Ball", "--dimension", "5", "--delta", "0.1")
    assert code == 0 and "Ball in 5 dimensions" in text and "rewards in [-1, 1]" in text
    bound = uli.CapElimination(0.1, R=1.0, theta_norm=1.0).guarantee(uli.arm_sets.Ball(5))
    assert row(text, "CapElimination") == [
        f"{bound.rounds_until(0.1):.2e}",
        f"{bound.rounds_until(0.01):.2e}",
        f"{bound.regret(10**6):.2e}",
    ]
    assert len(row(text, "SpannerElimination")) == 3
    ball = ("--arm-set", "Ball", "--dimension")
    assert plan(*ball, "0")[0] == 1
    assert plan(*ball, "2", "--arms", "3")[0] == plan(*ball, "2", "--best-mean", ".5")[0] == 2


def test_rows_about_vectors_have_one_unit():
    """|<a, theta>| <= 1 allows gaps of 2; rewards in [-1, 1] are two units of loss long."""
    code, text = plan("--arms", "20", "--dimension", "3", "--horizon", "1e5")
    assert code == 0
    assert "rewards in [-1, 1]" in text
    unit = uli.MetaElimination(uli.GeometricHedge()).guarantee((20, 3))  # rewards in [0, 1]
    until = [f"{unit.rounds_until(eps / 2.0):.2e}" for eps in (0.1, 0.01)]
    assert row(text, "Meta, GeometricHedge") == [*until, "2.00e+05"]
    regret = uli.SpannerElimination(0.05, R=1.0).guarantee((20, 3)).regret(10**5)
    assert row(text, "SpannerElimination")[-1] == f"{regret:.0f}"
    arms = [[1.0, 0.0], [0.0, 1.0]]
    noisy = uli.LinearBandit([0.9, 0.0], arms, noise="uniform", sigma=0.1)
    known = uli.MetaElimination(uli.GeometricHedge()).guarantee(noisy)
    assert known.largest_gap == pytest.approx(2.0 * (1.0 + 0.1 * 3.0**0.5))


def test_arm_sets_show_every_way_that_applies():
    sets = uli.arm_sets
    box = sets.Box([-0.5] * 4, [0.5] * 4)
    for region, words in ((sets.Simplex(4), "Simplex"), (sets.L1Ball(4), "L1Ball"), (box, "Box")):
        code, text = plan("--arm-set", words, "--dimension", "4", "--eps", "0.1")
        assert code == 0 and "arms and theta of norm at most 1" in text
        for kind in (uli.LinearElimination, uli.SpannerElimination):
            bound = kind(0.05, R=1.0, theta_norm=1.0).guarantee(region)
            until = float(row(text, kind.__name__)[0])
            assert until == pytest.approx(bound.rounds_until(0.1), 0.01)
    ball = plan("--arm-set", "Ball", "--dimension", "4")[1]
    assert len(row(ball, "SpannerElimination")) == 3
    assert "LinearElimination is not for this set" in ball and "no list of vertices" in ball
    large = plan("--arm-set", "Box", "--dimension", "13")[1]
    assert "8192 vertices, more than 4096" in large


def test_rows_about_linear_rewards_are_those_of_the_registry():
    text = plan("--arm-set", "Simplex", "--dimension", "3")[1]
    linear = [x for x in LEARNERS if x.kind in ("vectors", "set") and not x.load().baseline]
    for learner in linear:
        assert learner.name in text
    assert len(linear) >= 2 and "LinUCB" not in text


@pytest.mark.parametrize("width", [26, 40, 50])
@pytest.mark.parametrize(
    "words", [("--arms", "4"), ("--gaps", "0.3", "--turning-point", "--horizon", "1e9")]
)
def test_numbers_are_whole_on_narrow_terminals(width, words):
    wide = plan(*words)[1]
    narrow = CliRunner(env={"COLUMNS": str(width)}).invoke(main, ["plan", *words]).output
    assert "\u2026" not in narrow
    assert max(map(len, narrow.splitlines())) <= width
    numbers = lambda text: set(re.findall(r"(?<![\w.])[0-9.]+e[+][0-9]+|not yet", text))  # noqa: E731
    assert len(numbers(wide)) > 3
    assert numbers(wide) <= numbers(narrow)


def test_a_tiny_delta_is_not_certainty():
    assert "with probability 1 - 1e-300" in plan("--arms", "4", "--delta", "1e-300")[1]
    assert "with probability 1 - 1e-08" in plan("--arms", "4", "--delta", "1e-8")[1]
    assert "with probability 0.99\n" in plan("--arms", "4", "--delta", "0.01")[1]


def test_a_dataset_tells_when_only_the_best_arm_is_left():
    code, text = plan("--dataset", "recovery", "--eps", "0.1,0.01")
    assert code == 0
    problem = uli.datasets.load("recovery")
    bound = uli.SuccessiveElimination(0.05).guarantee(problem)
    assert "RECOVERY" in text
    assert row(text, "SuccessiveElimination") == [
        "0",  # the only gap is 0.028
        f"{bound.rounds_until(problem.gaps.max()):.2e}",
        f"{bound.rounds_until(problem.gaps.max()):.2e}",
        f"{bound.regret(10**6, problem.gaps):.0f}",
    ]


def test_known_gaps_are_used():
    code, text = plan("--gaps", "0.1,0.2,0.4", "--eps", "0.1,0.3,0.4")
    assert code == 0
    bound = uli.SuccessiveElimination(0.05).guarantee(4)
    until = lambda gap: bound._last(lambda t: bound.bound(t) >= gap)  # noqa: E731
    short = lambda x: f"{x:.0f}" if x < 99_999 else f"{x:.2e}"  # noqa: E731
    cells = row(text, "SuccessiveElimination")
    assert cells[:4] == [short(until(0.2)), short(until(0.4)), "0", short(until(0.1))]
    assert bound.rounds_until(0.05, [0.1, 0.2]) == until(0.1) < bound.rounds_until(0.05)
    assert bound.rounds_until(0.05, [0.0, 0.04]) == 0
    assert bound.largest_gap == 1.0


def test_eighty_columns_are_enough():
    words = ("plan", "--gaps", "0.1,0.2", "--eps", "0.05,0.001234,0.1,0.3,0.25,0.2,0.15")
    done = CliRunner(env={"COLUMNS": "80"}).invoke(main, [*words, "--horizon", "123456"])
    assert done.exit_code == 0
    assert "…" not in done.output
    assert max(map(len, done.output.splitlines())) <= 80
    assert done.output.count("SuccessiveElimination") == 2  # as many tables as it takes
    assert "regret by 123456" in done.output


def test_a_tabular_mdp():
    code, text = plan("--mdp", "2", "2", "2", "--eps", "1", "--delta", "0.1")
    assert code == 0
    bound = uli.PolicyElimination(0.1).guarantee((2, 2, 2))
    assert row(text, "PolicyElimination, proved")[0] == f"{bound.rounds_until(1.0):.2e}"
    assert row(text, "PolicyElimination, sharp")[0] == "1.28e+06"


def test_constants_come_with_their_sources():
    code, text = plan("--arms", "3", "--constants")
    assert code == 0
    assert "wd(n) = R sqrt" in text
    assert "576" in text
    assert "wd(n) = R sqrt" not in plan("--arms", "3")[1]


def test_turning_points():
    words = ("--gaps", "0.3 0.5", "--turning-point", "--horizon", "1e5", "--replications", "3")
    code, text = plan(*words)
    assert code == 0
    problem = uli.BernoulliBandit([0.75, 0.45, 0.25])
    learner, rival = uli.SuccessiveElimination(0.05), uli.UCB(0.05)
    found = uli.turning_point(learner, rival, problem, 10**5, 3, seed=1)
    assert f"{found.censored.sum()} of 3 runs had not turned by 100000" in text
    assert "LilUCB" in text
    assert "KLUCB(delta=0.05, R=None)" in " ".join(text.split())
    assert text.index("BettingElimination") < text.index("SuccessiveElimination")
    assert "3 of 3 runs had not turned" in text


BAD = {
    "nothing": ((), "give one of"),
    "too much": (("--arms", "2", "--dataset", "isis2"), "give one of"),
    "set without dimension": (("--arm-set", "Ball"), "--dimension goes with"),
    "set and arms": (("--arm-set", "Ball", "--arms", "2", "--dimension", "2"), "give one of"),
    "no such set": (("--arm-set", "Torus", "--dimension", "2"), "arm_set"),
    "flat set": (("--arm-set", "Ball", "--dimension", "0"), "dimension: must be at least 1"),
    "dimension alone": (("--dataset", "isis2", "--dimension", "2"), "--dimension goes with"),
    "unknown means": (("--arms", "2", "--turning-point"), "needs the means"),
    "no arms": (("--arms", "0"), "arms: must be at least 1"),
    "no dimension": (("--arms", "2", "--dimension", "0"), "dimension: must be at least 1"),
    "no states": (("--mdp", "0", "2", "2"), "mdp: must be at least 1"),
    "delta": (("--arms", "2", "--delta", "2"), "delta: must lie strictly"),
    "eps": (("--arms", "2", "--eps", "0"), "eps: must be positive"),
    "no eps": (("--arms", "2", "--eps", ""), "eps: must not be empty"),
    "tiny eps": (("--arms", "2", "--eps", "1e-90"), "eps: is so small"),
    "words": (("--gaps", "some"), "not a list of numbers"),
    "gaps": (("--gaps", "0.1,1.5"), "gaps: must lie in [0, 1]"),
    "dataset": (("--dataset", "nothing"), "dataset: must be one of"),
    "horizon": (("--arms", "2", "--horizon", "1.5"), "horizon: must be a whole number"),
    "long": (("--arms", "2", "--horizon", "1e19"), "horizon: must be at most"),
    "runs": (("--gaps", ".2", "--turning-point", "--replications", "0"), "replications: must"),
    "one mean": (("--means", ".9", "--patients", "100"), "means: must hold at least two"),
    "no mean": (("--means", "", "--patients", "100"), "means: must not be empty"),
    "means": (("--means", ".9,1.2", "--patients", "100"), "means: must lie in [0, 1]"),
    "no patients": (("--means", ".9,.8", "--patients", "0"), "patients: must be at least 1"),
    "few patients": (("--means", ".9,.8", "--patients", "1"), "horizon: must be at least 2"),
    "half patients": (("--means", ".9,.8", "--patients", "9.5"), "patients: must be a whole"),
    "learner": (
        ("--means", ".9,.8", "--patients", "9", "--learners", "Oracle"),
        "learners: must be one of",
    ),
    "patients of arms": (("--arms", "2", "--patients", "9"), "--patients needs the means"),
    "patients alone": (("--patients", "9"), "give one of"),
    "page alone": (("--means", ".9,.8", "--html", "p.html"), "need --patients"),
    "names alone": (("--arms", "2", "--names", "a,b"), "--names goes with --means"),
    "names": (("--means", ".9,.8", "--names", "a,a", "--patients", "9"), "names: "),
    "patients and turning point": (
        ("--means", ".9,.8", "--patients", "9", "--turning-point"),
        "--patients does not go with",
    ),
    "followed": (("--means", ".9,.8", "--patients", "9", "--followed", "8"), "followed: must be"),
    "page": (("--means", ".9,.8", "--patients", "9", "--html", "."), "html: must be a file"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_a_message(case):
    words, message = BAD[case]
    code, text = plan(*words)
    assert code != 0
    assert message in text
    assert "Traceback" not in text


def test_vectors_show_both_modes_of_the_hedge():
    _, text = plan("--arms", "20", "--dimension", "3", "--horizon", "1e5")
    rewards = ArmsInfo(20, d=3, low=-1.0, high=1.0)
    for mode, name in (("paper", "Meta, GeometricHedge"), ("sharp", "Meta, GeometricHedge, sharp")):
        bound = uli.MetaElimination(uli.GeometricHedge(), 0.05, mode=mode).guarantee(rewards)
        wanted = [bound.rounds_until(0.1), bound.rounds_until(0.01)]
        assert row(text, name)[:2] == [f"{x:.2e}" for x in wanted]


TRIAL = ("--means", ".9,.6,.5", "--names", "both,one,neither", "--patients", "3000")


def test_a_trial_says_what_the_library_says(tmp_path):
    page = tmp_path / "plan.html"
    words = (*TRIAL, "--replications", "50", "--events", "deaths", "--html", str(page))
    chosen = ("--learners", "SuccessiveElimination, UCB")
    code, text = plan(*words, *chosen)
    assert code == 0
    found = uli.operating_characteristics(
        [uli.SuccessiveElimination(0.05), uli.UCB(0.05)],
        uli.BernoulliBandit([0.9, 0.6, 0.5], names=["both", "one", "neither"]),
        3000,
        50,
        seed=1,
        events="deaths",
    )
    first, second = [line for line in text.splitlines() if line.startswith("SuccessiveElim")]
    each = found["SuccessiveElimination"]
    assert f"{each.needed_all(0.8):,}" in first
    assert f"{each.on_inferior.mean:,.0f}" in first
    assert second.split()[1:] == [
        "0",
        "%",
        *f"{100 * each.dropped[1].rate:g} %".split(),
        "100",
        "%",
    ]
    assert sum(x.startswith("UCB") and "never drops" in x for x in text.splitlines()) == 2
    assert "deaths avoided" in text
    assert "seed 1." in text
    assert f"page: {page}" in text
    assert "both" in page.read_text(encoding="utf-8")


def test_every_learner_takes_part_and_the_fixed_trial_beside_them():
    from uli_fast.planning.usual import USUAL

    code, text = plan(*TRIAL, "--replications", "3", "--followed", "1e4")
    assert code == 0
    for name in (*USUAL, "fixed-size trial"):
        assert sum(line.startswith(name[:16]) for line in text.splitlines()) == 2
    fixed = uli.fixed_trial(uli.BernoulliBandit([0.9, 0.6, 0.5]), 3000)
    assert f"{fixed.needed(0.9)[1]:,}" in text
    assert "0.05 / 2 = 0.025 (Bonferroni)" in " ".join(text.split())


def test_known_means_are_planned_for_without_patients_too():
    code, text = plan("--means", "0.9,0.8,0.7", "--eps", "0.15")
    assert code == 0
    assert row(text, "PhasedElimination") == row(
        plan("--gaps", "0.1,0.2", "--eps", "0.15")[1], "PhasedElimination"
    )


def test_unbounded_rewards_of_a_trial_are_gaussian():
    words = ("--means", "0,2", "--low", "-inf", "--high", "inf", "--R", "1", "--patients", "500")
    code, text = plan(*words, "--replications", "3", "--learners", "SuccessiveElimination")
    assert code == 0
    assert "GaussianBandit" in text
    assert "ixed-size trial" not in text


def test_a_dataset_gives_a_trial_its_names():
    code, text = plan("--dataset", "isis2", "--patients", "2000", "--replications", "3")
    assert code == 0
    assert "streptokinase" in text


def test_a_stated_best_mean_adds_a_row_that_says_so():
    code, text = plan("--arms", "4", "--eps", ".1,.03,.01", "--best-mean", ".92")
    assert code == 0
    planned = uli.BettingElimination(0.05).planned(4, 0.92)
    lines = text.splitlines()
    (name,) = (i for i, line in enumerate(lines) if line.strip() == "if the best mean is 0.92")
    assert lines[name - 1].split() == ["BettingElimination,", "9290", "66525", "5.21e+05", "\u2013"]
    assert planned.rounds_until(0.1) == 9290
    for sentence in ("a plan, not a guarantee", *planned.assumes):
        assert sentence in " ".join(text.split())
    assert row(text, "BettingElimination")[0] == "12705"  # F, whatever the best mean
    without = plan("--arms", "4", "--eps", ".1,.03,.01")[1]
    assert "best mean" not in without and "\u2013" not in without


def test_a_stated_best_mean_beside_known_means():
    code, text = plan("--means", "32,16", "--low", "0", "--high", "40", "--best-mean", "32")
    assert code == 0
    problem = uli.BernoulliBandit([32.0, 16.0], 0.0, 40.0)
    wanted = uli.BettingElimination(0.05).planned(problem, 32.0).rounds_until(0.1, problem.gaps)
    (line,) = (x for x in text.splitlines() if "BettingElimination," in x)
    assert line.split()[1:4] == [str(wanted)] * 3
    for words, wrong in (
        (("--means", ".9,.5", "--best-mean", ".99"), "best_mean: must be that of the problem, 0.9"),
        (("--arms", "4", "--best-mean", "1"), "best_mean: must lie strictly between 0 and 1"),
        (("--gaps", ".1", "--best-mean", ".9"), "--best-mean goes with"),
        (("--mdp", "2", "2", "2", "--best-mean", ".9"), "--best-mean goes with"),
        (("--arms", "4", "--dimension", "2", "--best-mean", ".9"), "--best-mean goes with"),
        (("--means", ".9,.5", "--patients", "9", "--best-mean", "0"), "does not go with"),
    ):
        code, text = plan(*words)
        assert code != 0 and wrong in " ".join(text.split()), words
