"""Many workers on one study: of a web app, of a service, on a database."""

from tests.sabotage.anchors import Change, Sabotage

CAMPAIGN = "tests/study/test_web.py::test_nothing_is_lost_when_workers_and_servers_die"
JOURNAL = "uli_fast.study.journal:Journal"
WRITING = f"{JOURNAL}._writing"

SABOTAGES = (
    Sabotage(
        "workers: the service answers before it has committed",
        WRITING,
        'self._run("COMMIT")',
        "if not size_of(self._log):\n                    self._run('COMMIT')",
        f"{CAMPAIGN}[a-service-on-SQLite]",
        also=(
            Change(WRITING, 'self._run("BEGIN', 'self._connected().commit(), self._run("BEGIN'),
            Change(f"{JOURNAL}._roll_back", "if self._connected().in_transaction:", "if False:"),
        ),
    ),
    Sabotage(
        "workers: an outcome that is told again counts again",
        "uli_fast.study.steps:StudySteps._outcome",
        "replay.player.queue.is_new(position, read)",
        "True",
        f"{CAMPAIGN}[a-service-on-PostgreSQL]",
    ),
    Sabotage(
        "workers: an answer that was cut off is taken for whole",
        "uli_fast.service.wire:Wire._once",
        "if response.length:",
        "if False:",
        "tests/study/test_many_workers.py::test_an_answer_that_is_cut_off_is_asked_for_again",
    ),
    Sabotage(
        "workers: who would decide otherwise goes on",
        "uli_fast.study.replay:StudyReplay._repeat",
        "or not _same(content, found)",
        "",
        "tests/study/test_many_workers.py::test_versions_that_decide_differently_stop_each_other",
    ),
    Sabotage(
        "workers: a database that has lost a study's first event holds none",
        "uli_fast.study.postgres_schema:BEGUN",
        "LIMIT 1",
        "AND sequence = 1",
        "tests/study/test_journal.py::test_an_altered_or_removed_event_breaks_the_chain",
    ),
)
