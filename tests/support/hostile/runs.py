"""Saved runs that were altered and signed again."""

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.hostile.case import Case


def saved_runs(folder: Path, kind: str = "arms") -> Path:
    """Return the folder of saved runs."""
    import uli_fast as uli

    if kind == "arms":
        problem = uli.BernoulliBandit([0.9, 0.5, 0.1])
        runs = uli.simulate(uli.SuccessiveElimination(0.2), problem, 2000, 3, seed=4)
    elif kind == "sets":
        problem = uli.LinearBandit([0.5, 0.2], arm_set=uli.arm_sets.Ball(2))
        runs = uli.simulate(uli.SpannerElimination(0.2, R=1.0), problem, 2000, 3, seed=4)
    else:
        problem = uli.mdps.river_swim(3, 3).restricted()
        runs = uli.simulate(uli.UBEV(0.2), problem, 200, 3, seed=4)
    runs.save(folder / "runs")
    return folder / "runs"


def read(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return found


def write(folder: Path, manifest: dict[str, Any]) -> None:
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def sign(folder: Path, manifest: dict[str, Any]) -> None:
    """Write a manifest with the hash that it should have."""
    manifest.pop("sha256", None)
    text = json.dumps(manifest, sort_keys=True)
    write(folder, manifest | {"sha256": hashlib.sha256(text.encode()).hexdigest()})


def altered(folder: Path, name: str, change: Callable[[Any], Any]) -> None:
    """Change an array, or a word, and sign everything again."""
    manifest, path = read(folder), folder / f"{name}.npy"
    if name not in manifest["arrays"]:
        sign(folder, manifest | {name: change(manifest.get(name))})
        return
    values = np.ascontiguousarray(change(np.load(path)))
    np.save(path, values)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    about = {"sha256": digest, "dtype": str(values.dtype), "shape": list(values.shape)}
    sign(folder, manifest | {"arrays": manifest["arrays"] | {name: about}})


def put(value: Any, *where: int) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array = array.copy()
        array[where or (-1,) * array.ndim] = value
        return array

    return change


ALTERED: tuple[tuple[str, str, str, Callable[[Any], Any]], ...] = (
    ("arms", "plays", "negative", put(-1)),
    ("arms", "final_plays", "negative", put(-1)),
    ("arms", "recorded_regret", "NaN", put(math.nan)),
    ("arms", "recorded_regret", "infinite", put(math.inf)),
    ("arms", "recorded_regret", "falling", put(-5.0)),
    ("arms", "recorded_regret", "not that of the plays", lambda x: 2.0 * x),
    ("arms", "plays", "of another shape", lambda x: x[:, :, :2]),
    ("arms", "last_play", "of another shape", lambda x: x[:1]),
    ("arms", "last_play", "flat", lambda x: x.ravel()),
    ("arms", "last_play", "beyond the horizon", put(2001)),
    ("arms", "last_play", "of another kind", lambda x: x.astype(float)),
    ("arms", "event_held", "numbers", lambda x: x.astype(np.int64)),
    ("arms", "eliminated_at", "before the last play", put(1, 0, 0)),
    ("arms", "rounds", "not in order", lambda x: x[::-1]),
    ("arms", "gaps", "NaN", put(math.nan)),
    ("arms", "gaps", "negative", put(-0.5)),
    ("arms", "gaps", "too many", lambda x: np.append(x, 0.0)),
    ("arms", "plays", "fewer with time", lambda x: x[:, ::-1]),
    ("arms", "final_plays", "more than the horizon", lambda x: x + 1),
    ("arms", "final_plays", "none", lambda x: x[:0]),
    ("arms", "horizon", "a word", lambda x: "long"),
    ("arms", "horizon", "of 4,000 digits", lambda x: int("9" * 4000)),
    ("arms", "names", "numbers", lambda x: [1, 2, 3]),
    ("arms", "elapsed", "NaN", lambda x: math.nan),
    ("arms", "delta", "a list", lambda x: []),
    ("arms", "tv_bound", "negative", lambda x: -1.0),
    ("arms", "guarantee", "unknown", lambda x: x | {"formula": "X"}),
    ("arms", "guarantee", "of K = 0", lambda x: x | {"parameters": x["parameters"] | {"K": 0}}),
    ("arms", "guarantee", "of delta = 2", lambda x: x | {"delta": 2.0}),
    ("sets", "block_gaps", "NaN", put(math.nan, 0, 0)),
    ("sets", "block_first", "negative", put(-5, 0, 0)),
    ("sets", "block_last", "beyond the horizon", put(2001, 0, 0)),
    ("sets", "block_arms", "NaN", put(math.nan, 0, 0, 0)),
    ("sets", "block_phase", "of another shape", lambda x: x[:1]),
    ("sets", "phase_work", "negative", put(-1.0)),
    ("sets", "recorded_regret", "NaN", put(math.nan)),
    ("policies", "final_plays", "negative", put(-1, 0, 0)),
    ("policies", "visits", "negative", put(-1, 0, 0, 0, 0)),
    ("policies", "gaps", "NaN", put(math.nan, 0, 0)),
    ("policies", "recorded_regret", "NaN", put(math.nan)),
    ("policies", "policies", "of another shape", lambda x: x[:, :, :1]),
    ("policies", "last_play", "beyond the horizon", put(10**6, 0, 0)),
)


def signed_again(quick: bool) -> Iterator[Case]:
    for kind, name, what, change in ALTERED:
        if quick and kind != "arms":
            continue

        def prepare(folder: Path, kind: str = kind, name: str = name, change: Any = change) -> Any:
            import uli_fast as uli

            target = saved_runs(folder, kind)
            uli.Runs.load(target)
            altered(target, name, change)
            return lambda: uli.Runs.load(target)

        yield Case(f"runs of {kind}, signed again: {name} {what}", prepare)
