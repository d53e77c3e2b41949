r"""Proximal points with semismooth Newton steps for the problem of `quadratic_matrix`: slower than
L-BFGS, never stuck.

$M_{k+1} = \arg\min_M F(M) + \|M - M_k\|_F^2/(2\sigma)$ is solved through its dual, a smooth
strongly convex function of $u \in R^n$,

$$\varphi(u) = \tfrac12\|u\|^2 + u \cdot y + \tfrac1{2\sigma}\|S(G(u))\|_F^2,
\qquad G(u) = M_k - \sigma Z(u),$$

S the shrinkage of eigenvalues by $\sigma c$ (to M >= 0 if one-sided). $\nabla\varphi = u + y -
A(S(G))$, so at the minimum $M_{k+1} = S(G)$ and u is its residual; the Hessian is $I + \sigma
A\,S'(G)A^*$, S' acting on entries in the eigenbasis by divided differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.linalg.symmetric import moment_matrix, quadratic_forms
from globalmin.quadratic.newton import polish

if TYPE_CHECKING:
    from globalmin.quadratic.matrix import MatrixPoint, MatrixProblem


MAX_OUTER, MAX_INNER, MAX_PRODUCTS = 40, 12, 100
# residual of an inner problem relative to the distance moved, as the theory of inexact proximal
# points asks
ACCURACY = 0.2


def shrink(eigenvalues: Array, threshold: float, *, two_sided: bool) -> Array:
    """Soft-thresholding, the proximal map of threshold |.|, on the line or on [0, inf)."""
    if two_sided:
        return np.sign(eigenvalues) * np.maximum(np.abs(eigenvalues) - threshold, 0.0)
    return np.maximum(eigenvalues - threshold, 0.0)


def divided_differences(eigenvalues: Array, shrunk: Array) -> Array:
    """(s_i - s_j)/(g_i - g_j), the derivative of a spectral function in the eigenbasis; equal
    eigenvalues: 1 if kept, else 0.
    """
    apart = np.subtract.outer(eigenvalues, eigenvalues)
    same = np.abs(apart) <= 1e-12 * np.abs(eigenvalues).max(initial=0.0)
    kept = (shrunk != 0.0).astype(np.float64)
    return np.where(
        same,
        np.multiply.outer(kept, kept),
        np.subtract.outer(shrunk, shrunk) / np.where(same, 1.0, apart),
    )


@dataclass(frozen=True)
class Inner:
    """One evaluation of the dual function at u: value, gradient, and the primal point S(G(u)) with
    the eigenvalues of G.
    """

    problem: MatrixProblem
    center: Array
    sigma: float
    u: Array
    point: MatrixPoint
    eigenvalues: Array

    @property
    def value(self) -> float:
        """phi(u)."""
        size = float(self.point.eigenvalues @ self.point.eigenvalues)
        return (
            0.5 * float(self.u @ self.u)
            + float(self.u @ self.problem.y)
            + size / (2.0 * self.sigma)
        )

    @property
    def gradient(self) -> Array:
        """The vector u minus the residual of the primal point."""
        return self.u - self.point.residual

    def is_accurate(self) -> bool:
        """Whether the gradient is small against the distance moved, or is rounding."""
        norm = float(np.linalg.norm(self.gradient))
        distance = float(np.linalg.norm(self.point.M - self.center)) / self.sigma**0.5
        return norm <= max(ACCURACY * distance, 1e-13 * float(np.linalg.norm(self.problem.y)))


def evaluate(problem: MatrixProblem, center: Array, sigma: float, u: Array) -> Inner:
    """The inner problem around `center` at u."""
    eigenvalues, vectors = np.linalg.eigh(center - sigma * moment_matrix(problem.X, u))
    shrunk = shrink(eigenvalues, sigma * problem.c, two_sided=problem.two_sided)
    return Inner(problem, center, sigma, u, problem.at_spectrum(shrunk, vectors), eigenvalues)


def newton_direction(inner: Inner) -> tuple[Array, int]:
    """A direction of descent of phi by conjugate gradients on its Hessian, to two digits, and the
    number of products.
    """
    X, Q = inner.problem.X, inner.point.vectors
    Omega = divided_differences(inner.eigenvalues, inner.point.eigenvalues)

    def hessian_times(v: Array) -> Array:
        T = Q @ (Omega * (Q.T @ moment_matrix(X, v) @ Q)) @ Q.T
        return v + inner.sigma * quadratic_forms(X, T)

    direction, R = np.zeros_like(inner.u), -inner.gradient
    P, square = R, float(R @ R)
    goal = 1e-4 * square
    for count in range(MAX_PRODUCTS):
        if square <= goal:
            return direction, count
        image = hessian_times(P)
        step = square / float(P @ image)
        direction, R = direction + step * P, R - step * image
        previous, square = square, float(R @ R)
        P = R + (square / previous) * P
    return direction, MAX_PRODUCTS


def minimize_inner(inner: Inner) -> tuple[Inner, int]:
    """Damped Newton steps until the inner problem is accurate enough, and the products used."""
    total = 0
    for _ in range(MAX_INNER):
        if inner.is_accurate():
            break
        direction, products = newton_direction(inner)
        total += products
        inner = line_search(inner, direction)
    return inner, total


def line_search(inner: Inner, direction: Array) -> Inner:
    """The first of the steps 1, 1/2, 1/4, ... that lowers phi enough (or the last one tried, a
    thousandth).
    """
    slope, step = float(inner.gradient @ direction), 1.0
    while True:
        trial = evaluate(inner.problem, inner.center, inner.sigma, inner.u + step * direction)
        if (
            trial.value <= inner.value + 1e-4 * step * slope + 1e-14 * abs(inner.value)
            or step < 2e-3
        ):
            return trial
        step *= 0.5


def proximal_point(start: MatrixPoint, *, tol: float, max_iter: int) -> tuple[MatrixPoint, int]:
    """Proximal points with growing sigma, each tried as a start of Newton on its rank; the point of
    least gap and the work.
    """
    problem = start.problem
    row_squares = np.einsum("ij,ij->i", problem.X, problem.X)
    d = problem.X.shape[1]
    sigma = 10.0 * d * (d + 1.0) / (2.0 * float(row_squares @ row_squares))
    best, used, u, center = start, 0, start.residual, start.M
    previous = start.objective
    for outer in range(MAX_OUTER):
        if best.is_solved(tol) or used >= max_iter:
            break
        inner, products = minimize_inner(evaluate(problem, center, sigma, u))
        used += products + 1
        u, center, point = inner.u, inner.point.M, inner.point
        candidates = [best, point]
        if outer > 2 and abs(previous - point.objective) < 0.05 * point.objective:
            polished, products = polish(point, tol=tol, max_steps=12)
            candidates.append(polished)
            used += products
        best = min(candidates, key=lambda one: one.gap)
        previous = point.objective
        sigma *= 4.0 if inner.is_accurate() else 0.5
    return best, used
