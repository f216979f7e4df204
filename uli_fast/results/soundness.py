"""What a folder of Runs must satisfy, whoever wrote it: sizes, shapes, and what always holds.

Arrays are read here too: their sizes must make sense before a byte of them is.

A manifest can be signed again after it was changed. So its hashes say that a file is whole, and
the checks here say that it could be the outcome of a run: of arms, of an arm set or of policies.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from uli_fast import _check
from uli_fast._support.files import open_regular
from uli_fast.errors import RunsFileError
from uli_fast.results.record import ARRAYS

if TYPE_CHECKING:
    from uli_fast.results.runs import Runs

# Of all arrays of a folder together; it must be known before anything is read.
LARGEST_ARRAYS = 8 * 2**30
CHUNK = 2**22  # bytes that are read, and hashed, at once
ROUNDING = 1e-9  # that sums of floats may differ by, relative to the largest
# Arrays that come together or not at all.
TOGETHER = (
    tuple(name for name in ARRAYS if name.startswith("block_") or name == "phase_work"),
    ("phase_rounds", "phase_facts"),
    ("look_first", "look_facts", "actions_left", "actions_dropped", "empty_at"),
    ("final_plays", "last_play"),
)


def read_arrays(folder: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays that a manifest names, once their sizes and shapes make sense."""
    entries = manifest["arrays"]
    shapes = {name: _shape(folder, name, entry) for name, entry in entries.items()}
    _check_shapes(folder, shapes, len(manifest["names"]))
    sizes = (math.prod(shape) * _item(name) for name, shape in shapes.items())
    if sum(sizes) > LARGEST_ARRAYS:
        raise RunsFileError(f"{folder} holds more than {LARGEST_ARRAYS:,} bytes of arrays")
    return {
        name: _read(folder / f"{name}.npy", name, shape, entries[name]["sha256"])
        for name, shape in shapes.items()
    }


def _item(name: str) -> int:
    return int(np.dtype(ARRAYS[name][0]).itemsize)


def _shape(folder: Path, name: str, entry: Mapping[str, Any]) -> tuple[int, ...]:
    if name not in ARRAYS:
        raise RunsFileError(f"{folder}: unknown array {name!r}")
    if entry["dtype"] != ARRAYS[name][0]:
        raise RunsFileError(f"{folder}: {name} must be {ARRAYS[name][0]}, not {entry['dtype']!r}")
    return tuple(_check.whole("shape", x, least=0) for x in entry["shape"])


def _check_shapes(folder: Path, shapes: Mapping[str, tuple[int, ...]], n_names: int) -> None:
    """Refuse shapes that do not fit each other."""
    for names in TOGETHER:
        if len({name in shapes for name in names}) > 1:
            raise RunsFileError(f"{folder}: {' and '.join(names)} come together, or not at all")
    if "rounds" not in shapes or not {"last_play", "block_last"} & shapes.keys():
        raise RunsFileError(f"{folder} does not say what was played")
    sizes: dict[str, int] = {"2": 2, "3": 3, "5": 5} | ({"D": n_names} if n_names else {})
    for name, shape in shapes.items():
        letters = ARRAYS[name][1]
        if name == "gaps" and not n_names:  # of the policies that each replication played
            letters = "MD"
        if len(shape) != len(letters) or any(
            sizes.setdefault(letter, size) != size
            for letter, size in zip(letters, shape, strict=True)
        ):
            raise RunsFileError(f"{folder}: {name} has the wrong shape {list(shape)}")
    if not 1 <= sizes["M"] <= _check.MOST_REPLICATIONS or sizes["P"] < 1:
        raise RunsFileError(f"{folder} holds no run, or more than anybody could have run")


