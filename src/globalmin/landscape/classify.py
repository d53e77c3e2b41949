r"""What a point of the landscape is: global minimum, strict saddle, second-order stationary, or not stationary at all.

For quadratic networks by the theorems (duality gap, closed-form escape direction); for other smooth networks by the Hessian and
the provability of zero loss near the point. Everything in floats: the certificates prove.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from globalmin.errors import DataError
from globalmin.landscape.escape import Escape, hessian_escape, quadratic_escape
from globalmin.landscape.filter_point import classify_filter_point
from globalmin.landscape.hessian import check_landscape_inputs, estimate_least_eigenvalue_below, gradient_norm, hessian
from globalmin.landscape.inertia import inertia, least_eigenvalue, rounding_shift
from globalmin.landscape.point import PointClass, PointKind
from globalmin.networks.one_filter import OneFilterNetwork
from globalmin.networks.shallow import preactivations, residual
from globalmin.references import states
from globalmin.theory.one_filter import FilterTeacher
from globalmin.theory.provability import estimate_provability
from globalmin.theory.quadratic_duality import estimate_span_gap, positive_dual
from globalmin.theory.symmetric import head_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from globalmin.networks.shallow import ShallowNetwork

    Array = NDArray[np.float64]

DENSE_LIMIT = 1_500  # largest number of parameters whose Hessian is formed
LARGEST_PROVABLE = 3_000  # largest n of the n x n provability test


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
def classify_point(
    network: ShallowNetwork | OneFilterNetwork,
    data: HasData | FilterTeacher,
    *,
    trained: str = "W",
    tolerance: float = 1e-6,
    gap_tolerance: float = 1e-9,
    achieved: float | None = None,
) -> PointClass:
    r"""Classify the weights of a smooth network on a data set, or of a one-filter network for its teacher's population loss.

    Parameters
    ----------
    network, data : weights, and X, y; or a `OneFilterNetwork` and its `FilterTeacher`.
    trained : "W" (head frozen) or "vW".
    tolerance : the gradient counts as zero when $\|J^Tr\| \le$ tolerance $\|J\|_F\|r\|$.
    gap_tolerance : the loss counts as least when the gap is at most this times $(1/2)\|y\|^2$.
    achieved : a loss that some network of the class is known to reach; a strict local minimum above it is spurious.

    Theory
    ------
    Quadratic networks: SJL-T2.1 and SJL-T2.2k (with at least d heads of each sign present, every second-order point is global),
    GKZ-T2.3emp (a stationary point with rank W = d is global). Other networks: definition of the kinds, and OS-C2 for "zero loss
    is near".
    """
    if isinstance(network, OneFilterNetwork) or isinstance(data, FilterTeacher):
        return _filter_point(network, data, tolerance, gap_tolerance)
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y, dtype=np.float64)
    check_landscape_inputs(network, X, y, trained)
    measured = _measure(network, X, y, trained)
    gap, reason = _global_gap(network, X, y, trained)
    floor = gap_tolerance * 0.5 * float(y @ y)
    if gap is not None and gap <= floor:
        return _verdict(PointKind.GLOBAL_MINIMUM, f"{reason}: gap {gap:.3g}", measured, gap)
    if measured.relative_gradient > tolerance:
        return _verdict(PointKind.NOT_STATIONARY, f"relative gradient {measured.relative_gradient:.3g}", measured, gap)
    return _stationary(network, X, y, measured, trained=trained, gap=gap, achieved=achieved)


def _filter_point(network: object, teacher: object, tolerance: float, gap_tolerance: float) -> PointClass:
    if not (isinstance(network, OneFilterNetwork) and isinstance(teacher, FilterTeacher)):
        found = f"{type(network).__name__} and {type(teacher).__name__}"
        raise DataError(f"a OneFilterNetwork is classified with its FilterTeacher, but got {found}")
    return classify_filter_point(network, teacher, tolerance=tolerance, gap_tolerance=gap_tolerance)


@dataclass(frozen=True)
class _Measured:
    loss: float
    gradient_norm: float
    relative_gradient: float


def _measure(network: ShallowNetwork, X: Array, y: Array, trained: str) -> _Measured:
    r = residual(network, X, y)
    norm = gradient_norm(network, X, y, trained=trained)
    Z = preactivations(network, X)
    slopes = network.activation.derivative(Z) * network.v
    square = float(np.sum(slopes**2, axis=1) @ np.einsum("ij,ij->i", X, X))
    square += float(np.sum(network.activation(Z) ** 2)) if trained == "vW" else 0.0
    scale = np.sqrt(square) * float(np.linalg.norm(r))
    return _Measured(0.5 * float(r @ r), norm, norm / scale if scale > 0 else 0.0)


def _global_gap(network: ShallowNetwork, X: Array, y: Array, trained: str) -> tuple[float | None, str]:
    """A bound of the excess loss over the class, and the theorem; None where there is none."""
    r = residual(network, X, y)
    if network.activation.name == "quadratic":
        plus, minus = head_counts(network.v)
        if trained == "W" and not (plus and minus):
            sign = -1.0 if minus else 1.0
            bound = positive_dual(X, sign * y, sign * r).value
            return 0.5 * float(r @ r) - bound, "dual bound over all heads of this sign (theorem P)"
        return estimate_span_gap(X, r), "least squares over all quadratic functions (theorem S)"
    if X.shape[0] <= LARGEST_PROVABLE and estimate_provability(network, X, y, trained) < 1.0:
        return 0.5 * float(r @ r), "zero loss can be proved near this point (OS-C2)"
    return None, ""


def _stationary(
    network: ShallowNetwork, X: Array, y: Array, measured: _Measured, *, trained: str, gap: float | None, achieved: float | None
) -> PointClass:
    """The verdict at a stationary point that is not known to be global."""
    closed = quadratic_escape(network, X, y) if network.activation.name == "quadratic" else None
    size = network.W.size + (network.width if trained == "vW" else 0)
    if size > DENSE_LIMIT:
        return _large_stationary(network, X, y, measured, gap=gap, escape=closed)
    H = hessian(network, X, y, trained=trained)
    shift = rounding_shift(H)
    counted, least = inertia(H, shift=shift), least_eigenvalue(H)[0]
    escape = closed or (hessian_escape(network, X, y, trained=trained, H=H) if counted.negative else None)
    numbers = {"negative": counted.negative, "least": least}
    if counted.negative and escape is not None and escape.curvature < 0:
        reason = f"curvature {escape.curvature:.3g} along the escape direction ({escape.method})"
        return _verdict(PointKind.STRICT_SADDLE, reason, measured, gap, escape=escape, **numbers)
    if least > shift and achieved is not None and achieved < measured.loss:
        reason = f"the Hessian is positive definite and a loss of {achieved:.6g} is reached elsewhere"
        return _verdict(PointKind.SPURIOUS_MINIMUM, reason, measured, gap, **numbers)
    reason = f"no eigenvalue below {-shift:.3g}; no theorem makes such a point global here"
    return _verdict(PointKind.SECOND_ORDER, reason, measured, gap, **numbers)


def _large_stationary(
    network: ShallowNetwork, X: Array, y: Array, measured: _Measured, *, gap: float | None, escape: Escape | None
) -> PointClass:
    """Without the dense Hessian: the closed-form direction, or the bound of the least eigenvalue by blocks."""
    if escape is not None:
        reason = f"curvature {escape.curvature:.3g} along the escape direction ({escape.method})"
        return _verdict(PointKind.STRICT_SADDLE, reason, measured, gap, escape=escape)
    below = estimate_least_eigenvalue_below(network, X, y)
    reason = f"least eigenvalue of the Hessian in W at least {below:.3g}; too many parameters for the dense Hessian"
    return _verdict(PointKind.SECOND_ORDER, reason, measured, gap)


def _verdict(
    kind: PointKind,
    reason: str,
    measured: _Measured,
    gap: float | None,
    *,
    negative: int | None = None,
    least: float | None = None,
    escape: Escape | None = None,
) -> PointClass:
    m = measured
    return PointClass(kind, reason, m.loss, m.gradient_norm, m.relative_gradient, gap, negative, least, escape)
