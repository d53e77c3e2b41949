"""Small honest certificates for the tests, made with numpy by the plainest means: Gauss-Newton
steps, Cholesky witnesses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from tests.corpus.small_producer import inverse_factor
from tests.corpus.small_producer import svec_rows as svec_matrix
from tests.oracles import gmc_builder as gmc


def erf(z: np.ndarray) -> np.ndarray:
    from scipy.special import erf as scipy_erf

    return scipy_erf(z)


def sigmoid(z: np.ndarray) -> np.ndarray:
    from scipy.special import expit

    return expit(z)


def jet(name: str, z: np.ndarray, b: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """phi, phi', phi'' in floating point."""
    if name == "quadratic":
        return z * z, 2 * z, np.full_like(z, 2.0)
    if name == "tanh":
        t = np.tanh(z)
        return t, 1 - t * t, -2 * t * (1 - t * t)
    if name == "erf":
        slope = 2 / np.sqrt(np.pi) * np.exp(-z * z)
        return erf(z), slope, -2 * z * slope
    s = sigmoid(b * z)
    if name == "sigmoid":
        return s, b * s * (1 - s), b * b * s * (1 - s) * (1 - 2 * s)
    return np.logaddexp(0, b * z) / b, s, b * s * (1 - s)


SUPREMA = {
    "softplus": (1.0, 0.25, 0.09622505),
    "sigmoid": (0.25, 0.09622505, 0.125),
    "tanh": (1.0, 0.76980036, 2.0),
    "erf": (1.12837917, 0.9678829, 2.25675834),
    "quadratic": (np.inf, 2.0, 0.0),
}


