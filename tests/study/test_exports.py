"""A study's history as a table and as files."""

import json
import sys

import pytest

import uli_fast as uli
from tests.study.live import MDP, SE
from uli_fast.errors import MissingExtraError, StudyWriteError
from uli_fast.study.history import DecisionRecord


def test_history_as_table_and_files(place, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    with place.open(SE, ["=1+1", "b"]) as study:
        study.tell(study.ask("p1", site="Oslo").id, 1.0)
        study.tell_missing(study.ask("p2").id, "withdrew")
        study.ask()
        frame = study.history().to_pandas()
        assert list(frame.columns) == list(DecisionRecord._fields) and "states" not in frame
        assert frame["status"].tolist() == ["reward", "missing", "pending"]
        assert frame["asked"].dt.tz is not None
        for suffix in ("csv", "jsonl", "parquet"):
            study.export(tmp_path / f"out.{suffix}")
        with pytest.raises(StudyWriteError):
            study.export(tmp_path / "no" / "folder.csv")
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(x)["reason"] for x in lines] == [None, "withdrew", None]
    table = pd.read_csv(tmp_path / "out.csv")
    assert table["arm"].tolist() == ["'=1+1", "b", "'=1+1"]
    parquet = pd.read_parquet(tmp_path / "out.parquet")
    assert parquet["reward"].tolist()[0] == 1.0 and parquet["arm"].tolist()[0] == "=1+1"
    assert not list(tmp_path.glob(".*"))


def test_episodes_as_table_and_files(place, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rewards = 4.0 * MDP.rewards - 1.0
    H = len(rewards)
    start = {"rewards": rewards, "low": -1.0, "high": 3.0}
    names = (*DecisionRecord._fields, "states", "actions")
    with place.open(uli.PolicyElimination(0.1, "sharp"), **start) as study:
        assert list(study.history().to_pandas().columns) == list(names)
        d = study.ask("e1", state=0)
        states = [0, 2] if d.policy[0, 0] else [0, 1]
        actions = [int(d.policy[h, s]) for h, s in enumerate(states)]
        study.tell(d.id, [*states, 1], actions)  # where it ended is not used
        assert study.certificate().active == study.active == 2 ** (H * 3)
        study.tell_missing(study.ask("e2", state=0).id, "broke off")
        study.ask("e3", state=0)
        history = study.history()
        frame, waiting = history.to_pandas(), study.pending().to_pandas()
        for suffix in ("csv", "jsonl", "parquet"):
            study.export(tmp_path / f"out.{suffix}")
    reward = sum(rewards[h, s, a] for h, (s, a) in enumerate(zip(states, actions, strict=True)))
    assert type(history[0])._fields == names and len(states) == H
    assert [(r.reward, r.states, r.actions) for r in history] == [
        (reward, states, actions),
        (None, None, None),
        (None, None, None),
    ]
    for table in (frame, waiting, *(_tables(pd, tmp_path))):
        assert list(table.columns) == list(names)
    for table in _tables(pd, tmp_path):
        assert table["reward"][0] == reward and table["status"][1] == "missing"
        told = [table[name][0] for name in ("arm", "states", "actions")]
        found = [json.loads(x) if isinstance(x, str) else x for x in told]
        assert found == [d.policy.tolist(), states, actions]
    with place.read() as again:
        assert again.history() == history
    assert place.audit().history == history
    tell = next(e for e in place.events() if e.kind == "tell")
    assert tell.content == {"reward": states}  # recorded as it always was


def _tables(pd, folder):
    lines = pd.read_json(folder / "out.jsonl", lines=True)
    return [pd.read_csv(folder / "out.csv"), lines, pd.read_parquet(folder / "out.parquet")]


def test_what_is_not_installed_is_named(path, tmp_path, monkeypatch):
    with uli.Study.open(path, SE, 2) as study:
        for name, call in (
            ("pandas", lambda: study.history().to_pandas()),
            ("pyarrow", lambda: study.export(tmp_path / "out.parquet")),
        ):
            monkeypatch.setitem(sys.modules, name, None)
            with pytest.raises(MissingExtraError, match=f"needs {name}: pip install"):
                call()
