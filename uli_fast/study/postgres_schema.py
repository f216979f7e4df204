"""The tables of a study in PostgreSQL, and every statement that is run on them.

The columns are those of a file (events.py), and so is the digest: the chain of a study is the same
wherever it is. ``study`` is its name, and ``append`` a random number for the write that an event
came with, by which a worker whose connection broke recognises its own. Neither is in the chain.

Names and ids are values of parameters, never a part of a statement.
"""

from __future__ import annotations

from uli_fast.study.events import Event

FORMAT = 2
CALLED = "uli_fast events, format "  # and its number: what the table calls itself
LOCK = 0x756C6931  # taken while the table is made: "uli1"
LONGEST = 2**24  # characters of a payload, as in a file
REFUSED = "UL001"  # what the triggers raise
UNCHAINED = "UL002"

# A key of the index has at most 2,700 bytes, a request id up to 4,000: hence its hash. The cast
# reads backslashes as escapes, so they are doubled.
REQUEST_HASH = r"sha256(replace(request, '\', '\\')::bytea)"

SCHEMA = (
    "CREATE SCHEMA IF NOT EXISTS uli_fast",
    f"""CREATE TABLE uli_fast.event (
  study text COLLATE "C" NOT NULL CHECK (study <> ''),
  sequence bigint NOT NULL CHECK (sequence >= 1),
  kind text NOT NULL,
  decision bigint,
  request text COLLATE "C",
  payload text NOT NULL CHECK (length(payload) <= {LONGEST}),
  time text NOT NULL,
  version text NOT NULL,
  previous text NOT NULL,
  hash text NOT NULL,
  append uuid NOT NULL,
  PRIMARY KEY (study, sequence)
)""",
    f"""CREATE UNIQUE INDEX event_request ON uli_fast.event (study, ({REQUEST_HASH}))
  WHERE request IS NOT NULL""",
    # What became of a decision is looked up by it, and is told once; what came too late, as well.
    """CREATE UNIQUE INDEX event_told ON uli_fast.event (study, decision, (kind = 'late'))
  WHERE kind <> 'ask'""",
    """CREATE TABLE uli_fast.snapshot (
  study text COLLATE "C" NOT NULL,
  sequence bigint NOT NULL,
  content text NOT NULL,
  hash text NOT NULL,
  PRIMARY KEY (study, sequence)
)""",
    f"""CREATE FUNCTION uli_fast.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'events are never changed or removed' USING ERRCODE = '{REFUSED}';
END $$""",
    # The row before is there, committed or of this very statement: snapshots have no gaps.
    f"""CREATE FUNCTION uli_fast.check_chain() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.sequence > 1 AND NOT EXISTS (
    SELECT FROM uli_fast.event AS before
    WHERE before.study = NEW.study AND before.sequence = NEW.sequence - 1
      AND before.hash = NEW.previous
  ) THEN
    RAISE EXCEPTION 'event % does not follow the last one', NEW.sequence
      USING ERRCODE = '{UNCHAINED}';
  END IF;
  RETURN NEW;
END $$""",
    """CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON uli_fast.event
  FOR EACH STATEMENT EXECUTE FUNCTION uli_fast.refuse()""",
    """CREATE TRIGGER only_added BEFORE INSERT ON uli_fast.event
  FOR EACH ROW EXECUTE FUNCTION uli_fast.check_chain()""",
    "REVOKE UPDATE, DELETE, TRUNCATE ON uli_fast.event FROM PUBLIC",
    "REVOKE UPDATE, DELETE, TRUNCATE ON uli_fast.event FROM CURRENT_USER",
    f"COMMENT ON TABLE uli_fast.event IS '{CALLED}{FORMAT}'",
)

