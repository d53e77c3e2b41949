"""Small honest certificates of the claim head-gap, by numpy least squares and Cholesky factors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tests.corpus.small_producer import inverse_factor
from tests.oracles import gmc_builder as gmc

PHI: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda z: np.maximum(z, 0),
    "abs": np.abs,
    "linear": lambda z: z,
    "quadratic": np.square,
    "softplus": lambda z: np.logaddexp(0, z),
    "tanh": np.tanh,
}


@dataclass(frozen=True)
class Head:
    """A network of which only the head matters."""

    X: np.ndarray
    y: np.ndarray
    W: np.ndarray
    v: np.ndarray
    activation: str = "relu"

    def features(self) -> np.ndarray:
        return PHI[self.activation](self.X @ self.W.T)

    def residual(self) -> np.ndarray:
        return self.features() @ self.v - self.y

    def loss(self) -> float:
        return 0.5 * float(self.residual() @ self.residual())

    def trained(self, off: float = 0.0) -> Head:
        best = np.linalg.lstsq(self.features(), self.y, rcond=None)[0]
        return replace(self, v=best + off * np.cos(np.arange(len(best))))


def random_head(n: int, d: int, k: int, *, activation: str = "relu", seed: int = 0) -> Head:
    """The first draw whose features have full rank: few ReLU neurons are often dead."""
    rng = np.random.default_rng(seed)
    while True:
        X, W = rng.standard_normal((n, d)), rng.standard_normal((k, d))
        net = Head(X, rng.standard_normal(n), W, rng.standard_normal(k), activation)
        if np.linalg.svd(net.features(), compute_uv=False)[-1] > 0.1:
            return net


def head_claim(
    net: Head, *, share: float = 0.9, slack: float = 1.001, z: np.ndarray | None = None
) -> tuple[dict, dict]:
    """The claim of the method that the sizes ask for; `share` of the least eigenvalue is mu."""
    Q, r = net.features(), net.residual()
    n, k = Q.shape
    G = Q.T @ Q if k < n else Q @ Q.T
    mu = share * float(np.linalg.eigvalsh(G)[0])
    tensors = {"C": inverse_factor(G - mu * np.eye(len(G)))}
    fields: dict[str, Any] = {"loss_upper": slack * net.loss() + 1e-12, "mu": mu}
    if k >= n:
        R = slack * float(np.linalg.norm(r)) / mu**0.5 + 1e-12
        return gmc.claim("head-gap", method="rows", R=R, **fields), tensors
    tensors["z"] = np.linalg.lstsq(Q, r, rcond=None)[0] if z is None else z
    fit = Q @ tensors["z"]
    size = float(np.linalg.norm(fit) + np.linalg.norm(Q.T @ (r - fit)) / mu**0.5)
    gap = slack * size**2 / 2 + 1e-12
    return gmc.claim("head-gap", method="columns", gap=gap, **fields), tensors


def build(net: Head, claims: list[tuple[dict, dict]] | None = None, **options: Any) -> bytes:
    """A sealed file."""
    chosen = [head_claim(net)] if claims is None else claims
    return gmc.build(
        net.X, net.y, net.W, net.v, chosen, **({"activation": net.activation} | options)
    )
