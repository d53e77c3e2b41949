r"""The change of coordinates in which a teacher on Gaussian inputs of unknown mean and covariance,
with or without offsets, looks like the one the moments are read for.

With $x = m + Lz$, z ~ N(0, I), a neuron $\phi(w\cdot x + b)$ is $\phi(L^Tw\cdot z + c)$, $c = b +
w\cdot m$: the moment tensors in z are again sums of powers of the directions of $L^Tw$ (FCL-DEF2
with moments of a shifted activation), so subspace and directions come from them; lengths and shifts
are then fitted. Mean and covariance are those of the samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import INPUTS, Inputs, one_of
from globalmin._types import Array
from globalmin.errors import DataError

if TYPE_CHECKING:
    from globalmin.activations import Activation

SAMPLES = 20_000  # that lengths and shifts are fitted on, at most
SHIFTS = 4  # random starts of the shifts beside zero
DEPENDENT = 1e-10  # least over largest eigenvalue of the correlations


@dataclass(frozen=True)
class Coordinates:
    """$x = m + Lz$; `has_offsets` says that weights end in a column for a feature 1.

    Attributes
    ----------
    mean : m, (d,). factor : L, lower triangular, d x d.
    """

    mean: Array
    factor: Array
    has_offsets: bool

    @property
    def is_standard(self) -> bool:
        """Nothing is changed: no offsets, mean zero, L the identity."""
        return not self.has_offsets and not self.mean.any() and self._is_white

    @property
    def _is_white(self) -> bool:
        return bool((self.factor == np.eye(len(self.mean))).all())

    def whitened(self, X: Array) -> Array:
        """The rows z."""
        if self._is_white:
            return X - self.mean if self.mean.any() else X
        return self._divided(X - self.mean)

    def _divided(self, X: Array) -> Array:
        return np.asarray(np.linalg.solve(self.factor, X.T).T, dtype=np.float64)

    def inner(self, X: Array) -> Array:
        """The rows that descent sees: (z, 1) with offsets, $L^{-1}x$ without."""
        if self.has_offsets:
            return np.column_stack([self.whitened(X), np.ones(len(X))])
        return X if self._is_white else self._divided(X)

    @property
    def outward(self) -> Array:
        """T with (weights of x, offset) = T (weights of z, shift) for every neuron."""
        back = np.asarray(np.linalg.inv(self.factor).T, dtype=np.float64)
        if not self.has_offsets:
            return back
        d = len(self.mean)
        T = np.zeros((d + 1, d + 1))
        T[:d, :d], T[d, :d], T[d, d] = back, -self.mean @ back, 1.0
        return T


def coordinates_of(X: Array, *, inputs: Inputs, offsets: bool) -> Coordinates:
    """Those of the samples: "standard" leaves N(0, I) as it is, "gaussian" takes mean and
    covariance from the rows.
    """
    d = X.shape[1]
    one_of("inputs", inputs, INPUTS, remedy="(any mean and covariance, from the samples)")
    if inputs == "standard":
        return Coordinates(np.zeros(d), np.eye(d), offsets)
    mean = X.mean(axis=0)
    covariance = np.atleast_2d(np.cov(X, rowvar=False))
    spreads = np.sqrt(np.diag(covariance))
    constant = np.flatnonzero(spreads <= 1e-12 * np.maximum(np.abs(mean), 1e-300))
    if constant.size:
        raise DataError(
            f"feature {constant[0]} is constant: nothing is known of its weights; leave it out "
            "(for offsets use offsets=True)"
        )
    correlations = covariance / np.outer(spreads, spreads)
    eigenvalues = np.linalg.eigvalsh(correlations)
    if eigenvalues[0] <= DEPENDENT * eigenvalues[-1]:
        raise DataError(
            "the features are linearly dependent: their weights cannot be told apart; leave some "
            "features out"
        )
    factor = np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
    return Coordinates(mean, factor, offsets)


def fit_lengths(
    X: Array, y: Array, start: Array, phi: Activation, at: Coordinates, *, seed: int = 0
) -> Array:
    """Weights for `Coordinates.inner`: directions as in `start` (K x d, for z), lengths and, with
    offsets, shifts by least squares from a few starts.
    """
    from scipy.optimize import least_squares

    rows, labels = X[:SAMPLES], y[:SAMPLES]
    K, rng = len(start), np.random.default_rng([seed, 2])
    norms = np.maximum(np.linalg.norm(start, axis=1), 1e-12)
    directions = start / norms[:, None]
    U = at.inner(rows)
    along = U[:, : start.shape[1]] @ directions.T

    def values(p: Array) -> Array:
        return along * p[:K] + p[K:] if at.has_offsets else along * p

    def residuals(p: Array) -> Array:
        return phi(values(p)).mean(axis=1) - labels

    def slopes(p: Array) -> Array:
        slope = phi.derivative(values(p)) / K
        return np.hstack([slope * along, slope]) if at.has_offsets else slope * along

    shifts = [np.zeros(K), *rng.standard_normal((SHIFTS, K))] if at.has_offsets else [np.zeros(0)]
    best: Array | None = None
    cost = np.inf
    for shift in shifts:
        guess = np.concatenate([np.clip(norms, 0.3, 5.0), shift])
        found = least_squares(residuals, guess, jac=slopes, max_nfev=60)  # pyright: ignore[reportArgumentType]
        if best is None or found.cost < cost:
            best, cost = np.asarray(found.x, dtype=np.float64), float(found.cost)
    if best is None:
        raise DataError("no start of the shifts was tried")
    weights = best[:K, None] * directions
    return np.column_stack([weights, best[K:]]) if at.has_offsets else weights
