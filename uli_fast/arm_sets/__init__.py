"""Arm sets: the optimisation oracle that learners on infinitely many arms rely on.

Every set answers one question, what is max <u, a> over the arms a of the set with
U a = b1 and V a <= b2, by ``maximize(u, eq=(U, b1), le=(V, b2))``, which returns a
point and an upper bound on the maximum. ``restrict(eq, le)`` prepares the
constraints once for many u.

No solver's word is taken for an answer: each is checked for feasibility and against
a bound from dual multipliers before it is used. One that fails goes to the next
back end, and if all fail the error says on which set.
"""

from uli_fast.arm_sets._chain import Restricted
from uli_fast.arm_sets._set import ArmSet
from uli_fast.arm_sets.convex import Convex
from uli_fast.arm_sets.finite import Finite
from uli_fast.arm_sets.own import as_arm_set
from uli_fast.arm_sets.polyhedral import Box, L1Ball, Polytope, Simplex
from uli_fast.arm_sets.round import Ball, Ellipsoid

__all__ = [
    "ArmSet",
    "Ball",
    "Box",
    "Convex",
    "Ellipsoid",
    "Finite",
    "L1Ball",
    "Polytope",
    "Restricted",
    "Simplex",
    "as_arm_set",
]
