"""Studies in PostgreSQL: many workers, lost answers, and what the table refuses."""

from tests.sabotage.anchors import Change, Sabotage

POSTGRES = "tests/study/test_postgres.py"
OVERTAKEN = "tests/study/test_overtaken.py"
JOURNAL = "uli_fast.study.postgres:PostgresJournal"
TABLE = "uli_fast.study.postgres_schema"

SABOTAGES = (
    Sabotage(
        "postgres: a number that is taken is no reason to look",
        f"{JOURNAL}._insert",
        "return bool(cursor.rowcount == len(events))",
        "return True",
        f"{OVERTAKEN}::test_who_is_late_gets_the_decision_of_who_was_first",
    ),
    Sabotage(
        "postgres: a request id is not unique",
        f"{TABLE}:SCHEMA",
        "CREATE UNIQUE INDEX event_request",
        "CREATE INDEX event_request",
        f"{POSTGRES}::test_events_are_never_changed_or_removed",
        also=(Change(f"{TABLE}:KEYS", '"uli_fast.event_request", ', ""),),
    ),
    Sabotage(
        "postgres: events may be changed",
        f"{TABLE}:SCHEMA",
        "BEFORE UPDATE OR DELETE OR TRUNCATE",
        "BEFORE DELETE OR TRUNCATE",
        f"{POSTGRES}::test_events_are_never_changed_or_removed",
    ),
    Sabotage(
        "postgres: an event is committed when it suits",
        f"{JOURNAL}._connected",
        "autocommit=True",
        "autocommit=False",
        f"{POSTGRES}::test_an_altered_event_breaks_the_chain",
    ),
    Sabotage(
        "postgres: commits are not awaited",
        f"{JOURNAL}._connected",
        "self._look()",
        'self._look(), made.execute("SET synchronous_commit = off")',
        f"{POSTGRES}::test_commits_are_awaited",
    ),
    Sabotage(
        "postgres: a server that forgets is trusted",
        f"{JOURNAL}._check_server",
        'if durable == "off" or fsync == "off":',
        "if False:",
        f"{POSTGRES}::test_a_server_that_forgets_is_refused",
    ),
    Sabotage(
        "postgres: an answer that was lost is taken for a conflict",
        f"{JOURNAL}._add",
        "if not (unknown and self._read(sql.MINE, key)):",
        "if True:",
        f"{OVERTAKEN}::test_an_answer_that_was_lost_is_looked_up",
    ),
    Sabotage(
        "postgres: an event that looks the same is taken for one's own",
        f"{JOURNAL}._add",
        "if not (unknown and self._read(sql.MINE, key)):",
        "if (e := self.event(events[-1].sequence)) is None or e.hash != events[-1].hash:",
        f"{OVERTAKEN}::test_the_same_event_in_the_same_microsecond_is_still_another_s",
    ),
    Sabotage(
        "postgres: an event that was lost with the connection is not added again",
        f"{JOURNAL}._add",
        "unknown, added = True, self._insert(events, append)",
        "unknown, added = True, True",
        f"{OVERTAKEN}::test_an_answer_that_was_lost_is_looked_up",
    ),
    Sabotage(
        "postgres: events that are gone are not missed",
        f"{JOURNAL}.events",
        "if last is not None and page[:1] != [last]:",
        "if False:",
        f"{POSTGRES}::test_an_older_state_of_the_database_is_noticed",
        also=(Change(f"{JOURNAL}.events", "if self._known is not None and", "if False and"),),
    ),
    Sabotage(
        "postgres: a late worker keeps what it had decided",
        "uli_fast.study.core:StudyCore._recorded",
        "self._play_again()\n",
        "self._stale = False; self._catch_up(self._journal)\n",
        f"{OVERTAKEN}::test_who_is_late_gets_the_decision_of_who_was_first",
    ),
    Sabotage(
        "postgres: what others have added is not looked at",
        "uli_fast.study.core:StudyCore._get_ready",
        "self._catch_up(self._journal)",
        "pass",
        f"{OVERTAKEN}::test_while_the_database_is_away_nothing_is_acknowledged",
    ),
    Sabotage(
        "postgres: a request that was not there is not looked for again",
        f"{JOURNAL}._note",
        "if event.request in self._asked:",
        "if False:",
        f"{OVERTAKEN}::test_a_request_that_is_recorded_between_the_look_and_the_write",
    ),
    Sabotage(
        "postgres: libpq's words are repeated as they are",
        "uli_fast.study.address:Address.safe",
        'text = text.replace(secret, "***")',
        "pass",
        "tests/study/test_addresses.py::test_passwords_are_shown_to_nobody",
    ),
    Sabotage(
        "postgres: a fork closes its parent's connection",
        "uli_fast.study.postgres:_closed",
        "if os.getpid() == pid:",
        "if True:",
        f"{POSTGRES}::test_a_fork_leaves_its_parent_s_connection_alone",
    ),
)
