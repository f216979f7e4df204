"""Who gets in, with how much, how fast; and what is never said back."""

import contextlib
import hmac
import json
import os
import re
import socket
import stat
import threading
import time

import pytest

from tests.service.conftest import SE
from tests.support.patience import PATIENCE, wait_until
from uli_fast.errors import ArgumentError, StudyDivergedError, StudyError
from uli_fast.service import tokens as tokens_module
from uli_fast.service.handlers import POLICY, Page
from uli_fast.service.limits import Limits, Rate
from uli_fast.service.routes import ROUTES, Route
from uli_fast.service.tokens import ROLES, Caller, Tokens, new_token
from uli_fast.study.study import Study

# What each operation may be sent, and what is fine as an answer where the study has nothing to say.
BODIES = {
    "ask": {"request_id": "x"},
    "ask_many": {"requests": ["x"]},
    "tell": {"decision_id": 1, "reward": 1.0},
    "tell_many": {"outcomes": [{"decision_id": 1, "reward": 1.0}]},
    "tell_missing": {"decision_id": 1, "reason": "gone"},
    "tell_block": {"block_id": "x", "sums": []},
}
# Written down by hand, so that a route that is let in by mistake is noticed here.
NEEDS = {
    "drive": {"ask", "ask_many", "tell", "tell_many", "tell_missing", "tell_block"},
    "read": {
        "allocation", "recommend", "certificate", "intervals", "active", "pending", "history",
        "blocks", "audit", "about", "head", "counts",
    },
    "counts": {"totals", "metrics"},
    "anybody": {"live", "ready"},
}  # fmt: skip


def operations(served):
    status, _, found = served.send("GET", "/openapi.json")
    assert status == 200 and found["openapi"] == "3.1.0"
    return {
        one["operationId"]: (method.upper(), path, one)
        for path, methods in found["paths"].items()
        for method, one in methods.items()
    }


def test_every_route_lets_in_whom_it_should_and_nobody_else(serve, roles):
    tokens, made = roles
    served = serve(tokens=tokens)
    served.study.ask("x")
    known = operations(served)
    assert set(known) == set().union(*NEEDS.values()), "a new route needs a role in NEEDS"
    described = {route.path for route in ROUTES} - {"/openapi.json"}
    assert {path for _, path, _ in known.values()} == described
    for needed, names in NEEDS.items():
        for name in sorted(names):
            method, path, about = known[name]
            assert about["x-role"] == needed
            assert ("security" in about) == (needed != "anybody")
            for role, token in [("anybody", None), *made.items()]:
                status, _, _ = served.send(method, path, BODIES.get(name), token)
                enough = ROLES.index(role) >= ROLES.index(needed)
                refused = 401 if token is None else 403
                assert (status not in (401, 403)) if enough else status == refused, (name, role)
                assert status < 500


def test_who_sees_counts_only_sees_nothing_that_tells_arms_apart(serve, roles):
    tokens, made = roles
    served = serve(tokens=tokens)
    d = served.study.ask("patient-1", {"secret": "metadata"})
    served.study.tell(d.id, 0.8125)
    for path in ("/v1/totals", "/metrics"):
        status, _, content = served.send("GET", path, token=made["counts"])
        text = content if isinstance(content, bytes) else json.dumps(content).encode()
        assert status == 200 and b"0.8125" not in text and b"patient" not in text
    _, _, content = served.send("GET", "/v1/totals", token=made["counts"])
    assert content == {"decisions": 1, "reward": 1, "missing": 0, "pending": 0, "oldest": None}


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Bearer  ", "Basic {}", "bearer{}", "{}", "Bearer x{}", "Bearer {}x",
     "Bearer {} {}", "Token {}", "Bearer \xff\xfe", "Bearer " + "x" * 8000],
)  # fmt: skip
def test_what_is_not_quite_a_token_is_none(serve, roles, header):
    tokens, made = roles
    served = serve(tokens=tokens)
    given = {"authorization": header.format(made["drive"], made["drive"]).encode("latin-1")}
    status, headers, content = served.send("GET", "/v1/counts", None, None, **given)
    assert status == 401 and headers["www-authenticate"] == "Bearer"
    assert content["status"] == 401 and made["drive"] not in str(content)


