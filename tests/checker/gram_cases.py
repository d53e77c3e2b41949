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


def _pair_moments(name: str, P: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """E[phi phi], E[phi' phi'] and E phi for N(0, P), pair by pair on a square grid."""
    z, w = np.polynomial.hermite_e.hermegauss(60)
    weights = np.outer(w, w) / (2 * np.pi)
    F, slope = np.zeros_like(P), np.zeros_like(P)
    for a in range(len(P)):
        for b in range(len(P)):
            size, other = np.sqrt(P[a, a]), np.sqrt(P[b, b])
            rho = 1.0 if a == b else P[a, b] / (size * other)
            u = size * z[:, None] + 0 * z
            v = other * (rho * z[:, None] + np.sqrt(max(1 - rho * rho, 0.0)) * z)
            F[a, b] = (weights * jet(name, u)[0] * jet(name, v)[0]).sum()
            slope[a, b] = (weights * jet(name, u)[1] * jet(name, v)[1]).sum()
    mean = np.array([(w / np.sqrt(2 * np.pi)) @ jet(name, np.sqrt(k) * z)[0] for k in np.diag(P)])
    return F, slope, mean


def deep_matrix(
    name: str,
    X: np.ndarray,
    layers: list[tuple[float, bool]],
    blocks: str,
    windows: np.ndarray | None = None,
) -> np.ndarray:
    """GP-deep with a dense operator for the windows: T(S) = sum over o of E_o S E_o^T."""
    places = np.array([[0]]) if windows is None else windows
    n, p = len(X), len(places)
    rows = X.reshape(n, -1, p).transpose(0, 2, 1).reshape(n * p, -1)
    shifts = []
    for o in range(places.shape[1]):
        E = np.zeros((p, p))
        for pixel, place in enumerate(places[:, o]):
            if place >= 0:
                E[pixel, place] = 1.0
        shifts.append(np.kron(np.eye(n), E))
    S, b, kept = rows @ rows.T, np.zeros(n * p), []
    for square, residual in layers:
        P = sum(E @ S @ E.T for E in shifts)
        F, slope, mean = _pair_moments(name, P)
        kept.append((P, slope))
        t = np.sqrt(square)
        cross = t * (np.outer(b, mean) + np.outer(mean, b))
        S = square * F + (S + cross if residual else 0.0)
        b = t * mean + (b if residual else 0.0)
    B = np.kron(np.ones((n, n)), np.eye(p))
    add = np.kron(np.eye(n), np.ones((1, p)))
    result = add @ (B * S) @ add.T if blocks == "all" else np.zeros((n, n))
    for (square, residual), (P, slope) in zip(reversed(layers), reversed(kept), strict=True):
        pulled = square * B * slope
        result = result + add @ (pulled * P) @ add.T
        if blocks == "last":
            break
        B = sum(E.T @ pulled @ E for E in shifts) + (B if residual else 0.0)
    return result


def deep_claim(
    name: str,
    X: np.ndarray,
    layers: list[tuple[float, bool]],
    blocks: str = "last",
    *,
    windows: np.ndarray | None = None,
    slack: float = 0.99,
    **changes: Any,
) -> tuple[dict, dict]:
    """An honest claim about a deep network."""
    K = deep_matrix(name, X, layers, blocks, windows)
    lam = float(np.linalg.eigvalsh(K)[0]) * slack
    fields: dict[str, Any] = {
        "kernel": "layers",
        "method": "series",
        "step": Fraction(1, 16),
        "nodes": 240,
        "blocks": blocks,
        "terms": 24,
        "loss_upper": Fraction(0),
        "lam": lam,
    }
    fields["layers"] = [{"residual": skip, "scale2": Fraction(square)} for square, skip in layers]
    tensors: dict[str, Any] = {"C": inverse_factor(K - lam * np.eye(len(K)))}
    if windows is not None:
        fields["pixels"] = len(windows)
        tensors["patches"] = np.array(windows, np.int64)
    return gmc.claim("gram-positive", **(fields | changes)), tensors
