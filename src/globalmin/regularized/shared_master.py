r"""The restricted problem of column generation for shared neurons: the best heads of neurons
already chosen, $\min_{c_0, V} \sum_i \omega_i\,\ell(f_i, y_i) + b\sum_l \|V_l\|_2$,
$f_i = c_0 + \sum_l \phi_{li} V_l$.

Away from zero the norms are smooth: Newton steps on all heads that are not zero, with the curvature
of loss and norms. A head whose step would take it through zero is dropped; one that the loss pulls
with more than b enters, a little way along the pull.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from globalmin._types import Array, Indices, Mask
from globalmin.losses.several import SeveralOutputs

# of the mean of the diagonal: a softmax does not feel equal changes of all intercepts
_RIDGE = 1e-11
# of the step that its own curvature suggests: where a head enters
_ENTRY = 1e-2
# of the objective: a decrease that rounding hides
_INVISIBLE = 1e-12
_SETTLED = 1e-8  # a violation below this that no longer halves is rounding


@dataclass
class SharedMaster:
    """The restricted problem; `rows` are the outputs of the neurons (k x n), `V` their heads (k x
    c), `c0` the intercepts, `f` the outputs of the network (n x c).

    Attributes
    ----------
    loss, y, weight, b : of the problem.
    has_intercept : whether c0 may move.
    k0 : the penalty of the intercepts, 0 if they are free.
    """

    loss: SeveralOutputs
    y: Array
    weight: Array
    b: float
    has_intercept: bool
    k0: float
    rows: Array
    V: Array
    c0: Array
    f: Array = field(init=False)

    def __post_init__(self) -> None:
        self.refresh()

    def refresh(self) -> None:
        """Compute the outputs anew."""
        self.f = self.rows.T @ self.V + self.c0

    @property
    def value(self) -> float:
        """The objective, with the penalty b times the sum of the norms of the heads."""
        return self.value_at(self.V, self.c0, self.f)

    def value_at(self, V: Array, c0: Array, f: Array) -> float:
        """The objective at other heads and intercepts with the outputs f."""
        fit = float(self.weight @ self.loss.value(f, self.y))
        return fit + 0.5 * self.k0 * float(c0 @ c0) + self.b * float(_norms(V).sum())

    def dual(self) -> Array:
        """The weighted derivative of the loss at the outputs, n x c."""
        return self.weight[:, None] * self.loss.derivative(self.f, self.y)

    def extend(self, rows: Array) -> None:
        """Add neurons with heads of zero."""
        self.rows = np.vstack([self.rows, rows])
        self.V = np.vstack([self.V, np.zeros((len(rows), self.V.shape[1]))])

    def keep(self, kept: Indices) -> None:
        """Forget the others, whose heads are zero."""
        self.rows, self.V = self.rows[kept], self.V[kept]

    def solve(self, tol: float, steps: int = 60) -> None:
        """Newton steps until no optimality condition is violated by more than tol, relative to the
        decay; or as far as rounding allows.
        """
        self._iterate(tol, steps)
        if self.loss.ignores_shifts:  # one of many equal networks, and the cheapest
            self.V = self.V - self.V.mean(axis=1, keepdims=True)
            self.c0 = self.c0 - self.c0.mean()
            self.refresh()

    def _iterate(self, tol: float, steps: int) -> None:
        known, is_growing = np.inf, False
        for _ in range(steps):
            u = self.dual()
            slopes, slope0 = self.rows @ u, u.sum(axis=0) + self.k0 * self.c0
            violation = self._violation(slopes, slope0, float(np.abs(u).sum()))
            is_settled = violation < _SETTLED and violation > 0.5 * known and not is_growing
            if violation <= tol or is_settled:
                return
            known, is_growing = violation, self._enter(slopes, tol)
            if is_growing:
                self.refresh()
                u = self.dual()
                slopes, slope0 = self.rows @ u, u.sum(axis=0) + self.k0 * self.c0
            if not self._step(slopes, slope0):
                return

    def _violation(self, slopes: Array, slope0: Array, total: float) -> float:
        """The largest violation of an optimality condition: of the heads relative to b, of the
        intercepts relative to the sum of |u|.
        """
        size = _norms(self.V)
        active = size > 0
        pulls = slopes[active] + self.b * self.V[active] / size[active, None]
        worst = max(
            _norms(pulls).max(initial=0.0), (_norms(slopes[~active]) - self.b).max(initial=0.0)
        )
        intercept = np.abs(slope0).max() / (total + 1e-300) if self.has_intercept else 0.0
        return float(max(worst / self.b, intercept))

    def _enter(self, slopes: Array, tol: float) -> bool:
        """Give heads of zero that are pulled with more than b a small size along the pull."""
        size = _norms(slopes)
        place = np.flatnonzero((_norms(self.V) == 0) & (size > self.b * (1.0 + 0.5 * tol)))
        if not place.size:
            return False
        curves = self.loss.second(self.f, self.y) * self.weight[:, None, None]
        for j in place:
            way = -slopes[j] / size[j]
            stiff = float(np.square(self.rows[j]) @ (curves @ way @ way))
            length = (size[j] - self.b) / max(stiff, 1e-300)
            self.V[j] = _ENTRY * length * way
        return True

    def _step(self, slopes: Array, slope0: Array) -> bool:
        """One Newton step with a search along it; False if it decreases nothing."""
        size = _norms(self.V)
        active = np.flatnonzero(size > 0)
        matrix, right = self._system(active, size, slopes, slope0)
        for most in (active.size, 1, 0):
            change, gone = self._direction(active, matrix, right, most)
            promised = float(right @ change)
            dV, d0 = self._unpacked(active, change)
            moved = self.rows.T @ dV + d0
            length = self._length(dV, d0, moved, promised)
            if length > 0.0:
                break
        else:
            return False
        self.V = self.V + length * dV
        self.c0 = self.c0 + length * d0
        if length == 1.0:
            self.V[active[gone]] = 0.0
        self.refresh()
        return True

    def _system(
        self, active: Indices, size: Array, slopes: Array, slope0: Array
    ) -> tuple[Array, Array]:
        """Hessian and minus the gradient at the active heads, after the intercepts: entry (o, l) of
        output o and neuron l.
        """
        c, first = self.V.shape[1], int(self.has_intercept)
        ones = np.ones((first, len(self.y)))
        Phi = np.vstack([ones, self.rows[active]])
        k = len(Phi)
        H = np.empty((c, k, c, k))
        curves = self.loss.second(self.f, self.y) * self.weight[:, None, None]
        for o in range(c):
            for p in range(o, c):
                block = (Phi * curves[:, o, p]) @ Phi.T
                H[o, :, p, :] = H[p, :, o, :] = block
        units = self.V[active] / size[active, None]
        for j, (unit, length) in enumerate(zip(units, size[active], strict=True), start=first):
            H[:, j, :, j] += self.b / length * (np.eye(c) - np.outer(unit, unit))
        if first:
            H[range(c), 0, range(c), 0] += self.k0
        pull = slopes[active] + self.b * units
        gradient = np.vstack([slope0[None, :], pull]) if first else pull
        return H.reshape(c * k, c * k), -gradient.T.ravel()

    def _direction(
        self, active: Indices, matrix: Array, right: Array, most: int
    ) -> tuple[Array, Mask]:
        """The Newton step, and which active heads it takes to zero: those that it would take
        through zero, at most so many at a time, the first ones first. With 0 heads the plain step,
        along which the objective falls.
        """
        c, first = self.V.shape[1], int(self.has_intercept)
        k = active.size + first
        base = matrix.copy()
        diagonal = np.diag_indices_from(base)
        base[diagonal] += _RIDGE * base[diagonal].mean() + 1e-300
        V = self.V[active]
        gone = np.zeros(active.size, dtype=bool)
        change = np.zeros(c * k)
        for _ in range(active.size + 1):
            fixed = np.tile(np.r_[np.zeros(first, dtype=bool), gone], c)
            change[:] = 0.0
            change.reshape(c, k)[:, first:][:, gone] = -V[gone].T
            left = ~fixed
            rest = right[left] - base[np.ix_(left, fixed)] @ change[fixed]
            change[left] = _solution(base[np.ix_(left, left)], rest)
            steps = change.reshape(c, k)[:, first:].T
            # where the part along the head reaches zero; beyond 1: not in this step
            speed = -(steps * V).sum(axis=1) / np.square(V).sum(axis=1)
            through = np.flatnonzero(~gone & (speed >= 1.0))
            if not through.size or not most:
                break
            gone[through[np.argsort(-speed[through])[:most]]] = True
        return change, gone

    def _unpacked(self, active: Indices, change: Array) -> tuple[Array, Array]:
        c, first = self.V.shape[1], int(self.has_intercept)
        parts = change.reshape(c, -1).T
        dV = np.zeros_like(self.V)
        dV[active] = parts[first:]
        return dV, parts[0] if first else np.zeros(c)

    def _length(self, dV: Array, d0: Array, moved: Array, promised: float) -> float:
        """Halved until a hundredth of the promised decrease is there; 0 if rounding is all."""
        before, length = self.value, 1.0
        if abs(promised) <= _INVISIBLE * abs(before):
            return 1.0
        if promised < 0:
            return 0.0
        for _ in range(30):
            after = self.value_at(
                self.V + length * dV, self.c0 + length * d0, self.f + length * moved
            )
            if after <= before - 0.01 * length * promised + 1e-15 * abs(before):
                return length
            length *= 0.5
        return 0.0


def _norms(V: Array) -> Array:
    return np.sqrt(np.square(V).sum(axis=1))


def _solution(matrix: Array, right: Array) -> Array:
    try:
        found: Any = cho_solve(cho_factor(matrix, lower=True), right)
    except LinAlgError:
        found = np.linalg.lstsq(matrix, right, rcond=None)[0]
    return found
