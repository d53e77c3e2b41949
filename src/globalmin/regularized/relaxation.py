r"""The dual vector that theorem R4 proves most with: the convex problem whose dual is to maximize
D(u) over the u that R4 can prove feasible, solved by Newton's method on a barrier.

R4 replaces a neuron of output weight $\pm\mu$ and direction w by its moments m = $\mu w$,
M = $\mu ww^T$ with $Y = [[M, m], [m^T, \mu]] \ge 0$, tr M = $\mu$, and $|x_i\cdot w|$ by any number
$z_i$ with $z_i \ge |x_i\cdot m|$, $z_i \ge x_i^TMx_i/|x_i|$ and $z_i^2 \le \mu\,x_i^TMx_i$. The
relaxed network $f_i = c_0 + \theta\cdot x_i + \tfrac12(t_i^+ + z_i^+ - t_i^- - z_i^-)$ with one
such block per sign has the penalty $b(\mu^+ + \mu^-)$. The minimum of this convex problem is the
best bound that R4 can prove; the multipliers of its constraints are the slopes of the witness.

Everything here is floating point. What is proved is proved from the witness, see `spectral`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from globalmin._types import Array, Indices
from globalmin.regularized.barriers import determinant_barrier, row_barrier
from globalmin.regularized.spectral import SpectralWitness, row_norms, witness_of_slopes

# of the weight of the objective from one center to the next; larger ones come so near to the
# boundary that the next center takes more steps than are saved
_GROWTH = 3.0
_NEWTON_STEPS = 40
_SHIFTS = (1e-14, 1e-12, 1e-10, 1e-8)  # of the diagonal of a Newton matrix
_DECREMENT = 0.3  # squared, near enough to the center for the next weight


@dataclass(frozen=True)
class RelaxedProblem:
    """One convex loss per row and what is penalized.

    Attributes
    ----------
    rows : n x d inputs as the neurons see them, no row zero.
    free : n x r features of the free or penalized linear part (a column of ones for the
        intercept); r may be 0.
    ridge : r penalties k of that part, 0 where it is free.
    b : weight decay of the neurons.
    loss : values, first and second derivatives at n outputs, sample weights included.
    start : outputs of the best network without neurons, r coefficients.
    """

    rows: Array
    free: Array
    ridge: Array
    b: float
    loss: Callable[[Array], tuple[Array, Array, Array]]
    start: Array

    @cached_property
    def upper(self) -> tuple[Indices, Indices]:
        """Places of a symmetric d x d matrix."""
        return np.triu_indices(self.rows.shape[1])

    @cached_property
    def forms(self) -> Array:
        """The numbers x^T M x, n x D, as a linear function of the entries of M."""
        i, j = self.upper
        return self.rows[:, i] * self.rows[:, j] * np.where(i == j, 1.0, 2.0)

    @cached_property
    def trace(self) -> Array:
        """The trace of M as a linear function of the entries of M."""
        i, j = self.upper
        return np.where(i == j, 1.0, 0.0)

    @cached_property
    def norms(self) -> Array:
        """|x_i|."""
        return row_norms(self.rows)


@dataclass(frozen=True)
class RelaxedPoint:
    """Moments of both signs (entries of M, then m), z of both signs, and the linear part."""

    moments: tuple[Array, Array]
    z: tuple[Array, Array]
    coefficients: Array

    def moved(self, step: RelaxedPoint, length: float) -> RelaxedPoint:
        """The point a step of this length further."""
        return RelaxedPoint(
            (
                self.moments[0] + length * step.moments[0],
                self.moments[1] + length * step.moments[1],
            ),
            (self.z[0] + length * step.z[0], self.z[1] + length * step.z[1]),
            self.coefficients + length * step.coefficients,
        )


@dataclass(frozen=True)
class RelaxedSolution:
    """What the relaxation leaves behind.

    Attributes
    ----------
    u : derivative of the loss at the relaxed outputs: the dual vector, feasible up to the accuracy.
    witnesses : of u and of -u.
    value : of the relaxed objective, an estimate of the best bound of R4.
    n_iter : Newton steps.
    """

    u: Array
    witnesses: tuple[SpectralWitness, SpectralWitness]
    value: float
    n_iter: int


def solve_relaxation(problem: RelaxedProblem, *, tol: float = 1e-7) -> RelaxedSolution:
    """Follow the central path until the bound is known to `tol` of the objective."""
    n, d = problem.rows.shape
    parameter = 10.0 * n + 2.0 * (d + 1.0)
    point = _first_point(problem)
    value = _objective(problem, point)
    weight, n_iter = parameter / max(abs(value), 1e-300), 0
    while True:
        point, used, is_centered = _center(problem, point, weight)
        n_iter += used
        value = _objective(problem, point)
        if not is_centered or parameter / weight <= tol * max(abs(value), 1e-300):
            break
        weight *= _GROWTH
    return _solution(problem, point, value, n_iter)


def _solution(
    problem: RelaxedProblem, point: RelaxedPoint, value: float, n_iter: int
) -> RelaxedSolution:
    u = problem.loss(_outputs(problem, point))[1]
    found: list[SpectralWitness] = []
    for sign, direction in ((1, 1.0), (0, -1.0)):  # the negative neurons bound u, the others -u
        z, t, a, mu = _local(problem, point, sign)
        slopes = (1.0 / (z + t), 1.0 / (z - t), 1.0 / (z - a / problem.norms))
        found.append(witness_of_slopes(problem.rows, direction * u, 0.5 * np.sqrt(a / mu), slopes))
    return RelaxedSolution(u, (found[0], found[1]), value, n_iter)


def _first_point(problem: RelaxedProblem) -> RelaxedPoint:
    d = problem.rows.shape[1]
    value = abs(float(problem.loss(problem.free @ problem.start)[0].sum())) + 1e-300
    mu = 0.01 * value / problem.b
    moments = np.concatenate([problem.trace * mu / d, np.zeros(d)])
    # between x^T M x/|x| and sqrt(mu x^T M x)
    z = mu * problem.norms / d**0.75
    return RelaxedPoint((moments, moments.copy()), (z, z.copy()), problem.start)


def _local(
    problem: RelaxedProblem, point: RelaxedPoint, sign: int
) -> tuple[Array, Array, Array, float]:
    """z, t, a and mu of one sign."""
    D = len(problem.trace)
    M, m = point.moments[sign][:D], point.moments[sign][D:]
    return point.z[sign], problem.rows @ m, problem.forms @ M, float(problem.trace @ M)


def _outputs(problem: RelaxedProblem, point: RelaxedPoint) -> Array:
    f = problem.free @ point.coefficients
    for sign, direction in ((0, 0.5), (1, -0.5)):
        z, t, _, _ = _local(problem, point, sign)
        f = f + direction * (z + t)
    return f


def _objective(problem: RelaxedProblem, point: RelaxedPoint) -> float:
    D = len(problem.trace)
    value = float(problem.loss(_outputs(problem, point))[0].sum())
    value += problem.b * sum(float(problem.trace @ moments[:D]) for moments in point.moments)
    return value + 0.5 * float(problem.ridge @ np.square(point.coefficients))


def _merit(problem: RelaxedProblem, point: RelaxedPoint, weight: float) -> float:
    """Objective times its weight plus the barrier; infinity outside."""
    barrier = 0.0
    for sign in (0, 1):
        z, t, a, mu = _local(problem, point, sign)
        slacks = np.stack([z - t, z + t, z - a / problem.norms, mu * a - z * z])
        if not (slacks > 0.0).all() or not mu > 0.0:
            return np.inf
        try:
            factor = np.linalg.cholesky(_block(problem, point.moments[sign]))
        except LinAlgError:
            return np.inf
        barrier -= float(np.log(slacks).sum()) + 2.0 * float(np.log(np.diag(factor)).sum())
    with np.errstate(over="ignore"):
        value = _objective(problem, point)
    return weight * value + barrier if np.isfinite(value) else np.inf


def _block(problem: RelaxedProblem, moments: Array) -> Array:
    """Y = [[M, m], [m^T, mu]]."""
    d, D = problem.rows.shape[1], len(problem.trace)
    Y = np.empty((d + 1, d + 1))
    i, j = problem.upper
    Y[i, j] = Y[j, i] = moments[:D]
    Y[:d, d] = Y[d, :d] = moments[D:]
    Y[d, d] = problem.trace @ moments[:D]
    return Y


def _center(
    problem: RelaxedProblem, point: RelaxedPoint, weight: float
) -> tuple[RelaxedPoint, int, bool]:
    """Newton's method to the center of this weight; whether it got there."""
    value = _merit(problem, point, weight)
    for used in range(_NEWTON_STEPS):
        try:
            step, decrement = _newton_step(problem, point, weight)
        except LinAlgError:
            return point, used, False
        if not np.isfinite(decrement):
            return point, used, False
        if decrement < _DECREMENT:
            return point, used, True
        length = 1.0
        while True:
            candidate = point.moved(step, length)
            reached = _merit(problem, candidate, weight)
            if reached <= value - 0.1 * length * decrement:
                break
            length *= 0.6
            if length < 1e-8:
                return point, used, False  # rounding; what was reached is all there is
        point, value = candidate, reached
    return point, _NEWTON_STEPS, True


