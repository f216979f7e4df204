import contextlib
import http.client
import json
import tempfile
import threading
from pathlib import Path

import pytest

import uli_fast as uli
from tests.study.conftest import MEMORY
from tests.support import postgres
from tests.support.patience import PATIENCE
from uli_fast.service.app import Service
from uli_fast.service.limits import Limits
from uli_fast.service.page import WatchedService
from uli_fast.service.server import bound, new_server
from uli_fast.service.tokens import Tokens, new_token

SE = uli.SuccessiveElimination(0.1)


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        yield Path(name)


class Served:
    """A study behind a real server on a free port of this machine, in a thread."""

    def __init__(self, study, tokens=None, limits=None, routes=(), tls=()):
        self.study, self._clients = study, []
        self.service = Service(study, tokens, limits or Limits(), routes)
        self._socket = bound("127.0.0.1", 0)
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.server = new_server(WatchedService(self.service, tokens), *tls)
        run = {"sockets": [self._socket]}
        self._thread = threading.Thread(target=self.server.run, kwargs=run, daemon=True)
        self._thread.start()
        while not self.server.started:
            assert self._thread.is_alive()

    def client(self, token=None, **more):
        made = uli.Client(self.url, token, **({"patience": 0.0} | more))
        self._clients.append(made)
        return made

    def send(self, method, path, body=None, token=None, **headers):
        """Send a request as it is; return status, headers and content."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            if isinstance(body, dict | list):
                body = json.dumps(body).encode()
            if body is not None:
                headers.setdefault("content-type", "application/json")
            if token is not None:
                headers["authorization"] = f"Bearer {token}"
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
            found = {key.lower(): value for key, value in answer.getheaders()}
            if "json" in found.get("content-type", ""):
                content = json.loads(content)
            return answer.status, found, content

    def close(self):
        for client in self._clients:
            client.close()
        self.server.should_exit = True
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


@pytest.fixture
def serve(folder):
    """Serve a study; all of it ends with the test."""
    with contextlib.ExitStack() as stack:

        def make(
            learner=SE, arms=("a", "b", "c"), tokens=None, limits=None, routes=(), tls=(), **start
        ):
            path = folder / f"study-{len(list(folder.iterdir()))}.db"
            given = start if "rewards" in start else {"arms": arms, **start}
            given = {k: list(v) if isinstance(v, tuple) else v for k, v in given.items()}
            study = stack.enter_context(uli.Study.open(path, learner, **given))
            made = Served(study, tokens, limits, routes, tls)
            stack.callback(made.close)
            return made

        yield make


@pytest.fixture
def roles(folder):
    """Tokens of each role, and the file that knows them."""
    path = folder / "tokens"
    made = {role: new_token(path, f"a.{role}", role) for role in ("counts", "read", "drive")}
    return Tokens(path), made


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL server, gone at the end."""
    if reason := postgres.missing():
        pytest.skip(reason)
    made = postgres.new_server()
    yield made
    made.close()
