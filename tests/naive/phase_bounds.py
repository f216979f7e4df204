"""F of the schedule, straight from the page: phases one after the other, nobody ever dropped.

Lengths are whole numbers; a round is in the phase whose last round is not before it.
"""

import math


def wd(n, K, delta, R):
    return R * math.sqrt(2 * math.log(4 * K * n**2 / delta) / n)


def successive(t, K, delta, R=0.5, largest_gap=1.0):
    """4 wd(floor((t - 1) / K)); until round K + 1 is over no test was made."""
    if t <= K + 1:
        return max(largest_gap, 4 * wd(1, K, delta, R))
    return 4 * wd((t - 1) // K, K, delta, R)


def phase_of(t, length):
    """Return the phase of round t, phase l having length(l) rounds."""
    phase, end = 1, length(1)
    while t > end:
        phase += 1
        end += length(phase)
    return phase


def phased(t, K, delta, R=0.5):
    def length(phase):
        return K * math.ceil(R**2 * 2 ** (2 * phase + 3) * math.log(4 * K * phase**2 / delta))

    return 4 * 2.0 ** -phase_of(t, length)


def linear(t, K, d, delta, R):
    loglog = math.log(math.log(max(d, math.e)))
    support = min(K, math.floor(4 * d * loglog + 16))

    def length(phase):
        log = math.log(4 * K * phase**2 / delta)
        return math.ceil(4 * d * 4**phase * max(R**2 * log, loglog + 4)) + support - 1

    return 8 * 2.0 ** -phase_of(t, length)


def spanner(t, d, C, delta, R):
    def length(m):
        size = 256 * C**4 * d**3 * 4**m * math.log(d**3 * 4**m / delta) * max(1, R**2)
        return d * math.ceil(size / d)

    return 4 * 2.0 ** -phase_of(t, length)


def sharp_constants(cD, least=0.0):
    """Return the multiplier and the threshold of mode "sharp" for g = cD log(10 K / delta)."""
    kappa = 1 / math.sqrt(2 * cD)
    return max(4 * (2 + 8 * kappa) ** 2, least / (2 * cD)), 1 + 4 * kappa


def meta(t, K, D, delta, multiplier, constant):
    def length(m):
        g = constant * D * math.log(10 * K / (delta / (2 * m**2)))
        return math.ceil(multiplier * g * 2**m)

    return 2.0 ** (-(phase_of(t, length) - 1) / 2)


def meta_unbounded(t, K, d, delta, multiplier, constant, sigma):
    """Half of delta is for the noise; losses of phase m are divided by B_m."""

    def length(m):
        g = constant * d * math.log(10 * K / (delta / 2 / (2 * m**2)))
        return math.ceil(multiplier * g * 2**m)

    m = phase_of(t, length)
    before = max(1, m - 1)
    h = sigma * math.sqrt(2 * math.log(4 * before**2 * length(before) / (delta / 2)))
    return 2 * (1 + h) * 2.0 ** (-(m - 1) / 2)