def test_a_wrong_token_takes_the_way_of_the_right_one(folder, monkeypatch):
    """Both are hashed, and compared with every token there is, all along their length."""
    path = folder / "tokens"
    right = [new_token(path, f"n{i}", "read") for i in range(3)]
    tokens, seen, compare = Tokens(path), [], hmac.compare_digest
    monkeypatch.setattr(
        tokens_module.hmac, "compare_digest", lambda a, b: (seen.append((a, b)), compare(a, b))[1]
    )
    for token in (*right, "wrong", "", "x" * 10_000, right[0][:-1]):
        seen.clear()
        assert (tokens.caller(token) is not None) == (token in right)
        assert len(seen) == 3 and all(len(a) == len(b) == 64 for a, b in seen)


def test_the_file_of_tokens_keeps_no_token_and_is_for_its_owner(folder):
    path = folder / "tokens"
    token = new_token(path, "ward-3", "drive")
    assert len(token) > 40 and token not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert re.fullmatch(r"ward-3 drive sha256:[0-9a-f]{64}\n", path.read_text())
    assert Tokens(path).caller(token) == Caller("ward-3", "drive")
    with pytest.raises(ArgumentError, match="already"):
        new_token(path, "ward-3", "read")
    for name in ("", "a b", "a\nb drive sha256:0", "../x", "x" * 65):
        with pytest.raises(ArgumentError) as caught:
            new_token(path, name, "read")
        assert caught.value.argument == "name"
    with pytest.raises(ArgumentError):
        new_token(path, "y", "root")


ZERO = f"sha256:{'0' * 64}\n"


@pytest.mark.parametrize(
    "content",
    ["", "# nobody\n", "a drive sha256:00\n", f"a root {ZERO}", "\xff", f"a read {ZERO}" * 2],
)
def test_a_file_that_is_no_file_of_tokens_is_refused(folder, content):
    path = folder / "tokens"
    path.write_text(content, "latin-1")
    path.chmod(0o600)
    with pytest.raises(StudyError):
        Tokens(path)


def test_a_file_of_tokens_that_others_may_write_to_is_refused(folder):
    path = folder / "tokens"
    new_token(path, "a", "read")
    path.chmod(0o666)
    with pytest.raises(StudyError, match="chmod 600"):
        Tokens(path)


def test_whoever_is_taken_out_of_the_file_is_out(folder, monkeypatch):
    monkeypatch.setattr(tokens_module, "LOOKS", 0.0)
    path = folder / "tokens"
    first, second = new_token(path, "first", "read"), new_token(path, "second", "read")
    tokens = Tokens(path)
    path.write_text(path.read_text().splitlines()[1] + "\n")
    assert tokens.caller(first) is None and tokens.caller(second).name == "second"
    path.write_text("nonsense")
    with pytest.raises(StudyError):
        tokens.caller(second)
    with pytest.raises(StudyError):
        tokens.caller(second)


