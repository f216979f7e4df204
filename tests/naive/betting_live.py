"""BettingElimination with late and missing outcomes, from the page: slow and independent.

A sweep keeps the leader and the theta of the moment it was begun. Beside the bets on what is
told, missing outcomes at their worst, ``truth`` has the same bets on what was not: it says
whether the event of the proof holds, which only the truth decides.
"""

import math

from tests.naive.betting_elimination import (
    WEIGHTS,
    Bets,
    Race,
    log_kt,
    log_mix,
    log_sum,
    look_after,
    root,
)


class Live:
    """Decisions by hand: ask, tell, and what is true of it all."""

    def __init__(self, means, delta, leader=2):
        self.means, self.delta, self.r = list(means), delta, leader
        self.K = len(self.means)
        self.best = self.means.index(max(self.means))
        self.race, self.truth = Race(self.K, delta, leader), Bets(self.K)
        self.epochs = [(None, 0.5)]
        self.asked = []  # [arm, epoch, whether it ends its sweep]
        self.plan = []
        self.told = {}
        self.settled, self.next_look = 0, 1
        self.kept = self.covered = True  # the event of the tests, that of the intervals
        self.gap = math.inf

    def ask(self):
        epoch = self.asked[-1][1] if self.plan else len(self.epochs) - 1
        if not self.plan:
            leader = self.epochs[epoch][0]
            active = self.race.active
            self.plan = [a for a in active for _ in range(self.r if a == leader else 1)]
        a = self.plan.pop(0)
        self.asked.append([a, epoch, not self.plan])
        return a

    def tell(self, i, x, true):
        """Tell the outcome of decision i, from 0; None if it is missing, and what it would be."""
        self.told[i] = (x, true)
        while self.settled in self.told:
            self.settle(*self.asked[self.settled], *self.told[self.settled])

    def settle(self, a, epoch, _, x, true):
        self.settled += 1
        leader, theta = self.epochs[epoch]
        bets, share = self.race.bets, 1.0 / (self.r if a == leader else 1)
        if a in self.race.active:
            bets.theta = self.truth.theta = theta
            bets.play(a, x, share, share)
            bets.N[a] -= x is None  # theta is the mean of what came
            self.truth.play(a, true, share, share)
            self.covered &= self.covers(a)
        if self.asked[self.settled - 1][2]:
            bets.n += 1
            if bets.n == self.next_look:
                self.look()

    def look(self):
        bets = self.race.bets
        self.kept &= self.holds(bets.n)
        self.race.look()
        self.truth.look = bets.n
        self.epochs.append((self.race.leader, bets.theta))
        self.gap = min(self.gap, self.bound(bets.n))
        self.next_look = look_after(bets.n)
        if self.plan:
            self.plan = [a for a in self.plan if a in self.race.active]
            self.asked[-1][2] = not self.plan

    def holds(self, n):
        """Return whether every Z_a of the proof is below the threshold."""
        t, b = self.truth, self.best
        for a in self.race.active:
            if a == b or b not in self.race.active:
                continue
            shift = n * (self.means[b] - self.means[a])
            mixed = log_mix(t.low[a] - t.low[b] + shift, t.R**2 * (t.V[a] + t.V[b]), t.rho)
            grid = [math.log(w) + t.P[a][k] + t.Q[b][k] for k, w in enumerate(WEIGHTS)]
            if log_sum([*grid, mixed]) - math.log(2.0) >= self.race.threshold:
                return False
        return True

    def covers(self, a):
        """Return whether the interval of an arm would hold its mean if nothing were missing."""
        S, N, p = self.truth.S[a], self.truth.N[a], self.means[a]
        likely = S * math.log(p) + (N - S) * math.log(1.0 - p)
        return log_kt(S, N) - likely <= math.log(self.K / (0.1 * self.delta))

    def bound(self, n):
        """Return max over survivors a, j of (M_j from above - M_a from below + c) / n."""
        b, active = self.race.bets, self.race.active
        level = math.log(2.0) + self.race.threshold
        pairs = [(a, j) for a in active for j in active if a != j]
        found = [
            b.high[j] - b.low[a] + root(b.R**2 * (b.V[a] + b.V[j]), level, b.rho) for a, j in pairs
        ]
        return max(0.0, *found, 0.0) / n
