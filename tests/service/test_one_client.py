"""What one client sends, however much of it and however often, is in nobody else's way."""

import contextlib
import http.client
import json
import os
import re
import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest

import uli_fast as uli
from tests.service.conftest import SE
from tests.service.test_running import Command
from tests.support.patience import PATIENCE, wait_until
from uli_fast.service.limits import Limits

FINE = b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n"


@contextlib.contextmanager
def connections(served):
    """Make connections, and close them at the end."""
    with contextlib.ExitStack() as stack:

        def connect(said=b""):
            made = stack.enter_context(
                socket.create_connection(("127.0.0.1", served.port), PATIENCE)
            )
            made.sendall(said)
            return made

        yield connect


def until_in_time(shake):
    """Return what comes of a handshake; a busy machine may be too late for its end."""

    def tried():
        with contextlib.suppress(OSError, http.client.HTTPException):
            return shake()

    return wait_until(tried)


def has_ended(connection):
    """Return whether the service closes a connection."""
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


# Connections.


@pytest.mark.parametrize(
    "said",
    [b"", b"GET /health", FINE, b"POST /sign-in HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n"],
    ids=["silent", "a part of a head", "kept", "a body that does not come"],
)
def test_strangers_who_stay_are_not_in_the_way_of_who_has_a_token(serve, roles, said):
    tokens, made = roles
    served = serve(tokens=tokens, limits=Limits(connections=8))
    with connections(served) as connect:
        held = [connect(said) for _ in range(8)]
        if said == FINE:
            assert all(one.recv(100).startswith(b"HTTP/1.1 200") for one in held)
        for i in range(3):  # each on a connection of its own
            status, _, found = served.send("POST", "/v1/ask", {"request_id": "q"}, made["drive"])
            assert (status, found["id"]) == (200, 1), i
        assert has_ended(held[0])  # who came first


def test_who_has_shown_a_token_stays(serve, roles):
    tokens, made = roles
    served = serve(tokens=tokens, limits=Limits(connections=4))
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", served.port, 20)) as mine:

        def counts():
            mine.request("GET", "/v1/counts", headers={"authorization": f"Bearer {made['read']}"})
            answer = mine.getresponse()
            answer.read()
            return answer.status

        assert counts() == 200
        first = mine.sock
        with connections(served) as connect:
            for _ in range(12):
                assert connect(FINE).recv(100).startswith(b"HTTP/1.1 200")
            assert counts() == 200 and mine.sock is first


def test_a_wrong_token_is_no_token(serve, roles):
    tokens, made = roles
    served = serve(tokens=tokens, limits=Limits(connections=4))
    said = FINE.replace(b"/health/live", b"/v1/counts").replace(b"\r\n\r\n", b"\r\nauthorization: ")
    with connections(served) as connect:
        for _ in range(4):
            connect(said + b"Bearer uli_wrong\r\n\r\n" + FINE)
        assert served.send("GET", "/v1/counts", token=made["read"])[0] == 200


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for this machine and its key, of nobody's."""
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1"],
        capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("openssl is not here")
    return cert, key


