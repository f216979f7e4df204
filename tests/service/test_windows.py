"""Windows and what is held up, over HTTP."""

import warnings

import pytest

from tests.service.conftest import SE
from tests.study.clock import DAY, Clock
from uli_fast.errors import ArgumentError, DelayWarning
from uli_fast.study.window import Window


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def gauges(served):
    """Return what stands at a number."""
    text = served.send("GET", "/metrics")[2].decode()
    rows = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in rows if "{" not in name}


def test_a_service_closes_windows_whoever_looks(serve, clock):
    served = serve(SE, window=7 * DAY, then=0.0)
    with served.client() as client:
        assert client.window == Window(7 * DAY, 0.0)
        client.ask_many(3)
        client.tell(2, 1.0)
        clock.passes(7 * DAY)
        assert gauges(served)["uli_decisions_awaited"] == 0.0
        client.tell(1, 1.0)  # answered as ever
        client.tell(1, 1.0)
        assert client.windows == {"closed": 2, "late": 1}
        assert [(r.reward, r.late) for r in client.history()] == [
            (0.0, 1.0),
            (1.0, None),
            (0.0, None),
        ]
        assert client.history() == served.study.history()
        found = gauges(served)
        assert (found["uli_windows_closed"], found["uli_outcomes_late"]) == (2.0, 1.0)
        assert "7 days counts as 0" in client.certificate().assumes[-1]


def test_what_holds_up_others_is_named(serve, clock):
    served = serve(SE)
    with served.client() as client:
        client.ask_many(4)
        client.tell_many([(2, 1.0), (4, 0.0)])
        clock.passes(3 * DAY)
        assert client.held == served.study.held and client.held[:2] == (2, 1)
        assert client.certificate().held == served.study.certificate().held
        assert client.audit().held == client.certificate().held
        assert "2 outcomes wait behind decision 1 (asked 3 days ago)" in client.audit().held
        found = gauges(served)
        named = ("uli_outcomes_held", "uli_held_by_decision", "uli_held_seconds")
        assert [found[name] for name in named] == [2.0, 1.0, 3 * DAY]
        page = served.send("GET", "/watch")[2].decode()
        assert "2 outcomes wait behind decision 1, asked on" in page
        client.tell_many([(1, 0.5), (2, 0.0), (3, None, "gone")], only_pending=True)
        assert client.held is None and client.window is None
        assert [r.reward for r in client.history()] == [0.5, 1.0, None, 0.0]
        assert not any(gauges(served)[name] for name in named)
        with pytest.raises(ArgumentError) as refused:
            client.tell_many([], only_pending="yes")
        assert refused.value.argument == "only_pending"
        body = {"outcomes": [], "only_pending": "yes"}
        status, _, said = served.send("POST", "/v1/tell-many", body)
        assert status == 422 and said["argument"] == "only_pending"


def test_a_client_warns_as_a_study_does_and_the_service_does_not(serve, clock):
    served = serve(SE)
    with served.client() as client, warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")  # of the thread that serves, too
        client.tell_many([(d.id, 0.0) for d in client.ask_many(100)[1:]])
        client.certificate()
        assert found == []  # 99 are few
        client.tell(client.ask().id, 0.0)
        for _ in range(2):  # once for each decision
            client.certificate()
        clock.passes(3 * DAY)
        assert [(x.category, x.filename) for x in found] == [(DelayWarning, __file__)]
        assert "100 outcomes wait behind decision 1 (asked" in str(found[0].message)
