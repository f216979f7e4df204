"""What docs/many_workers.md says of services and versions."""

import re
import signal
import socket
import threading
from types import SimpleNamespace

import pytest

import uli_fast as uli
from tests.study.live import SE
from tests.study.places import File
from tests.study.test_workers import said
from tests.study.web import ROOT, Service
from uli_fast.errors import StudyDivergedError

PAGE = (ROOT / "docs/many_workers.md").read_text(encoding="utf-8")


@pytest.fixture
def services(database, folder):
    """Two services on one study."""
    database.open(SE, ["usual care", "drug"]).close()
    (folder / "other").mkdir()
    made = [Service(where, database) for where in (folder, folder / "other")]
    yield made
    for service in made:
        service.close()


def test_two_services_serve_one_study(services, database):
    handlers, calls = re.findall(r"```py\n(.*?)```", PAGE, flags=re.DOTALL)
    one, two = services
    space = {"uli": uli}
    calls = calls.replace("https://trial.example", one.url).replace("uli_7Hq...", one.token)
    exec(calls, space)
    with uli.Client(two.url, two.token) as other:
        assert other.ask("patient-17") == space["decision"]
        one.stop(signal.SIGKILL)
        space = {"TRIAL": SimpleNamespace(study=lambda: other)}
        exec(handlers, space)
        given = space["intake"]("patient-20")
        for _ in range(2):
            space["outcome"](given["case"], True)
        assert space["intake"]("patient-20") == given
    history = database.audit().history
    assert [r.request_id for r in history] == [f"patient-{i}" for i in (17, 18, 19, 20)]
    assert [r.reward for r in history] == [1.0, 0.0, None, 1.0]


def test_a_copy_of_a_driven_file_holds_all_that_was_acknowledged_before(clinic, folder, path):
    (backup,) = re.findall(r"```python\n((?:(?!```).)*def backup.*?)\n\n\nwith", PAGE, re.DOTALL)
    space, log, copies = {"uli": uli}, folder / "log", []
    exec(backup, space)
    clinic.start(do="treat", path=str(path), patients=10**6, log=str(log), pause=0.0005)
    while len(copies) < 12 and clinic.alive():
        known = len(said(log)) if log.exists() else 0
        if known > 50 * len(copies):
            events, head = space["backup"](path, folder / "copy.db")
            assert events > known
            copies.append((events, head))
    clinic.stop()
    assert len(copies) == 12
    events = File(path).events()
    assert all(events[n - 1].hash == head for n, head in copies)


def test_an_answer_that_is_cut_off_is_asked_for_again():
    """As by a service that is killed while it answers."""
    body = b'{"id":3,"arm":"drug","probability":1.0}'
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()

    def answer(listening):
        for part in (head, head + body[:9], head + body):
            connection, _ = listening.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(part)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=answer, args=[listening], daemon=True)
        thread.start()
        with uli.Client(f"http://127.0.0.1:{listening.getsockname()[1]}") as study:
            assert study.ask("patient-3") == (3, "drug", 1.0)


def test_versions_that_decide_differently_stop_each_other(database):
    """Whoever would have decided otherwise adds nothing from then on; the other goes on."""
    with database.open(SE, ["a", "b"]) as old, database.open() as new:
        for i in range(3):
            old.tell(new.ask(f"agreed-{i}").id, 1.0)
        ask = new._replay.player.ask
        new._replay.player.ask = lambda: ask()._replace(arm="a")  # it would have been b
        assert new.ask("first").arm == "a"
        before = len(database.events())
        for call in (lambda: old.ask("second"), lambda: old.tell(4, 1.0), lambda: old.active):
            with pytest.raises(
                StudyDivergedError, match="decision 4 was 'a', and comes out as 'b'"
            ):
                call()
        assert len(database.events()) == before
        new.tell(4, 1.0)
        assert len(database.events()) == before + 1
    with pytest.raises(StudyDivergedError):
        database.open()
