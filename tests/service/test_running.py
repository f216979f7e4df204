"""The command: it begins, it stops, it comes back, and says no secrets."""

import signal
import socket
import ssl
import subprocess
import sys
import threading

import pytest
from click.testing import CliRunner

import uli_fast as uli
from tests.service.conftest import SE
from tests.support.patience import PATIENCE, wait_until
from tests.support.processes import free_port
from uli_fast.cli import main
from uli_fast.errors import StudyUnavailableError

MAIN = [sys.executable, "-c", "from uli_fast.cli import main; main()"]


class Command:
    """``uli serve`` in a process of its own."""

    def __init__(self, *words):
        self.process = subprocess.Popen(
            [*MAIN, "serve", *map(str, words)], stdout=subprocess.PIPE, text=True
        )
        self.line = self.process.stdout.readline()
        assert " at http" in self.line
        self.url = self.line.split(" at ")[-1].split(",")[0]

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        said, _ = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, said


@pytest.fixture
def path(folder):
    made = folder / "trial.db"
    uli.Study.open(made, SE, ["a", "b", "c"]).close()
    return made


@pytest.fixture
def token(folder):
    found = CliRunner().invoke(
        main, ["token", "ward", "--role", "drive", "--token-file", str(folder / "tokens")]
    )
    assert found.exit_code == 0
    return found.stdout.strip()


def test_a_stop_answers_what_is_queued_and_a_new_start_knows_it(path, token, folder):
    """Asks go on while it is told to stop: each that was answered is there afterwards."""
    port = free_port()
    words = (path, "--port", port, "--token-file", folder / "tokens", "--rate", 1e6)
    first = Command(*words)
    answered, stop = {}, threading.Event()

    def drive(number):
        with uli.Client(first.url, token, patience=0.0) as client:
            k = 0
            while not stop.is_set():
                try:
                    answered[f"{number}-{k}"] = client.ask(f"{number}-{k}")
                except StudyUnavailableError:
                    return
                k += 1

    threads = [threading.Thread(target=drive, args=(n,)) for n in range(4)]
    [t.start() for t in threads]
    wait_until(lambda: len(answered) >= 40)
    code, said = first.end()
    stop.set()
    [t.join() for t in threads]
    assert code == 0 and "stopped" in said
    second = Command(*words)
    with uli.Client(second.url, token) as client:
        for key, decision in answered.items():
            assert client.ask(key) == decision
        history = client.history()
        assert len(answered) <= len(history) <= len(answered) + 4
    assert second.end(signal.SIGINT)[0] == 0
    assert uli.Study.audit(path).statuses["pending"] == len(history)


def test_a_client_waits_for_a_service_that_comes_back(path, token, folder):
    port = free_port()
    words = (path, "--port", port, "--token-file", folder / "tokens")
    first = Command(*words)
    with uli.Client(first.url, token, patience=PATIENCE) as client:
        d = client.ask("patient-1")
        first.process.kill()
        first.process.communicate()
        later = []
        starting = threading.Timer(0.3, lambda: later.append(Command(*words)))
        starting.start()
        client.tell(d.id, 1.0)
        assert client.ask("patient-1") == d and client.counts()[d.arm]["reward"] == 1
        starting.join()
    assert later[0].end()[0] == 0


def refused(*words):
    found = CliRunner().invoke(main, ["serve", *map(str, words)])
    assert found.exit_code == 1 and "Traceback" not in found.output
    return found.output


def test_it_does_not_begin_without_tokens_where_others_can_come(path, folder):
    assert "--token-file" in refused(path)
    for host in ("0.0.0.0", "192.168.0.1", "::", "nowhere.invalid"):
        assert "127.0.0.1 only" in refused(path, "--no-token", "--host", host)
    assert "contradicts" in refused(path, "--no-token", "--token-file", folder / "x")
    assert "cannot be used for tokens" in refused(path, "--token-file", folder / "nothing")
    assert "--tls-cert" in refused(path, "--no-token", "--tls-key", path)


def test_it_says_how_to_begin_a_study_where_there_is_none(folder):
    said = refused(folder / "new.db", "--no-token", "--port", 0)
    assert "uli.Study.open" in said and not (folder / "new.db").exists()
    (folder / "odd.db").write_text("nothing of ours, and long enough to be looked at" * 20)
    assert "not a database" in refused(folder / "odd.db", "--no-token", "--port", 0)


