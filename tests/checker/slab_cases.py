"""Witnesses of R4-free for small cases, with plain slopes: no search, only the theorem."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from tests.checker.regularized_cases import Case, inverse_factor

Array = np.ndarray
NAMES = {1: "plus", -1: "minus"}


def slab_witness(
    case: Case, u: Array, count: int = 4
) -> tuple[Array, dict[str, Any], dict[str, Array]]:
    """u scaled so that R4-free proves it, fields and tensors."""
    center = np.round(4 * case.X.mean(axis=0)) / 4
    Y = case.X - center
    radius = float(Fraction(float(np.ceil(8 * np.linalg.norm(Y, axis=1).max() + 1)) / 8))
    ends = np.round(np.linspace(-radius, radius, count + 1) * 1024) / 1024
    slopes = [_slopes(Y, e, f) for e, f in pairwise(ends)]
    signs = (-1,) if case.form()["heads"] == "nonnegative" else (1, -1)
    found = {
        (sign, j): _multipliers(Y, sign * u, slopes[j], (ends[j], ends[j + 1]))
        for sign in signs
        for j in range(count)
    }
    b = float(Fraction(case.form()["b"]))
    top = max(bound for bound, _, _ in found.values())
    scale = min(1.0, b / top * (1 - 1e-6)) if top > 0 else 1.0
    tensors = {name: np.stack([part[name] for part in slopes]) for name in slopes[0]}
    tensors["center"] = center
    fields: dict[str, Any] = {"slabs": [Fraction(float(end)) for end in ends]}
    for sign in signs:
        for name, place in (("gamma", 1), ("delta", 2)):
            fields[f"{name}_{NAMES[sign]}"] = [
                Fraction(float(found[sign, j][place] * scale)) for j in range(count)
            ]
        for j in range(count):
            _, gamma, delta = found[sign, j]
            M = slab_matrix(
                Y,
                sign * scale * u,
                slopes[j],
                (ends[j], ends[j + 1]),
                (gamma * scale, delta * scale),
            )
            M[-1, -1] += b
            tensors[f"C_{NAMES[sign]}_{j}"] = inverse_factor(M)
    return scale * u, fields, tensors


def _slopes(Y: Array, e: float, f: float) -> dict[str, Array]:
    """Decided rows, and else the parabola through the ends of the range of t."""
    norms = np.linalg.norm(Y, axis=1) * (1 + 1e-12)
    below, above = np.maximum(norms - e, 0.0), np.maximum(norms + f, 0.0)
    width = np.maximum(below + above, 1e-3)
    sure = (norms <= e) | (norms <= -f)
    size = np.maximum(np.maximum(below, above), 1e-3)
    al = np.clip(np.where(below == 0, 1.0, np.where(above == 0, 0.0, below / width)), 0.0, 1.0)
    return {
        "rho": np.where(sure, 0.0, 0.5 / size * (1 + 1e-12)),
        "sig": np.where(sure, 0.0, size / 2 * (1 + 1e-12)),
        "al": al,
        "be": np.where(sure | (below == 0) | (above == 0), 0.0, (1 - 1e-9) / width),
    }


def slab_matrix(
    Y: Array, u: Array, slopes: dict[str, Array], ends: Any, multipliers: tuple[float, float]
) -> Array:
    """The matrix without b."""
    (e, f), (gamma, delta) = ends, multipliers
    Z = np.hstack([Y, np.ones((len(Y), 1))])
    up, sure = u > 0, slopes["rho"] == 0
    active = np.linalg.norm(Y, axis=1) <= e
    slant = np.where(up, np.where(sure, np.where(active, u, 0.0), u / 2), u * slopes["al"])
    curve = np.where(up, u * slopes["rho"] / 2, u * slopes["be"])
    size = Z.shape[1]
    M = np.zeros((size + 1, size + 1))
    M[:size, :size] = np.diag([*[gamma] * (size - 1), delta]) - (Z.T * curve) @ Z
    c = Z.T @ slant
    c[-1] += delta * (e + f)
    M[size, :size] = M[:size, size] = -c / 2
    M[size, size] = -float((u * slopes["sig"])[up].sum() / 2) - gamma + delta * e * f
    return M


def _multipliers(
    Y: Array, u: Array, slopes: dict[str, Array], ends: Any
) -> tuple[float, float, float]:
    """(bound, gamma, delta), the least bound over a grid."""
    scale = float(np.abs(slab_matrix(Y, u, slopes, ends, (0.0, 0.0))).max()) + 1e-9
    best = (np.inf, 1.0, 1.0)
    for gamma in np.geomspace(1e-3, 10, 12) * scale:
        for delta in np.geomspace(1e-3, 10, 12) * scale:
            M = slab_matrix(Y, u, slopes, ends, (gamma, delta))
            inner, side = M[:-1, :-1], M[-1, :-1]
            if np.linalg.eigvalsh(inner)[0] > 1e-9 * scale:
                bound = float(side @ np.linalg.solve(inner, side) - M[-1, -1])
                best = min(best, (bound, float(gamma), float(delta)))
    return best
