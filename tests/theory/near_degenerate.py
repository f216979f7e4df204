"""Attempts to refute F and live certificates where floating point has least to hold on to.

``python -m tests.theory.near_degenerate 100000`` plays that many instances of every learner on
vectors and on sets: near-copies, arms almost in line, needles, scales from 1e-12 to 1e12, gaps far
above and far below the noise, equal means, any tuning; with noise and without. Truth is exact: gaps
are fractions, and roots have sixty digits. With ``5000 Cap 7 1000`` it plays 5000 of one learner,
by seed 7, from the thousandth on.
"""

import math
import sys
import warnings
from collections import Counter, defaultdict
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
from scipy.stats import binom

import uli_fast as uli
from uli_fast.arm_sets import as_arm_set
from uli_fast.errors import GuaranteeWarning, NoGuaranteeError
from uli_fast.geometry.designs import affine_coordinates
from uli_fast.players._assumptions import FLAT

getcontext().prec = 60
DELTAS = (1e-7, 1e-3, 0.05, 0.3, 0.9)


# The truth.


def inner(a, b):
    """Return <a, b> of floats, exactly."""
    return sum(
        (Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a, b, strict=True)), Fraction(0)
    )


def exact_gaps(theta, arms):
    """Return the gaps of listed arms, rounded once."""
    values = [inner(theta, arm) for arm in arms]
    return np.array([float(max(values) - x) for x in values])


def root(square):
    """Return the root of a fraction, to sixty digits."""
    return Fraction((Decimal(square.numerator) / Decimal(square.denominator)).sqrt())


def top(kind, theta, about):
    """Return the largest <theta, a> on a set."""
    if kind == "finite":
        return max(inner(theta, arm) for arm in about)
    if kind == "box":
        low, high = about
        ends = zip(theta, low, high, strict=True)
        return sum((max(inner([t], [x]), inner([t], [y])) for t, x, y in ends), Fraction(0))
    center, shape = about
    along = [inner(theta, column) for column in np.asarray(shape).T]
    return inner(theta, center) + root(sum((x * x for x in along), Fraction(0)))


# The instances.


def spread_out(rng, low, high):
    """Return a number that has any size in between."""
    return 10.0 ** rng.uniform(low, high)


def random_arms(rng):
    """Return arms of which some differ by little, along some directions or at all."""
    d, K = int(rng.integers(1, 5)), int(rng.integers(2, 9))
    arms = rng.standard_normal((K, d))
    for kind in rng.choice(7, size=int(rng.integers(1, 4)), replace=False).tolist():
        some = rng.random(K) < 0.6
        if kind == 0:  # near-copies of one
            moved = rng.standard_normal((K, d)) * 10.0 ** rng.uniform(-16, -1, (K, 1))
            arms = np.where(some[:, None], arms[0] + moved * np.abs(arms).max(), arms)
        elif kind == 1:  # almost in line
            off = rng.standard_normal((K, d)) * spread_out(rng, -12, -2)
            line = arms[0] + rng.standard_normal((K, 1)) * rng.standard_normal(d)
            arms = np.where(some[:, None], line + off, arms)
        elif kind == 2:  # needles along axes
            arms = arms * 10.0 ** rng.uniform(-12, 0, d)
        elif kind == 3:  # needles along any direction
            turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
            arms = (arms * 10.0 ** rng.uniform(-6, 0, d)) @ turn
        elif kind == 4:  # a cascade of scales
            arms = arms * 10.0 ** rng.uniform(-12, 0, (K, 1))
        elif kind == 5:  # whole numbers, with copies
            arms = np.round(2.0 * arms)
        else:  # far from the origin
            arms = arms + rng.standard_normal(d) * spread_out(rng, -2, 7)
    return arms * spread_out(rng, -12, 12)


