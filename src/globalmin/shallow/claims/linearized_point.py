r"""What interpolation and descent have in common, measured once: residual, $K = J J^T$, its lower
bound and the Newton step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import TRAINED, Trained, one_of
from globalmin._types import Array
from globalmin.errors import CannotCertify, DataError
from globalmin.linalg.positive_definite import (
    EPS,
    Gram,
    LowerWitness,
    NotPositiveDefiniteError,
    ball_matrix,
    lower_witness,
    shift_without_witness,
    to_floats,
    working_precision,
)
from globalmin.proving.certificate import refuse_if_too_large
from globalmin.shallow.claims.high_precision import (
    PreciseResidual,
    precise_jacobian_gram,
    precise_residual,
    residual_by_pairs,
)
from globalmin.shallow.lipschitz import rounding_of_preactivations
from globalmin.shallow.network import jacobian_gram, preactivations

if TYPE_CHECKING:
    from globalmin.data import Dataset
    from globalmin.proving.claim import Tensor
    from globalmin.shallow.network import ShallowNetwork


# activations with a table of suprema in the theorems' page
SMOOTH = "softplus", "sigmoid", "tanh", "erf", "quadratic"
# relative room between a claimed number and the inequality it enters; ties are never accepted
MARGIN = 1e-9
# activations of the checker's fast route, and rows up to which a witness is stored all the same
FAST = "softplus", "sigmoid", "tanh", "quadratic"
STORED_ROWS = 200


@dataclass(frozen=True)
class NewtonStep:
    """z with K z = r nearly, and estimates from above and below of e = sqrt(r^T K^-1 r) as the
    checker will bound it (P2).
    """

    z: Array = field(repr=False)
    e_above: float
    e_below: float


@dataclass(frozen=True)
class LinearizedPoint:
    """The stored network at the stored data, linearized; `lower.bound` is the a^2 of the claims."""

    network: ShallowNetwork
    X: Array = field(repr=False)
    y: Array = field(repr=False)
    trained: Trained
    residual: PreciseResidual = field(repr=False)
    gram: Gram
    lower: LowerWitness

    @property
    def a(self) -> float:
        """sqrt(a^2), below sigma_min(J)."""
        return math.sqrt(self.lower.bound)

    @property
    def g(self) -> float:
        """||r||, from above."""
        return self.residual.norm_above()

    @property
    def loss_above(self) -> float:
        """L = (1/2) ||r||^2, from above."""
        return loss_above(self.residual)

    @property
    def version(self) -> int:
        """Of the claims: 2 where no witness of K is stored."""
        return 1 if self.lower.C.size else 2

    def witness(self) -> dict[str, Tensor]:
        """The tensor `C_a`, where it is stored."""
        return {"C_a": self.lower.C} if self.lower.C.size else {}

    @property
    def noise(self) -> float:
        """Estimated error of K z for a unit vector z in floats."""
        gram = self.gram
        return gram.rounding + len(gram.values) * EPS * gram.norm

    @cached_property
    def newton(self) -> NewtonStep:
        """The Newton step, measured on first use."""
        return _newton_step(self)

    def shortfall(self) -> str:
        """What the user can do when the point is not good enough, with the measured numbers."""
        count = parameter_count(self.network, self.y.size, self.trained)
        return f"train further ({residual_size(self.g, self.y)}) or widen ({count})"


@np.errstate(
    over="ignore", invalid="ignore"
)  # huge weights overflow to a refusal with a reason, not to a warning
def measure(
    network: ShallowNetwork, data: Dataset, trained: Trained = "W", *, witness: bool = True
) -> LinearizedPoint:
    """Measure a smooth network at its data; raises CannotCertify if the activation is not covered
    or K is singular. Without `witness` none is made where the checker's fast route needs none.
    """
    X, y = checked_arrays(network, data)
    one_of("trained", trained, TRAINED)
    if network.activation.certificate_name not in SMOOTH:
        raise CannotCertify(
            f"interpolation and descent are proved for {', '.join(SMOOTH)}, not for "
            f"{network.activation}"
        )
    refuse_if_too_narrow(network, y.size, trained)
    fast = not witness and is_fast(network, y.size)
    refuse_if_too_large(y.size, network, fast=fast)
    residual = _residual(network, X, y, by_pairs=fast)
    K = jacobian_gram(network, X, trained=trained)
    gram = Gram(
        K,
        gram_rounding(network, X, K, trained=trained),
        lambda: precise_jacobian_gram(network, X, trained=trained),
    )
    try:
        lower = (shift_without_witness(gram, sum(network.W.shape)) if fast else None) or (
            _stored_witness(gram, network)
        )
    except NotPositiveDefiniteError as failure:
        why = _why_singular(network, data, trained)
        raise CannotCertify(f"J J^T is not provably positive definite: {failure}; {why}") from None
    return LinearizedPoint(network, X, y, trained, residual, gram, lower)


def _residual(network: ShallowNetwork, X: Array, y: Array, *, by_pairs: bool) -> PreciseResidual:
    """By pairs of doubles where that is asked for, or tells the residual to the margin of every
    claim; else by balls.
    """
    if is_known_to_pairs(network):
        found = residual_by_pairs(network, X, y).widened(fast_radius(network, X))
        if by_pairs or np.linalg.norm(found.radius) <= MARGIN * np.linalg.norm(found.r):
            return found
    return precise_residual(network, X, y)


def _stored_witness(gram: Gram, network: ShallowNetwork) -> LowerWitness:
    refuse_if_too_large(len(gram.values), network)
    return lower_witness(gram)


def is_fast(network: ShallowNetwork, n: int) -> bool:
    """Whether the checker's fast route knows the network, and n is above the size up to which balls
    are quick.
    """
    return n > STORED_ROWS and is_known_to_pairs(network)


def is_known_to_pairs(network: ShallowNetwork) -> bool:
    """Whether pairs of doubles, and so the checker's fast route, know activation and weights."""
    activation = network.activation
    known = activation.certificate_name in FAST and activation.certificate_parameter is None
    largest = max(float(np.abs(network.W).max()), float(np.abs(network.v).max()))
    return known and largest <= 2.0**60


