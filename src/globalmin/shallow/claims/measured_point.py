r"""A quadratic network at its data, measured for the claims about quadratic networks: residual,
loss, and strict witnesses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.errors import CannotCertify, MemoryRefused
from globalmin.linalg.positive_definite import (
    EPS,
    RESIDUAL_LIMIT,
    Ball,
    Gram,
    ball_matrix,
    inverse_factor,
    working_precision,
)
from globalmin.linalg.symmetric import design_gram
from globalmin.proving.certificate import CHECKER_WORK, MEMORY_LIMIT
from globalmin.shallow.claims.high_precision import PreciseResidual, precise_residual
from globalmin.shallow.claims.linearized_point import checked_arrays, loss_above
from globalmin.shallow.network import residual

if TYPE_CHECKING:
    from globalmin.data import Dataset
    from globalmin.shallow.network import ShallowNetwork


# n k d up to which the residual is computed at high precision, some seconds
_PRECISE_PRODUCTS = 2 * 10**7
_FEWEST_BITS = 2.0**-400  # a claimed bound is never zero, so that no check is a tie


@dataclass(frozen=True)
class QuadraticPoint:
    """The stored quadratic network at the stored data."""

    network: ShallowNetwork
    X: Array = field(repr=False)
    y: Array = field(repr=False)
    residual: PreciseResidual = field(repr=False)

    @property
    def r(self) -> Array:
        """The residual."""
        return self.residual.r

    @property
    def loss_above(self) -> float:
        """L from above."""
        return loss_above(self.residual)

    @cached_property
    def squares(self) -> Array:
        """|x_i|^2."""
        return np.einsum("ij,ij->i", self.X, self.X)

    def moment_noise(self, u: Array) -> float:
        """Estimated Frobenius norm of the rounding error of sum_i u_i x_i x_i^T in floats."""
        return 8.0 * EPS * float(np.abs(u) @ self.squares)

    def design_gram(self) -> Gram:
        """S^T S of the matrices x_i x_i^T, N x N, or a refusal if it is too large."""
        n, d = self.X.shape
        N = d * (d + 1) // 2
        needed = 5 * 8 * N * N
        if needed > MEMORY_LIMIT:
            raise MemoryRefused(
                f"d = {d} features need {needed / 2**30:.1f} GiB for a square of order {N}; use "
                "fewer features"
            )
        if 2 * N**3 + n * N * N > CHECKER_WORK:
            raise CannotCertify(
                f"n = {n}, d = {d}: a proof with the square of order {N} is beyond the checker's "
                "work budget"
            )
        values = design_gram(self.X)
        return Gram(
            values,
            4.0 * EPS * float(self.squares @ self.squares),
            lambda: _precise_design_gram(self.X),
        )


@np.errstate(over="ignore", invalid="ignore")
def measure_quadratic(network: ShallowNetwork, data: Dataset) -> QuadraticPoint:
    """Measure a quadratic network at its data; CannotCertify for every other activation."""
    X, y = checked_arrays(network, data)
    if network.activation.certificate_name != "quadratic":
        raise CannotCertify(
            f"the claim is about quadratic networks, and the activation is {network.activation}"
        )
    n, (k, d) = y.size, network.W.shape
    found = (
        precise_residual(network, X, y)
        if n * k * d <= _PRECISE_PRODUCTS
        else _rounded_residual(network, X, y)
    )
    loss_above(found)
    return QuadraticPoint(network, X, y, found)


def _rounded_residual(network: ShallowNetwork, X: Array, y: Array) -> PreciseResidual:
    """The residual in floats with a bound of its rounding error, for networks too large for high
    precision.
    """
    k, d = network.W.shape
    size = np.square(np.abs(X) @ np.abs(network.W).T) @ np.abs(network.v) + np.abs(y)
    return PreciseResidual(residual(network, X, y), 2.0 * (d + k + 4) * EPS * size)


def strict_witness(A: Array, noise: float) -> Array | None:
    """C with |C A C^T - I| well below 1 (primitive P1), also for a matrix that differs from A by
    `noise`; None if not found.
    """
    C = inverse_factor(A)
    if C is None:
        return None
    T = C @ A @ C.T
    T[np.diag_indices_from(T)] -= 1.0
    return (
        C
        if float(np.linalg.norm(T)) + noise * float(np.linalg.norm(C, 2)) ** 2 < RESIDUAL_LIMIT
        else None
    )


def gap_above(point: QuadraticPoint, u: Array, *, weight_decay: float = 0.0) -> float:
    """L + (w/2)|W|^2 + u . y + |u|^2/2 from above; the terms nearly cancel, so they are summed at
    high precision.
    """
    with working_precision():
        sizes = ball_matrix(np.abs(point.r) + point.residual.radius)
        u_balls, y, W = (
            ball_matrix(u),
            ball_matrix(point.y),
            ball_matrix(point.network.W.reshape(-1)),
        )
        loss = _square(sizes) / 2 * (1 + 2.0**-50)  # the residual is rounded to doubles
        gap = (
            loss
            + weight_decay * _square(W) / 2
            + (u_balls.transpose() * y)[0, 0]
            + _square(u_balls) / 2
        )
        above = float(gap.upper()) if gap.is_finite() else math.inf
    if not math.isfinite(above):
        raise CannotCertify("the gap of these weights overflows a double; train first")
    return max(above * (1.0 + 2.0**-40), _FEWEST_BITS)


def _square(column: Ball) -> Ball:
    return (column.transpose() * column)[0, 0]


def _precise_design_gram(X: Array) -> Ball:
    """S^T S as balls."""
    from flint import arb, arb_mat

    rows, columns = np.triu_indices(X.shape[1])
    with working_precision():
        root = arb(2).sqrt()
        weights = [arb(1) if a == b else root for a, b in zip(rows, columns, strict=True)]
        values = [[arb(x) for x in row] for row in X.tolist()]
        pairs = list(zip(rows.tolist(), columns.tolist(), weights, strict=True))
        S = arb_mat([[row[a] * row[b] * weight for a, b, weight in pairs] for row in values])
        return S.transpose() * S


def heads_of(v: Array) -> str:
    """The class of the head: "nonnegative", "nonpositive" or "any"."""
    if (v >= 0).all():
        return "nonnegative"
    return "nonpositive" if (v <= 0).all() else "any"
