r"""The energy barrier of quadratic networks: what a rank-deficient W must cost, and linear
convergence from below it.

Population quantities (losses without 1/2, as in `quadratic_risk`): GKZ-T2.1, GKZ-RATE. Data version
with noisy labels and unequal positive heads, loss $(1/2)\sum_i r_i^2$: section 10 of the
certificate theorems. Everything is in floats, hence an estimate of the true constants.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from globalmin._options import one_of
from globalmin._types import Array
from globalmin.errors import DataError, HypothesisError
from globalmin.linalg.symmetric import design_gram, quadratic_forms, require_wide, svec, unsvec
from globalmin.quadratic.risk import population_risk, smallest_singular_value, square_root_of
from globalmin.references import states
from globalmin.shallow.initialization import scale_of_labels, scaled_identity

Kind = Literal["paper", "exact"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@states("GKZ-T2.1", "GKZ-T2.1b")
def barrier(Wstar: Array, kind: Kind = "exact") -> float:
    r"""Least population risk of a W of rank < d: $2\frac{d+2}{d+1}\sigma^4$ ("exact"), at least
    $2\sigma^4$ ("paper").

    Parameters
    ----------
    Wstar : teacher, m x d with m >= d; of rank d, or the barrier is zero.
    kind : "exact" is attained (`exact_barrier_point`), "paper" is the published bound GKZ-T2.1b.
    """
    one_of("kind", kind, KINDS)
    require_wide(Wstar, "Wstar")
    return barrier_constant(Wstar.shape[1], kind) * smallest_singular_value(Wstar) ** 4


def barrier_constant(d: int, kind: Kind = "exact") -> float:
    r"""$2(d+2)/(d+1)$, or 2."""
    return 2.0 * (d + 2) / (d + 1) if kind == "exact" else 2.0


@states("GKZ-T2.1c")
def tight_point(Wstar: Array) -> Array:
    r"""A W of rank d-1 and the shape of Wstar with risk exactly $3\sigma^4$: the least eigenvalue
    of $W^{*T}W^*$ set to zero.
    """
    eigenvalues, vectors = _spectrum(Wstar)
    eigenvalues[0] = 0.0
    return square_root_of((vectors * eigenvalues) @ vectors.T, Wstar.shape[0])


@states("GKZ-T2.1")
def exact_barrier_point(Wstar: Array) -> Array:
    r"""A minimizer of the risk over rank < d: eigenvalues $a_j + a_d/(d+1)$ for j < d, and 0. It is
    a saddle of the census.
    """
    eigenvalues, vectors = _spectrum(Wstar)
    eigenvalues = eigenvalues + eigenvalues[0] / (Wstar.shape[1] + 1)
    eigenvalues[0] = 0.0
    return square_root_of((vectors * eigenvalues) @ vectors.T, Wstar.shape[0])


def _spectrum(Wstar: Array) -> tuple[Array, Array]:
    """Ascending eigenvalues and eigenvectors of A for a teacher of full rank."""
    require_full_rank(Wstar)
    return np.linalg.eigh(Wstar.T @ Wstar)


def require_full_rank(Wstar: Array) -> float:
    r"""$\sigma_{\min}(W^*)$, or a refusal if it is zero up to rounding: the theorem is about
    teachers of rank d.
    """
    require_wide(Wstar, "Wstar")
    singular = np.linalg.svd(Wstar, compute_uv=False)
    if not singular[-1] > max(Wstar.shape) * np.finfo(np.float64).eps * singular[0]:
        raise HypothesisError(
            f"Wstar has singular values from {singular[-1]:.3g} to {singular[0]:.3g}; the theorem "
            "needs rank(Wstar) = d",
            hypothesis="rank(Wstar) = d",
            value=float(singular[-1]),
        )
    return float(singular[-1])


@states("GKZ-T2.1")
def estimate_smallest_eigenvalue_below(W: Array, Wstar: Array) -> float:
    r"""$\lambda_{\min}(W^TW) \ge \sigma^2 - \sqrt{L(W)(d+1)/(2(d+2))}$: positive exactly below the
    exact barrier, so rank W = d there.
    """
    d = W.shape[1]
    return smallest_singular_value(Wstar) ** 2 - math.sqrt(
        population_risk(W, Wstar) / barrier_constant(d)
    )


@dataclass(frozen=True)
class DescentRate:
    r"""Gradient descent from here: step `eta` <= 1/`Lip`, risk factor `rate` per step, and $s^2 \le
    \lambda_{\min}(W_t^TW_t)$ for all t.
    """

    eta: float
    Lip: float
    rate: float
    s2: float


@states("GKZ-RATE", "GKZ-GD")
def population_rate(W0: Array, Wstar: Array, *, eta: float | None = None) -> DescentRate | None:
    r"""Step and linear rate of gradient descent on the population risk from $W_0$; None if $L(W_0)$
    is not below the exact barrier.

    With $\tau = \sqrt{L_0 (d+1)/(2(d+2))}$ and $s^2 = \sigma^2 - \tau > 0$:
    $\mathrm{Lip} = 16(a_1+\tau) + 8(\mathrm{tr}A + \sqrt{L_0}) + 8\tau + 4\sqrt{L_0}$ and
    $L(W_{t+1}) \le (1 - 16\eta s^2) L(W_t)$ for $\eta \le 1/\mathrm{Lip}$.

    Theory
    ------
    GKZ-RATE with the sharp $\tau$ (Lemma Q), so that "below the exact barrier" and "certified rate"
    are one condition.
    """
    require_wide(W0, "W0")
    require_wide(Wstar, "Wstar")
    A = Wstar.T @ Wstar
    L0 = population_risk(W0, Wstar)
    tau = math.sqrt(L0 / barrier_constant(W0.shape[1]))
    eigenvalues = np.linalg.eigvalsh(A)
    s2 = float(eigenvalues[0]) - tau
    if not s2 > (len(A) + 8) * np.finfo(np.float64).eps * (float(eigenvalues[-1]) + tau):
        return None  # on the barrier, up to rounding
    root = math.sqrt(L0)
    Lip = (
        16.0 * (float(eigenvalues[-1]) + tau)
        + 8.0 * (float(np.trace(A)) + root)
        + 8.0 * tau
        + 4.0 * root
    )
    step = 1.0 / Lip if eta is None else float(eta)
    if not 0.0 < step <= 1.0 / Lip:
        raise DataError(f"eta={eta} must be positive and at most 1/Lip = {1.0 / Lip:.6g}")
    return DescentRate(step, Lip, 1.0 - 16.0 * step * s2, s2)


@states("GKZ-RATEemp")
def empirical_domination(W: Array, X: Array) -> float:
    r"""$16\,\sigma_{\min}(W)^2 \lambda^+_{\min}(F)$: at most $\|\nabla\hat L\|_F^2 / \hat L$ for
    planted labels, any data. $F = (1/n)S^TS$.
    """
    return 16.0 * smallest_singular_value(W) ** 2 * smallest_positive_eigenvalue(X)


@states("GKZ-RATEemp")
def empirical_barrier(Wstar: Array, X: Array) -> float:
    r"""$\lambda_{\min}(F)\,\sigma^4$: at most $\hat L(W)$ of every W of rank < d; zero if the
    samples do not span.
    """
    low = float(np.linalg.eigvalsh(design_gram(X))[0]) / X.shape[0]
    return max(low, 0.0) * smallest_singular_value(Wstar) ** 4


def smallest_positive_eigenvalue(X: Array) -> float:
    r"""$\lambda^+_{\min}(F)$: the smallest eigenvalue of $F = (1/n)S^TS$ above the rank
    tolerance.
    """
    eigenvalues = np.linalg.eigvalsh(design_gram(X)) / X.shape[0]
    tolerance = (
        max(X.shape[0], eigenvalues.shape[0]) * np.finfo(np.float64).eps * float(eigenvalues[-1])
    )
    positive = eigenvalues[eigenvalues > tolerance]
    return float(positive[0]) if positive.size else 0.0


@dataclass(frozen=True)
class BarrierQuantities:
    r"""Section 10 at one point, in floats: bounds phi <= F <= Phi of $F = S^TS$, least-squares
    matrix `A` with spectrum in [a_lo, a_hi], excess loss E0 = L(W) - L_min, tau, s2 = a_lo - tau,
    and the step `eta` with its factor `rate` per step (0 and 1 unless s2 > 0).

    `barrier` = phi a_lo^2 / 2 is the excess loss of the cheapest rank-deficient W, at least.
    """

    phi: float
    Phi: float
    A: Array
    a_lo: float
    a_hi: float
    E0: float
    tau: float
    s2: float
    Lip: float
    eta: float
    rate: float
    barrier: float

    @property
    def is_below(self) -> bool:
        """Whether gradient descent on W from here provably (up to rounding) converges to the
        minimum.
        """
        return self.s2 > 0.0


@states("GKZ-RATE", "GKZ-RATEemp")
def barrier_quantities(
    W: Array, v: Array, X: Array, y: Array, *, eta: float | None = None
) -> BarrierQuantities:
    r"""All constants of the below-barrier theorem for the data (X, y), head v > 0 frozen, loss
    $(1/2)\sum_i r_i^2$.

    $\tau = \sqrt{2E_0/\phi}$, $s_2 = a_{lo} - \tau$, $\mathrm{Lip} = v_{\max}(4\Phi(a_{hi}+\tau) +
    2\sqrt{2\Phi E_0})$, $E(W_{t+1}) \le (1 - 4\eta\phi v_{\min}s_2) E(W_t)$ for $\eta \le
    1/\mathrm{Lip}$.

    Raises
    ------
    HypothesisError
        If a head weight is not positive or the matrices $x_i x_i^T$ do not span the symmetric ones
        (F singular).
    """
    if not (v > 0).all():
        raise HypothesisError(
            "v has an entry that is not positive; the barrier theorem is for heads v > 0",
            hypothesis="v > 0",
            value=float(v.min()),
        )
    F = design_gram(X)
    spectrum = np.linalg.eigvalsh(F)
    phi, Phi = float(spectrum[0]), float(spectrum[-1])
    if not phi > max(X.shape[0], F.shape[0]) * np.finfo(np.float64).eps * Phi:
        raise HypothesisError(
            f"the {X.shape[0]} matrices x x^T do not span the symmetric ones (smallest eigenvalue "
            f"{phi:.3g}); give at least {F.shape[0]} samples in general position",
            hypothesis="S^T S > 0",
            value=phi,
        )
    A = least_squares_matrix(X, y, F)
    eigenvalues = np.linalg.eigvalsh(A)
    difference = quadratic_forms(X, (W * v[:, None]).T @ W - A)
    E0 = 0.5 * float(difference @ difference)
    return _quantities(
        phi, Phi, A, (float(eigenvalues[0]), float(eigenvalues[-1])), E0=E0, v=v, eta=eta
    )


def least_squares_matrix(X: Array, y: Array, F: Array) -> Array:
    r"""$\mathrm{svec}(A) = F^{-1}S^Ty$ for $F = S^TS$ positive definite, with one step of
    refinement.
    """
    from scipy.linalg import cho_factor, cho_solve

    from globalmin.linalg.symmetric import moment_matrix

    factor = cho_factor(F)
    A = unsvec(cho_solve(factor, svec(moment_matrix(X, y))))
    return A + unsvec(cho_solve(factor, svec(moment_matrix(X, y - quadratic_forms(X, A)))))


def _quantities(
    phi: float,
    Phi: float,
    A: Array,
    spectrum: tuple[float, float],
    *,
    E0: float,
    v: Array,
    eta: float | None,
) -> BarrierQuantities:
    a_lo, a_hi = spectrum
    tau = math.sqrt(2.0 * E0 / phi)
    s2 = a_lo - tau
    Lip = float(v.max()) * (4.0 * Phi * (a_hi + tau) + 2.0 * math.sqrt(2.0 * Phi * E0))
    barrier_value = phi * max(a_lo, 0.0) ** 2 / 2.0
    if not s2 > 0:
        return BarrierQuantities(phi, Phi, A, a_lo, a_hi, E0, tau, s2, Lip, 0.0, 1.0, barrier_value)
    step = 1.0 / Lip if eta is None else float(eta)
    if not 0.0 < step <= 1.0 / Lip:
        raise DataError(f"eta={eta} must be positive and at most 1/Lip = {1.0 / Lip:.6g}")
    rate = 1.0 - 4.0 * step * phi * float(v.min()) * s2
    return BarrierQuantities(phi, Phi, A, a_lo, a_hi, E0, tau, s2, Lip, step, rate, barrier_value)


WIDTH_CONSTANT = 269  # m >= 269 d^2 suffices in GKZ-T2.5: 33/C + 8 C^(-3/2) + 16 C^(-2) < 1/8


@states("GKZ-T2.4")
def singular_value_interval(m: int, d: int, t: float) -> tuple[float, float, float]:
    r"""Interval $\sqrt m \mp (\sqrt d + t)$ for all singular values of an m x d Gaussian matrix,
    and its probability, at least $1-2e^{-t^2/2}$.
    """
    if m < 1 or d < 1 or not t >= 0:
        raise DataError(f"m={m}, d={d}, t={t} must satisfy m >= 1, d >= 1, t >= 0")
    spread = math.sqrt(d) + t
    return math.sqrt(m) - spread, math.sqrt(m) + spread, 1.0 - 2.0 * math.exp(-(t**2) / 2.0)


@states("GKZ-T2.5")
def identity_start(
    m: int, d: int, *, scale: float | str = "paper", y: Array | None = None
) -> Array:
    r"""$W_0 = \sqrt\gamma\,[I_d; 0]$, m x d, so $W_0^TW_0 = \gamma I$.

    Parameters
    ----------
    scale : $\gamma$: "paper" is m + 4d (GKZ-T2.5), "width" is m, "data" is mean(y)/d (ours, the
        best multiple of I for Gaussian inputs, since $E y = \|W^*\|_F^2$), or a positive number.
    y : labels, for "data" only.
    """
    return scaled_identity(m, d, _scale(m, d, scale, y))


def _scale(m: int, d: int, scale: float | str, y: Array | None) -> float:
    if scale == "paper":
        return float(m + 4 * d)
    if scale == "width":
        return float(m)
    if scale == "data":
        if y is None:
            raise DataError("scale='data' needs labels y")
        return scale_of_labels(y, d)
    if isinstance(scale, str) or not (math.isfinite(scale) and scale > 0):
        raise DataError(
            f"scale={scale!r} is unknown; choose 'paper', 'width', 'data' or a positive number"
        )
    return float(scale)


@states("GKZ-T2.5")
def start_margin(W0: Array, Wstar: Array, *, kind: Kind = "exact") -> float:
    r"""$L(W_0)$ divided by the barrier; below 1 gradient descent from $W_0$ stays at full rank and
    converges (GKZ-RATE).
    """
    height = barrier(Wstar, kind)
    if not height > 0:
        raise HypothesisError(
            "Wstar does not have full column rank, so there is no barrier",
            hypothesis="rank(Wstar) = d",
            value=height,
        )
    return population_risk(W0, Wstar) / height


@states("GKZ-T2.5")
def sufficient_width(d: int) -> int:
    r"""$269 d^2$: from this width the paper's start is below the barrier, with the probability of
    `start_probability`.
    """
    if d < 1:
        raise DataError(f"d={d} must be at least 1")
    return WIDTH_CONSTANT * d * d


@states("GKZ-T2.5")
def start_probability(d: int) -> float:
    r"""$1 - 2e^{-d/2} - 2e^{-d/5}$, at least 0: over the draw of a Gaussian teacher with $m \ge
    269d^2$ neurons.
    """
    return max(0.0, 1.0 - 2.0 * math.exp(-d / 2.0) - 2.0 * math.exp(-d / 5.0))


@states("GKZ-T2.5")
def risk_of_start_limit(d: int, epsilon: float) -> float:
    r"""$(2d + d^2)\epsilon^2 \ge L(W_0)$ if $W_0^TW_0 = \kappa I$ and the spectrum of $W^{*T}W^*$
    lies in $[\kappa - \epsilon, \kappa + \epsilon]$.
    """
    return (2.0 * d + d * d) * epsilon**2
