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

THEOREMS = {
    "interpolation": "newton-kantorovich/1",
    "descent": "descent-path/1",
    "relu-interpolation": "relu-cell/1",
    "loss-floor": "group-floor/1",
    "optimality-gap": "quadratic-gap/1",
    "identifies": "quadratic-span/1",
    "ambiguous": "quadratic-kernel/1",
    "below-barrier": "quadratic-barrier/1",
    "strict-saddle": "negative-curvature/1",
    "second-order-stationary": "second-order/1",
    "relu-descent": "relu-path/1",
    "gram-positive": "limit-gram/1",
    "deep-descent": "deep-path/1",
    "spurious-minimum": "filter-trap/1",
    "global-basin": "filter-basin/1",
    "unique-minimum": "local-convexity/1",
    "factorization-gap": "best-rank/1",
}


@dataclass(frozen=True)
class Claim:
    """A claim of kind `kind`: `fields` go to the certificate's JSON, `tensors` (by role) to its
    data, `summary` to reports.
    """

    kind: str
    fields: Mapping[str, Json]
    tensors: Mapping[str, Tensor] = field(repr=False)
    summary: Mapping[str, float]

    def to_json(self) -> dict[str, Json]:
        """The claim object of the certificate format, section 5."""
        return {"kind": self.kind, "theorem": THEOREMS[self.kind], "version": 1, **self.fields}


def rational(value: float | Fraction) -> str:
    """The exact rational a double (or fraction) is, as "p" or "p/q" in lowest terms."""
    return str(Fraction(value))
