"""A study's log as SQLite writes it, judged independently: whole, torn at its end, or damaged.

A log (sqlite.org/fileformat2.html, section 4) has a header and frames, each a page and the sums
of everything up to it. SQLite reads it up to the first frame that is not right and passes over
the rest without a word, and over the whole log if its header is not right. After a crash that is
what should happen: it tears the last transaction, which nobody was told of. After a flipped bit
it would lose all that follows.

What follows tells the two apart. A transaction begins when the one before is on the disk: if
there is a frame of this log beyond the transaction of the first bad one, that one was on the
disk and is damaged. A frame is of this log if it has the salts of its header; frames left over
from before SQLite restarted the log have others.
"""

from __future__ import annotations

import os
from typing import BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

HEADER, FRAME = 32, 24  # bytes before the first frame, and before the page in each
MAGIC = 0x377F0682  # plus one if the sums are of big-endian words
BLOCK = 2**22  # bytes read at once
U32 = npt.NDArray[np.uint32]


class Frames(NamedTuple):
    """What the heads of the frames say, in order, and how their sums depend on them."""

    page: U32  # (n,) its number
    size: U32  # (n,) pages of the file, if the frame ends a transaction; else 0
    salts: U32  # (n, 2)
    sums: U32  # (n, 2)
    due: U32  # (n, 2) the sums it should have after those of the frame before
    of_size: U32  # (2,) what the size, as a word of the sums, counts in them


def damage(log: str) -> str:
    """Say what is damaged in a log; nothing if it is whole, empty, or torn at its end."""
    if os.path.getsize(log) <= HEADER:
        return ""  # the header is on the disk before the first frame is written
    found = _frames(log)
    return "its header is not what was written" if found is None else _judged(*found)


def pages_committed(log: str) -> int:
    """Return the pages of the file after the last transaction of a log; 0 if there is none."""
    found = _frames(log)
    if found is None:
        return 0
    frames, salts = found
    taken = np.logical_and.accumulate(_right(frames, salts))
    sizes = frames.size[taken & (frames.size != 0)]
    return int(sizes[-1]) if sizes.size else 0


def _frames(log: str) -> tuple[Frames, U32] | None:
    """Read the frames and the salts they should have; None if the header is not right."""
    with open(log, "rb") as file:
        head = file.read(HEADER)
        if len(head) < HEADER:
            return None
        words = np.frombuffer(head, ">u4").astype(np.uint32)
        order = ">u4" if words[0] & 1 else "<u4"
        content = np.frombuffer(head[:24], order).astype(np.uint32)
        known = int(words[0]) & ~1 == MAGIC and _power_of_two(int(words[2]))
        if not known or not np.array_equal(content @ _weights(3), words[6:]):
            return None
        return _read(file, int(words[2]), order, words[6:]), words[4:6]


def _right(frames: Frames, salts: U32) -> npt.NDArray[np.bool_]:
    """Return which frames SQLite would take, if it has taken those before."""
    ours, chained = (frames.salts == salts).all(1), (frames.sums == frames.due).all(1)
    right: npt.NDArray[np.bool_] = ours & chained & (frames.page != 0)
    return right


def _judged(frames: Frames, salts: U32) -> str:
    """Look beyond the transaction of the first frame that is not right."""
    right = _right(frames, salts)
    if right.all():
        return ""
    bad = int(right.argmin())
    ours, chained = (frames.salts == salts).all(1), (frames.sums == frames.due).all(1)
    later = bad + 1 + np.flatnonzero(ours[bad + 1 :])
    ends = later[frames.size[later] != 0]
    end = int(ends[0]) if ends.size else len(right)
    if (ours[bad] or chained[bad]) and (frames.size[bad] or _size_was_lost(frames, bad)):
        end = bad  # what ended with it cannot be the transaction of what follows
    lost = int((later > end).sum())
    return f"frame {bad + 1} is not what was written, and {lost} later ones are" if lost else ""


def _size_was_lost(frames: Frames, bad: int) -> bool:
    """Return whether a frame would be right if a bit of its size had not become 0."""
    bits = np.left_shift(np.uint32(1), np.arange(32, dtype=np.uint32))
    missing = frames.sums[bad] - frames.due[bad]
    return bool((bits[:, None] * frames.of_size == missing).all(1).any())


def _read(file: BinaryIO, page: int, order: str, before: U32) -> Frames:
    """Read the heads of all whole frames, and compute what each does to the sums."""
    weights = _weights(page // 8 + 1)  # of the first two words of a head, and of the page
    heads, own, length = [np.zeros((0, 6), np.uint32)], [np.zeros((0, 2), np.uint32)], FRAME + page
    while block := file.read(max(1, BLOCK // length) * length):
        whole = len(block) // length
        rows = np.frombuffer(block, np.uint8, whole * length).reshape(whole, length)
        heads.append(rows[:, :FRAME].copy().view(">u4").astype(np.uint32))
        content = np.concatenate((rows[:, :8], rows[:, FRAME:]), axis=1)
        own.append(content.view(order).astype(np.uint32) @ weights)
    head = np.concatenate(heads)
    sums = head[:, 4:]
    start = np.concatenate((before[None], sums[:-1]))[: len(sums)]
    due = start @ _step(page // 8 + 1).T + np.concatenate(own)
    return Frames(head[:, 0], head[:, 1], head[:, 2:4], sums, due, weights[1])


# The sums of words x_0 y_0 x_1 y_1 ... modulo 2^32: s += x_i + t, then t += y_i + s. That is
# linear: (s, t) becomes A (s, t) + B (x_i, y_i), with these matrices.
A = np.array([[1, 1], [1, 2]], np.uint32)
B = np.array([[1, 0], [1, 1]], np.uint32)


def _step(pairs: int) -> U32:
    """Return what this many pairs of words make of the sums before them."""
    power = np.eye(2, dtype=np.uint32)
    for _ in range(pairs):
        power = A @ power
    return power


def _weights(pairs: int) -> U32:
    """Return what each of this many pairs of words counts in the sums, a row for every word."""
    found, power = [], B
    for _ in range(pairs):
        found.append(power.T)
        power = A @ power
    return np.concatenate(found[::-1])


def _power_of_two(page: int) -> bool:
    return 512 <= page <= 65536 and page & (page - 1) == 0
