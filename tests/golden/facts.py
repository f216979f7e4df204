"""The facts that digests are of: plain numbers, lists and words, the same on every machine."""

import contextlib
import hashlib
import json
import math
import re
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from unittest.mock import patch

import numpy as np

import uli_fast as uli
from tests.service.conftest import Served
from tests.study.live import AT_ONCE, LEARNERS
from tests.study.live import outcome as drawn
from tests.support.examples import EXAMPLES, LIVE, asked, outcome
from uli_fast.errors import UliError
from uli_fast.study import events

# Clocks, and what is of a version or a machine.
TIMES = {"elapsed", "seconds", "phase_work", "guarantee"}
VERSIONS = re.compile(r"\b\d+\.\d+\.\d+[\w.+]*")
MARKS = re.compile(r"\b(?=(?:[0-9]*[a-f]){2})[0-9a-f]{16,64}\b")
NUMBERS = re.compile(r"[-+]?\d[\d.,e\u202f\u00a0]*(?:[-+]\d+)?(?: \u00d7 10[⁻⁰¹²³⁴-⁹]+)?")
STEPS, AWAITED, SAVED = 1000, 4, 620
T = 2000


def plain(x):
    """Return as lists, words and numbers of six digits: the last ones differ with the processor."""
    if isinstance(x, np.ndarray | np.generic):
        return plain(x.tolist())
    if isinstance(x, Mapping):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return [plain(value) for value in x]
    if isinstance(x, float):
        return "nan" if math.isnan(x) else f"{x + 0.0:.6g}"
    return x if x is None or isinstance(x, bool | int | str) else repr(x)


def masked(x):
    """Return plain facts without versions, hashes and other marks."""
    if isinstance(x, dict):
        return {masked(key): masked(value) for key, value in x.items()}
    if isinstance(x, list):
        return [masked(value) for value in x]
    return MARKS.sub("MARK", VERSIONS.sub("V", x)) if isinstance(x, str) else x