def random_theta(rng, arms, size):
    """Return a slope under which the largest gap is ``size``: any, across thin ones, or none."""
    d = arms.shape[1]
    theta = rng.standard_normal(d)
    apart = arms - arms[0]
    largest = np.abs(apart).max()
    kind = int(rng.integers(4))
    if largest == 0.0 or (kind == 0 and rng.random() < 0.3):
        return np.zeros(d)
    if kind == 1:  # all of the gap is along what is thin
        theta = np.linalg.svd(apart / largest)[2][-1] + 1e-3 * theta * rng.integers(2)
    elif kind == 2:  # every direction shows as much
        sizes, axes = np.linalg.svd(apart / largest, full_matrices=False)[1:]
        theta = (theta[: len(axes)] / np.maximum(sizes, 1e-9 * sizes[0])) @ axes
    gap = exact_gaps(theta, arms).max()
    with np.errstate(all="ignore"):
        scaled = theta / gap * size if gap > 0.0 else np.zeros(d)
    return scaled if np.isfinite(scaled).all() else np.zeros(d)


def random_set(rng):
    """Return a set, what its exact largest values come from, and its largest norm."""
    d = int(rng.integers(1, 4))
    sizes = 10.0 ** (rng.uniform(-9, 0, d) if rng.random() < 0.7 else rng.uniform(-1, 0, d))
    sizes[int(rng.integers(d))] = 1.0
    scale = spread_out(rng, -12, 12)
    center = rng.standard_normal(d) * spread_out(rng, -3, 3) * (rng.random() < 0.5)
    kind = str(rng.choice(["ellipsoid", "turned", "ball", "box", "polytope", "finite"]))
    if kind == "finite":
        arms = random_arms(rng)
        return kind, as_arm_set(arms), arms
    if kind in ("box", "polytope"):
        low, high = scale * (center - sizes), scale * (center + sizes)
        if kind == "box":
            return "box", uli.arm_sets.Box(low, high), (low, high)
        rows = np.vstack([np.eye(d), -np.eye(d)])
        return "box", uli.arm_sets.Polytope(rows, np.concatenate([high, -low])), (low, high)
    if kind == "ball":
        return (
            kind,
            uli.arm_sets.Ball(d, scale, scale * center),
            (scale * center, scale * np.eye(d)),
        )
    turn = np.eye(d) if kind == "ellipsoid" else np.linalg.qr(rng.standard_normal((d, d)))[0]
    about = scale * center, scale * turn @ np.diag(sizes)
    return kind, uli.arm_sets.Ellipsoid(*about), about


# What is said of them, and whether it is true.


class Tally:
    """What came out of the instances of one learner."""

    def __init__(self):
        self.counts = Counter()
        self.failed = defaultdict(Counter)  # by delta, of noisy instances: of what is allowed
        self.false = []  # what no noise excuses

    def add(self, i, delta, noisy, said):
        """Count an instance; ``said`` has for each claim whether it is true, None if not made."""
        self.counts["instances"] += 1
        self.counts["noise-free"] += not noisy
        for claim, true in said.items():
            if true is None:
                self.counts[f"no {claim}"] += 1
                continue
            self.counts[claim] += 1
            if noisy:
                self.failed[delta][f"{claim} tried"] += 1
                self.failed[delta][claim] += not true
            elif not true:
                self.false.append((i, claim))

    def holds(self):
        """Return whether nothing was false but as often as chance may be, at 1 in 1000."""
        claims = {name for each in self.failed.values() for name in each if "tried" not in name}
        return not (self.false or self.counts["events false without noise"]) and all(
            each[claim] <= binom.ppf(1.0 - 1e-3 / (5 * len(claims)), each[f"{claim} tried"], delta)
            for delta, each in self.failed.items()
            for claim in claims
        )

    def __str__(self):
        rates = [
            f"{claim} {each[claim]}/{each[f'{claim} tried']} at delta {delta:g}"
            for delta, each in sorted(self.failed.items())
            for claim in sorted(each)
            if "tried" not in claim
        ]
        counts = ", ".join(f"{n:,} {name}" for name, n in sorted(self.counts.items()))
        false = f"{len(self.false)} false that no noise excuses {self.false[:20] or ''}"
        return f"{counts}; {false}; {'; '.join(rates)}"


def claims(rng):
    """Return delta, R, and the standard deviation of the noise: that of R, or nearly none."""
    R, noisy = spread_out(rng, -12, 12), bool(rng.integers(2))
    return float(rng.choice(DELTAS)), R, noisy, R if noisy else 1e-9 * R


