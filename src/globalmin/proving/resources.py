"""Refusals before anything large is allocated: memory of the producer, work and file size of the
checker.
"""

from __future__ import annotations

from typing import Protocol

from globalmin._types import Array
from globalmin.errors import CannotCertify, MemoryRefused

MEMORY_LIMIT = 4 * 2**30
# n x n float64 arrays alive at the same time: K, its shifted copy, C, the product, a workspace
_MATRICES = 5
# ball multiplications, 2 m^3 for one positive-definiteness test (certificate format, section 7)
CHECKER_WORK = 10**11


class HasWeights(Protocol):
    """A network with one hidden layer, k x d."""

    @property
    def W(self) -> Array:
        """The hidden weights."""
        ...


def refuse_if_too_large(n: int, network: HasWeights) -> None:
    """Raise MemoryRefused or CannotCertify if n samples are beyond the producer's memory or the
    checker's budget.
    """
    k, d = network.W.shape
    needed = 8 * (_MATRICES * n * n + 6 * n * (k + d))
    if needed > MEMORY_LIMIT:
        raise MemoryRefused(
            f"a certificate for n = {n} samples, d = {d}, k = {k} needs about {needed / 2**30:.1f} "
            f"GiB, more than the {MEMORY_LIMIT / 2**30:.0f} GiB allowed; certify fewer samples"
        )
    if 2 * n**3 > CHECKER_WORK:
        largest = int((CHECKER_WORK / 2) ** (1 / 3))
        raise CannotCertify(
            f"n = {n} samples: the checker's work budget ends at n = {largest}; certify fewer "
            "samples",
            reasons={"size": f"n = {n} > {largest}"},
        )
