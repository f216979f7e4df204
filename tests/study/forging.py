"""Change a study's journal as someone would who knows how it is made."""

import contextlib
import json
import sqlite3
import uuid
from pathlib import Path

from tests.study.places import Database, File
from uli_fast.study import journal


def forged(place, events):
    """Put these events in the place of a study's, past all triggers; not past a table's keys."""
    if isinstance(place, Database):
        values = ", ".join(["%s"] * 11)
        with contextlib.closing(place.connect()) as connection, connection.transaction():
            connection.execute("SET LOCAL session_replication_role = replica")
            connection.execute("DELETE FROM uli_fast.event WHERE study = %s", (place.name,))
            for event in events:
                row = (place.name, *event, uuid.uuid4())
                connection.execute(f"INSERT INTO uli_fast.event VALUES ({values})", row)
        return
    connection = sqlite3.connect(place.where, isolation_level=None)
    for name in ("never_changed", "never_removed", "only_added"):
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute("DELETE FROM event")
    for event in events:
        connection.execute(f"INSERT INTO event VALUES ({','.join('?' * 9)})", event)
    for sql in journal.SCHEMA[1:4]:
        connection.execute(sql)
    connection.close()


def rewritten(place, change):
    """Change the journal as someone would who recomputes all hashes."""
    place = File(place) if isinstance(place, Path) else place
    previous, chained = journal.GENESIS, []
    for event in change(place.events()):
        event = event._replace(previous=previous)
        event = event._replace(hash=journal.digest(event))
        chained.append(event)
        previous = event.hash
    forged(place, chained)


def swapped(position, **values):
    def change(events):
        content = events[position].content | values
        events[position] = events[position]._replace(payload=json.dumps(content))
        return events

    return change
