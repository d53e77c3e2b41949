"""Small honest certificates of the claim relu-trajectory: descent in floats by the plainest means,
then the witnesses of its landing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from tests.checker.cases import inverse_factor
from tests.checker.relu_descent_cases import ReluFit
from tests.checker.relu_linearized_cases import least_set, parts
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_replay import seeded_weights

LEFT = {"relu": 0.0, "abs": -1.0, "leaky_relu": 0.25}  # slopes for z < 0


@dataclass(frozen=True)
class Walked:
    """A network where gradient descent lands, and how it got there."""

    fit: ReluFit
    W0: np.ndarray
    eta: float
    K: int
    walked: float
    seed: int | None = None
    activation: str = "relu"

    @property
    def left(self) -> float:
        return LEFT[self.activation]

    def residual(self) -> np.ndarray:
        Z = self.fit.X @ self.fit.W.T
        return np.where(Z > 0, Z, self.left * Z) @ self.fit.v - self.fit.y

    def followed(self, steps: int) -> Walked:
        """So many steps more."""
        run = self
        for _ in range(steps):
            fit = run.fit
            slopes = np.where(fit.X @ fit.W.T > 0, 1.0, run.left) * fit.v
            G = (slopes * run.residual()[:, None]).T @ fit.X
            length = run.eta * float(np.linalg.norm(G))
            fit = replace(fit, W=fit.W - run.eta * G)
            run = replace(run, fit=fit, K=run.K + 1, walked=run.walked + length)
        return run


def walked(
    n: int = 2,
    d: int = 2,
    k: int = 6,
    *,
    steps: int = 12,
    share: float = 0.9,
    off: float = 0.3,
    seed: int = 0,
    seeded: bool = False,
    activation: str = "relu",
) -> Walked:
    """Descent with `share` of the step 1/(b_1 |v| |X|)^2, from labels `off` the first outputs."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    v = np.where(np.arange(k) % 2, -1.0, 1.0) / np.sqrt(k) * 2
    W0 = seeded_weights(seed, k, d) if seeded else rng.standard_normal((k, d))
    eta = float(share / (np.linalg.norm(X, 2) * np.linalg.norm(v)) ** 2)
    fit = ReluFit(X, np.zeros(n), W0, v)
    run = Walked(fit, W0, eta, 0, 0.0, seed if seeded else None, activation)
    y = run.residual() + off * rng.standard_normal(n)
    return replace(run, fit=replace(fit, y=y)).followed(steps)


def common(
    run: Walked, Delta: float, delta0: float, bits: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields and tensors of the run."""
    gram = run.fit.X.T @ run.fit.X
    x2 = float(np.linalg.eigvalsh(gram)[-1]) * 1.001
    fields: dict[str, Any] = {
        "eta": run.eta,
        "K": run.K,
        "bits": bits,
        "Delta": Delta,
        "x2": x2,
    }
    tensors = {"C_x": inverse_factor(x2 * np.eye(len(gram)) - gram)}
    if run.seed is None:
        fields["delta0"], tensors["W0"] = Fraction(delta0), run.W0
    else:
        fields["seed"] = run.seed
    return fields, tensors


def relu_trajectory_claim(
    run: Walked,
    *,
    landing: str = "descent",
    Delta: float = 1e-9,
    delta0: float = 0.0,
    bits: int = 128,
    steps: int = 4,
    norm: str = "factor",
    **changes: Any,
) -> tuple[dict, dict] | None:
    """An honest claim with its tensors, or None if no set U closes."""
    fields, tensors = common(run, Delta, delta0, bits)
    moved = np.linalg.norm(run.fit.v) * np.sqrt(fields["x2"]) * Delta * 1.000001
    if landing == "loss":
        size = float(np.linalg.norm(run.residual()))
        fields["loss_upper"] = Fraction(size * size) + Fraction(1, 10**30)
        fields["bound"] = float((size + moved) ** 2 / 2 * 1.001)
    else:
        rooms = np.linalg.norm(run.fit.X, axis=1)[:, None] * Delta * 1.000001
        options = {"norm": norm, "eta": run.eta, "moved": float(moved)}
        found = least_set(run.fit, steps, rooms=rooms, **options)
        if found is None:
            return None
        more, witnesses = parts(run.fit, found, steps, norm)
        more["path"] = float((more["path"] + run.walked) * 1.001 + 2 * (run.K + 1) * Delta)
        fields, tensors = more | fields, witnesses | tensors
    claim = gmc.claim("relu-trajectory", landing=landing, **(fields | changes))
    return claim, tensors


def relu_trajectory_file(run: Walked, **options: Any) -> bytes:
    """A sealed file with this one claim."""
    found = relu_trajectory_claim(run, **options)
    assert found is not None, "no set U closes"
    return build_relu(run, [found])


def build_relu(run: Walked, claims: list[tuple[dict, dict]], **options: Any) -> bytes:
    """A certificate file about the network of a run."""
    fit = run.fit
    parameter = {"parameter": Fraction(run.left)} if run.activation == "leaky_relu" else {}
    known = {"activation": run.activation} | parameter | options
    return gmc.build(fit.X, fit.y, fit.W, fit.v, claims, **known)
