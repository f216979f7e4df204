"""Where a study may be, for tests that do not care."""

import contextlib
import itertools

import uli_fast as uli
from uli_fast.study.address import located
from uli_fast.study.interface import read_journal

NUMBERS = itertools.count()


class Place:
    """Opens, reads and audits the study that is there."""

    where, more = "", {}

    def open(self, *args, **more):
        return uli.Study.open(self.where, *args, **self.more, **more)

    def read(self, *args, **more):
        return uli.Study.read(self.where, *args, **self.more, **more)

    def audit(self, *args, **more):
        return uli.Study.audit(self.where, *args, **self.more, **more)

    def events(self):
        return read_journal(located(self.where, self.more.get("name")))[0]


class File(Place):
    def __init__(self, path):
        self.where = path

    def another(self):
        return File(self.where.with_name(f"another-{next(NUMBERS)}.db"))


class Database(Place):
    def __init__(self, url, name=None):
        self.where, self.more = url, {"name": name or f"study {next(NUMBERS)}"}

    def another(self, name=None):
        return Database(self.where, name)

    @property
    def name(self):
        return self.more["name"]

    def connect(self):
        import psycopg

        return psycopg.connect(self.where, autocommit=True)

    def run(self, statement, values=None):
        """Run a statement as somebody who has the rights to."""
        with contextlib.closing(self.connect()) as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []
