"""Residuals and Gram matrices of stored networks far beyond double precision, as balls
(python-flint).

After training to a relative residual of 1e-14 the residual is of the size of its own rounding error
in doubles, so what enters a claim is computed here at 192 bits. These numbers still only *choose*
what is claimed; the checker recomputes them in its own way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import Trained
from globalmin._types import Array
from globalmin.linalg import double_double
from globalmin.linalg.positive_definite import (
    SMALLEST_RADIUS,
    Ball,
    BallMatrix,
    ball_matrix,
    working_precision,
)

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.shallow.network import ShallowNetwork


@dataclass(frozen=True)
class PreciseResidual:
    """Residual `r` correct to the last place of each double, up to the radii `radius`."""

    r: Array
    radius: Array

    @np.errstate(over="ignore")
    def norm_above(self) -> float:
        """Estimate from above of ||r||: a relative margin of 1e-12 covers the floats of this line,
        the radii cover the balls.
        """
        return float(np.linalg.norm(np.abs(self.r) + self.radius)) * (1.0 + 1e-12)

    def widened(self, radius: Array) -> PreciseResidual:
        """The same residual, known to no better than these radii."""
        return PreciseResidual(self.r, np.maximum(self.radius, radius))


def precise_residual(network: ShallowNetwork, X: Array, y: Array) -> PreciseResidual:
    """Residual f(X) - y of the stored doubles. Cost: n k evaluations of phi at 192 bits (about 3
    microseconds each).
    """
    with working_precision():
        r = precise_features(network, X) * ball_matrix(network.v) - ball_matrix(y)
        entries = r.entries()
        # a radius whose square underflows would count as none
        radius = [0.0 if x.is_exact() else max(float(x.rad()), SMALLEST_RADIUS) for x in entries]
        return PreciseResidual(np.array([float(x) for x in entries]), np.array(radius))


def residual_by_pairs(network: ShallowNetwork, X: Array, y: Array) -> PreciseResidual:
    """The same to some 95 bits by whole arrays of pairs of doubles, a hundred times faster; its
    radii are left to the caller.
    """
    name = network.activation.certificate_name or ""
    values = double_double.activation(name, double_double.matrix_product(X, network.W))
    head = double_double.exactly(np.broadcast_to(network.v, values.high.shape))
    outputs = double_double.row_sums(double_double.times(values, head))
    r = double_double.plus(outputs, double_double.exactly(-y))
    return PreciseResidual(r.high + r.low, np.zeros_like(y))


def precise_features(network: ShallowNetwork, X: Array) -> BallMatrix:
    """Phi = phi(X W^T) of the stored doubles, n x k; call it within `working_precision`."""
    Z = ball_matrix(X) * ball_matrix(network.W).transpose()
    return _apply(Z, _value_function(network))


def precise_jacobian_gram(network: ShallowNetwork, X: Array, *, trained: Trained) -> BallMatrix:
    """K = J J^T as balls, for matrices too ill-conditioned for doubles. Memory about 400 n^2
    bytes.
    """
    with working_precision():
        Z = ball_matrix(X) * ball_matrix(network.W).transpose()
        S = _apply(Z, _slope_function(network)) * _diagonal(network.v)
        K = _hadamard_gram(S, ball_matrix(X))
        if trained == "vW":
            Q = _apply(Z, _value_function(network))
            K = K + Q * Q.transpose()
        return K


def precise_cell_gram(X: Array, slopes: Array) -> BallMatrix:
    """(S S^T) o (X X^T) as balls, for exact slopes S (n x |T|) of a ReLU cell."""
    with working_precision():
        return _hadamard_gram(ball_matrix(slopes), ball_matrix(X))


def _hadamard_gram(S: BallMatrix, X: BallMatrix) -> BallMatrix:
    from flint import arb_mat

    n = X.nrows()
    left, right = (S * S.transpose()).entries(), (X * X.transpose()).entries()
    return arb_mat(n, n, [a * b for a, b in zip(left, right, strict=True)])


def _diagonal(v: Array) -> BallMatrix:
    return ball_matrix(np.diag(v))


def _apply(Z: BallMatrix, function: Callable[[Ball], Ball]) -> BallMatrix:
    from flint import arb_mat

    return arb_mat(Z.nrows(), Z.ncols(), [function(z) for z in Z.entries()])


def _value_function(network: ShallowNetwork) -> Callable[[Ball], Ball]:
    return value_of(network.activation)


def value_of(activation: Activation) -> Callable[[Ball], Ball]:
    """Phi on balls, for an activation of the certificate format."""
    from flint import arb

    zero, b = arb(0), arb(1.0 if activation.parameter is None else activation.parameter)
    functions: dict[str, Callable[[Ball], Ball]] = {
        "softplus": lambda z: z.max(zero) + (-abs(b * z)).exp().log1p() / b,
        "sigmoid": lambda z: _logistic(b * z),
        "tanh": lambda z: z.tanh(),
        "erf": lambda z: z.erf(),
        "quadratic": lambda z: z * z,
        "linear": lambda z: z,
        "abs": abs,
        "relu": lambda z: z.max(zero),
        "leaky_relu": lambda z: z.max(zero) + b * z.min(zero),
    }
    return functions[activation.certificate_name or ""]


def _slope_function(network: ShallowNetwork) -> Callable[[Ball], Ball]:
    return slope_of(network.activation)


def slope_of(activation: Activation) -> Callable[[Ball], Ball]:
    """Phi' on balls, for a smooth activation of the certificate format."""
    from flint import arb

    b = arb(1.0 if activation.parameter is None else activation.parameter)
    two_over_root_pi = 2 / arb.pi().sqrt()
    functions: dict[str, Callable[[Ball], Ball]] = {
        "softplus": lambda z: _logistic(b * z),
        "sigmoid": lambda z: b * _logistic(b * z) * _logistic(-b * z),
        "tanh": lambda z: z.sech() ** 2,
        "erf": lambda z: two_over_root_pi * (-z * z).exp(),
        "quadratic": lambda z: 2 * z,
        "linear": lambda z: arb(1),
    }
    return functions[activation.certificate_name or ""]


def _logistic(z: Ball) -> Ball:
    if z.mid() >= 0:
        return 1 / (1 + (-z).exp())
    power = z.exp()
    return power / (1 + power)
