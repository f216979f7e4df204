"""Real instances: arm means of published trials, with their sources."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from uli_fast import _check
from uli_fast.problems.arms import BernoulliBandit


@cache
def _trials() -> dict[str, Any]:
    text = files("uli_fast.problems").joinpath("data/trials.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def names() -> tuple[str, ...]:
    """Return the names that ``load`` knows."""
    return tuple(_trials())


def info(name: str) -> dict[str, Any]:
    """Return title, source, licence, certainty, arms and counts of a dataset."""
    _check.one_of("name", name, names())
    return dict(_trials()[name])


def load(name: str) -> BernoulliBandit:
    """Return the dataset as a problem; the reward is 1 - event rate."""
    entry = info(name)
    means = 1.0 - np.array(entry["events"]) / np.array(entry["patients"])
    return BernoulliBandit(means, names=entry["arms"])
