"""Small honest certificates of runs that land in a loss, and of stochastic runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from tests.checker.cases import SUPREMA, Smooth, build, curvature, loss_bound
from tests.checker.trajectory_cases import Descended, descended, trajectory_claim
from tests.corpus.small_producer import inverse_factor
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_replay import seeded_weights

SHARED = ("trained", "eta", "K", "bits", "Delta", "x2", "expansion", "delta0", "seed", "loss_upper")
LOCAL = ("b2", "norm", "rho", "quartic")


def loss_claim(
    run: Descended, *, constants: str = "global", room: float = 1.001, **options: Any
) -> tuple[dict, dict]:
    """An honest claim that the run has a small loss after its steps, and nothing more."""
    fields, tensors = trajectory_claim(run, **options)
    local = constants == "local"
    kept = {name: fields[name] for name in SHARED + (LOCAL if local else ()) if name in fields}
    g, Delta = float(np.linalg.norm(run.net.residual())), float(Fraction(fields["Delta"]))
    if local:
        b, Lip = (float(Fraction(x)) ** 0.5 for x in (fields["b2"], fields["quartic"]["kappa"]))
        g += (b + Lip * Delta / 2) * Delta
    else:
        b1 = SUPREMA[run.net.activation][0]
        slope = np.linalg.norm(run.net.v) * (b1 if np.isfinite(b1) else 1.0)
        g += slope * float(Fraction(fields["x2"])) ** 0.5 * Delta
    bound = float(g * g / 2 * room + 1e-30)
    roles = ("C_x", "W0", "C_kappa") if local else ("C_x", "W0")
    claim = gmc.claim("trajectory", landing="loss", constants=constants, bound=bound, **kept)
    return claim, {name: tensors[name] for name in roles if name in tensors}


def loss_file(run: Descended, **options: Any) -> bytes:
    """A sealed file with this one claim."""
    return build(run.net, [loss_claim(run, **options)])


@dataclass(frozen=True)
class Sampled:
    """A network where stochastic descent lands, and how it got there."""

    net: Smooth
    W0: np.ndarray
    eta: float
    order: np.ndarray
    walked: float
    seed: int | None = None


def sampled(
    n: int = 2,
    d: int = 2,
    k: int = 4,
    *,
    activation: str = "tanh",
    epochs: int = 30,
    share: float = 0.9,
    seed: int = 0,
    seeded: bool = False,
    noise: float = 0.1,
    tilt: float = 0.0,
) -> Sampled:
    """One permutation an epoch, with `share` of the step 1/(b_1 |v| max|x_i|)^2; labels at about
    `noise` from the first outputs. Steps of orthogonal rows commute: `tilt` makes the last not
    orthogonal to the first.
    """
    first = descended(n, d, k, activation=activation, steps=0, seed=seed).net
    X = first.X.copy()
    X[-1] = X[-1] + tilt * X[0]
    first = replace(first, X=X / np.linalg.norm(X, axis=1, keepdims=True))
    rng = np.random.default_rng([seed, 1])
    W0 = seeded_weights(seed, k, d) if seeded else first.W
    net = replace(first, W=W0, y=np.zeros(n))
    net = replace(net, y=net.residual() + noise * rng.standard_normal(n))
    longest = float(np.max(np.sum(net.X**2, axis=1)))
    eta = float(share / (SUPREMA[activation][0] ** 2 * (net.v @ net.v) * longest))
    order = np.concatenate([rng.permutation(n) for _ in range(epochs)] or [[]]).astype(np.int64)
    walked = 0.0
    for i in order:
        one = replace(net, X=net.X[[i]], y=net.y[[i]])
        G = (one.values()[1] * one.v * one.residual()[:, None]).T @ one.X
        walked += eta * float(np.linalg.norm(G))
        net = replace(net, W=net.W - eta * G)
    return Sampled(net, W0, eta, order, walked, seed if seeded else None)


def sgd_numbers(run: Sampled, fields: dict[str, Any], Delta: float, block: int) -> dict[str, float]:
    """The letters of theorem SG in floats."""
    net, n = run.net, len(run.net.y)
    b1, b2, _ = SUPREMA[net.activation]
    longest = float(np.max(np.linalg.norm(net.X, axis=1)))
    m = b1 * float(np.linalg.norm(net.v)) * longest
    ell = b2 * float(np.max(np.abs(net.v))) * longest**2
    Lip = float(fields["quartic"]["kappa"]) ** 0.5
    alpha = float(fields["a2"]) ** 0.5 - Lip * float(fields["rho"])
    cc = run.eta * (2 - run.eta * m * m) / 2
    kap = (run.eta * ell) ** 2 / (4 * cc)
    gam = cc * alpha**2 / (1 + run.eta * m * m * (n * block) ** 0.5) ** 2
    beta = b1 * float(np.linalg.norm(net.v)) * float(fields["x2"]) ** 0.5
    D = (float(np.linalg.norm(net.residual())) + beta * Delta) / alpha
    M = 4 / gam * run.eta * m * (5 * block / (4 * cc)) ** 0.5 * D if cc > 0 else 1.0
    return {"alpha": alpha, "cc": cc, "kap": kap, "gam": gam, "D": D, "M": M, "m": m}


def sgd_claim(
    run: Sampled,
    *,
    Delta: float = 1e-9,
    rho: float = 0.05,
    delta0: float = 0.0,
    bits: int = 128,
    block: int | None = None,
    **changes: Any,
) -> tuple[dict, dict]:
    """An honest claim with its tensors."""
    net, n = run.net, len(run.net.y)
    fields, tensors, _, _ = curvature(net, rho=rho)
    gram = net.X.T @ net.X
    fields["x2"] = x2 = float(np.linalg.eigvalsh(gram)[-1]) * 1.001
    block = n if block is None else block
    M = sgd_numbers(run, fields, Delta, block)["M"]
    fields |= {
        "eta": run.eta,
        "path": float((M + run.walked) * 1.001 + 2 * (len(run.order) + 1) * Delta),
        "loss_upper": loss_bound(net),
        "block": block,
        "bits": bits,
        "Delta": Delta,
    }
    tensors |= {"order": run.order, "C_x": inverse_factor(x2 * np.eye(len(gram)) - gram)}
    if run.seed is None:
        fields["delta0"], tensors["W0"] = Fraction(delta0), run.W0
    else:
        fields["seed"] = run.seed
    return gmc.claim("sgd-trajectory", **(fields | changes)), tensors


def sgd_file(run: Sampled, **options: Any) -> bytes:
    """A sealed file with this one claim."""
    return build(run.net, [sgd_claim(run, **options)])
