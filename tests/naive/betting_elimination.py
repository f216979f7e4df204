"""BettingElimination, straight from the page: slow, independent, play by play.

Every play adds its own logarithms; nothing is dropped, pooled or rounded away. A reward of
None is a missing outcome.
"""

import math

SIZES = [math.sqrt(2.0) * 2.0 ** (-k / 2.0) for k in range(67)]
RAW = [(k + 8.0) ** -1.5 for k in range(67)]
WEIGHTS = [raw / sum(RAW) for raw in RAW]
ENTRIES = [2**k // 200 for k in range(67)]
SHARE = 0.9  # of delta, for the tests; the rest is for the intervals


def look_after(n):
    """Return max(n + 1, floor(1.02 n))."""
    return max(n + 1, n * 102 // 100)


def log_phi(x):
    """Return the log of the normal distribution function."""
    if x > -30.0:
        return math.log(0.5 * math.erfc(-x / math.sqrt(2.0)))
    import mpmath as mp

    with mp.workdps(40):
        return float(mp.log(mp.ncdf(mp.mpf(x))))


def log_mix(D, v, rho):
    """Return the log of the half-normal mixture of exp(u D - u^2 v / 2)."""
    scale = v + rho
    tail = log_phi(D / math.sqrt(scale))
    return math.log(2.0) - 0.5 * math.log(1.0 + v / rho) + D * D / (2.0 * scale) + tail


def log_sum(logs):
    """Return the log of a sum of exponentials."""
    top = max(logs)
    return top + math.log(math.fsum(math.exp(x - top) for x in logs))


class Bets:
    """The sums of all arms: P, Q, M from below and above, V, S and N.

    With ``first`` False only the second half is used, with weight 1 (unbounded rewards).
    """

    def __init__(self, K, R=0.5, first=True):
        self.K, self.R, self.first, self.rho = K, R, first, 100.0 * R * R
        self.P = [[0.0] * len(SIZES) for _ in range(K)]
        self.Q = [[0.0] * len(SIZES) for _ in range(K)]
        self.low, self.high, self.V, self.S = ([0.0] * K for _ in range(4))
        self.N = [0] * K
        self.n = 0  # sweeps
        self.look = 0  # the sweep of the last look
        self.theta = 0.5

    def bets(self):
        """Return the bets that take part, each with its size under the cap."""
        cap = 0.99 / max(self.theta, 1.0 - self.theta)
        return [(k, min(u, cap)) for k, u in enumerate(SIZES) if self.look >= ENTRIES[k]]

    def play(self, a, x, share, weight=1.0):
        """Absorb a play: the bet is u * share, in M it counts ``weight``, in V its square."""
        low, high = (0.0, 1.0) if x is None else (x, x)
        self.N[a] += 1
        self.V[a] += weight * weight
        if x is not None or self.first:  # a missing unbounded outcome has no worst value
            self.S[a] += low
            self.low[a] += weight * low
            self.high[a] += weight * high
        if self.first:
            for k, u in self.bets():
                self.P[a][k] += math.log1p((low - self.theta) * u * share)
                self.Q[a][k] += math.log1p(-(high - self.theta) * u * share)

    def log_wealth(self, j, a):
        """Return log W of "j beats a"."""
        v = self.R**2 * (self.V[j] + self.V[a])
        second = log_mix(self.low[j] - self.high[a], v, self.rho)
        if not self.first:
            return second
        grid = [math.log(w) + self.P[j][k] + self.Q[a][k] for k, w in enumerate(WEIGHTS)]
        return log_sum([*grid, second]) - math.log(2.0)


class Race:
    """Bets, the active arms, and the looks so far."""

    def __init__(self, K, delta, leader=2, R=0.5, first=True, share=SHARE):
        self.bets = Bets(K, R, first)
        self.r, self.leader, self.active = leader, None, list(range(K))
        self.threshold = math.log((K - 1) / (share * delta))
        self.looks = []

    def look(self):
        """Choose the leader and theta, then drop every arm that the leader has beaten."""
        bets = self.bets
        bets.look = bets.n
        self.leader = max(self.active, key=lambda a: (bets.low[a], -a))
        bets.theta = (bets.S[self.leader] + 0.5) / (bets.N[self.leader] + 1.0)
        wealth = {a: bets.log_wealth(self.leader, a) for a in self.active if a != self.leader}
        self.active = [a for a in self.active if wealth.get(a, -1.0) < self.threshold]
        self.looks.append(
            {
                "n": bets.n,
                "leader": self.leader,
                "theta": bets.theta,
                "active": tuple(self.active),
                "log_wealth": wealth,
            }
        )

    def block(self, told):
        """Absorb a block {arm: rewards}: min n_a sweeps, n_a plays of each arm, then a look."""
        m = min(len(rewards) for rewards in told.values())
        for a, rewards in told.items():
            for x in rewards:
                self.bets.play(a, x, m / len(rewards), m / len(rewards))
        self.bets.n += m
        self.look()

    def block_of_sums(self, told):
        """Absorb {arm: (plays, total)} as that many plays of 1 and 0 (a fraction in proportion)."""
        bets, m = self.bets, min(plays for plays, _ in told.values())
        for a, (plays, total) in told.items():
            rate = m / plays
            for k, u in bets.bets() if bets.first else ():
                bets.P[a][k] += total * math.log1p((1.0 - bets.theta) * u * rate)
                bets.P[a][k] += (plays - total) * math.log1p(-bets.theta * u * rate)
                bets.Q[a][k] += total * math.log1p(-(1.0 - bets.theta) * u * rate)
                bets.Q[a][k] += (plays - total) * math.log1p(bets.theta * u * rate)
            bets.S[a] += total
            bets.N[a] += plays
            bets.low[a] += rate * total
            bets.high[a] += rate * total
            bets.V[a] += m * rate
        bets.n += m
        self.look()


def play(reward, K, T, delta, leader=2, R=0.5, first=True, share=SHARE):
    """Play T rounds; reward(a, i) is the i-th reward of arm a, from 0, or None.

    A look that falls due with round T is made.
    """
    race = Race(K, delta, leader, R, first, share)
    bets, arms, last, eliminated = race.bets, [], [0] * K, [0] * K
    next_look = 1
    while len(arms) < T:
        plays = {a: race.r if a == race.leader else 1 for a in race.active}
        sweep = [a for a in race.active for _ in range(plays[a])]
        whole = len(sweep) <= T - len(arms)
        for a in sweep[: T - len(arms)]:
            arms.append(a)
            last[a] = len(arms)
            bets.play(a, reward(a, bets.N[a]), 1.0 / plays[a], 1.0 / plays[a])
        bets.n += whole
        if whole and bets.n == next_look and len(race.active) > 1:
            before = set(race.active)
            race.look()
            for a in before - set(race.active):
                eliminated[a] = len(arms)
            next_look = look_after(bets.n)
    counts = {"arms": arms, "n": bets.N, "last": last, "eliminated": eliminated}
    return {**counts, "looks": race.looks, "race": race}


# F, and the rounds it needs.


def root(v, level, rho):
    """Return the D with log Mix(D, v) = level, by bisection."""
    low, high = 0.0, 1.0
    while log_mix(high, v, rho) < level:
        high *= 2.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if log_mix(middle, v, rho) < level else (low, middle)
    return high


def phase_bound(n, K, delta, leader=2, R=0.5, first=True, share=SHARE):
    """Return 2 c(n) / n."""
    spread = n * (1 + 1 / leader) + 1 - 1 / leader if K == 2 else 2 * n
    level = math.log((2 if first else 1) * (K - 1) / (share * delta))
    return 2.0 * root(R * R * spread, level, 100.0 * R * R) / n


def bound(t, K, delta, leader=2, R=0.5, first=True, share=SHARE, largest=1.0):
    """Return F(t): the phase bound of the last look that is surely over."""
    sweeps, n = (t - 1) // (K - 1 + leader), 0
    while look_after(n) <= sweeps:
        n = look_after(n)
    if n == 0:
        return largest
    return min(largest, phase_bound(n, K, delta, leader, R, first, share))


def rounds_until(eps, K, delta, leader=2, R=0.5, first=True, share=SHARE, largest=1.0):
    """Return the largest t with F(t) > eps: the one before the first look with 2 c(n)/n <= eps."""
    if largest <= eps:
        return 0
    n = look_after(0)
    while phase_bound(n, K, delta, leader, R, first, share) > eps:
        n = look_after(n)
    return n * (K - 1 + leader)


# Beta-binomial (KT) intervals, with 0.1 delta.


def log_kt(S, N):
    """Return the log of the beta-binomial wealth's numerator."""
    return (
        math.lgamma(S + 0.5) + math.lgamma(N - S + 0.5) - math.lgamma(N + 1.0) - math.log(math.pi)
    )


def interval(S_low, S_high, N, K, share):
    """Return the interval of one arm of K; the sums with missing outcomes as 0 and as 1."""
    if N == 0:
        return 0.0, 1.0
    level = math.log(K / share)

    def excess(p, S):
        zero = S * math.log(p) if S > 0 else 0.0
        one = (N - S) * math.log1p(-p) if S < N else 0.0
        return log_kt(S, N) - zero - one - level

    def edge(S, far):
        inside, outside = S / N, far
        for _ in range(200):
            middle = 0.5 * (inside + outside)
            if middle in (0.0, 1.0) or excess(middle, S) > 0.0:
                outside = middle
            else:
                inside = middle
        return inside

    return (edge(S_low, 0.0) if S_low > 0 else 0.0, edge(S_high, 1.0) if S_high < N else 1.0)