def _newton_step(
    problem: RelaxedProblem, point: RelaxedPoint, weight: float
) -> tuple[RelaxedPoint, float]:
    """The step and the squared decrement; z is eliminated row by row."""
    _, slope, bend = problem.loss(_outputs(problem, point))
    gradient_z, hessian_z, cross, local_gradient, local = _row_terms(
        problem, point, weight * slope, weight * bend
    )
    solved = np.linalg.solve(hessian_z, np.concatenate([cross, gradient_z[:, :, None]], axis=2))
    reduced = local - np.einsum("nzo,nzp->nop", cross, solved[:, :, :-1])
    gradient = local_gradient - np.einsum("nzo,nz->no", cross, solved[:, :, -1])
    g, H = _assembled(problem, gradient, reduced)
    _add_global(problem, point, weight, g, H)
    x = -_solved(H, g)
    step = _split(problem, x)
    outer = np.stack(_outer(problem, step), axis=1)
    dz = -solved[:, :, -1] - np.einsum("nzo,no->nz", solved[:, :, :-1], outer)
    full = RelaxedPoint(step.moments, (dz[:, 0], dz[:, 1]), step.coefficients)
    # g.x of the reduced system plus what the elimination of z contributes
    decrement = -float(g @ x) + float(np.einsum("nz,nz->", gradient_z, solved[:, :, -1]))
    return full, decrement


