"""Small honest relu-descent claims, made with numpy by the plainest means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from tests.checker.cases import inverse_factor
from tests.oracles import gmc_builder as gmc


@dataclass(frozen=True)
class ReluFit:
    """A ReLU network with one output and its data."""

    X: np.ndarray
    y: np.ndarray
    W: np.ndarray
    v: np.ndarray

    def residual(self) -> np.ndarray:
        return np.maximum(self.X @ self.W.T, 0.0) @ self.v - self.y

    def step(self, eta: float, at_kink: float = 0.0) -> ReluFit:
        """One step of gradient descent with the given derivative at z = 0."""
        Z = self.X @ self.W.T
        slopes = np.where(Z > 0, 1.0, np.where(Z < 0, 0.0, at_kink)) * self.v
        return replace(self, W=self.W - eta * (slopes * self.residual()[:, None]).T @ self.X)

    def bracket(self, tau: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """s, PA and S of theorem RD."""
        K, Z, u = self.X @ self.X.T, self.X @ self.W.T, np.abs(self.v)
        near = np.linalg.norm(K, axis=1)[:, None] * u * tau >= -Z
        s = np.sqrt((K**2) @ near) * u * tau
        return s, near & (s >= -Z), s < Z

    def matrices(self, tau: float) -> tuple[np.ndarray, np.ndarray]:
        """H_mid and E."""
        K = self.X @ self.X.T
        _, possible, sure = self.bracket(tau)
        most, least = (
            (possible * self.v) @ (possible * self.v).T,
            (sure * self.v) @ (sure * self.v).T,
        )
        return K * (most + least) / 2, np.abs(K) * (most - least) / 2


def trained_relu(
    n: int, d: int, m: int, steps: int, *, seed: int = 0, head: float | None = None
) -> ReluFit:
    """Unit rows, normal labels, gradient descent on W; the head is +-1/sqrt(m) unless given."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    v = rng.choice([-1.0, 1.0], m) * (m**-0.5 if head is None else head)
    fit = ReluFit(X, rng.standard_normal(n), rng.standard_normal((m, d)), v)
    eta = 0.9 / np.linalg.eigvalsh(fit.matrices(0.0)[0])[-1]
    for _ in range(steps):
        fit = fit.step(eta)
    return fit


def weights_of(E: np.ndarray) -> np.ndarray:
    """A positive vector near the Perron vector of E, by a Neumann series."""
    e, power = np.ones(len(E)), np.ones(len(E))
    top = float(np.linalg.norm(E, 2)) * 1.01 + 1e-300
    for _ in range(300):
        power = E @ power / top
        e += power
    return e


def claim(
    fit: ReluFit, *, tau: float | None = None, norm: str = "factor", **changes: Any
) -> tuple[dict, dict]:
    """An honest claim with its tensors; tau is the first of a geometric grid at which the theorem
    applies.
    """
    g = float(np.linalg.norm(fit.residual())) * (1 + 1e-9) + 1e-15
    start = g / np.linalg.eigvalsh(fit.matrices(0.0)[0])[0] * 1.01
    taus = [start * 1.05**j for j in range(200)] if tau is None else [tau]
    for radius in taus:
        H, E = fit.matrices(radius)
        lam = float(np.linalg.eigvalsh(H)[0]) * 0.999
        e = weights_of(E)
        eps = float((E @ e / e).max()) * 1.001
        if g < (lam - eps) * radius:
            break
    Lam = (
        float(np.linalg.eigvalsh(H)[-1] if norm == "factor" else np.abs(H).sum(axis=1).max())
        * 1.001
    )
    eta = Fraction(float(1.99 / (lam + Lam)))
    fields = {
        "tau": radius,
        "lam": lam,
        "Lam": Lam,
        "eps": eps,
        "eta": eta,
        "norm": norm,
        "rate": max(1 - eta * (Fraction(lam) - Fraction(eps)), Fraction(0)),
        "path": float(np.sqrt(Lam + eps) * radius * 1.0001),
        "loss_upper": Fraction(g * g) + Fraction(1, 10**30),
    }
    n = len(fit.y)
    tensors = {"e": e, "C": inverse_factor(H - lam * np.eye(n))}
    if norm == "factor":
        tensors["C_Lam"] = inverse_factor(Lam * np.eye(n) - H)
    return gmc.claim("relu-descent", **(fields | changes)), tensors


def build(fit: ReluFit, claims: list[tuple[dict, dict]], **options: Any) -> bytes:
    """A certificate file."""
    return gmc.build(fit.X, fit.y, fit.W, fit.v, claims, **({"activation": "relu"} | options))


def one_neuron(w: float, y: float, **changes: Any) -> tuple[ReluFit, dict, dict]:
    """x = v = 1: K = 1, s = tau, H_mid = 1 while tau < w, so the theorem reads |w - y| <= lam tau,
    lam < 1, tau < w.
    """
    fit = ReluFit(np.ones((1, 1)), np.array([y]), np.array([[w]]), np.ones(1))
    tau, lam, Lam = (
        Fraction(float(w)) * Fraction(999, 1000),
        Fraction(999999, 10**6),
        Fraction(1000001, 10**6),
    )
    eta = Fraction(1)
    fields: dict[str, Any] = {
        "tau": tau,
        "lam": lam,
        "Lam": Lam,
        "eps": Fraction(0),
        "eta": eta,
        "rate": 1 - eta * lam,
        "path": tau * Fraction(1001, 1000),
        "norm": "factor",
        "loss_upper": (Fraction(w) - Fraction(y)) ** 2 / 2,
    }
    tensors = {"e": np.ones(1), "C": np.array([[1000.0]]), "C_Lam": np.array([[1000.0]])}
    return fit, gmc.claim("relu-descent", **(fields | changes)), tensors
