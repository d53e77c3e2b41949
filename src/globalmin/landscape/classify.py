r"""What a point of the landscape is: global minimum, strict saddle, second-order stationary, not
stationary, or not decided.

Global minima are known by a bound of the excess loss, never by a small gradient. Saddles are known
by a curvature below what the gradient left and rounding can make of zero
(`globalmin.landscape.criteria`). Everything in floats: the certificates prove.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from globalmin._options import Trained
from globalmin._renamed import renamed
from globalmin._types import Array
from globalmin.deep.network import DeepNetwork
from globalmin.errors import DataError
from globalmin.landscape import criteria
from globalmin.landscape.deep_points import classify_deep_point
from globalmin.linalg.spectrum import inertia, least_eigenvalue
from globalmin.one_filter.landscape import classify_filter_point
from globalmin.one_filter.network import FilterTeacher, OneFilterNetwork
from globalmin.references import states
from globalmin.shallow import stationary
from globalmin.shallow.complete_square import is_quadratic
from globalmin.shallow.hessian import (
    check_landscape_inputs,
    curvature_along,
    curvature_rounding,
    estimate_least_eigenvalue_below,
    gradient_norm,
    hessian,
    hessian_rounding,
)
from globalmin.shallow.network import ShallowNetwork, preactivations, residual

DENSE_LIMIT = 1_500  # largest number of parameters whose Hessian is formed
# largest number of parameters for which a doubtful point is followed to the stationary point next
# to it
SETTLED_LIMIT = 400
SETTLING_STEPS = 30
NEARBY = 1e-3  # of the norm of the weights: a stationary point further away is another one


class HasData(Protocol):
    """Inputs X (n x d, bias included) and labels y (n)."""

    @property
    def X(self) -> Array:
        """Inputs."""
        ...

    @property
    def y(self) -> Array:
        """Labels."""
        ...


@states("SJL-T2.1", "SJL-T2.2k", "GKZ-T2.3emp")
@renamed(tolerance="tol", gap_tolerance="gap_tol")
def classify_point(
    network: ShallowNetwork | OneFilterNetwork | DeepNetwork,
    data: HasData | FilterTeacher,
    *,
    trained: Trained = "W",
    tol: float = 1e-6,
    gap_tol: float = 1e-9,
    achieved: float | None = None,
) -> stationary.PointClass:
    r"""Classify the weights of a smooth network on a data set, or of a one-filter network for its
    teacher's population loss.

    Parameters
    ----------
    network : ShallowNetwork | OneFilterNetwork | DeepNetwork
        Weights, and X, y; or a `OneFilterNetwork` and its `FilterTeacher`. Of a deep network all
        layers move, and its Hessian is not examined.
    data : HasData | FilterTeacher
        Weights, and X, y; or a `OneFilterNetwork` and its `FilterTeacher`.
    trained : str
        "W" (head frozen) or "vW".
    tol : float
        The gradient counts as zero when $\|J^Tr\| \le$ tol $\|J\|_F\|r\|$.
    gap_tol : float
        The loss counts as least when the gap is at most this times $(1/2)\|y\|^2$.
    achieved : float | None
        A loss that some network of the class is known to reach; a strict local minimum above it is
        spurious.

    Returns
    -------
    PointClass
        Its kind is "not decided" where a negative curvature may be due to the gradient that is left
        or to rounding; the reason says how large it would have to be. With at most 400 parameters
        the stationary point nearby is looked at first. At nearly stationary points of quadratic
        networks `loss_at_most` is what the gradient left and the least eigenvalue promise of the
        loss (SJL-T2.1q, SJL-T2.2a).

    Theory
    ------
    Quadratic networks, also $\alpha z^2 + \beta z + \gamma$ by completing the square (GKZ-C2.2):
    SJL-T2.1 and SJL-T2.2k (with at least d heads of each sign present, every second-order point is
    global), GKZ-T2.3emp (a stationary point with rank W = d is global). Other networks: definition
    of the kinds, and OS-C2 for "zero loss is near".
    """
    if isinstance(network, OneFilterNetwork) or isinstance(data, FilterTeacher):
        return _filter_point(network, data, tol, gap_tol)
    if isinstance(network, DeepNetwork):
        return classify_deep_point(network, data, tol=tol, gap_tol=gap_tol)
    if not isinstance(network, ShallowNetwork):
        raise DataError(
            f"network={type(network).__name__} cannot be classified; networks of other frameworks "
            "come in by gm.interop, and gm.examine takes them as they are"
        )
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y, dtype=np.float64)
    check_landscape_inputs(network, X, y, trained)
    measured = _measure(network, X, y, trained)
    gap, reason = criteria.estimate_excess(network, X, y, trained)
    excess = measured.loss if gap is None else gap
    is_nearly_stationary = measured.relative_gradient <= tol
    if excess <= gap_tol * 0.5 * float(y @ y):
        found = _verdict(
            stationary.PointKind.GLOBAL_MINIMUM, f"{reason}: gap {excess:.3g}", measured, excess
        )
    elif is_nearly_stationary:
        found = _stationary(network, X, y, measured, trained=trained, gap=gap, achieved=achieved)
    else:
        words = f"relative gradient {measured.relative_gradient:.3g}"
        found = _verdict(stationary.PointKind.NOT_STATIONARY, words, measured, gap)
    return _promised(network, X, y, found) if is_nearly_stationary and trained == "W" else found


def _promised(
    network: ShallowNetwork, X: Array, y: Array, found: stationary.PointClass
) -> stationary.PointClass:
    """The verdict with what SJL-T2.1q and SJL-T2.2a promise of the loss of such a point."""
    below = (
        estimate_least_eigenvalue_below(network, X, y)
        if found.least_eigenvalue is None
        else found.least_eigenvalue
    )
    curvature = max(0.0, hessian_rounding(network, X, y) - below)
    promise = criteria.estimate_promise(network, X, y, gap=found.gap, curvature=curvature)
    if promise is None:
        return found
    return replace(found, loss_at_most=promise.loss, promise=promise.reason)


def _filter_point(
    network: object, teacher: object, tol: float, gap_tol: float
) -> stationary.PointClass:
    if not (isinstance(network, OneFilterNetwork) and isinstance(teacher, FilterTeacher)):
        found = f"{type(network).__name__} and {type(teacher).__name__}"
        raise DataError(f"a OneFilterNetwork is classified with its FilterTeacher, but got {found}")
    return classify_filter_point(network, teacher, tol=tol, gap_tol=gap_tol)


@dataclass(frozen=True)
class _Measured:
    loss: float
    gradient_norm: float
    relative_gradient: float


def _measure(network: ShallowNetwork, X: Array, y: Array, trained: Trained) -> _Measured:
    r = residual(network, X, y)
    norm = gradient_norm(network, X, y, trained=trained)
    Z = preactivations(network, X)
    slopes = network.activation.derivative(Z) * network.v
    square = float(np.sum(slopes**2, axis=1) @ np.einsum("ij,ij->i", X, X))
    square += float(np.sum(network.activation(Z) ** 2)) if trained == "vW" else 0.0
    scale = np.sqrt(square) * float(np.linalg.norm(r))
    return _Measured(0.5 * float(r @ r), norm, norm / scale if scale > 0 else 0.0)


def _stationary(
    network: ShallowNetwork,
    X: Array,
    y: Array,
    measured: _Measured,
    *,
    trained: Trained,
    gap: float | None,
    achieved: float | None,
) -> stationary.PointClass:
    """The verdict at a stationary point that is not known to be global."""
    closed = (
        stationary.quadratic_escape(network, X, y) if is_quadratic(network.activation) else None
    )
    if _size(network, trained) > DENSE_LIMIT:
        return _large_stationary(network, X, y, measured, trained=trained, gap=gap, escape=closed)
    seen = _curvature(network, X, y, trained)
    numbers = {"negative": seen.negative, "least": seen.least}
    kind, reason = seen.kind, seen.reason
    if kind is stationary.PointKind.NOT_DECIDED:
        kind, reason = _settled(network, X, y, trained) or (kind, reason)
    if kind is stationary.PointKind.STRICT_SADDLE:
        found = [closed, stationary.hessian_escape(network, X, y, trained=trained, H=seen.H)]
        escape = min((e for e in found if e is not None), key=lambda e: e.curvature, default=None)
        return _verdict(kind, reason, measured, gap, escape=escape, **numbers)
    if (
        kind is stationary.PointKind.SECOND_ORDER
        and achieved is not None
        and seen.is_minimum_above(achieved, measured.loss)
    ):
        reason = (
            f"the Hessian is positive definite and a loss of {achieved:.6g} is reached elsewhere"
        )
        return _verdict(stationary.PointKind.SPURIOUS_MINIMUM, reason, measured, gap, **numbers)
    return _verdict(kind, reason, measured, gap, **numbers)


def _size(network: ShallowNetwork, trained: Trained) -> int:
    return network.W.size + (network.width if trained == "vW" else 0)


@dataclass(frozen=True)
class _Curvature:
    """The dense Hessian, its least eigenvalue, the number of negative ones, and the most negative
    curvature that was found with what it is to be compared with.
    """

    H: Array
    negative: int
    least: float
    found: float
    limit: criteria.CurvatureThreshold

    @property
    def kind(self) -> stationary.PointKind:
        if self.found < -self.limit.largest:
            return stationary.PointKind.STRICT_SADDLE
        return (
            stationary.PointKind.SECOND_ORDER
            if self.found >= -self.limit.rounding
            else stationary.PointKind.NOT_DECIDED
        )

    @property
    def reason(self) -> str:
        limit = self.limit
        if self.kind is stationary.PointKind.STRICT_SADDLE:
            return (
                f"curvature {self.found:.3g}, below the {-limit.largest:.3g} that gradient and "
                "rounding can make of zero"
            )
        if self.kind is stationary.PointKind.SECOND_ORDER:
            return (
                f"no eigenvalue below rounding ({-limit.rounding:.3g}); no theorem makes such a "
                "point global here"
            )
        return _doubt(self.found, limit)

    def is_minimum_above(self, achieved: float, loss: float) -> bool:
        """Whether a strict minimum is next to these weights whose loss is certainly above one that
        was reached elsewhere.
        """
        return (
            self.least > self.limit.largest
            and achieved < loss - 2.0 * self.limit.gradient**2 / self.least
        )


def _doubt(curvature: float, limit: criteria.CurvatureThreshold) -> str:
    return (
        f"curvature {curvature:.3g} may be due to the gradient that is left, {limit.gradient:.3g}: "
        f"it would show a saddle below {-limit.largest:.3g} (-sqrt(2 rho eps)), and none above "
        f"{-limit.rounding:.3g} (rounding); train to a smaller gradient"
    )


def _curvature(network: ShallowNetwork, X: Array, y: Array, trained: Trained) -> _Curvature:
    H = hessian(network, X, y, trained=trained)
    rounding = criteria.eigenvalue_rounding(network, X, y, H)
    least, vector = least_eigenvalue(H)
    head = network.width if trained == "vW" else 0
    U, u = vector[head:].reshape(network.W.shape), vector[:head] if head else None
    found, error = least, rounding
    if (
        -rounding <= least < 0.0
    ):  # along its own direction the curvature has less rounding than an eigenvalue
        along, own = curvature_along(network, X, y, U, u), curvature_rounding(network, X, y, U, u)
        found, error = (along, own) if along < -own else (least, rounding)
    limit = criteria.curvature_threshold(
        network, X, y, found, trained=trained, rounding=error, direction=(U, u)
    )
    return _Curvature(H, inertia(H, shift=rounding).negative, least, found, limit)


def _settled(
    network: ShallowNetwork, X: Array, y: Array, trained: Trained
) -> tuple[stationary.PointKind, str] | None:
    """Kind and reason of the stationary point next to a doubtful one; None if there is none nearby,
    or it is doubtful too.
    """
    if _size(network, trained) > SETTLED_LIMIT:
        return None
    there = stationary.nearest_stationary(
        network, X, y, trained=trained, tol=0.0, max_iter=SETTLING_STEPS
    )
    moved = float(
        np.hypot(np.linalg.norm(there.W - network.W), np.linalg.norm(there.v - network.v))
    )
    if moved > NEARBY * float(np.hypot(np.linalg.norm(network.W), np.linalg.norm(network.v))):
        return None
    seen = _curvature(there, X, y, trained)
    if seen.kind is stationary.PointKind.NOT_DECIDED:
        return None
    return seen.kind, f"at the stationary point {moved:.2g} away: {seen.reason}"


def _large_stationary(
    network: ShallowNetwork,
    X: Array,
    y: Array,
    measured: _Measured,
    *,
    trained: Trained,
    gap: float | None,
    escape: stationary.Escape | None,
) -> stationary.PointClass:
    """Without the dense Hessian: the closed-form direction, or the bound of the least eigenvalue by
    blocks.
    """
    if escape is not None:
        limit = criteria.curvature_threshold(
            network,
            X,
            y,
            escape.curvature,
            trained=trained,
            rounding=curvature_rounding(network, X, y, escape.U),
            direction=(escape.U, escape.u),
        )
        if escape.curvature < -limit.largest:
            reason = (
                f"curvature {escape.curvature:.3g} along the escape direction ({escape.method}), "
                f"below {-limit.largest:.3g}"
            )
            return _verdict(
                stationary.PointKind.STRICT_SADDLE, reason, measured, gap, escape=escape
            )
        if escape.curvature < -limit.rounding:
            return _verdict(
                stationary.PointKind.NOT_DECIDED, _doubt(escape.curvature, limit), measured, gap
            )
    below, rounding = (
        estimate_least_eigenvalue_below(network, X, y),
        hessian_rounding(network, X, y),
    )
    if trained == "W" and below >= -rounding:
        reason = (
            f"least eigenvalue of the Hessian in W at least {below:.3g}; no theorem makes such a "
            "point global here"
        )
        return _verdict(stationary.PointKind.SECOND_ORDER, reason, measured, gap)
    reason = f"{_size(network, trained)} parameters are too many for the dense Hessian"
    if trained == "W":
        reason += (
            f"; its least eigenvalue in W is at least {below:.3g}, which leaves a saddle possible"
        )
    return _verdict(stationary.PointKind.NOT_DECIDED, reason, measured, gap)


def _verdict(
    kind: stationary.PointKind,
    reason: str,
    measured: _Measured,
    gap: float | None,
    *,
    negative: int | None = None,
    least: float | None = None,
    escape: stationary.Escape | None = None,
) -> stationary.PointClass:
    m = measured
    return stationary.PointClass(
        kind, reason, m.loss, m.gradient_norm, m.relative_gradient, gap, negative, least, escape
    )
