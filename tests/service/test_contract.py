"""What Study returns and raises, Client returns and raises."""

import inspect
import math
import threading
import warnings
from datetime import timedelta
from functools import partial

import msgspec
import numpy as np
import pytest

import uli_fast as uli
from tests.service.conftest import SE
from tests.study.live import AT_ONCE, LEARNERS, outcome, same
from tests.support.patience import PATIENCE
from uli_fast import errors
from uli_fast.errors import ArgumentError, StudyAccessError, StudyError, StudyUnavailableError
from uli_fast.service.desk import Desk
from uli_fast.service.problems import error_of, problem, type_of
from uli_fast.study.study import Study

# What a client cannot have, or has in its own way.
ITS_OWN = {"open", "read", "together", "events", "audited", "audit", "awaited", "path", "overview"}
WORDS = {"learner": str}


def public(cls):
    return {name for name in dir(cls) if not name.startswith("_")}


def test_a_client_has_the_methods_of_a_study():
    assert public(Study) - ITS_OWN == public(uli.Client) - {"audit"}
    for name in public(uli.Client) - {"audit"}:
        ours, theirs = getattr(uli.Client, name), getattr(Study, name)
        assert isinstance(ours, property) == isinstance(theirs, property)
        if isinstance(ours, property):
            continue
        mine, other = inspect.signature(ours), inspect.signature(theirs)
        assert list(mine.parameters) == list(other.parameters), name
        for key, parameter in mine.parameters.items():
            assert parameter.kind == other.parameters[key].kind, (name, key)
            assert parameter.default == other.parameters[key].default, (name, key)


