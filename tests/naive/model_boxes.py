"""F of model elimination, straight from the page: stage by stage, a number at a time.

docs/proofs_models.md, Theorem 2. ``unknown`` walks through the masks; ``gap_bound`` adds up.
"""

import math


def unknown(points, A, successors=None, first=None, pooled=False):
    """Return M, R, the most unknown rows of a stage, their most successors, and S_0.

    points[h][s], successors[h][s][a][k] and first[s] are True or False; stages are 0..H-1.
    """
    H, S = len(points), len(points[0])

    def possible(h, s, a):
        if successors is None:
            return set(range(S))
        stages = range(H - 1) if pooled else [h]
        return {k for k in range(S) if all(successors[j][s][a][k] for j in stages)}

    here = {s for s in range(S) if first is None or first[s]}
    S_0 = len(here)
    found = []  # (stage, state, action, successors) of rows that can be visited
    for h in range(H - 1):
        there = set()
        for s in here:
            for a in range(A) if points[h][s] else [0]:
                found.append((h, s, a, possible(h, s, a)))
                there |= possible(h, s, a)
        here = there
    rows = [(h, s, a, len(after)) for h, s, a, after in found if len(after) > 1]
    counted = {(s, a) if pooled else (h, s, a): m for h, s, a, m in rows}
    entries = sum(1 if m == 2 else m for m in [*counted.values(), S_0] if m > 1)
    by_stage = [sum(1 for row in rows if row[0] == h) for h in range(H)]
    successor_count = max((len(after) for _, _, _, after in found), default=1)
    return entries, len(rows) + (S_0 > 1), max(by_stage), successor_count, S_0


def gap_bound(t, play, delta, H, M, R, n, m, S_0, eta, n0, pooled):
    """Return F(t), n rows at a stage with m successors each."""
    clipped = play == "deterministic"
    rest = 1e-12 * H * H if clipped else 1e-9 * H  # what rounding leaves open
    if H == 1:
        return rest
    lam = math.log(2 * math.sqrt((H - 1) * t if pooled else t) * max(1, M) / (0.9 * delta))
    candidates = []
    for j in range(5):
        theta = 2.0**-j
        kappa = (1 - math.exp(-theta)) / theta
        ell = math.log(5 * max(1, R) / (0.1 * delta)) / theta + kappa * n0
        lag = 1.02 * (1 + eta * kappa)

        def tau(rows, size, kappa=kappa, ell=ell, lag=lag):  # sum of omega tau over a stage
            w = min((math.sqrt(6) + math.sqrt(2)) / 2 * math.sqrt(size), size / math.sqrt(2))
            return rows * ell / kappa + 2 * w * math.sqrt(lag * lam * rows * t / kappa)

        def led(rows, size, alpha, kappa=kappa, ell=ell, lag=lag):  # of min(1, 4 (1 + 1/a) m y)
            z, U = 4 * (1 + 1 / alpha) * size * lag * lam, kappa * t / rows
            inner = U if U <= z else z * (1 + math.log(U / z))
            return rows * ell / kappa + rows * inner / kappa

        stages = [(0, 1, S_0)] if S_0 > 1 else []
        stages += [(h, n, m) for h in range(1, H)] if n > 0 else []

        def open_later(h):
            return H - h - 1 if clipped else sum(H - k for k in range(h + 1, H))

        candidates.append(sum((H - h + open_later(h)) * tau(rows, k) for h, rows, k in stages))
        for i in range(12):
            alpha = 2.0**-i / H
            total = sum(
                (H - h) * tau(rows, k) + open_later(h) * led(rows, k, alpha)
                for h, rows, k in stages
            )
            candidates.append((1 + alpha) ** (H - 1) * total)
    W = min(candidates) / t / (1 - 1e-6)  # of which all but a millionth is played
    return min(H, (H if clipped else 2) * W + rest)
