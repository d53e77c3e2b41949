"""Gram matrices of infinitely wide ReLU networks: ours beside plain numpy formulas and Neural
Tangents, which has an environment and a process of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from bench.contests.contest import Contender, Contest, Outcome, cpu_seconds
from bench.contests.tangents_peer import Peer

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
        peer = Peer(X)
        yield _shallow(X, peer) if depth == 1 else _deep(X, depth, peer)
        peer.close()


def _shallow(X: np.ndarray, peer: Peer) -> Contest:
    truth = plain_gram(X)

    def difference(G: np.ndarray, seconds: float | None = None) -> Outcome:
        return Outcome(off_diagonal(G, truth), 2.0 * X.shape[0] ** 2 * X.shape[1], seconds)

    contenders = [
        Contender("globalmin", lambda: difference(*_timed(limit_gram, X, "relu"))),
        Contender("plain numpy", lambda: difference(*_timed(plain_gram, X))),
        Contender("Neural Tangents", lambda: difference(*peer.kernel("gram", 1))),
    ]
    return Contest(
        "limit Gram matrix, relu",
        f"n = {len(X):,}",
        contenders,
        "largest difference off the diagonal",
    )


def _timed(make: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[Any, float]:
    """A matrix and the CPU seconds it took, without the comparison that follows."""
    began = cpu_seconds()
    found = make(*arguments, **options)
    return found, cpu_seconds() - began


def _deep(X: np.ndarray, depth: int, peer: Peer) -> Contest:
    truth = plain_ntk(X, depth)

    def difference(K: np.ndarray, seconds: float | None = None) -> Outcome:
        return Outcome(off_diagonal(K, truth), seconds=seconds)

    def ours() -> Outcome:
        found, seconds = _timed(deep_ntk, X, depth=depth, activation="relu")
        return difference(np.asarray(found.total), seconds)

    contenders = [
        Contender("globalmin", ours),
        Contender("plain numpy", lambda: difference(*_timed(plain_ntk, X, depth))),
        Contender("Neural Tangents", lambda: difference(*peer.kernel("ntk", depth))),
    ]
    size = f"n = {len(X):,}, depth {depth}"
    return Contest("tangent kernel, relu", size, contenders, "largest difference off the diagonal")
