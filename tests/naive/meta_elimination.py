"""The meta-algorithm, straight from the page: phases of a base, elimination on estimates."""

import math


def play(base_phase, g, K, T, delta, multiplier=576.0, threshold=7.0):
    """Play T rounds. g(delta) is the base's; base_phase(arms, T_m, delta_m, rounds) plays it.

    A phase that the horizon cuts is played as far as it goes, without elimination.
    """
    arms_left = list(range(K))
    sequence = []
    last, eliminated = [0] * K, [0] * K
    m = 0
    while len(sequence) < T:
        left = T - len(sequence)
        if len(arms_left) == 1:
            sequence += arms_left * left
            break
        m += 1
        delta_m = delta / (2 * m * m)
        g_m = g(delta_m)
        T_m = math.ceil(multiplier * g_m * 2**m)
        played, estimates, _ = base_phase(arms_left, T_m, delta_m, min(T_m, left))
        sequence += played
        if T_m <= left:
            least = min(estimates)
            keep = []
            for a, estimate in zip(arms_left, estimates, strict=True):
                if estimate - least > threshold * math.sqrt(g_m * T_m):
                    eliminated[a] = len(sequence)
                else:
                    keep.append(a)
            arms_left = keep
    for t, a in enumerate(sequence, start=1):
        last[a] = t
    n = [sequence.count(a) for a in range(K)]
    return {"arms": sequence, "n": n, "last": last, "eliminated": eliminated}