def test_a_file_that_looks_unchanged_is_read_again(folder, monkeypatch):
    """As where a copy keeps the times of its source: size, time and place are the same."""
    monkeypatch.setattr(tokens_module, "LOOKS", 0.0)
    path = folder / "tokens"
    token = new_token(path, "first", "read")
    tokens, before = Tokens(path), path.stat()
    assert tokens.caller(token).role == "read"
    text = path.read_text()
    while path.stat().st_ctime_ns == before.st_ctime_ns:  # clocks of files are coarse
        path.write_text(text[:-2] + ("0\n" if text[-2] != "0" else "1\n"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_mtime_ns, path.stat().st_size) == (before.st_mtime_ns, before.st_size)
    assert tokens.caller(token) is None


def test_a_name_that_is_added_by_two_at_once_is_there_once(folder, monkeypatch):
    """Both look before either writes: with the name there twice, nobody would be let in."""
    path, looked, look = folder / "tokens", threading.Barrier(2), tokens_module._known
    new_token(path, "first", "read")

    def slow(target):
        found = look(target)
        with contextlib.suppress(threading.BrokenBarrierError):
            looked.wait(0.5)  # for the other one, who does not come if the file is locked
        return found

    monkeypatch.setattr(tokens_module, "_known", slow)
    made = []

    def add():
        try:
            made.append(new_token(path, "second", "drive"))
        except ArgumentError as problem:
            made.append(problem)

    threads = [threading.Thread(target=add) for _ in range(2)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    (token,) = (one for one in made if isinstance(one, str))
    assert Tokens(path).caller(token) == Caller("second", "drive")
    assert sorted(x.name for x in folder.iterdir()) == ["tokens"]


def test_without_its_file_nobody_is_let_in(folder):
    path = folder / "tokens"
    token = new_token(path, "first", "read")
    tokens, moved = Tokens(path), folder / "moved"
    path.rename(moved)
    for _ in range(2):
        with pytest.raises(StudyError):
            tokens.caller(token)
    moved.rename(path)
    assert tokens.caller(token).name == "first"
    path.write_text("nonsense")
    tokens._next = 0.0
    for _ in range(2):
        with pytest.raises(StudyError):
            tokens.caller(token)


def test_a_token_is_added_to_a_file_whose_last_line_has_no_end(folder):
    path = folder / "tokens"
    first = new_token(path, "first", "read")
    path.write_text(path.read_text().rstrip("\n"))
    second = new_token(path, "second", "drive")
    tokens = Tokens(path)
    assert [tokens.caller(one).name for one in (first, second)] == ["first", "second"]


# Sizes, speeds, numbers.


def raw(served, *parts, pause=0.0):
    """Send bytes as they are, part by part; return all that comes back."""
    with socket.create_connection(("127.0.0.1", served.port), PATIENCE) as connection:
        answer = b""
        try:
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
            while piece := connection.recv(65536):
                answer += piece
        except ConnectionError:  # cut off before all was sent: the answer may be lost, too
            answer += b"!cut off"
        return answer


HEAD = b"POST /v1/ask HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


def test_a_body_that_is_too_long_is_refused_before_it_is_read(serve):
    served = serve(limits=Limits(body=1000))
    answer = raw(served, HEAD + b"content-length: 1001\r\n\r\n")  # not a byte of it is sent
    assert answer.startswith(b"HTTP/1.1 413") and b"connection: close" in answer
    for length in (b"99999999999999999999999", b"-1", b"1x", b"+5"):
        answer = raw(served, HEAD + b"content-length: " + length + b"\r\n\r\n")
        assert answer[:12] in (b"HTTP/1.1 413", b"HTTP/1.1 400")
    fine = {"metadata": {"x": "y" * 900}}
    assert served.send("POST", "/v1/ask", fine)[0] == 200
    assert served.send("POST", "/v1/ask", {"metadata": {"x": "y" * 1000}})[0] == 413


def test_a_short_request_does_not_become_a_long_journal(serve):
    served = serve(limits=Limits(recorded=1000))
    about = {"x": "y" * 90}
    for requests in (10, [f"p{i}" for i in range(10)]):
        body = {"requests": requests, "metadata": about}
        assert served.send("POST", "/v1/ask-many", body)[0] == 200
        body["metadata"] = {"x": "y" * 100}
        status, _, content = served.send("POST", "/v1/ask-many", body)
        assert status == 422 and content["argument"] == "metadata"
    assert served.study.head.sequence == 21


def test_a_body_without_a_length_is_cut_off_too(serve):
    served = serve(limits=Limits(body=1000))
    chunk = b"190\r\n" + b" " * 400 + b"\r\n"
    answer = raw(served, HEAD + b"transfer-encoding: chunked\r\n\r\n", *[chunk] * 4, pause=0.02)
    assert b"HTTP/1.1 413" in answer or b"!cut off" in answer
    small = b"2\r\n{}\r\n0\r\n\r\n"
    answer = raw(served, HEAD + b"connection: close\r\ntransfer-encoding: chunked\r\n\r\n", small)
    assert answer.startswith(b"HTTP/1.1 200")
    both = b"transfer-encoding: chunked\r\ncontent-length: 2\r\nconnection: close\r\n\r\n"
    assert not raw(served, HEAD + both, b"{}\r\n").startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("path", [b"GET /health/live", b"GET /nowhere", b"GET /", b"POST /v1/ask"])
def test_where_a_length_is_said_twice_no_second_request_is_read(serve, path):
    """A proxy that believes the one takes for a body what the service would take for a request."""
    served = serve()
    head = path + HEAD.removeprefix(b"POST /v1/ask")
    both = b"transfer-encoding: chunked\r\ncontent-length: 12\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    answer = raw(served, head + both + b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n")
    assert answer.count(b"HTTP/1.1 ") == 1
    apart = head + b"content-length: 2\r\n\r\n{}"
    kept = raw(served, apart, apart.replace(b"\r\nhost", b"\r\nconnection: close\r\nhost"))
    assert kept.count(b"HTTP/1.1 ") == (1 if path == b"GET /nowhere" else 2)


def test_a_slow_head_is_cut_off(serve):
    served = serve(limits=Limits(head_seconds=0.3))
    assert raw(served).startswith(b"HTTP/1.1 408")  # connects, and says nothing
    # A line at a time, for a minute and more: only the service can end that.
    answer = raw(served, *[b"GET /health/live HTTP/1.1\r\n", *[b"x: y\r\n"] * 1200], pause=0.05)
    assert b"!cut off" in answer
    # A kept connection whose second request trickles; on a busy machine the first is late, too.
    fine = b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n"
    answers = (raw(served, fine, b"GET /health", pause=0.1) for _ in range(100))
    answer = next(x for x in answers if b"HTTP/1.1 200" in x)
    assert answer.count(b"HTTP/1.1 200") == 1 and answer.count(b"HTTP/1.1 408") == 1


def test_a_slow_body_is_cut_off(serve):
    served = serve(limits=Limits(body_seconds=0.3))
    answer = raw(served, HEAD + b"content-length: 10\r\n\r\n", b"{", pause=0.1)
    assert answer.startswith(b"HTTP/1.1 408") and b"connection: close" in answer


@pytest.mark.parametrize("path", [b"/health/live", b"/", b"/static/watch.js"])
@pytest.mark.parametrize("body", [b"content-length: 1000", b"transfer-encoding: chunked"])
def test_a_body_that_nobody_wants_is_not_waited_for(serve, path, body):
    head = b"GET " + path + b" HTTP/1.1\r\nhost: localhost\r\n" + body + b"\r\n\r\n"
    answer = raw(serve(), head, b"1", pause=0.2)
    assert answer.startswith(b"HTTP/1.1 200") or answer == b"!cut off"


def test_who_does_not_read_the_answer_is_cut_off(serve):
    page = Route("GET", "/page", "anybody", a_long_page)
    served = serve(limits=Limits(answer_seconds=0.3), routes=(page,))
    with socket.create_connection(("127.0.0.1", served.port)) as one:
        one.sendall(b"GET /page HTTP/1.1\r\nhost: localhost\r\n\r\n")
        wait_until(lambda: served.server.server_state.connections)
        wait_until(lambda: not served.server.server_state.connections)
    # Who reads is not, however slowly a machine lets them, by the limit that there is by default.
    status, _, content = serve(routes=(page,)).send("GET", "/page")
    assert status == 200 and len(content) == 2**25


async def a_long_page(request):
    """Show much."""
    return Page(bytes(2**25), "text/plain")


def test_a_head_that_is_too_long_is_refused(serve):
    answer = raw(serve(), b"GET /health/live HTTP/1.1\r\n" + b"x: y\r\n" * 10_000 + b"\r\n")
    assert b"HTTP/1.1 400" in answer or b"!cut off" in answer


def test_what_is_no_http_is_answered_like_everything_else(serve):
    answer = raw(serve(), b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400") and b"application/problem+json" in answer
    assert b"nosniff" in answer


def test_too_many_connections_are_told_so(serve, roles):
    tokens, made = roles
    served = serve(tokens=tokens, limits=Limits(connections=2))
    head = f"GET /v1/counts HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {made['read']}"
    held = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(2)]
    try:
        for one in held:
            one.sendall(f"{head}\r\n\r\n".encode())
            assert one.recv(100).startswith(b"HTTP/1.1 200")
        assert raw(served).startswith(b"HTTP/1.1 503")
    finally:
        for one in held:
            one.close()
    wait_until(lambda: not served.server.server_state.connections)
    assert served.send("GET", "/health/live")[0] == 200


def test_too_many_requests_are_told_when_to_come_back(serve, roles):
    tokens, made = roles
    served = serve(tokens=tokens, limits=Limits(rate=1e-6))  # one, and the next in eleven days
    found = [served.send("GET", "/v1/counts", token=made["read"]) for _ in range(3)]
    assert [status for status, _, _ in found] == [200, 429, 429]
    assert 0.9e6 < int(found[-1][1]["retry-after"]) <= 1e6
    assert served.send("GET", "/v1/counts", token=made["drive"])[0] == 200  # somebody else's


def test_a_bucket_fills_with_time():
    now = [0.0]
    rate = Rate(2.0, lambda: now[0])
    assert [rate.take("a") for _ in range(3)] == [0.0, 0.0, 0.5]
    now[0] = 0.5
    assert rate.take("a") == 0.0 and rate.take("a") == 0.5
    now[0] = 100.0
    assert [rate.take("a") for _ in range(3)] == [0.0, 0.0, 0.5]


def test_a_full_desk_sends_people_away(serve):
    served, gate, begun = serve(limits=Limits(queued=3)), threading.Event(), threading.Event()
    slow = served.study.together
    served.study.together = lambda calls: (begun.set(), gate.wait(PATIENCE), slow(calls))[2]
    found = []

    def ask(i):
        found.append(served.send("POST", "/v1/ask", {"request_id": f"p{i}"}))

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
    threads[0].start()
    assert begun.wait(PATIENCE)
    [t.start() for t in threads[1:]]
    try:
        wait_until(lambda: len(found) == 4)  # one is being served, three wait
    except AssertionError:
        gate.set()
        raise
    assert {status for status, _, _ in found} == {503}
    assert all(headers["retry-after"] == "1" for _, headers, _ in found)
    gate.set()
    [t.join() for t in threads]
    assert sorted(status for status, _, _ in found) == [200] * 4 + [503] * 4
    assert len(served.study.history()) == 4


def test_what_waited_shares_a_commit(serve):
    served, gate = serve(), threading.Event()
    calls, slow = [], served.study.together

    def together(given):
        calls.append(len(given))
        gate.wait(PATIENCE)
        return slow(given)

    served.study.together = together
    asks = [threading.Thread(target=served.send, args=("POST", "/v1/ask", {})) for _ in range(9)]
    asks[0].start()
    wait_until(lambda: calls)
    [t.start() for t in asks[1:]]
    wait_until(lambda: served.service.desk.waiting == 8)
    gate.set()
    [t.join() for t in asks]
    assert calls == [1, 8] and served.study.head.sequence == 10


def test_one_call_that_fails_in_the_oddest_way_keeps_no_answer_from_the_others(serve):
    served, gate, begun = serve(), threading.Event(), threading.Event()
    slow, found = served.study.together, {}

    def together(calls):
        begun.set()
        gate.wait(PATIENCE)
        return [StopIteration() if "odd" in call else slow([call])[0] for call in calls]

    def ask(name):
        found[name] = served.send("POST", "/v1/ask", {"request_id": name})[0]

    served.study.together = together
    names = ["first", "odd", "a", "b", "c"]
    asks = [threading.Thread(target=ask, args=(name,)) for name in names]
    asks[0].start()
    assert begun.wait(PATIENCE)
    for i, one in enumerate(asks[1:], 1):  # in this order
        one.start()
        wait_until(lambda i=i: served.service.desk.waiting == i)
    gate.set()
    [t.join() for t in asks]
    assert found == {name: 500 if name == "odd" else 200 for name in names}


def test_what_was_queued_at_a_stop_is_answered(serve):
    served, gate = serve(), threading.Event()
    slow, found, begun = served.study.together, [], threading.Event()
    served.study.together = lambda calls: (begun.set(), gate.wait(PATIENCE), slow(calls))[2]
    asks = [
        threading.Thread(target=lambda: found.append(served.send("POST", "/v1/ask", {})))
        for _ in range(6)
    ]
    asks[0].start()
    assert begun.wait(PATIENCE)
    [t.start() for t in asks[1:]]
    wait_until(lambda: served.service.desk.waiting == 5)
    served.server.should_exit = True
    threading.Timer(0.3, gate.set).start()
    [t.join() for t in asks]
    served.close()
    assert [status for status, _, _ in found] == [200] * 6
    assert len(served.study.history()) == 6


# What is said back.

NASTY = [
    "<script>alert(1)</script>",
    "a\r\nset-cookie: x=y",
    "'; DROP TABLE event; --",
    "../../etc/passwd",
    "%2e%2e%2f\0",
    "{{7*7}}",
    "\u202egnp.exe",
]


@pytest.mark.parametrize("text", NASTY)
def test_names_and_ids_stay_what_they_are(serve, text):
    served = serve(arms=(text, "other"))
    client = served.client()
    d = client.ask(text, {"note": text, text: text})
    assert (d.arm, client.ask(text)) == (text, d)
    client.tell_missing(d.id, text)
    record = client.history()[0]
    assert (record.request_id, record.reason, record.metadata["note"]) == (text, text, text)
    assert record == served.study.history()[0] and client.arms == (text, "other")
    for path in (f"/v1/{text}", f"/{text}", f"/v1/history?after={text}", f"/v1/counts?{text}=1"):
        quoted = re.sub(r"[^\x21-\x7e]", lambda m: f"%{ord(m[0]) % 256:02x}", path)
        status, headers, _ = served.send("GET", quoted)
        assert status in (404, 422) and "set-cookie" not in headers
        assert headers["content-type"] == "application/problem+json"
    assert client.audit().events == 3


def test_every_answer_has_the_headers_that_keep_it_harmless(serve, roles):
    tokens, made = roles
    page = Route("GET", "/page", "anybody", a_page)
    served = serve(tokens=tokens, routes=(page,))
    asked = [
        ("GET", "/v1/counts", made["read"]),
        ("GET", "/v1/counts", None),
        ("GET", "/nothing", None),
        ("DELETE", "/v1/ask", None),
        ("OPTIONS", "/v1/ask", None),
        ("GET", "/metrics", made["read"]),
        ("GET", "/openapi.json", None),
        ("GET", "/page", None),
        ("POST", "/v1/tell", made["drive"]),
    ]
    for method, path, token in asked:
        _, headers, _ = served.send(method, path, b"{" if method == "POST" else None, token)
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        policy = headers["content-security-policy"]
        assert policy == (POLICY if path != "/page" else "default-src 'self'")
        assert "server" not in headers and "access-control-allow-origin" not in headers
    status, headers, _ = served.send("DELETE", "/v1/ask")
    assert status == 405 and headers["allow"] == "POST"


async def a_page(request):
    """Show something."""
    return Page(b"<p>", "text/html; charset=utf-8", "default-src 'self'")


def test_the_log_has_no_token_and_no_name_of_a_stranger(serve, roles, caplog):
    tokens, made = roles
    served = serve(tokens=tokens)
    with caplog.at_level("INFO"):
        served.send("GET", "/v1/counts?x=%0aforged", token=made["read"])
        served.send("GET", "/v1/counts", token=made["drive"] + "x")
        served.send("GET", "/odd%0d%0apath", token=made["drive"])
        served.close()  # a line is written after its answer
    lines = [record.getMessage() for record in caplog.records if "uli_fast" in record.name]
    assert len(lines) == 3 and "GET /v1/counts 422 a.read" in lines[0]
    assert not any(token in line for token in made.values() for line in lines)
    assert not any("forged" in line or "odd" in line or "\n" in line for line in lines)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"3", b'"x"', b"\xff", b'{"request_id": 1}', b'{"unknown": 1}',
     b'{"request_id": "\\ud800"}', b'{"metadata": {"a": NaN}}', b'{"metadata": {"a": 1e999}}',
     b'{"metadata": ' + b'{"a":' * 3000 + b"1" + b"}" * 3001, b'{"metadata": {"a": ' + b"[" * 10**5,
     b'{"state": "x"}', b'{"metadata": 3}'],
)  # fmt: skip
def test_nonsense_is_refused_with_a_reason(serve, body):
    status, headers, content = serve().send("POST", "/v1/ask", body)
    assert status == 422 and headers["content-type"] == "application/problem+json"
    assert content["type"].startswith("urn:uli-fast:problem:") and content["argument"]


