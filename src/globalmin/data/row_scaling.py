"""Shift and scale of raw rows, as short binary numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from globalmin._options import one_of
from globalmin._types import Array
from globalmin.data.preprocessing import Preprocessing
from globalmin.errors import DataError

LARGEST = 2.0**50  # of a scaled number, so that nothing overflows and underflow is negligible
SAMPLE = 2**16  # first rows that the scaling is taken from
Spread = Literal["standardize", "none"]


@dataclass(frozen=True, eq=False)
class RowScaling:
    """x = (a - shift) scale for the inputs and, last, the label: short binary numbers, so that the
    differences and products stay short in exact arithmetic.
    """

    shift: Array
    scale: Array

    @classmethod
    def of(cls, rows: Array) -> RowScaling:
        """Near the means and standard deviations of these rows (a column that does not vary keeps
        its unit).
        """
        deviation = rows.std(axis=0)
        size = np.abs(rows).max(axis=0)
        deviation[deviation <= 1e-12 * size] = 0.0
        steps = np.exp2(np.floor(np.log2(np.where(deviation > 0, deviation, 1.0)))) / 16.0
        shift = np.round(rows.mean(axis=0) / steps) * steps
        mantissa, exponent = np.frexp(1.0 / np.where(deviation > 0, deviation, 1.0))
        return cls(shift, np.ldexp(np.round(mantissa * 256.0), exponent - 8))

    @classmethod
    def none(cls, width: int) -> RowScaling:
        """The numbers as they are."""
        return cls(np.zeros(width), np.ones(width))

    @classmethod
    def asked(cls, wanted: Spread | RowScaling, sample: Array) -> RowScaling:
        """That of the sample, none, or the one given."""
        if isinstance(wanted, RowScaling):
            return wanted
        one_of("scaling", wanted, ("standardize", "none"))
        return cls.of(sample) if wanted == "standardize" else cls.none(sample.shape[1])

    def apply(self, rows: Array) -> Array:
        """Scaled rows."""
        return (rows - self.shift) * self.scale

    def preprocessing(self, columns: Sequence[str], *, bias: bool) -> Preprocessing:
        """The same for a model file, which divides where this multiplies: equal up to rounding.

        Parameters
        ----------
        columns : names of the inputs and, last, of the label.
        bias : whether a constant input 1 is appended.
        """
        unit = 1.0 / self.scale
        return Preprocessing(
            scaling="standardize",
            bias=bias,
            x_shift=self.shift[:-1],
            x_scale=unit[:-1],
            y_shift=float(self.shift[-1]),
            y_scale=float(unit[-1]),
            feature_names=tuple(columns[:-1]),
            target_name=columns[-1],
        )

    def bounded(self, rows: Array, columns: Sequence[str]) -> Array:
        """Scaled rows; DataError for a number that is far too large."""
        scaled = self.apply(rows)
        largest = np.abs(scaled).max(axis=0)
        if not largest.max() <= LARGEST:
            raise DataError(
                f"column {columns[int(np.argmax(largest))]!r} has a value more than 2^50 times its "
                "unit; remove the row, or give a larger scale"
            )
        return scaled
