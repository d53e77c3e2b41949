"""Honest strict-saddle and second-order-stationary claims of small smooth networks, in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.checker.cases import Smooth, inverse_factor, local_suprema, loss_bound, svec_matrix
from tests.checker.quadratic_cases import Pair, claim

# sup |phi'''| and sup |phi''''| at slope 1
THIRD = {
    "softplus": (0.09622505, 0.125),
    "sigmoid": (0.125, 0.12768393),
    "tanh": (2.0, 4.08588551),
    "erf": (2.25675834, 4.40470272),
    "quadratic": (0.0, 0.0),
}


def random_smooth(
    n: int,
    d: int,
    k: int,
    *,
    activation: str,
    trained: str = "W",
    seed: int = 0,
    slope: float = 1.0,
) -> Smooth:
    """Random weights, random labels, heads of both signs."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    W, v = rng.standard_normal((k, d)), rng.choice([-1.0, 1.0], k) * rng.uniform(0.5, 2, k)
    return Smooth(X, y, W, v, activation, trained, slope)


def jacobian(net: Smooth) -> np.ndarray:
    Q, P, _ = net.values()
    J = ((P * net.v)[:, :, None] * net.X[:, None, :]).reshape(len(net.y), -1)
    return np.hstack([Q, J]) if net.trained == "vW" else J


def blocks(net: Smooth) -> list[np.ndarray]:
    r, D = net.residual(), net.values()[2]
    return [(net.X.T * (v * r * D[:, j])) @ net.X for j, v in enumerate(net.v)]


def hessian(net: Smooth) -> np.ndarray:
    k, d = net.W.shape
    J, P, r = jacobian(net), net.values()[1], net.residual()
    H, offset = J.T @ J, k if net.trained == "vW" else 0
    for j, block in enumerate(blocks(net)):
        part = slice(offset + j * d, offset + (j + 1) * d)
        H[part, part] += block
        if offset:
            H[j, part] += (r * P[:, j]) @ net.X
            H[part, j] = H[j, part]
    return H


def gradient(net: Smooth) -> np.ndarray:
    return jacobian(net).T @ net.residual()


def third_derivative(net: Smooth) -> np.ndarray:
    z, b = net.X @ net.W.T, net.slope
    Q, P, D = net.values()
    return {
        "softplus": b * D * (1 - 2 * P),
        "sigmoid": b * P * (b - 6 * P),
        "tanh": P * (4 - 6 * P),
        "erf": (4 * z * z - 2) * P,
        "quadratic": np.zeros_like(Q),
    }[net.activation]


def lipschitz_weights(net: Smooth, R: float) -> np.ndarray:
    """c_i of the Hessian Lipschitz lemma."""
    head, reach = np.abs(net.v), R * np.linalg.norm(net.X, axis=1)
    power = {"softplus": 2, "sigmoid": 3}.get(net.activation, 0)
    cap, slope = (
        bound * net.slope ** (power + j * bool(power))
        for j, bound in enumerate(THIRD[net.activation])
    )
    n1 = np.linalg.norm(head * local_suprema(net, 1, R), axis=1)
    s3 = np.minimum(cap, np.abs(third_derivative(net)) + slope * reach[:, None])
    top2, top3 = np.max(head * local_suprema(net, 2, R), axis=1), np.max(head * s3, axis=1)
    return 3 * n1 * top2 + (np.abs(net.residual()) + reach * n1) * top3


def _constants(
    net: Smooth, R: float, method: str, t: float, slack: float
) -> tuple[float, float, np.ndarray, np.ndarray]:
    c = lipschitz_weights(net, R)
    second = (net.X.T * c) @ net.X
    if method == "rows":
        form = (net.X.T * (c * np.sum(net.X**2, axis=1))) @ net.X
    else:
        S, u = svec_matrix(net.X)
        form = (S.T * c) @ S - t * (np.outer(u, u) - np.eye(len(u)))
    lam, kappa = (float(np.linalg.eigvalsh(A)[-1]) * slack for A in (second, form))
    return lam, kappa, lam * np.eye(len(second)) - second, kappa * np.eye(len(form)) - form


def saddle_claim(
    net: Smooth, *, radius: str = "", t: float = 0.0, slack: float = 1.001, **changes: Any
) -> Pair:
    """The eigenvector of the least eigenvalue; with `radius` ("rows" or "svec") the largest ball
    that can be proved.
    """
    eigenvalues, vectors = np.linalg.eigh(hessian(net))
    k, direction = len(net.v), vectors[:, 0] * 3.0
    offset = k if net.trained == "vW" else 0
    gamma = -float(eigenvalues[0]) * (1 - (slack - 1) / 1000)
    fields: dict[str, Any] = {"trained": net.trained, "gamma": gamma, "loss_upper": loss_bound(net)}
    fields["eps"] = float(np.linalg.norm(gradient(net))) * (1 + 1e-9) + 1e-12
    tensors = {"U": direction[offset:].reshape(net.W.shape)} | (
        {"u": direction[:k]} if offset else {}
    )
    if radius:
        low, high = 0.0, gamma
        for _ in range(60):
            R = (low + high) / 2
            lam, kappa, _, _ = _constants(net, R, radius, t, slack)
            low, high = (R, high) if R * np.sqrt(lam * kappa) < gamma / slack else (low, R)
        lam, kappa, A, B = _constants(net, low, radius, t, slack)
        quartic = {"method": radius, "kappa": kappa} | ({"t": t} if radius == "svec" else {})
        fields["radius"] = {"R": low, "lam": lam, "quartic": quartic}
        tensors |= {"C_lam": inverse_factor(A), "C_kappa": inverse_factor(B)}
    return claim("strict-saddle", **(fields | changes)), tensors


def second_order_claim(
    net: Smooth, *, method: str = "dense", slack: float = 1.001, **changes: Any
) -> Pair:
    """The least delta that the method proves, with a little room."""
    parts = [hessian(net)] if method == "dense" else blocks(net)
    delta = max(0.0, *(-float(np.linalg.eigvalsh(A)[0]) for A in parts)) * slack + 1e-6
    factors = [inverse_factor(A + delta * np.eye(len(A))) for A in parts]
    if method == "blocks":
        factors = [
            factor if v else np.zeros_like(factor) for factor, v in zip(factors, net.v, strict=True)
        ]
    eps = float(np.linalg.norm(gradient(net))) * (1 + 1e-9) + 1e-12
    fields = {
        "trained": net.trained,
        "method": method,
        "eps": eps,
        "delta": delta,
        "loss_upper": loss_bound(net),
    }
    return claim("second-order-stationary", **(fields | changes)), {"C": np.vstack(factors)}
