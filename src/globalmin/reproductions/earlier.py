"""Numbers of an earlier run of ours with their spread over draws, and the rows judged against them:
the tolerance comes from the sampling errors of both sides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from globalmin._types import ArrayLike
from globalmin.reproductions.registry import Number, Row

SURE = 4.0  # standard errors: of a hundred rows judged, one of 150 seeds has one that differs


@dataclass(frozen=True)
class Earlier:
    """Mean and standard deviation over so many draws of an earlier run, none of them drawn again.

    Parameters
    ----------
    mean, spread : over the draws; the spread is that of one draw.
    draws : how many.
    wrong : a wrong experiment in words and the mean that it gave; see `Row.catches`.
    """

    mean: float
    spread: float
    draws: int
    wrong: tuple[str, float] | None = None

    def row(
        self,
        quantity: str,
        values: ArrayLike,
        *,
        published: Number | str | None = None,
        where: str = "",
        note: str = "",
    ) -> Row:
        """The mean of our values, one a draw, beside the earlier mean."""
        ours = np.atleast_1d(np.asarray(values, dtype=np.float64))
        return Row(
            quantity,
            published,
            float(ours.mean()),
            SURE * self.spread * float(np.sqrt(1.0 / len(ours) + 1.0 / self.draws)),
            note=note,
            where=where,
            reference=self.mean,
            source=f"our earlier run, {self.draws} other draws, spread of one {self.spread:.2g}",
            error=f"{SURE:g} standard errors of {len(ours)} and of {self.draws} draws",
            catches=self.wrong,
        )

    def spread_row(self, quantity: str, values: ArrayLike) -> Row:
        """The standard deviation of our values beside the earlier one: runs without chance have
        none. Its relative error is that of normal draws, 1/sqrt(2(n - 1)).
        """
        ours = np.asarray(values, dtype=np.float64)
        error = np.sqrt(0.5 / (len(ours) - 1.0) + 0.5 / (self.draws - 1.0))
        return Row(
            quantity,
            None,
            float(ours.std(ddof=1)),
            SURE * self.spread * float(error),
            reference=self.spread,
            source=f"our earlier run, {self.draws} other draws",
            error=f"{SURE:g} standard errors of a standard deviation of {len(ours)} draws",
            catches=("runs without chance", 0.0),
        )
