r"""The convex problem behind a quadratic network, and a point of it with its duality gap.

Over the matrix $M = W^T\mathrm{diag}(v)W$ of the network it is

$$\min_M\; F(M) = \tfrac12\|A(M) - y\|^2 + c\|M\|_*, \qquad A(M)_i = x_i^TMx_i,$$

for M >= 0 (one-sided: heads >= 0) or for all symmetric M (two-sided: heads of both signs). c = 0 is
the problem without weight decay.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from globalmin._types import Array
from globalmin.linalg.symmetric import factored_forms, moment_matrix
from globalmin.quadratic.duality import DualBound, decay_dual, positive_dual_white

PRECONDITIONER_ROWS = (
    1_000  # samples used to estimate diagonal curvatures; they only steer the search
)


@dataclass(frozen=True)
class MatrixProblem:
    r"""Samples X (n x d), labels y, threshold c >= 0 and the sign class; with c = 0 it is one-sided
    and $X^TX = nI$.
    """

    X: Array
    y: Array
    c: float
    two_sided: bool

    @cached_property
    def scale(self) -> float:
        """(1/2)|y|^2, the objective at M = 0."""
        return 0.5 * float(self.y @ self.y)

    @cached_property
    def sample(self) -> Array:
        """Evenly spaced samples, scaled so that fourth moments keep their size: enough to estimate
        curvatures.
        """
        n = self.X.shape[0]
        count = min(n, max(PRECONDITIONER_ROWS, 4 * self.X.shape[1]))
        return self.X[np.linspace(0, n - 1, count).astype(int)] * (n / count) ** 0.25

    def at(self, M: Array) -> MatrixPoint:
        """The point of a symmetric matrix."""
        eigenvalues, vectors = np.linalg.eigh(M)
        return self.at_spectrum(eigenvalues, vectors)

    def at_spectrum(self, eigenvalues: Array, vectors: Array) -> MatrixPoint:
        r"""The point $Q\mathrm{diag}(\lambda)Q^T$; negative eigenvalues of a one-sided problem are
        set to zero.
        """
        kept = eigenvalues if self.two_sided else np.maximum(eigenvalues, 0.0)
        return MatrixPoint(self, kept, vectors)

    def forms(self, eigenvalues: Array, vectors: Array) -> Array:
        """A(M), using only the eigenvectors of nonzero eigenvalues."""
        nonzero = eigenvalues != 0.0
        return factored_forms(self.X, vectors[:, nonzero].T, eigenvalues[nonzero])


class MatrixPoint:
    """A matrix of the problem by its spectrum, with residual, gradient, objective and gap, each
    computed on first use.
    """

    def __init__(self, problem: MatrixProblem, eigenvalues: Array, vectors: Array) -> None:
        self.problem, self.eigenvalues, self.vectors = problem, eigenvalues, vectors

    def knowing(self, residual: Array, Z: Array) -> MatrixPoint:
        """The same point with its residual and gradient already computed elsewhere."""
        self.residual, self.Z = residual, Z
        return self

    @cached_property
    def M(self) -> Array:
        """The matrix."""
        return (self.vectors * self.eigenvalues) @ self.vectors.T

    @cached_property
    def residual(self) -> Array:
        """A(M) - y."""
        return self.problem.forms(self.eigenvalues, self.vectors) - self.problem.y

    @cached_property
    def objective(self) -> float:
        """F(M)."""
        penalty = self.problem.c * float(np.abs(self.eigenvalues).sum())
        return 0.5 * float(self.residual @ self.residual) + penalty

    @cached_property
    def Z(self) -> Array:
        """The gradient of the smooth part, sum_i r_i x_i x_i^T."""
        return moment_matrix(self.problem.X, self.residual)

    @cached_property
    def dual(self) -> DualBound:
        """The feasible dual vector of this residual (theorem P or D) and its bound."""
        p = self.problem
        if p.c == 0.0:
            return positive_dual_white(self.Z, self.residual, p.y)
        return decay_dual(self.Z, self.residual, p.y, p.c, two_sided=p.two_sided)

    @property
    def gap(self) -> float:
        """F(M) minus the dual bound: no matrix is better by more than this, up to rounding."""
        return self.objective - self.dual.value

    def is_solved(self, tol: float) -> bool:
        """Whether the gap is below tol times the objective, or 1e-3 tol times that of M = 0 (for
        minima that are zero).
        """
        return self.gap <= max(tol * self.objective, 1e-3 * tol * self.problem.scale)
