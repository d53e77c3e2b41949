"""Paths of quadratic networks over the weight decay, each solution started from the one before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.quadratic.duality import critical_decay
from globalmin.quadratic.solve import TOL, QuadraticSolution, checked_data, solve_quadratic

if TYPE_CHECKING:
    from collections.abc import Sequence


def decay_path(
    X: object,
    y: object,
    weight_decays: Sequence[float] | None = None,
    *,
    n_decays: int = 20,
    ratio: float = 1e-3,
    signs: str = "mixed",
    v_max: float = 1.0,
    width: int | None = None,
    tol: float = TOL,
) -> list[QuadraticSolution]:
    r"""Solutions for a decreasing sequence of weight decays, each started from the one before.

    Parameters
    ----------
    weight_decays : positive numbers, solved in decreasing order; default `n_decays` of them, evenly
        spaced in the logarithm from the critical decay (`critical_decay`, where W = 0 becomes
        optimal) down to `ratio` times it.
    """
    samples, labels = checked_data(X, y)
    if weight_decays is None:
        weight_decays = default_decays(
            samples, labels, n_decays=n_decays, ratio=ratio, signs=signs, v_max=v_max
        )
    path: list[QuadraticSolution] = []
    for w in sorted(weight_decays, reverse=True):
        warm = path[-1].M if path else None
        path.append(
            solve_quadratic(
                samples,
                labels,
                signs=signs,
                width=width,
                weight_decay=w,
                v_max=v_max,
                tol=tol,
                start=warm,
            )
        )
    return path


def default_decays(
    X: Array, y: Array, *, n_decays: int, ratio: float, signs: str, v_max: float
) -> list[float]:
    """Weight decays from the critical one down to `ratio` times it, evenly spaced in the
    logarithm.
    """
    if n_decays < 1 or not 0 < ratio < 1:
        raise DataError(
            f"n_decays={n_decays} and ratio={ratio} must satisfy n_decays >= 1 and 0 < ratio < 1"
        )
    largest = critical_decay(X, y, two_sided=signs == "mixed", v_max=v_max)
    if not largest > 0:
        raise DataError(
            "every weight decay gives the zero network for these labels; give weight_decays "
            "explicitly"
        )
    return [largest * ratio ** (i / max(n_decays - 1, 1)) for i in range(n_decays)]
