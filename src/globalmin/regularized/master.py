r"""The restricted problem of column generation: the best weights of neurons already chosen,
$\min_c \sum_i \omega_i\,\ell(f_i, y_i) + b\sum_l |c_l|$, $f = c_0 + \Phi c$.

Newton steps on the active neurons, orthant by orthant: a step ends where a weight changes its sign
and that neuron is dropped; neurons that violate the optimality conditions enter. All of it happens
on the small Gram matrix; the rows are seen once per step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from globalmin._types import Array, Indices, Mask
from globalmin.losses import Loss

# of the mean of the diagonal: keeps the solution of nearly dependent neurons bounded
_RIDGE = 1e-13
# of the largest: where the loss is linear the model would have no curvature at all
_LEAST_CURVATURE = 1e-3
# of the objective: a decrease that rounding hides
_INVISIBLE = 1e-11
_SETTLED = 1e-8  # a violation below this that no longer halves is rounding
_STALE = 0.2  # relative change of the curvature from which a Gram matrix is made anew


@dataclass
class Signed:
    """min g.d + d.G.d/2 + b sum of |x_l + d_l|, l >= `first`, by an active set; x is moved in
    place, r is the gradient of the smooth part. `signs` are those that x must have, 0 for any.
    """

    G: Array
    r: Array
    x: Array
    b: float
    first: int
    signs: Array

    def solve(self, tol: float, rounds: int = 60) -> None:
        """Until no neuron violates its condition by more than tol * b."""
        size = self.x.size
        sign = np.sign(self.x)
        active = sign != 0
        active[: self.first], sign[: self.first] = True, 0.0
        for attempt in range(rounds):
            self._newton(active, sign)
            excess = np.where(active, 0.0, _pull(self.r, self.signs) - self.b * (1.0 + tol))
            entering = np.flatnonzero(excess > 0)
            if not entering.size:
                return
            # many at once as long as that works, in the end one by one, which always does
            many = max(1, (size // 4) >> attempt // 4)
            entering = entering[np.argsort(-excess[entering])[:many]]
            active[entering], sign[entering] = True, -np.sign(self.r[entering])

    def _newton(self, active: Mask, sign: Array) -> None:
        """Full steps on the active neurons, as far as the signs allow; what reaches zero leaves."""
        refined = False
        for _ in range(3 * self.x.size + 3):
            A = np.flatnonzero(active)
            if not A.size:
                return
            matrix = self.G[np.ix_(A, A)]
            matrix[np.diag_indices_from(matrix)] *= 1.0 + _RIDGE
            step = _solution(matrix, -(self.r[A] + self.b * sign[A]))
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.where(step * sign[A] < 0, -self.x[A] / step, np.inf)
            length = min(1.0, float(room.min(initial=1.0)))
            self.x[A] += length * step
            self.r += self.G[:, A] @ (length * step)
            gone = A[room <= length * (1.0 + 1e-12)]
            if not gone.size:
                if refined:
                    return
                refined = True  # once more: the matrix is nearly singular and was changed a little
                continue
            left = self.x[gone]
            self.r -= self.G[:, gone] @ left
            self.x[gone], active[gone] = 0.0, False


def _pull(slope: Array, signs: Array) -> Array:
    """How strongly the loss pulls a weight away from zero, in the directions it may take."""
    return np.where(signs == 0, np.abs(slope), -signs * slope)


def _solution(matrix: Array, right: Array) -> Array:
    try:
        found: Any = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        found = np.linalg.lstsq(matrix, right, rcond=None)[0]
    return found


@dataclass
class Master:
    """The restricted problem; `rows` are the constant (if there is an intercept) and the outputs of
    the neurons, one row each, `x` their weights, `f` the outputs of the network.

    Attributes
    ----------
    loss, y, weight, b : of the problem.
    first : 1 with an intercept, else 0.
    k0 : the penalty of the intercept, 0 if it is free.
    signs : the sign that each weight must have, 0 for any.
    """

    loss: Loss
    y: Array
    weight: Array
    b: float
    first: int
    k0: float
    rows: Array
    x: Array
    signs: Array
    f: Array = field(init=False)
    _curvature: Array | None = field(default=None, repr=False)
    _gram: Array | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.f = self.x @ self.rows

    @property
    def value(self) -> float:
        """The objective, with the penalty b times the sum of |c|."""
        return self.value_at(self.x, self.f)

    def value_at(self, x: Array, f: Array) -> float:
        """The objective at weights x with the outputs f."""
        fit = float(self.weight @ self.loss.value(f, self.y))
        intercept = 0.5 * self.k0 * float(x[: self.first] @ x[: self.first])
        return fit + intercept + self.b * float(np.abs(x[self.first :]).sum())

    def dual(self) -> Array:
        """The weighted derivative of the loss at the outputs."""
        return self.weight * self.loss.derivative(self.f, self.y)

    def extend(self, rows: Array, signs: Array) -> None:
        """Add neurons with weight zero, and the signs that the weights must have."""
        if self._gram is not None and self._curvature is not None:
            cross = (rows * self._curvature) @ np.vstack([self.rows, rows]).T
            k = len(self.rows)
            self._gram = np.block([[self._gram, cross[:, :k].T], [cross]])
        self.rows = np.vstack([self.rows, rows])
        self.x = np.r_[self.x, np.zeros(len(rows))]
        self.signs = np.r_[self.signs, signs]

    def keep(self, kept: Indices) -> None:
        """Forget the others."""
        self.rows, self.x, self.signs = self.rows[kept], self.x[kept], self.signs[kept]
        if self._gram is not None:
            self._gram = self._gram[np.ix_(kept, kept)]

    def combine(self, a: int, other: int, weights: tuple[float, float], weight: float) -> None:
        """Let a be the neuron with the outputs of weights . (a, other), which now has this weight;
        the other one gets weight zero. The outputs of the network stay the same.
        """
        first, second = weights
        self.rows[a] = first * self.rows[a] + second * self.rows[other]
        self.x[a], self.x[other] = weight, 0.0
        if not self.signs[a]:
            self.signs[a] = self.signs[other]
        if self._gram is not None:
            self._gram[a] = first * self._gram[a] + second * self._gram[other]
            self._gram[:, a] = first * self._gram[:, a] + second * self._gram[:, other]

    def replace_rows(self, place: Indices, rows: Array) -> None:
        """Other outputs for some neurons."""
        self.rows[place] = rows
        self._curvature = self._gram = None

    def curvature(self) -> Array:
        """The weighted second derivative of the loss, not too small where the loss is linear."""
        h = self.weight * self.loss.second(self.f, self.y)
        most = float(h.max()) if self.loss.smoothness is None else self.loss.smoothness
        return np.maximum(h, _LEAST_CURVATURE * most * (self.weight > 0))

    def solve(self, tol: float, steps: int = 30) -> None:
        """Newton steps until no optimality condition is violated by more than tol, relative to the
        decay; or as far as rounding allows.
        """
        known = np.inf
        for _ in range(steps):
            u = self.dual()
            gradient = self.rows @ u
            gradient[: self.first] += self.k0 * self.x[: self.first]
            violation = self._violation(gradient, float(np.abs(u).sum()))
            if violation <= tol or (violation < _SETTLED and violation > 0.5 * known):
                return
            known = violation
            model = Signed(
                self._current_gram(),
                gradient.copy(),
                self.x.copy(),
                self.b,
                self.first,
                self.signs,
            )
            model.solve(min(tol, 1e-9))
            step = model.x - self.x
            change = float(np.abs(model.x[self.first :]).sum() - np.abs(self.x[self.first :]).sum())
            promised = -(float(gradient @ step) + self.b * change)
            moved = step @ self.rows
            length = self._length(step, moved, promised)
            if length == 0.0:
                return
            self.x = self.x + length * step
            self.f = self.f + length * moved
            if length < 1.0:
                self._curvature = None

    def _violation(self, gradient: Array, total: float) -> float:
        """The largest violation of an optimality condition: of the neurons relative to b, of the
        intercept relative to the sum of |u|.
        """
        x, slope = self.x[self.first :], gradient[self.first :]
        active = np.abs(slope + self.b * np.sign(x)) * (x != 0)
        pull = _pull(slope, self.signs[self.first :])
        worst = np.maximum(active, pull - self.b).max(initial=0.0) / self.b
        intercept = np.abs(gradient[: self.first]).max(initial=0.0) / (total + 1e-300)
        return float(max(worst, intercept))

    def _length(self, step: Array, moved: Array, promised: float) -> float:
        """Halved until a hundredth of the promised decrease is there; 0 if rounding is all. Steps
        that promise less than values can show are taken whole: they settle the conditions.
        """
        before, length = self.value, 1.0
        if abs(promised) <= _INVISIBLE * abs(before):
            return 1.0
        for _ in range(40):
            after = self.value_at(self.x + length * step, self.f + length * moved)
            if after <= before - 0.01 * length * promised + 1e-15 * abs(before):
                return length
            length *= 0.5
        return 0.0

    def _current_gram(self) -> Array:
        """The Gram matrix of the neurons in the curvature of the loss, made anew when that has
        changed.
        """
        h = self.curvature()
        known = self._curvature
        if known is not None and float(np.abs(h - known).sum()) <= _STALE * float(known.sum()):
            gram = self._gram
        else:
            gram = (self.rows * h) @ self.rows.T
            self._gram, self._curvature = gram, h
        assert gram is not None  # noqa: S101 - set with the curvature
        if not self.k0:
            return gram
        penalized = gram.copy()
        penalized[: self.first, : self.first] += self.k0
        return penalized
