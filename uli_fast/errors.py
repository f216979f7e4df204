"""Every error and warning that the package raises.

All of them derive from :class:`UliError`. Those about an argument are also
``ValueError`` and carry the argument's name in ``.argument``.
"""

from __future__ import annotations


class UliError(Exception):
    """Base class of all errors of the package."""


class ArgumentError(UliError, ValueError):
    """An argument was refused; nothing has been run or changed.

    Attributes
    ----------
    argument
        The name of the argument.

    Examples
    --------
    >>> import uli_fast as uli
    >>> try:
    ...     uli.BettingElimination(delta=2)
    ... except uli.errors.ArgumentError as error:
    ...     print(error.argument)
    delta
    """

    def __init__(self, argument: str, problem: str) -> None:
        super().__init__(f"{argument}: {problem}")
        self.argument, self.problem = argument, problem

    def __reduce__(self) -> tuple[type[ArgumentError], tuple[str, str]]:
        """Pickle by the two arguments, not by the text: it crosses processes unchanged."""
        return type(self), (self.argument, self.problem)


class HorizonTooLargeError(ArgumentError):
    """The horizon is beyond what 64-bit counters hold safely (10**18)."""


class EngineError(ArgumentError):
    """The engine is unknown, or cannot play this learner on this problem."""


class RewardRangeError(ArgumentError):
    """A reward is not a number or lies outside the declared range."""


class EvaluateError(ArgumentError):
    """The ``evaluate`` of a race failed so often in a row that it seems to be down.

    Nothing is recorded of that; what came before is in the file of the race.
    """


class UnknownDecisionError(ArgumentError):
    """No decision with this id was ever asked for."""


class ConflictingRewardError(ArgumentError):
    """The decision already has another reward."""


class StateError(ArgumentError):
    """A saved player state cannot be restored."""


class ConfigError(ArgumentError):
    """An experiment file is wrong; ``argument`` is the key at fault."""


class StudyError(UliError):
    """A live study cannot be opened or read; the message says what is wrong with its file."""


class StudyLockedError(StudyError):
    """The study is open in another process; this call did not wait and changed nothing."""


class StudyWriteError(StudyError):
    """The disk refused a write (full, read-only, failing): the new entry is not recorded.

    Everything acknowledged before that is on the disk and readable; the study goes on from there.
    """


class StudyAccessError(StudyError):
    """The service of a study does not know the token, or the token may not do this."""


class StudyUnavailableError(StudyError):
    """The database of a study cannot be reached, or went away: nothing was acknowledged.

    What was being recorded is there or not. Make the same call again: it looks first.
    """


class OvertakenError(StudyError):
    """Another worker has added to the study first; the study goes on from there by itself."""


class StudyDivergedError(StudyError):
    """The journal was altered, or its decisions are not those that the learner makes."""


class ResultsError(UliError):
    """Results cannot be written, or not where they should go; what was there is intact."""


class ShardsError(ResultsError):
    """Shards do not make a whole experiment: one is missing, duplicated, unfinished or foreign."""


class RunsFileError(UliError):
    """A folder does not hold complete, unaltered results."""


class RewardsExhaustedError(UliError):
    """A table of rewards was too short for the run."""


class DesignError(UliError):
    """No design within the tolerance was found in the iterations allowed."""


class OracleError(UliError):
    """No back end gave an answer that could be verified; the message says on which set."""


class InfeasibleError(OracleError):
    """The constraints leave nothing of the arm set."""


class PolicySearchError(UliError):
    """The search for the best policy would visit more nodes than its cap allows."""


class RuleError(UliError):
    """A user's elimination rule gave something that is not a usable mask."""


class OwnLearnerError(UliError):
    """A learner of the user's own chose what is no arm, or cannot be run."""


class NoGuaranteeError(UliError):
    """No uniform last-iterate guarantee is proved for this case."""


class UnsupportedError(UliError, NotImplementedError):
    """What was asked for is not available here, or not from this learner."""


class ReportError(UliError):
    """A report cannot be written; an existing one is intact."""


class MissingExtraError(UliError, ImportError):
    """An optional package is needed; the message says how to install it."""


class GuaranteeWarning(UserWarning):
    """The run goes on, but no guarantee covers it."""


class DelayWarning(UserWarning):
    """Much that is known is not learned from: it waits for an outcome of an earlier decision."""


class MissingScoresWarning(UserWarning):
    """More than half of the scores of a candidate in a race are missing."""


class SaturationWarning(UserWarning):
    """A phase of policy elimination was too short for its estimates to mean anything."""


class CacheWarning(UserWarning):
    """Compiled kernels cannot be kept on disk; each process compiles them again."""
