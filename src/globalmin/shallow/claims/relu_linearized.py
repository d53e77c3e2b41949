"""Claim `relu-linearized-descent`: gradient descent on a ReLU network reaches zero loss, from its
linearized path (theorem RL, sharper than RD at random starts).
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
from globalmin.proving.claim import Claim, ClaimRecord, Json, Proves, Tensor, rational
from globalmin.references import states
from globalmin.shallow.claims.linearized_point import (
    MARGIN,
    loss_above,
    parameter_count,
    residual_size,
)
from globalmin.shallow.claims.relu_descent import (
    BracketTrial,
    ReluPoint,
    bracket_of,
    largest_eigenvalue,
    largest_step,
    measure,
    middle_witness,
    spread_norm,
)
from globalmin.shallow.network import ShallowNetwork

if TYPE_CHECKING:
    from globalmin.data import Dataset


REST = 1e-3  # part of the residual that the linear run may leave: it enters the moves like this
MOST_STEPS = 400
_ROUNDS = 500
_CUSHION = 1e-3  # lambda and eps of a trial are worse than their witnesses will be


@dataclass(frozen=True)
class Spectrum:
    """lam I <= H <= Lam I, eps >= ||E||, and the step."""

    lam: float
    Lam: float
    eps: float
    eta: float


@dataclass(frozen=True)
class LinearRun:
    """Partial sums V_1..V_N of the linear run, nu, T0 and w of theorem RL."""

    sums: Array = field(repr=False)
    rest: float
    length: float
    columns: Array = field(repr=False)

    @property
    def steps(self) -> int:
        """N."""
        return len(self.sums)


@states("DU-CERT-L2", "DU-CERT-R")
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
    Theorem RL: for a set U of pairs that may change sign, $|z_{li}| > s_{li}$ outside U, where
    $s_{li}$ bounds the move by the linear run $r^0_{k+1} = (I - \eta H)r^0_k$, by the slopes in U
    and by the distance $\epsilon\tau/\lambda$ of the two runs. U is grown from the empty set.
    """
    return least_claim(*measure(network, data), step_size)


def least_claim(point: ReluPoint, y: Array, step_size: float | None) -> Claim:
    """The claim with the least set U, or CannotCertify."""
    U = np.abs(point.Z) <= point.rounding
    for _ in range(_ROUNDS):
        trial = _trial(point, U)
        spectrum = _estimated(trial, point, y, step_size)
        short = _short_pairs(point, U, spectrum) & ~U
        if not short.any():
            claim, short = _assemble(point, U, trial, step_size)
            if claim is not None:
                return claim
        U = U | short
    raise CannotCertify(f"the set of unstable pairs still grows after {_ROUNDS} rounds; widen")


def _trial(point: ReluPoint, U: Mask) -> BracketTrial:
    on = point.Z > 0.0
    return bracket_of(point, on | U, on & ~U)


def _estimated(
    trial: BracketTrial, point: ReluPoint, y: Array, step_size: float | None
) -> Spectrum:
    """The spectrum in floats, with a cushion; CannotCertify if the bracket is too wide."""
    values = np.linalg.eigvalsh(trial.middle)
    width = float(np.linalg.norm(trial.spread, 2)) if trial.unstable else 0.0
    lam, Lam = float(values[0]) * (1.0 - _CUSHION), float(values[-1]) * (1.0 + _CUSHION)
    eps = width * (1.0 + _CUSHION)
    if lam > eps:
        eta = largest_step(lam, Lam, None) if step_size is None else step_size
        return Spectrum(lam, Lam, eps, eta)
    if not trial.unstable or not lam > 0.0:
        raise CannotCertify(
            "the Gram matrix of the activation pattern is singular (smallest eigenvalue "
            f"{float(values[0]):.3g}); widen"
        )
    count = parameter_count(point.network, y.size, "W")
    raise CannotCertify(
        f"||r|| = {point.g:.3g} is too large for the margins: the pairs that may change sign grow "
        f"to {trial.unstable} of {point.Z.size}, where ||E|| = {width:.3g} is "
        f"{width / float(values[0]):.3g} times lambda_min = {float(values[0]):.3g} and must be "
        f"less; train further ({residual_size(point.g, y)}) or widen ({count})"
    )


def linear_run(H: Array, r: Array, spectrum: Spectrum, shift: float = 0.0) -> LinearRun:
    """The linear run until a small part of the residual is left; bounds for every run whose first
    residual differs by at most `shift`.
    """
    decay = -math.log1p(-min(spectrum.eta * spectrum.lam, 1.0 - 1e-12))
    steps = max(1, min(MOST_STEPS, math.ceil(-math.log(REST) / decay)))
    path = np.empty((steps + 1, r.size))
    path[0] = r
    for k in range(steps):
        path[k + 1] = path[k] - spectrum.eta * (H @ path[k])
    rest = (float(np.linalg.norm(path[-1])) + shift) / spectrum.lam
    sums = spectrum.eta * np.cumsum(path[:-1], axis=0)
    length = spectrum.eta * float(np.linalg.norm(path[:-1], axis=1).sum()) + rest
    return LinearRun(sums, rest, length, spectrum.eta * np.abs(path[:-1]).sum(axis=0) + rest)


