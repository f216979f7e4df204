"""What certificates rest on: one short sentence for everything that outcomes cannot confirm.

Azuma's inequality asks for conditional means only, so no proof here needs independent outcomes:
what they need is stated for an outcome given all decisions before its own and their outcomes.
"""

from __future__ import annotations

import math
from typing import Any

from uli_fast.guarantees import WITHDRAWN

# Outcomes that are awaited together count as earlier ones too: they could be copies of each other.
GIVEN = "given all earlier decisions and their outcomes, told or not,"
MEANS = f"{GIVEN} an outcome of an arm has that arm's mean, which never changes"
ORDER = (
    f"{GIVEN} an outcome of an arm has that arm's mean of its sweep or block, and one arm is a "
    "best one in every sweep; no means that never change fit the outcomes, so that bounds are of "
    "gaps averaged over the sweeps so far"
)
BLOCKS = (
    "how often an arm is played in a block was fixed after everything before was told, and before "
    "an outcome of the block was known; only then its plays were made; no block was left out or "
    "put in order by outcomes, and what made an outcome missing knew none of a later block"
)
MISSING = (
    "what is assumed of outcomes holds for missing ones too, had they been told, "
    "whatever made them missing"
)
AHEAD = "no outcome is called missing because of those of decisions asked for beyond its block"
ROWS = "no row was chosen, left out or put in order by its own outcome or by a later one"
CLAIMED_RULE = (
    "the rule keeps a best arm and, before every round t, no arm with a gap above "
    "beta f(delta, t): a claim that is not checked"
)
CLAIMED_BASE = (
    "the base keeps the Condition with its g, which is never larger for fewer arms: "
    "a claim that is not checked"
)
ORACLE = "the oracle of the arm set returns no bound below the value of an arm"
LARGEST = "no arm of the set is longer than its largest_norm() says"
FIRST_STATES = "whatever came before, the first state of an episode follows one law"
NEXT_STATES = "whatever came before, the next state follows one law of stage, state and action"
KNOWN_REWARDS = "a stage earns the reward that was given for its state and action"
SUPPORT = "episodes begin nowhere but in the states of initial_support"
SUCCESSORS = "no state follows but those that successors allows"
ONE_LAW = "the law of next states is the same at every stage"
FLAT = (
    "theta does not show along directions in which arms differ by no more than rounding of "
    "their size could make"
)
NO_F = f"F is not claimed: {WITHDRAWN}"
DRAWN = "whatever came before, actions are drawn by the probabilities of the policy"
POINTS = "where decision_points is False no episode passes, or all actions do the same"


def of_arms(player: Any, linear: bool) -> tuple[str, ...]:
    """Return what is assumed about the outcomes of K arms."""
    found = [MEANS, of_spread(player)]
    if linear:
        found.append(of_slope(player.intercept, player.learner))
    if player.lost:
        found.append(MISSING)
        if linear:
            found.append(AHEAD)
    if player.withdrawn:
        found.append(NO_F)
    return tuple(found)


def of_sweeps(player: Any) -> tuple[str, ...]:
    """Return what is assumed about the outcomes of K arms that are played in sweeps."""
    found = [ORDER if player.contradicted else MEANS, of_spread(player)]
    if player.blocks:
        found.append(BLOCKS)
    if player.lost:
        found.append(MISSING)
    return tuple(found)


def of_spread(player: Any) -> str:
    """Return how far outcomes may be from their means."""
    if math.isfinite(player.low):
        return f"outcomes lie in [{player.low:g}, {player.high:g}]"
    sigma = getattr(player.learner, "sigma", None)
    if sigma is not None:
        return (
            f"{GIVEN} an outcome is symmetric around its mean and "
            f"sigma-subgaussian with sigma = {sigma:g}"
        )
    R = _noise(player)
    return f"{GIVEN} an outcome is R-subgaussian around its mean with R = {R:g}"


def of_slope(intercept: float, learner: Any) -> str:
    """Return in what way means are linear in arms that are vectors."""
    at = f"{intercept:g} + " if intercept else ""
    if getattr(getattr(learner, "base", None), "losses", "linear") == "centred":
        return "the mean of an arm a is c + <a, theta> for some c and theta"
    if getattr(learner, "sigma", None) is not None:
        return f"the mean of an arm a is {at}<a, theta>, with |<a, theta>| at most 1"
    norm = getattr(learner, "theta_norm", None)
    size = "" if norm is None else f", with a theta of norm at most {norm:g}"
    if getattr(learner, "any_intercept", False) or not getattr(learner, "known_intercept", True):
        return f"the mean of an arm a is c + <a, theta> for some c and theta{size}"
    return f"the mean of an arm a is {at}<a, theta>{size}"


def of_set(player: Any, region: Any) -> tuple[str, ...]:
    """Return what is assumed where arms are the points of a set."""
    found = [MEANS, of_spread(player), of_slope(player.intercept, player.learner)]
    if not region.proves:
        found.append(ORACLE)
    if region.own:
        found.append(LARGEST)
    if player.lost:
        found.append(MISSING)
    if player.withdrawn:
        found.append(NO_F)
    return tuple(found)


def of_episodes(supported: bool, masked: bool) -> tuple[str, ...]:
    """Return what is assumed about episodes, some states or choices being left out."""
    found = (FIRST_STATES, NEXT_STATES, KNOWN_REWARDS)
    return found + (SUPPORT,) * supported + (POINTS,) * masked


def of_models(player: Any, supported: bool, masked: bool) -> tuple[str, ...]:
    """Return what is assumed about episodes that are learned from by boxes of models."""
    found = of_episodes(supported, masked)
    if player.known.successors is not None:
        found += (SUCCESSORS,)
    if player.learner.pooled:
        found += (ONE_LAW,)
    return (*found, DRAWN) if player.learner.play == "stochastic" else found


def _noise(player: Any) -> float:
    """Return the R of outcomes without a range, in reward units."""
    return float(player.learner.R)
