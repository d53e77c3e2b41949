"""Streams of rows in shards with honest claims about them, in exact rationals and without the
trainer's producer.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from tests.oracles import gmc_builder as gmc

ROOM = 1e-6  # of c, for P1


@dataclass(frozen=True)
class Case:
    """Raw rows (label last) with the places at which they are cut, their scaling, and a network."""

    rows: np.ndarray
    cuts: tuple[int, ...]
    shift: np.ndarray
    scale: np.ndarray
    W: np.ndarray
    v: np.ndarray
    bias: bool = True

    def shards(self) -> list[np.ndarray]:
        return np.split(self.rows, self.cuts)

    def exact(self, rows: np.ndarray) -> tuple[list[list[Fraction]], list[Fraction]]:
        """Inputs and labels of raw rows, exactly."""
        places = list(zip(map(Fraction, self.shift), map(Fraction, self.scale), strict=True))
        whole = [
            [(Fraction(a) - m) * s for a, (m, s) in zip(row, places, strict=True)]
            for row in rows.tolist()
        ]
        return [row[:-1] + [Fraction(1)] * self.bias for row in whole], [row[-1] for row in whole]

    def residuals(self, rows: np.ndarray) -> list[Fraction]:
        X, y = self.exact(rows)
        W, v = [list(map(Fraction, w)) for w in self.W.tolist()], list(map(Fraction, self.v))
        outputs = [
            sum(
                (
                    head * sum((a * b for a, b in zip(w, x, strict=True)), Fraction(0)) ** 2
                    for w, head in zip(W, v, strict=True)
                ),
                Fraction(0),
            )
            for x in X
        ]
        return [f - label for f, label in zip(outputs, y, strict=True)]

    def sums(self, rows: np.ndarray) -> tuple[Fraction, Fraction, list[Fraction]]:
        """The sums of r^2, r y and r x_a x_b of a shard."""
        X, y = self.exact(rows)
        r = self.residuals(rows)
        d = len(X[0])
        moments = [
            sum((ri * x[a] * x[b] for ri, x in zip(r, X, strict=True)), Fraction(0))
            for a in range(d)
            for b in range(a, d)
        ]
        squares = sum((ri * ri for ri in r), Fraction(0))
        return squares, sum((ri * yi for ri, yi in zip(r, y, strict=True)), Fraction(0)), moments


@lru_cache(maxsize=256)
def drawn(
    n: int = 14,
    q: int = 2,
    *,
    cuts: tuple[int, ...] = (5, 9),
    heads: str = "any",
    bias: bool = True,
    trained: float = 1.0,
    decay: float = 1.0,
    seed: int = 0,
) -> Case:
    """Rows of a noisy product, scaled, with the network that many proximal steps reach; `trained`
    times it.
    """
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((n, q)) * 3.0 + 1.0
    sign = -1.0 if heads == "nonpositive" else 1.0
    b = sign * (a[:, 0] * a[:, -1]) + 0.3 * rng.standard_normal(n)
    rows = np.column_stack([a, b])
    shift = np.round(rows.mean(axis=0) * 8) / 8
    scale = 2.0 ** np.round(-np.log2(rows.std(axis=0)))
    white = (rows - shift) * scale
    X = np.column_stack([white[:, :-1], np.ones(n)]) if bias else white[:, :-1]
    W, v = minimized(X, white[:, -1], decay, heads)
    W = np.round(trained * W * 2.0**20) / 2.0**20
    return Case(rows, cuts, shift, scale, W, v, bias)


def minimized(
    X: np.ndarray, y: np.ndarray, decay: float, heads: str
) -> tuple[np.ndarray, np.ndarray]:
    """W and v of the minimum, by proximal gradient steps on the matrix of the network."""
    d = X.shape[1]
    M = np.zeros((d, d))
    squares = np.einsum("ia,ib->iab", X, X).reshape(len(X), -1)
    step = 1.0 / np.linalg.norm(squares, 2) ** 2
    values, vectors = np.zeros(d), np.eye(d)
    for _ in range(1500):
        r = squares @ M.ravel() - y
        values, vectors = np.linalg.eigh(M - step * (squares.T @ r).reshape(d, d))
        up = np.maximum(values - step * decay / 2, 0) * (heads != "nonpositive")
        down = np.maximum(-values - step * decay / 2, 0) * (heads != "nonnegative")
        values = up - down
        M = (vectors * values) @ vectors.T
    W = np.sqrt(np.abs(values))[:, None] * vectors.T
    v = np.where(values < 0, -1.0, 1.0) if heads == "any" else np.full(d, 1.0)
    return W, -v if heads == "nonpositive" else v


def digest(rows: np.ndarray) -> str:
    line = f"globalmin-rows/1 {rows.shape[0]} {rows.shape[1]}\n".encode("ascii")
    return hashlib.sha256(np.ascontiguousarray(rows, "<f8").tobytes() + line).hexdigest()


def _radius(exact: Fraction, stored: float) -> float:
    """A double that is certainly at least the distance."""
    return float(np.nextafter(float(abs(exact - Fraction(stored))), np.inf))


def parts(
    case: Case, heads: str = "any", decay: float = 1.0, t: float | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Honest fields and tensors: sums rounded to doubles, radii that cover the rounding."""
    d, shards = case.W.shape[1], case.shards()
    found = [case.sums(rows) for rows in shards]
    squares = np.array([float(a) for a, _, _ in found])
    products = np.array([float(b) for _, b, _ in found])
    moments = np.array([[float(z) for z in zs] for _, _, zs in found])
    radii = np.zeros((len(shards), 3))
    for s, (a, b, zs) in enumerate(found):
        off = sum((_radius(z, m) for z, m in zip(zs, moments[s], strict=True)), 0.0)
        radii[s] = _radius(a, squares[s]), _radius(b, products[s]), 2.0 * off
    M = np.zeros((d, d))
    M[np.triu_indices(d)] = moments.sum(axis=0)
    M = M + np.triu(M, 1).T
    c, v_max = decay / 2.0, 1.0
    values = np.linalg.eigvalsh(M)
    reach = max(
        -values[0] if heads != "nonpositive" else 0.0, values[-1] if heads != "nonnegative" else 0.0
    )
    t = min(1.0, c * (1 - ROOM) / max(reach, 1e-300)) if t is None else t
    shift = c - t * radii[:, 2].sum()
    tensors = {"squares": squares, "products": products, "moments": moments, "radii": radii}
    if heads != "nonpositive":
        tensors["C_lower"] = np.linalg.inv(np.linalg.cholesky(shift * np.eye(d) + t * M))
    if heads != "nonnegative":
        tensors["C_upper"] = np.linalg.inv(np.linalg.cholesky(shift * np.eye(d) - t * M))
    A, B = exact_ends(squares, products, radii)
    T, penalty = Fraction(t), Fraction(decay) * sum(Fraction(x) ** 2 for x in case.W.ravel()) / 2
    gap = (1 + T * T) * A / 2 + T * B + penalty
    fields = {"heads": heads, "decay": decay, "v_max": v_max, "t": t, "gap": gap}
    return fields | {"loss_upper": A / 2}, tensors


