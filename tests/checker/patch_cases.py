"""Small patch networks with honest claims about them, in plain floats and without the trainer's
producer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from tests.oracles import gmc_builder as gmc

ROOM = 1e-3


@dataclass(frozen=True)
class Case:
    """Samples, the table of their patches, filters and output weights."""

    X: np.ndarray
    y: np.ndarray
    table: np.ndarray
    W: np.ndarray
    heads: np.ndarray
    bias: bool = False

    @property
    def patches(self) -> np.ndarray:
        """n x k x p."""
        padded = np.concatenate([self.X, np.zeros((len(self.X), 1))], axis=1)
        return padded[:, self.table]

    def outputs(self, W: np.ndarray | None = None) -> np.ndarray:
        products = self.patches @ (self.W if W is None else W).T
        return np.einsum("nkm,mk->n", np.maximum(products, 0.0), self.heads)

    def slopes(self, W: np.ndarray) -> np.ndarray:
        """b_ji, n x m x p."""
        on = (self.patches @ W.T > 0).transpose(0, 2, 1)
        return (on * self.heads) @ self.patches


def windows(d: int, p: int, stride: int = 1, *, padding: int = 0) -> np.ndarray:
    """The table of the patches of a signal with zeros around."""
    places = np.concatenate([np.full(padding, -1), np.arange(d), np.full(padding, -1)])
    starts = range(0, len(places) - p + 1, stride)
    return np.array([places[start : start + p] for start in starts], dtype=np.int64)


def drawn(
    n: int = 3, d: int = 5, m: int = 2, p: int = 3, *, off: float = 1e-4, seed: int = 0,
    bias: bool = False, padding: int = 0,
) -> Case:  # fmt: skip
    """A network whose labels are those of filters that are `off` away: zero loss nearby."""
    rng = np.random.default_rng(seed)
    X, table = rng.standard_normal((n, d)), windows(d, p, padding=padding)
    if bias:
        X = np.concatenate([X, np.ones((n, 1))], axis=1)
        table = np.concatenate([table, np.full((len(table), 1), d)], axis=1)
    W = rng.standard_normal((m, table.shape[1]))
    case = Case(X, np.zeros(n), table, W, rng.standard_normal((m, len(table))), bias)
    return replace(case, y=case.outputs(W + off * rng.standard_normal(W.shape)))


def integral(n: int = 6, d: int = 4, m: int = 1, p: int = 2, *, seed: int = 0) -> Case:
    """More samples than weights, labels exactly those of some filters: small integers throughout,
    odd pixels and one odd entry of every filter, so that no product is zero.
    """
    rng = np.random.default_rng(seed)
    table = windows(d, p)
    X = 2.0 * rng.integers(-5, 5, (n, d)) + 1.0
    teacher = 2.0 * rng.integers(-2, 3, (m, p))
    teacher[:, 0] += 1.0
    teacher /= 4.0
    heads = np.full((m, len(table)), 0.5)
    case = Case(X, np.zeros(n), table, teacher, heads)
    return replace(case, y=case.outputs(teacher), W=teacher + 2.0**-30)


def parts(
    case: Case,
    *,
    moving: Sequence[int] | None = None,
    solved: Sequence[int] | None = None,
    hat: np.ndarray | None = None,
    room: float = ROOM,
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Honest fields and tensors."""
    T = np.arange(len(case.W)) if moving is None else np.asarray(moving)
    S = np.arange(len(case.y)) if solved is None else np.asarray(solved)
    W_hat = case.W if hat is None else hat
    J = case.slopes(W_hat)[np.ix_(S, T)].reshape(len(S), -1)
    G = J @ J.T
    spectrum = np.linalg.eigvalsh(G)
    is_singular = spectrum[0] <= 1e-12 * spectrum[-1]
    mu = 0.0 if is_singular else float(spectrum[0]) * (1 - room)
    rho = float(np.linalg.norm((case.outputs(W_hat) - case.y)[S]))
    loss = 0.5 * float(np.sum((case.outputs() - case.y) ** 2))
    R = float(np.linalg.norm(W_hat - case.W)) + rho / mu**0.5 if mu > 0 else 1.0
    fields = {
        "loss_upper": Fraction(loss * (1 + 1e-9) + 1e-28),
        "mu": Fraction(mu),
        "R": Fraction(R * (1 + 1e-9) + 1e-14),
    }
    shifted = G - mu * np.eye(len(S))
    C = np.linalg.inv(np.linalg.cholesky(shifted)) if mu > 0 else np.eye(len(S))
    return fields, {"W_hat": W_hat, "T": T.astype(np.int64), "S": S.astype(np.int64), "C": C}


def build(
    case: Case,
    made: tuple[dict[str, Any], dict[str, np.ndarray]] | None = None,
    *,
    stored: bool = True,
    activation: str = "relu",
    **changes: Any,
) -> bytes:
    """A sealed file; `changes` are fields or tensors of the claim."""
    fields, tensors = parts(case) if made is None else made
    fields = fields | {name: value for name, value in changes.items() if name in fields}
    tensors = tensors | {name: value for name, value in changes.items() if name in tensors}
    n, d = case.X.shape
    top = {
        "claims": [gmc.claim("patch-interpolation", **fields)],
        "data": {
            "bias": case.bias, "d": d, "n": n, "sha256": gmc.data_digest(case.X, case.y),
            "stored": stored,
        },
        "loss": "half-sum-of-squares",
        "network": {"activation": activation, "kind": "patches"},
        "producer": "tests",
    }  # fmt: skip
    network = {"W": case.W, "v": case.heads.ravel(), "patches": case.table}
    samples = {"X": case.X, "y": case.y} if stored else {}
    roles = {f"claims.0.{role}": value for role, value in tensors.items()}
    return gmc.pack(top, network | samples | roles)