@pytest.mark.parametrize(
    "body",
    [b'{"decision_id": 1, "reward": 1.0, "reward": 0.0}',
     b'{"decision_id": 2, "reward": 1.0, "decision_id": 1}'],
)  # fmt: skip
def test_a_name_that_stands_twice_is_refused(serve, body):
    """A proxy that checks the first and a service that takes the last would not agree."""
    served = serve()
    served.study.ask("x")
    status, _, content = served.send("POST", "/v1/tell", body)
    assert status == 422 and "twice" in content["detail"]
    inside = b'{"metadata": {"ward": [{"a": 1, "b": 2, "a": 1}]}}'
    assert served.send("POST", "/v1/ask", inside)[0] == 422
    assert served.study.head.sequence == 2


@pytest.mark.parametrize("levels", [51, 300, 940, 974])
@pytest.mark.parametrize("marks", [(b"[", b"]"), (b'{"a":', b"}")])
def test_what_is_nested_too_deeply_is_refused_at_the_door(serve, levels, marks):
    served = serve()
    fine, deep = (marks[0] * k + b"1" + marks[1] * k for k in (48, levels))
    ask = b'{"request_id": "p", "metadata": {"a": %s}}'
    for path, body in (
        ("ask", ask % deep),
        ("ask-many", b'{"requests": 2, "metadata": [{}, {"a": %s}]}' % deep),
        ("tell", b'{"decision_id": 1, "reward": %s}' % deep),
        ("tell-block", b'{"block_id": "b", "sums": [{"arm": 1, "plays": %s, "total": 1}]}' % deep),
    ):
        status, _, content = served.send("POST", f"/v1/{path}", body)
        assert status in (404, 409, 422) and "something went wrong" not in str(content)
    assert served.study.head.sequence == 1
    assert served.send("POST", "/v1/ask", ask % fine)[0] == 200
    for path in ("history", "pending", "audit"):
        assert served.send("GET", f"/v1/{path}")[0] == 200


