"""What Prometheus reads: counters and histograms, in its text format."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

MEDIA = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
CALLS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Histogram:
    """How many values were at most so large, their sum and their number."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds, self._counts, self._sum = bounds, [0] * (len(bounds) + 1), 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def lines(self, name: str, labels: str = "") -> Iterator[str]:
        """Write it down; ``labels`` ends with a comma if there are any."""
        total = 0
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self._counts, strict=True):
            total += count
            yield f'{name}_bucket{{{labels}le="{bound}"}} {total}'
        inner = f"{{{labels[:-1]}}}" if labels else ""
        yield f"{name}_sum{inner} {self._sum!r}"
        yield f"{name}_count{inner} {total}"


class Metrics:
    """What has happened since the service began; nothing in it names a token or a patient."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: dict[str, Histogram] = {}
        self._calls, self._commits = Histogram(CALLS), Histogram(SECONDS)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answer; ``route`` is one of the table's, never what a stranger wrote."""
        self._requests[method, route, status] += 1
        if route not in self._seconds:
            self._seconds[route] = Histogram(SECONDS)
        self._seconds[route].add(seconds)

    def commit(self, calls: int, seconds: float) -> None:
        """Count a commit, in the desk's thread, and the calls that shared it."""
        self._calls.add(calls)
        self._commits.add(seconds)

    def text(self, **gauges: int) -> str:
        """Return all of it, and what stands at a number now."""
        lines = []

        def begin(name: str, kind: str, about: str) -> str:
            lines.append(f"# HELP {name} {about}\n# TYPE {name} {kind}")
            return name

        name = begin("uli_requests_total", "counter", "Requests by route and status.")
        for (method, route, status), count in sorted(self._requests.items()):
            about = f'method="{method}",route="{route}",status="{status}"'
            lines.append(f"{name}{{{about}}} {count}")
        name = begin("uli_request_seconds", "histogram", "From request to answer.")
        for route, seconds in sorted(self._seconds.items()):
            lines.extend(seconds.lines(name, f'route="{route}",'))
        name = begin("uli_commit_calls", "histogram", "Calls that shared a commit.")
        lines.extend(self._calls.lines(name))
        name = begin("uli_commit_seconds", "histogram", "Deciding, learning and writing.")
        lines.extend(self._commits.lines(name))
        for key, value in gauges.items():
            lines.append(f"{begin(f'uli_{key}', 'gauge', GAUGES[key])} {value}")
        return "\n".join([*lines, ""])


GAUGES = {
    "queue_length": "Calls that wait for the study.",
    "events": "Events in the journal.",
    "decisions_awaited": "Decisions whose outcome is awaited.",
    "outcomes_held": "Outcomes that are known and wait for that of an earlier decision.",
    "held_by_decision": "The decision that they wait for; 0: for none.",
    "held_seconds": "Seconds since that decision was asked for; up to a window is usual.",
    "windows_closed": "Outcomes that were settled by the window, not told in time.",
    "outcomes_late": "Outcomes that came after their window, and were not used.",
}
