r"""Before samples are drawn: how many a teacher like this one needs, and what the theorems promise
near it (FCL-T1, FCL-T2 with numbers).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import ESTIMATORS, LABELS, Estimator, Labels, one_of
from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError, HypothesisError
from globalmin.recovery.bounds import (
    Conditioning,
    descent_rate,
    population_curvature_least,
    population_radius,
)
from globalmin.recovery.concentration import explicit_error_samples, explicit_samples
from globalmin.recovery.geometry import local_activation
from globalmin.recovery.information import asymptotic_error, estimate_label_information
from globalmin.recovery.population import population_hessian
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.activations import Activation

SAFE = 1.0 - 1e-9  # of a computed least eigenvalue, against rounding


@dataclass(frozen=True)
class RecoveryPlan:
    r"""What is known of a teacher before samples are drawn; losses are $\frac1{2n}\sum r^2$.

    Attributes
    ----------
    neurons, features, activation, labels, estimator, noise, accuracy : as asked.
    conditioning : sigma_K, kappa, lambda and rho(sigma_K) of the theorems.
    curvature_bound : rho/(K^2 kappa^2 lambda), at most `curvature` (FCL-LMIN).
    curvature, largest_curvature : extreme eigenvalues of the population Hessian at the teacher.
    radius : on the ball of this radius the population loss keeps half of its curvature (FCL-L2).
    step_size, rate : gradient descent on that ball, from `convex_samples` on: the distance to the
        minimum shrinks by `rate` a step (FCL-T2, for a quarter of the curvature at the teacher).
    samples : for an expected relative error of `accuracy`, in the limit of large n; an estimate.
    convex_samples : from this n on the loss of the samples is strongly convex on the ball, except
        with probability `failure` (FCL-T1, every constant explicit); None where no theorem says so.
    error_samples : from this n on its one critical point there is within `accuracy` of the teacher,
        except with probability `failure` (FCL-T2, explicit); None likewise.
    covariance : n times that of the weights.
    """

    neurons: int
    features: int
    activation: str
    labels: Labels
    estimator: Estimator
    noise: float
    accuracy: float
    failure: float
    size: float
    conditioning: Conditioning
    curvature_bound: float
    curvature: float
    largest_curvature: float
    radius: float
    step_size: float
    rate: float
    samples: int
    convex_samples: int | None
    error_samples: int | None
    covariance: Array = field(repr=False)

    def expected_error(self, n: int) -> float:
        """The relative error to be expected from n samples, for large n (root mean square)."""
        return asymptotic_error(self.covariance, n) / self.size

    def __str__(self) -> str:
        c = self.conditioning
        kind = f"{self.labels}, {self.estimator}" + (f", noise {self.noise:.3g}" * (self.noise > 0))
        lines = [
            f"{self.neurons} {self.activation} neurons of {self.features} features ({kind})",
            f"sigma_K {c.sigma_min:.4g}, kappa {c.kappa:.4g}, lambda {c.volume:.4g}, "
            f"rho {c.rho:.4g}",
            f"curvature at the teacher {self.curvature:.4g} to {self.largest_curvature:.4g} "
            f"(at least rho/(K^2 kappa^2 lambda) = {self.curvature_bound:.4g})",
            f"radius {self.radius:.4g}, step {self.step_size:.4g}, rate {self.rate:.6f} a step",
            f"samples for {100 * self.accuracy:.3g} % expected error: {self.samples:,} (estimate)",
            f"samples that provably suffice, except with probability {self.failure:g}: "
            f"{_count(self.convex_samples)} for convexity on the ball, "
            f"{_count(self.error_samples)} for this error",
        ]
        return "\n".join(lines)


def _count(n: int | None) -> str:
    return "none known" if n is None else f"{n:.2g}"


@states("FCL-T1", "FCL-T2")
def plan_recovery(
    teacher: ArrayLike | object,
    activation: str | Activation = "sigmoid",
    *,
    labels: Labels = "classification",
    estimator: Estimator = "squares",
    noise: float = 0.0,
    accuracy: float = 0.1,
    failure: float = 0.01,
) -> RecoveryPlan:
    """How many samples a recovery needs, and what the theorems promise near this teacher.

    Parameters
    ----------
    teacher : ArrayLike | object
        Weights, K x d by rows: those recovered (or the result of `recover_teacher` itself), or a
        guess such as orthogonal rows of the norms that are expected. Inputs N(0, I), no offsets.
    activation : str | Activation
        Smooth with bounded slope; for classification with values in [0, 1].
    labels : str
        "classification" or "regression".
    estimator : str
        "squares", or for classification "likelihood".
    noise : float
        Standard deviation of the labels' noise, regression only.
    accuracy : float
        The relative Frobenius error wanted.
    failure : float
        Probability of failure allowed in the explicit theorems.

    Returns
    -------
    RecoveryPlan
        Print it. Without noise regression needs as many samples as weights at least; more is not
        known to be needed.

    Raises
    ------
    HypothesisError
        K > d, dependent neurons, an activation that the theorems are not about.

    Examples
    --------
    >>> import numpy as np
    >>> import globalmin as gm
    >>> plan = gm.plan_recovery(2.0 * np.eye(2, 5), labels="classification")
    >>> 8_000 < plan.samples < 20_000
    True
    """
    W, phi = _weights(teacher), local_activation(activation)
    _refuse(labels, estimator, noise=noise, accuracy=accuracy, failure=failure)
    eigenvalues = np.linalg.eigvalsh(population_hessian(W, W, phi))
    least = SAFE * float(eigenvalues[0])
    found = population_radius(W, phi, curvature=least)
    step, rate = descent_rate(found.least / 2.0, found.most + found.least / 2.0)
    size = float(np.linalg.norm(W))
    covariance = _covariance(W, phi, labels=labels, estimator=estimator, noise=noise)
    needed = float(np.trace(covariance)) / (accuracy * size) ** 2
    convex, near = _explicit(W, phi, least, failure=failure, accuracy=accuracy, labels=labels)
    return RecoveryPlan(
        neurons=W.shape[0],
        features=W.shape[1],
        activation=phi.spelling,
        labels=labels,
        estimator=estimator,
        noise=noise,
        accuracy=accuracy,
        failure=failure,
        size=size,
        conditioning=found.conditioning,
        curvature_bound=population_curvature_least(W, phi),
        curvature=float(eigenvalues[0]),
        largest_curvature=float(eigenvalues[-1]),
        radius=found.radius,
        step_size=step,
        rate=rate,
        samples=max(W.size, math.ceil(needed)),
        convex_samples=None if noise else convex,
        error_samples=None if noise else near,
        covariance=covariance,
    )


def _weights(teacher: object) -> Array:
    W = np.asarray(getattr(teacher, "weights", teacher), dtype=np.float64)
    if W.ndim != 2 or 0 in W.shape or not np.isfinite(W).all():
        raise DataError(
            f"teacher has shape {W.shape}: give weights K x d with finite entries, or the result "
            "of recover_teacher"
        )
    return W


def _refuse(labels: Labels, estimator: Estimator, **numbers: float) -> None:
    one_of("labels", labels, LABELS)
    if estimator not in ESTIMATORS or (estimator == "likelihood" and labels != "classification"):
        raise DataError(
            f"estimator={estimator!r}: choose 'squares', or 'likelihood' with "
            "labels='classification'"
        )
    if not numbers["noise"] >= 0.0 or (numbers["noise"] and labels != "regression"):
        raise DataError(
            f"noise={numbers['noise']} must be >= 0, and 0 for binary labels, which have their own"
        )
    for name in ("accuracy", "failure"):
        if not 0.0 < numbers[name] < 1.0:
            raise DataError(f"{name}={numbers[name]} must lie strictly between 0 and 1")


def _covariance(
    W: Array, phi: Activation, *, labels: Labels, estimator: Estimator, noise: float
) -> Array:
    if labels == "regression":
        inverse = np.linalg.inv(population_hessian(W, W, phi))
        return np.asarray(noise**2 * inverse, dtype=np.float64)
    found = estimate_label_information(W, phi)
    return found.squares_covariance if estimator == "squares" else found.likelihood_covariance


def _explicit(
    W: Array, phi: Activation, least: float, *, failure: float, accuracy: float, labels: Labels
) -> tuple[int | None, int | None]:
    """Samples of the explicit theorems; without noise the teacher itself is the critical point."""
    try:
        convex = explicit_samples(W, phi, delta=failure, curvature=least).samples
        if labels == "regression":
            return convex, convex
        return convex, explicit_error_samples(
            W, phi, error=accuracy, delta=failure, curvature=least
        )
    except HypothesisError:  # residuals without a bound, as for softplus
        return None, None