def fast_radius(network: ShallowNetwork, X: Array) -> Array:
    """Estimate from above of the radius to which the checker's fast route knows the residuals:
    pre-activations to some 2^-90 of the largest entries of their row and neuron.
    """
    d = X.shape[1]
    bits = (53 - max(1, math.ceil(math.log2(d)))) // 2
    tops, others = (2.0 ** np.frexp(np.abs(A).max(axis=1))[1] for A in (X, network.W))
    Z, heads = np.abs(preactivations(network, X)), np.abs(network.v)
    parts = 5.0 * 2.0 ** (-4 * bits - 1) + 10.0 * EPS * 4.0**-bits + 88.0 * EPS**2 / 4
    spread = d * parts * np.outer(tops, others)
    quadratic = network.activation.certificate_name == "quadratic"
    slopes, size = (2.0 * Z + 1.0, Z) if quadratic else (1.0, 1.0)
    return 1.1 * ((2.0**-90 * np.maximum(1.0, Z) * size + slopes * spread) @ heads) + 2.0**-940


def loss_above(residual: PreciseResidual) -> float:
    """L = (1/2) ||r||^2 from above: never zero, so that the checker can decide L <= loss_upper also
    when the residual is.
    """
    loss = 0.5 * residual.norm_above() * residual.norm_above() * (1.0 + MARGIN)
    if not math.isfinite(loss):
        raise CannotCertify("the loss of these weights overflows a double; train first")
    return max(loss, 2.0**-400)


