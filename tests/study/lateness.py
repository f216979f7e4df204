"""Studies with a window whose outcomes come late, out of order, twice, or never.

``python -m tests.study.lateness 2000`` is goal B31. A plain model beside every study says what each
decision was settled as; a bare player is told the same. When something is said in time depends
on what it is: successes of the truly best arm are held back most often.
"""

import math
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from scipy.stats import binom

import uli_fast as uli
from tests.study.clock import DAY, Clock
from tests.study.live import settled_state
from uli_fast.study import events

DELTA, WINDOW, DECISIONS = 0.5, 7 * DAY, 120
AUDITED = 10  # one of so many studies is audited as well
LEARNERS = (
    (uli.BettingElimination(DELTA), {"arms": 3}),
    (uli.SuccessiveElimination(DELTA), {"arms": 3}),
    (uli.PhasedElimination(DELTA), {"arms": 3}),
    (uli.LinearElimination(DELTA), {"arms": np.eye(3), "low": 0.0, "high": 1.0}),
)
MEANS = (0.8, 0.5, 0.2)
# How often a success of each arm is told within the window, and a failure.
IN_TIME, FAILURES = (0.2, 0.9, 1.0), 0.9
MEMORY = Path("/dev/shm")


def means(then):
    """Return what the mean of each arm is if outcomes are settled so."""
    if then is None:
        return MEANS  # whatever is missing
    return [
        mu * (q + (1.0 - q) * then) + (1.0 - mu) * (1.0 - FAILURES) * then
        for mu, q in zip(MEANS, IN_TIME, strict=True)
    ]


class Model:
    """What has become of every decision, and a bare player that was told it."""

    def __init__(self, learner, start, then):
        self.player, self.then = learner.start(**start), then
        self.asked, self.settled, self.late = {}, {}, {}  # by the id

    def close(self, now):
        """Settle what is over, in the order of decisions, up to the first that is not."""
        for id, when in self.asked.items():
            if id in self.settled:
                continue
            if (now - when).total_seconds() < WINDOW:
                return
            self.settle(id, self.then)

    def settle(self, id, reward):
        self.settled[id] = reward
        if reward is None:
            self.player.tell_missing(id, "not told within 7 days")
        else:
            self.player.tell(id, reward)

    def tell(self, id, reward):
        if id not in self.settled:
            self.settle(id, reward)
        elif self.settled[id] != reward:
            self.late[id] = reward


def arrival(rng, arm):
    """Return an outcome, and after how many seconds it is told, if ever."""
    reward = float(rng.random() < MEANS[arm])
    if rng.random() < (IN_TIME[arm] if reward else FAILURES):
        return reward, rng.random() * 0.9 * WINDOW
    return reward, math.inf if rng.random() < 0.5 else (1.5 + rng.random()) * WINDOW


def is_false(certificate, truth):
    """Return whether a certificate says what is not so."""
    best = max(truth)
    worst = max(best - truth[arm] for arm in certificate.active)
    lost = not any(truth[arm] == best for arm in certificate.active)
    return lost or worst > certificate.bound + 1e-9


def drive(path, k, seed, clock):
    """Drive a study to its end; return what it came to."""
    rng, (learner, start) = random.Random(f"{seed} {k}"), LEARNERS[k % len(LEARNERS)]
    then = (0.0, None, 0.25)[k // len(LEARNERS) % 3]
    truth, model, false = means(then), Model(learner, start, then), False
    study = uli.Study.open(path, learner, **start, window=WINDOW, then=then)
    coming, told = [], []  # (when, id, reward)
    while len(model.asked) < DECISIONS or coming:
        clock.passes(rng.random() * DAY)
        now = clock.time.timestamp()
        if len(model.asked) < DECISIONS:
            for d in study.ask_many(rng.randint(1, 6)):
                model.close(clock.time)
                assert model.player.ask() == d
                model.asked[d.id] = clock.time
                reward, after = arrival(rng, d.arm)
                if after < math.inf:
                    coming.append((now + after, d.id, reward))
        due = [x for x in coming if x[0] <= now]
        coming = [x for x in coming if x[0] > now]
        rng.shuffle(due)
        rows = [(id, reward) for _, id, reward in due + rng.sample(told, min(2, len(told)))]
        model.close(clock.time)
        for row in rows:
            model.tell(*row)
        if rng.random() < 0.5:
            study.tell_many(rows)
        else:
            study.together([("tell", *row) for row in rows])
        told += due
        if rng.random() < 0.02:
            study.close()
            study = uli.Study.open(path)
        false = false or is_false(study.certificate(), truth)
    clock.passes(WINDOW)
    model.close(clock.time)
    with study:
        check(study, model)
        found = Counter(study.windows, decisions=len(model.asked), false=false)
        assert study.windows["late"] == len(model.late)
        state = settled_state(study._replay.player)
    return found + Counter(missing=list(model.settled.values()).count(None)), state


def check(study, model):
    """Nothing waits, and all is as the model has it."""
    assert study.awaited == 0 and study.held is None
    assert study._replay.player.queue.settled == len(model.asked)
    for record in study.history():
        assert record.reward == model.settled[record.id]
        assert record.late == model.late.get(record.id)
    assert settled_state(study._replay.player) == settled_state(model.player)
    means, ends = study._replay.player.means(), study.intervals().values()
    assert all(math.isnan(x) or lo <= x <= hi for x, (lo, hi) in zip(means, ends, strict=True))


def campaign(studies, seed=31, first=0):
    """Drive studies; replay each from its first event; return what they came to."""
    clock, before, total = Clock(), events.now, Counter()
    folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
    try:
        events.now = lambda: clock.time
        for k in range(first, first + studies):
            path = folder / f"{k}.db"
            found, state = drive(path, k, seed, clock)
            total += found
            with uli.Study.read(path) as again:
                assert settled_state(again._replay.player) == state
                assert again.windows == {"closed": found["closed"], "late": found["late"]}
            if k % AUDITED == 0:
                assert uli.Study.audit(path).overview.windows == again.windows
            path.unlink()
    finally:
        events.now = before
        shutil.rmtree(folder)
    return total + Counter(allowed=int(binom.ppf(0.999, studies, DELTA)))


def main(studies=2000, first=0):
    """Run all of it; say what it came to."""
    found = campaign(studies, first=first)
    assert found["false"] <= found["allowed"]
    print(
        f"{studies:,} studies, {found['decisions']:,} decisions: {found['closed']:,} settled by "
        f"the window ({found['missing']:,} of them missing), {found['late']:,} outcomes came "
        f"later; nothing waits, every replay is equal, {found['false']} studies had a certificate "
        f"that was false (up to {found['allowed']} are no surprise at delta = {DELTA:g})"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
