"""Rows in shards with an additive network, their sums over bins in exact rationals, and honest
claims about them, without the trainer's producer.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from tests.checker.stream_cases import digest
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_additive_stream import feasible

Sums = dict[str, list[Fraction]]


@dataclass(frozen=True)
class Case:
    """Raw rows (label last) with the places at which they are cut, their scaling, the edges of
    every column, and a network.
    """

    rows: np.ndarray
    cuts: tuple[int, ...]
    shift: np.ndarray
    scale: np.ndarray
    edges: tuple[np.ndarray, ...]
    W: np.ndarray
    bias: np.ndarray
    v: np.ndarray
    intercept: float = 0.0

    def shards(self) -> list[np.ndarray]:
        return np.split(self.rows, self.cuts)

    def exact(self, rows: np.ndarray) -> tuple[list[list[Fraction]], list[Fraction]]:
        """Inputs and labels of raw rows, exactly."""
        places = list(zip(map(Fraction, self.shift), map(Fraction, self.scale), strict=True))
        whole = [
            [(Fraction(a) - m) * s for a, (m, s) in zip(row, places, strict=True)]
            for row in rows.tolist()
        ]
        return [row[:-1] for row in whole], [row[-1] for row in whole]

    def residuals(self, rows: np.ndarray) -> list[Fraction]:
        X, y = self.exact(rows)
        found = []
        for x, label in zip(X, y, strict=True):
            f = Fraction(self.intercept)
            for w, bias, v in zip(self.W.tolist(), self.bias, self.v, strict=True):
                z = sum((Fraction(a) * b for a, b in zip(w, x, strict=True)), Fraction(bias))
                f += Fraction(v) * max(z, Fraction(0))
            found.append(f - label)
        return found

    def objective(self, decay: float) -> Fraction:
        stored = [*self.W.ravel().tolist(), *self.bias.tolist(), *self.v.tolist()]
        weights = sum((Fraction(value) ** 2 for value in stored), Fraction(0))
        squares = sum((r * r for r in self.residuals(self.rows)), Fraction(0))
        return squares / 2 + Fraction(decay) * weights / 2

    def place(self, column: int, raw: float) -> int:
        edges = self.edges[column]
        return min(int(np.sum(edges <= raw)) - 1, len(edges) - 2)

    def sums(self, rows: np.ndarray) -> dict[str, Any]:
        """N, S, T, Q of all bins, column after column, and A, B, R, Y."""
        X, y = self.exact(rows)
        r = self.residuals(rows)
        found: dict[str, Any] = {name: [] for name in ("N", "S", "T", "Q")}
        for j, edges in enumerate(self.edges):
            parts: list[list[int]] = [[] for _ in range(len(edges) - 1)]
            for i, raw in enumerate(rows[:, j].tolist()):
                parts[self.place(j, raw)].append(i)
            shift, scale = Fraction(self.shift[j]), Fraction(self.scale[j])
            for k, own in enumerate(parts):
                left = (Fraction(edges[k]) - shift) * scale
                found["N"].append(len(own))
                found["S"].append(sum((r[i] for i in own), Fraction(0)))
                found["T"].append(sum((r[i] * (X[i][j] - left) for i in own), Fraction(0)))
                found["Q"].append(sum((r[i] ** 2 for i in own), Fraction(0)))
        products = sum((a * b for a, b in zip(r, y, strict=True)), Fraction(0))
        squares = sum((a * a for a in r), Fraction(0))
        found["totals"] = [squares, products, sum(r, Fraction(0)), sum(y, Fraction(0))]
        return found


@lru_cache(maxsize=256)
def drawn(
    n: int = 12, q: int = 2, *, cuts: tuple[int, ...] = (4, 9), trained: float = 1.0, seed: int = 0
) -> Case:
    """Rows of a noisy hinge with repeated values, scaled; the network of many proximal steps on
    kinks at the edges, times `trained`.
    """
    rng = np.random.default_rng(seed)
    a = np.round(rng.standard_normal((n, q)) * 3.0 + 1.0, 1)
    b = np.abs(a[:, 0]) - a[:, -1] / 2 + 0.3 * rng.standard_normal(n)
    rows = np.column_stack([a, b])
    shift = np.round(rows.mean(axis=0) * 8) / 8
    scale = 2.0 ** np.round(-np.log2(rows.std(axis=0)))
    edges = tuple(_edges(a[:, j]) for j in range(q))
    white = (rows - shift) * scale
    z = [(e - shift[j]) * scale[j] for j, e in enumerate(edges)]
    W, bias, v, intercept = minimized(white[:, :-1], white[:, -1], z, 1.0)
    short = [np.round(trained * part * 2.0**12) / 2.0**12 for part in (W, bias, v)]
    network = short[0], short[1], short[2]
    case = Case(rows, cuts, shift, scale, edges, *network, round(intercept * 4096) / 4096)
    r = case.residuals(rows)
    mean = float(sum(r, Fraction(0)) / n)
    return Case(rows, cuts, shift, scale, edges, *network, case.intercept - mean)


def _edges(values: np.ndarray) -> np.ndarray:
    """Every value and a point closely behind it."""
    known = np.unique(values)
    return np.unique(np.concatenate([known, known + 2.0**-12]))


def minimized(
    X: np.ndarray, y: np.ndarray, z: list[np.ndarray], decay: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Weights, biases, heads and intercept of the best network with kinks at the given places, by
    proximal gradient steps.
    """
    hinges = [(j, p, side) for j, kinks in enumerate(z) for p in kinks for side in (1.0, -1.0)]
    Phi = np.array([np.maximum(s * (X[:, j] - p), 0.0) / np.hypot(1.0, p) for j, p, s in hinges]).T
    centered, labels = Phi - Phi.mean(axis=0), y - y.mean()
    step, c = 1.0 / np.linalg.norm(centered, 2) ** 2, np.zeros(len(hinges))
    for _ in range(3000):
        c = c - step * (centered.T @ (centered @ c - labels))
        c = np.sign(c) * np.maximum(np.abs(c) - step * decay, 0.0)
    kept = np.flatnonzero(np.abs(c) > 1e-6)
    kept = kept if len(kept) else np.array([0])
    W, bias = np.zeros((len(kept), X.shape[1])), np.zeros(len(kept))
    size = np.sqrt(np.abs(c[kept]))
    for row, i in enumerate(kept):
        j, p, side = hinges[i]
        W[row, j] = side * size[row] / np.hypot(1.0, p)
        bias[row] = -p * W[row, j]
    return W, bias, np.sign(c[kept]) * size, float(y.mean() - Phi.mean(axis=0) @ c)


