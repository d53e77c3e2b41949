"""Matrices with factors and honest claims about them, in plain floats and without the trainer's
producer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from tests.oracles import gmc_builder as gmc

ROOM = 1e-3


@dataclass(frozen=True)
class Case:
    """A matrix and two factors."""

    M: np.ndarray
    U: np.ndarray
    V: np.ndarray

    @property
    def rank(self) -> int:
        return self.U.shape[1]

    def loss(self) -> float:
        return 0.5 * float(np.sum((self.U @ self.V.T - self.M) ** 2))

    def best(self) -> float:
        return 0.5 * float(np.sum(np.linalg.svd(self.M, compute_uv=False)[self.rank :] ** 2))

    def transposed(self) -> Case:
        return Case(self.M.T.copy(), self.V, self.U)


def noisy(
    m: int = 6, n: int = 5, r: int = 2, *, noise: float = 0.05, off: float = 1e-4, seed: int = 0
) -> Case:
    """A matrix of rank r plus noise, with factors that are `off` away from the best ones."""
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((m, r)) @ rng.standard_normal((r, n)) + noise * rng.standard_normal(
        (m, n)
    )
    return near_best(M, r, off=off, seed=seed)


def near_best(M: np.ndarray, r: int, *, off: float = 0.0, seed: int = 0) -> Case:
    """Balanced factors of the best matrix of rank r, disturbed by `off`."""
    rng = np.random.default_rng(seed + 1)
    left, values, right = np.linalg.svd(M, full_matrices=False)
    U, V = left[:, :r] * np.sqrt(values[:r]), right[:r].T * np.sqrt(values[:r])
    return Case(M, U + off * rng.standard_normal(U.shape), V + off * rng.standard_normal(V.shape))


def saddle(seed: int = 0) -> Case:
    """Factors that hold the first and the third singular pair instead of the first two."""
    case = noisy(seed=seed)
    left, values, right = np.linalg.svd(case.M, full_matrices=False)
    keep = [0, 2]
    return replace(
        case, U=left[:, keep] * np.sqrt(values[keep]), V=right[keep].T * np.sqrt(values[keep])
    )


def parts(
    case: Case, method: str = "frobenius", side: str = "right"
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Honest fields and tensors."""
    turned = case if side == "right" else case.transposed()
    M, S, P = turned.M, turned.V, turned.U
    loss = case.loss()
    fields: dict[str, Any] = {
        "method": method,
        "loss_upper": Fraction(loss * (1 + 1e-9) + 1e-12 * float(np.sum(M**2))),
    }
    if method == "zero":
        return fields | {"gap": fields["loss_upper"], "floor": Fraction(0)}, {}
    Q = S @ np.linalg.solve(S.T @ S, S.T)
    B = M - M @ Q
    lowest = float(np.linalg.eigvals(np.linalg.solve(S.T @ S, (M @ S).T @ (M @ S))).real.min())
    a = lowest * (1 - ROOM)
    top = float(np.sum(B**2)) if method == "frobenius" else float(np.linalg.norm(B, 2) ** 2)
    b = top * (1 + ROOM)
    tau = max(a, b * (1 + ROOM))
    leak = float(np.sum(((B.T @ M) @ Q) ** 2))
    inside = float(np.sum(((P @ S.T - M) @ Q) ** 2))
    excess = 0.5 * (inside + leak / (tau - b) + S.shape[1] * max(tau - a, 0.0))
    gap = excess * (1 + 1e-6) + 1e-24
    tensors = {"C_a": np.linalg.inv(np.linalg.cholesky((M @ S).T @ (M @ S) - a * S.T @ S))}
    if method == "factor":
        tensors["C_b"] = np.linalg.inv(np.linalg.cholesky(b * np.eye(len(S)) - B.T @ B))
    floor = Fraction(max((loss - gap) * (1 - 1e-9), 0.0))
    return fields | {
        "gap": Fraction(gap),
        "floor": floor,
        "side": side,
        "a": a,
        "b": b,
        "tau": tau,
    }, tensors


def certificate(case: Case, fields: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The certificate object with one claim; `...` removes a field."""
    chosen = {key: value for key, value in (fields | changes).items() if value is not ...}
    return {
        "claims": [gmc.claim("factorization-gap", **chosen)],
        "data": {"columns": case.M.shape[1], "rows": case.M.shape[0]},
        "loss": "half-squared-frobenius",
        "network": {"kind": "factorization"},
        "producer": "tests",
    }


def tensors_of(case: Case, tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All tensors of a file by their full names."""
    return {"M": case.M, "U": case.U, "V": case.V} | {
        f"claims.0.{role}": value for role, value in tensors.items()
    }


def build(
    case: Case,
    method: str = "frobenius",
    side: str = "right",
    /,
    *,
    stored: Case | None = None,
    **changes: Any,
) -> bytes:
    """A sealed file; `stored` replaces the numbers after the claim was made, `changes` are fields
    or tensors of the claim.
    """
    fields, tensors = parts(case, method, side)
    tensors |= {key: value for key, value in changes.items() if key.startswith("C_")}
    changed = {key: value for key, value in changes.items() if not key.startswith("C_")}
    shown = stored or case
    kept = {role: value for role, value in tensors.items() if value is not ...}
    return gmc.pack(certificate(shown, fields, **changed), tensors_of(shown, kept))
