"""A log replayed by betting, written down from docs/replay.md: slow, and nothing shared."""

import math

GRID = [math.sqrt(2.0) * 2.0 ** (-k / 2.0) for k in range(67)]
WEIGHTS = [(k + 8.0) ** -1.5 for k in range(67)]
WEIGHTS = [w / sum(WEIGHTS) for w in WEIGHTS]


def mix(D, v, rho=25.0):
    """Return E exp(u D - u^2 v / 2), u = |N(0, 1 / rho)|."""
    x = D / math.sqrt(v + rho)
    return math.sqrt(rho / (v + rho)) * math.exp(0.5 * x * x) * math.erfc(-x / math.sqrt(2.0))


class Bettor:
    """P, Q, M, V of every arm, after blocks of rewards."""

    def __init__(self, arms, delta):
        self.arms, self.active, self.n, self.theta = list(arms), list(arms), 0, 0.5
        self.limit = (len(self.arms) - 1) / (0.9 * delta)
        self.P = {a: [0.0] * 67 for a in arms}
        self.Q = {a: [0.0] * 67 for a in arms}
        self.M, self.V = dict.fromkeys(arms, 0.0), dict.fromkeys(arms, 0.0)
        self.S, self.N = dict.fromkeys(arms, 0.0), dict.fromkeys(arms, 0.0)
        self.leader = None

    def sweeps_to_look(self):
        """Return how many sweeps there are to the next look."""
        return max(1, self.n // 50)

    def block(self, rewards, m):
        """Take in m sweeps: the rewards of each active arm, 0 or 1; then look."""
        cap = 0.99 / max(self.theta, 1.0 - self.theta)
        for a in self.active:
            r = len(rewards[a]) / m
            for k in range(67):
                if self.n >= 2**k // 200:
                    for x in rewards[a]:
                        z = (x - self.theta) * min(GRID[k], cap) / r
                        self.P[a][k] += math.log1p(z)
                        self.Q[a][k] += math.log1p(-z)
            self.M[a] += sum(rewards[a]) / r
            self.V[a] += len(rewards[a]) / r**2
            self.S[a] += sum(rewards[a])
            self.N[a] += len(rewards[a])
        self.n += m
        return self._look()

    def _look(self):
        j = max(self.active, key=lambda a: self.M[a])
        gone = [a for a in self.active if a != j and self.wealth(j, a) >= self.limit]
        self.active = [a for a in self.active if a not in gone]
        self.leader, self.theta = j, (self.S[j] + 0.5) / (self.N[j] + 1.0)
        return gone

    def wealth(self, j, a):
        """Return the money on "j beats a"."""
        grid = sum(
            w * math.exp(p + q) for w, p, q in zip(WEIGHTS, self.P[j], self.Q[a], strict=True)
        )
        v = 0.25 * (self.V[j] + self.V[a])
        return 0.5 * grid + 0.5 * mix(self.M[j] - self.M[a], v)


def replay_queues(rows, arms, delta, leader):
    """Return the row that drops each arm, the learner choosing: {arm: (row, plays)}."""
    queues = {a: [(i, x) for i, (b, x) in enumerate(rows, 1) if b == a] for a in arms}
    bettor, dropped, last, plays = Bettor(arms, delta), {}, 0, dict.fromkeys(arms, 0)
    while len(bettor.active) > 1:
        m, taken = bettor.sweeps_to_look(), {}
        for a in bettor.active:
            n = m * (leader if a == bettor.leader else 1)
            if len(queues[a]) < n:
                return dropped
            head, queues[a] = queues[a][:n], queues[a][n:]
            last, plays[a] = max(last, head[-1][0]), plays[a] + n
            taken[a] = [x for _, x in head]
        for a in bettor.block(taken, m):
            dropped[a] = (last, dict(plays))
    return dropped


def replay_blocks(rows, arms, delta):
    """Return the row that drops each arm, all rows being used: {arm: (row, plays)}."""
    bettor, dropped = Bettor(arms, delta), {}
    taken, plays = {a: [] for a in arms}, dict.fromkeys(arms, 0)
    for i, (a, x) in enumerate(rows, 1):
        if len(bettor.active) == 1:
            break
        if a in bettor.active:
            taken[a].append(x)
            plays[a] += 1
        m = min(len(taken[b]) for b in bettor.active)
        if m >= bettor.sweeps_to_look():
            for b in bettor.block(taken, m):
                dropped[b] = (i, dict(plays))
            taken = {b: [] for b in arms}
    return dropped
