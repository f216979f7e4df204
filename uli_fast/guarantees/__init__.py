"""What is proved about learners: F_ULI(delta, t) and what it needs to know.

Formulas and tables of F live here, below the learners, which name one and give its parameters.
"""

from uli_fast.guarantees.bounds import FORMS, formula
from uli_fast.guarantees.guarantee import WITHDRAWN, Guarantee, confidence, ratio_by_round
from uli_fast.guarantees.model_boxes import ModelSize, describe_model, model_size
from uli_fast.problems.arms_info import ROUNDING, ArmsInfo, read_arms

__all__ = [
    "FORMS",
    "ROUNDING",
    "WITHDRAWN",
    "ArmsInfo",
    "Guarantee",
    "ModelSize",
    "confidence",
    "describe_model",
    "formula",
    "model_size",
    "ratio_by_round",
    "read_arms",
]
