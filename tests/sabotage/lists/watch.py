"""The page to watch a study: its course, its words, and what the blinded do not see."""

from tests.sabotage.anchors import Sabotage

COURSE = "tests/study/test_course.py"
PAGE = "tests/service/test_page.py"
WORDS = "tests/report/test_watch.py"

SABOTAGES = (
    Sabotage(
        "watch: a drop is put down to the last event of its batch",
        "uli_fast.study.replay:StudyReplay.note_tell",
        "self._moves.popleft()",
        "active_of(self.player)",
        f"{COURSE}::test_a_study_that_is_followed_says_what_its_audit_says",
    ),
    Sabotage(
        "watch: the past is not put in front",
        "uli_fast.study.following:FollowedStudy._complete",
        "self._course.prepend(earlier)",
        "pass",
        f"{COURSE}::test_a_study_that_is_followed_says_what_its_audit_says",
    ),
    Sabotage(
        "watch: a past that leads elsewhere is believed",
        "uli_fast.study.following:PastReader._check",
        "if not same:",
        "if False:",
        f"{COURSE}::test_a_snapshot_that_lies_is_told_by_the_past",
    ),
    Sabotage(
        "watch: events that a player makes again are counted again",
        "uli_fast.study.course:StudyCourse._is_news",
        "self.sound and event.sequence > self.last",
        "self.sound",
        f"{COURSE}::test_a_player_that_is_made_again_is_not_counted_again",
    ),
    Sabotage(
        "watch: an interrupted course goes on",
        "uli_fast.study.course:StudyCourse._is_news",
        "self.sound = False",
        "pass",
        f"{COURSE}::test_an_interrupted_course_is_made_again",
    ),
    Sabotage(
        "watch: means lie where the interval does not reach",
        "uli_fast.players._arms:Player.means",
        "((means < low) | (means > high))",
        "(means < low)",
        "tests/study/test_held.py::test_means_that_are_shown_lie_in_their_intervals[SE]",
    ),
    Sabotage(
        "watch: the course keeps every moment",
        "uli_fast.study.course:StudyCourse.look",
        "self.step *= 2",
        "break",
        f"{COURSE}::test_a_course_stays_small",
    ),
    Sabotage(
        "watch: dropped arms are called inferior without a certificate",
        "uli_fast.report.watch.words:inferior",
        "if is_certified(o)",
        "if True",
        f"{WORDS}::test_nothing_is_said_to_be_inferior_that_is_not_known_to_be",
    ),
    Sabotage(
        "watch: names are not escaped",
        "uli_fast.report.watch.page:_name",
        'return Markup("<bdi>{}</bdi>").format(text)',
        'return Markup(f"<bdi>{text}</bdi>")',
        f"{WORDS}::test_hostile_names_stay_names",
    ),
    Sabotage(
        "watch: the blinded see what readers see",
        "uli_fast.service.page:_is_blinded",
        'not caller.may("read")',
        "False",
        f"{PAGE}::test_those_who_see_counts_see_nothing_by_arm",
    ),
    Sabotage(
        "watch: the blinded see how many plays blocks have",
        "uli_fast.report.watch.figures:_one_by_one",
        "m.settled - m.in_blocks[0]",
        "m.settled",
        f"{PAGE}::test_the_blinded_do_not_see_how_many_plays_a_block_has",
    ),
    Sabotage(
        "watch: forms are taken from anywhere",
        "uli_fast.service.sessions:from_here",
        'return site in (b"same-origin", b"none")',
        "return True",
        f"{PAGE}::test_forms_from_elsewhere_are_refused",
    ),
    Sabotage(
        "watch: a session outlives its token",
        "uli_fast.service.page:WatchedService._found",
        "return None if known is None else self._tokens.caller(known)",
        'return None if known is None else Caller("x", "read")',
        f"{PAGE}::test_a_token_that_is_taken_out_ends_its_sessions",
    ),
)