@pytest.mark.parametrize("path", ["/v1/tell", "/v1/tell-many"])
def test_an_outcome_is_a_reward_or_an_episode_and_nothing_else(serve, path):
    served = serve()
    served.study.ask("x")
    given = ({}, {"states": 1.0}, {"actions": 1.0}, {"reward": 1.0, "states": [0]}, {"states": [0]})
    for more in (*given, {"states": [0], "actions": [0]}, {"reward": 1.0, "reason": "x"}):
        told = {"decision_id": 1, **more}
        status, _, _ = served.send("POST", path, told if path[-1] == "l" else {"outcomes": [told]})
        assert status == 422
    assert len(served.study.pending()) == 1


@pytest.mark.parametrize("path", ["/v1/tell", "/v1/tell-many"])
def test_an_episode_without_states_is_not_taken_for_an_outcome_that_never_comes(serve, path):
    served = serve()
    served.study.ask("x")
    for more in ({"states": None, "actions": "abc"}, {"states": "abc", "actions": None}):
        told = {"decision_id": 1, **more}
        status, _, _ = served.send("POST", path, told if path[-1] == "l" else {"outcomes": [told]})
        assert status == 422
    assert len(served.study.pending()) == 1


@pytest.mark.parametrize("path", ["/v1/tell", "/v1/tell-many"])
@pytest.mark.parametrize("reward", [False, True])
def test_yes_and_no_are_no_rewards_in_json(serve, path, reward):
    served = serve()
    served.study.ask("x")
    told = {"decision_id": 1, "reward": reward}
    status, _, content = served.send(
        "POST", path, told if path[-1] == "l" else {"outcomes": [told]}
    )
    assert (status, content["argument"]) == (422, "reward")
    with served.client() as client:
        client.tell(1, reward)  # as a study takes it
    assert served.study.history()[0].reward == float(reward)


