"""The steps of patch-network training: gradient steps whose length the data give, and damped least
squares inside the cell of the active patches.

Everything here is about one scaled problem: patches of mean square entry 1, labels of mean square
1. Both kinds of steps only ever lower the loss, so nothing can diverge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from globalmin._types import Array
from globalmin.optimize.follow import Iterate
from globalmin.patches.network import patch_gradient, patch_jacobian, patch_slope

Weights = tuple[Array, Array]  # filters m x p, output weights m x k

LARGEST_SYSTEM = 4000  # unknowns or samples, whichever are fewer: beyond it only gradient steps
ENOUGH = 1e-12  # relative decrease below which a step counts as none
HALVINGS = 30


@dataclass(frozen=True)
class Scaled:
    """Patches n x k x p and n labels, and whether the output weights move."""

    Z: Array
    y: Array
    trains_head: bool

    def at(self, weights: Weights) -> PatchPoint:
        """The point of these weights."""
        W, A = weights
        H = self.Z @ W.T
        miss = np.einsum("nkm,mk->n", np.maximum(H, 0.0), A, optimize=True) - self.y
        return PatchPoint(weights, H, miss, 0.5 * float(miss @ miss) / len(miss))

    @property
    def unknowns(self) -> int:
        """How many weights move, for one filter."""
        return self.Z.shape[2] + (self.Z.shape[1] if self.trains_head else 0)


@dataclass(frozen=True, eq=False)
class PatchPoint:
    """Weights with their products, residuals and loss (1/2n) sum of squared residuals."""

    weights: Weights
    H: Array
    miss: Array
    loss: float

    @property
    def error(self) -> float:
        """The loss."""
        return self.loss

    def in_words(self) -> str:
        """The loss relative to that of the zero network."""
        return f"relative loss {2.0 * self.loss:.6g}"


Path = Iterator[Iterate[PatchPoint]]


def gradient_path(problem: Scaled, point: PatchPoint) -> Path:
    """Steepest descent. The step is the minimum of the linearized loss along the gradient, halved
    until the loss falls; ends where it does not.
    """
    n = len(problem.y)
    while True:
        W, A = point.weights
        dW, dA = patch_gradient(problem.Z, point.H, A, point.miss)
        dA = dA if problem.trains_head else np.zeros_like(A)
        size = float((dW**2).sum() + (dA**2).sum())
        slope = patch_slope(problem.Z, point.H, A, (dW, dA))
        bend = float(slope @ slope)
        if not (size > 0.0 and bend > 0.0):
            return
        step = size / bend
        for _ in range(HALVINGS):
            new = problem.at((W - step * dW, A - step * dA))
            if new.loss <= point.loss - 0.25 * step * size / n:
                break
            step *= 0.5
        else:
            return
        point = balanced(problem, new)
        yield Iterate(point)


def cell_path(problem: Scaled, point: PatchPoint) -> Path:
    """Least squares for the active patches of the moment, damped as little as the loss allows; ends
    where no damping helps.

    With fixed output weights the output is linear in the filters inside a cell, and an undamped
    step is its minimum.
    """
    damping = 1e-3
    while True:
        J = patch_jacobian(problem.Z, point.H, point.weights[1], trains_head=problem.trains_head)
        scale = float(np.einsum("ij,ij->", J, J)) / max(J.shape[1], 1)
        found = None
        while scale > 0.0 and damping < 1e8:
            moved = stepped(problem, point, _damped_step(J, point.miss, damping * scale))
            if moved.loss < point.loss * (1.0 - ENOUGH):
                found = moved
                damping = max(damping / 8.0, 1e-15)
                break
            damping *= 4.0
        if found is None:
            return
        point = balanced(problem, found)
        damping = min(damping, 1e3)
        yield Iterate(point)


def _damped_step(J: Array, miss: Array, damping: float) -> Array:
    """-(J^T J + damping I)^-1 J^T miss, in the smaller of its two forms."""
    n, unknowns = J.shape
    if unknowns <= n:
        system, right = J.T @ J, J.T @ miss
    else:
        system, right = J @ J.T, miss
    # a few ulps of the trace keep the factorization alive where J is singular
    least = 1e-15 * float(np.trace(system)) / len(system)
    system[np.diag_indices_from(system)] += max(damping, least)
    try:
        factor = scipy.linalg.cho_factor(system, check_finite=False)
        solved = scipy.linalg.cho_solve(factor, right, check_finite=False)
    except np.linalg.LinAlgError:
        solved = np.asarray(np.linalg.lstsq(system, right, rcond=None)[0], dtype=np.float64)
    return -solved if unknowns <= n else -(J.T @ solved)


def stepped(problem: Scaled, point: PatchPoint, step: Array) -> PatchPoint:
    """The point after a step that is given as one vector, filters first."""
    W, A = point.weights
    dW = step[: W.size].reshape(W.shape)
    dA = step[W.size :].reshape(A.shape) if problem.trains_head else 0.0
    return problem.at((W + dW, A + dA))


def balanced(problem: Scaled, point: PatchPoint) -> PatchPoint:
    """The same function with filters and output weights of equal length, where both move."""
    if not problem.trains_head:
        return point
    W, A = point.weights
    lengths = np.linalg.norm(W, axis=1), np.linalg.norm(A, axis=1)
    alive = (lengths[0] > 0.0) & (lengths[1] > 0.0)
    factor = np.sqrt(np.divide(lengths[1], lengths[0], out=np.ones_like(lengths[0]), where=alive))
    factor = np.where(alive, factor, 1.0)
    weights = W * factor[:, None], A / factor[:, None]
    return PatchPoint(weights, point.H * factor, point.miss, point.loss)
