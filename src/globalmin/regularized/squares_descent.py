r"""Descent in the factors of a network of squares, $f_i = c_0 + \sum_l s_l(a_l\cdot z_i)^2$ with
the penalty $a\sum_l\|a_l\|^2$, by Newton steps in a trust region with products of the Hessian only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.regularized.objective import RegularizedProblem
from globalmin.regularized.squares import factored_spectrum, squares_penalty

_MAX_SHARP = 6
_MAX_STEPS = 150  # Newton steps between two rounds of new neurons
_OUT_OF_STEPS = 1  # the status of scipy's solvers
_MAX_GRADIENTS = 2000
# unknowns and rows up to which the Hessian is formed: products with it are then one call each
_FEW, _FEW_ROWS = 64, 1000


@dataclass(frozen=True, eq=False)
class SquaresFactors:
    """Rows a_l, signs s_l and the intercept; the matrix A is the sum of s_l a_l a_l^T."""

    rows: Array
    signs: Array
    intercept: float

    def merged(self, drop: float = 0.0) -> SquaresFactors:
        """The same matrix with one row per eigenvalue, those up to `drop` times the largest left
        out: the factors of least penalty.
        """
        eigenvalues, vectors = factored_spectrum(self.rows, self.signs)
        kept = np.abs(eigenvalues) > drop * np.abs(eigenvalues).max(initial=0.0)
        rows = np.sqrt(np.abs(eigenvalues[kept]))[:, None] * vectors.T[kept]
        return SquaresFactors(rows, np.sign(eigenvalues[kept]), self.intercept)

    def outputs(self, Z: Array) -> Array:
        """The outputs at the rows z_i."""
        return np.square(Z @ self.rows.T) @ self.signs + self.intercept


@dataclass(eq=False)
class _State:
    """Rows, hidden values, outputs, the weighted first and second derivatives of the loss, and the
    Hessian once it was asked for.
    """

    rows: Array
    hidden: Array
    f: Array
    u: Array
    curvature: Array
    hessian: Array | None = None


@dataclass(frozen=True, eq=False)
class FactoredObjective:
    """The objective as a function of one vector: all rows, then the intercept if it is free."""

    problem: RegularizedProblem
    Z: Any  # dense or sparse rows
    signs: Array
    fixed: float
    _last: list[tuple[Array, _State]] = field(default_factory=list, repr=False)

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

    def _state(self, x: Array) -> _State:
        """What value, gradient and the products at one point share: the last point is kept."""
        if self._last and self._last[0][0].tobytes() == x.tobytes():
            return self._last[0][1]
        rows, c = self.unpack(x)
        hidden = self.Z @ rows.T
        f = np.square(hidden) @ self.signs + c
        weight, loss, y = self.problem.weights, self.problem.loss, self.problem.y
        u, curvature = weight * loss.derivative(f, y), weight * loss.second(f, y)
        found = _State(rows, hidden, f, u, curvature)
        self._last[:] = [(x.copy(), found)]
        return found

    def value(self, x: Array) -> float:
        """The objective; infinity where the loss overflows."""
        at = self._state(x)
        used = self.problem.weights > 0
        losses = self.problem.loss.value(at.f[used], self.problem.y[used])
        penalty = squares_penalty(self.problem).threshold * float(np.sum(np.square(at.rows)))
        return float(self.problem.weights[used] @ losses) + penalty

    def gradient(self, x: Array) -> Array:
        """Its gradient."""
        at = self._state(x)
        a = squares_penalty(self.problem).threshold
        inner = 2.0 * self.signs[:, None] * ((at.hidden * at.u[:, None]).T @ self.Z)
        return self.pack(inner + 2.0 * a * at.rows, float(at.u.sum()))

    def hessian_times(self, x: Array, direction: Array) -> Array:
        """The Hessian at x times a direction."""
        at = self._state(x)
        if x.size <= _FEW and len(at.u) <= _FEW_ROWS and isinstance(self.Z, np.ndarray):
            if at.hessian is None:
                at.hessian = self._hessian(at)
            return at.hessian @ direction
        turned, shift = self.unpack(direction)
        moved = self.Z @ turned.T
        change = 2.0 * (at.hidden * moved) @ self.signs + shift * self._is_free
        du = at.curvature * change
        a = squares_penalty(self.problem).threshold
        inner = (at.hidden * du[:, None] + moved * at.u[:, None]).T @ self.Z
        return self.pack(2.0 * self.signs[:, None] * inner + 2.0 * a * turned, float(du.sum()))

    def _hessian(self, at: _State) -> Array:
        """The Hessian of few unknowns: J^T diag(curvature) J of the outputs' Jacobian J, and for
        every row a_l the matrix 2 s_l Z(u) + 2a I.
        """
        n, (k, p) = len(at.u), at.rows.shape
        J = ((2.0 * self.signs * at.hidden)[:, :, None] * self.Z[:, None, :]).reshape(n, k * p)
        if self._is_free:
            J = np.hstack([J, np.ones((n, 1))])
        found = J.T @ (at.curvature[:, None] * J)
        inner = 2.0 * self.Z.T @ (at.u[:, None] * self.Z)
        ridge = 2.0 * squares_penalty(self.problem).threshold * np.eye(p)
        for i, sign in enumerate(self.signs):
            block = slice(i * p, (i + 1) * p)
            found[block, block] += sign * inner + ridge
        return found


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
    if found.status == _OUT_OF_STEPS:
        found = _by_gradients(function, found.x, unit, goal / size)
    x = found.x if unit * found.fun <= function.value(x) else x
    rows, c = function.unpack(_sharpened(function, x, goal / size))
    return SquaresFactors(rows, factors.signs, c)


def _by_gradients(function: FactoredObjective, x: Array, unit: float, gtol: float) -> Any:
    """L-BFGS, for losses whose curvature jumps (huber): there Newton's steps may be short ones."""
    from scipy.optimize import minimize

    return minimize(
        lambda x: function.value(x) / unit,
        x,
        jac=lambda x: function.gradient(x) / unit,
        method="L-BFGS-B",
        options={
            "gtol": gtol / unit,
            "ftol": 0.0,
            "maxiter": _MAX_GRADIENTS,
            "maxfun": 2 * _MAX_GRADIENTS,
            "maxcor": 30,
        },
    )


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
