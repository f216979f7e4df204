"""Experiments from a file: problems by learners, run, resumed, grown and read back."""

from __future__ import annotations

from uli_fast.experiments.results import Results
from uli_fast.experiments.running import run
from uli_fast.experiments.study_file import StudyFile

__all__ = ["Results", "StudyFile", "run"]
