"""Small files of networks with several outputs: the golden example, random classes, and dual
matrices whose row and column sums are exactly zero by construction.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from tests.checker.regularized_cases import Case

Array = np.ndarray
Rng = np.random.Generator


def golden_softmax(t: float = 0.25, **network: Any) -> tuple[Case, Array]:
    """One column (-1, 1), classes (0, 1): H = 2t, D = -2 (t log t + (1-t) log(1-t))."""
    case = Case(
        np.array([[-1.0], [1.0]]),
        np.array([0.0, 1.0]),
        np.array([[0.5]]),
        np.array([[-0.5, 0.5]]),
        bias=np.array([0.5]),
        intercept=np.array([0.25, -0.25]),
        loss={"name": "softmax"},
        network={"b": Fraction(1, 2), "outputs": 2} | network,
    )
    return case, np.array([[-t, t], [t, -t]])


def golden_squared(t: float = 0.25, **network: Any) -> tuple[Case, Array]:
    """The same rows, labels (-1, 1) and (1, -1), |U_1| = sqrt 2 t, H = 2t."""
    case, U = golden_softmax(t, **network)
    return Case(
        case.X,
        np.array([[-1.0, 1.0], [1.0, -1.0]]),
        case.W,
        case.v,
        bias=case.bias,
        intercept=case.intercept,
        network=case.network,
    ), -U


def exchanged(rng: Rng, case: Case, rounds: int = 12) -> Array:
    """A dual matrix of a softmax: samples of different classes exchange probability, so that rows
    and columns keep the sum zero; if no equation asks for that, single samples give some away too.
    """
    n, c = len(case.X), case.v.shape[1]
    y = case.y.astype(int)
    om = np.ones(n) if case.om is None else case.om
    U = np.zeros((n, c))
    needs_sum = "free" in (case.form()["intercept"], case.form()["hidden_bias"])
    for _ in range(rounds):
        i, j = rng.integers(n, size=2)
        left = min(om[i] + U[i, y[i]], om[j] + U[j, y[j]])
        part = np.floor(left * rng.random() * 2**18) / 2**20
        if y[i] != y[j]:
            for row, other in ((i, j), (j, i)):
                U[row, y[row]] -= part
                U[row, y[other]] += part
        elif not needs_sum and part > 0:
            U[i, y[i]] -= part
            U[i, (y[i] + 1) % c] += part
    return U


def with_zero_sums(U: Array) -> Array:
    """Multiples of a power of two whose columns sum to zero."""
    whole = np.rint(U * 2**20) / 2**20
    whole[0] -= whole.sum(axis=0)
    return whole


def height(case: Case, U: Array) -> float:
    """H(U) over all columns in floats, by arcs and eigenvalues."""
    form = case.form()
    tau = float(Fraction(form.get("tau", "1")))
    return max(_height(column, U, tau, form["hidden_bias"]) for column in case.X.T)


def _height(x: Array, U: Array, tau: float, hidden_bias: str) -> float:
    if hidden_bias != "penalized":
        origins = np.unique(x) if hidden_bias == "free" else [0.0]
        sums = [np.maximum(s * (x - o), 0) @ U for o in origins for s in (1, -1)]
        return max(float(np.linalg.norm(s)) for s in sums)
    best = 0.0
    angles = np.sort(np.concatenate([np.arctan2(-x, tau), np.arctan2(x, -tau), [np.pi / 2]]))
    angles = np.append(angles, angles[0] + 2 * np.pi)
    rows = np.column_stack([x, np.full_like(x, tau)])
    for low, high in pairwise(angles):
        middle = np.array([np.cos((low + high) / 2), np.sin((low + high) / 2)])
        S = U.T @ (rows * (rows @ middle > 0)[:, None])
        vectors = [np.array([np.cos(a), np.sin(a)]) for a in (low, high)]
        e = np.linalg.svd(S)[2][0]
        for w in (e, -e):
            turn = (np.arctan2(w[1], w[0]) - low) % (2 * np.pi)
            vectors += [w] if turn <= high - low else []
        best = max([best, *(float(np.linalg.norm(S @ w)) for w in vectors)])
    return best