def _read(path: Path, name: str, shape: tuple[int, ...], sha256: str) -> Any:
    """Read an array once: its header, then the bytes that it claims, hashed on the way."""
    size = math.prod(shape) * _item(name)
    with open_regular(path, size + 4096) as file:
        claimed, fortran, dtype = (None, None, None)
        if np.lib.format.read_magic(file) == (1, 0):
            claimed, fortran, dtype = np.lib.format.read_array_header_1_0(file)
        head = file.tell()
        if claimed != shape or dtype != np.dtype(ARRAYS[name][0]):
            raise RunsFileError(f"{path} does not match the manifest")
        if os.fstat(file.fileno()).st_size != head + size:
            raise RunsFileError(f"{path} has the wrong size")
        file.seek(0)
        total = hashlib.sha256(file.read(head))
        flat = np.empty(size, np.uint8)
        for at in range(0, size, CHUNK):
            piece = file.read(min(CHUNK, size - at))
            total.update(piece)
            flat[at : at + CHUNK] = np.frombuffer(piece, np.uint8)
    if total.hexdigest() != sha256:
        raise RunsFileError(f"{path} has been altered")
    values = flat.view(dtype)
    return values.reshape(shape[::-1]).T if fortran else values.reshape(shape)


def check_runs(runs: Runs) -> None:
    """Refuse what no run can have come to."""
    for holds, what in itertools.chain(
        _plain(runs), _numbers(runs), _counts(runs), _regrets(runs), _blocks(runs), _policies(runs)
    ):
        if not holds:
            raise RunsFileError(f"no run can have come to this: {what}")


Claims: TypeAlias = Iterator[tuple[Any, str]]  # what must hold, and what is wrong if it does not


def _plain(runs: Runs) -> Claims:
    words = (runs.learner, runs.problem, runs.engine, *runs.names)
    yield all(isinstance(word, str) for word in words), "its names are not text"
    yield isinstance(runs.baseline, bool), "baseline is neither true nor false"
    yield runs.seed is None or _whole(runs.seed, 0), "its seed is not a whole number"
    yield _whole(runs.horizon, 1, _check.LARGEST_HORIZON), "its horizon is not one"
    for name in ("delta", "tv_bound", "elapsed"):
        yield type(getattr(runs, name)) in (int, float), f"{name} is not a number"
    yield math.isnan(runs.delta) or 0.0 < runs.delta < 1.0, "delta is not a probability"
    for name in ("tv_bound", "elapsed"):
        yield 0.0 <= getattr(runs, name) < math.inf, f"{name} is not a size"


def _whole(value: Any, least: int, most: float = math.inf) -> bool:
    return type(value) is int and least <= value <= most


def _numbers(runs: Runs) -> Claims:
    """Yield what holds of every array on its own."""
    for name, (kind, _) in ARRAYS.items():
        values = getattr(runs, name)
        if values is None or kind == "bool" or not values.size:
            continue
        # Errors of phases that were cut short are NaN, and so is a ratio without a bound; arms
        # of a set have any sign, and a bound of 0 any ratio.
        if name not in ("phase_facts", "ratios", "look_facts"):
            yield np.isfinite(values).all(), f"{name} holds what is no number"
        if name not in ("block_arms", "phase_facts", "look_facts"):
            least = np.nanmin(values) if name != "ratios" or not np.isnan(values).all() else 0.0
            yield least >= -_room(values), f"{name} holds a negative number"
    spent = 0.0 if runs.tv_spent is None else float(runs.tv_spent.sum())
    yield math.isclose(spent, runs.tv_bound, rel_tol=ROUNDING), "tv_bound is not the sum"


def _room(values: Any) -> float:
    """Return by how much floats may be off that were added up in another order."""
    if values.dtype.kind == "i":
        return 0.0
    return ROUNDING * float(np.nanmax(np.abs(values), initial=0.0))


