"""Optimistic learners that skip from the first round on, where a test is short."""

import functools

from uli_fast.kernels import kl_ucb
from uli_fast.kernels._jit import transient_kernel
from uli_fast.kernels.arms import optimistic_lanes


@functools.cache
def _lines():
    """Return kernels of KL-UCB's lines that are compiled with other constants, not kept on disk."""
    return [lean(function) for function in (kl_ucb.play_lines, kl_ucb.batch_lines)]


def lean(dispatcher):
    """Return a kernel to be compiled again, with its own flags."""
    again = transient_kernel(dispatcher.py_func)
    again.targetoptions.update(dispatcher.targetoptions)
    return again


def skip_at_once(monkeypatch):
    """Play no first rounds one by one, nor side by side."""
    monkeypatch.setattr(optimistic_lanes, "EARLY", 0)
    monkeypatch.setattr(kl_ucb, "EARLY", 0)
    play, batch = _lines()
    monkeypatch.setattr(kl_ucb, "play_lines", play)
    monkeypatch.setattr(kl_ucb, "batch_lines", batch)
