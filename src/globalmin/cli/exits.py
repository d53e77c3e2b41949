"""Exit codes, and which error means which: the contract with scripts that call `globalmin`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from globalmin.errors import (
    CannotCertify,
    DataError,
    GlobalMinError,
    HypothesisError,
    MemoryRefused,
    NotConverged,
    StoreError,
    StoreFull,
)

if TYPE_CHECKING:
    from globalmin.proving.proof import Proof

ACCEPTED = 0
NOT_CERTIFIED = 1
USAGE = 2
MALFORMED_INPUT = 3
UNDECIDED = 4
INTERNAL = 5
INTERRUPTED = 130


class InterruptError(Exception):
    """Ctrl-C, before there was anything worth keeping."""


_BY_ERROR: tuple[tuple[type[BaseException], int], ...] = (
    (MemoryRefused, UNDECIDED),
    (MemoryError, UNDECIDED),
    (DataError, MALFORMED_INPUT),
    (StoreFull, UNDECIDED),
    (StoreError, MALFORMED_INPUT),
    (CannotCertify, NOT_CERTIFIED),
    (NotConverged, NOT_CERTIFIED),
    (HypothesisError, NOT_CERTIFIED),
    (InterruptError, INTERRUPTED),
    (KeyboardInterrupt, INTERRUPTED),
    (GlobalMinError, NOT_CERTIFIED),
)
_BY_VERDICT = {"UNDECIDED": UNDECIDED, "MALFORMED": INTERNAL}
_WORST_FIRST = (INTERRUPTED, INTERNAL, NOT_CERTIFIED, UNDECIDED, ACCEPTED)


def code_of_error(error: BaseException) -> int:
    """Exit code of an exception; what nobody foresaw is an internal error."""
    return next((code for kind, code in _BY_ERROR if isinstance(error, kind)), INTERNAL)


def code_of_proof(proof: Proof) -> int:
    """Exit code of the verdict on a file that globalmin itself has written: malformed is then our
    own fault.

    An accepted file that leaves open whether the network is at the global minimum is no success of
    `fit`; with the head trained alone, at the minimum over heads.
    """
    if proof.is_accepted:
        is_least = proof.reaches_minimum or proof.reaches_head_minimum
        return ACCEPTED if is_least else NOT_CERTIFIED
    if proof.lacks_memory:
        return UNDECIDED
    return _BY_VERDICT.get(proof.verdict, NOT_CERTIFIED)


def worst(codes: Iterable[int]) -> int:
    """The code to exit with when several targets ended differently."""
    seen = set(codes)
    return next((code for code in _WORST_FIRST if code in seen), ACCEPTED)
