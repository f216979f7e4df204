"""F of model elimination, for its two ways to play."""

from __future__ import annotations

import math
from functools import partial

from uli_fast.formulas.model_elimination import BOXES
from uli_fast.guarantees import model_boxes
from uli_fast.guarantees.bounds import Bound, Constant

_SHARED = (
    Constant("0.9 delta", BOXES, "boxes; a tenth is for visits (docs/proofs_models.md)"),
    Constant("w(S)", math.sqrt(0.5), "min(1.932 sqrt(S), S / sqrt(2)): half a row's widths"),
    Constant("1.02", model_boxes.REFRESHED, "boxes are renewed when visits have grown by this"),
)


def _bound(play: str, loss: Constant, formula: str = "") -> Bound:
    at = partial(model_boxes.bound, play)
    return Bound(at, (loss, *_SHARED), kinks=True, formula=formula)


BOUNDS = {
    "MODEL-deterministic": _bound(
        "deterministic",
        Constant("H W", 1.0, "each stage but the last loses at most a width, and all one more"),
        "H W, of order sqrt(log(t) / t), and a certificate at every look",
    ),
    "MODEL-stochastic": _bound(
        "stochastic",
        Constant("2 W", 2.0, "a policy's value, and the best one, are known up to W each"),
    ),
}
