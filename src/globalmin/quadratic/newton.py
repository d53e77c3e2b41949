r"""Newton's method on the matrices of fixed rank and signature, with the rank adapted: the last
digits of the convex problem.

Near the solution $M = Q_1\Lambda Q_1^T$ (rank p) the nonsmooth problem is smooth along the matrices
of the same signature. In the basis $[Q_1, Q_2]$ they are charted by D (p x p, symmetric) and E (p x
(d-p)):

$$M(D,E) = \begin{pmatrix}\Lambda + D & E\\ E^T & E^T\Lambda^{-1}E\end{pmatrix},$$

and F has there the gradient $(Z_{11} + cS, Z_{12})$, S the signs, and the Hessian $P A^*A P$ plus a
diagonal part: $2c/(|\lambda_i| + |\lambda_j|)$ on pairs (i, j) of D with opposite signs, $(c +
s_iz_j)/|\lambda_i|$ on E, z the eigenvalues of $Z_{22}$. One product costs 4ndp, so a low rank
makes it cheap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.linalg.symmetric import row_blocks
from globalmin.quadratic.matrix import MatrixPoint

if TYPE_CHECKING:
    from globalmin.quadratic.matrix import MatrixProblem

    Mask = NDArray[np.bool_]

NEGLIGIBLE = 1e-14  # eigenvalues below this times the largest are zero
# multiplications of a dense solve that are cheaper than some products of conjugate gradients
DENSE_AT_ONCE = 1.5e7
# products of conjugate gradients before a dense solve, and its largest order
DENSE_AFTER, DENSE_LIMIT = 40, 1_200
# of the largest curvature, so that a dense solve is defined where fewer samples than dimensions
# leave F flat
RIDGE = 1e-12
ROUNDING = 1e-13  # differences of F relative to F(0) that are rounding only


@dataclass(frozen=True)
class Chart:
    """Active eigenvectors first (p of them), then null ones that diagonalize Z there; curvatures of
    the chart's diagonal part.
    """

    problem: MatrixProblem
    Q: Array
    eigenvalues: Array
    gradient: Array
    diagonal: Array
    preconditioner: Array
    active_inputs: Array

    @property
    def rank(self) -> int:
        """Number p of active eigenvectors."""
        return self.eigenvalues.shape[0]

    @property
    def weights(self) -> Array:
        """Metric: entries of E stand for two entries of the matrix."""
        p, d = self.gradient.shape
        return np.where(np.arange(d) < p, 1.0, 2.0)

    @cached_property
    def weighted_basis(self) -> Array:
        """Q in that metric."""
        return self.Q * self.weights

    def hessian_times(self, T: Array) -> Array:
        """Product with [D, E] (p x d, D symmetric), as a p x d array in the metric of the chart."""
        X = self.problem.X
        u = np.einsum("ij,ij->i", self.active_inputs, X @ (self.weighted_basis @ T.T))
        return ((self.active_inputs * u[:, None]).T @ X) @ self.Q + self.diagonal * T


def chart_at(point: MatrixPoint, active: Mask) -> Chart:
    """The chart of the active eigenvectors of a point."""
    problem, p = point.problem, int(active.sum())
    Q1, Q2 = point.vectors[:, active], point.vectors[:, ~active]
    z, rotation = np.linalg.eigh(Q2.T @ point.Z @ Q2)
    Q = np.hstack([Q1, Q2 @ rotation])
    eigenvalues = point.eigenvalues[active]
    signs, sizes = np.sign(eigenvalues), np.abs(eigenvalues)
    gradient = Q1.T @ point.Z @ Q
    gradient[:, :p] += problem.c * np.diag(signs)
    opposite = np.multiply.outer(signs, signs) < 0
    pairs = np.where(opposite, 2.0 * problem.c / np.add.outer(sizes, sizes), 0.0)
    null = np.maximum(problem.c + np.multiply.outer(signs, z), 0.0) / sizes[:, None]
    diagonal = np.hstack([pairs, null])
    squares = np.square(problem.sample @ Q)
    fourth = 2.0 * squares[:, :p].T @ squares
    fourth[np.arange(p), np.arange(p)] /= 2.0
    floor = 1e-8 * float(fourth.max()) + np.finfo(np.float64).tiny
    return Chart(
        problem, Q, eigenvalues, gradient, diagonal, fourth + diagonal + floor, problem.X @ Q1
    )


def newton_direction(chart: Chart, *, tol: float, max_iter: int) -> tuple[Array, int]:
    """The Newton step [D, E] and the number of products: conjugate gradients, or a dense solve
    where these are slow.
    """
    p, d = chart.gradient.shape
    size = p * d - p * (p - 1) // 2
    if chart.problem.X.shape[0] * size**2 + size**3 / 3 <= DENSE_AT_ONCE:
        return dense_direction(chart), 1
    limit = min(max_iter, DENSE_AFTER) if size <= DENSE_LIMIT else max_iter
    T, products, is_accurate = conjugate_direction(chart, tol=tol, max_iter=limit)
    return (
        (T, products) if is_accurate or size > DENSE_LIMIT else (dense_direction(chart), products)
    )


def dense_direction(chart: Chart) -> Array:
    """The Newton step by a Cholesky solve in orthonormal coordinates of the q-dimensional tangent
    space; cost n q^2 + q^3.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    p, d = chart.gradient.shape
    rows, columns = np.nonzero(np.arange(p)[:, None] <= np.arange(d)[None, :])
    unit = np.where(rows == columns, 1.0, math.sqrt(2.0))
    H = np.zeros((rows.shape[0], rows.shape[0]))
    for part in row_blocks(chart.problem.X.shape[0], rows.shape[0]):
        inputs = chart.problem.X[part] @ chart.Q
        features = inputs[:, rows] * inputs[:, columns] * unit
        H += features.T @ features
    gradient = chart.gradient[rows, columns] * unit
    H[np.diag_indices_from(H)] += chart.diagonal[rows, columns]
    H[np.diag_indices_from(H)] += RIDGE * float(H.diagonal().max())
    try:
        factor = cho_factor(H, check_finite=False)
        solution = cho_solve(factor, -gradient, check_finite=False)
    except LinAlgError:
        solution = np.linalg.lstsq(H, -gradient, rcond=None)[0]
    T = np.zeros((p, d))
    T[rows, columns] = solution / unit
    T[:, :p] += np.triu(T[:, :p], 1).T
    return T