def test_a_port_that_is_taken_and_a_study_that_is_open_are_told(path):
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        assert "cannot listen" in refused(path, "--no-token", "--port", one.getsockname()[1])
    with uli.Study.open(path):
        assert "is open in another" in refused(path, "--no-token", "--port", 0)


def test_a_password_is_never_shown():
    pytest.importorskip("psycopg")
    url = "postgresql://me:hunter2@127.0.0.1:1/db?connect_timeout=1"
    assert "hunter2" not in refused(url, "--no-token", "--name", "trial", "--port", 0)
    assert "hunter2" not in refused(url, "--no-token", "--port", 0)
    assert "hunter2" not in refused("postgresql://me:hunter2@[/db", "--no-token", "--name", "x")


def test_a_token_is_printed_once_and_kept_as_a_hash(folder, token):
    text = (folder / "tokens").read_text()
    assert token not in text and text.startswith("ward drive sha256:")
    again = ["token", "ward", "--role", "read", "--token-file", str(folder / "tokens")]
    assert CliRunner().invoke(main, again).exit_code == 1


def openssl(*words):
    made = subprocess.run(["openssl", *map(str, words)], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("openssl is not here")


def test_keys_are_read_before_anybody_can_come(path, folder, monkeypatch):
    monkeypatch.setattr("uli_fast.service.server.bound", None)  # it does not come to that
    cert, key, other, locked, text = (folder / f"{x}.pem" for x in ("c", "k", "o", "l", "t"))
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost")  # fmt: skip
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", other)
    openssl("ec", "-in", key, "-aes256", "-passout", "pass:secret", "-out", locked)
    text.write_text("no key")
    for given, named in (
        ((cert, other), "--tls-cert"),
        ((cert, text), "--tls-cert"),
        ((text, key), "--tls-cert"),
        ((cert, cert), "--tls-cert"),
        ((cert, locked), "is encrypted"),
    ):
        said = refused(
            path, "--no-token", "--port", 0, "--tls-cert", given[0], "--tls-key", given[1]
        )
        assert named in said and "BEGIN" not in said
    assert "--tls-cert" in refused(path, "--no-token", "--port", 0, "--tls-cert", cert)


def test_tls_works_and_a_certificate_that_nobody_signed_is_refused(path, folder):
    key, cert = folder / "key.pem", folder / "cert.pem"
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1"],
        capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("openssl is not here")
    command = Command(path, "--no-token", "--port", 0, "--tls-cert", cert, "--tls-key", key)
    assert command.url.startswith("https://")
    with uli.Client(command.url, patience=PATIENCE) as client:
        with pytest.raises(StudyUnavailableError, match="certificate"):
            client.counts()
    context = ssl.create_default_context(cafile=cert)
    with uli.Client(command.url) as client:
        client._wire.context = context
        assert client.ask("x").id == 1
    assert command.end()[0] == 0


def test_a_study_in_a_database_is_served_by_several_at_once(server):
    """Two services on one study: each tells the same."""
    from tests.study.places import Database

    place = Database(server.url)
    place.open(SE, 3).close()
    both = [Command(place.where, "--name", place.name, "--no-token", "--port", 0) for _ in range(2)]
    assert all(place.name in one.line and "postgresql" in one.line for one in both)
    with uli.Client(both[0].url) as one, uli.Client(both[1].url) as two:
        for k in range(5):
            d = one.ask(f"p{k}")
            assert two.ask(f"p{k}") == d
            two.tell(d.id, 1.0)
        assert one.counts() == two.counts() and one.head == two.head
        assert one.audit().events == 11
    assert [one.end()[0] for one in both] == [0, 0]


def test_a_database_that_goes_away_is_told_and_comes_back(server):
    from tests.study.places import Database

    place = Database(server.url)
    place.open(SE, 3).close()
    command = Command(place.where, "--name", place.name, "--no-token", "--port", 0)
    with uli.Client(command.url, patience=0.0) as client:
        d = client.ask("a")
        server.stop()
        try:
            with pytest.raises(StudyUnavailableError):
                client.tell(d.id, 1.0)
        finally:
            server.start()
        client.tell(d.id, 1.0)
        assert client.counts()[d.arm]["reward"] == 1
    assert command.end()[0] == 0
    assert place.audit().events == 3
