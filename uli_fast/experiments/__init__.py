"""Experiments from a file: problems by learners, run, resumed, grown, merged and read back."""

from __future__ import annotations

from uli_fast.experiments.experiment_file import ExperimentFile
from uli_fast.experiments.merging import merge
from uli_fast.experiments.results import Results
from uli_fast.experiments.running import run

__all__ = ["ExperimentFile", "Results", "merge", "run"]