def test_what_is_refused_of_one_outcome_is_called_as_in_its_body(serve):
    served = serve()
    served.study.ask("x")
    told = {"decision_id": 1, "reward": 1.0, "request_id": "y" * 1001}
    status, _, content = served.send("POST", "/v1/tell", told)
    assert (status, content["argument"]) == (422, "request_id")


def test_what_is_not_json_by_name_is_refused(serve):
    for media in ("text/plain", "application/x-www-form-urlencoded", ""):
        headers = {"content-type": media}
        assert serve().send("POST", "/v1/ask", b"{}", None, **headers)[0] == 415


def test_a_failure_that_nobody_foresaw_is_a_problem_without_a_stack(serve, caplog):
    served = serve()
    served.study.together = lambda calls: [RuntimeError("secret")] * len(calls)
    served.study.__dict__["_replay"], kept = None, served.study._replay
    status, _, content = served.send("POST", "/v1/ask", {})
    again = served.send("GET", "/v1/counts")
    served.study.__dict__["_replay"] = kept
    assert status == 500 and "secret" not in str(content) and "Traceback" not in str(content)
    assert again[0] == 500 and "secret" in caplog.text
    assert served.send("GET", "/v1/counts")[0] == 200


@pytest.mark.parametrize("limit", ["0000000019", "0000000010000", "000000001" + "0" * 5000])
def test_the_size_of_a_page_has_few_digits(serve, limit):
    for path in ("history", "pending"):
        status, _, content = serve().send("GET", f"/v1/{path}?limit={limit}")
        assert status == 422 and content["argument"] == "limit"


