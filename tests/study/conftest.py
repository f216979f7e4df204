import tempfile
from pathlib import Path

import pytest

from tests.study.places import Database, File
from tests.support import postgres

MEMORY = Path("/dev/shm")


@pytest.fixture
def folder():
    """A folder in memory where there is one: what these tests ask of a disk is not its speed."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        yield Path(name)


@pytest.fixture
def path(folder):
    return folder / "trial.db"


@pytest.fixture(scope="session")
def clinic(tmp_path_factory):
    from tests.study.clinic import Clinic

    made = Clinic(tmp_path_factory.mktemp("clinic"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL server, gone at the end."""
    if reason := postgres.missing():
        pytest.skip(reason)
    made = postgres.new_server()
    yield made
    made.close()


@pytest.fixture
def database(server):
    """A place for a study in a database; tests share the database, not the place."""
    if not server.running:  # a failed test has stopped it
        server.start()
    return Database(server.url)


@pytest.fixture(params=["file", "database"])
def place(request):
    """A place for a study, of each kind: what holds for one holds for the other."""
    if request.param == "file":
        return File(request.getfixturevalue("path"))
    return request.getfixturevalue("database")


@pytest.fixture(scope="session")
def crew(tmp_path_factory, server):  # without a server there is nothing to drive
    from tests.study.crew import Crew

    made = Crew(tmp_path_factory.mktemp("crew"))
    yield made
    made.close()
