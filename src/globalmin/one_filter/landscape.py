r"""All stationary points of the one-filter network, the barrier between its two basins, and what a
given point is: global minimum, spurious minimum, strict saddle, or not stationary.

DU-X5.b completes DU-L5.1: besides the global minimum and the point $(\varphi=\pi, \tilde a)$ there
is, below the threshold $r < (k+\pi-1)/\pi$, a sphere of strict saddles. The trap test is theorem TB
of the certificate pages; here it is in floats.

By the complete list of stationary points (DU-X5.b), since the Hessian at the spurious minimum is
singular and cannot tell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from globalmin._renamed import renamed
from globalmin._types import Array, ArrayLike
from globalmin.activations.moments import angle
from globalmin.one_filter.network import (
    FilterTeacher,
    OneFilterNetwork,
    g,
    population_gradient,
    population_loss,
)
from globalmin.references import states
from globalmin.shallow.stationary import Escape, PointClass, PointKind

MAX_SLOPE = 1.81971  # >= max (pi - phi) sin phi = 1.8197057..., attained at phi = 1.11283


class Basin(StrEnum):
    """Where gradient descent from a point ends, as far as the trap test decides."""

    GLOBAL = "global minimum"
    SPURIOUS = "spurious minimum"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class FilterLandscape:
    """The stationary values of one teacher.

    Attributes
    ----------
    threshold : the spurious minimum exists exactly for r below it.
    spurious : output weights of the point at the opposite filter. spurious_loss : its loss, the
        plateau of a failed run.
    saddle_g : g at the sphere of saddles, None above the threshold. saddle_angle : its angle.
    barrier : least loss on the plane a . a* = 0; below it the sign of a . a* decides the outcome.
    """

    threshold: float
    has_spurious_minimum: bool
    spurious: Array
    spurious_loss: float
    saddle_g: float | None
    saddle_angle: float | None
    barrier: float


@states("DU-L5.1", "DU-X5.b")
def filter_landscape(teacher: FilterTeacher) -> FilterLandscape:
    """Every stationary point of the population loss, in closed form (DU-L5.1 with the saddles it
    misses).
    """
    k, r = teacher.k, teacher.ratio
    threshold = (k + math.pi - 1.0) / math.pi
    below = k > 1 and r < threshold  # k = 1: r = 1 equals the threshold exactly
    saddle_g = 1.0 - r * (math.pi - 1.0) / (k + math.pi - 1.0 - r) if below else None
    return FilterLandscape(
        threshold=threshold,
        has_spurious_minimum=below,
        spurious=best_head(0.0, teacher),
        spurious_loss=spurious_loss(teacher),
        saddle_g=saddle_g,
        saddle_angle=None if saddle_g is None else angle_of_g(saddle_g),
        barrier=barrier(teacher),
    )


@states("DU-X5.b")
def best_head(g_value: float, teacher: FilterTeacher) -> Array:
    r"""$a_\varphi = W(11^T+(\pi-1)I)^{-1}(11^T+(g-1)I)a^*$, the best output weights at an angle
    with $g(\varphi)$ given.
    """
    k, mean = teacher.k, teacher.s / teacher.k
    around = teacher.a - mean
    return teacher.W * (
        (k + g_value - 1.0) / (k + math.pi - 1.0) * mean
        + (g_value - 1.0) / (math.pi - 1.0) * around
    )


@states("DU-X5.b")
def profile(g_value: ArrayLike, teacher: FilterTeacher) -> Array:
    r"""$P(g) = \min_a \ell$ at an angle with $g(\varphi) = g$: a concave parabola on $[0,\pi]$ with
    $P(\pi) = 0$.

    Written with $\pi - g$ so that it does not cancel near the optimum.
    """
    gap = math.pi - np.asarray(g_value, dtype=np.float64)
    k, common = teacher.k, teacher.s**2 / teacher.k
    across = max(teacher.size - common, 0.0)
    quadratic = across / (math.pi - 1.0) + common / (k + math.pi - 1.0)
    return teacher.W**2 / (4.0 * math.pi) * (2.0 * gap * teacher.size - gap**2 * quadratic)


@states("DU-L5.1")
def spurious_loss(teacher: FilterTeacher) -> float:
    r"""Loss at $(\varphi = \pi, \tilde a)$, at least $\frac{\pi-2}{4(\pi-1)}W^2\lVert a^*\rVert^2$
    (explicit in DU-T5.5).
    """
    k, common = teacher.k, teacher.s**2 / teacher.k
    across = max(teacher.size - common, 0.0)
    parts = (math.pi - 2.0) / (math.pi - 1.0) * across + (2.0 * k + math.pi - 2.0) / (
        k + math.pi - 1.0
    ) * common
    return teacher.W**2 / 4.0 * parts


@states("DU-B5")
def barrier(teacher: FilterTeacher) -> float:
    r"""$\ell^* = \min\{\ell : a^Ta^* = 0\} = (\pi-1)W^2\lVert a^*\rVert^2 / (4\pi(1 -
    r/(k+\pi-1)))$.
    """
    share = teacher.ratio / (teacher.k + math.pi - 1.0)
    return (math.pi - 1.0) * teacher.W**2 * teacher.size / (4.0 * math.pi * (1.0 - share))


def angle_of_g(value: float) -> float:
    r"""The angle with $g(\varphi)$ = value, for a value in $[0, \pi]$."""
    from scipy.optimize import root_scalar

    found = root_scalar(
        lambda phi: float(g(phi)) - value,
        bracket=(0.0, math.pi),
        method="brentq",
        xtol=1e-15,
        rtol=1e-15,
    )
    return float(found.root)


@states("DU-B5", "DU-CERT5")
def trap_test(v: ArrayLike, a: ArrayLike, teacher: FilterTeacher) -> Basin:
    r"""Where gradient flow from (v, a) ends, if its loss is below the barrier: the sign of $a^Ta^*$
    decides (theorem TB).

    The same holds for gradient descent with a step below `2 / smoothness(v, a, teacher)`. In
    floats; the claims spurious-minimum and global-basin prove it.
    """
    side = float(np.asarray(a, dtype=np.float64) @ teacher.a)
    if side == 0.0 or population_loss(v, a, teacher) >= barrier(teacher):
        return Basin.UNDECIDED
    if side < 0.0:
        return Basin.SPURIOUS
    return Basin.GLOBAL if angle(v, teacher.w) < math.pi else Basin.UNDECIDED


@states("DU-B5")
def smoothness(v: ArrayLike, a: ArrayLike, teacher: FilterTeacher) -> float:
    r"""$\beta$ of theorem TB: gradient descent from (v, a) with step below $2/\beta$ decreases the
    loss at every step.
    """
    return smoothness_at(float(np.linalg.norm(v)), population_loss(v, a, teacher), teacher)


@states("DU-B5")
def smoothness_at(length: float, loss: float, teacher: FilterTeacher) -> float:
    r"""The same from $\lVert v\rVert$ and the loss, all it depends on."""
    height = math.sqrt(teacher.size)
    b_max = teacher.W * teacher.size + height * math.sqrt(4.0 * math.pi * loss / (math.pi - 1.0))
    diagonal = max(
        teacher.W * b_max / (2.0 * length**2), (teacher.k + math.pi - 1.0) / (2.0 * math.pi)
    )
    return diagonal + MAX_SLOPE * teacher.W * height / (2.0 * math.pi * length)


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
