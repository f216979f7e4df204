import tempfile
from pathlib import Path

import pytest

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
