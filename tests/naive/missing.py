"""SE-MAB and PE-MAB with outcomes that never come: slow, independent, round by round.

``outcome(a, i)`` is the i-th outcome of arm a on [0, 1], None where it is missing. A missing one
may have been anything: the mean of n plays with sum S and m missing lies in [S / n, (S + m) / n].
``complete_case`` leaves missing outcomes out instead, which is what must not be done.
"""

import math


def ends(outcomes, complete_case):
    """Return the lowest and the highest mean that a list of outcomes allows."""
    known = [x for x in outcomes if x is not None]
    if complete_case:
        return (sum(known) / max(1, len(known)),) * 2
    return sum(known) / len(outcomes), (sum(known) + len(outcomes) - len(known)) / len(outcomes)


def successive(outcome, K, T, delta, complete_case=False):
    seen = [[] for _ in range(K)]
    active, arms = set(range(K)), []

    def wd(s):
        return math.sqrt(math.log(4 * K * s * s / delta) / (2 * s))

    for t in range(1, T + 1):
        a = t - 1 if t <= K else min(active, key=lambda b: (len(seen[b]), b))
        seen[a].append(outcome(a, len(seen[a])))
        arms.append(a)
        if t > K:
            low, high = {}, {}
            for b in active:
                lowest, highest = ends(seen[b], complete_case)
                low[b], high[b] = lowest - wd(len(seen[b])), highest + wd(len(seen[b]))
            active = {b for b in active if high[b] >= max(low.values())}
    return arms, active


def phased(outcome, K, T, delta, complete_case=False):
    seen = [0] * K
    active, arms, phase = list(range(K)), [], 0
    while len(arms) < T:
        phase += 1
        m = math.ceil(2 ** (2 * phase + 1) * math.log(4 * K * phase**2 / delta))
        between = {}
        for a in active:
            mine = [outcome(a, seen[a] + i) for i in range(m)]
            seen[a] += m
            arms += [a] * m
            between[a] = ends(mine, complete_case)
        if len(arms) <= T:
            best = max(low for low, _ in between.values())
            active = [a for a in active if best - between[a][1] <= 2.0**-phase]
    return arms[:T], set(active)
