"""F of elimination by betting: what sums may drift by at the next look."""

from __future__ import annotations

from uli_fast.formulas.betting_elimination import ELIMINATION
from uli_fast.guarantees import betting_looks
from uli_fast.guarantees.bounds import Bound, Constant

BOUNDS = {
    "BET": Bound(
        betting_looks.bound,
        (
            Constant(
                "2 c(n) / n", 2.0, "sums of a survivor and the best arm are off by less than c(n)"
            ),
            Constant("0.9 delta", ELIMINATION, "the other tenth is for intervals of single arms"),
            Constant("K - 1 + r", 1.0, "rounds of a sweep: the leader is played r times"),
        ),
        steps=betting_looks.steps,
        needs=betting_looks.NEEDED,
        formula="2 c(n) / n after n sweeps, c(n) of order sqrt(n log(K / delta))",
    )
}