def checked_arrays(network: ShallowNetwork, data: Dataset) -> tuple[Array, Array]:
    """X and y of the data, after checking that they fit the network and that certificates know its
    activation.
    """
    if network.activation.certificate_name is None:
        why = (
            f"the activation {network.activation} is not in the certificate format, so nothing can "
            "be certified"
        )
        raise CannotCertify(
            f"{why}; train with relu, {', '.join(SMOOTH)}", reasons={"activation": why}
        )
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y, dtype=np.float64)
    if X.shape[1] != network.n_features:
        raise DataError(
            f"the network expects {network.n_features} features but the data have {X.shape[1]}, "
            "the bias included"
        )
    return X, y


def residual_size(g: float, y: Array) -> str:
    """For example `relative residual 1.2e-04`; absolute when the labels are zero."""
    size = float(np.linalg.norm(y))
    return f"relative residual {g / size:.1e}" if size > 0 else f"residual norm {g:.1e}"


def is_too_narrow(network: ShallowNetwork, n: int, trained: Trained) -> bool:
    """Whether counting proves J J^T (n x n) singular: its rank is at most the number of nonzero
    columns of J.
    """
    return _columns(network, trained) < n


def _columns(network: ShallowNetwork, trained: Trained) -> int:
    """Columns of J that are not zero whatever the rows: d for each neuron with a nonzero head, and
    one for each trained head.
    """
    return int(np.count_nonzero(network.v)) * network.n_features + (
        network.width if trained == "vW" else 0
    )


def refuse_if_too_narrow(network: ShallowNetwork, n: int, trained: Trained) -> None:
    """Raise CannotCertify where no zero-loss weights can be proved because J J^T has too small a
    rank, before it is formed.
    """
    if not is_too_narrow(network, n, trained):
        _refuse_more_than_quadratic_functions(network, n)
        return
    silent, count = int(np.count_nonzero(network.v == 0.0)), parameter_count(network, n, trained)
    if silent:
        count = (
            f"{silent} of {network.width} head weights are zero, which leaves "
            f"{_columns(network, trained)} weights < n = {n}"
        )
    per_neuron = network.n_features + (1 if trained == "vW" else 0)
    quadratic = "optimality-gap, " if network.activation.certificate_name == "quadratic" else ""
    raise CannotCertify(
        f"J J^T is singular whatever the weights W, since {count}: widen to at least k = "
        f"{math.ceil(n / per_neuron)} (with nonzero heads), or claim what can hold at this width "
        f"({quadratic}unique-minimum, second-order-stationary, or loss-floor where rows conflict)"
    )


def _refuse_more_than_quadratic_functions(network: ShallowNetwork, n: int) -> None:
    """The outputs of quadratic networks of any width lie in a space of dimension d(d+1)/2."""
    d = network.n_features
    if network.activation.certificate_name == "quadratic" and n > d * (d + 1) // 2:
        raise CannotCertify(
            f"J J^T is singular whatever the weights and the width, since n = {n} > d(d+1)/2 = "
            f"{d * (d + 1) // 2}, the dimension of quadratic functions; claim optimality-gap"
        )


def refuse_narrow_cell(network: ShallowNetwork, n: int) -> None:
    """The same for ReLU, whose theorems move W: the Gram matrix of an activation cell has rank at
    most kd.
    """
    if is_too_narrow(network, n, "W"):
        count = parameter_count(network, n, "W")
        least = math.ceil(n / network.n_features)
        raise CannotCertify(
            f"the Gram matrix of the activation cell is singular ({count}, neurons with head 0 not "
            f"counted): widen to at least k = {least}"
        )


def parameter_count(network: ShallowNetwork, n: int, trained: Trained) -> str:
    """For example `kd = 90 < n = 100`, the count that decides whether J J^T can be invertible."""
    k, d = network.W.shape
    count, name = (k * d, "kd") if trained == "W" else (k * d + k, "kd + k")
    return f"{name} = {count} {'<' if count < n else '>='} n = {n}"


