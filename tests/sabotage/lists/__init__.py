"""The sabotages, topic by topic."""

from tests.sabotage.lists import (
    adversarial,
    arms,
    betting,
    draws,
    experiments,
    guarantees,
    linear,
    model_bounds,
    models,
    older,
    planning,
    players,
    policies,
    race,
    replay,
    results,
    rewards,
    study,
    verify,
)

TOPICS = {
    topic.__name__.rpartition(".")[2]: topic.SABOTAGES
    for topic in (
        arms,
        rewards,
        draws,
        betting,
        adversarial,
        linear,
        policies,
        model_bounds,
        models,
        guarantees,
        verify,
        players,
        older,
        study,
        race,
        replay,
        planning,
        experiments,
        results,
    )
}
SABOTAGES = tuple(s for topic in TOPICS.values() for s in topic)

# One or two of every kind, for the campaign in docs/reliability.md.
NAMED = (
    "SE width x 0.8",
    "SE width without its log s",
    "SE tests the first sweep",
    "SE skips a fifth too far",
    "PE quota halved",
    "PE drops an arm exactly 2^-l behind (>= for >)",
    "UCB ties go to the largest index (>= for >)",
    "UCB bonus without log t",
    "lil'UCB bonus without log log",
    "optimistic blocks forget that the leader may lose",
    "blocks below the ceiling are accepted unseen",
    "a replication's stream depends on the seed alone",
    "F of SE with 13 for 14",
    "a live phase closes on the first arrivals",
    "meta eliminates beyond 70 for 7",
    "Exp3.P bonus for the played arm alone",
    "GeometricHedge without bonus",
    "PE-linear eliminates beyond 2^-l for 2^(1-l)",
    "the spanner's box is dropped",
    "an exchange forgets the determinant",
    "policy bonus x 0.8",
    "policy phases half as precise",
    "missing: SE does not widen",
    "study: the chain is not checked",
    "study: an event is committed when the next one begins",
)
