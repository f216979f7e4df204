"""Algorithm 1, straight from the page, with the least played arm as its choice."""


def play(total, K, T, rule):
    """Play T rounds; rule(n, sums, active, t) is the list of arms kept before round t."""
    n = [0] * K
    last = [0] * K
    sums = [0.0] * K
    eliminated = [0] * K
    active = list(range(K))
    arms = []
    for t in range(1, T + 1):
        if t > K:
            keep = rule(n, sums, active, t)
            for a in active:
                if a not in keep:
                    eliminated[a] = t - 1
            active = [a for a in active if a in keep]
        a = min(active, key=lambda b: (n[b], b))
        n[a] += 1
        sums[a] = total(a, n[a])
        last[a] = t
        arms.append(a)
    return {"arms": arms, "n": n, "last": last, "eliminated": eliminated}
