"""Errors and warnings of globalmin: one family, so that a caller can catch it whole."""


class GlobalMinError(Exception):
    """Base of every error raised on purpose by globalmin."""


class DataError(GlobalMinError, ValueError):
    """The data cannot be used; the message names the argument, the place and the remedy."""


class HypothesisError(GlobalMinError, ValueError):
    """A theorem's assumption fails on this instance; `hypothesis` and `value` say which and by how
    much.
    """

    def __init__(self, message: str, *, hypothesis: str = "", value: object = None) -> None:
        super().__init__(message)
        self.hypothesis = hypothesis
        self.value = value


class NotConverged(GlobalMinError, RuntimeError):
    """Training ended without reaching its target and the caller asked for an exception
    (`throw=True`).
    """


class CannotCertify(GlobalMinError, RuntimeError):
    """No claim could be proved; `reasons` maps each claim that was tried to what stood in its
    way.
    """

    def __init__(self, message: str, *, reasons: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.reasons = dict(reasons or {})


class MemoryRefused(GlobalMinError, MemoryError):
    """The work needs more memory than allowed; raised before anything large is allocated."""


class PlanError(DataError):
    """A sweep cannot be run as asked; the message names the key or argument, the value and the
    remedy.
    """


class StoreError(GlobalMinError, RuntimeError):
    """A sweep's folder cannot be read or written; the message names the file and the remedy."""


class StoreFull(StoreError):
    """There is no room left to record results; what was acknowledged before is safe."""


class DegenerateDataWarning(UserWarning):
    """The data make zero loss impossible or theorems inapplicable; the message names the rows."""
