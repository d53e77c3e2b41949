r"""Descent in the factors of a network of squares, $f_i = c_0 + \sum_l s_l(a_l\cdot z_i)^2$ with
the penalty $a\sum_l\|a_l\|^2$, by Newton steps in a trust region with products of the Hessian only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.regularized.objective import RegularizedProblem
from globalmin.regularized.squares import squares_penalty

_MAX_SHARP = 6
_MAX_STEPS = 150  # Newton steps between two rounds of new neurons


@dataclass(frozen=True, eq=False)
class SquaresFactors:
    """Rows a_l, signs s_l and the intercept; the matrix is the sum of s_l a_l a_l^T."""

    rows: Array
    signs: Array
    intercept: float

    @classmethod
    def of_matrix(cls, A: Array, intercept: float, drop: float = 0.0) -> SquaresFactors:
        """One row per eigenvalue, those up to `drop` times the largest left out: the factors of
        least penalty.
        """
        eigenvalues, vectors = np.linalg.eigh(A)
        kept = np.abs(eigenvalues) > drop * np.abs(eigenvalues).max(initial=0.0)
        rows = np.sqrt(np.abs(eigenvalues[kept]))[:, None] * vectors.T[kept]
        return cls(rows, np.sign(eigenvalues[kept]), intercept)

    @property
    def matrix(self) -> Array:
        """The symmetric matrix."""
        return (self.rows * self.signs[:, None]).T @ self.rows

    def outputs(self, Z: Array) -> Array:
        """The outputs at the rows z_i."""
        return np.square(Z @ self.rows.T) @ self.signs + self.intercept


@dataclass(frozen=True, eq=False)
class FactoredObjective:
    """The objective as a function of one vector: all rows, then the intercept if it is free."""

    problem: RegularizedProblem
    Z: Array
    signs: Array
    fixed: float

    @property
    def _is_free(self) -> bool:
        return self.problem.penalty.intercept == "free"

    def pack(self, rows: Array, intercept: float) -> Array:
        """The vector of rows and intercept."""
        return np.concatenate([rows.ravel(), [intercept] * self._is_free])

    def unpack(self, x: Array) -> tuple[Array, float]:
        """Rows and intercept of a vector."""
        k, p = len(self.signs), self.Z.shape[1]
        return x[: k * p].reshape(k, p), float(x[-1]) if self._is_free else self.fixed

    def value(self, x: Array) -> float:
        """The objective; infinity where the loss overflows."""
        rows, c = self.unpack(x)
        f = np.square(self.Z @ rows.T) @ self.signs + c
        used = self.problem.weights > 0
        losses = self.problem.loss.value(f[used], self.problem.y[used])
        penalty = squares_penalty(self.problem).threshold * float(np.sum(np.square(rows)))
        return float(self.problem.weights[used] @ losses) + penalty

    def gradient(self, x: Array) -> Array:
        """Its gradient."""
        rows, c = self.unpack(x)
        hidden = self.Z @ rows.T
        f = np.square(hidden) @ self.signs + c
        u = self.problem.weights * self.problem.loss.derivative(f, self.problem.y)
        a = squares_penalty(self.problem).threshold
        inner = 2.0 * self.signs[:, None] * ((hidden * u[:, None]).T @ self.Z)
        return self.pack(inner + 2.0 * a * rows, float(u.sum()))

    def hessian_times(self, x: Array, direction: Array) -> Array:
        """The Hessian at x times a direction."""
        rows, c = self.unpack(x)
        turned, shift = self.unpack(direction)
        hidden, moved = self.Z @ rows.T, self.Z @ turned.T
        f = np.square(hidden) @ self.signs + c
        weight, loss, y = self.problem.weights, self.problem.loss, self.problem.y
        change = 2.0 * (hidden * moved) @ self.signs + shift * self._is_free
        u, du = weight * loss.derivative(f, y), weight * loss.second(f, y) * change
        a = squares_penalty(self.problem).threshold
        inner = (hidden * du[:, None] + moved * u[:, None]).T @ self.Z
        return self.pack(2.0 * self.signs[:, None] * inner + 2.0 * a * turned, float(du.sum()))


def descend(
    problem: RegularizedProblem, Z: Array, factors: SquaresFactors, goal: float
) -> SquaresFactors:
    """Newton steps in a trust region until what is left of the gradient costs about `goal`."""
    from scipy.optimize import minimize

    function = FactoredObjective(problem, Z, factors.signs, factors.intercept)
    x = function.pack(factors.rows, factors.intercept)
    if not x.size:
        return factors
    size = max(float(np.linalg.norm(x)), 1e-3)
    # the inner solver is as accurate as the square root of the gradient, so that must be small
    unit = 100.0 * max(float(np.linalg.norm(function.gradient(x))), 1e-300)
    found = minimize(
        lambda x: function.value(x) / unit,
        x,
        jac=lambda x: function.gradient(x) / unit,
        hessp=lambda x, p: function.hessian_times(x, p) / unit,
        method="trust-ncg",
        options={
            "gtol": goal / size / unit,
            "maxiter": _MAX_STEPS,
            "initial_trust_radius": 0.3 * size,
            "max_trust_radius": 100.0 * size,
        },
    )
    x = found.x if unit * found.fun <= function.value(x) else x
    rows, c = function.unpack(_sharpened(function, x, goal / size))
    return SquaresFactors(rows, factors.signs, c)


def _sharpened(function: FactoredObjective, x: Array, goal: float) -> Array:
    """Newton steps that are judged by the gradient: near the minimum the value has no digits left
    to show progress. The Hessian is singular along rotations of the factors, hence minres.
    """
    from scipy.sparse.linalg import LinearOperator, minres

    operator: Any = LinearOperator  # its stub knows subclasses only
    gradient, value = function.gradient(x), function.value(x)
    for _ in range(_MAX_SHARP):
        if np.linalg.norm(gradient) <= goal:
            break
        product = partial(function.hessian_times, x)
        hessian = operator((x.size, x.size), matvec=product, dtype=np.float64)
        step = minres(hessian, -gradient, rtol=1e-6, maxiter=min(4 * x.size, 400))[0]
        moved = function.gradient(x + step)
        is_lower = function.value(x + step) <= value + 1e-13 * abs(value)
        if not (is_lower and np.linalg.norm(moved) < 0.5 * np.linalg.norm(gradient)):
            break
        x, gradient = x + step, moved
    return x