def test_errors_of_the_study_tell_the_blinded_and_strangers_nothing(serve, roles, monkeypatch):
    tokens, made = roles
    served = serve(tokens=tokens)

    def fails(self, to_write=False):
        raise StudyDivergedError("decision 7 was 'secret-arm', and comes out as 'other'")

    monkeypatch.setattr(Study, "_get_ready", fails)
    for path, token in (("totals", "counts"), ("head", "read"), ("head", "drive")):
        status, _, content = served.send("GET", f"/v1/{path}", token=made[token])
        assert (status, content["type"].rpartition(":")[2]) == (500, "study-diverged")
        assert ("secret-arm" in content["detail"]) is (token != "counts")
    for path, token in (("/health/ready", None), ("/metrics", made["counts"])):
        status, _, content = served.send("GET", path, token=token)
        assert status == 500 and "secret-arm" not in str(content)


def test_a_study_that_is_closed_under_the_service_is_not_ready(serve):
    served = serve()
    assert served.send("GET", "/health/ready")[0] == 200
    served.study.close()
    assert served.send("GET", "/health/ready")[0] == 503
    assert served.send("GET", "/health/live")[0] == 200
    status, headers, content = served.send("POST", "/v1/ask", {})
    assert status == 503 and content["title"] == "StudyError" and "retry-after" in headers


def test_metrics_count_what_happened(serve):
    served = serve()
    client = served.client()
    client.tell(client.ask_many(3)[0].id, 1.0)
    _, headers, content = served.send("GET", "/metrics")
    text = content.decode()
    assert headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'uli_requests_total{method="POST",route="/v1/ask-many",status="200"} 1' in text
    assert 'uli_request_seconds_bucket{route="/v1/tell",le="+Inf"} 1' in text
    assert "uli_commit_calls_count 2" in text and "uli_events 5" in text
    assert "uli_decisions_awaited 2" in text and "uli_queue_length 0" in text
    for line in text.splitlines():
        assert re.fullmatch(
            r'# (HELP|TYPE) .*|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? \S+', line
        )


def test_nothing_is_shared_between_two_services(serve):
    one, two = serve(), serve(SE, ("x", "y"))
    one.client().ask("a")
    assert len(two.study.history()) == 0 and two.client().arms == ("x", "y")
    assert os.path.basename(one.study.path) != os.path.basename(two.study.path)
