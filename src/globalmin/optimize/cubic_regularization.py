r"""Newton's method with cubic regularization, for which scipy has no routine.

The step minimizes $g \cdot s + \frac12s^THs + \frac{\sigma}{3}\|s\|^3$ globally, whatever the signs
of the eigenvalues of H: s solves $(H + \lambda I)s = -g$ with $\lambda = \sigma\|s\|$ and $H +
\lambda I \ge 0$.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError

if TYPE_CHECKING:
    from globalmin.optimize.objective import Objective


# ratio of actual to predicted decrease above which sigma is halved, below which the step is refused
GOOD, FAIR = 0.9, 0.1
LEAST_SIGMA, LARGEST_SIGMA = 1e-10, 1e30
KRYLOV = 60  # dimension of the subspace of the step when the Hessian is not formed
TINY = np.finfo(np.float64).tiny


class CubicStep(NamedTuple):
    """A step, the multiplier lambda, and the decrease that the model predicts (>= 0)."""

    step: Array
    multiplier: float
    decrease: float


def cubic_step(H: Array, g: Array, sigma: float) -> CubicStep:
    r"""A global minimizer of $g \cdot s + \frac12s^THs + \frac{\sigma}{3}\|s\|^3$, by
    eigendecomposition and the secular equation.

    With $H = Q\,\mathrm{diag}(\lambda_i)Q^T$, $\hat g = Q^Tg$ and $\mu = \lambda + \lambda_1$ the
    step has the coordinates $-\hat g_i/(\lambda_i - \lambda_1 + \mu)$; $\|s\| = \lambda/\sigma$ has
    one root. If there is none (the hard case, $\hat g$ zero on the lowest eigenspace), $\lambda =
    -\lambda_1$ and a multiple of the lowest eigenvector makes up the length.
    """
    if not (np.isfinite(H).all() and np.isfinite(g).all() and 0.0 < sigma < math.inf):
        raise DataError(
            "the cubic model needs a finite Hessian and gradient and sigma > 0, not "
            f"sigma={sigma!r}"
        )
    values, vectors = np.linalg.eigh(H)
    slopes, gaps, low = vectors.T @ g, values - values[0], float(values[0])
    mu = _secular_root(slopes, gaps, low, sigma)
    # in the hard case the coordinates in the lowest eigenspace are left to the multiple of its
    # first vector
    s = -np.divide(slopes, gaps + mu, out=np.zeros_like(slopes), where=gaps + mu > 0)
    multiplier = max(mu - low, 0.0)
    missing = (multiplier / sigma) ** 2 - float(s @ s)
    if mu == 0.0 and low < 0 and missing > 0:
        s[0] -= math.copysign(math.sqrt(missing), slopes[0])
    length = float(np.linalg.norm(s))
    model = float(slopes @ s) + 0.5 * float(values @ s**2) + sigma / 3.0 * length**3
    return CubicStep(vectors @ s, multiplier, max(-model, 0.0))


def _secular_root(slopes: Array, gaps: Array, low: float, sigma: float) -> float:
    """The mu >= max(0, low) with |s(mu)| = (mu - low)/sigma; 0 in the hard case."""
    from scipy.optimize import brentq

    size = float(np.linalg.norm(slopes))
    if size == 0.0:
        return max(low, 0.0)

    def excess(mu: float) -> float:
        return float(np.linalg.norm(slopes / (gaps + mu))) - (mu - low) / sigma

    floor = 1e-14 * max(1.0, abs(low), float(gaps[-1]))
    left = low if low > 0 else floor * min(1.0, size)
    right = max(low, 0.0) + math.sqrt(sigma * size) + floor
    while excess(right) > 0:
        right *= 2.0
    left = max(left, TINY)
    if excess(left) <= 0:
        return low if low > 0 else 0.0
    options = {"xtol": TINY, "rtol": 4.0 * float(np.finfo(np.float64).eps), "maxiter": 500}
    return float(brentq(excess, left, right, **options))  # pyright: ignore[reportArgumentType]


def cubic_steps(
    objective: Objective, x: Array, *, dense: bool, sigma: float = 1.0
) -> Iterator[tuple[Array, float, Array]]:
    """Adaptive cubic regularization: the iterates x, f(x), gradient; a refused step repeats its
    point; points where anything is not finite are refused. Ends when sigma overflows.
    """
    value, slope = objective.value_and_gradient(x)
    basis, H = _model(objective, x, slope, dense)
    while sigma <= LARGEST_SIGMA:
        small = cubic_step(H, slope if basis is None else basis.T @ slope, sigma)
        s = small.step if basis is None else basis @ small.step
        if small.decrease == 0.0:
            return
        new, bent = objective.value_and_gradient(x + s)
        ratio = (
            (value - new) / small.decrease
            if np.isfinite(new) and np.isfinite(bent).all()
            else -math.inf
        )
        model = _model(objective, x + s, bent, dense) if ratio >= FAIR else None
        if model is not None and np.isfinite(model[1]).all():
            x, value, slope, (basis, H) = x + s, new, bent, model
        else:
            ratio = -math.inf
        sigma = (
            max(sigma / 2.0, LEAST_SIGMA)
            if ratio >= GOOD
            else (sigma if ratio >= FAIR else 4.0 * sigma)
        )
        yield x, value, slope


def _model(objective: Objective, x: Array, slope: Array, dense: bool) -> tuple[Array | None, Array]:
    """The Hessian, or a basis of the Krylov space of the gradient and the Hessian on it."""
    if dense:
        H = objective.hessian(x)
        return None, (H + H.T) / 2.0
    basis = krylov_basis(lambda u: objective.hessian_times(x, u), slope, KRYLOV)
    H = basis[0].T @ basis[1]
    return basis[0], (H + H.T) / 2.0


def krylov_basis(times: object, first: Array, size: int) -> tuple[Array, Array]:
    """Orthonormal basis V of span(g, Hg, H^2 g, ...) and HV, orthogonalized twice; shorter if the
    space is invariant.
    """
    norm = float(np.linalg.norm(first))
    u = first / norm if norm > 0 else np.eye(1, first.size)[0]
    V, images = [], []
    while len(V) < min(size, first.size):
        V.append(u)
        images.append(times(u))  # pyright: ignore[reportCallIssue]
        so_far = np.stack(V)
        rest = images[-1] - so_far.T @ (so_far @ images[-1])
        rest = rest - so_far.T @ (so_far @ rest)
        left = float(np.linalg.norm(rest))
        if left <= 1e-12 * max(float(np.linalg.norm(images[-1])), TINY):
            break
        u = rest / left
    return np.stack(V, axis=1), np.stack(images, axis=1)
