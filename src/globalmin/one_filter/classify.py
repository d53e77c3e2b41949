r"""What a point of the one-filter landscape is: global minimum, spurious minimum, strict saddle, or
not stationary.

By the complete list of stationary points (DU-X5.b), since the Hessian at the spurious minimum is
singular and cannot tell.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin._renamed import renamed
from globalmin._types import Array
from globalmin.activations.moments import angle
from globalmin.one_filter.landscape import filter_landscape
from globalmin.one_filter.teacher import FilterTeacher, population_gradient, population_loss
from globalmin.references import states
from globalmin.shallow.stationary import Escape, PointClass, PointKind

if TYPE_CHECKING:
    from globalmin.one_filter.network import OneFilterNetwork


_STEP = 1e-5  # of the differences, relative: their error is then about 1e-10
_DIFFERENCE_ERROR = 1e-7  # relative to the largest eigenvalue, far above that error


@states("DU-L5.1", "DU-X5.b")
@renamed(tolerance="tol", gap_tolerance="gap_tol")
def classify_filter_point(
    network: OneFilterNetwork,
    teacher: FilterTeacher,
    *,
    tol: float = 1e-6,
    gap_tol: float = 1e-9,
) -> PointClass:
    r"""Classify the weights of a one-filter network for the population loss of its teacher.

    Parameters
    ----------
    tol : float
        The gradient counts as zero when it is at most this times its natural size.
    gap_tol : float
        The loss counts as zero when it is at most this times $W^2\lVert a^*\rVert^2$.
    """
    loss = population_loss(network.v, network.a, teacher)
    gradient = np.concatenate(population_gradient(network.v, network.a, teacher))
    norm = float(np.linalg.norm(gradient))
    relative = norm / _natural_size(network, teacher)
    kind, reason, escape = _kind(
        network, teacher, loss <= gap_tol * teacher.W**2 * teacher.size, relative <= tol
    )
    if kind is not PointKind.STRICT_SADDLE:
        return PointClass(kind, reason, loss, norm, relative, loss, None, None, escape)
    spectrum, steepest = _spectrum(network, teacher)
    negative = int((spectrum < -_DIFFERENCE_ERROR * np.abs(spectrum).max()).sum())
    escape = steepest if escape is None or steepest.curvature < escape.curvature else escape
    return PointClass(
        kind, reason, loss, norm, relative, loss, negative, float(spectrum[0]), escape
    )


def _kind(
    network: OneFilterNetwork, teacher: FilterTeacher, is_zero: bool, is_stationary: bool
) -> tuple[PointKind, str, Escape | None]:
    phi, scene = angle(network.v, teacher.w), filter_landscape(teacher)
    if is_zero:
        return PointKind.GLOBAL_MINIMUM, "the loss is zero: the teacher's function", None
    if not is_stationary:
        return (
            PointKind.NOT_STATIONARY,
            f"the gradient is not zero; angle to the true filter {phi:.4g}",
            None,
        )
    if scene.saddle_angle is not None and phi > (scene.saddle_angle + math.pi) / 2:
        threshold = f"r = {teacher.ratio:.4g} < {scene.threshold:.4g}"
        return (
            PointKind.SPURIOUS_MINIMUM,
            f"the opposite filter with its best output weights, and {threshold} (DU-X5.b)",
            None,
        )
    escape = saddle_escape(network, teacher)
    if scene.saddle_angle is not None and escape.curvature < 0.0:
        return (
            PointKind.STRICT_SADDLE,
            f"on the sphere of saddles, a . a* = 0; curvature {escape.curvature:.3g}",
            escape,
        )
    return (
        PointKind.SECOND_ORDER,
        "the opposite filter above the threshold: a degenerate point, not a minimum (DU-X5.b)",
        None,
    )


def saddle_escape(network: OneFilterNetwork, teacher: FilterTeacher) -> Escape:
    r"""At a point with $a^Ta^* = 0$: turn the filter towards w* and move a along $M^{-1}a^*$.

    With $\kappa = (\pi-\varphi)\sin\varphi\,W/(2\pi\lVert v\rVert)$ the second derivative along
    $(e, \kappa M^{-1}a^*)$ is $-\kappa^2 a^{*T}M^{-1}a^*$, e the unit tangent towards w*.
    """
    v, length = network.v, float(np.linalg.norm(network.v))
    tangent = teacher.w - v * float(v @ teacher.w) / length**2
    size = float(np.linalg.norm(tangent))
    tangent = tangent / size if size > 0 else tangent
    phi, k = angle(v, teacher.w), teacher.k
    kappa = (math.pi - phi) * math.sin(phi) * teacher.W / (2.0 * math.pi * length)
    inverse = 2.0 * math.pi / (math.pi - 1.0) * (teacher.a - teacher.s / (k + math.pi - 1.0))
    move = kappa * inverse
    scale = math.sqrt(1.0 + float(move @ move))
    curvature = -(kappa**2) * float(teacher.a @ inverse) / scale**2
    return Escape(tangent / scale, move / scale, curvature, "towards the true filter (DU-X5.b)")


def _spectrum(network: OneFilterNetwork, teacher: FilterTeacher) -> tuple[Array, Escape]:
    """Eigenvalues of the Hessian of the population loss in (v, a), by differences of the exact
    gradient, and the direction of the least one. Only where the loss is smooth: neither at the true
    nor at the opposite filter.
    """
    p, start = network.v.size, np.concatenate([network.v, network.a])
    columns = []
    for j in range(start.size):
        step = np.zeros_like(start)
        step[j] = _STEP * float(np.linalg.norm(network.v if j < p else start))
        ahead, behind = (
            np.concatenate(population_gradient(point[:p], point[p:], teacher))
            for point in (start + step, start - step)
        )
        columns.append((ahead - behind) / (2.0 * step[j]))
    H = np.stack(columns)
    values, vectors = np.linalg.eigh((H + H.T) / 2.0)
    U, u = vectors[:p, 0], vectors[p:, 0]
    return values, Escape(U, u, float(values[0]), "eigenvector, by differences")


def _natural_size(network: OneFilterNetwork, teacher: FilterTeacher) -> float:
    height, length = math.sqrt(teacher.size), float(np.linalg.norm(network.v))
    across = teacher.W * float(np.linalg.norm(network.a)) * height / (2.0 * length)
    return (teacher.k + math.pi - 1.0) / (2.0 * math.pi) * teacher.W * height + across
