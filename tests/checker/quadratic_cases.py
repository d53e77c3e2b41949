"""Honest certificates of quadratic networks for the tests, made with numpy and scipy by the
plainest means.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import minimize
from tests.checker.cases import inverse_factor, svec_matrix
from tests.oracles import gmc_builder as gmc
from tests.oracles.gmc_builder import claim

Pair = tuple[dict[str, Any], dict[str, Any]]


@dataclass(frozen=True)
class Quadratic:
    """A stored quadratic network on its samples."""

    X: np.ndarray
    y: np.ndarray
    W: np.ndarray
    v: np.ndarray

    @property
    def M(self) -> np.ndarray:
        return (self.W.T * self.v) @ self.W

    def residual(self) -> np.ndarray:
        return np.einsum("ia,ab,ib->i", self.X, self.M, self.X, optimize=True) - self.y

    def loss(self) -> float:
        return 0.5 * float(np.sum(self.residual() ** 2))

    def weighted(self, weights: np.ndarray) -> np.ndarray:
        """sum_i weights_i x_i x_i^T."""
        return (self.X.T * weights) @ self.X

    def trained(self, decay: float = 0.0) -> Quadratic:
        """L-BFGS on W for L + (decay/2)|W|^2."""

        def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
            here = replace(self, W=flat.reshape(self.W.shape))
            gradient = (
                2 * self.v[:, None] * (here.W @ here.weighted(here.residual())) + decay * here.W
            )
            return here.loss() + decay / 2 * float(np.sum(here.W**2)), gradient.ravel()

        options = {"maxiter": 20000, "maxfun": 40000, "maxcor": 30, "ftol": 0.0, "gtol": 1e-13}
        found = minimize(objective, self.W.ravel(), jac=True, method="L-BFGS-B", options=options)
        return replace(self, W=found.x.reshape(self.W.shape))


def random_network(
    n: int, d: int, k: int, *, heads: str = "nonnegative", seed: int = 0
) -> Quadratic:
    """Random labels; heads all ones, all minus ones, or alternating ("any")."""
    rng = np.random.default_rng(seed)
    v = {
        "nonnegative": np.ones(k),
        "nonpositive": -np.ones(k),
        "any": np.where(np.arange(k) % 2, -1.0, 1.0),
    }[heads]
    return Quadratic(
        rng.standard_normal((n, d)),
        rng.standard_normal(n),
        rng.standard_normal((k, d)) / np.sqrt(d),
        v,
    )


def loss_bound(net: Quadratic) -> Fraction:
    """An upper bound of the loss with room for rounding."""
    return Fraction(net.loss() * (1 + 1e-9)) + Fraction(1, 10**20)


def gap_positive(
    net: Quadratic, *, room: float = 1e-6, rows: np.ndarray | None = None, **changes: Any
) -> Pair:
    """Theorem P: the residual, moved along the all-ones vector until Z is strictly definite on the
    span of the rows.
    """
    sign = 1.0 if min(net.v) >= 0 else -1.0
    basis = np.eye(net.X.shape[1]) if rows is None else net.X[rows]
    lam = sign * net.residual()
    form, ones = (
        basis @ net.weighted(lam) @ basis.T,
        basis @ net.weighted(np.ones(len(lam))) @ basis.T,
    )
    L = inverse_factor(ones)
    least = float(np.linalg.eigvalsh(L @ form @ L.T)[0])
    lam = sign * (lam + max(0.0, -least) * (1 + 1e-9) + room)
    Z = sign * basis @ net.weighted(lam) @ basis.T
    gap = net.loss() + float(lam @ net.y) + float(lam @ lam) / 2
    fields: dict[str, Any] = {
        "method": "positive",
        "heads": "nonnegative" if sign > 0 else "nonpositive",
        "gap": Fraction(max(gap, 0.0) * (1 + 1e-9)) + Fraction(1, 10**12) * (1 + int(net.loss())),
        "loss_upper": loss_bound(net),
    }
    tensors: dict[str, Any] = {"lambda": lam, "C": inverse_factor(Z)}
    if rows is not None:
        fields["rank"] = len(rows)
        tensors["rows"] = np.asarray(rows, np.int64)
    return claim("optimality-gap", **(fields | changes)), tensors


def gap_span(net: Quadratic, *, slack: float = 1.01, **changes: Any) -> Pair:
    """Theorem S."""
    A = svec_matrix(net.X)[0]
    G, right = A.T @ A, A.T @ net.residual()
    mu = float(np.linalg.eigvalsh(G)[0]) / slack
    z = np.linalg.solve(G, right)
    E = float(np.linalg.norm(A @ z) + np.linalg.norm(right - G @ z) / np.sqrt(mu))
    fields = {
        "method": "span",
        "mu": mu,
        "gap": Fraction(E * E / 2 * 1.001) + Fraction(1, 10**18),
        "loss_upper": loss_bound(net),
    }
    return claim("optimality-gap", **(fields | changes)), {
        "C": inverse_factor(G - mu * np.eye(len(G))),
        "z": z,
    }


def gap_decay(
    net: Quadratic,
    decay: float,
    *,
    heads: str,
    v_max: float = 1.0,
    room: float = 1e-7,
    **changes: Any,
) -> Pair:
    """Theorem D: the residual, shrunk until the claimed sides hold strictly."""
    c, r = decay / (2 * v_max), net.residual()
    eigenvalues = np.linalg.eigvalsh(net.weighted(r))
    worst = {
        "nonnegative": -eigenvalues[0],
        "nonpositive": eigenvalues[-1],
        "any": max(-eigenvalues[0], eigenvalues[-1]),
    }[heads]
    u = r * min(1.0, c / worst if worst > 0 else 1.0) * (1 - room)
    Z, unit = net.weighted(u), c * np.eye(net.X.shape[1])
    gap = net.loss() + decay / 2 * float(np.sum(net.W**2)) + float(u @ net.y) + float(u @ u) / 2
    tensors: dict[str, Any] = {"u": u}
    if heads != "nonpositive":
        tensors["C_lower"] = inverse_factor(unit + Z)
    if heads != "nonnegative":
        tensors["C_upper"] = inverse_factor(unit - Z)
    fields = {
        "method": "decay",
        "heads": heads,
        "decay": decay,
        "v_max": v_max,
        "loss_upper": loss_bound(net),
    }
    fields["gap"] = Fraction(max(gap, 0.0) * (1 + 1e-9)) + Fraction(1, 10**12) * (
        1 + int(net.loss())
    )
    return claim("optimality-gap", **(fields | changes)), tensors


def identifies_claim(
    net: Quadratic, *, stable: bool = False, slack: float = 1.01, **changes: Any
) -> Pair:
    """The rank claim, with the least eigenvalue if `stable`."""
    if not stable:
        return claim("identifies", loss_upper=loss_bound(net), **changes), {}
    A = svec_matrix(net.X)[0]
    G = A.T @ A
    mu = float(np.linalg.eigvalsh(G)[0]) / slack
    fields = {"mu": mu, "loss_upper": loss_bound(net)} | changes
    return claim("identifies", **fields), {"C": inverse_factor(G - mu * np.eye(len(G)))}


def ambiguous_claim(
    net: Quadratic, kernel: np.ndarray | None = None, *, slack: float = 1.01, **changes: Any
) -> Pair:
    """The second network exists; `kernel` is the integer matrix that vanishes at all samples."""
    d = net.X.shape[1]
    sigma2 = float(np.linalg.eigvalsh(net.M)[0]) / slack
    fields = {
        "sigma2": sigma2,
        "difference": Fraction(2 * (d + 2), d + 1) * Fraction(sigma2) ** 2,
        "loss_upper": loss_bound(net),
    }
    tensors: dict[str, Any] = {"C": inverse_factor(net.M - sigma2 * np.eye(d))}
    if kernel is not None:
        tensors["M"] = np.asarray(kernel, np.int64)
    return claim("ambiguous", **(fields | changes)), tensors


def barrier_network(
    n: int, d: int, k: int, *, noise: float = 0.1, distance: float = 0.02, seed: int = 0
) -> Quadratic:
    """Labels of a planted positive network with noise, weights a little off the planted ones."""
    rng = np.random.default_rng(seed)
    X, v = rng.standard_normal((n, d)), rng.uniform(0.5, 1.5, k)
    W = np.linalg.qr(rng.standard_normal((max(k, d), d)))[0][:k] * 1.5
    planted = Quadratic(X, np.zeros(n), W, v)
    y = planted.residual() + noise * rng.standard_normal(n)
    return Quadratic(X, y, W + distance * rng.standard_normal(W.shape), v)


def barrier_claim(
    net: Quadratic, *, norm: str = "rows", slack: float = 1.001, **changes: Any
) -> Pair:
    """Every constant measured in floats, with a little room."""
    d, S = net.X.shape[1], svec_matrix(net.X)[0]
    F = S.T @ S
    N = len(F)
    spectrum = np.linalg.eigvalsh(F)
    phi = float(spectrum[0]) / slack
    Phi = float(np.max(np.sum(np.abs(F), axis=1)) if norm == "rows" else spectrum[-1]) * slack
    A_hat = np.zeros((d, d))
    scale = np.array([1.0 if a == b else np.sqrt(0.5) for a in range(d) for b in range(a, d)])
    A_hat[np.triu_indices(d)] = np.linalg.lstsq(S, net.y, rcond=None)[0] * scale
    A_hat = A_hat + np.triu(A_hat, 1).T
    eigenvalues = np.linalg.eigvalsh(A_hat)
    a_lo, a_hi = float(eigenvalues[0]) - 1e-6, float(eigenvalues[-1]) + 1e-6
    away = np.einsum("ia,ab,ib->i", net.X, net.M - A_hat, net.X)
    E0 = float(away @ away) / 2 * slack + 1e-12
    tau = np.sqrt(2 * E0 / phi)
    Lip = max(net.v) * (4 * Phi * (a_hi + tau) + 2 * np.sqrt(2 * Phi * E0))
    eta = float(1 / (Lip * slack))
    rate = float(1 - 4 * eta * phi * min(net.v) * (a_lo - tau)) + 1e-12
    fields = {
        "phi": phi,
        "Phi": Phi,
        "norm": norm,
        "a_lo": a_lo,
        "a_hi": a_hi,
        "E0": E0,
        "eta": eta,
        "rate": rate,
    }
    tensors = {
        "A_hat": A_hat,
        "C_phi": inverse_factor(F - phi * np.eye(N)),
        "C_lo": inverse_factor(A_hat - (a_lo - 1e-12) * np.eye(d)),
        "C_hi": inverse_factor((a_hi + 1e-12) * np.eye(d) - A_hat),
    }
    if norm == "factor":
        tensors["C_Phi"] = inverse_factor(Phi * np.eye(N) - F)
    return claim("below-barrier", **(fields | {"loss_upper": loss_bound(net)} | changes)), tensors


def build(net: Quadratic, claims: list[Pair], **options: Any) -> bytes:
    """A certificate file for a quadratic network."""
    chosen: dict[str, Any] = {"activation": "quadratic"} | options
    return gmc.build(net.X, net.y, net.W, net.v, claims, **chosen)


def one_neuron(w: float, y: float, v: float = 1.0) -> Quadratic:
    """n = d = k = 1, x = 1."""
    return Quadratic(np.ones((1, 1)), np.array([y]), np.array([[w]]), np.array([v]))