def digest(facts):
    """Return the mark of facts."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def said(call):
    """Return what a call returns, or what it raises, in words."""
    try:
        return plain(call())
    except UliError as problem:
        return [type(problem).__name__, wordy(str(problem))]


def wordy(text):
    """Return a text without its numbers."""
    return NUMBERS.sub("#", MARKS.sub("MARK", text))


def simulated(example, problem, engine, threads):
    """What a learner does in a simulation."""
    asked_for = (min(example.horizon, T * 5), 3, 7, engine)
    runs = uli.simulate(example.on(problem), problem, *asked_for, n_jobs=threads)
    found = {f.name: plain(getattr(runs, f.name)) for f in fields(runs) if f.name not in TIMES}
    F = runs.guarantee
    found["F"] = F and said(lambda: [F.bound(t) for t in (1, 100, 10**6, 10**12)])
    found["worst"] = plain(runs.worst_ratio)
    return found


def live(example, saved=False):
    """What a player decides and says: outcomes late, in any order, missing; restored on the way.

    Or what it then saves.
    """
    player, rng, found = example.start(), np.random.default_rng(11), []
    awaited, most = [], AWAITED if example.decides.ahead else 1
    for step in range(STEPS):
        if len(awaited) < most:
            awaited.append(asked(player))
            decision = awaited[-1]
            found.append([decision.id, plain(np.asarray(decision[1])), plain(decision.probability)])
        if len(awaited) == most or rng.random() < 0.3:
            decision = awaited.pop(int(rng.integers(len(awaited))))
            if rng.random() < 0.05:
                player.tell_missing(decision.id, "gone")
            else:
                player.tell(decision.id, *outcome(decision))
        if step % 20 == 19:
            found.append(certain(player))
        if step == SAVED:
            player = example.restored(json.loads(json.dumps(player.state())))
    return masked(plain(player.state()) if saved else found)


def certain(player):
    """What a player says that it knows."""
    looks = ("certificate", "intervals", "recommend")
    return [said(getattr(player, look)) for look in looks] + [said(lambda: player.active)]


class Clock:
    """A time that goes on by a minute whenever it is read."""

    def __init__(self):
        self.time = datetime(2026, 3, 1, tzinfo=UTC)

    def __call__(self):
        self.time += timedelta(minutes=1)
        return self.time


@contextlib.contextmanager
def study_of(learner, start):
    """Open a study in a folder of its own."""
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.object(events, "now", Clock()),
        uli.Study.open(Path(folder) / "study.db", learner, **start) as study,
    ):
        yield study


def told_blocks(learner, start):
    """What a study does with counts and sums in place of outcomes."""
    found, rng = [], np.random.default_rng(5)
    with study_of(learner, start) as study:
        for k in range(6):
            plan = said(study.allocation)
            found.append(plan)
            if not isinstance(plan, dict):
                break
            plays = {arm: max(n, 0) for arm, n in study.allocation().items()}
            rates = dict(zip(plays, (0.9, 0.4, 0.1, 0.1), strict=False))
            sums = {
                arm: (n, float(rng.binomial(n, rates[arm])), k % 2) for arm, n in plays.items() if n
            }
            found.append(said(partial(study.tell_block, sums, f"block {k}")))
            found.append([said(study.certificate), said(study.intervals), said(study.counts)])
        found.append(
            [[e.kind, e.payload if e.sequence > 1 else ""] for e in study._journal.events()]
        )
    return masked(plain(found))


def wire(name):
    """What a service answers, whatever is asked of it."""
    learner, start = LEARNERS[name]
    state = {"state": 0} if "rewards" in start else {}
    ahead = 1 if type(learner).__name__ in AT_ONCE else 3
    found, rng = [], np.random.default_rng(3)
    with study_of(learner, start) as study, contextlib.closing(Served(study)) as served:

        def send(method, path, body=None, refused=False):
            status, _, content = served.send(method, path, body)
            assert refused or status in (200, 204), content
            found.append([method, path, status, plain(content)])
            return content

        for k in range(4):
            made = [
                send("POST", "/v1/ask", {"request_id": f"{k}-{i}", "metadata": {"k": k}} | state)
                for i in range(ahead)
            ]
            for about in made:
                d = next(x for x in study.pending() if x.id == about["id"])
                told = drawn(study.ask(d.request_id, **state), rng)
                keys = ("states", "actions") if len(told) == 2 else ("reward",)
                send("POST", "/v1/tell", {"decision_id": d.id} | dict(zip(keys, told, strict=True)))
        send("POST", "/v1/ask-many", {"requests": ["x"]} | state)
        send("POST", "/v1/tell-missing", {"decision_id": 4 * ahead + 1, "reason": "gone"})
        for method, path, body in (
            ("POST", "/v1/tell", {"decision_id": 1, "reward": 7.0}),
            ("POST", "/v1/ask", {"request": "x"}),
            ("GET", "/v1/nowhere", None),
        ):
            send(method, path, body, refused=True)
        for look in (
            *("allocation", "recommend", "certificate", "intervals", "active", "counts", "totals"),
            *("pending", "history", "blocks", "audit", "study", "head"),
        ):
            send("GET", f"/v1/{look}", refused=True)  # some learners have no such thing
        found.append(wordy(served.send("GET", "/metrics")[2].decode()).split("\n"))
    return masked(found)


class Seen(HTMLParser):
    """The words that a page shows."""

    def __init__(self):
        super().__init__()
        self.words, self._hidden = [], 0

    def handle_starttag(self, tag, attrs):
        self._hidden += tag in ("script", "style")

    def handle_endtag(self, tag):
        self._hidden -= tag in ("script", "style")

    def handle_data(self, data):
        if not self._hidden and data.strip():
            self.words.append(" ".join(data.split()))


def words_of(page):
    """Return the words of a page, without its numbers."""
    seen = Seen()
    seen.feed(page)
    return wordy("\n".join(seen.words)).split("\n")


def reported(example):
    """The words of reports, tables and pages about a learner."""
    problem = example.problems[0]
    runs = uli.simulate(example.on(problem), problem, min(T, example.horizon), 3, 7)
    found = [repr(runs), words_of(runs._repr_html_())]
    with tempfile.TemporaryDirectory() as folder:
        page = runs.report(Path(folder) / "page.html")
        found.append(words_of(page.read_text(encoding="utf-8")))
    found.append(said(lambda: wordy(repr(example.learner.guarantee(problem)))))
    return found


def watched(name):
    """The words of what a study shows: its page, its audit, its certificate."""
    learner, start = LEARNERS[name]
    rng = np.random.default_rng(4)
    with study_of(learner, start) as study:
        state = {"state": 0} if "rewards" in start else {}
        for i in range(12):
            decision = study.ask(f"r{i}", **state)
            study.tell(decision.id, *drawn(decision, rng))
        study.ask("open", **state)
        with contextlib.closing(Served(study)) as served:
            page = served.send("GET", "/")[2].decode()
        shown = study._repr_html_().replace(str(study.path), "FILE")
        return [words_of(page), words_of(shown), said(study.certificate)]


def facts():
    """Return what there is a digest of: names, and what computes each."""
    found = {}
    for example in EXAMPLES:
        for problem in example.problems:
            for engine in example.on(problem).engines_for(problem):
                for threads in (1, 2):
                    name = f"simulated: {example}, {problem!r}, {engine}, {threads}"
                    found[name] = partial(simulated, example, problem, engine, threads)
        found[f"reported: {example}"] = partial(reported, example)
    for example in LIVE:
        found[f"live: {example}"] = partial(live, example)
        found[f"state: {example}"] = partial(live, example, saved=True)
    for name, (learner, start) in LEARNERS.items():
        found[f"wire: {name}"] = partial(wire, name)
        found[f"watched: {name}"] = partial(watched, name)
        if isinstance(start.get("arms"), list | int):
            found[f"blocks: {name}"] = partial(told_blocks, learner, start)
    return found


def computed(name):
    """Return the facts of a name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return facts()[name]()
