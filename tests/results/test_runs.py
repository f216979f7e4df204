import itertools
import json
import math

import numpy as np
import pytest

import uli_fast as uli
from uli_fast.errors import ArgumentError, RunsFileError

PROBLEM = uli.BernoulliBandit([0.6, 0.6, 0.5, 0.1], names=["a", "b", "c", "d"])


@pytest.fixture(scope="module")
def runs():
    return uli.simulate(uli.SuccessiveElimination(0.2), PROBLEM, 50_000, 5, seed=4)


def test_regret_counts_plays_up_to_and_including_each_round(runs):
    assert np.allclose(runs.regret, runs.plays @ PROBLEM.gaps)
    assert (runs.plays.sum(axis=2) == runs.rounds).all()
    assert (runs.plays[:, -1] == runs.final_plays).all()


def test_worst_ratio_is_exact_over_every_round():
    T = 3000
    runs = uli.simulate(
        uli.SuccessiveElimination(0.2),
        PROBLEM,
        T,
        5,
        seed=4,
        engine="rounds",
        rounds=range(1, T + 1),
    )
    bound = runs.guarantee.bound(runs.rounds)
    for r in range(5):
        played = np.diff(runs.plays[r], axis=0, prepend=0).argmax(axis=1)
        assert runs.worst_ratio[r] == (PROBLEM.gaps[played] / bound).max()
    coarse = uli.simulate(
        uli.SuccessiveElimination(0.2), PROBLEM, T, 5, seed=4, engine="rounds", rounds=[T]
    )
    assert (coarse.worst_ratio == runs.worst_ratio).all()


def test_mistakes_and_last_mistake(runs):
    assert (runs.mistakes(0.05) == runs.final_plays[:, 2:].sum(axis=1)).all()
    assert (runs.mistakes(0.2) == runs.final_plays[:, 3]).all()
    assert (runs.last_mistake() == runs.last_play[:, 2:].max(axis=1)).all()


def test_coverage_is_clopper_pearson(runs):
    from uli_fast.results.metrics import coverage

    result = coverage(np.array([True] * 97 + [False] * 3), 0.05)
    assert result.failures == 3
    assert result.low == pytest.approx(0.00623, abs=1e-4)
    assert result.high == pytest.approx(0.08518, abs=1e-4)
    assert runs.coverage().delta == 0.2


def test_phases_rebuild_the_run():
    runs = uli.simulate(uli.PhasedElimination(0.2), PROBLEM, 50_000, 5, seed=4)
    for r, phases in enumerate(runs.phases):
        assert phases[0].first_round == 1
        assert phases[-1].last_round == 50_000
        played = sum(np.where(p.active, p.quota, 0) for p in phases[:-1])
        assert (played <= runs.final_plays[r]).all()
        for before, after in itertools.pairwise(phases):
            assert after.first_round == before.last_round + 1
            assert (after.active <= before.active).all()
            gone = before.active & ~after.active
            assert (runs.eliminated_at[r][gone] == before.last_round).all()


def test_save_and_load_give_everything_back(runs, tmp_path):
    runs.save(tmp_path / "x" / "runs")
    back = uli.Runs.load(tmp_path / "x" / "runs")
    for name in ("rounds", "plays", "final_plays", "last_play", "eliminated_at", "gaps", "regret"):
        assert (getattr(back, name) == getattr(runs, name)).all()
    assert back.guarantee == runs.guarantee
    assert (back.worst_ratio == runs.worst_ratio).all()
    assert (back.names, back.seed, back.horizon) == (runs.names, runs.seed, runs.horizon)
    assert (back.event_held == runs.event_held).all()
    assert back.quotas is None


def test_saving_never_overwrites(runs, tmp_path):
    runs.save(tmp_path / "runs")
    with pytest.raises(ArgumentError, match="exists"):
        runs.save(tmp_path / "runs")
    assert [p.name for p in tmp_path.iterdir()] == ["runs"]


