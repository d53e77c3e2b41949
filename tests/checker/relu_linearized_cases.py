"""Small honest relu-linearized-descent claims, made with numpy by the plainest means."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from tests.checker.cases import inverse_factor
from tests.checker.relu_descent_cases import ReluFit, build, weights_of
from tests.oracles import gmc_builder as gmc

__all__ = ["Linearized", "build", "claim", "least_set", "linearized", "one_neuron"]


@dataclass(frozen=True)
class Linearized:
    """The numbers of theorem RL for a set U (n x k, boolean)."""

    U: np.ndarray
    H: np.ndarray
    E: np.ndarray
    lam: float
    Lam: float
    eps: float
    eta: float
    tau: float
    moves: np.ndarray

    @property
    def rate(self) -> Fraction:
        margin = Fraction(self.lam) - Fraction(self.eps)
        return max(1 - Fraction(self.eta) * margin, Fraction(0))


def linearized(
    fit: ReluFit,
    U: np.ndarray,
    steps: int,
    *,
    share: float = 0.999,
    norm: str = "factor",
    eta: float | None = None,
    moved: float = 0.0,
    stretch: float = 1.001,
) -> Linearized | None:
    """The table s and what it is made of, pair by pair; None if the bracket is too wide. `moved`
    is by how much the first residual may differ.
    """
    K, Z, u = fit.X @ fit.X.T, fit.X @ fit.W.T, np.abs(fit.v)
    on = Z > 0
    possible, sure = np.where(U, True, on), np.where(U, False, on)
    most, least = (
        (possible * fit.v) @ (possible * fit.v).T,
        (sure * fit.v) @ (sure * fit.v).T,
    )
    H, E = K * (most + least) / 2, np.abs(K) * (most - least) / 2
    values = np.linalg.eigvalsh(H)
    e = weights_of(E)
    lam, eps = float(values[0]) * share, float((E @ e / e).max()) * 1.001
    Lam = float(values[-1] if norm == "factor" else np.abs(H).sum(axis=1).max()) * 1.001
    if not eps < lam:
        return None
    eta, r0 = 1.99 / (lam + Lam) if eta is None else eta, fit.residual()
    size, rows = float(np.linalg.norm(r0)), [r0]
    for _ in range(steps):
        rows.append(rows[-1] - eta * H @ rows[-1])
    rest = (float(np.linalg.norm(rows[-1])) + moved) / lam
    T0 = eta * sum(float(np.linalg.norm(r)) for r in rows[:-1]) + rest
    w = eta * sum(np.abs(r) for r in rows[:-1]) + rest
    tau = min(T0 * lam, size + moved) / (lam - eps) * stretch + 1e-15
    moves = np.zeros_like(Z)
    for i in range(len(Z)):
        for neuron in range(len(u)):
            c0 = (possible[:, neuron] * 1.0 + sure[:, neuron]) / 2
            reach = float(np.linalg.norm(K[i] * possible[:, neuron]))
            V, top = np.zeros(len(r0)), 0.0
            for r in rows[:-1]:
                V = V + eta * r
                top = max(top, abs(float((K[i] * c0) @ V)))
            second = top + float(np.abs(K[i]) @ (w * U[:, neuron])) / 2
            second += reach * (rest + eps * tau / lam)
            moves[i, neuron] = u[neuron] * min(reach * tau, second)
    return Linearized(U, H, E, lam, Lam, eps, eta, tau, moves)


def least_set(
    fit: ReluFit, steps: int, *, rooms: np.ndarray | float = 0.0, **options: Any
) -> Linearized | None:
    """The least U that the theorem closes with, from the empty set upwards; `rooms` is what every
    margin must have besides.
    """
    Z = fit.X @ fit.W.T
    U = np.abs(Z) <= rooms
    while (found := linearized(fit, U, steps, **options)) is not None:
        short = (np.abs(Z) <= found.moves * 1.001 + rooms) & ~U
        if not short.any():
            return found
        U = U | short
    return None


def claim(
    fit: ReluFit, *, steps: int = 4, norm: str = "factor", **changes: Any
) -> tuple[dict, dict] | None:
    """An honest claim with its tensors, or None if no set U closes."""
    found = least_set(fit, steps, norm=norm)
    if found is None:
        return None
    fields, tensors = parts(fit, found, steps, norm)
    return gmc.claim("relu-linearized-descent", **(fields | changes)), tensors


def parts(fit: ReluFit, found: Linearized, steps: int, norm: str) -> tuple[dict, dict]:
    """The fields and tensors of theorem RL."""
    size, n = float(np.linalg.norm(fit.residual())), len(fit.y)
    fields: dict[str, Any] = {
        "tau": found.tau,
        "lam": found.lam,
        "Lam": found.Lam,
        "eps": found.eps,
        "eta": found.eta,
        "norm": norm,
        "steps": steps,
        "rate": found.rate,
        "path": float(np.sqrt(found.Lam + found.eps) * found.tau * 1.0001),
        "loss_upper": Fraction(size * size) + Fraction(1, 10**30),
    }
    tensors = {
        "e": weights_of(found.E),
        "C": inverse_factor(found.H - found.lam * np.eye(n)),
        "U": np.flatnonzero(found.U.ravel()).astype(np.int64),
    }
    if norm == "factor":
        tensors["C_Lam"] = inverse_factor(found.Lam * np.eye(n) - found.H)
    return fields, tensors


def one_neuron(w: float, y: float, **changes: Any) -> tuple[ReluFit, dict, dict]:
    """x = v = 1: H = 1, and with eta = 1 the linear run ends after one step, so the theorem reads
    |w - y| < w.
    """
    fit = ReluFit(np.ones((1, 1)), np.array([y]), np.array([[w]]), np.ones(1))
    lam, Lam = Fraction(999999, 10**6), Fraction(1000001, 10**6)
    size = abs(Fraction(w) - Fraction(y))
    tau = size * Fraction(1001, 1000) + Fraction(1, 10**9)
    fields: dict[str, Any] = {
        "tau": tau,
        "lam": lam,
        "Lam": Lam,
        "eps": Fraction(0),
        "eta": Fraction(1),
        "rate": 1 - lam,
        "path": tau * Fraction(1001, 1000),
        "steps": 1,
        "norm": "factor",
        "loss_upper": size**2 / 2,
    }
    tensors = {
        "e": np.ones(1),
        "C": np.array([[1000.0]]),
        "C_Lam": np.array([[1000.0]]),
        "U": np.zeros(0, np.int64),
    }
    return fit, gmc.claim("relu-linearized-descent", **(fields | changes)), tensors
