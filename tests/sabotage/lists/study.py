"""Durable live decisions: the journal, its log, its lock."""

from tests.sabotage.anchors import Change, Sabotage

JOURNAL = "tests/study/test_journal.py"
FAILED = "tests/study/test_failed_calls.py"
CRASH = "tests/study/test_crash.py"
READING = "tests/study/test_reading.py"
DAMAGE = "tests/study/test_damage.py"
PLACE = "tests/study/test_place.py"
FLIPS = "tests/study/test_flips.py"
INTERRUPTS = "tests/study/test_interrupts.py"

SABOTAGES = (
    Sabotage(
        "study: the chain is not checked",
        "uli_fast.study.events:check_link",
        "intact = event.previous == previous and event.hash == digest(event)",
        "intact = True",
        f"{JOURNAL}::test_an_altered_or_removed_event_breaks_the_chain",
    ),
    Sabotage(
        "study: decisions are not made anew",
        "uli_fast.study.replay:StudyReplay._repeat",
        "or not _same(content, found)",
        "",
        f"{JOURNAL}::test_a_journal_that_the_learner_would_not_have_written_is_refused",
    ),
    Sabotage(
        "study: an event is committed when the next one begins",
        "uli_fast.study.journal:Journal._commit",
        'self._run("COMMIT")',
        "pass",
        f"{CRASH}::test_nothing_acknowledged_is_lost_to_kills",
        also=(
            Change(
                "uli_fast.study.journal:Journal._commit",
                'self._run("BEGIN',
                'self._connected().commit(), self._run("BEGIN',
            ),
        ),
    ),
    Sabotage(
        "study: commits do not wait for the disk",
        "uli_fast.study.journal:Journal._use_log",
        "PRAGMA synchronous=FULL",
        "PRAGMA synchronous=NORMAL",
        f"{JOURNAL}::test_what_is_on_the_disk_is_what_was_said",
    ),
    Sabotage(
        "study: a log begun anew while it is read is not noticed",
        "uli_fast.study.journal:_epoch",
        "return stamps[path][0], os.fstat(log.fileno()).st_ino, header",
        "return stamps[path][0], os.fstat(log.fileno()).st_ino",
        f"{READING}::test_a_log_begun_anew_meanwhile_is_read_once_more",
    ),
    Sabotage(
        "study: the log is read before its file",
        "uli_fast.study.journal:_copy",
        'in zip(_stamps(path), ("", "-wal"), strict=False):',
        'in reversed(list(zip(_stamps(path), ("", "-wal"), strict=False))):',
        f"{READING}::test_a_checkpoint_meanwhile_does_no_harm",
    ),
    Sabotage(
        "study: a log without its file is not noticed",
        "uli_fast.study.leftovers:check_remains",
        "if log and size < HEADER:",
        "if False:",
        f"{DAMAGE}::test_a_log_without_its_file_begins_no_new_study",
    ),
    Sabotage(
        "study: a damaged file is merged with its log",
        "uli_fast.study.journal:Journal._open",
        "if not copied and size_of(self._log):",
        "if False:",
        f"{DAMAGE}::test_a_file_that_is_refused_can_be_put_back",
    ),
    Sabotage(
        "study: SQLite's lock is the only one",
        "uli_fast._support.files:lock",
        "fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)",
        "pass",
        f"{PLACE}::test_a_copy_made_by_the_driving_process_lets_nobody_in",
    ),
    Sabotage(
        "study: a forked child keeps the lock",
        "uli_fast.study.journal:_after_fork",
        "journal._lock.leave()",
        "pass",
        f"{PLACE}::test_the_lock_ends_with_the_process_that_opened_whatever_it_forked",
    ),
    Sabotage(
        "study: another rule is let in",
        "uli_fast.study.setup:_check_own",
        "if begun[name] != now[name]:",
        "if False:",
        "tests/study/test_opening.py::test_a_rule_or_base_of_ones_own_that_differs_is_refused",
    ),
    Sabotage(
        "study: the lock is not kept",
        "uli_fast.study.journal:Journal._prepare",
        'run("PRAGMA locking_mode=EXCLUSIVE")',
        "pass",
        f"{PLACE}::test_other_programs_that_know_sqlite_are_kept_out",
    ),
    Sabotage(
        "study: a failed commit leaves the player ahead",
        "uli_fast.study.study:Study.ask",
        "self._stale = True\n            decision",
        "decision",
        f"{FAILED}::test_a_failed_commit_leaves_the_player_as_the_disk_has_it",
    ),
    Sabotage(
        "study: a request is not remembered",
        "uli_fast.study.study:Study.ask",
        'known = self._replay.requests.get(_check.key("request_id", request_id))',
        'known = self._replay.requests.get("x" + _check.key("request_id", request_id))',
        f"{CRASH}::test_a_crash_at_any_point_changes_nothing",
    ),
    Sabotage(
        "study: telling again is news",
        "uli_fast.study.study:Study.tell",
        'if self._replay.records[position].status == "pending":',
        "if True:",
        f"{CRASH}::test_a_crash_at_any_point_changes_nothing",
        also=(
            Change(
                "uli_fast.study.study:Study.tell_missing",
                'if self._replay.records[position].status == "pending":',
                "if True:",
            ),
        ),
    ),
    Sabotage(
        "study: events may be changed",
        "uli_fast.study.events:SCHEMA",
        "BEFORE UPDATE ON event\nBEGIN SELECT RAISE(ABORT",
        "BEFORE UPDATE ON event\nBEGIN SELECT RAISE(IGNORE); SELECT RAISE(ABORT",
        f"{JOURNAL}::test_what_is_on_the_disk_is_what_was_said",
    ),
    Sabotage(
        "study: a bad frame ends the log",
        "uli_fast.study.wal_check:_judged",
        "lost = int((later > end).sum())",
        "lost = 0",
        f"{FLIPS}::test_any_field_of_a_frame_that_others_follow_is_damage",
    ),
    Sabotage(
        "study: a log with a bad header is passed over",
        "uli_fast.study.wal_check:damage",
        'return "its header is not what was written"',
        'return ""',
        f"{FLIPS}::test_a_bit_of_the_header_does_not_lose_the_log",
    ),
    Sabotage(
        "study: an end that lost its mark is taken for the middle of a transaction",
        "uli_fast.study.wal_check:_judged",
        "(frames.size[bad] or _size_was_lost(frames, bad))",
        "frames.size[bad]",
        f"{FLIPS}::test_an_end_of_a_transaction_that_looks_like_none_is_damage",
    ),
    Sabotage(
        "study: a torn end is taken for damage",
        "uli_fast.study.wal_check:_judged",
        "end = int(ends[0]) if ends.size else len(right)",
        "end = bad",
        f"{FLIPS}::test_a_torn_last_transaction_is_what_a_crash_leaves",
    ),
    Sabotage(
        "study: a new one begins where a log lies",
        "uli_fast.study.journal:Journal._check_with_log",
        "if not _read_copy(copy, self.path):",
        "if _read_copy(copy, self.path) is None:",
        f"{FLIPS}::test_no_study_is_begun_where_a_log_lies",
    ),
    Sabotage(
        "study: what failed writes left stays in the log",
        "uli_fast.study.journal:Journal._check_log_size",
        'self._run("PRAGMA wal_checkpoint(TRUNCATE)")',
        "pass",
        f"{FLIPS}::test_what_failed_writes_leave_in_the_log_is_no_damage",
    ),
    Sabotage(
        "study: the size of the log outlives an interrupt",
        "uli_fast.study.journal:Journal._add",
        "self._log_size = None  # unknown until",
        "pass  # unknown until",
        f"{INTERRUPTS}::test_an_interrupt_when_the_size_of_the_log_is_looked_up_is_forgiven",
    ),
    Sabotage(
        "study: an interrupt in a tell leaves the player ahead",
        "uli_fast.study.study:Study._touch",
        "self._stale = True\n        try:",
        "try:",
        f"{INTERRUPTS}::test_no_interrupt_leaves_a_study_stuck_or_loses_anything",
    ),
    Sabotage(
        "study: a second name is let in",
        "uli_fast.study.leftovers:check_one_name",
        "if names > 1:",
        "if False:",
        f"{PLACE}::test_a_second_name_is_refused_since_the_log_belongs_to_the_first",
    ),
    Sabotage(
        "study: a failed write makes it play everything again",
        "uli_fast.study.study:Study._play_again",
        "if self._saved is not None:",
        "if False:",
        f"{FAILED}::test_after_a_failed_write_only_the_last_events_are_played_again",
    ),
    Sabotage(
        "study: looking writes to the file",
        "uli_fast.study.journal:_read_copy",
        "journal = Journal(copy, path)",
        "journal = Journal(path, path)",
        f"{CRASH}::test_a_second_process_is_turned_away_and_a_killed_one_leaves_no_lock",
    ),
    Sabotage(
        "study: names are printed as they are",
        "uli_fast.cli.study:_safe",
        "return label(text, most)",
        "return text",
        "tests/cli/test_uli_study.py::test_show_and_audit_tell_what_there_is_and_change_nothing",
    ),
)