def exact_ends(
    squares: np.ndarray, products: np.ndarray, radii: np.ndarray
) -> tuple[Fraction, Fraction]:
    """The upper ends a + alpha and b + beta."""
    total = [sum(map(Fraction, column), Fraction(0)) for column in (squares, products, *radii.T)]
    return total[0] + total[2], total[1] + total[3]


def certificate(case: Case, fields: dict[str, Any]) -> dict[str, Any]:
    """The certificate object with one claim."""
    width = case.rows.shape[1]
    return {
        "claims": [gmc.claim("stream-gap", **fields)],
        "data": {
            "bias": case.bias,
            "columns": [*(f"x{j}" for j in range(width - 1)), "y"],
            "d": int(case.W.shape[1]),
            "shards": [{"rows": len(rows), "sha256": digest(rows)} for rows in case.shards()],
        },
        "loss": "half-sum-of-squares",
        "network": {"kind": "stream"},
        "producer": "tests",
    }


def build(case: Case, made: tuple[dict[str, Any], dict[str, np.ndarray]]) -> bytes:
    """A sealed file of the case with these fields and tensors."""
    fields, tensors = made
    stored = {"W": case.W, "v": case.v, "shift": case.shift, "scale": case.scale}
    named = {f"claims.0.{role}": value for role, value in tensors.items()}
    return gmc.pack(certificate(case, fields), stored | named)


def given(rows: np.ndarray, block: int = 3) -> Callable[[tuple[str, ...]], Iterator[array]]:
    """The rows as the checker takes them, in blocks."""

    def blocks(columns: tuple[str, ...]) -> Iterator[array]:
        for start in range(0, len(rows), block):
            yield array("d", rows[start : start + block].ravel().tolist())

    return blocks
