"""Claim `unique-minimum`: exactly one critical point in a ball around the stored weights, with the
rate of gradient descent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import one_of
from globalmin._types import Array
from globalmin.errors import CannotCertify, DataError
from globalmin.linalg.positive_definite import NotPositiveDefiniteError
from globalmin.proving.claim import (
    Claim,
    ClaimRecord,
    Json,
    Proves,
    Question,
    Rung,
    Tensor,
    rational,
)
from globalmin.recovery.claims.convexity_forms import BUILDERS, Bound, Center, measure_center
from globalmin.references import states
from globalmin.shallow.claims.curvature import gradient_above, smooth_arrays
from globalmin.shallow.claims.high_precision import precise_residual
from globalmin.shallow.claims.linearized_point import is_too_narrow, loss_above
from globalmin.shallow.claims.subject import has_smooth_zero
from globalmin.shallow.hessian import gradient, gradient_norm, hessian
from globalmin.shallow.network import ShallowNetwork, loss

if TYPE_CHECKING:
    from globalmin.data import Dataset


FORMS = tuple(BUILDERS)
PARAMETERS = 400  # limit of the certificate format
_HALVINGS = 14


@dataclass(frozen=True)
class Descent:
    """The scalars of the claim that follow from the bound m0 - a t - b t^2 on the ball."""

    r: float
    r_minus: float
    mu: float
    M: float
    eta: float
    rate: float
    bound: Bound = field(repr=False)


@states("FCL-CERT", "FCL-T2", "FCL-C2", "FCL-C4")
def build(
    network: ShallowNetwork,
    data: Dataset,
    *,
    form: str | None = None,
    radius: float | None = None,
    modulus: float = 0.02,
) -> Claim:
    r"""The claim with the largest ball found, or CannotCertify with the measured numbers.

    Parameters
    ----------
    network, data : smooth network at (or very near) a strict local minimum in W, see
        `polish_minimum`, and its data set.
    form : "plain", "split", "tensor" or "mixed", the bound of the Hessian on the ball; by default
        the one with the largest ball.
    radius : the radius to claim; by default the largest that keeps `modulus`.
    modulus : the share of the least eigenvalue at the center that must be left on the whole ball,
        between 0 and 1: a larger share gives a smaller ball and a faster proved rate.

    Theory
    ------
    FCL-CERT: forms A, B, C and their combination; FCL-T2, FCL-C2, FCL-C4 with every constant
    explicit: unique critical point and linear rate of gradient descent with the step 2/(mu + M).
    """
    X, y = smooth_arrays(network, data, "W")
    _check_arguments(network, form, radius, modulus)
    loss_upper = loss_above(precise_residual(network, X, y))
    g = gradient_above(network, X, y, trained="W")
    center = measure_center(network, X, y)
    if center.least <= 0:
        raise CannotCertify(
            "the Hessian in W is not positive definite at these weights (least eigenvalue "
            f"{center.least:.3g})"
        )
    forms = FORMS if form is None else (form,)
    found = [
        ball
        for ball in (_ball(center, g, name, radius, modulus * center.least) for name in forms)
        if ball is not None
    ]
    if not found:
        raise CannotCertify(
            f"no ball around these weights could be certified: gradient {g:.3g}, least eigenvalue "
            "of the Hessian "
            f"{center.least:.3g}; polish the weights (polish_minimum) or give more samples"
        )
    best = max(found, key=lambda ball: ball.r)
    return _claim(best, loss_upper)


def _check_arguments(
    network: ShallowNetwork, form: str | None, radius: float | None, modulus: float
) -> None:
    if form is not None:
        one_of("form", form, FORMS)
    if radius is not None and not (math.isfinite(radius) and radius > 0):
        raise DataError(f"radius={radius!r} must be a positive number")
    if not 0 < modulus < 1:
        raise DataError(f"modulus={modulus!r} must be between 0 and 1")
    if network.W.size > PARAMETERS:
        raise CannotCertify(
            f"{network.W.size} parameters are more than the {PARAMETERS} of the dense Hessian of "
            "this claim"
        )


def _ball(center: Center, g: float, form: str, radius: float | None, kept: float) -> Descent | None:
    make = BUILDERS[form]

    def room(r: float) -> float:
        return make(center, r, None).lower(r) - kept

    r = _largest(room) if radius is None else radius
    if r == 0.0:
        return None
    try:
        return _descent(make(center, r, {}), g, r)
    except NotPositiveDefiniteError:
        return None


def _largest(room: Callable[[float], float]) -> float:
    """The largest radius that leaves room, which decreases in the radius; 0 if there is none."""
    high = 1e-3
    while room(high) > 0 and high < 1e3:
        high *= 2.0
    low = high / 2.0 if high > 1e-3 else 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if room(middle) > 0 else (low, middle)
    return low


def _descent(bound: Bound, g: float, r: float) -> Descent | None:
    """The numbers of the theorem, each with its margin; None if an inequality fails."""
    mu = bound.lower(r) * (1.0 - 1e-9)
    M = bound.upper(r) * (1.0 + 1e-9)
    s = 1.001 * g / bound.m0
    for _ in range(60):
        if s * (bound.m0 - s * (bound.a / 2.0 + s * bound.b / 3.0)) >= g * (1.0 + 1e-9):
            break
        s *= 1.1
    else:
        return None
    if not (mu > 0 and 2.0 * s <= r and math.isfinite(M)):
        return None
    eta = 2.0 / (mu + M) * (1.0 - 1e-12)
    return Descent(r, s, mu, M, eta, math.nextafter(1.0 - eta * mu * (1.0 - 1e-9), 1.0), bound)


def _claim(ball: Descent, loss_upper: float) -> Claim:
    numbers = {
        "loss_upper": loss_upper,
        "r": ball.r,
        "r_minus": ball.r_minus,
        "mu": ball.mu,
        "M": ball.M,
        "eta": ball.eta,
    }
    numbers |= {"rate": ball.rate, "m0": ball.bound.m0, "M0": ball.bound.M0}
    fields: dict[str, Json] = {name: rational(value) for name, value in numbers.items()}
    tensors: dict[str, Tensor] = dict(ball.bound.tensors)
    return Claim(
        CLAIM.kind,
        fields | {"form": ball.bound.form} | dict(ball.bound.fields),
        tensors,
        numbers,
    )


@states("FCL-CERT")
def polish_minimum(network: ShallowNetwork, data: Dataset, *, steps: int = 200) -> ShallowNetwork:
    """Newton's method on W to a local minimum: damped so that the loss falls, then full steps until
    rounding stops them.
    """
    X, y = smooth_arrays(network, data, "W")
    best, size = _damped(network, X, y, steps), math.inf
    while (new := gradient_norm(best, X, y)) < 0.9 * size:
        H, kept, size = hessian(best, X, y), best, new
        spectrum = np.linalg.eigvalsh(H)
        if not spectrum[0] > len(H) * np.finfo(np.float64).eps * spectrum[-1]:
            return best  # singular, as far as floats tell: no Newton step
        best = best.with_weights(
            W=best.W - np.linalg.solve(H, gradient(best, X, y)[0].reshape(-1)).reshape(best.W.shape)
        )
        best = best if gradient_norm(best, X, y) < size else kept
    return best


def _damped(network: ShallowNetwork, X: Array, y: Array, steps: int) -> ShallowNetwork:
    """Steps (H + shift I)^-1 grad that lower the loss; the shift grows after a failure and shrinks
    after a success.
    """
    best, value, damping = network, loss(network, X, y), 0.0
    for _ in range(steps):
        H = hessian(best, X, y)
        low, high = (float(end) for end in np.linalg.eigvalsh(H)[[0, -1]])
        shift = max(damping, 1e-3 * abs(high) - low if low <= 0 else 0.0)
        step = np.linalg.solve(
            H + shift * np.eye(len(H)), gradient(best, X, y)[0].reshape(-1)
        ).reshape(best.W.shape)
        trial = best.with_weights(W=best.W - step)
        if (new := loss(trial, X, y)) < value * (1.0 - 1e-12):
            best, value, damping = trial, new, damping / 10.0 if damping > 1e-9 * high else 0.0
        elif (
            float(np.sum(step * step)) <= 1e-12 * float(np.sum(best.W * best.W))
            or damping > 1e3 * high
        ):
            return best
        else:
            damping = max(10.0 * damping, 1e-6 * high)
    return best


def _rungs(question: Question) -> list[Rung]:
    """Where no zero loss can be proved because the network is too narrow; in the form that is
    quick, the others have larger balls and take up to minutes.
    """
    network, n = question.network, question.data.n_samples
    is_small = question.trained == "W" and network.W.size <= PARAMETERS
    is_tried = has_smooth_zero(question) and network.activation.certificate_name != "quadratic"
    if not (is_small and is_tried and is_too_narrow(network, n, "W")):
        return []
    return [Rung(2, lambda: build(network, question.data, form="plain"))]


CLAIM = ClaimRecord(
    kind="unique-minimum",
    theorem="local-convexity/1",
    proves=Proves.POINT,
    label="the only critical point near",
    network=ShallowNetwork,
    build=lambda q: build(q.network, q.data),
    rungs=_rungs,
    sentence="Within {r} of the stored W the training loss has exactly one critical point, a "
    "strict local minimum, at most {r_minus} away, and is strongly convex. Gradient descent with "
    "step {eta} from every start within {starts} converges to it, and every step multiplies the "
    "distance by at most {rate}. That the minimum is global is not said.",
    headline="Exactly one critical point lies near the stored weights, a strict minimum. Whether "
    "it is global is not proved.",
)
