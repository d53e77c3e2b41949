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
from globalmin.shallow.claims.relu_trajectory import landing_claim, lipschitz_of_outputs
from globalmin.shallow.from_start import StartedRun, first_point
from globalmin.shallow.methods.gradient_descent import steps

if TYPE_CHECKING:
    import os

    from globalmin._options import Landing
    from globalmin.data import Dataset
    from globalmin.proving.proof import Proof
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.problem import Point

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
    known: dict[str, Any] = {"run": run, "path": path}
    kinds = ("relu-trajectory",)
    if landing == "loss":
        both = prove(run.network, data, claims=(*kinds, "relu-interpolation"), **known)
        if both.is_accepted:
            return both
    return prove(run.network, data, claims=kinds, **known)


@np.errstate(over="ignore", invalid="ignore")
def descend_kinked(
    start: ShallowNetwork,
    data: Dataset,
    *,
    landing: Landing = "descent",
    tol: float,
    step_size: float | str | None = "theory",
    max_iter: int,
    seed: int | None = None,
) -> StartedRun:
    """Follow gradient descent on W until relu-linearized-descent holds with room at its weights
    (landing "descent"), or until the relative residual is `tol` or after `max_iter` steps ("loss").

    Raises CannotCertify, with the last reason, if the former does not happen.
    """
    first, eta = first_point(start, data, step_size, "W")
    growth = eta * lipschitz_of_outputs(start, data.X) ** 2 - 1.0
    question = _Question(start, data, eta) if landing == "descent" else None
    norms: list[float] = []
    lengths: list[float] = []
    point = first
    for following in islice((i.point for i in steps(first, eta)), max_iter + 1):
        is_low = point.relative_residual <= tol or len(norms) == max_iter
        if question(point) if question else is_low:
            network, K = start.with_weights(W=point.W, v=point.v), len(norms)
            path, factors = (np.array(norms), np.array(lengths)), np.full(K, max(1.0, growth))
            return StartedRun(start, network, eta, K, seed, *path, "W", landing, factors)
        norms.append(point.norm)
        lengths.append(float(np.linalg.norm(following.W - point.W)))
        point = following
        if not math.isfinite(point.norm) or (question and point.relative_residual < _ROUNDING):
            break
    raise CannotCertify(_why(question, eta, len(norms), point))


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


def _why(question: _Question | None, eta: float, n_iter: int, point: Point) -> str:
    if question is None:
        return f"gradient descent with step {eta:.3g} diverges; take a shorter one"
    reason = f": {question.why}"
    return (
        f"gradient descent with step {eta:.3g} does not come within the reach of "
        f"relu-linearized-descent in {n_iter} steps (relative residual "
        f"{point.relative_residual:.2g}){reason}. Where pairs slide along kinks it never does: "
        'take a wider network, or ask for less with landing="loss"'
    )