@pytest.mark.parametrize("damage", ["truncate", "flip", "remove", "pickle", "manifest", "shape"])
def test_damaged_files_are_refused(runs, tmp_path, damage):
    folder = tmp_path / "runs"
    runs.save(folder)
    file = folder / "last_play.npy"
    if damage == "truncate":
        file.write_bytes(file.read_bytes()[:-8])
    elif damage == "flip":
        data = bytearray(file.read_bytes())
        data[-3] ^= 1
        file.write_bytes(bytes(data))
    elif damage == "remove":
        file.unlink()
    elif damage == "pickle":
        np.save(file, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    else:
        manifest = json.loads((folder / "manifest.json").read_text())
        if damage == "shape":
            manifest["arrays"]["last_play"]["shape"] = [10**9, 10**9]
        text = json.dumps(manifest)
        (folder / "manifest.json").write_text(text[:-20] if damage == "manifest" else text)
    with pytest.raises(RunsFileError):
        uli.Runs.load(folder)


def test_plays_are_left_out_when_large(monkeypatch):
    monkeypatch.setattr("uli_fast.simulation.simulate.LARGEST_PLAYS", 100)
    runs = uli.simulate(uli.PhasedElimination(), PROBLEM, 10_000, 3, seed=0)
    assert runs.plays is None
    asked = uli.simulate(uli.PhasedElimination(), PROBLEM, 10_000, 3, seed=0, keep_plays=True)
    assert (asked.regret == runs.regret).all()
    assert (asked.final_plays == runs.final_plays).all()


def test_pandas_table_and_plot(runs, tmp_path):
    frame = runs.to_pandas()
    assert len(frame) == 5 * runs.rounds.size
    assert list(frame.columns[:3]) == ["replication", "round", "regret"]
    assert frame["plays[d]"].iloc[-1] == runs.final_plays[-1, 3]
    from rich.console import Console

    console = Console(width=200, record=True, file=open(tmp_path / "out", "w"))
    console.print(runs.table())
    console.file.close()
    text = console.export_text()
    assert "SuccessiveElimination" in text
    assert "0/5" in text
    runs.plot(tmp_path / "gap.png")
    assert (tmp_path / "gap.png").stat().st_size > 10_000
    runs.report(tmp_path / "page.html")
    assert "SuccessiveElimination" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_compare_gives_every_learner_the_same_seed(tmp_path):
    learners = [uli.SuccessiveElimination(0.1), uli.UCB(0.1)]
    result = uli.compare(learners, PROBLEM, 10_000, 3, seed=7)
    alone = uli.simulate(learners[1], PROBLEM, 10_000, 3, seed=7)
    assert (result["UCB"].final_plays == alone.final_plays).all()
    assert list(result.runs) == ["SuccessiveElimination", "UCB"]
    two = uli.compare({"x": learners[0], "y": uli.SuccessiveElimination(0.2)}, PROBLEM, 100, 1)
    assert two["x"].seed == two["y"].seed
    result.plot(tmp_path / "c.png")
    frame, own = result.to_pandas(), alone.to_pandas()
    assert list(frame.columns[:4]) == ["learner", "replication", "round", "regret"]
    last = frame[frame["learner"] == "UCB"].drop(columns="learner").reset_index(drop=True)
    assert last.equals(own) and len(frame) == 2 * len(own)
    several = [uli.UCB(0.1), uli.UCB(0.2), uli.LilUCB(0.1), uli.UCB(0.2, R=1.0)]
    names = [
        "UCB (delta=0.1, R=None)",
        "UCB (delta=0.2, R=None)",
        "LilUCB",
        "UCB (delta=0.2, R=1.0)",
    ]
    assert list(uli.compare(several, PROBLEM, 10, 1).runs) == names
    with pytest.raises(ArgumentError, match="learners"):
        uli.compare([], PROBLEM, 10, 1)
    with pytest.raises(ArgumentError, match="learners"):
        uli.compare([1], PROBLEM, 10, 1)
    with pytest.raises(ArgumentError, match=r"did you mean UCB\(\)\?"):
        uli.compare([uli.UCB], PROBLEM, 10, 1)


def test_play_gives_bounds_in_reward_units():
    def reward(arm):
        return [20.0, 10.0][arm]

    learner = uli.SuccessiveElimination(0.1)
    runs = uli.play(learner, reward, 3000, 2, low=-10, high=30, means=[20, 10])
    problem = uli.DeterministicBandit([20, 10], low=-10, high=30)
    assert runs.guarantee == learner.guarantee(problem)
    assert runs.worst_ratio == uli.simulate(learner, problem, 3000).worst_ratio
    free = uli.play(
        uli.SuccessiveElimination(0.1, R=1.0),
        reward,
        100,
        2,
        low=-math.inf,
        high=math.inf,
        means=[20, 10],
    )
    assert free.guarantee.parameters["largest_gap"] == 10.0
    with pytest.warns(uli.errors.GuaranteeWarning):
        narrow = uli.play(uli.SuccessiveElimination(R=0.1), lambda arm: 0.5, 100, 2)
    assert narrow.guarantee is None


def test_the_table_shows_regret_at_the_horizon():
    from uli_fast.report.tables import runs_table

    problem = uli.DeterministicBandit([1.0, 0.0])
    runs = uli.simulate(uli.SuccessiveElimination(0.1), problem, 10**5, rounds=[10])
    cells = [next(iter(column.cells)) for column in runs_table([runs]).columns]
    assert cells[1] == str(runs.final_plays[0, 1])


def test_a_saved_claim_keeps_its_delta(tmp_path):
    learner = uli.EliminationFramework(lambda n, s, a, t: a, lambda d, t: 1.0, delta=0.2)
    runs = uli.simulate(learner, PROBLEM, 100, seed=0)
    runs.save(tmp_path / "runs")
    back = uli.Runs.load(tmp_path / "runs")
    assert back.coverage() == runs.coverage()
    assert back.coverage().delta == 0.2


def test_play_on_one_s_own_environment():
    rng = np.random.default_rng(0)
    means = {"x": 0.8, "y": 0.3}
    runs = uli.play(
        uli.SuccessiveElimination(0.1),
        lambda arm: float(rng.random() < means[arm]),
        3000,
        ["x", "y"],
        means=[0.8, 0.3],
    )
    assert runs.final_plays.sum() == 3000
    assert 0 <= runs.eliminated_at[0, 1] - runs.last_play[0, 1] <= 1
    assert runs.holds.all()
    blind = uli.play(uli.UCB(0.1), lambda arm: 0.5, 50, 3)
    with pytest.raises(uli.errors.UliError, match="means"):
        _ = blind.regret
    assert math.isclose(blind.final_plays.sum(), 50)


def test_a_table_can_be_printed():
    runs = uli.simulate(uli.PhasedElimination(0.1), uli.BernoulliBandit([0.9, 0.1]), 1000, seed=1)
    shown = str(runs.table())
    assert "PhasedElimination" in shown and "regret" in shown
    assert "\x1b" not in shown and max(map(len, shown.splitlines())) <= 100
