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
    """Return the names that ``load`` knows.

    Returns
    -------
    tuple of str
        ``uli.datasets.load`` takes each of them.

    Examples
    --------
    >>> import uli_fast as uli
    >>> "isis2" in uli.datasets.names()
    True
    """
    return tuple(_trials())


def info(name: str) -> dict[str, Any]:
    """Return title, source, licence, certainty, arms and counts of a dataset.

    Parameters
    ----------
    name
        One of ``names()``.

    Returns
    -------
    dict
        Everything that is known about it, as text and numbers.

    Examples
    --------
    >>> import uli_fast as uli
    >>> uli.datasets.info("isis2")["arms"]
    ['neither', 'aspirin', 'streptokinase', 'both']
    """
    _check.one_of("name", name, names())
    return dict(_trials()[name])


def load(name: str) -> BernoulliBandit:
    """Return the dataset as a problem; the reward is 1 - event rate.

    No causal reading is implied: these are realistic means to try learners on.

    Parameters
    ----------
    name
        One of ``names()``.

    Returns
    -------
    BernoulliBandit
        Its arms have the names of the trial's arms.

    Examples
    --------
    >>> import uli_fast as uli
    >>> trial = uli.datasets.load("isis2")
    >>> trial.names
    ('neither', 'aspirin', 'streptokinase', 'both')
    >>> print(trial.gaps.round(3))
    [0.052 0.027 0.024 0.   ]
    """
    entry = info(name)
    means = 1.0 - np.array(entry["events"]) / np.array(entry["patients"])
    return BernoulliBandit(means, names=entry["arms"])
