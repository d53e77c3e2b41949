"""Gram matrices of infinitely wide ReLU networks: ours beside plain numpy formulas. Neural
Tangents, which needs an environment and a process of its own, is in `bench.kernels`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from bench.contests.contest import Contender, Contest, Outcome

from globalmin.deep.gram import deep_ntk
from globalmin.kernels.limit_gram import limit_gram

D = 50
CASES = ((2_000, 1), (5_000, 1), (2_000, 5))  # rows, depth


def plain_gram(X: np.ndarray) -> np.ndarray:
    """X X^T o E[phi' phi'] by the arc cosine, for rows of norm 1."""
    G = X @ X.T
    return G * (np.pi - np.arccos(np.clip(G, -1.0, 1.0))) / (2.0 * np.pi)


def plain_ntk(X: np.ndarray, depth: int) -> np.ndarray:
    """The tangent kernel of all layers by the recursion of the arc cosine kernels, weights of
    variance 2/width.
    """
    K = X @ X.T
    tangent = K.copy()
    for _ in range(depth):
        lengths = np.sqrt(np.diagonal(K))
        scale = np.outer(lengths, lengths)
        angle = np.arccos(np.clip(K / scale, -1.0, 1.0))
        slopes = (np.pi - angle) / np.pi
        K = scale * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi
        tangent = tangent * slopes + K
    return tangent


def off_diagonal(A: np.ndarray, B: np.ndarray) -> float:
    """The largest difference off the diagonal: on it the plain formula takes the arc cosine of a
    rounded 1 and is wrong by 1e-8.
    """
    difference = np.abs(A - B)
    np.fill_diagonal(difference, 0.0)
    return float(difference.max())


def contests() -> Iterator[Contest]:
    """Shallow at two sizes, depth 5 at one; the quality is the largest difference."""
    for n, depth in CASES:
        X = np.random.default_rng(0).standard_normal((n, D))
        X /= np.linalg.norm(X, axis=1)[:, None]
        yield _shallow(X) if depth == 1 else _deep(X, depth)


def _shallow(X: np.ndarray) -> Contest:
    truth = plain_gram(X)

    def difference(G: np.ndarray) -> Outcome:
        return Outcome(off_diagonal(G, truth), 2.0 * X.shape[0] ** 2 * X.shape[1])

    contenders = [
        Contender("globalmin", lambda: difference(limit_gram(X, "relu"))),
        Contender("plain numpy", lambda: difference(plain_gram(X))),
    ]
    return Contest(
        "limit Gram matrix, relu",
        f"n = {len(X):,}",
        contenders,
        "largest difference off the diagonal",
    )


def _deep(X: np.ndarray, depth: int) -> Contest:
    truth = plain_ntk(X, depth)

    def difference(K: np.ndarray) -> Outcome:
        return Outcome(off_diagonal(K, truth))

    def ours() -> Outcome:
        return difference(np.asarray(deep_ntk(X, depth=depth, activation="relu").total))

    contenders = [
        Contender("globalmin", ours),
        Contender("plain numpy", lambda: difference(plain_ntk(X, depth))),
    ]
    size = f"n = {len(X):,}, depth {depth}"
    return Contest("tangent kernel, relu", size, contenders, "largest difference off the diagonal")