def gram_rounding(network: ShallowNetwork, X: Array, K: Array, *, trained: Trained) -> float:
    r"""Estimate of the Frobenius norm of the rounding error of K.

    Products: |S||S|^T o |X||X|^T has Frobenius norm at most trace K by Cauchy-Schwarz. Slopes: an
    error delta in a pre-activation moves the slope by phi'' delta (the value by phi' delta), and K
    by at most 2 ||moved|| sqrt(trace K).
    """
    k, d = network.W.shape
    trace = max(float(np.trace(K)), 0.0)
    phi, Z, delta = (
        network.activation,
        preactivations(network, X),
        rounding_of_preactivations(network, X),
    )
    slope = np.abs(phi.derivative(Z))
    moved = np.abs(network.v) * (np.abs(phi.derivative(Z, order=2)) * delta + 4.0 * EPS * slope)
    size = float(np.linalg.norm(moved * np.linalg.norm(X, axis=1)[:, None]))
    if trained == "vW":
        size += float(np.linalg.norm(slope * delta + 4.0 * EPS * np.abs(phi(Z))))
    return (2 * k + d + 8) * EPS * trace + 2.0 * size * math.sqrt(trace)


def _newton_step(point: LinearizedPoint) -> NewtonStep:
    r, radius = point.residual.r, float(np.linalg.norm(point.residual.radius))
    z = _solve(point)
    energy, rest = _energy_and_rest(point, z)
    product = (
        abs(float(r @ z))
        - r.size * EPS * float(np.linalg.norm(r) * np.linalg.norm(z))
        - radius * float(np.linalg.norm(z))
    )
    e_above = math.sqrt(energy) + (rest + radius) / point.a
    e_below = product / math.sqrt(energy) if energy > 0 else 0.0
    if (
        not e_above < point.g / point.a
    ):  # z = 0 is a witness too, and better when K is too ill-conditioned for z in doubles
        return NewtonStep(np.zeros_like(z), point.g / point.a * (1.0 + MARGIN), 0.0)
    return NewtonStep(z, e_above * (1.0 + MARGIN), max(e_below, 0.0) * (1.0 - MARGIN))


def _solve(point: LinearizedPoint) -> Array:
    from scipy.linalg import cho_factor, cho_solve

    r = point.residual.r
    if point.lower.inverse_factor is not None:
        C = point.lower.inverse_factor
        z = C.T @ (C @ r)
        return z + C.T @ (C @ (r - _precise_product(point, z)))
    L = point.gram.factor
    factor = cho_factor(point.gram.values, lower=True) if L is None else (L, True)
    z = cho_solve(factor, r, check_finite=False)
    return z + cho_solve(factor, r - point.gram.values @ z, check_finite=False)


def _energy_and_rest(point: LinearizedPoint, z: Array) -> tuple[float, float]:
    """z^T K z and ||r - K z||, both from above up to the estimated rounding."""
    size = float(np.linalg.norm(z))
    if point.lower.inverse_factor is not None:
        image = _precise_product(point, z)
        noise = 4.0 * EPS * point.gram.extremes[1]
    else:
        image = point.gram.values @ z
        noise = point.noise
    return max(float(z @ image), 0.0) + noise * size**2, float(
        np.linalg.norm(point.residual.r - image)
    ) + noise * size


def _precise_product(point: LinearizedPoint, z: Array) -> Array:
    with working_precision():
        return to_floats(point.gram.precise * ball_matrix(z))[:, 0]


def _why_singular(network: ShallowNetwork, data: Dataset, trained: Trained) -> str:
    parallel = [group[:2] for group in data.degeneracy.equal_rows[:1]]
    if parallel:
        return (
            f"rows {parallel[0][0]} and {parallel[0][1]} of the data are equal, which makes it "
            "singular: keep one of them"
        )
    count = parameter_count(network, data.n_samples, trained)
    return (
        f"{count}: look for dependent rows of the data, saturated neurons or zero head weights; "
        "widen or restart"
    )
