"""A clock that studies go by and tests turn."""

from datetime import UTC, datetime, timedelta

from uli_fast.study import events

DAY = 86400.0


class Clock:
    """The time that every study of this process reads."""

    def __init__(self, monkeypatch=None):
        self.time = datetime(2026, 3, 1, tzinfo=UTC)
        if monkeypatch is not None:
            monkeypatch.setattr(events, "now", lambda: self.time)

    def passes(self, seconds):
        self.time += timedelta(seconds=seconds)
