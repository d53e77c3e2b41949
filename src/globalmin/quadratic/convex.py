"""Solver of the convex problem of `quadratic_matrix`: L-BFGS on a factor W to come near, then
Newton on the active rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.linalg.symmetric import moment_matrix, quadratic_forms
from globalmin.quadratic.newton import polish
from globalmin.quadratic.proximal import proximal_point

if TYPE_CHECKING:
    from globalmin.quadratic.matrix import MatrixPoint, MatrixProblem


BURSTS = ((1e-2, 50), (1e-5, 100))
"""Stages of L-BFGS, each ended by a gap relative to F(0) or a number of iterations, and followed by
Newton.
"""


@dataclass(frozen=True)
class MatrixSolution:
    """The best point found, the number of iterations (of L-BFGS, and products of Newton's linear
    systems), and the points after every stage with the iterations so far.
    """

    point: MatrixPoint
    n_iter: int
    is_solved: bool
    stages: tuple[tuple[int, MatrixPoint], ...] = ()


def solve_matrix(
    problem: MatrixProblem, *, tol: float, max_iter: int, start: Array | None = None
) -> MatrixSolution:
    """Minimize F until the gap is below `tol`, see `MatrixPoint.is_solved`.

    Parameters
    ----------
    start : a matrix near the solution, for example that of a slightly larger weight decay; Newton
        is tried from it at once.
    """
    zero = problem.at(np.zeros((problem.X.shape[1], problem.X.shape[1])))
    if zero.is_solved(tol):
        return MatrixSolution(zero, 0, True)
    best, used = (zero, 0) if start is None else polish(problem.at(start), tol=tol)
    approached = best if best is not zero else None
    stages = [] if start is None else [(used, best)]
    for near, burst in BURSTS:
        if best.is_solved(tol) or used >= max_iter:
            break
        approached, steps = descend(
            problem, approached, near=near, max_iter=min(burst, max_iter - used)
        )
        stages.append((used + max(steps, 1), approached))
        polished, products = polish(approached, tol=tol)
        used += max(steps, 1) + products
        best = min((best, approached, polished), key=lambda point: point.gap)
        approached = min((approached, polished), key=lambda point: point.objective)
        stages.append((used, best))
    if not best.is_solved(tol) and used < max_iter:
        best, products = proximal_point(best, tol=tol, max_iter=max_iter - used)
        used += products
        stages.append((used, best))
    return MatrixSolution(best, used, best.is_solved(tol), tuple(stages))


def first_guess(problem: MatrixProblem) -> tuple[Array, Array]:
    r"""Spectrum of a guess of the least-squares matrix.

    It is $(Z(y) - \mathrm{tr}\,Z(y)/(d+2)\,I)/a$, exact if $A^*A = a(I + uu^T/2)$, as for many
    Gaussian samples.
    """
    X = problem.X
    d = X.shape[1]
    Y = moment_matrix(X, problem.y)
    curvature = float(np.sum(np.einsum("ij,ij->i", X, X) ** 2)) * 2.0 / (d * (d + 1.0))
    return np.linalg.eigh((Y - np.trace(Y) / (d + 2.0) * np.eye(d)) / curvature)


def descend(
    problem: MatrixProblem, start: MatrixPoint | None, *, near: float, max_iter: int
) -> tuple[MatrixPoint, int]:
    r"""L-BFGS on the factor: $M = W_+^TW_+ - W_-^TW_-$ with d rows each, penalty $c\|W\|_F^2$;
    stops at a gap of `near` F(0).
    """
    from scipy.optimize import minimize

    eigenvalues, vectors = (
        first_guess(problem) if start is None else (start.eigenvalues, start.vectors)
    )
    # every direction must be present in the factor: a zero row would stay zero
    floor = (1e-2 if start is None else 1e-1 * near) * float(np.abs(eigenvalues).max())
    factor = Factor(problem)
    theta0 = factor.coordinates(eigenvalues, vectors, max(floor, np.finfo(np.float64).tiny))
    count = 0

    def callback(theta: Array) -> None:
        nonlocal count
        count += 1
        if count % 5 == 0 and factor.point(theta).gap <= near * problem.scale:
            raise StopIteration

    settings = {
        "maxcor": 20,
        "maxiter": max(max_iter, 5),
        "maxfun": 10 * max_iter + 100,
        "ftol": 1e-15,
        "gtol": 1e-13,
    }
    found = minimize(
        factor.value_and_gradient,
        theta0,
        jac=True,
        method="L-BFGS-B",
        callback=callback,
        options=settings,
    )
    return factor.point(found.x), count


class Factor:
    """The problem as a smooth function of the factor W = theta T; the last evaluation is kept, its
    gap is asked for next.
    """

    def __init__(self, problem: MatrixProblem) -> None:
        self.problem, self.d = problem, problem.X.shape[1]
        self.signs = np.repeat([1.0, -1.0], self.d) if problem.two_sided else np.ones(self.d)
        self.T, self.inverse = change_of_variables(problem)
        self._last: tuple[Array, Array, Array, Array] | None = None

    def coordinates(self, eigenvalues: Array, vectors: Array, floor: float) -> Array:
        """Theta of a matrix given by its spectrum, every eigenvalue of either sign at least
        `floor`.
        """
        copies = self.signs.shape[0] // self.d
        sizes = np.maximum(self.signs * np.tile(eigenvalues, copies), floor)
        return (np.sqrt(sizes)[:, None] * np.tile(vectors.T, (copies, 1)) @ self.inverse).ravel()

    def value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        """F and its gradient, in units of F(0)."""
        p, W = self.problem, theta.reshape(-1, self.d) @ self.T
        M = (W * self.signs[:, None]).T @ W
        r = quadratic_forms(p.X, M) - p.y
        Z = moment_matrix(p.X, r)
        self._last = theta.copy(), M, r, Z
        value = 0.5 * float(r @ r) + p.c * float(np.sum(W * W))
        gradient = 2.0 * (self.signs[:, None] * (W @ Z) + p.c * W)
        return value / p.scale, (gradient @ self.T).ravel() / p.scale

    def point(self, theta: Array) -> MatrixPoint:
        """The matrix of theta as a point of the problem."""
        if self._last is None or not np.array_equal(theta, self._last[0]):
            self.value_and_gradient(theta)
        _, M, r, Z = self._last  # pyright: ignore[reportGeneralTypeIssues]
        return self.problem.at(M).knowing(r, Z)


def change_of_variables(problem: MatrixProblem) -> tuple[Array, Array]:
    r"""T (symmetric) and its inverse: $W = \tilde WT$ evens out the curvatures of W.

    Along the eigenvectors of $X^TX/n$ they are about $4nm\,s_j + 2c$, with its eigenvalues $s_j$
    and m the size of the outputs to be fitted, the root mean square of the labels.
    """
    X, n = problem.X, problem.X.shape[0]
    variances, vectors = np.linalg.eigh(X.T @ X / n)
    size = np.sqrt(2.0 * problem.scale / n)
    curvatures = (
        np.maximum(variances, 0.0) + problem.c / (2.0 * n * size) + 1e-12 * float(variances[-1])
    )
    roots = np.sqrt(curvatures / float(curvatures.max()))
    return (vectors / roots) @ vectors.T, (vectors * roots) @ vectors.T