def conjugate_direction(chart: Chart, *, tol: float, max_iter: int) -> tuple[Array, int, bool]:
    """The Newton step by preconditioned conjugate gradients, the number of products, and whether
    the accuracy was reached.
    """
    weights = chart.weights
    T, R = np.zeros_like(chart.gradient), -chart.gradient
    Y = R / chart.preconditioner
    P, square = Y, float(np.vdot(weights * R, Y))
    goal = tol**2 * square
    for count in range(max_iter):
        if not square > max(goal, np.finfo(np.float64).tiny):
            return T, count, True
        image = chart.hessian_times(P)
        curvature = float(np.vdot(weights * P, image))
        if not curvature > 0:  # rounding: the operator is positive semidefinite
            return T, count + 1, False
        T = T + (square / curvature) * P
        R = R - (square / curvature) * image
        Y = R / chart.preconditioner
        previous, square = square, float(np.vdot(weights * R, Y))
        P = Y + (square / previous) * P
    return T, max_iter, bool(square <= goal)


def moved(chart: Chart, T: Array, step: float) -> MatrixPoint:
    """The point of the chart at `step` [D, E], with no more eigenvalues of either sign than
    before.
    """
    p, d = T.shape
    D, E = step * T[:, :p], step * T[:, p:]
    block = np.empty((d, d))
    block[:p, :p] = np.diag(chart.eigenvalues) + (D + D.T) / 2.0
    block[:p, p:], block[p:, :p] = E, E.T
    block[p:, p:] = E.T @ (E / chart.eigenvalues[:, None])
    eigenvalues, vectors = np.linalg.eigh(block)
    kept = np.zeros(d)
    plus, minus = int((chart.eigenvalues > 0).sum()), int((chart.eigenvalues < 0).sum())
    kept[d - plus :] = np.maximum(eigenvalues[d - plus :], 0.0)
    kept[:minus] = np.minimum(eigenvalues[:minus], 0.0)
    kept[np.abs(kept) <= NEGLIGIBLE * np.abs(kept).max(initial=0.0)] = 0.0
    return chart.problem.at_spectrum(kept, chart.Q @ vectors)


