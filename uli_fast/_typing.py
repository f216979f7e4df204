"""Aliases used throughout the package: arrays, and words that are options."""

from __future__ import annotations

import os
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

F64: TypeAlias = NDArray[np.float64]
U64: TypeAlias = NDArray[np.uint64]
I64: TypeAlias = NDArray[np.int64]
I32: TypeAlias = NDArray[np.int32]
I8: TypeAlias = NDArray[np.int8]
B1: TypeAlias = NDArray[np.bool_]
# Reward sums: int64 for Bernoulli arms (exact to 10**18), float64 otherwise.
Total: TypeAlias = NDArray[Any]

AnyPath: TypeAlias = str | os.PathLike[str] | None

Played: TypeAlias = Literal["skip", "rounds"]
Engine: TypeAlias = Literal["auto", "skip", "rounds"]  # "auto" becomes one of the others
MetaMode: TypeAlias = Literal["paper", "sharp"]
# A bound from the schedule itself, or the closed form of the paper.
Form: TypeAlias = Literal["schedule", "paper"]
SpannerSchedule: TypeAlias = Literal["sharp", "paper"]
SpannerMode: TypeAlias = Literal["soft", "paper"]
Schedule: TypeAlias = Literal["proved", "sharp"]
LinearSchedule: TypeAlias = Literal["sharp", "paper"]
Play: TypeAlias = Literal["deterministic", "stochastic"]
Method: TypeAlias = Literal["auto", "plain", "trie", "search"]
Drawing: TypeAlias = Literal["gap", "regret", "certificate", "actions"]
PlanDrawing: TypeAlias = Literal["dropping", "inferior"]
Assignment: TypeAlias = Literal["any", "randomized"]  # how the arms of a log came about
About: TypeAlias = Literal["list", "population"]  # whose averages a race compares
Stopped: TypeAlias = Literal["one left", "all left within eps", "no instances left"]
