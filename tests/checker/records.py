"""Records of checks as the engine makes them, for tests that call a single check."""

from globalmin_check import limits
from globalmin_check.checks import Budget, Checks, ExactChecks


def last_pass() -> Checks:
    """The pass at the highest precision: an open check is recorded and does not end it."""
    return Checks(Budget(), {}, limits.PRECISIONS[-1])


def first_pass() -> Checks:
    """The pass at the lowest precision: an open check ends it."""
    return Checks(Budget(), {}, limits.PRECISIONS[0])


def exact_checks() -> ExactChecks:
    """The record that is open while the objects of a claim are built."""
    return ExactChecks(Budget())
