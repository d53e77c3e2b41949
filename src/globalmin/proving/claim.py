"""One claim of a certificate: what is said, the witness that proves it, and the same numbers as
floats for reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Json = str | int | bool | Sequence["Json"] | Mapping[str, "Json"]
Tensor = NDArray[np.float64] | NDArray[np.int64]


# of the loss: a stored network with a wider gap to the floor is not said to be at the minimum
WIDEST_GAP = 1e-6
# certificates state the loss 0 of an exact fit as 2^-400, which no gap can be small against
EXACT_FIT = 2.0**-398


@dataclass(frozen=True)
class Claim:
    """A claim of kind `kind`: `fields` go to the certificate's JSON, `tensors` (by role) to its
    data, `summary` to reports.
    """

    kind: str
    fields: Mapping[str, Json]
    tensors: Mapping[str, Tensor] = field(repr=False)
    summary: Mapping[str, float]

    @property
    def is_wide(self) -> bool:
        """Whether it states a gap too large to say that the stored network is at the minimum."""
        value = self.summary.get("objective", self.summary.get("loss_upper", 0.0))
        gap = self.summary.get("gap", 0.0)
        return gap > max(WIDEST_GAP * value, EXACT_FIT)

    def to_json(self) -> dict[str, Json]:
        """The claim object of the certificate format, section 5."""
        from globalmin.proving.record import records

        theorem = records()[self.kind].theorem
        return {"kind": self.kind, "theorem": theorem, "version": 1, **self.fields}


def rational(value: float | Fraction) -> str:
    """The exact rational a double (or fraction) is, as "p" or "p/q" in lowest terms."""
    return str(Fraction(value))