def _solved(H: Array, g: Array) -> Array:
    """H^-1 g, or of H with a little more on its diagonal where rounding has left it indefinite: the
    step is then shorter in directions that are flat, and still goes down.
    """
    diagonal = np.diag_indices_from(H)
    kept = H[diagonal]
    for shift in _SHIFTS:
        H[diagonal] = kept * (1.0 + shift)
        with suppress(LinAlgError):
            return cho_solve(cho_factor(H, check_finite=False), g)
    raise LinAlgError("the Newton matrix is not positive definite")


def _outer(problem: RelaxedProblem, step: RelaxedPoint) -> list[Array]:
    """t, a, mu of both signs and the linear part, along a step."""
    n, D = len(problem.rows), len(problem.trace)
    parts: list[Array] = []
    for moments in step.moments:
        parts += [problem.rows @ moments[D:], problem.forms @ moments[:D]]
        parts.append(np.full(n, float(problem.trace @ moments[:D])))
    return [*parts, problem.free @ step.coefficients]


def _split(problem: RelaxedProblem, x: Array) -> RelaxedPoint:
    size = len(problem.trace) + problem.rows.shape[1]
    nothing = np.zeros(0)
    return RelaxedPoint((x[:size], x[size : 2 * size]), (nothing, nothing), x[2 * size :])


