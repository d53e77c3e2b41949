"""Small honest certificates of the claim trajectory: gradient descent in floats by the plainest
means, then the witnesses of descent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from tests.checker.cases import Smooth, build, curvature, loss_bound
from tests.corpus.small_producer import inverse_factor
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_checker import check_bytes as slow_check
from tests.oracles.fraction_replay import seeded_weights

from globalmin_check.engine import check_bytes


@dataclass(frozen=True)
class Descended:
    """A network where gradient descent lands, and how it got there."""

    net: Smooth
    W0: np.ndarray
    eta: float
    K: int
    walked: float
    seed: int | None = None
    v0: np.ndarray | None = None  # where both layers moved


def descended(
    n: int = 2,
    d: int = 2,
    k: int = 4,
    *,
    activation: str = "tanh",
    steps: int = 40,
    share: float = 0.5,
    seed: int = 0,
    seeded: bool = False,
    trained: str = "W",
) -> Descended:
    """Descent with `share` of the step 1/(b_1 |v| |X|)^2 (for z^2 and for both layers: half of
    1/|J|^2 at the start).
    """
    rng = np.random.default_rng(seed)
    X = np.linalg.qr(rng.standard_normal((max(n, d), max(n, d))))[0][:n, :d]
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    v = np.where(np.arange(k) % 2, -1.0, 1.0) / np.sqrt(k) * 2
    W0 = seeded_weights(seed, k, d) if seeded else rng.standard_normal((k, d))
    net = Smooth(X, np.zeros(n), W0, v, activation, trained)
    net = replace(net, y=net.residual() + 0.1 * rng.standard_normal(n))
    size = np.linalg.norm(X, 2) * np.linalg.norm(v)
    local = activation == "quadratic" or trained == "vW"
    bound = np.linalg.eigvalsh(net.gram())[-1] * 2 if local else size**2
    eta = float(share / bound)
    walked = 0.0
    for _ in range(steps):
        Q, P, _ = net.values()
        G = (P * net.v * net.residual()[:, None]).T @ X
        g = Q.T @ net.residual() * (trained == "vW")
        walked += eta * float(np.hypot(np.linalg.norm(G), np.linalg.norm(g)))
        net = replace(net, W=net.W - eta * G, v=net.v - eta * g)
    v0 = v if trained == "vW" else None
    return Descended(net, W0, eta, steps, walked, seed if seeded else None, v0)


def trajectory_claim(
    run: Descended,
    *,
    Delta: float = 1e-9,
    rho: float = 0.05,
    expansion: str | None = None,
    delta0: float = 0.0,
    bits: int = 128,
    **changes: Any,
) -> tuple[dict, dict]:
    """An honest claim with its tensors."""
    net = run.net
    fields, tensors, a, Lip = curvature(net, rho=rho)
    K = net.gram()
    b2 = float(np.max(np.sum(np.abs(K), axis=1))) * 1.001
    b = np.sqrt(b2)
    g = float(np.linalg.norm(net.residual())) * 1.000001 + 1e-13 + (b + Lip * Delta) * Delta
    a = a - Lip * Delta
    alpha2 = a * a - 2 * Lip * g
    S = 2 * g / (a + np.sqrt(max(alpha2, 0.0)))
    gram = net.X.T @ net.X
    x2 = float(np.linalg.eigvalsh(gram)[-1]) * 1.001
    fields |= {
        "b2": b2,
        "norm": "rows",
        "eta": run.eta,
        "rate": 1 - Fraction(run.eta) * Fraction(float(alpha2)) * Fraction(999, 1000),
        "path": float((S + run.walked) * 1.001 + 2 * (run.K + 1) * Delta),
        "loss_upper": loss_bound(net),
        "K": run.K,
        "bits": bits,
        "Delta": Delta,
        "x2": x2,
        "expansion": expansion or ("norm" if run.v0 is None else "rows"),
    }
    tensors["C_x"] = inverse_factor(x2 * np.eye(len(gram)) - gram)
    if run.seed is None:
        fields["delta0"], tensors["W0"] = Fraction(delta0), run.W0
    else:
        fields["seed"] = run.seed
    if run.v0 is not None:
        tensors["v0"] = run.v0
    return gmc.claim("trajectory", **(fields | changes)), tensors


def trajectory_file(run: Descended, **options: Any) -> bytes:
    """A sealed file with this one claim."""
    return build(run.net, [trajectory_claim(run, **options)])


def verdict(raw: bytes) -> str:
    """Of both checkers, after they were seen to agree."""
    fast, slow = check_bytes(raw), slow_check(raw)
    assert fast.verdict.value == slow.verdict, (fast.reason, slow.reason)
    return fast.verdict.value
