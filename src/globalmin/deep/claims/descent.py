"""Claim `deep-descent`: gradient descent on all layers of a deep smooth network reaches zero loss
(theorem DS).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.deep.claims.high_precision import PreciseDeep
from globalmin.deep.lipschitz import JacobianBound, smallest_radius
from globalmin.deep.network import DeepNetwork
from globalmin.deep.passes import layer_grams
from globalmin.errors import CannotCertify, DataError
from globalmin.linalg import positive_definite
from globalmin.proving import claim
from globalmin.references import states
from globalmin.shallow.claims.high_precision import PreciseResidual
from globalmin.shallow.claims.linearized_point import MARGIN, loss_above, residual_size

if TYPE_CHECKING:
    from globalmin.data import Dataset


BOUNDED = ("softplus", "sigmoid", "tanh", "erf")
FACTOR_LIMIT = (
    300  # samples up to which a second n x n witness (a sharper step) is worth its checking time
)
SAMPLE_LIMIT = 2000


@dataclass(frozen=True)
class WeightNorms:
    """omega_h just above the norm of W_h, with the factors that prove it."""

    omega: Array
    factors: tuple[Array, ...] = field(repr=False)


@dataclass(frozen=True)
class DeepPoint:
    """The stored deep network at its data."""

    network: DeepNetwork
    X: Array = field(repr=False)
    residual: PreciseResidual = field(repr=False)
    gram: positive_definite.Gram
    lower: positive_definite.LowerWitness
    norms: WeightNorms

    @property
    def a(self) -> float:
        """sqrt(a^2), below sigma_min(J)."""
        return math.sqrt(self.lower.bound)

    @property
    def g(self) -> float:
        """||r||, from above."""
        return self.residual.norm_above()


@states("DU-CERT-S")
@np.errstate(over="ignore", invalid="ignore")
def build(network: DeepNetwork, data: Dataset, *, step_size: float | None = None) -> claim.Claim:
    r"""The claim with its witness, or CannotCertify with the measured reason.

    Parameters
    ----------
    network, data : deep network with a smooth activation and the data set it was trained on.
    step_size : the step eta on L = (1/2) sum r^2 to be claimed, common to all layers; by default
        the largest allowed.

    Theory
    ------
    Theorem DS: $\Lambda t < a$, $\|r\| \le a t - \Lambda t^2/2$, $\eta (b + \Lambda t)^2 \le 1$,
    with the Lipschitz constant $\Lambda(t)$ of the Jacobian of all layers on the ball of radius t.
    """
    point = measure(network, data)
    t, Lam = _radius(point, np.asarray(data.y, dtype=np.float64))
    return _assemble(point, t, Lam, step_size)


def measure(network: DeepNetwork, data: Dataset) -> DeepPoint:
    """Residual, Gram matrix and norms of the weights; raises CannotCertify if the theorem does not
    cover the network.
    """
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y, dtype=np.float64)
    if X.shape[1] != math.prod(network.input_shape):
        raise DataError(
            f"the network expects {math.prod(network.input_shape)} features but the data have "
            f"{X.shape[1]}"
        )
    if network.activation.certificate_name not in BOUNDED:
        raise CannotCertify(
            f"theorem DS is proved for {', '.join(BOUNDED)}, not for {network.activation}"
        )
    if y.size > SAMPLE_LIMIT:
        raise CannotCertify(
            f"n = {y.size} samples: deep-descent is for at most {SAMPLE_LIMIT}; certify fewer "
            "samples"
        )
    if network.n_parameters < y.size:
        raise CannotCertify(
            f"{network.n_parameters} weights < n = {y.size}: J J^T is singular; widen"
        )
    precise = PreciseDeep(network, X, y)
    G = sum(layer_grams(network, network.forward(X)), np.zeros((y.size, y.size)))
    rounding = (
        (8 * sum(W.shape[1] + network.geometry.pixels for W in network.weights) + 16)
        * positive_definite.EPS
        * float(np.trace(G))
    )
    gram = positive_definite.Gram(G, rounding, precise.gram)
    try:
        return DeepPoint(
            network,
            X,
            precise.residual(),
            gram,
            positive_definite.lower_witness(gram),
            _weight_norms(network),
        )
    except positive_definite.NotPositiveDefiniteError as failure:
        raise CannotCertify(f"J J^T is not provably positive definite: {failure}") from None


def _weight_norms(network: DeepNetwork) -> WeightNorms:
    omega, factors = [], []
    for W in network.weights:
        bound, C = positive_definite.upper_witness(W @ W.T if W.shape[0] <= W.shape[1] else W.T @ W)
        omega.append(math.nextafter(math.sqrt(bound), math.inf))
        factors.append(C)
    return WeightNorms(np.array(omega), tuple(factors))


def _radius(point: DeepPoint, y: Array) -> tuple[float, float]:
    """The radius and Lam there, by the search that `estimate_deep_descent` shares."""
    bound = JacobianBound.of(point.network, point.network.forward(point.X), point.norms.omega)
    t, Lam, holds = smallest_radius(bound, point.lower.bound, point.g)
    if holds:
        return t, Lam
    ratio = 2.0 * Lam * point.g / point.lower.bound
    raise CannotCertify(
        f"2 Lam ||r|| / a^2 = {ratio:.3g}, must be < 1 with room for the path; train further "
        f"({residual_size(point.g, y)})"
    )


def _assemble(point: DeepPoint, t: float, Lam: float, step_size: float | None) -> claim.Claim:
    b2, C_b = norm_witness(point.gram)
    largest = (1.0 - MARGIN) / (math.sqrt(b2) * (1.0 + MARGIN) + Lam * t) ** 2
    if step_size is not None and not 0.0 < step_size <= largest:
        raise CannotCertify(
            f"step_size={step_size!r} must be > 0 and at most {largest:.6g} on the loss (1/2) sum "
            "of squares"
        )
    eta = largest if step_size is None else float(step_size)
    alpha = point.a * (1.0 - MARGIN) - Lam * t
    rate = max(1 - Fraction(eta) * Fraction(alpha) ** 2, Fraction(0))
    loss = loss_above(point.residual)
    numbers = {"a2": point.lower.bound, "b2": b2, "t": t, "eta": eta, "loss_upper": loss}
    fields: dict[str, claim.Json] = {name: claim.rational(value) for name, value in numbers.items()}
    fields |= {"rate": claim.rational(rate), "norm": "rows" if C_b is None else "factor"}
    tensors = witnesses(point, C_b)
    more = {
        "rate": float(rate),
        "path": t,
        "Lam": Lam,
        "a": point.a,
        "b": math.sqrt(b2),
        "alpha": alpha,
        "residual_norm": point.g,
    }
    return claim.Claim(
        CLAIM.kind, fields, tensors, {**numbers, **more, "h": Lam * point.g / point.lower.bound}
    )


def witnesses(point: DeepPoint, C_b: Array | None) -> dict[str, claim.Tensor]:
    """The tensors that prove the spectrum of G and the norms of the weights."""
    tensors: dict[str, claim.Tensor] = {"C_a": point.lower.C, "omega": point.norms.omega}
    tensors |= {f"C_omega_{h}": C for h, C in enumerate(point.norms.factors, start=1)}
    return tensors if C_b is None else tensors | {"C_b": C_b}


def norm_witness(gram: positive_definite.Gram) -> tuple[float, Array | None]:
    """b2 above the largest eigenvalue, with its factor up to `FACTOR_LIMIT` samples."""
    if gram.values.shape[0] <= FACTOR_LIMIT:
        return positive_definite.upper_witness(gram.values)
    return (float(np.abs(gram.values).sum(axis=1).max()) + gram.noise) * (1.0 + MARGIN), None


def _answer(question: claim.Question) -> claim.Claim:
    return build(question.network, question.data, step_size=question.step_size)


CLAIM = claim.ClaimRecord(
    kind="deep-descent",
    theorem="deep-path/1",
    proves=claim.Proves.ZERO_LOSS,
    label="descent of all layers to zero loss",
    network=DeepNetwork,
    build=_answer,
    rungs=lambda question: (claim.Rung(1, lambda: _answer(question)),),
)
