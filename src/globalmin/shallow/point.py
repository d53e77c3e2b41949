"""The verdict on a point of a landscape, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from globalmin.shallow.escape import Escape


class PointKind(StrEnum):
    """The verdicts of `classify_point`.

    A strict saddle has a curvature below what rounding and the remaining gradient can make of zero;
    second-order stationary is a point without curvature below rounding; "not decided" is what lies
    between, and the reason says what would decide it.
    """

    GLOBAL_MINIMUM = "global minimum"
    STRICT_SADDLE = "strict saddle"
    SPURIOUS_MINIMUM = "spurious minimum"
    SECOND_ORDER = "second-order stationary"
    NOT_STATIONARY = "not stationary"
    NOT_DECIDED = "not decided"


@dataclass(frozen=True)
class PointClass:
    """The verdict with its numbers, all in floats.

    Attributes
    ----------
    kind : PointKind
        The verdict.
    reason : str
        In words, with the theorem where one was used.
    loss, gradient_norm : float
        At the point; `relative_gradient` is the norm divided by ||J||_F ||r||.
    gap : float | None
        Bound of loss minus the least loss of the class, None where no theorem gives one.
    negative_eigenvalues : int | None
        Number of eigenvalues of the Hessian below minus rounding, by inertia; None if the Hessian
        was not formed.
    least_eigenvalue : float | None
        Of the Hessian; None if it was not formed.
    escape : Escape | None
        A direction of negative curvature, if one was found.
    """

    kind: PointKind
    reason: str
    loss: float
    gradient_norm: float
    relative_gradient: float
    gap: float | None
    negative_eigenvalues: int | None
    least_eigenvalue: float | None
    escape: Escape | None