def _counts(runs: Runs) -> Claims:
    """Yield what holds of plays: every round plays one arm."""
    rounds, T = runs.rounds, runs.horizon
    yield rounds[0] >= 1 and (np.diff(rounds) > 0).all() and rounds[-1] <= T, "rounds do not grow"
    if runs.withdrawn is not None:
        yield (runs.withdrawn <= T).all(), "F is withdrawn after the horizon"
    final, last, gone = runs.final_plays, runs.last_play, runs.eliminated_at
    if final is not None and last is not None:
        right = (final <= T).all() and (final.sum(axis=1, dtype=np.float64) < 2.0 * T).all()
        right = right and (final.sum(axis=1) == T).all()  # 64 bits would wrap at 20 times 10^18
        yield right, "its plays do not add up to the horizon"
        yield (last <= T).all() and (last.max(axis=1) == T).all(), "nobody plays the last round"
        yield (last >= final).all() and ((last > 0) == (final > 0)).all(), "last plays are wrong"
    if gone is not None and last is not None:
        yield (gone <= T).all() and ((gone == 0) | (last <= gone)).all(), "a removed arm is played"
    if runs.plays is not None and final is not None:
        yield (runs.plays.sum(axis=2) == rounds).all(), "plays do not add up to the rounds"
        at_end = final[:, None, :]
        rising = np.diff(runs.plays, axis=1, append=at_end) >= 0
        yield rising.all(), "plays become fewer"


def _regrets(runs: Runs) -> Claims:
    regret = runs.recorded_regret
    if regret is None:
        return
    room = _room(regret)
    yield (np.diff(regret, axis=1) >= -room).all(), "its regret falls"
    if runs.plays is not None and runs.gaps is not None:
        expected = runs.plays @ runs.gaps
        yield (np.abs(expected - regret) <= room).all(), "its regret is not that of its plays"


def _blocks(runs: Runs) -> Claims:
    """Yield what holds of blocks of rounds: one begins where the one before ends."""
    if runs.block_first is None or runs.block_last is None or runs.block_phase is None:
        return
    first, last, phase = runs.block_first, runs.block_last, runs.block_phase
    used = last > 0
    yield ((first > 0) == used).all() and ((phase > 0) == used).all(), "blocks are wrong"
    yield (used[:, :1]).all() and (used[:, :-1] >= used[:, 1:]).all(), "blocks are wrong"
    yield (last >= first).all() and (last.max(axis=1) == runs.horizon).all(), "blocks are wrong"
    follows = first[:, 1:] == last[:, :-1] + 1
    yield (first[:, 0] == 1).all() and (follows | ~used[:, 1:]).all(), "blocks have holes"
    assert runs.phase_work is not None
    yield phase.max() <= runs.phase_work.shape[1], "its blocks are of phases without work"


def _policies(runs: Runs) -> Claims:
    if runs.visits is not None:
        per_stage = runs.visits.sum(axis=(2, 3))
        yield (per_stage == runs.horizon).all(), "its visits do not add up to the horizon"
    yield from _looks(runs)
    if runs.phase_rounds is not None:
        first, last = runs.phase_rounds[:, :, 0], runs.phase_rounds[:, :, 1]
        yield (first <= last).all() and (last <= runs.horizon).all(), "its phases are not in order"


def _looks(runs: Runs) -> Claims:
    """Yield what holds of looks: certificates fall, and are withdrawn for good."""
    if runs.look_first is None or runs.look_facts is None or runs.actions_dropped is None:
        return
    first, T = runs.look_first, runs.horizon
    used = first > 0
    yield (first[:, 0] == 1).all() and (used[:, :-1] >= used[:, 1:]).all(), "looks are wrong"
    yield (first <= T).all() and (np.diff(first, axis=1) > 0)[used[:, 1:]].all(), "looks are wrong"
    said, widths, tops, lows, gaps = np.moveaxis(runs.look_facts, 2, 0)
    room = _room(runs.look_facts)
    for values, sign in ((said, -1), (widths, -1), (tops, -1), (lows, 1)):
        rises = sign * np.diff(values, axis=1)[used[:, 1:]]
        yield not (rises < -room).any(), "what looks say becomes less certain"
    assert runs.empty_at is not None and runs.actions_left is not None
    withdrawn = used & (first >= runs.empty_at[:, None]) & (runs.empty_at[:, None] > 0)
    yield (np.isnan(said) == withdrawn).all(), "certificates are withdrawn otherwise"
    yield np.isfinite(runs.look_facts[:, :, 1:]).all() and (gaps >= 0.0).all(), "looks are wrong"
    yield max(runs.actions_dropped.max(), runs.empty_at.max()) <= T, "looks come too late"
    yield not (runs.actions_left & (runs.actions_dropped > 0)).any(), "a dropped action is left"