def result(call):
    """Return what a call gives, or what it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except Exception as problem:
            return problem


def alike(a, b):
    if isinstance(a, Exception):
        same_class = type(a) is type(b) and getattr(a, "argument", 0) == getattr(b, "argument", 0)
        return same_class and getattr(a, "__notes__", []) == getattr(b, "__notes__", [])
    if hasattr(a, "_fields") and a._fields[1] in ("arm", "policy"):
        return type(a) is type(b) and same(a, b)
    if isinstance(a, list) and not isinstance(a, uli.study.history.History):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
    return type(a) is type(b) and a == b


def timeless(history):
    return [record._replace(asked="", told="", request_id="") for record in history]


@pytest.mark.parametrize("name", LEARNERS)
def test_both_say_the_same_of_every_learner(name, serve, folder):
    learner, start = LEARNERS[name]
    ask = {"state": 0} if "rewards" in start else {}
    ahead = 1 if type(learner).__name__ in AT_ONCE else 3
    served, rng = serve(learner, **start), np.random.default_rng(3)
    with uli.Study.open(folder / "alone.db", learner, **start) as study, served.client() as client:
        for k in range(4):
            made = []
            for i in range(ahead):
                one = study.ask(f"p{k}-{i}", {"ward": k}, **ask)
                two = client.ask(f"p{k}-{i}", {"ward": k}, **ask)
                assert alike(one, two)
                made.append(one)
            assert alike(study.ask_many([f"p{k}-0"], **ask), client.ask_many([f"p{k}-0"], **ask))
            for d in made:
                told = outcome(d, rng)
                assert alike(*(result(partial(x.tell, d.id, *told)) for x in (study, client)))
        for look in ("certificate", "intervals", "recommend", "counts", "allocation", "blocks"):
            assert alike(*(result(getattr(x, look)) for x in (study, client))), look
        for look in ("active", "room", "arms", "outcome_names", "versions"):
            assert alike(*(result(partial(getattr, x, look)) for x in (study, client))), look
        assert timeless(study.history()) == timeless(client.history())
        assert timeless(study.pending()) == timeless(client.pending())
        assert client.history().columns == study.history().columns
        assert client.learner == repr(study.learner)


def wrong_calls(live):
    """Yield calls that are refused, and some that are not."""
    d = live.ask("one")
    yield lambda: live.tell(d.id, 0.5)
    yield lambda: live.tell(d.id, 0.5)
    for id in (0, -1, 99, 10**30, 1.0, 1.5, True, None, "1", d, [1], math.nan):
        yield lambda id=id: live.tell(id, 1.0)
        yield lambda id=id: live.tell_missing(id, "gone")
        yield lambda id=id: live.tell_many([(1, 0.5), (id, 1.0)])
    for reward in (1.5, -0.1, math.nan, math.inf, -math.inf, None, "1", [1.0], 10**400, 1j, True):
        yield lambda reward=reward: live.tell(d.id, reward)
    yield lambda: live.tell(d.id, 0.75)
    yield lambda: live.tell(d.id, np.float64(0.5))
    yield lambda: live.tell(np.int64(d.id), np.float32(0.5))
    yield lambda: live.tell(d.id)
    yield lambda: live.tell(d.id, 1.0, 2.0)
    yield lambda: live.tell(d.id, 1, 2, 3)
    yield lambda: live.tell_many([(d.id, 0.5, 1, 2)])
    for rows in (3, "ab", {1: 2.0}, [1], [(1,)], [(1, 0.5), (1, 0.25)], [(1, None, "")], []):
        yield lambda rows=rows: live.tell_many(rows)
    for reason in ("", 7, None, "x" * 10_001, "\ud800"):
        yield lambda reason=reason: live.tell_missing(d.id, reason)
    for key in ("", 7, b"x", "x" * 1001, "\ud800", ["a"]):
        yield lambda key=key: live.ask(key)
        yield lambda key=key: live.ask_many(["a", key])
    for many in (0, -1, 1.5, True, "ab", None, {"a": 1}, 10**8):
        yield lambda many=many: live.ask_many(many)
    for table in (
        3,
        "ab",
        {1: 2},
        {"a": math.nan},
        {"a": object()},
        {"a": {1, 2}},
        {"a": "\ud800"},
    ):
        yield lambda table=table: live.ask("other", table)
        yield lambda table=table: live.ask_many(["x", "y"], table)
    yield lambda: live.ask_many(["x", "y"], [{"a": 1}])
    yield lambda: live.ask("big", n=10**40, f=1e300, s="<b>\u2028\0", deep={"a": [1, None]})
    yield lambda: live.tell_block({0: (1, 1.0)}, "x")
    yield lambda: live.pending(older_than="x")
    yield lambda: live.pending(older_than=-1.0)
    yield lambda: live.pending(older_than=timedelta(days=1))
    yield lambda: live.history_page("x")
    yield lambda: live.history_page("1", 0)
    yield live.allocation


def test_both_refuse_the_same(serve, folder):
    with (
        uli.Study.open(folder / "alone.db", SE, ["a", "b", "c"]) as study,
        serve().client() as client,
    ):
        pairs = zip(wrong_calls(study), wrong_calls(client), strict=True)
        for number, (one, two) in enumerate(pairs):
            a, b = result(one), result(two)
            assert alike(a, b), (number, a, b)
        assert timeless(study.history()) == timeless(client.history())
        assert study.history()[-1].metadata["n"] == 10**40 == client.history()[-1].metadata["n"]


def test_both_refuse_the_same_of_blocks(serve, folder):
    learner = uli.BettingElimination(0.1)
    with (
        uli.Study.open(folder / "alone.db", learner, ["a", "b"]) as study,
        serve(learner, ("a", "b")).client() as client,
    ):
        fine = {"a": (4, 2.0), "b": (2, 1.0, 1)}
        odd = (
            3,
            {},
            {"c": (1, 1.0)},
            {"a": (1,)},
            {"a": (1, 9.0)},
            {"a": (1.5, 1.0)},
            {True: (1, 1)},
        )
        odd += ({"a": (1, math.nan)}, {"a": (10**30, 1.0)}, {"a": (2, 1.0, 3)}, {"a": "xy"})
        for sums in (*odd, fine, fine, {"a": (4, 1.0), "b": (2, 1.0)}):
            a, b = (result(partial(x.tell_block, sums, "monday")) for x in (study, client))
            assert alike(a, b), (sums, a, b)
        assert [x._replace(told="") for x in study.blocks()] == [
            x._replace(told="") for x in client.blocks()
        ]
        assert study.allocation() == client.allocation() and study.counts() == client.counts()


def all_errors():
    return [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.UliError)
    ]


@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: kind.__name__)
def test_every_error_arrives_as_what_it_was(kind):
    import msgspec

    given = kind("reward", "is odd: <b>") if issubclass(kind, ArgumentError) else kind("is odd")
    given.add_note("in outcomes[3]")
    status, content = problem(given)
    found = error_of(status, msgspec.json.encode(content))
    assert type(found) is kind and str(found) == str(given) and 400 <= status < 600
    assert found.__notes__ == ["in outcomes[3]"]
    if issubclass(kind, ArgumentError):
        assert (found.argument, found.problem) == ("reward", "is odd: <b>")
    assert content["type"] == type_of(kind) and content["title"] == kind.__name__


def test_the_types_of_problems_are_all_different_and_stay_what_they_are():
    types = [type_of(kind) for kind in all_errors()]
    assert len(set(types)) == len(types)
    assert type_of(errors.ConflictingRewardError) == "urn:uli-fast:problem:conflicting-reward"
    assert type_of(errors.UliError) == "urn:uli-fast:problem:uli"


def test_an_error_that_nobody_foresaw_says_nothing_of_itself():
    status, content = problem(RuntimeError("secret /etc/passwd"))
    assert status == 500 and "secret" not in str(content)


def test_the_same_requests_of_many_threads_give_the_same_arms(serve):
    served, made, failed = serve(), {}, []

    def work(number):
        try:
            with served.client(patience=PATIENCE) as client:
                for k in range(10):
                    one = client.ask(f"shared-{k}")
                    many = client.ask_many([f"batch-{k}-{i}" for i in range(4)])
                    made[number, k] = (one, *many)
                    client.tell_many([(d.id, 1.0) for d in made[number, k]])
        except BaseException as problem:
            failed.append(problem)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert failed == []
    for k in range(10):
        assert len({made[n, k] for n in range(8)}) == 1
    assert len(served.study.history()) == 50 and len(served.study.pending()) == 0
    assert served.study.head.sequence == 101


def test_asking_without_a_request_id_is_safe_to_repeat(serve):
    """The answer gets lost once: the client asks again, and there is one decision."""
    served = serve()
    with served.client(patience=PATIENCE) as client:
        once, lost = client._wire._once, []

        def losing(*args):
            found = once(*args)
            if not lost:
                lost.append(found)
                raise ConnectionResetError("lost on the way")
            return found

        client._wire._once = losing
        assert client.ask().id == 1 and len(lost) == 1
        assert [r.request_id[:7] for r in client.history()] == ["client-"]


def test_patience_has_an_end(serve):
    served = serve()
    url, client = served.url, uli.Client(served.url, patience=0.4)
    client.ask("a")
    served.close()
    with pytest.raises(StudyUnavailableError, match="cannot be reached"):
        client.ask("b")
    with pytest.raises(StudyUnavailableError):
        uli.Client(url, patience=0.0).ask("b")
    client.close()


@pytest.mark.parametrize(
    "url",
    ["", "trial.db", "ftp://a", "http://", "http://u:p@a", "http://a?x=1", "http://a b", 3, None,
     "http://a\r\nx: y", "http://a:99999", "http://ä", "http://a#x"],
)  # fmt: skip
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ArgumentError) as caught:
        uli.Client(url)
    assert caught.value.argument == "url"


@pytest.mark.parametrize("token", ["a\r\nx: y", "ä", 3, "a\0"])
def test_what_is_no_token_is_refused(token):
    with pytest.raises(ArgumentError) as caught:
        uli.Client("http://127.0.0.1:1", token)
    assert caught.value.argument == "token"


def test_a_closed_client_is_not_worth_another_try(serve):
    client = serve().client()
    client.ask("x")
    client.close()
    with pytest.raises(StudyError, match="closed") as caught:
        client.ask("x")
    assert not isinstance(caught.value, StudyUnavailableError)


def test_a_client_that_is_closed_during_a_call_leaves_no_connection(serve):
    client = serve().client()
    wire, made = client._wire, []

    def connected():  # by a thread that has found it open
        made.append(type(wire)._connected(wire))
        wire.close()
        return made[0]

    wire._connected = connected
    assert client.totals().decisions == 0
    assert made[0].sock is None


def test_two_threads_may_close_a_client(serve):
    class Emptied(dict):
        """By another thread, right after this one has looked."""

        def __len__(self):
            found = super().__len__()
            self.clear()
            return found

    client = serve().client()
    client._wire._open = Emptied({1: None})
    client.close()
    with pytest.raises(StudyError, match="closed"):
        client.totals()


def test_a_token_may_have_the_end_of_its_line(serve, roles):
    tokens, made = roles
    assert serve(tokens=tokens).client(made["drive"] + "\n").ask("x").id == 1


def test_a_wrong_token_is_an_access_error(serve, roles):
    tokens, made = roles
    served = serve(tokens=tokens)
    with pytest.raises(StudyAccessError):
        served.client("wrong").ask()
    with pytest.raises(StudyAccessError):
        served.client().ask()
    with pytest.raises(StudyAccessError, match="role drive"):
        served.client(made["read"]).ask()
    with pytest.raises(StudyAccessError, match="role read"):
        served.client(made["counts"]).counts()
    assert tuple(msgspec.structs.astuple(served.client(made["counts"]).totals())) == tuple(
        served.study.totals()
    )


def test_pages_of_the_history_are_the_history(serve, folder):
    served = serve()
    study, client = served.study, served.client()
    made = study.ask_many([f"p{i}" for i in range(57)])
    study.tell_many([(d.id, 1.0) for d in made[:40]])
    study.tell_missing(41, "gone")
    study.ask_many(3)
    for live in (study, client):
        for most in (1, 7, 60, 100):
            rows, after = [], ""
            while True:
                page, after = live.history_page(after, most)
                rows += page
                if not after:
                    break
                assert len(page) == most
            assert rows == study.history()
        assert live.history_page("10", 2)[0] == study.history()[10:12]
        assert live.history_page("10.3", 2)[0] == study.history()[10:12]  # a wrong hint
        assert live.history_page("60") == ([], "") and live.history_page("999999") == ([], "")


def test_a_page_reads_the_events_of_the_page_alone(serve, monkeypatch):
    study = serve().study
    made = study.ask_many(500)
    study.tell_many([(d.id, 1.0) for d in made])
    _, after = study.history_page("", 250)
    read, run = [], study._journal._run
    monkeypatch.setattr(study._journal, "_run", lambda *a: (read.append(run(*a)), read[-1])[1])
    assert len(study.history_page(after, 10)[0]) == 10
    assert sum(map(len, read)) <= 22


@pytest.mark.parametrize("path", ["/v1/blocks", "/v1/audit"])
def test_who_reads_the_whole_journal_lets_others_have_their_turn(serve, monkeypatch, path):
    served = serve(uli.BettingElimination(0.1))
    served.study.ask_many(3500)
    longest, look = [], Desk.look

    def counted(self, given):
        def timed(study):
            read, run = [], study._journal._run
            study._journal._run = lambda *a: (read.append(run(*a)), read[-1])[1]
            try:
                return given(study)
            finally:
                study._journal._run = run
                longest.append(sum(map(len, read)))

        return look(self, timed)

    monkeypatch.setattr(Desk, "look", counted)
    assert served.send("GET", path)[0] == 200
    assert len(longest) >= 4 and max(longest) <= 2100


def test_an_audit_whose_events_go_away_meanwhile_does_not_end_well(serve, monkeypatch):
    served = serve()
    served.study.ask_many(1500)
    read = uli.Study.events
    monkeypatch.setattr(uli.Study, "events", lambda *a, **k: [] if k["after"] else read(*a, **k))
    assert served.send("GET", "/v1/audit")[0] == 500


def test_an_audit_of_the_running_study_is_that_of_the_file(serve):
    served = serve()
    client = served.client()
    made = client.ask_many(1200)
    client.tell_many([(d.id, float(d.id % 2)) for d in made[:-5]])
    found = client.audit()
    assert found.events == client.head.sequence == 2396 and found.head == client.head.hash
    assert found.decisions == 1200 and found.statuses == {"reward": 1195, "pending": 5}
    path = served.study.path
    served.close()
    served.study.close()
    truth = uli.Study.audit(path)
    assert (truth.head, truth.certificate, truth.recommended) == (
        found.head,
        found.certificate,
        found.recommended,
    )
    assert [tuple(line) for line in truth.arms] == [
        (x.arm, x.active, x.rewards, x.missing, x.pending, x.mean, x.low, x.high)
        for x in found.arms
    ]


def test_an_outcome_is_refused_if_it_is_of_another_request(serve):
    """As when the service has an older state of its study than the client."""
    served = serve()
    client = served.client()
    one, two = client.ask_many(["fred", "gina"])
    for tell in (
        lambda: client.tell(one.id, 1.0, request_id="anna"),
        lambda: client.tell(one.id, 1.0, request_id="gina"),
        lambda: client.tell_missing(one.id, "moved", request_id="anna"),
        lambda: client.tell_many([(two.id, 1.0), (one.id, 1.0)], ["gina", "anna"]),
    ):
        with pytest.raises(uli.errors.UnknownDecisionError, match="ask again") as caught:
            tell()
        assert caught.value.argument == "request_id"
    body = {"decision_id": one.id, "reward": 1.0, "request_id": "anna"}
    assert served.send("POST", "/v1/tell", body)[0] == 404
    assert served.study.head.sequence == 3
    client.tell(one.id, 1.0, request_id="fred")
    client.tell_many([(two.id, None, "gone")], ["gina"])
    assert [r.status for r in client.history()] == ["reward", "missing"]