def on_vectors(schedule, i, seed, tally):
    """Simulate an instance of LinearElimination, and play another one's blocks from outside."""
    rng = np.random.default_rng((seed, i, len(schedule)))
    arms = random_arms(rng)
    delta, R, noisy, sigma = claims(rng)
    theta = random_theta(rng, arms, R * spread_out(rng, -6, 12))
    norm = float(np.linalg.norm(theta)) * 1.001
    known = schedule == "paper" or bool(rng.random() < 0.8)
    about = norm or None if schedule == "paper" or rng.random() < 0.2 else None
    if schedule == "paper" and about is None:
        about = 1.0
    tuned, prior = np.random.default_rng((seed, i)), None
    if schedule == "sharp" and tuned.random() < 0.3:
        prior = R * spread_out(tuned, -3, 11)
    learner = uli.LinearElimination(delta, schedule, R, prior, about, known)
    problem = uli.LinearBandit(theta, arms, sigma=sigma)
    said = {"F": None, "live": None}
    try:
        promise = learner.guarantee(problem)
        T = int(spread_out(rng, 1, 12))
        runs = uli.simulate(learner, problem, T, seed=i, rounds=[T], progress=False)
        if runs.withdrawn is None or not runs.withdrawn.any():
            last = runs.last_play[0]
            at = last > 0
            gaps = exact_gaps([1.0], problem.means[:, None])  # those that rewards were drawn from
            said["F"] = bool((gaps[at] <= promise.bound(last[at])).all())
            if not said["F"] and runs.event_held[0]:
                tally.false.append((i, "F on the event"))
        else:
            tally.counts["F withdrawn"] += 1
        tally.counts["events false without noise"] += not noisy and not runs.event_held[0]
        said["live"] = live(rng, learner, arms, theta, sigma, tally)
    except NoGuaranteeError:
        tally.counts["refused"] += 1
    tally.add(i, delta, noisy, said)


def live(rng, learner, arms, theta, sigma, tally):
    """Tell a player the sums of its phases or blocks; say whether every certificate was true.

    None if it was not, and said to assume that flat directions show nothing, where they do.
    """
    player = learner.start(arms)
    player.certificate()  # which may be refused for these arms
    means = np.array([float(inner(theta, arm)) for arm in arms])
    gaps = exact_gaps(theta, arms)
    player.tally.largest[0] = np.abs(means).max() + 10.0 * sigma
    active, claims = player.arm_state.active, 0
    for _ in range(int(rng.integers(1, 250 if learner.schedule == "sharp" else 20))):
        n = player._phases.quotas().copy()
        if active.sum() == 1 or n.sum(dtype=float) > 1e15:
            break
        player.memory.sums[:] = n * means + np.sqrt(n) * sigma * rng.standard_normal(len(arms))
        player._close()  # and what a player does when the last outcome has come
        player._narrow()
        certified = player.memory.certified
        certified[0] = min(certified[0], player._realised())
        player.memory.closed[0] += n.sum()
        try:
            said = player.certificate()
        except NoGuaranteeError:
            continue
        claims += 1
        if gaps[active].max() > said.bound:
            if FLAT not in said.assumes or uneven(arms, means) <= 2.5e-9 * gaps.max():
                return False
            tally.counts["false as an assumption is"] += 1
            return None
    return True if claims else None


def uneven(arms, means):
    """Return how far means are from a plane over the arms."""
    Z = affine_coordinates(arms).coordinates
    affine = np.column_stack([np.ones(len(Z)), Z])
    return np.abs(means - affine @ np.linalg.lstsq(affine, means, rcond=None)[0]).max()


