"""Instances and honest claims of unique-minimum."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from tests.checker.cases import (
    Smooth,
    build,
    inverse_factor,
    local_suprema,
    loss_bound,
    svec_matrix,
)
from tests.checker.second_order_cases import (
    THIRD,
    blocks,
    gradient,
    hessian,
    jacobian,
    third_derivative,
)
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_checker import check_bytes as slow_check

from globalmin_check.engine import check_bytes

Pair = tuple[dict[str, Any], dict[str, Any]]
ACTIVATIONS = ["softplus", "sigmoid", "tanh", "erf", "quadratic"]
FORMS = ["plain", "split", "tensor", "mixed"]


def verdicts(net: Smooth, pair: Pair, **options: Any) -> tuple[str, str]:
    raw = build(net, [pair], **options)
    fast, slow = check_bytes(raw), slow_check(raw)
    assert fast.verdict.value == slow.verdict, (fast.reason, slow.reason)
    return fast.verdict.value, fast.reason


def minimum(activation: str, *, noise: float = 0.02, n: int = 12, seed: int = 0) -> Smooth:
    """A network at a strict local minimum in W of labels near the outputs of first weights, by
    damped Newton steps.
    """
    rng = np.random.default_rng(seed)
    X, W = (
        rng.standard_normal((n, 2)),
        np.array([[1.0, 0.3], [-0.2, 0.9]]) + 0.1 * rng.standard_normal((2, 2)),
    )
    # more neurons would move along the orthogonal group at the same loss
    k = 1 if activation == "quadratic" else 2
    first = Smooth(X, np.zeros(n), W[:k], np.array([1.0, -0.75])[:k], activation)
    net = replace(first, y=first.residual() + noise * rng.standard_normal(n))
    for _ in range(80):
        H, g = hessian(net), gradient(net)
        shift = max(0.0, 1e-3 - float(np.linalg.eigvalsh(H)[0]))
        net = replace(net, W=net.W - np.linalg.solve(H + shift * np.eye(len(g)), g).reshape(k, 2))
    assert np.linalg.norm(gradient(net)) < 1e-10
    assert np.linalg.eigvalsh(hessian(net))[0] > 0
    return net


def _third_slices(net: Smooth, whole: bool) -> np.ndarray:
    """Derivatives of the Hessian or of its residual part by its definition, all triples of
    parameters.
    """
    k, d = net.W.shape
    J, r = jacobian(net), net.residual()
    D, third = net.values()[2] * net.v, third_derivative(net) * net.v
    F2, F3 = np.zeros((len(r), k * d, k * d)), np.zeros((len(r), k * d, k * d, k * d))
    for j in range(k):
        part = slice(j * d, (j + 1) * d)
        F2[:, part, part] = np.einsum("i,ia,ib->iab", D[:, j], net.X, net.X)
        F3[:, part, part, part] = np.einsum("i,ia,ib,ic->iabc", third[:, j], net.X, net.X, net.X)
    T = np.einsum("ia,ibc->abc", J, F2)
    return (T + T.transpose(1, 0, 2) + T.transpose(1, 2, 0) if whole else T) + np.einsum(
        "i,iabc->abc", r, F3
    )


def _sizes(net: Smooth, r: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    head, reach = np.abs(net.v), r * np.linalg.norm(net.X, axis=1)
    cap, slope = THIRD[net.activation]
    n1 = np.linalg.norm(head * local_suprema(net, 1, r), axis=1)
    s3 = np.minimum(cap, np.abs(third_derivative(net)) + slope * reach[:, None])
    top2, top3 = np.max(head * local_suprema(net, 2, r), axis=1), np.max(head * s3, axis=1)
    return n1, top2, top3, np.abs(net.residual()) + reach * n1, float(slope * head.max())


def _quartic(net: Smooth, q: np.ndarray, t: float | None) -> tuple[dict[str, Any], np.ndarray]:
    if t is None:
        A = (net.X.T * (q * np.sum(net.X**2, axis=1))) @ net.X
    else:
        S, u = svec_matrix(net.X)
        A = (S.T * q) @ S - t * (np.outer(u, u) - np.eye(len(u)))
    kappa = float(np.linalg.eigvalsh(A)[-1]) * 1.001 + 1e-9
    field = (
        {"kappa": kappa, "method": "rows"}
        if t is None
        else {"kappa": kappa, "method": "svec", "t": t}
    )
    return field, inverse_factor(kappa * np.eye(len(A)) - A)


def unique_claim(
    net: Smooth, form: str, r: float, *, t: float | None = None, **changes: Any
) -> tuple[Pair, float]:
    """The claim at radius r with its witness, and the modulus it reaches (negative: the claim is
    false as it stands).
    """
    n1, top2, top3, e, top4 = _sizes(net, r)
    H, N, p = hessian(net), np.zeros((net.W.size, net.W.size)), net.W.size
    for j, block in enumerate(blocks(net)):
        N[2 * j : 2 * j + 2, 2 * j : 2 * j + 2] = block
    tau, fields, tensors, S = (
        (0.25 if form in ("split", "mixed") else 0.0),
        {},
        {},
        np.zeros((p, p)),
    )
    a = b = 0.0
    if form in ("plain", "split"):
        c = (3 if form == "plain" else 1) * n1 * top2 + e * top3
        second = (net.X.T * c) @ net.X
        lam = float(np.linalg.eigvalsh(second)[-1]) * 1.001 + 1e-9
        fields["quartic"], tensors["C_kappa"] = _quartic(net, c, t)
        fields["lam"], tensors["C_lam"] = lam, inverse_factor(lam * np.eye(2) - second)
        a = float(np.sqrt(lam * fields["quartic"]["kappa"]))
    if form == "split":
        fields["square"], tensors["C_square"] = _quartic(net, top2**2, t)
        b = (1 / tau - 1) * fields["square"]["kappa"]
    if form == "tensor":
        F = _third_slices(net, True).reshape(p, -1)
        flat2 = float(np.linalg.eigvalsh(F @ F.T)[-1]) * 1.001 + 1e-9
        fields["flat2"], tensors["C_flat"] = flat2, inverse_factor(flat2 * np.eye(p) - F @ F.T)
        fields["quartic"], tensors["C_kappa"] = _quartic(
            net, 1.5 * top2**2 + (4 * n1 * top3 + e * top4) / 2, t
        )
        a, b = float(np.sqrt(flat2)), fields["quartic"]["kappa"]
    if form == "mixed":
        q = (1 / tau - 0.5) * top2**2 + (2 * n1 * top3 + e * top4) / 2
        fields["quartic"], tensors["C_kappa"] = _quartic(net, q, t)
        b, T, V = fields["quartic"]["kappa"], _third_slices(net, False), []
        for j in range(len(net.v)):
            part = T[:, 2 * j : 2 * j + 2, 2 * j : 2 * j + 2]
            V.append(
                np.linalg.cholesky(
                    np.sqrt(np.linalg.eigvalsh(np.einsum("aij,ajk->ik", part, part))[-1] + 1e-12)
                    * np.eye(2)
                )
            )
            Y = V[j] @ V[j].T
            whole = (Y + np.einsum("aij,jk,akl->il", part, np.linalg.inv(Y), part)) / 2
            S[2 * j : 2 * j + 2, 2 * j : 2 * j + 2] = whole
        tensors["V"] = np.vstack(V)
    if tau:
        fields["tau"] = tau
    low, high = (1 - tau) * H + tau * N - r * S, (1 + tau) * H - tau * N + r * S
    m0, M0 = float(np.linalg.eigvalsh(low)[0]) * 0.999, float(np.linalg.eigvalsh(high)[-1]) * 1.001
    mu = (m0 - a * r - b * r * r) * 0.999
    if mu <= 0 or m0 <= 0:
        return ({}, {}), min(mu, m0)
    tensors |= {
        "C_m": inverse_factor(low - m0 * np.eye(p)),
        "C_M": inverse_factor(M0 * np.eye(p) - high),
    }
    M = (M0 + a * r + b * (1 + tau) / (1 - tau) * r * r) * 1.001
    eta = 2 / (mu + M) * 0.999
    s = float(np.linalg.norm(gradient(net))) / m0 * 1.01 + 1e-13
    fields |= {
        "form": form,
        "r": r,
        "r_minus": s,
        "mu": mu,
        "M": M,
        "eta": eta,
        "rate": 1 - 0.999 * eta * mu,
    }
    fields |= {"m0": m0, "M0": M0, "loss_upper": loss_bound(net)}
    return (
        gmc.claim("unique-minimum", theorem="local-convexity/1", **(fields | changes)),
        tensors,
    ), mu


def largest_claim(net: Smooth, form: str, *, t: float | None = None) -> Pair:
    r = 4.0
    while unique_claim(net, form, r, t=t)[1] <= 0:
        r *= 0.8
    return unique_claim(net, form, 0.9 * r, t=t)[0]


def golden(r: Fraction, **changes: Any) -> tuple[Smooth, Pair]:
    """W = y = 1: H = 4, c = 12 (1 + r), a = c; mu = 4 - 12 (1 + r) r."""
    net = Smooth(np.ones((1, 1)), np.ones(1), np.ones((1, 1)), np.ones(1), "quadratic")
    c, m0, M0 = 12 * (1 + r) + Fraction(1, 10**6), 4 - Fraction(1, 10**6), 4 + Fraction(1, 10**6)
    mu, M = m0 - c * r, M0 + c * r
    fields = {
        "form": "plain",
        "r": r,
        "r_minus": Fraction(0),
        "mu": mu - Fraction(1, 10**9),
        "M": M + Fraction(1, 10**9),
    }
    fields |= {
        "m0": m0,
        "M0": M0,
        "lam": c,
        "quartic": {"kappa": c, "method": "rows"},
        "loss_upper": Fraction(0),
    }
    eta = 2 / (fields["mu"] + fields["M"])
    fields |= {"eta": eta, "rate": 1 - eta * fields["mu"]} | changes
    wide = np.array([[1e3]])
    return net, (
        gmc.claim("unique-minimum", theorem="local-convexity/1", **fields),
        dict.fromkeys(("C_m", "C_M", "C_lam", "C_kappa"), wide),
    )