def parts(
    case: Case, decay: float = 1.0, t: float | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Honest fields and tensors: sums rounded to doubles, radii that cover the rounding, and the
    largest t of a search by halves that the slow oracle finds feasible.
    """
    found = [case.sums(rows) for rows in case.shards()]
    names = {"residuals": "S", "moments": "T", "squares": "Q", "totals": "totals"}
    tensors = {
        role: np.array([[float(x) for x in one[name]] for one in found])
        for role, name in names.items()
    }
    tensors["counts"] = np.array([one["N"] for one in found], dtype=np.int64)
    tensors["edges"] = np.concatenate(case.edges)
    tensors["radii"] = np.array([_radii(one, tensors, s) for s, one in enumerate(found)])
    sizes = [len(edges) - 1 for edges in case.edges]
    t = largest(case, tensors, sizes, decay) if t is None else t
    n = [len(rows) for rows in case.shards()]
    A, B, R, Y = (sum(map(Fraction, tensors["totals"][:, k]), Fraction(0)) for k in range(4))
    radii = [
        sum((m * Fraction(x) for m, x in zip(n, tensors["radii"][:, k], strict=True)), Fraction(0))
        for k in range(4)
    ]
    T, squares = Fraction(t), A + radii[2]
    stored = [*case.W.ravel().tolist(), *case.bias.tolist(), *case.v.tolist()]
    penalty = Fraction(decay) * sum((Fraction(x) ** 2 for x in stored), Fraction(0)) / 2
    mean = (abs(R) + radii[0]) * (abs(Y) + radii[3]) / sum(n)
    gap = (1 + T * T) * squares / 2 + T * (B + radii[3] + mean) + penalty
    fields = {"decay": decay, "t": t, "gap": gap, "loss_upper": squares / 2, "bins": sizes}
    return fields, tensors


def _radii(one: dict[str, Any], tensors: dict[str, np.ndarray], shard: int) -> list[float]:
    """Doubles that are certainly at least the distances, per row."""

    def off(role: str, name: str, places: list[int] | None = None) -> float:
        stored = tensors[role][shard].tolist()
        known = one[name]
        places = list(range(len(known))) if places is None else places
        apart = (abs(known[k] - Fraction(stored[k])) for k in places)
        return float(np.nextafter(float(max(apart)), np.inf))

    rows = [off("residuals", "S"), off("moments", "T"), off("squares", "Q")]
    rho = max(rows[0], off("totals", "totals", [2]))
    kappa = max(rows[2], off("totals", "totals", [0]))
    return [rho, rows[1], kappa, off("totals", "totals", [1, 3])]


def largest(case: Case, tensors: dict[str, np.ndarray], sizes: list[int], decay: float) -> float:
    """The largest t that the slow oracle finds feasible, by halves."""
    low, high = 0.0, 1.0
    n = [len(rows) for rows in case.shards()]
    for _ in range(14):
        t = (low + high) / 2
        fits = feasible((case.shift, case.scale), tensors, (sizes, n), Fraction(t), Fraction(decay))
        low, high = (t, high) if fits else (low, t)
    return low


def certificate(case: Case, fields: dict[str, Any]) -> dict[str, Any]:
    """The certificate object with one claim."""
    width = case.rows.shape[1]
    return {
        "claims": [gmc.claim("additive-stream-gap", **fields)],
        "data": {
            "columns": [*(f"x{j}" for j in range(width - 1)), "y"],
            "shards": [{"rows": len(rows), "sha256": digest(rows)} for rows in case.shards()],
        },
        "loss": "half-sum-of-squares",
        "network": {"kind": "additive-stream"},
        "producer": "tests",
    }


def build(case: Case, made: tuple[dict[str, Any], dict[str, np.ndarray]]) -> bytes:
    """A sealed file of the case with these fields and tensors."""
    fields, tensors = made
    stored = {
        "W": case.W,
        "bias": case.bias,
        "v": case.v,
        "intercept": np.array([case.intercept]),
        "shift": case.shift,
        "scale": case.scale,
    }
    named = {f"claims.0.{role}": value for role, value in tensors.items()}
    return gmc.pack(certificate(case, fields), stored | named)
