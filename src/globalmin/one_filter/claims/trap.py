"""Claims spurious-minimum and global-basin: a one-filter network and its teacher -> claim -> file
(theorem TB).
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from globalmin.errors import CannotCertify, DataError
from globalmin.one_filter.landscape import Basin, barrier, smoothness, spurious_loss, trap_test
from globalmin.one_filter.teacher import population_loss
from globalmin.proving.certificate import PRODUCER
from globalmin.proving.claim import Claim, Json, Tensor, rational
from globalmin.proving.container import save_atomically, sealed_bytes
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.one_filter.teacher import FilterTeacher

ROOM = 1e-9  # relative distance of stored bounds to the floats they come from


@dataclass(frozen=True)
class FilterCertificate:
    """A claim about one start of a one-filter network and its teacher; get one from
    `certify_filter`.
    """

    claims: tuple[Claim, ...]
    filter: Tensor = field(repr=False)
    head: Tensor = field(repr=False)
    teacher: FilterTeacher = field(repr=False)

    def to_bytes(self) -> bytes:
        """The certificate file; the same certificate gives the same bytes."""
        description = {
            "producer": PRODUCER,
            "loss": "population-half-square",
            "network": {"kind": "filter"},
            "data": {"law": "gaussian-patches"},
            "claims": [claim.to_json() for claim in self.claims],
        }
        tensors = {
            "filter": self.filter,
            "head": self.head,
            "true_filter": self.teacher.w,
            "true_head": self.teacher.a,
        }
        return sealed_bytes(description, tensors)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the file atomically and return its path."""
        return save_atomically(path, self.to_bytes())


@states("DU-CERT5", "DU-B5", "DU-T5.5")
def certify_filter(
    v: ArrayLike, a: ArrayLike, teacher: FilterTeacher, step_size: float | None = None
) -> FilterCertificate:
    """Prove where descent from (v, a) on the population loss ends: at the teacher, or in the trap.

    Parameters
    ----------
    v, a : ArrayLike
        Filter and output weights of the start.
    teacher : FilterTeacher
        The true ones.
    step_size : float | None
        A step of gradient descent, below 2/smoothness; without it the claim is about the gradient
        flow alone.

    Raises
    ------
    CannotCertify : the loss is not below the barrier (descend a little first), or the step is too
        large.
    """
    v, a = np.asarray(v, dtype=np.float64), np.asarray(a, dtype=np.float64)
    for name, value, true in (("v", v, teacher.w), ("a", a, teacher.a)):
        if value.shape != true.shape or not np.all(np.isfinite(value)):
            raise DataError(
                f"{name} has shape {value.shape}, the teacher's {true.shape}; give finite vectors "
                "of equal lengths"
            )
    basin, loss = trap_test(v, a, teacher), population_loss(v, a, teacher)
    _refuse(basin, loss, barrier(teacher), 2.0 / smoothness(v, a, teacher), step_size)
    upper = Fraction(_loss_above(loss, teacher))
    fields: dict[str, Json] = {"loss_upper": rational(upper)}
    summary = {"loss_upper": float(upper), "barrier": barrier(teacher)}
    if step_size is not None:
        fields["eta"] = rational(step_size)
    if basin is Basin.GLOBAL:
        return FilterCertificate((Claim("global-basin", fields, {}, summary),), v, a, teacher)
    floor = Fraction(spurious_loss(teacher)) * Fraction(1 - ROOM)
    fields["floor"] = rational(floor)
    return FilterCertificate(
        (Claim("spurious-minimum", fields, {}, summary | {"floor": float(floor)}),), v, a, teacher
    )


def _loss_above(loss: float, teacher: FilterTeacher) -> float:
    """Room for rounding: relative, and near the teacher absolute in the error of a - W a*."""
    rounding = 8.0 * np.finfo(np.float64).eps * math.sqrt(teacher.k + teacher.p)
    scale = teacher.W * math.sqrt(teacher.size + teacher.s**2)
    return (math.sqrt(max(loss, 0.0)) * (1.0 + ROOM) + rounding * scale) ** 2


def _refuse(basin: Basin, loss: float, wall: float, most: float, step_size: float | None) -> None:
    reasons = []
    if basin is Basin.UNDECIDED:
        reasons.append(
            f"the loss {loss:.6g} is not below the barrier {wall:.6g}, or a . a* = 0, or the "
            "filter is exactly opposite: "
            "both ends are still possible; descend some steps and ask again"
        )
    if step_size is not None and not 0.0 < step_size < most:
        reasons.append(f"step_size={step_size!r} is not between 0 and 2/beta = {most:.6g}")
    if reasons:
        raise CannotCertify(
            "; ".join(reasons), reasons={"global-basin or spurious-minimum": "; ".join(reasons)}
        )
