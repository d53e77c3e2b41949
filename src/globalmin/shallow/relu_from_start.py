"""Gradient descent on a network with kinks from its start, followed until the rest of the run can
be proved, or until its loss is small.
"""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.errors import CannotCertify
from globalmin.proving.producer import prove, unproved
from globalmin.shallow.claims.relu_trajectory import landing_claim
from globalmin.shallow.from_start import StartedRun, first_point
from globalmin.shallow.methods.gradient_descent import steps

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from globalmin._options import Landing
    from globalmin.data import Dataset
    from globalmin.proving.proof import Proof
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.problem import Point

LOW = 1e-6  # of |y|: where a run that is only to have a small loss ends
_ASKED_EVERY = 0.7  # the theorem is asked when the residual fell by so much since the last question
_FIRST_ASKED = 0.5  # of |y|: no margin is large enough before
_ROUNDING = 1e-13  # of |y|: below this the residual is noise, and asking again is in vain


def prove_kinked(
    start: ShallowNetwork,
    data: Dataset,
    *,
    landing: Landing,
    path: str | os.PathLike[str] | None,
    **options: Any,
) -> Proof:
    """As `prove_start`, for relu, and with landing "loss" for leaky_relu and abs too; beside a
    small loss also that zero-loss weights exist nearby, if that can be proved.
    """
    try:
        run = descend_kinked(start, data, landing=landing, **options)
    except CannotCertify as error:
        return unproved(error, data)
    known: dict[str, Any] = {"run": run, "landing": landing, "path": path}
    kinds = ("relu-trajectory",)
    if landing == "loss":
        both = prove(run.network, data, claims=(*kinds, "relu-interpolation"), **known)
        if both.is_accepted:
            return both
    return prove(run.network, data, claims=kinds, **known)


def descend_kinked(
    start: ShallowNetwork,
    data: Dataset,
    *,
    landing: Landing = "descent",
    step_size: float | str = "theory",
    max_iter: int,
    seed: int | None = None,
) -> StartedRun:
    """Follow gradient descent on W until relu-linearized-descent holds with room at its weights
    (landing "descent"), or until the residual is small or the steps are used up ("loss").

    Raises CannotCertify, with the last reason, if the former does not happen.
    """
    first, eta = first_point(start, data, step_size)
    is_there = _Question(start, data, eta) if landing == "descent" else _is_low
    norms: list[float] = []
    lengths: list[float] = []
    point = first
    for following in islice((i.point for i in steps(first, eta)), max_iter + 1):
        if is_there(point) or (landing == "loss" and len(norms) == max_iter):
            network = start.with_weights(W=point.W, v=point.v)
            path = np.array(norms), np.array(lengths)
            return StartedRun(start, network, eta, len(norms), seed, *path)
        norms.append(point.norm)
        lengths.append(float(np.linalg.norm(following.W - point.W)))
        point = following
        if not math.isfinite(point.norm) or (
            landing == "descent" and point.relative_residual < _ROUNDING
        ):
            break
    raise CannotCertify(_why(is_there, eta, len(norms), point))


def _is_low(point: Point) -> bool:
    return point.relative_residual <= LOW


class _Question:
    """Whether the rest of the run can be proved, asked again when the residual fell enough."""

    def __init__(self, start: ShallowNetwork, data: Dataset, eta: float) -> None:
        self.start, self.data, self.eta = start, data, eta
        self.asked, self.why = _FIRST_ASKED, "it was never small enough to ask"

    def __call__(self, point: Point) -> bool:
        if point.relative_residual > self.asked:
            return False
        self.asked = _ASKED_EVERY * point.relative_residual
        try:
            landing_claim(self.start.with_weights(W=point.W, v=point.v), self.data, self.eta)
        except CannotCertify as error:
            self.why = str(error)
            return False
        return True


def _why(question: Callable[[Point], bool], eta: float, n_iter: int, point: Point) -> str:
    reason = f": {question.why}" if isinstance(question, _Question) else ""
    return (
        f"gradient descent with step {eta:.3g} does not come within the reach of "
        f"relu-linearized-descent in {n_iter} steps (relative residual "
        f"{point.relative_residual:.2g}){reason}. Where pairs slide along kinks it never does: "
        'take a wider network, or ask for less with landing="loss"'
    )
