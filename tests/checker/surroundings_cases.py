"""Honest claims about the ball around a second-order point: the Lipschitz constant of both layers,
epsilon, a minimum nearby.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from tests.checker.cases import Smooth, inverse_factor, local_suprema
from tests.checker.quadratic_cases import Pair
from tests.checker.second_order_cases import (
    THIRD,
    _constants,
    gradient,
    hessian,
    random_smooth,
    second_order_claim,
    third_derivative,
)
from tests.oracles.gmc_builder import written


def third_suprema(net: Smooth, R: float) -> np.ndarray:
    power = {"softplus": 2, "sigmoid": 3}.get(net.activation, 0)
    cap, slope = (
        bound * net.slope ** (power + j * bool(power))
        for j, bound in enumerate(THIRD[net.activation])
    )
    reach = R * np.linalg.norm(net.X, axis=1, keepdims=True)
    return np.minimum(cap, np.abs(third_derivative(net)) + slope * reach)


def lipschitz_of_both(net: Smooth, R: float) -> float:
    """The lemma for both layers, with the exact 2/(3 sqrt 3) rounded as the format says."""
    norms, head = np.linalg.norm(net.X, axis=1), np.abs(net.v) + R
    s1, s2, s3 = local_suprema(net, 1, R), local_suprema(net, 2, R), third_suprema(net, R)
    n0 = np.linalg.norm(np.abs(net.values()[0]) + s1 * R * norms[:, None], axis=1)
    n1, m1, p2 = np.linalg.norm(head * s1, axis=1), s1.max(axis=1), s2.max(axis=1)
    m2, m3 = (head * s2).max(axis=1), (head * s3).max(axis=1)
    e = np.abs(net.residual()) + R * np.hypot(n0, n1 * norms)
    P, Q = 6 * n0 * m1 * norms, (3 * n0 * m2 + 6 * n1 * m1 + 3 * e * p2) * norms**2
    return float(np.sum(0.385 * (P + Q) + (3 * n1 * m2 + e * m3) * norms**3))


def third_along(net: Smooth, h: np.ndarray) -> float:
    """The third derivative of L along h: the sum over the samples of 3 f_1 f_2 + r f_3, f_j the
    derivatives of the output.
    """
    k = len(net.v) if net.trained == "vW" else 0
    u, s = (h[:k] if k else np.zeros(len(net.v))), net.X @ h[k:].reshape(net.W.shape).T
    (Q, P, D), T = net.values(), third_derivative(net)
    first = Q @ u + (P * s) @ net.v
    second = 2 * (P * s) @ u + (D * s**2) @ net.v
    third = 3 * (D * s**2) @ u + (T * s**3) @ net.v
    return float(np.sum(3 * first * second + net.residual() * third))


def constants(
    net: Smooth, R: float, slack: float = 1.001
) -> tuple[float, dict[str, Any], dict[str, np.ndarray]]:
    """Lam on the ball of radius R, the fields that claim it and their tensors."""
    if net.trained == "vW":
        Lip = lipschitz_of_both(net, R) * slack
        return Lip, {"Lip": Lip}, {}
    lam, kappa, A, B = _constants(net, R, "rows", 0.0, slack)
    fields = {"lam": lam, "quartic": {"kappa": kappa, "method": "rows"}}
    return (
        float(np.sqrt(lam * kappa)),
        fields,
        {"C_lam": inverse_factor(A), "C_kappa": inverse_factor(B)},
    )


def surroundings_claim(
    net: Smooth, R: float, *, method: str = "dense", minimum: bool = False, **changes: Any
) -> Pair:
    """The claim with the object `radius`: the least epsilon, and the least distance of a
    minimum.
    """
    fields, tensors = second_order_claim(net, method=method)
    Lam, radius, factors = constants(net, R)
    eps = float(np.linalg.norm(gradient(net))) * (1 + 1e-9) + 1e-12
    H = hessian(net)
    delta = (
        max(0.0, -float(np.linalg.eigvalsh(H)[0])) * 1.001 + 1e-6
        if method == "dense"
        else float(_fraction(fields["delta"]))
    )
    radius |= {"R": R, "epsilon": max(eps, delta**2 / Lam) * (1 + 1e-9)}
    if minimum:
        mu = float(np.linalg.eigvalsh(H)[0]) * 0.999
        distance = 2 * eps / (mu + np.sqrt(mu**2 - 2 * Lam * eps)) * 1.001
        radius["minimum"] = {"mu": mu, "distance": distance}
        factors |= {"C_mu": inverse_factor(H - mu * np.eye(len(H)))}
    return fields | {"radius": written(_merged(radius, changes))}, tensors | factors


def _fraction(text: str) -> float:
    top, _, bottom = text.partition("/")
    return int(top) / int(bottom or "1")


def _merged(radius: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    inner = {name: value for name, value in changes.items() if name in ("mu", "distance")}
    outer = {name: value for name, value in changes.items() if name not in inner}
    if "kappa" in outer:
        outer["quartic"] = radius["quartic"] | {"kappa": outer.pop("kappa")}
    if inner:
        outer["minimum"] = radius["minimum"] | inner
    return radius | outer


def near_a_minimum(activation: str, trained: str, *, seed: int = 0, offset: float = 1e-5) -> Smooth:
    """A network a little beside a strict local minimum: many samples, labels of a teacher with
    noise, damped Newton steps.
    """
    # z^2 with two neurons has a flat direction
    k = 1 if trained == "vW" or activation == "quadratic" else 2
    net = random_smooth(14, 2, k, activation=activation, trained=trained, seed=seed)
    rng = np.random.default_rng(seed)
    net = replace(net, y=net.y * 0.1 + (net.residual() + net.y))
    for _ in range(60):
        H, g = hessian(net), gradient(net)
        low = float(np.linalg.eigvalsh(H)[0])
        net = moved(net, -np.linalg.solve(H + max(0.0, 1e-3 - 2 * low) * np.eye(len(H)), g))
    return moved(net, offset * rng.standard_normal(len(gradient(net))))


def moved(net: Smooth, step: np.ndarray) -> Smooth:
    """The network at theta + step, theta = (v if trained, W row by row)."""
    k = len(net.v) if net.trained == "vW" else 0
    return replace(net, v=net.v + step[:k] if k else net.v, W=net.W + step[k:].reshape(net.W.shape))