def active_eigenvalues(point: MatrixPoint) -> Mask:
    r"""Which eigenvalues stay nonzero after a proximal gradient step of the size of the local
    curvature.

    Those with $s_i(\lambda_i - z_i/a_i) > c/a_i$, $s_i$ the sign of $\lambda_i$, $z_i$ and $a_i$
    slope and curvature there.
    """
    problem, lam = point.problem, point.eigenvalues
    slope = np.einsum("ij,ij->j", point.vectors, point.Z @ point.vectors)
    curvature = np.sum((problem.sample @ point.vectors) ** 4, axis=0)
    forward = curvature * lam - slope
    beyond = np.sign(lam) * forward > problem.c
    return beyond & (np.abs(lam) > NEGLIGIBLE * np.abs(lam).max(initial=0.0))


def newton_step(
    point: MatrixPoint, *, tol: float, max_products: int = 200
) -> tuple[MatrixPoint | None, int]:
    """One damped Newton step on the active matrices (None if no decrease was found), and the
    products used.
    """
    active = active_eigenvalues(point)
    if not active.any():
        empty = point.problem.at_spectrum(np.zeros_like(point.eigenvalues), point.vectors)
        return (empty, 0) if empty.objective < point.objective else (None, 0)
    chart = chart_at(point, active)
    T, products = newton_direction(chart, tol=tol, max_iter=max_products)
    allowed = point.objective + ROUNDING * point.problem.scale
    for halvings in range(8):
        candidate = moved(chart, T, 0.5**halvings)
        if candidate.objective <= allowed:
            return candidate, products
    return None, products


def widened(point: MatrixPoint) -> MatrixPoint | None:
    r"""Add the null directions in which $Z_{22} \ge -c$ fails (two-sided: also $Z_{22} \le c$),
    with the best common step.

    None if there are none.
    """
    problem = point.problem
    null = np.abs(point.eigenvalues) <= NEGLIGIBLE * np.abs(point.eigenvalues).max(initial=0.0)
    if not null.any():
        return None
    Q2 = point.vectors[:, null]
    z, rotation = np.linalg.eigh(Q2.T @ point.Z @ Q2)
    excess = np.maximum(-z - problem.c, 0.0) - (
        np.maximum(z - problem.c, 0.0) if problem.two_sided else 0.0
    )
    if not excess.any():
        return None
    vectors = Q2 @ rotation
    curvatures = np.sum((problem.sample @ vectors) ** 4, axis=0)
    steps = np.divide(excess, curvatures, out=np.zeros_like(excess), where=curvatures > 0)
    image = problem.forms(steps, vectors)
    decrease = float(np.abs(excess) @ np.abs(steps))
    if not decrease > 0:
        return None
    eigenvalues, basis = point.eigenvalues.copy(), point.vectors.copy()
    eigenvalues[null] = decrease / float(image @ image) * steps
    basis[:, null] = vectors
    return problem.at_spectrum(eigenvalues, basis)


def polish(point: MatrixPoint, *, tol: float, max_steps: int = 30) -> tuple[MatrixPoint, int]:
    """Newton steps until the gap is below the tolerance or stops falling; the point of least gap
    and the products used.
    """
    best, current, total, idle, lowest = point, point, 0, 0, point.objective
    for _ in range(max_steps):
        if best.is_solved(tol) or idle > 4:
            break
        stepped, products = newton_step(current, tol=_forcing(current))
        total += products
        if stepped is None:
            stepped = widened(current)
            if stepped is None:
                break
        current = stepped
        if _violates(current):
            current = widened(current) or current
        is_lower = current.objective < lowest - 1e-9 * abs(lowest)
        lowest = min(lowest, current.objective)
        idle = 0 if is_lower or current.gap < 0.5 * best.gap else idle + 1
        best = current if current.gap < best.gap else best
    return best, total


def _forcing(point: MatrixPoint) -> float:
    """Accuracy asked of the linear system: loose far from the solution, tight near it."""
    relative = point.gap / max(
        point.objective, 1e-3 * point.problem.scale, np.finfo(np.float64).tiny
    )
    return min(0.1, max(1e-5, math.sqrt(max(relative, 0.0))))


def _violates(point: MatrixPoint) -> bool:
    """Whether a null direction violates its bound by more than rounding explains, so that the rank
    is too small.
    """
    c = point.problem.c
    null = point.vectors[:, point.eigenvalues == 0.0]
    if not null.size:
        return False
    z = np.linalg.eigvalsh(null.T @ point.Z @ null)
    size = float(np.linalg.norm(point.Z))
    reach = max(-float(z[0]), float(z[-1]) if point.problem.two_sided else 0.0) - c
    return reach > 1e-9 * max(size, c)
