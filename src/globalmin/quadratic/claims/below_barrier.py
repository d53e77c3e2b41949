"""Claim `below-barrier`: gradient descent from the stored quadratic network converges to the global
minimum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from globalmin._types import Array
from globalmin.data.dataset import Dataset
from globalmin.errors import CannotCertify, DataError
from globalmin.linalg.positive_definite import (
    EPS,
    LowerWitness,
    NotPositiveDefiniteError,
    lower_witness,
    upper_witness,
)
from globalmin.linalg.symmetric import moment_matrix, quadratic_forms
from globalmin.proving.certificate import Certificate
from globalmin.proving.claim import Claim, ClaimRecord, Json, Proves, Tensor, rational
from globalmin.proving.producer import certify
from globalmin.quadratic.barrier import least_squares_matrix, require_full_rank
from globalmin.quadratic.risk import quadratic_outputs
from globalmin.quadratic.runs import population_samples
from globalmin.references import states
from globalmin.shallow.claims.measured_point import (
    QuadraticPoint,
    measure_quadratic,
    strict_witness,
)
from globalmin.shallow.claims.subject import NOT_THE_RUN
from globalmin.shallow.network import ShallowNetwork

_ROOM = 1e-9  # relative room in every claimed number


@dataclass(frozen=True)
class Minimizer:
    """A least-squares matrix with bounds of the true one's spectrum, its witnesses, and the excess
    loss of the stored weights.
    """

    A_hat: Array
    a_lo: float
    a_hi: float
    C_lo: Array
    C_hi: Array
    E0: float


@states("GKZ-RATEemp")
def build(network: ShallowNetwork, data: Dataset, *, step_size: float | None = None) -> Claim:
    r"""The claim with its constants, or CannotCertify if the stored weights are not below the
    barrier.

    Parameters
    ----------
    network, data : quadratic network with a head v > 0, and at least d(d+1)/2 samples; labels may
        be noisy.
    step_size : the step the claim should speak of; by default the largest it allows.

    Theory
    ------
    GKZ-RATEemp and section 10 of the certificate theorems: $E_0 < \phi\,a_{lo}^2/2$ gives linear
    convergence.
    """
    point = measure_quadratic(network, data)
    if not (network.v > 0).all():
        raise CannotCertify(
            f"the head has a weight that is not positive ({network.v.min():.3g}); the claim is for "
            "v > 0"
        )
    gram = point.design_gram()
    try:
        low, (Phi, C_Phi) = lower_witness(gram), upper_witness(gram.values)
    except NotPositiveDefiniteError as failure:
        raise CannotCertify(
            f"the matrices x_i x_i^T do not provably span the symmetric ones: {failure}"
        ) from None
    minimizer = _minimizer(point, low, gram.values)
    return _assemble(point, low, (Phi, C_Phi), minimizer, step_size)


def _minimizer(point: QuadraticPoint, low: LowerWitness, F: Array) -> Minimizer:
    X = point.X
    A = least_squares_matrix(X, point.y, F)
    rounding = (
        2.0
        * (X.shape[1] + 4)
        * EPS
        * (np.einsum("ij,ij->i", np.abs(X) @ np.abs(A), np.abs(X)) + np.abs(point.y))
    )
    q = quadratic_forms(X, A) - point.y
    G = (
        float(np.linalg.norm(moment_matrix(X, q)))
        + point.moment_noise(q)
        + float(rounding @ point.squares)
    )
    spectrum = np.linalg.eigvalsh(A)
    gap = 1e-7 * float(np.abs(spectrum).max())
    a_lo, a_hi = (float(spectrum[0]) - gap, float(spectrum[-1]) + gap)
    C_lo = strict_witness(A - a_lo * np.eye(len(A)), EPS * float(np.abs(spectrum).max()))
    C_hi = strict_witness(a_hi * np.eye(len(A)) - A, EPS * float(np.abs(spectrum).max()))
    if C_lo is None or C_hi is None:
        raise CannotCertify(
            "the spectrum of the least-squares matrix could not be enclosed; rescale the data"
        )
    error = G / low.bound * (1.0 + _ROOM)
    distance = float(
        np.linalg.norm(np.abs(point.r - q) + rounding + point.residual.radius)
    ) + G / math.sqrt(low.bound)
    E0 = max(0.5 * distance**2 * (1.0 + _ROOM), 2.0**-400)
    return Minimizer(A, a_lo - error, a_hi + error, C_lo, C_hi, E0)


def _assemble(
    point: QuadraticPoint,
    low: LowerWitness,
    high: tuple[float, Array],
    found: Minimizer,
    step_size: float | None,
) -> Claim:
    phi, (Phi, C_Phi), v = low.bound, high, point.network.v
    tau = math.sqrt(2.0 * found.E0 / phi) * (1.0 + _ROOM)
    s2 = found.a_lo - tau
    if not s2 > 0:
        height = phi * max(found.a_lo, 0.0) ** 2 / 2.0
        raise CannotCertify(
            f"the excess loss {found.E0:.3g} is not below the barrier {height:.3g} (least "
            "eigenvalue of the least-squares matrix "
            f"{found.a_lo:.3g}); train further or start nearer"
        )
    Lip = (
        float(v.max())
        * (4.0 * Phi * (found.a_hi + tau) + 2.0 * math.sqrt(2.0 * Phi * found.E0))
        * (1.0 + _ROOM)
    )
    eta = 1.0 / Lip if step_size is None else float(step_size)
    if not (math.isfinite(eta) and 0.0 < eta <= 1.0 / Lip):
        raise DataError(
            f"step_size={step_size!r} must be positive and at most {1.0 / Lip:.6g}, the largest "
            "step proved"
        )
    rate = 1 - Fraction(4.0 * eta * phi * float(v.min()) * s2 * (1.0 - _ROOM))
    numbers = {
        "phi": phi,
        "Phi": Phi,
        "a_lo": found.a_lo,
        "a_hi": found.a_hi,
        "E0": found.E0,
        "eta": eta,
    }
    fields: dict[str, Json] = {name: rational(value) for name, value in numbers.items()}
    fields |= {"loss_upper": rational(point.loss_above), "norm": "factor", "rate": rational(rate)}
    tensors: dict[str, Tensor] = {
        "A_hat": found.A_hat,
        "C_phi": low.C,
        "C_Phi": C_Phi,
        "C_lo": found.C_lo,
        "C_hi": found.C_hi,
    }
    barrier = phi * found.a_lo**2 / 2.0
    summary = {
        **numbers,
        "loss_upper": point.loss_above,
        "rate": float(rate),
        "barrier": barrier,
        "s2": s2,
    }
    return Claim(CLAIM.kind, fields, tensors, summary)


@states("GKZ-RATE", "GKZ-GD")
def population_certificate(
    network: ShallowNetwork, Wstar: Array, *, step_size: float | None = None
) -> Certificate:
    r"""The claim about the population risk: gradient descent on $E(f - f^*)^2$ over x ~ N(0, I)
    from these weights converges.

    Parameters
    ----------
    network : ShallowNetwork
        Quadratic, head v > 0, weights below the barrier $2\sigma^4$ of the teacher.
    Wstar : Array
        Teacher, m x d of rank d with head 1, d <= 38.
    step_size : float | None
        Of descent on the loss of the file, which is a quarter of the risk; see
        `quadratic.runs.population_samples`.

    Returns
    -------
    Certificate
        With the claim below-barrier.

    Theory
    ------
    GKZ-RATE through section 10: the file holds `population_samples`, on which the loss of every
    quadratic network is exactly 1/4 of its population risk, with the teacher's outputs as labels
    (rounded to doubles). Spectral bounds of F replace Lemma Q, so the threshold is the paper's
    $2\sigma^4$, a factor (d+2)/(d+1) below the exact barrier.
    """
    require_full_rank(Wstar)
    X = population_samples(Wstar.shape[1])
    data = Dataset.from_preprocessed(X, quadratic_outputs(Wstar, X))
    return certify(network, data, [CLAIM.kind], step_size=step_size)


CLAIM = ClaimRecord(
    kind="below-barrier",
    theorem="quadratic-barrier/1",
    proves=Proves.DESCENT,
    label="descent to the global minimum",
    network=ShallowNetwork,
    build=lambda q: build(q.network, q.data, step_size=q.step_size),
    sentence="The stored weights are at most {E0} above the least loss of all quadratic networks, "
    "and rank-deficient weights are at least {barrier} above it. So gradient descent with step "
    "{eta}, in exact arithmetic, never meets them and converges to the global minimum; every step "
    "multiplies the excess by at most {rate}.",
    headline="Gradient descent from the stored weights provably converges to the global minimum; "
    "they are not there yet.",
    limit=NOT_THE_RUN,
)
