"""Experiments from a file: problems by learners, run, resumed, grown, merged and read back."""

from __future__ import annotations

from uli_fast.experiments.merging import merge
from uli_fast.experiments.results import Results
from uli_fast.experiments.running import run
from uli_fast.experiments.study_file import StudyFile

__all__ = ["Results", "StudyFile", "merge", "run"]