# What statements here take for granted, whatever a role, a database or an address has set. Where a
# role is called uli_fast, its path leads to our schema, and names are shown without it; a path of
# their own leads others to functions that are called like the server's. A late event would be an
# error of its own kind where transactions are isolated more.
SESSION = """SET search_path = pg_catalog; SET client_encoding = 'UTF8';
SET standard_conforming_strings = on; SET default_transaction_isolation = 'read committed'"""
# How commits are kept, and what is there: what it calls itself, its columns, keys and triggers.
LOOK = """SELECT current_setting('synchronous_commit'), current_setting('fsync'),
  current_setting('server_encoding'),
  pg_is_in_recovery(),
  obj_description(to_regclass('uli_fast.event'), 'pg_class'),
  to_regclass('uli_fast.event') IS NOT NULL,
  (SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute
    WHERE attrelid = to_regclass('uli_fast.event') AND attnum > 0 AND NOT attisdropped),
  (SELECT array_agg(indexrelid::regclass::text ORDER BY 1) FROM pg_index
    WHERE indrelid = to_regclass('uli_fast.event') AND indisunique AND indisvalid),
  (SELECT array_agg(tgname::text ORDER BY 1) FROM pg_trigger
    WHERE tgrelid = to_regclass('uli_fast.event') AND NOT tgisinternal AND tgenabled IN ('O', 'A'))
"""
COLUMNS = ["study", *Event._fields, "append"]
KEYS = ["uli_fast.event_pkey", "uli_fast.event_request", "uli_fast.event_told"]
TRIGGERS = ["never_changed", "only_added"]

_FIELDS = ", ".join(Event._fields)
_TYPES = {"sequence": "bigint", "decision": "bigint"}
_ARRAYS = ", ".join(f"%s::{_TYPES.get(name, 'text')}[]" for name in Event._fields)
ADVISORY_LOCK = "SELECT pg_advisory_xact_lock(%s)"
# Not to_regclass, which may remember in a transaction what was so before it waited for the lock.
EXISTS = """SELECT EXISTS (SELECT FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace
WHERE nspname = 'uli_fast' AND relname = 'event')"""
BEGUN = "SELECT FROM uli_fast.event WHERE study = %s LIMIT 1"  # any: the first may be gone
PAGE = f"""SELECT {_FIELDS} FROM uli_fast.event
WHERE study = %s AND sequence >= %s ORDER BY sequence LIMIT %s"""
EVENT = f"SELECT {_FIELDS} FROM uli_fast.event WHERE study = %s AND sequence = %s"
ASKED = f"""SELECT {_FIELDS} FROM uli_fast.event
WHERE study = %s AND request IS NOT NULL AND {REQUEST_HASH} = ANY (%s::bytea[])"""
TOLD = f"""SELECT {_FIELDS} FROM uli_fast.event
WHERE study = %s AND decision = %s AND kind <> 'ask' ORDER BY sequence LIMIT 1"""
TOLD_AMONG = f"""SELECT {_FIELDS} FROM uli_fast.event
WHERE study = %s AND decision BETWEEN %s AND %s AND kind <> 'ask' ORDER BY sequence"""
ASKS = f"""SELECT {_FIELDS} FROM uli_fast.event
WHERE study = %s AND sequence > %s AND kind = 'ask' AND decision > %s ORDER BY sequence LIMIT %s"""
LAST_ASK = f"""SELECT {_FIELDS} FROM uli_fast.event
WHERE study = %s AND sequence <= %s AND kind = 'ask' ORDER BY sequence DESC LIMIT 1"""
SNAPSHOTS = """SELECT sequence, content, hash FROM uli_fast.snapshot
WHERE study = %s ORDER BY sequence DESC"""
# Every worker makes snapshots: one that has hardly anything new is not kept.
KEEP = """INSERT INTO uli_fast.snapshot (study, sequence, content, hash)
SELECT %(study)s, %(sequence)s, %(content)s, %(hash)s WHERE NOT EXISTS (
  SELECT FROM uli_fast.snapshot
  WHERE study = %(study)s AND sequence > %(sequence)s - %(apart)s)
ON CONFLICT DO NOTHING"""
PRUNE = """DELETE FROM uli_fast.snapshot WHERE study = %(study)s AND sequence < (
  SELECT min(sequence) FROM (SELECT sequence FROM uli_fast.snapshot
    WHERE study = %(study)s ORDER BY sequence DESC LIMIT %(kept)s) AS last)"""
MINE = "SELECT FROM uli_fast.event WHERE study = %s AND sequence = %s AND append = %s"
# A single statement is a transaction: no worker that dies leaves one open for others to wait for.
# One event that comes too late is no error, so that the server's log is not full of them.
ADD_ONE = f"""INSERT INTO uli_fast.event (study, append, {_FIELDS})
VALUES (%s, %s{", %s" * len(Event._fields)}) ON CONFLICT DO NOTHING"""
ADD_MANY = f"""INSERT INTO uli_fast.event (study, append, {_FIELDS})
SELECT %s, %s, * FROM unnest({_ARRAYS})"""
