"""A trial of treatments in two stages, live: treat, look at the response, treat again.

    python examples/two_stage_treatment.py

Nobody knows how patients respond. A rule says what to give whom: at first to the moderately and to
the severely ill, and then to those who have and have not responded. One rule is for a whole block
of patients, who are treated side by side; their responses are told when the block is over, in
whatever order. The rates are invented. It takes some seconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import uli_fast as uli

PATIENTS = 60_000
TREATMENTS = ("drug", "psychotherapy", "both")
PEOPLE = {
    (0, 0): "moderately ill, at first",
    (0, 1): "severely ill, at first",
    (1, 0): "moderately ill, no response",
    (1, 1): "severely ill, no response",
    (1, 2): "moderately ill, responded",
    (1, 3): "severely ill, responded",
}
WORLD = uli.mdps.two_stage_treatment().restricted().with_known_structure()


def treat(rule: Any, rng: np.random.Generator) -> tuple[list[int], list[int]]:
    """Simulate the world: the states and treatments of one patient."""
    states, given = [int(rng.choice(4, p=WORLD.initial))], []
    for stage in range(3):
        given.append(int(rule[stage, states[-1]]))
        states.append(int(rng.choice(4, p=WORLD.transitions[stage, states[-1], given[-1]])))
    return states, given


def main(patients: int = PATIENTS) -> None:
    """Treat block after block, and say what is certain when."""
    trial = uli.ModelElimination(delta=0.1).start(
        WORLD.rewards,
        initial_support=[0, 1],  # nobody is well at first
        low=WORLD.low,
        high=WORLD.high,
        decision_points=WORLD.decision_points,
        successors=WORLD.successors,  # who was severely ill is never taken for moderately ill
    )
    rng, seen, blocks, shown = np.random.default_rng(1), 0, 0, 100
    print("patients  blocks  rules left  all within  the best one is worth")
    while seen < patients:
        room = patients if trial.room is None else trial.room  # None: nothing is left to decide
        block = trial.ask(min(room, patients - seen))
        for i in rng.permutation(len(block)):  # they come back in any order
            trial.tell(block[i].id, *treat(block[i].policy, rng))
        seen, blocks = seen + len(block), blocks + 1
        if seen >= min(shown, patients):
            said, (low, high) = trial.certificate(), trial.intervals()["best policy"]
            counts = f"{seen:8}  {blocks:6}  {said.active:10}"
            print(f"{counts}  {said.bound:10.3f}  {low:.3f} to {high:.3f}")
            shown *= 3
    print("\nTreatments that may be best; * has the rule that is surely worth most:")
    rule = trial.recommend()
    for (stage, state), who in PEOPLE.items():
        left = [
            name + "*" * bool(rule[stage, state] == a)
            for a, name in enumerate(TREATMENTS)
            if trial.active[stage, state, a]
        ]
        print(f"  {who:28} {', '.join(left)}")
    print(f"That rule is worth {WORLD.value(rule):.4f}, the best one {WORLD.optimal_value:.4f}.")
    print("With probability 0.9 none of this is wrong, if")
    for assumed in trial.certificate().assumes:
        print(f"- {assumed}")


if __name__ == "__main__":
    main()