def _row_terms(
    problem: RelaxedProblem, point: RelaxedPoint, slope: Array, bend: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Derivatives of loss and barrier in (z+, z-) and in the outer (t+, a+, mu+, t-, a-, mu-, f0).

    Returns gradient and Hessian in z, the mixed derivatives, gradient and Hessian in the outer.
    """
    n = len(slope)
    gz, Hz = np.zeros((n, 2)), np.zeros((n, 2, 2))
    cross, g, H = np.zeros((n, 2, 7)), np.zeros((n, 7)), np.zeros((n, 7, 7))
    for sign in (0, 1):
        gradient, hessian = row_barrier(problem.norms, *_local(problem, point, sign))
        place = slice(3 * sign, 3 * sign + 3)
        gz[:, sign], Hz[:, sign, sign] = gradient[:, 0], hessian[:, 0, 0]
        cross[:, sign, place] = hessian[:, 0, 1:]
        g[:, place], H[:, place, place] = gradient[:, 1:], hessian[:, 1:, 1:]
    inner = np.array([0.5, -0.5])  # of f in z
    outer = np.array([0.5, 0.0, 0.0, -0.5, 0.0, 0.0, 1.0])  # of f in t and f0
    gz += slope[:, None] * inner
    g += slope[:, None] * outer
    Hz += bend[:, None, None] * np.outer(inner, inner)
    cross += bend[:, None, None] * np.outer(inner, outer)
    H += bend[:, None, None] * np.outer(outer, outer)
    return gz, Hz, cross, g, H


def _assembled(problem: RelaxedProblem, gradient: Array, reduced: Array) -> tuple[Array, Array]:
    """Sums over the rows in the coordinates (M+, m+, M-, m-, coefficients)."""
    D, d, r = len(problem.trace), problem.rows.shape[1], problem.free.shape[1]
    size = D + d
    spots = [slice(D, size), slice(0, D), slice(0, D)]
    places = [slice(s.start + k * size, s.stop + k * size) for k in (0, 1) for s in spots]
    places.append(slice(2 * size, 2 * size + r))
    features = [problem.rows, problem.forms, problem.trace] * 2 + [problem.free]
    g, H = np.zeros(2 * size + r), np.zeros((2 * size + r, 2 * size + r))
    for p, (place, left) in enumerate(zip(places, features, strict=True)):
        g[place] += _summed(left, gradient[:, p])
        for q in range(p, 7):
            part = _product(left, reduced[:, p, q], features[q])
            H[place, places[q]] += part
            if q != p:
                H[places[q], place] += part.T
    return g, H


def _summed(features: Array, weights: Array) -> Array:
    return features * weights.sum() if features.ndim == 1 else features.T @ weights


def _product(left: Array, weights: Array, right: Array) -> Array:
    """Sum of weights_i left_i right_i^T; features that are the same for all rows are vectors."""
    if left.ndim == 1:
        return np.outer(left, _summed(right, weights))
    if right.ndim == 1:
        return np.outer(left.T @ weights, right)
    return left.T @ (right * weights[:, None])


def _add_global(
    problem: RelaxedProblem, point: RelaxedPoint, weight: float, g: Array, H: Array
) -> None:
    """Penalties, and the barriers -log det Y."""
    D, d = len(problem.trace), problem.rows.shape[1]
    size = D + d
    for sign in (0, 1):
        place = slice(sign * size, (sign + 1) * size)
        block = _block(problem, point.moments[sign])
        inverse = np.asarray(np.linalg.inv(block), dtype=np.float64)
        entries = determinant_barrier(inverse)
        slope, bend = _in_chart(problem, *entries)
        g[place] += slope
        g[sign * size : sign * size + D] += weight * problem.b * problem.trace
        H[place, place] += bend
    rest = slice(2 * size, None)
    g[rest] += weight * problem.ridge * point.coefficients
    H[rest, rest] += weight * np.diag(problem.ridge)


def _in_chart(problem: RelaxedProblem, slope: Array, bend: Array) -> tuple[Array, Array]:
    """Derivatives in the entries of Y as derivatives in (M, m), where mu = tr M."""
    d = problem.rows.shape[1]
    i, j = np.triu_indices(d + 1)
    inside = np.flatnonzero(j < d)  # in the order of triu_indices(d)
    order = np.concatenate([inside, np.flatnonzero((i < d) & (j == d))])
    trace = np.concatenate([problem.trace, np.zeros(d)])
    mixed = np.outer(trace, bend[-1, order])
    H = bend[np.ix_(order, order)] + mixed + mixed.T + bend[-1, -1] * np.outer(trace, trace)
    return slope[order] + slope[-1] * trace, H
