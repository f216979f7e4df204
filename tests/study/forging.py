"""Change a study's journal as someone would who knows how it is made."""

import json
import sqlite3

from uli_fast.study import journal


def rewritten(path, change):
    """Change the journal as someone would who recomputes all hashes."""
    connection = sqlite3.connect(path, isolation_level=None)
    for name in ("never_changed", "never_removed", "only_added"):
        connection.execute(f"DROP TRIGGER {name}")
    rows = connection.execute("SELECT * FROM event ORDER BY sequence").fetchall()
    events = change([journal.Event(*row) for row in rows])
    connection.execute("DELETE FROM event")
    previous = journal.GENESIS
    for event in events:
        event = event._replace(previous=previous)
        event = event._replace(hash=journal.digest(event))
        connection.execute(f"INSERT INTO event VALUES ({','.join('?' * 9)})", event)
        previous = event.hash
    for sql in journal.SCHEMA[1:]:
        connection.execute(sql)
    connection.close()


def swapped(position, **values):
    def change(events):
        content = events[position].content | values
        events[position] = events[position]._replace(payload=json.dumps(content))
        return events

    return change


def reordered(path):
    """Put the triggers back in the order in which a study makes them."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("DROP TRIGGER only_added")
    connection.execute(journal.SCHEMA[3])
    connection.close()