@dataclass(frozen=True)
class Smooth:
    """A trained smooth network and how it was trained."""

    X: np.ndarray
    y: np.ndarray
    W: np.ndarray
    v: np.ndarray
    activation: str
    trained: str = "W"
    slope: float = 1.0

    def values(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return jet(self.activation, self.X @ self.W.T, self.slope)

    def residual(self) -> np.ndarray:
        return self.values()[0] @ self.v - self.y

    def gram(self) -> np.ndarray:
        Q, P, _ = self.values()
        K = ((P * self.v) @ (P * self.v).T) * (self.X @ self.X.T)
        return K + Q @ Q.T if self.trained == "vW" else K

    def gauss_newton_step(self) -> Smooth:
        Q, P, _ = self.values()
        alpha = np.linalg.solve(self.gram(), self.residual())
        W = self.W - (P * self.v * alpha[:, None]).T @ self.X
        return replace(self, W=W, v=self.v - Q.T @ alpha if self.trained == "vW" else self.v)


def trained_network(
    n: int,
    d: int,
    k: int,
    *,
    activation: str = "softplus",
    trained: str = "W",
    seed: int = 0,
    slope: float = 1.0,
    noise: float = 0.02,
) -> Smooth:
    """Labels near the outputs of the first weights, then Gauss-Newton to the rounding floor."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    W, v = rng.standard_normal((k, d)), rng.choice([-1.0, 1.0], k)
    first = Smooth(X, np.zeros(n), W, v, activation, trained, slope)
    network = replace(first, y=first.residual() + noise * rng.standard_normal(n))
    for _ in range(12):
        network = network.gauss_newton_step()
    return network


def local_suprema(net: Smooth, order: int, rho: float) -> np.ndarray:
    power = {"softplus": order - 1, "sigmoid": order}.get(net.activation, 0)
    cap = SUPREMA[net.activation][order - 1] * net.slope**power
    slope = SUPREMA[net.activation][order] * net.slope ** (power + 1)
    return np.minimum(
        cap, np.abs(net.values()[order]) + slope * rho * np.linalg.norm(net.X, axis=1)[:, None]
    )


def curvature(
    net: Smooth, *, rho: float, method: str = "rows", t: float = 0.0, slack: float = 1.001
) -> tuple[dict, dict, float, float]:
    """Fields and tensors shared by interpolation and descent, with the floats a and Lip that follow
    from them.
    """
    K = net.gram()
    a2 = float(np.linalg.eigvalsh(K)[0]) / slack
    head = np.abs(net.v) + (rho if net.trained == "vW" else 0.0)
    q = np.max(head * local_suprema(net, 2, rho), axis=1) ** 2
    if method == "rows":
        A = (net.X.T * (q * np.sum(net.X**2, axis=1))) @ net.X
    else:
        S, u = svec_matrix(net.X)
        A = (S.T * q) @ S - t * (np.outer(u, u) - np.eye(len(u)))
    kappa = float(np.linalg.eigvalsh(A)[-1]) * slack
    fields: dict[str, Any] = {
        "trained": net.trained,
        "a2": a2,
        "rho": rho,
        "quartic": {"method": method, "kappa": kappa} | ({"t": t} if method == "svec" else {}),
    }
    tensors = {
        "C_a": inverse_factor(K - a2 * np.eye(len(K))),
        "C_kappa": inverse_factor(kappa * np.eye(len(A)) - A),
    }
    Lip = np.sqrt(kappa)
    if net.trained == "vW":
        M = (net.X.T * np.max(local_suprema(net, 1, rho), axis=1) ** 2) @ net.X
        beta2 = float(np.linalg.eigvalsh(M)[-1]) * slack
        fields["beta2"] = beta2
        tensors["C_beta"] = inverse_factor(beta2 * np.eye(len(M)) - M)
        Lip = (np.sqrt(kappa) + np.sqrt(kappa + 4 * beta2)) / 2
    return fields, tensors, float(np.sqrt(a2)), float(Lip)


def loss_bound(net: Smooth) -> Fraction:
    """An upper bound of the loss with ample room."""
    r = net.residual()
    return Fraction(float(r @ r)) + Fraction(1, 10**20)


def interpolation_claim(
    net: Smooth, *, rho: float = 1e-3, method: str = "rows", t: float = 0.0, lower: bool = False
) -> tuple[dict, dict]:
    """An honest interpolation claim with its tensors."""
    fields, tensors, a, Lip = curvature(net, rho=rho, method=method, t=t)
    z = np.linalg.solve(net.gram(), net.residual())
    e = float(np.sqrt(z @ net.gram() @ z)) * 1.01 + 3e-14 * np.sqrt(len(z)) / a
    radius = 2 * e / (1 + np.sqrt(1 - 2 * Lip * e / a))
    fields |= {"R": float(radius * 1.001), "loss_upper": loss_bound(net)}
    if lower:
        fields["R_lo"] = float(abs(net.residual() @ z) / np.sqrt(z @ net.gram() @ z) * 0.9)
    return gmc.claim("interpolation", **fields), tensors | {"z": z}


def descent_claim(
    net: Smooth, *, rho: float = 1e-3, norm: str = "rows", method: str = "rows", t: float = 0.0
) -> tuple[dict, dict]:
    """An honest descent claim with its tensors."""
    fields, tensors, a, Lip = curvature(net, rho=rho, method=method, t=t)
    K = net.gram()
    g = float(np.linalg.norm(net.residual())) * 1.000001 + 1e-13
    b2 = (
        float(np.max(np.sum(np.abs(K), axis=1)) if norm == "rows" else np.linalg.eigvalsh(K)[-1])
        * 1.001
    )
    alpha2 = a * a - 2 * Lip * g
    S = 2 * g / (a + np.sqrt(alpha2))
    eta = float(0.999 / (np.sqrt(b2) + Lip * S) ** 2)
    rate = 1 - Fraction(eta) * Fraction(float(alpha2)) * Fraction(999, 1000)
    fields |= {
        "b2": b2,
        "norm": norm,
        "eta": eta,
        "rate": rate,
        "path": float(S * 1.001),
        "loss_upper": loss_bound(net),
    }
    if norm == "factor":
        tensors["C_b"] = inverse_factor(b2 * np.eye(len(K)) - K)
    return gmc.claim("descent", **fields), tensors


def build(net: Smooth, claims: list[tuple[dict, dict]], **options: Any) -> bytes:
    """A certificate file for a smooth network."""
    parameter = None if net.slope == 1 else net.slope
    return gmc.build(
        net.X,
        net.y,
        net.W,
        net.v,
        claims,
        **({"activation": net.activation, "parameter": parameter} | options),
    )


@dataclass(frozen=True)
class Relu:
    """A ReLU network with its claim's witness: W_hat interpolates to rounding, T are the neurons
    that may move.
    """

    X: np.ndarray
    y: np.ndarray
    W: np.ndarray
    v: np.ndarray
    W_hat: np.ndarray
    T: np.ndarray

    def residual(self, W: np.ndarray) -> np.ndarray:
        return np.maximum(self.X @ W.T, 0) @ self.v - self.y

    def gram(self, kept: np.ndarray) -> np.ndarray:
        active = (self.X[kept] @ self.W_hat[self.T].T > 0) * self.v[self.T]
        return (active @ active.T) * (self.X[kept] @ self.X[kept].T)


def relu_network(n: int, d: int, k: int, *, seed: int = 0) -> Relu:
    """Labels are rounded outputs of random weights, so that the witness W_hat is those weights and
    W is a little off.
    """
    rng = np.random.default_rng(seed)
    X, v = rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], k)
    W_hat = rng.standard_normal((k, d))
    y = np.maximum(X @ W_hat.T, 0) @ v
    return Relu(X, y, W_hat + 1e-3 * rng.standard_normal((k, d)), v, W_hat, np.arange(k))


def relu_claim(
    net: Relu, *, dropped: Sequence[tuple[int, int]] = (), **changes: Any
) -> tuple[dict, dict]:
    """An honest relu-interpolation claim with its tensors."""
    kept = np.array([i for i in range(len(net.y)) if i not in {j for j, _ in dropped}])
    G = net.gram(kept)
    mu = float(np.linalg.eigvalsh(G)[0]) * 0.99
    reach = np.linalg.norm(net.residual(net.W_hat)[kept]) + 1e-13
    R = float((np.linalg.norm(net.W_hat - net.W) + reach / np.sqrt(mu)) * 1.001)
    loss = float(np.sum(net.residual(net.W) ** 2)) + 1e-20
    tensors = {
        "W_hat": net.W_hat,
        "T": np.asarray(net.T, np.int64),
        "dropped": np.array(dropped, np.int64).reshape(-1, 2),
        "C": inverse_factor(G - mu * np.eye(len(G))),
    }
    return gmc.claim(
        "relu-interpolation", **({"mu": mu, "R": R, "loss_upper": loss} | changes)
    ), tensors


def build_relu(net: Relu, claims: list[tuple[dict, dict]], **options: Any) -> bytes:
    """A certificate file for a ReLU network."""
    chosen: dict[str, Any] = {"activation": "relu"} | options
    return gmc.build(net.X, net.y, net.W, net.v, claims, **chosen)


def floor_claim(
    groups: Sequence[tuple[int, Sequence[int]]],
    *,
    floor: Fraction,
    loss_upper: Fraction,
    heads: str = "any",
    gap: Fraction | None = None,
) -> tuple[dict, dict]:
    """A loss-floor claim; `groups` are pairs (code, samples)."""
    gap = max(loss_upper - floor, Fraction(0)) if gap is None else gap
    tensors = {
        "members": np.array([i for _, group in groups for i in group], np.int64),
        "sizes": np.array([len(group) for _, group in groups], np.int64),
        "kinds": np.array([code for code, _ in groups], np.int64),
    }
    return gmc.claim(
        "loss-floor", heads=heads, floor=floor, gap=gap, loss_upper=loss_upper
    ), tensors
