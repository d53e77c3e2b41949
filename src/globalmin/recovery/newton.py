r"""The end of a descent by Newton's method: the critical point of the same basin, to rounding, in a
few passes over the samples.

With many samples the Hessian is not formed: conjugate gradients multiply by it, with the
Gauss-Newton matrix of every s-th sample as preconditioner. Hessian and gradient are those of all
samples either way, so the point reached is the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.linalg.symmetric import row_blocks
from globalmin.recovery.geometry import (
    check_local_inputs,
    empirical_loss_and_gradient,
    hessian_parts,
    hessian_times,
    local_activation,
)

if TYPE_CHECKING:
    from globalmin.activations import Activation


NEAR = 0.1  # no step may be longer than this part of the weights
HESSIAN_COST = 2e10  # n (Kd)^2 above which the Hessian is not formed
SAMPLES_PER_WEIGHT = 20  # of the preconditioner, at least
WEIGHTS = 4_000  # Kd above which no matrix is formed
STEPS, INNER = 12, 30
FORCING = 0.01  # relative residual of the inner iteration


@dataclass(frozen=True)
class Point:
    """Weights, their loss and gradient, the step of descent in use, and the Newton steps that led
    here.
    """

    W: Array
    loss: float
    G: Array
    eta: float
    newton_steps: int = 0

    @property
    def size(self) -> float:
        """The gradient norm."""
        return float(np.linalg.norm(self.G))

    @property
    def error(self) -> float:
        """The loss."""
        return self.loss

    def in_words(self) -> str:
        """Loss and gradient."""
        return f"loss {self.loss:.6g}, gradient {self.size:.2e}"


def hessian_stride(n: int, weights: int) -> int | None:
    """1: the Hessian of all samples is affordable; s: a preconditioner of every s-th; None: no
    matrix is.
    """
    if weights > WEIGHTS:
        return None
    wanted = max(HESSIAN_COST / weights**2, SAMPLES_PER_WEIGHT * weights)
    return max(1, math.floor(n / wanted))


def newton_end(point: Point, X: Array, y: Array, phi: Activation, tol: float) -> tuple[Point, int]:
    """The critical point and the number of steps; the point itself and 0 unless Newton's method
    ends below `tol` in its basin.

    Every Hessian must be positive definite (along all directions tried, where it is not formed), no
    step may raise loss or gradient, none may be longer than the part `NEAR` of the weights.
    """
    stride = hessian_stride(X.shape[0], point.W.size)
    if stride is None:
        return point, 0
    current, factor = point, None
    for count in range(STEPS + 1):
        if current.size <= tol:
            return current, count
        if stride == 1:
            factor = _factor(hessian_parts(current.W, X, y, phi).total)
            move = None if factor is None else _solve(factor, current.G)
        else:
            factor = (
                _factor(hessian_parts(current.W, X[::stride], y[::stride], phi).gauss_newton)
                if factor is None
                else factor
            )
            move = None if factor is None else _conjugate_gradients(current, factor, X, y, phi)
        trial = None if move is None else _moved(current, move, X, y, phi)
        if trial is None:
            break
        current = trial
    return point, 0


def _factor(H: Array) -> Array | None:
    try:
        return np.asarray(np.linalg.cholesky(H), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None


def _solve(factor: Array, G: Array) -> Array:
    return np.asarray(
        np.linalg.solve(factor.T, np.linalg.solve(factor, G.reshape(-1))), dtype=np.float64
    ).reshape(G.shape)


def _conjugate_gradients(
    current: Point, factor: Array, X: Array, y: Array, phi: Activation
) -> Array | None:
    """The Newton step to a relative residual of `FORCING`; None where a direction of curvature <= 0
    shows up.
    """
    move, r = np.zeros(current.W.shape), current.G.copy()
    z = _solve(factor, r)
    p, product = z, float(np.vdot(r, z))
    for _ in range(INNER):
        Hp = hessian_times(current.W, p, X, y, phi)
        curvature = float(np.vdot(p, Hp))
        if not curvature > 0.0:
            return None
        move, r = move + product / curvature * p, r - product / curvature * Hp
        if float(np.linalg.norm(r)) <= FORCING * current.size:
            return move
        z = _solve(factor, r)
        before, product = product, float(np.vdot(r, z))
        p = z + product / before * p
    return move


def _moved(current: Point, move: Array, X: Array, y: Array, phi: Activation) -> Point | None:
    if float(np.linalg.norm(move)) > NEAR * float(np.linalg.norm(current.W)):
        return None
    trial = Point(
        current.W - move, *empirical_loss_and_gradient(current.W - move, X, y, phi), current.eta
    )
    return trial if trial.size < current.size and trial.loss <= current.loss * (1 + 1e-12) else None


SMALLEST = 1e-9  # probabilities are kept this far from 0 and 1


def log_likelihood(X: Array, y: Array, W: Array, activation: str | Activation) -> float:
    r"""$\frac1n\sum_iy_i\log p_i + (1-y_i)\log(1-p_i)$ with $p_i = \frac1K\sum_k\phi(w_k\cdot
    x_i)$.
    """
    phi, total = local_activation(activation), 0.0
    check_local_inputs(W, X, y)
    for rows in row_blocks(*X.shape):
        p = _probabilities(phi(X[rows] @ W.T))
        total += float((y[rows] * np.log(p) + (1.0 - y[rows]) * np.log1p(-p)).sum())
    return total / X.shape[0]


def likelihood_refinement(
    X: Array, y: Array, W: Array, activation: str | Activation, *, most: int = 25
) -> Array:
    """Fisher scoring from W with halved steps until the likelihood no longer rises; W itself if it
    never does.
    """
    phi, best = local_activation(activation), log_likelihood(X, y, W, activation)
    for _ in range(most):
        move, length = _scoring_step(X, y, W, phi), 1.0
        while length > 1e-3:
            trial = W + length * move
            value = log_likelihood(X, y, trial, phi)
            if value > best:
                break
            length /= 2.0
        else:
            return W
        done = value - best < 1e-14 * max(1.0, abs(best))
        W, best = trial, value
        if done:
            return W
    return W


def _probabilities(values: Array) -> Array:
    return np.clip(values.mean(axis=1), SMALLEST, 1.0 - SMALLEST)


def _scoring_step(X: Array, y: Array, W: Array, phi: Activation) -> Array:
    (n, d), K = X.shape, W.shape[0]
    information, score = np.zeros((K * d, K * d)), np.zeros(K * d)
    for rows in row_blocks(n, K * d):
        part = X[rows]
        Z = part @ W.T
        p = _probabilities(phi(Z))
        weights = 1.0 / (p * (1.0 - p))
        J = ((phi.derivative(Z) / K)[:, :, None] * part[:, None, :]).reshape(len(part), K * d)
        information += (J * weights[:, None]).T @ J
        score += J.T @ (weights * (y[rows] - p))
    move = np.asarray(np.linalg.lstsq(information, score, rcond=None)[0], dtype=np.float64)
    return move.reshape(W.shape)
