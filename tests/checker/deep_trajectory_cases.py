"""Small honest certificates of the claim deep-trajectory: descent in floats by the plainest means,
then the witnesses of deep-descent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from tests.checker import deep_cases as deep
from tests.checker.cases import inverse_factor
from tests.checker.deep_cases import Deep
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_replay import seeded_weights


@dataclass(frozen=True)
class DeepWalk:
    """A network where gradient descent on all layers lands, and how it got there."""

    net: Deep
    start: Deep
    eta: float
    K: int
    walked: float
    seed: int | None = None

    def followed(self, steps: int) -> DeepWalk:
        """So many steps more."""
        run = self
        for _ in range(steps):
            G = run.net.jacobian().T @ (run.net.outputs() - run.net.y)
            length = run.eta * float(np.linalg.norm(G))
            net = run.net.at(run.net.theta() - run.eta * G)
            run = replace(run, net=net, K=run.K + 1, walked=run.walked + length)
        return run


def deep_walk(
    depth: int = 2,
    *,
    n: int = 2,
    m: int = 3,
    kind: str = "dense",
    activation: str = "tanh",
    steps: int = 6,
    share: float = 0.5,
    off: float = 0.003,
    seed: int = 0,
    seeded: bool = False,
) -> DeepWalk:
    """Descent with `share` of the step 1/|J|^2 at the start, from labels `off` the first
    outputs.
    """
    start = deep.random_deep(depth, kind=kind, activation=activation, n=n, m=m, seed=seed)
    if seeded:
        start = start.at(seeded_weights(seed, 1, len(start.theta())).ravel())
    rng = np.random.default_rng([seed, 1])
    start = replace(start, y=start.outputs() + off * rng.standard_normal(n))
    eta = float(share / np.linalg.norm(start.jacobian(), 2) ** 2)
    return DeepWalk(start, start, eta, 0, 0.0, seed if seeded else None).followed(steps)


def deep_trajectory_claim(
    run: DeepWalk,
    *,
    Delta: float = 1e-9,
    t: float | None = None,
    delta0: float = 0.0,
    bits: int = 128,
    norm: str = "factor",
    **changes: Any,
) -> tuple[dict, dict]:
    """An honest claim with its tensors."""
    net, J = run.net, run.net.jacobian()
    G, n = J @ J.T, len(net.y)
    values = np.linalg.eigvalsh(G)
    a2 = float(values[0]) * 0.999
    b2 = float(values[-1] if norm == "factor" else np.abs(G).sum(axis=1).max()) * 1.001
    grams = [W @ W.T if W.shape[0] <= W.shape[1] else W.T @ W for W in net.weights]
    omega = [float(np.sqrt(np.linalg.eigvalsh(A)[-1] * 1.001)) for A in grams]
    g = float(np.linalg.norm(net.outputs() - net.y)) * (1 + 1e-9) + 1e-14
    loss = Fraction(g * g)
    radius = (g + np.sqrt(b2) * Delta) / np.sqrt(a2) * 1.2 if t is None else t
    Lam = net.lipschitz(omega, radius + Delta) * (1 + 1e-9)
    a = np.sqrt(a2) - Lam * Delta
    fields: dict[str, Any] = {
        "a2": a2,
        "b2": b2,
        "t": float(radius),
        "eta": run.eta,
        "norm": norm,
        "rate": max(
            1 - Fraction(run.eta) * Fraction(float(a - Lam * radius)) ** 2 * Fraction(999, 1000),
            Fraction(0),
        ),
        "loss_upper": loss,
        "K": run.K,
        "bits": bits,
        "Delta": Delta,
        "path": float((run.walked + radius) * 1.001 + 2 * (run.K + 1) * Delta),
    }
    tensors = {"C_a": inverse_factor(G - a2 * np.eye(n)), "omega": np.array(omega)}
    for h, (A, om) in enumerate(zip(grams, omega, strict=True), start=1):
        tensors[f"C_omega_{h}"] = inverse_factor(om**2 * np.eye(len(A)) - A)
    if norm == "factor":
        tensors["C_b"] = inverse_factor(b2 * np.eye(n) - G)
    if run.seed is None:
        fields["delta0"] = Fraction(delta0)
        tensors |= {f"W0_{h}": W for h, W in enumerate(run.start.weights, start=1)}
        tensors["v0"] = run.start.v
    else:
        fields["seed"] = run.seed
    return gmc.claim("deep-trajectory", **(fields | changes)), tensors


def deep_trajectory_file(run: DeepWalk, **options: Any) -> bytes:
    """A sealed file with this one claim."""
    return deep.build(run.net, [deep_trajectory_claim(run, **options)])
