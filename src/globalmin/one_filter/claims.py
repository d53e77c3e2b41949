"""Claims spurious-minimum and global-basin: a one-filter network and its teacher -> claim -> file
(theorem TB).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import CannotCertify, DataError
from globalmin.one_filter.landscape import Basin, barrier, smoothness, spurious_loss, trap_test
from globalmin.one_filter.network import FilterTeacher, OneFilterNetwork, population_loss
from globalmin.proving import claim
from globalmin.proving.certificate import SealedCertificate
from globalmin.proving.producer import certified
from globalmin.references import states

ROOM = 1e-9  # relative distance of stored bounds to the floats they come from


@dataclass(frozen=True)
class FilterCertificate(SealedCertificate):
    """A claim about one start of a one-filter network and its teacher; get one from
    `certify_filter`.
    """

    claims: tuple[claim.Claim, ...]
    filter: claim.Tensor = field(repr=False)
    head: claim.Tensor = field(repr=False)
    teacher: FilterTeacher = field(repr=False)

    def _description(self) -> Mapping[str, object]:
        return {
            "loss": "population-half-square",
            "network": {"kind": "filter"},
            "data": {"law": "gaussian-patches"},
        }

    def _tensors(self) -> Mapping[str, claim.Tensor]:
        return {
            "filter": self.filter,
            "head": self.head,
            "true_filter": self.teacher.w,
            "true_head": self.teacher.a,
        }


@states("DU-CERT5", "DU-B5", "DU-T5.5")
def certify_filter(
    v: ArrayLike, a: ArrayLike, teacher: FilterTeacher, step_size: float | None = None
) -> FilterCertificate:
    """Prove where descent from (v, a) on the population loss ends: at the teacher, or in the trap.

    The same as `certify(OneFilterNetwork(v, a), teacher, step_size=step_size)`.

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
    question = claim.Question(
        OneFilterNetwork(_vector(v), _vector(a)), teacher, step_size=step_size
    )
    certificate: Any = certified(question)[0]
    return certificate


def _vector(value: ArrayLike) -> Array:
    return np.asarray(value, dtype=np.float64)


def _checked(
    question: claim.Question, wanted: Sequence[claim.ClaimRecord] | None
) -> claim.Question:
    network, teacher = question.network, question.data
    for name, value, true in (("v", network.v, teacher.w), ("a", network.a, teacher.a)):
        if value.shape != true.shape:
            raise DataError(
                f"{name} has shape {value.shape}, the teacher's {true.shape}; give finite vectors "
                "of equal lengths"
            )
    return question


def _basin(question: claim.Question) -> Basin:
    return trap_test(question.network.v, question.network.a, question.data)


def _build(question: claim.Question, expected: Basin) -> claim.Claim:
    v, a, teacher = question.network.v, question.network.a, question.data
    basin, loss = _basin(question), population_loss(v, a, teacher)
    step_size = question.step_size
    _refuse(basin, loss, barrier(teacher), 2.0 / smoothness(v, a, teacher), step_size)
    if basin is not expected:
        raise CannotCertify(f"descent from here ends elsewhere: {basin.value}")
    upper = Fraction(_loss_above(loss, teacher))
    fields: dict[str, claim.Json] = {"loss_upper": claim.rational(upper)}
    summary = {"loss_upper": float(upper), "barrier": barrier(teacher)}
    if step_size is not None:
        fields["eta"] = claim.rational(step_size)
    if basin is Basin.GLOBAL:
        return claim.Claim(GLOBAL_BASIN.kind, fields, {}, summary)
    floor = Fraction(spurious_loss(teacher)) * Fraction(1 - ROOM)
    fields["floor"] = claim.rational(floor)
    return claim.Claim(SPURIOUS_MINIMUM.kind, fields, {}, summary | {"floor": float(floor)})


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
        raise CannotCertify("; ".join(reasons))


def _global_rungs(question: claim.Question) -> list[claim.Rung]:
    rung = claim.Rung(1, lambda: _build(question, Basin.GLOBAL))
    return [] if _basin(question) is Basin.SPURIOUS else [rung]


def _trap_rungs(question: claim.Question) -> list[claim.Rung]:
    rung = claim.Rung(1, lambda: _build(question, Basin.SPURIOUS))
    return [] if _basin(question) is Basin.GLOBAL else [rung]


GLOBAL_BASIN = claim.ClaimRecord(
    kind="global-basin",
    theorem="filter-basin/1",
    proves=claim.Proves.DESCENT,
    label="descent to the true filter",
    network=OneFilterNetwork,
    build=lambda q: _build(q, Basin.GLOBAL),
    rungs=_global_rungs,
)
SPURIOUS_MINIMUM = claim.ClaimRecord(
    kind="spurious-minimum",
    theorem="filter-trap/1",
    proves=claim.Proves.POINT,
    label="descent into the trap",
    network=OneFilterNetwork,
    build=lambda q: _build(q, Basin.SPURIOUS),
    rungs=_trap_rungs,
)
SUBJECT = claim.Subject(
    OneFilterNetwork,
    lambda claims, q, _: FilterCertificate(claims, q.network.v, q.network.a, q.data),
    prepare=_checked,
)
