"""Honest drafts of the claims about quadratic networks and about second-order points, from a seed,
for corpus and campaigns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.checker import quadratic_cases as q
from tests.checker import second_order_cases as s
from tests.checker.cases import Smooth, build
from tests.corpus.drafts import Draft, unseal

HEADS = ("nonnegative", "nonpositive", "any")
SMOOTH = tuple(s.THIRD)
Source = Callable[..., Draft]


def opened(net: q.Quadratic, claims: list[q.Pair], **options: Any) -> Draft:
    """The draft of a quadratic network."""
    return unseal(q.build(net, claims, **options))


def gap_positive(
    seed: int,
    *,
    n: int = 5,
    d: int = 2,
    slack: float = 1e-6,
    heads: str = "nonnegative",
    trained: bool = True,
) -> Draft:
    """Theorem P; without training the gap is large and as true."""
    net = q.random_network(n, d, d + 1, seed=seed, heads=heads)
    net = net.trained() if trained else net
    return opened(net, [q.gap_positive(net, room=slack)])


def gap_rank(
    seed: int, *, slack: float = 1e-6, heads: str = "nonnegative", trained: bool = True
) -> Draft:
    """Theorem P with a repeated column: rank 2 of 3."""
    base = q.random_network(5, 2, 3, seed=seed, heads=heads)
    X = np.hstack([base.X, base.X[:, :1]])
    net = q.Quadratic(X, base.y, np.hstack([base.W, base.W[:, :1]]), base.v)
    net = net.trained() if trained else net
    return opened(net, [q.gap_positive(net, room=slack, rows=np.array([0, 3]))])


def gap_span(seed: int, *, n: int = 5, d: int = 2, slack: float = 1e-2) -> Draft:
    """Theorem S."""
    net = q.random_network(n, d, d + 1, seed=seed, heads="any")
    return opened(net, [q.gap_span(net, slack=1 + slack)])


def gap_decay(
    seed: int,
    *,
    d: int = 2,
    v_max: float = 1.0,
    slack: float = 1e-7,
    heads: str = "any",
    trained: bool = True,
) -> Draft:
    """Theorem D."""
    net = q.random_network(5, d, d + 2, seed=seed, heads=heads)
    net = net.trained(0.5) if trained else net
    return opened(net, [q.gap_decay(net, 0.5, heads=heads, v_max=v_max, room=slack)])


def identifies(
    seed: int, *, n: int = 4, d: int = 2, stable: bool = False, slack: float = 1e-2
) -> Draft:
    """The rank claim."""
    net = q.random_network(n, d, d, seed=seed)
    return opened(net, [q.identifies_claim(net, stable=stable, slack=1 + slack)])


def ambiguous(seed: int, *, d: int = 2, slack: float = 1e-2) -> Draft:
    """One sample less than would be needed."""
    net = q.random_network(d * (d + 1) // 2 - 1, d, d + 1, seed=seed)
    return opened(net, [q.ambiguous_claim(net, slack=1 + slack)])


def ambiguous_kernel(seed: int, *, slack: float = 1e-2) -> Draft:
    """As many samples as one likes, all on the two axes."""
    rng = np.random.default_rng(seed)
    net = q.random_network(4, 2, 3, seed=seed)
    X = np.where(np.eye(2, dtype=bool)[rng.integers(2, size=4)], net.X, 0.0)
    net = q.Quadratic(X, net.y, net.W, net.v)
    return opened(net, [q.ambiguous_claim(net, np.array([[0, 1], [1, 0]]), slack=1 + slack)])


def barrier(seed: int, *, n: int = 7, d: int = 2, norm: str = "rows", slack: float = 1e-3) -> Draft:
    """Labels of a planted network with a little noise, weights near the planted ones."""
    net = q.barrier_network(n, d, d + 1, noise=0.03, distance=0.01, seed=seed)
    return opened(net, [q.barrier_claim(net, norm=norm, slack=1 + slack)])


def smooth_network(seed: int, activation: str, trained: str, slope: float = 1.0) -> Smooth:
    """Four samples of two features, two neurons."""
    return s.random_smooth(4, 2, 2, activation=activation, trained=trained, seed=seed, slope=slope)


def saddle(
    seed: int,
    *,
    activation: str = "tanh",
    trained: str = "W",
    radius: str = "",
    slack: float = 1e-3,
    slope: float = 1.0,
) -> Draft:
    """The first seed from here on whose Hessian has a negative eigenvalue, with its eigenvector."""
    while True:
        net = smooth_network(seed, activation, trained, slope)
        if np.linalg.eigvalsh(s.hessian(net))[0] < -1e-3:
            return unseal(build(net, [s.saddle_claim(net, radius=radius, slack=1 + slack)]))
        seed += 1


def second_order(
    seed: int,
    *,
    activation: str = "tanh",
    trained: str = "W",
    method: str = "dense",
    slack: float = 1e-3,
    slope: float = 1.0,
) -> Draft:
    """Tolerances as measured."""
    net = smooth_network(seed, activation, trained, slope)
    return unseal(build(net, [s.second_order_claim(net, method=method, slack=1 + slack)]))


SOURCES: dict[str, Source] = {
    "gap_positive": gap_positive,
    "gap_rank": gap_rank,
    "gap_span": gap_span,
    "gap_decay": gap_decay,
    "identifies": identifies,
    "ambiguous": ambiguous,
    "ambiguous_kernel": ambiguous_kernel,
    "barrier": barrier,
    "saddle": saddle,
    "second_order": second_order,
}
