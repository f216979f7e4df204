"""Gap bounds of SE-MAB and PE-MAB from a history: slow, independent, from scratch.

A history is a list of (arm, outcome), outcomes on [0, 1] or None where they are missing, in the
order of the decisions, each of an arm that was active. An interval of any round holds for ever on
the event, so a mean lies in all of them; a best arm is active; a gap is that to another arm.
"""

import math


def from_intervals(intervals, active):
    """Return the largest gap that intervals, a list for each arm, leave to an active arm."""
    low = {a: max([0.0] + [lower for lower, _ in intervals[a]]) for a in active}
    high = {a: min([1.0] + [upper for _, upper in intervals[a]]) for a in active}
    worst = 0.0
    for a in active:
        for b in active:
            if a != b:
                worst = max(worst, high[b] - low[a])
    return worst


def first_missing(history):
    """Return the number of outcomes before the first that is missing."""
    for i, (_, x) in enumerate(history):
        if x is None:
            return i
    return len(history)


def successive(history, K, delta):
    seen = [[] for _ in range(K)]
    intervals = [[] for _ in range(K)]
    active = set(range(K))
    for t, (a, x) in enumerate(history, 1):
        seen[a].append(x)
        n, missing = len(seen[a]), sum(y is None for y in seen[a])
        mean = sum(y for y in seen[a] if y is not None) / n
        width = math.sqrt(math.log(4 * K * n * n / delta) / (2 * n))
        intervals[a].append((mean - width, mean + missing / n + width))
        if t > K:
            best = max(intervals[b][-1][0] for b in active)
            active = {b for b in active if intervals[b][-1][1] >= best}
    t = first_missing(history) + 1
    n = max(1, (t - 1) // K)
    F = 4 * math.sqrt(math.log(4 * K * n * n / delta) / (2 * n))
    return min(F, from_intervals(intervals, active)), active


def phased(history, K, delta):
    intervals = [[] for _ in range(K)]
    active, phase, used = list(range(K)), 0, 0
    while True:
        phase += 1
        m = math.ceil(2 ** (2 * phase + 1) * math.log(4 * K * phase**2 / delta))
        if used + m * len(active) > len(history):
            break
        now = history[used : used + m * len(active)]
        used += len(now)
        ends = {}
        for a in active:
            mine = [x for b, x in now if b == a]
            total, missing = sum(x for x in mine if x is not None), mine.count(None)
            ends[a] = total / m, (total + missing) / m
            w = 2.0 ** (-phase - 1)
            intervals[a].append((ends[a][0] - w, ends[a][1] + w))
        best = max(low for low, _ in ends.values())
        active = [a for a in active if best - ends[a][1] <= 2.0**-phase]
    t = first_missing(history) + 1
    phase, end = 0, 0
    while end < t:
        phase += 1
        end += K * math.ceil(2 ** (2 * phase + 1) * math.log(4 * K * phase**2 / delta))
    F = 4 * 2.0**-phase
    return min(F, from_intervals(intervals, active)), set(active)