@pytest.fixture
def encrypted(serve, roles, certificate):
    """Serve over TLS; return how to, and what sends a request with a token."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    tokens, made = roles

    def make(**limits):
        served = serve(tokens=tokens, limits=Limits(**limits), tls=(context,))
        trusted = ssl.create_default_context(cafile=certificate[0])

        def send(method, path, body=None):
            given = {"authorization": f"Bearer {made['drive']}", "content-type": "application/json"}
            mine = http.client.HTTPSConnection(
                "127.0.0.1", served.port, timeout=PATIENCE, context=trusted
            )
            with contextlib.closing(mine):
                mine.request(method, path, body, given)
                answer = mine.getresponse()
                answer.read()
                return answer.status

        return served, send, trusted

    return make


@pytest.mark.parametrize("said", [b"", b"\x16\x03\x01\x02\x00\x01\x00"], ids=["silent", "a part"])
def test_who_does_not_shake_hands_is_in_nobody_s_way(encrypted, said):
    served, send, _ = encrypted(connections=8)
    with connections(served) as connect:
        held = []
        for _ in range(5):
            held += [connect(said) for _ in range(10)]
            assert send("POST", "/v1/ask", b'{"request_id": "q"}') == 200
        assert all(has_ended(one) for one in held[:-8])


def test_a_handshake_has_an_end(encrypted):
    served, send, trusted = encrypted(head_seconds=0.3)
    with connections(served) as connect:
        assert has_ended(connect())
        assert has_ended(connect(FINE))  # not encrypted
        assert has_ended(connect(b"\x16\x03\x01\x02\x00\x01\x00"))
        shaken = lambda: trusted.wrap_socket(connect(), server_hostname="127.0.0.1")  # noqa: E731
        with until_in_time(shaken) as silent:
            assert silent.recv(1000).startswith(b"HTTP/1.1 408")
    long = b'{"metadata": {"x": "%s"}}' % (b"y" * 900_000)
    assert until_in_time(lambda: send("POST", "/v1/ask", long)) == 200


def test_a_request_that_comes_with_the_end_of_the_handshake_is_answered(encrypted):
    served, _, trusted = encrypted()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    mine = trusted.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    with connections(served) as connect:
        way = connect()
        while True:
            try:
                mine.do_handshake()
                break
            except ssl.SSLWantReadError:
                way.sendall(outgoing.read())
                incoming.write(way.recv(65536))
        mine.write(FINE)
        way.sendall(outgoing.read())  # the last of the handshake and the request, at once
        answer = b""
        while not answer:
            incoming.write(way.recv(65536))
            with contextlib.suppress(ssl.SSLWantReadError):
                answer = mine.read()
        assert answer.startswith(b"HTTP/1.1 200")


def test_a_stop_does_not_wait_for_handshakes_for_long(encrypted):
    served, send, _ = encrypted(head_seconds=0.5)
    with connections(served) as connect:
        connect()
        assert until_in_time(lambda: send("GET", "/v1/counts")) == 200
        served.close()  # it would wait as long as that connection is kept


# Sizes and numbers.


@pytest.fixture
def gate():
    """What work waits for; it goes on at the end, however that comes."""
    made = threading.Event()
    yield made
    made.set()


def started(call, *given):
    """Call in a thread that keeps no process from ending."""
    made = threading.Thread(target=call, args=given, daemon=True)
    made.start()
    return made


def test_large_requests_do_not_share_a_commit_and_small_ones_go_on(serve, gate):
    """What amplifies: a short request for many decisions, with metadata kept for each."""
    served = serve(limits=Limits(together=2**20, waiting=3 * 2**20, rate=1e6))
    slow, commits = served.study.together, []

    def together(calls):
        gate.wait(PATIENCE)
        found = slow(calls)
        made = [len(one) for one in found if isinstance(one, list)]
        commits.append(sum(made))
        return found

    served.study.together = together
    large = {"requests": 500, "metadata": {"x": "y" * 1500}}  # a megabyte of events
    answers = []
    send = lambda path, body: answers.append((path, served.send("POST", path, body)[0]))  # noqa: E731
    threads = [started(send, "/v1/ask-many", large) for _ in range(8)]
    wait_until(lambda: len([a for a in answers if a[1] == 503]) == 5)
    small = [started(send, "/v1/ask", {"request_id": "q"}) for _ in range(9)]
    wait_until(lambda: served.service.desk.waiting == 2 + 9)
    gate.set()
    [t.join() for t in threads + small]
    assert sorted(answers) == (
        [("/v1/ask", 200)] * 9 + [("/v1/ask-many", 200)] * 3 + [("/v1/ask-many", 503)] * 5
    )
    assert max(commits) == 500 and served.send("POST", "/v1/ask-many", large)[0] == 200


def test_health_is_told_however_often_others_ask(serve, roles):
    tokens, _ = roles
    served = serve(tokens=tokens, limits=Limits(rate=1e-6))
    found = [served.send("GET", "/openapi.json")[0] for _ in range(6)]
    assert 429 in found  # of strangers
    for path in ("/health/live", "/health/ready"):
        assert [served.send("GET", path)[0] for _ in range(20)] == [200] * 20


def test_all_who_ask_whether_it_is_ready_are_told_at_once(serve, gate):
    """They take one place at the desk, however many they are: others have the rest."""
    served = serve(limits=Limits(queued=4))
    entered, answers = threading.Event(), []
    served.service.desk.look(lambda _: (entered.set(), gate.wait(PATIENCE)))
    entered.wait(PATIENCE)
    ready = lambda: answers.append(served.send("GET", "/health/ready")[0])  # noqa: E731
    threads = [started(ready) for _ in range(12)]
    wait_until(lambda: len(served.server.server_state.tasks) == 12)
    assert served.service.desk.waiting <= 1
    gate.set()
    [t.join() for t in threads]
    assert answers == [200] * 12


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
def test_memory_stays_flat_whatever_one_client_asks_for(folder):
    """40 requests of 1.7 kB, each for 10,000 decisions that keep 1.6 kB, at once."""
    path = folder / "trial.db"
    uli.Study.open(path, SE, ["a", "b"]).close()
    command = Command(path, "--no-token", "--port", 0, "--rate", 1e6)
    status = Path(f"/proc/{command.process.pid}/status")
    large = json.dumps({"requests": 10_000, "metadata": {"x": "y" * 1600}}).encode()
    answers, others = [], []

    def ask(body):
        mine = http.client.HTTPConnection(command.url.removeprefix("http://"), timeout=PATIENCE)
        with contextlib.closing(mine):
            mine.request("POST", "/v1/ask-many", body, {"content-type": "application/json"})
            answer = mine.getresponse()
            answer.read()
        return answer.status

    before = resident(status)
    threads = [started(lambda: answers.append(ask(large))) for _ in range(40)]
    while any(t.is_alive() for t in threads):
        others.append(ask(b'{"requests": 1}'))
    assert set(answers) == {200, 503} and set(others) == {200}
    most = resident(status, "VmHWM")
    print(f"{before} MB before, {most} MB at most")
    assert most - before < 500
    assert command.end()[0] == 0


def resident(status, which="VmRSS"):
    """Return the megabytes of a process."""
    return int(re.search(rf"{which}:\s+(\d+) kB", status.read_text())[1]) // 1024
