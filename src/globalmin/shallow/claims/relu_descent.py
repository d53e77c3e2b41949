"""Claim `relu-descent`: gradient descent on a ReLU network reaches zero loss, from its activation
margins (theorem RD).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import Trained
from globalmin._types import Array, Mask
from globalmin.errors import CannotCertify
from globalmin.linalg.positive_definite import (
    EPS,
    BallMatrix,
    Gram,
    LowerWitness,
    NotPositiveDefiniteError,
    lower_witness,
    upper_witness,
    working_precision,
)
from globalmin.proving.certificate import refuse_if_too_large
from globalmin.proving.claim import Claim, ClaimRecord, Json, Proves, Tensor, rational
from globalmin.references import states
from globalmin.shallow.claims.high_precision import (
    PreciseResidual,
    precise_cell_gram,
    precise_residual,
)
from globalmin.shallow.claims.linearized_point import (
    MARGIN,
    checked_arrays,
    loss_above,
    parameter_count,
    refuse_narrow_cell,
    residual_size,
)
from globalmin.shallow.lipschitz import rounding_of_preactivations
from globalmin.shallow.network import ShallowNetwork, preactivations
from globalmin.shallow.relu_margins import slopes_of_radius

if TYPE_CHECKING:
    from globalmin.data import Dataset


FACTOR_LIMIT = (
    300  # samples up to which a second n x n witness (a sharper step) is worth its checking time
)
_ROUNDS = 400
# from one trial of tau to the next, at least: the sets change only when a margin is crossed
_STRETCH = 1.02


@dataclass(frozen=True)
class ReluPoint:
    """The stored network at its data: residual, pre-activations with their rounding, inner
    products; and for a run that only passes near the stored weights, by how much its residual may
    differ (`shift`) and its pre-activations (part of `rounding`).
    """

    network: ShallowNetwork
    X: Array = field(repr=False)
    residual: PreciseResidual = field(repr=False)
    Z: Array = field(repr=False)
    rounding: Array = field(repr=False)
    K: Array = field(repr=False)
    shift: float = 0.0

    @property
    def g(self) -> float:
        """||r||, from above."""
        return self.residual.norm_above()


@dataclass(frozen=True)
class BracketTrial:
    """One radius tau: slopes that may be active and surely active, times the head, and the matrices
    they give (floats).
    """

    tau: float
    possible: Array = field(repr=False)
    sure: Array = field(repr=False)
    middle: Array = field(repr=False)
    spread: Array = field(repr=False)
    unstable: int
    is_clear: bool

    def margin(self) -> float:
        """Estimate of lambda_min(H_mid) - ||E||."""
        width = float(np.linalg.norm(self.spread, 2)) if self.unstable else 0.0
        return float(np.linalg.eigvalsh(self.middle)[0]) - width


@states("DU-CERT-L1", "DU-CERT-R")
@np.errstate(over="ignore", invalid="ignore")
def build(
    network: ShallowNetwork,
    data: Dataset,
    trained: Trained = "W",
    *,
    step_size: float | None = None,
) -> Claim:
    r"""The claim with its witness, or CannotCertify with the measured reason.

    Parameters
    ----------
    network, data : ReLU network and the data set it was trained on.
    trained : accepted for uniformity; the theorem speaks of gradient descent on W with the head
        fixed.
    step_size : the step eta on L = (1/2) sum r^2 to be claimed; by default the largest the theorem
        allows.

    Theory
    ------
    Theorem RD: $\|r\| \le (\lambda' - \epsilon)\tau$ with $\lambda' \le \lambda_{\min}(H_{mid})$,
    $\epsilon \ge \|E\|$, over all slopes that the moves $s_{li} = |v_l|\,\|(K_{ij}
    PA_{lj})_j\|\,\tau$ allow; $\eta \le 2/(\lambda' + \Lambda')$.
    """
    point, y = measure(network, data)
    trial = _smallest_radius(point, y)
    return _assemble(point, trial, middle_witness(point, trial), step_size)


def measure(network: ShallowNetwork, data: Dataset) -> tuple[ReluPoint, Array]:
    """The point and the labels; raises CannotCertify if the theorems RD and RL do not cover the
    network.
    """
    X, y = checked_arrays(network, data)
    if network.activation.name != "relu":
        raise CannotCertify(f"the theorem is about relu, not {network.activation}")
    refuse_narrow_cell(network, y.size)
    refuse_if_too_large(y.size, network)
    Z, rounding = preactivations(network, X), rounding_of_preactivations(network, X)
    return ReluPoint(network, X, precise_residual(network, X, y), Z, rounding, X @ X.T), y


def middle_witness(point: ReluPoint, trial: BracketTrial) -> LowerWitness:
    """The proof that H_mid is positive definite; CannotCertify if there is none."""
    try:
        return lower_witness(_gram(point, trial))
    except NotPositiveDefiniteError as failure:
        raise CannotCertify(
            f"the middle of the Gram matrices is not provably positive definite: {failure}"
        ) from None


def bracket(point: ReluPoint, tau: float) -> BracketTrial:
    """PA and S of theorem RD at the radius tau, with H_mid and E."""
    v = point.network.v
    slopes = slopes_of_radius(point.K, point.Z, v, tau)
    band = np.abs(np.abs(point.Z) - slopes.moves) <= 1e-9 * slopes.moves + point.rounding
    return bracket_of(point, slopes.possible, slopes.sure, tau, not np.any(band & (v != 0.0)))


def bracket_of(
    point: ReluPoint, possible: Mask, sure: Mask, tau: float = 0.0, is_clear: bool = True
) -> BracketTrial:
    """H_mid and E for the sets of pairs that may be active and that surely are."""
    v, K = point.network.v, point.K
    A, B = possible * v, sure * v
    most, least = A @ A.T, B @ B.T
    middle, spread = K * (most + least) / 2.0, np.abs(K) * (most - least) / 2.0
    unstable = int(np.count_nonzero(possible & ~sure))
    return BracketTrial(tau, A, B, middle, spread, unstable, is_clear)


def _smallest_radius(point: ReluPoint, y: Array) -> BracketTrial:
    """The smallest tau found with ||r|| <= (lambda' - ||E||) tau: the margin falls as tau grows, so
    tau is raised stepwise.
    """
    trial = bracket(point, 0.0)
    start = trial.margin()
    if not start > 0.0:
        raise CannotCertify(
            "the Gram matrix of the activation pattern is singular (smallest eigenvalue "
            f"{start:.3g}); widen"
        )
    tau = max(point.g, 2.0**-500) / start * (1.0 + 1e-4)
    best: tuple[float, BracketTrial, float] | None = None
    for _ in range(_ROUNDS):
        trial = bracket(point, tau)
        margin = trial.margin()
        if best is None or margin * tau > best[0]:
            best = margin * tau, trial, margin
        if not margin > 0.0:
            break
        if point.g * (1.0 + 1e-4) <= margin * tau and trial.is_clear:
            return trial
        tau = max(tau * _STRETCH, point.g / margin * (1.0 + 2e-4))
    raise CannotCertify(_how_far(point, y, best or (0.0, trial, start)))


def _how_far(point: ReluPoint, y: Array, best: tuple[float, BracketTrial, float]) -> str:
    """The best tau tried and which part of the residual it allows."""
    reach, trial, margin = best
    share = (
        f"allows ||r|| up to {reach:.3g}, {100.0 * reach / point.g:.3g} % of it"
        if margin > 0.0
        else "allows no residual at all"
    )
    count = parameter_count(point.network, y.size, "W")
    return (
        f"||r|| = {point.g:.3g} is too large for the margins: the best tau tried, {trial.tau:.3g} "
        f"with {trial.unstable} unstable pairs and lambda - ||E|| = {margin:.3g}, {share}; train "
        f"further ({residual_size(point.g, y)}) or widen ({count}); relu-linearized-descent asks "
        "for less"
    )


def _gram(point: ReluPoint, trial: BracketTrial) -> Gram:
    k, d = point.network.W.shape
    rounding = (2 * k + d + 8) * EPS * float(np.trace(trial.middle))

    def precise() -> BallMatrix:
        with working_precision():
            return (
                precise_cell_gram(point.X, trial.possible) + precise_cell_gram(point.X, trial.sure)
            ) / 2

    return Gram(trial.middle, rounding, precise)


def spread_norm(trial: BracketTrial) -> tuple[float, Array]:
    """Eps and e > 0 with E e <= eps e: e = (I - E/rho)^-1 1 for rho just above ||E|| has E e = rho
    (e - 1).
    """
    n = trial.spread.shape[0]
    if not trial.unstable:
        return 0.0, np.ones(n)
    rho = float(np.linalg.norm(trial.spread, 2)) * (1.0 + 1e-5)
    e = np.asarray(np.linalg.solve(np.eye(n) - trial.spread / rho, np.ones(n)), dtype=np.float64)
    return float((trial.spread @ e / e).max()) * (1.0 + 1e-6), e


def _assemble(
    point: ReluPoint, trial: BracketTrial, lower: LowerWitness, step_size: float | None
) -> Claim:
    eps, e = spread_norm(trial)
    margin = Fraction(lower.bound) - Fraction(eps)
    if not point.g * (1.0 + MARGIN) <= float(margin) * trial.tau:
        raise CannotCertify(
            f"||r|| = {point.g:.6g} exceeds (lam - eps) tau = {float(margin) * trial.tau:.6g} by "
            "rounding; train further"
        )
    Lam, C_Lam = largest_eigenvalue(trial.middle)
    eta = largest_step(lower.bound, Lam, step_size)
    rate = max(1 - Fraction(eta) * margin, Fraction(0))
    path = math.sqrt(Lam + eps) * trial.tau * (1.0 + MARGIN)
    numbers = {
        "tau": trial.tau,
        "lam": lower.bound,
        "Lam": Lam,
        "eps": eps,
        "eta": eta,
        "path": path,
    }
    loss = loss_above(point.residual)
    fields: dict[str, Json] = {name: rational(value) for name, value in numbers.items()}
    fields |= {
        "loss_upper": rational(loss),
        "rate": rational(rate),
        "norm": "rows" if C_Lam is None else "factor",
    }
    tensors: dict[str, Tensor] = {"e": e, "C": lower.C}
    if C_Lam is not None:
        tensors["C_Lam"] = C_Lam
    more = {
        "loss_upper": loss,
        "rate": float(rate),
        "lambda": float(margin),
        "residual_norm": point.g,
    }
    return Claim(
        CLAIM.kind,
        fields,
        tensors,
        {**numbers, **more, "unstable_pairs": float(trial.unstable)},
    )


def largest_eigenvalue(middle: Array) -> tuple[float, Array | None]:
    """Lam above the largest eigenvalue, with its factor up to `FACTOR_LIMIT` samples."""
    if middle.shape[0] <= FACTOR_LIMIT:
        return upper_witness(middle)
    return float(np.abs(middle).sum(axis=1).max()) * (1.0 + 1e-9), None


def largest_step(lam: float, Lam: float, step_size: float | None) -> float:
    """The step asked for, or the largest one; CannotCertify if it is larger than that."""
    largest = 2.0 / (lam + Lam) * (1.0 - MARGIN)
    if step_size is not None and not 0.0 < step_size <= largest:
        raise CannotCertify(
            f"step_size={step_size!r} must be > 0 and at most {largest:.6g} on the loss (1/2) sum "
            "of squares"
        )
    return largest if step_size is None else float(step_size)


CLAIM = ClaimRecord(
    kind="relu-descent",
    theorem="relu-path/1",
    proves=Proves.ZERO_LOSS,
    label="descent to zero loss, ReLU",
    network=ShallowNetwork,
    build=lambda q: build(q.network, q.data, q.trained, step_size=q.step_size),
)