def on_sets(name, i, seed, tally):
    """Play the phases of an instance on a set, and hold F and certificates against the truth."""
    rng = np.random.default_rng((seed, i, 100 + len(name)))
    kind, region, about = random_set(rng)
    while name == "caps" and kind not in ("ellipsoid", "turned", "ball"):
        kind, region, about = random_set(rng)
    delta, R, noisy, sigma = claims(rng)
    theta = rng.standard_normal(region.dimension)
    largest = region.largest_norm() or 1.0
    theta *= R * spread_out(rng, -6, 9) / (np.linalg.norm(theta) * largest)
    theta *= rng.random() > 0.05
    norm = float(np.linalg.norm(theta)) * 1.001 or R / largest
    if name == "caps":
        learner = uli.CapElimination(delta, R, norm if rng.integers(2) else None)
    else:
        C = float(rng.choice([1.05, 1.2, 2.0]))
        learner = uli.SpannerElimination(delta, C, name, "soft", R, norm)
    said = {"F": None, "live": None}
    try:
        known = learner.resolved((None, None))
        if name == "caps":
            phases, promise = (
                uli_caps(known, region),
                known.promise(region.ball_map(), R, (None, None)),
            )
        else:
            phases, promise = known.phases(region), known.guarantee(region)
        said |= followed(rng, phases, promise, top(kind, theta, about), theta, sigma, tally)
    except NoGuaranteeError:
        tally.counts["refused"] += 1
    tally.add(i, delta, noisy, said)


def uli_caps(learner, region):
    """Return the phases of caps."""
    from uli_fast.learners.cap_elimination import CapPhases

    return CapPhases(learner, region)


def followed(rng, phases, promise, best, theta, sigma, tally):
    """Play phases to a horizon; say whether F and the bound of every phase were true."""
    t, T, said = 0, spread_out(rng, 2, 12), {"F": True, "live": True}
    unit = getattr(phases, "scale", 1.0)
    while t < T:
        arms, n, _ = phases.open()
        values = [inner(theta, arm) for arm in arms]
        gap = max(float(best - x) for x in values)
        last = t + n * len(arms)
        if gap > phases.gap * unit:
            said["live"] = False
        if not phases.in_time and said["F"]:
            tally.counts["F withdrawn"] += 1
            said["F"] = None
        for a, x in enumerate(values):  # the last round of each
            if said["F"] and float(best - x) > promise.bound(min(t + n * (a + 1), int(T))):
                said["F"] = False
            if t + n * (a + 1) >= T:
                break
        t = last
        means = np.array([float(x) for x in values])
        means += sigma / math.sqrt(n) * rng.standard_normal(len(arms))
        phases.close(arms, n, means)
    return said


LEARNERS = {
    "LinearElimination": lambda *a: on_vectors("sharp", *a),
    "LinearElimination, paper": lambda *a: on_vectors("paper", *a),
    "SpannerElimination": lambda *a: on_sets("sharp", *a),
    "SpannerElimination, paper": lambda *a: on_sets("paper", *a),
    "CapElimination": lambda *a: on_sets("caps", *a),
}


def tried(name, n, seed=0, first=0):
    """Return what came out of n instances of a learner."""
    tally = Tally()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GuaranteeWarning)
        for i in range(first, first + n):
            LEARNERS[name](i, seed, tally)
    return tally


def summary(tallies):
    """Say of all learners how much was tried, what was false, and how near it came to delta."""
    counts = sum((tally.counts for tally in tallies), Counter())
    false = sum(len(tally.false) for tally in tallies)
    rates = [
        (each[claim], each[f"{claim} tried"], delta, claim)
        for tally in tallies
        for delta, each in tally.failed.items()
        for claim in each
        if "tried" not in claim
    ]
    failed, of, delta, claim = max(rates, key=lambda rate: rate[0] / rate[1] / rate[2])
    return (
        f"{counts['instances']:,} instances of {len(tallies)} learners, {counts['F']:,} F and "
        f"{counts['live']:,} certificates: {false} false without noise; with it, nearest to what "
        f"delta allows: {claim} in {failed:,} of {of:,} at delta {delta:g}"
    )


def main(n="1000", only="", seed="0", first="0"):
    """Play the campaign; print what came out."""
    tallies = []
    for name in LEARNERS:
        if only in name:
            tallies.append(tried(name, int(n), int(seed), int(first)))
            held = "holds" if tallies[-1].holds() else "FAILS"
            print(f"{name}: {held}: {tallies[-1]}", flush=True)
    print(summary(tallies))
    return int(not all(tally.holds() for tally in tallies))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
