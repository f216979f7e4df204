"""Live studies over HTTP, and calls of several people in one write."""

from tests.sabotage.anchors import Sabotage

TOGETHER = "tests/study/test_together.py"
CONTRACT = "tests/service/test_contract.py"
ACCESS = "tests/service/test_access.py"
RUNNING = "tests/service/test_running.py"

SABOTAGES = (
    Sabotage(
        "service: a request within a batch is not remembered",
        "uli_fast.study.steps:StudySteps._decide",
        "draft.asked |= {",
        "{} | {",
        f"{TOGETHER}::test_calls_together_are_the_same_as_one_by_one",
    ),
    Sabotage(
        "service: a call that fails halfway leaves the player spoiled",
        "uli_fast.study.steps:StudySteps._tried",
        "if draft.touched:",
        "if False:",
        f"{TOGETHER}::test_a_call_that_fails_halfway_spoils_it_for_nobody_else",
    ),
    Sabotage(
        "service: who is refused refuses everybody",
        "uli_fast.study.steps:StudySteps._tried",
        "return problem",
        "raise problem",
        f"{TOGETHER}::test_calls_together_are_the_same_as_one_by_one",
    ),
    Sabotage(
        "service: a call is acknowledged before the commit",
        "uli_fast.study.steps:StudySteps._done_together",
        'self._record(draft, "many")\n',
        "import contextlib\n                    with contextlib.suppress(Exception):\n"
        '                        self._record(draft, "many")\n',
        f"{TOGETHER}::test_a_write_that_fails_is_nobody_s",
    ),
    Sabotage(
        "service: every caller has a commit of its own",
        "uli_fast.service.desk:MOST_TOGETHER",
        "256",
        "1",
        f"{ACCESS}::test_what_waited_shares_a_commit",
    ),
    Sabotage(
        "service: the queue has no end",
        "uli_fast.service.desk:Desk._queued",
        "if self.waiting >= self._limits.queued:",
        "if False:",
        f"{ACCESS}::test_a_full_desk_sends_people_away",
    ),
    Sabotage(
        "service: a commit has no size",
        "uli_fast.service.desk:Desk._taken",
        "if jobs and size > self._limits.together:",
        "if False:",
        "tests/service/test_desk.py::test_a_commit_ends_before_it_is_too_large",
    ),
    Sabotage(
        "service: who has shown a token has to go for strangers",
        "uli_fast.service.server:Guests.come",
        "if not x.known",
        "",
        "tests/service/test_one_client.py::test_who_has_shown_a_token_stays",
    ),
    Sabotage(
        "service: an outcome is recorded of another request",
        "uli_fast.study.steps:StudySteps._check_request",
        "if key is None:",
        "if True:",
        "tests/study/test_older_state.py::test_an_outcome_is_not_recorded_of_another_request",
    ),
    Sabotage(
        "service: what is queued is dropped at a stop",
        "uli_fast.service.desk:Desk._taken",
        "return jobs, True",
        "return [], True",
        "tests/service/test_desk.py::test_a_desk_that_closes_finishes_what_has_queued_up",
    ),
    Sabotage(
        "service: readers may drive",
        "uli_fast.service.tokens:Caller.may",
        "ROLES.index(self.role) >= ROLES.index(role)",
        "ROLES.index(self.role) >= min(ROLES.index(role), 2)",
        f"{ACCESS}::test_every_route_lets_in_whom_it_should_and_nobody_else",
    ),
    Sabotage(
        "service: any scheme will do",
        "uli_fast.service.app:Service._caller",
        'if scheme.lower() != "bearer" or found is None:',
        "if found is None:",
        f"{ACCESS}::test_what_is_not_quite_a_token_is_none",
    ),
    Sabotage(
        "service: tokens are compared until they differ",
        "uli_fast.service.tokens:Tokens.caller",
        "if hmac.compare_digest(known, given):",
        "if known == given:",
        f"{ACCESS}::test_a_wrong_token_takes_the_way_of_the_right_one",
    ),
    Sabotage(
        "service: a chunked body has no end",
        "uli_fast.service.limits:body_of",
        "if size > limits.body:",
        "if False:",
        f"{ACCESS}::test_a_body_without_a_length_is_cut_off_too",
    ),
    Sabotage(
        "service: a slow head is waited for",
        "uli_fast.service.server:Connection._wait",
        "if self._timer is None:",
        "if False:",
        f"{ACCESS}::test_a_slow_head_is_cut_off",
    ),
    Sabotage(
        "service: an answer that was lost is another decision",
        "uli_fast.service.client:_key",
        'return f"client-{uuid.uuid4().hex}"',
        "return None",
        f"{CONTRACT}::test_asking_without_a_request_id_is_safe_to_repeat",
    ),
    Sabotage(
        "service: an unforeseen error tells of itself",
        "uli_fast.service.problems:problem",
        'detail = "something went wrong in the service; its log says what"',
        "detail = repr(error)",
        f"{CONTRACT}::test_an_error_that_nobody_foresaw_says_nothing_of_itself",
    ),
    Sabotage(
        "service: a page of the history reads all of it",
        "uli_fast.study.past:page",
        "source.asks(sequence, decision, most + 1)",
        "source.asks(0, decision, 10**9)",
        f"{CONTRACT}::test_a_page_reads_the_events_of_the_page_alone",
    ),
    Sabotage(
        "service: everybody may come without a token",
        "uli_fast.service.loopback:is_loopback",
        "return False",
        "return True",
        f"{RUNNING}::test_it_does_not_begin_without_tokens_where_others_can_come",
    ),
)
