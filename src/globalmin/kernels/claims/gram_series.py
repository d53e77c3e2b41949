"""Limiting Gram matrices for the claim gram-positive: Hermite coefficients by the trapezoid rule,
in floats and in balls.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.activations.trapezoid import hermite, quadrature
from globalmin.linalg.positive_definite import BallMatrix, ball_matrix, working_precision
from globalmin.shallow.claims.high_precision import slope_of, value_of

if TYPE_CHECKING:
    from globalmin.activations import Activation


# the rule's error is about e^-60; e^-150 where the matrix is so ill-conditioned that it matters
NATS = 60.0, 150.0


@dataclass(frozen=True)
class HermiteTable:
    """c_r(i) = E[phi'(s_i g) h_r(g)] for the distinct row norms s (floats), and the quadrature that
    the claim will name.
    """

    activation: Activation
    sizes: Array = field(repr=False)
    place: NDArray[np.int64] = field(repr=False)
    step: float
    nodes: int
    coefficients: Array = field(repr=False)
    means: Array = field(repr=False)

    @classmethod
    def measure(cls, X: Array, phi: Activation, top: int, nats: float = NATS[0]) -> HermiteTable:
        """Coefficients up to the order `top`, by a rule with an error of about e^-nats."""
        sizes, place = np.unique(np.linalg.norm(X, axis=1), return_inverse=True)
        step, nodes = quadrature(phi, float(sizes.max()), top, nats)
        z = np.asarray(step * np.arange(-nodes, nodes + 1), dtype=np.float64)
        weights = step * np.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)
        arguments = sizes[:, None] * z
        coefficients = np.asarray(phi.derivative(arguments)) @ (hermite(z, top) * weights).T
        return cls(
            phi,
            sizes,
            place.astype(np.int64),
            step,
            nodes,
            coefficients,
            np.asarray(phi(arguments)) @ weights,
        )

    def of_features(self) -> Array:
        """E[phi(s_i g) h_r(g)]: the mean for r = 0, then (s/sqrt r) E[phi' h_(r-1)]."""
        r = np.arange(1, self.coefficients.shape[1])
        rest = self.sizes[:, None] * self.coefficients[:, :-1] / np.sqrt(r)
        return np.hstack([self.means[:, None], rest])

    def useful_orders(self, *, features: bool, first: int) -> tuple[int, ...]:
        """Orders whose coefficients are not zero to rounding (odd or even ones vanish for tanh and
        erf).
        """
        table = self.of_features() if features else self.coefficients
        sizes = np.abs(table).max(axis=0)
        return tuple(int(r) for r in np.flatnonzero(sizes > 1e-14 * sizes.max()) if r >= first)

    def least_last_slope(self, depth: int, c_res: float, c_sigma: float) -> float:
        """Estimate of min_i E[phi'(sqrt(K_ii) g)^2] at the last layer of the infinitely wide
        residual network.
        """
        z = self.step * np.arange(-self.nodes, self.nodes + 1)
        weights = self.step * np.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)
        t, s, phi = c_res / depth, self.sizes, self.activation
        K, bias = (
            c_sigma * (np.asarray(phi(s[:, None] * z)) ** 2 @ weights),
            math.sqrt(c_sigma) * self.means,
        )
        for _ in range(2, depth):
            values = np.asarray(phi(np.sqrt(K)[:, None] * z))
            mean = values @ weights
            K, bias = K + 2.0 * t * bias * mean + t * t * (values**2 @ weights), bias + t * mean
        return float((np.asarray(phi.derivative(np.sqrt(K)[:, None] * z)) ** 2 @ weights).min())


def series_gram(X: Array, table: HermiteTable, orders: tuple[int, ...], *, features: bool) -> Array:
    """The sum over the orders of (c_r c_r^T) o rho^r, times K entry by entry unless `features`
    (floats).
    """
    K = X @ X.T
    s = table.sizes[table.place]
    rho = np.clip(K / np.outer(s, s), -1.0, 1.0)
    np.fill_diagonal(rho, 1.0)
    c = (table.of_features() if features else table.coefficients)[table.place]
    A, power, last = np.zeros_like(K), np.ones_like(K), 0
    for r in orders:
        power, last = power * rho ** (r - last), r
        A += np.outer(c[:, r], c[:, r]) * power
    return A if features else A * K


def relu_gram(X: Array, *, features: bool) -> Array:
    """K_ij (pi - theta_ij)/(2 pi), or (sqrt D_ij + (pi - theta_ij) K_ij)/(2 pi) with `features`
    (floats).
    """
    K = X @ X.T
    norms = np.linalg.norm(X, axis=1)
    U = X / norms[:, None]
    # 2 atan2(|u - v|, |u + v|) keeps small angles to full relative accuracy
    minus, plus = (
        np.linalg.norm(U[:, None, :] + sign * U[None, :, :], axis=2) for sign in (-1.0, 1.0)
    )
    theta = 2.0 * np.arctan2(minus, plus)
    H = (math.pi - theta) * K
    return ((H + np.outer(norms, norms) * np.sin(theta)) if features else H) / (2.0 * math.pi)


def precise_relu_gram(X: Array, *, features: bool) -> BallMatrix:
    """The same as balls."""
    from flint import arb, arb_mat

    with working_precision(2 * 192):
        K = (ball_matrix(X) * ball_matrix(X).transpose()).tolist()
        n, pi = len(K), arb.pi()
        rows = [[K[i][i] / 2 if i == j else arb(0) for j in range(n)] for i in range(n)]
        for i in range(n):
            for j in range(i):
                D = K[i][i] * K[j][j] - K[i][j] ** 2
                sine = D.sqrt() if D > 0 else arb(0)
                entry = (pi - arb.atan2(sine, K[i][j])) * K[i][j]
                rows[i][j] = rows[j][i] = ((entry + sine) if features else entry) / (2 * pi)
        return arb_mat(rows)


def precise_series_gram(
    X: Array, table: HermiteTable, orders: tuple[int, ...], *, features: bool
) -> BallMatrix:
    """The same as balls, by the same rule (its error is not added: these numbers only choose what
    is claimed).
    """
    from flint import arb, arb_mat

    with working_precision(2 * 192):
        K = (ball_matrix(X) * ball_matrix(X).transpose()).tolist()
        n = len(K)
        norms = [K[i][i].sqrt() for i in range(n)]
        c = _precise_coefficients(table, norms, orders, features)
        rows = [[arb(0)] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                rho = arb(1) if i == j else K[i][j] / (norms[i] * norms[j])
                value = sum(
                    (a * b * rho**r for a, b, r in zip(c[i], c[j], orders, strict=True)), arb(0)
                )
                rows[i][j] = rows[j][i] = value if features else value * K[i][j]
        return arb_mat(rows)


def _precise_coefficients(
    table: HermiteTable, norms: list, orders: tuple[int, ...], features: bool
) -> list:
    from flint import arb, arb_mat

    top = max(orders)
    z = [arb(table.step) * j for j in range(-table.nodes, table.nodes + 1)]
    weights = [arb(table.step) * (-x * x / 2).exp() / (2 * arb.pi()).sqrt() for x in z]
    rows = [weights, list(map(arb.__mul__, z, weights))]
    for r in range(1, top):
        rows.append(
            [
                (x * p - arb(r).sqrt() * q) / arb(r + 1).sqrt()
                for x, p, q in zip(z, rows[-1], rows[-2], strict=True)
            ]
        )
    slope, value = slope_of(table.activation), value_of(table.activation)
    wanted = (
        [rows[r - 1] if r else weights for r in orders] if features else [rows[r] for r in orders]
    )
    moments = (
        arb_mat([[slope(s * x) for x in z] for s in norms]) * arb_mat(wanted).transpose()
    ).tolist()
    if not features:
        return moments
    scaled = [
        [s * c / arb(r).sqrt() if r else c for c, r in zip(row, orders, strict=True)]
        for s, row in zip(norms, moments, strict=True)
    ]
    for s, row in zip(norms, scaled, strict=True):
        if orders[0] == 0:
            row[0] = sum((w * value(s * x) for w, x in zip(weights, z, strict=True)), arb(0))
    return scaled
