"""Arm sets: the optimisation oracle that learners on infinitely many arms rely on.

Every set answers one question, what is max <u, a> over the arms a of the set with
U a = b1 and V a <= b2, by ``maximize(u, eq=(U, b1), le=(V, b2))``, which returns a
point and an upper bound on the maximum. ``restrict(eq, le)`` prepares the
constraints once for many u.

No solver's word is taken for an answer: each is checked for feasibility and against
a bound from dual multipliers before it is used. One that fails goes to the next
back end, and if all fail the error says on which set.
"""

from uli_fast._registry import ARM_SETS
from uli_fast.arm_sets._chain import Restricted as Restricted
from uli_fast.arm_sets._set import ArmSet as ArmSet
from uli_fast.arm_sets.convex import Convex as Convex
from uli_fast.arm_sets.finite import Finite as Finite
from uli_fast.arm_sets.own import as_arm_set as as_arm_set
from uli_fast.arm_sets.polyhedral import Box as Box
from uli_fast.arm_sets.polyhedral import L1Ball as L1Ball
from uli_fast.arm_sets.polyhedral import Polytope as Polytope
from uli_fast.arm_sets.polyhedral import Simplex as Simplex
from uli_fast.arm_sets.round import Ball as Ball
from uli_fast.arm_sets.round import Ellipsoid as Ellipsoid

__all__ = ["ArmSet", "Restricted", "as_arm_set", *(row.name for row in ARM_SETS)]
