"""Small honest gram-positive claims, made with numpy and adaptive quadrature by the plainest
means.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from tests.checker.cases import inverse_factor, jet
from tests.oracles import gmc_builder as gmc

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(120)
WEIGHTS = WEIGHTS / np.sqrt(2 * np.pi)


def hermite(z: np.ndarray, top: int) -> np.ndarray:
    """Orthonormal Hermite polynomials, one row per order."""
    rows = [np.ones_like(z), z]
    for r in range(1, top):
        rows.append((z * rows[-1] - np.sqrt(r) * rows[-2]) / np.sqrt(r + 1))
    return np.array(rows[: top + 1])


def coefficients(
    name: str, sizes: np.ndarray, orders: list[int], *, derivative: int, b: float = 1.0
) -> np.ndarray:
    """E[phi^(derivative)(s g) h_r(g)] by Gauss-Hermite quadrature, another rule than the
    checker's.
    """
    values = jet(name, sizes[:, None] * NODES, b)[derivative]
    return values @ (hermite(NODES, max(orders)) * WEIGHTS)[orders].T


def partial_sum(
    name: str, X: np.ndarray, orders: list[int], *, features: bool, b: float = 1.0
) -> np.ndarray:
    s = np.linalg.norm(X, axis=1)
    K = X @ X.T
    rho = K / np.outer(s, s)
    c = coefficients(name, s, orders, derivative=0 if features else 1, b=b)
    total = sum(np.outer(c[:, i], c[:, i]) * rho**r for i, r in enumerate(orders))
    return total if features else total * K


def relu_matrix(X: np.ndarray, *, features: bool) -> np.ndarray:
    K, s = X @ X.T, np.linalg.norm(X, axis=1)
    theta = np.arccos(np.clip(K / np.outer(s, s), -1, 1))
    np.fill_diagonal(theta, 0.0)
    wedge = (np.pi - theta) * K
    return (wedge + np.outer(s, s) * np.sin(theta) if features else wedge) / (2 * np.pi)


def claim(
    name: str,
    X: np.ndarray,
    kernel: str = "weights",
    *,
    top: int = 12,
    slack: float = 0.99,
    **changes: Any,
) -> tuple[dict, dict]:
    """An honest claim with its tensors."""
    features, n = kernel == "features", len(X)
    fields: dict[str, Any] = {"kernel": kernel, "loss_upper": Fraction(0)}
    tensors: dict[str, Any] = {}
    if name == "relu":
        A = relu_matrix(X, features=features)
        fields["method"] = "closed"
    else:
        orders = list(range(top + 1))
        A = partial_sum(name, X, orders, features=features, b=float(changes.pop("slope", 1.0)))
        fields |= {"method": "series", "step": Fraction(1, 16), "nodes": 240}
        tensors["Q"] = np.array(orders, np.int64)
    lam = float(np.linalg.eigvalsh(A)[0]) * slack
    tensors["C"] = inverse_factor(A - lam * np.eye(n))
    return gmc.claim("gram-positive", **(fields | {"lam": lam} | changes)), tensors


def build(name: str, X: np.ndarray, claims: list[tuple[dict, dict]], **options: Any) -> bytes:
    """A file whose network is one zero neuron and whose labels are zero."""
    n, d = X.shape
    return gmc.build(
        X, np.zeros(n), np.zeros((1, d)), np.zeros(1), claims, **({"activation": name} | options)
    )


def resnet_claim(name: str, X: np.ndarray, **changes: Any) -> tuple[dict, dict, float]:
    """Depth 4, c_res = 1/2, c_sigma = 3/2; the bound from scalar recursions in floats."""
    orders, H, c, t = list(range(1, 13)), 4, 1.5, 0.125
    A = c * partial_sum(name, X, orders, features=True)
    kappa = float(np.linalg.eigvalsh(A)[0]) * 0.99
    k = np.sum(X**2, axis=1)
    values = jet(name, np.sqrt(k)[:, None] * NODES)[0]
    k, b = c * (values**2 @ WEIGHTS), np.sqrt(c) * (values @ WEIGHTS)
    for _ in range(2, H):
        values = jet(name, np.sqrt(k)[:, None] * NODES)[0]
        mu = values @ WEIGHTS
        k, b = k + 2 * t * b * mu + t * t * (values**2 @ WEIGHTS), b + t * mu
    slope = float((jet(name, np.sqrt(k)[:, None] * NODES)[1] ** 2 @ WEIGHTS).min())
    fields: dict[str, Any] = {
        "kernel": "resnet",
        "method": "series",
        "step": Fraction(1, 16),
        "nodes": 240,
        "depth": H,
    }
    fields |= {
        "c_res": Fraction(1, 2),
        "c_sigma": Fraction(3, 2),
        "kappa": kappa,
        "lam": t * t * kappa * slope * 0.999,
    }
    C = np.linalg.inv(np.linalg.cholesky(A - kappa * np.eye(len(A))))
    complete = gmc.claim("gram-positive", **({"loss_upper": Fraction(0)} | fields | changes))
    return complete, {"Q": np.array(orders, np.int64), "C": C}, t * t * kappa * slope