def path_length(run: LinearRun, spectrum: Spectrum, g: float) -> float:
    r"""tau: at least the sum of $\eta\|r_k\|$ over all steps."""
    margin = spectrum.lam - spectrum.eps
    return max(min(run.length * spectrum.lam, g) / margin, 2.0**-500) * (1.0 + 1e-6)


def moves(point: ReluPoint, U: Mask, run: LinearRun, spectrum: Spectrum, tau: float) -> Array:
    """The table s of theorem RL, n x k; the finer bound only where the first one is too large."""
    K, Z, u = point.K, point.Z, np.abs(point.network.v)
    on = Z > 0.0
    possible, middle = (on | U).astype(np.float64), (on | U) / 2.0 + (on & ~U) / 2.0
    reach = np.sqrt((K * K) @ possible)
    table = reach * (u * tau)
    drift = run.rest + spectrum.eps * tau / spectrum.lam
    for i in range(len(K)):
        some = np.flatnonzero((np.abs(Z[i]) <= table[i] * (1.0 + 1e-5) + point.rounding[i]) & ~U[i])
        linear = np.abs((run.sums * K[i]) @ middle[:, some]).max(axis=0, initial=0.0)
        loose = (np.abs(K[i]) * run.columns / 2.0) @ U[:, some]
        fine = u[some] * (linear + loose + reach[i, some] * drift)
        table[i, some] = np.minimum(table[i, some], fine)
    return table


def _short_pairs(point: ReluPoint, U: Mask, spectrum: Spectrum) -> Mask:
    """Pairs whose margin the moves may use up."""
    run = linear_run(_trial(point, U).middle, point.residual.r, spectrum, point.shift)
    return _not_clear(point, U, run, spectrum)


def _not_clear(point: ReluPoint, U: Mask, run: LinearRun, spectrum: Spectrum) -> Mask:
    tau = path_length(run, spectrum, point.g + point.shift)
    table = moves(point, U, run, spectrum, tau)
    return np.abs(point.Z) <= table * (1.0 + 1e-6) + point.rounding


def _assemble(
    point: ReluPoint, U: Mask, trial: BracketTrial, step_size: float | None
) -> tuple[Claim | None, Mask]:
    """The claim with the witnesses' own numbers, or the pairs that are short with them."""
    lower = middle_witness(point, trial)
    eps, e = spread_norm(trial)
    Lam, C_Lam = largest_eigenvalue(trial.middle)
    eta = largest_step(lower.bound, Lam, step_size)
    spectrum = Spectrum(lower.bound, Lam, eps, eta)
    margin = Fraction(lower.bound) - Fraction(eps)
    if not margin > 0:
        raise CannotCertify(f"||E|| <= {eps:.6g} is not below lambda_min >= {lower.bound:.6g}")
    run = linear_run(trial.middle, point.residual.r, spectrum, point.shift)
    short = _not_clear(point, U, run, spectrum) & ~U
    if short.any():
        return None, short
    tau = path_length(run, spectrum, point.g + point.shift)
    rate = max(1 - Fraction(eta) * margin, Fraction(0))
    path = math.sqrt(Lam + eps) * tau * (1.0 + MARGIN)
    loss = loss_above(point.residual)
    numbers = {"tau": tau, "lam": lower.bound, "Lam": Lam, "eps": eps, "eta": eta, "path": path}
    fields: dict[str, Json] = {name: rational(value) for name, value in numbers.items()}
    fields |= {"loss_upper": rational(loss), "rate": rational(rate), "steps": run.steps}
    fields["norm"] = "rows" if C_Lam is None else "factor"
    tensors: dict[str, Tensor] = {"e": e, "C": lower.C, "U": np.flatnonzero(U.ravel())}
    if C_Lam is not None:
        tensors["C_Lam"] = C_Lam
    more = {
        "loss_upper": loss,
        "rate": float(rate),
        "lambda": float(margin),
        "residual_norm": point.g,
        "unstable_pairs": float(np.count_nonzero(U)),
        "steps": float(run.steps),
    }
    return Claim(CLAIM.kind, fields, tensors, {**numbers, **more}), short


CLAIM = ClaimRecord(
    kind="relu-linearized-descent",
    theorem="relu-linearized-path/1",
    proves=Proves.ZERO_LOSS,
    label="descent to zero loss, ReLU, from its linearized path",
    network=ShallowNetwork,
    build=lambda q: build(q.network, q.data, q.trained, step_size=q.step_size),
)
