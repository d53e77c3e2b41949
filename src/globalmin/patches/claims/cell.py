"""The activation cell of a patch network in floats: which filters and samples a proof of zero loss
takes, how far the products stay from zero, and Newton steps to a witness with room.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.linalg

from globalmin._types import Array, NDArray
from globalmin.linalg.positive_definite import EPS
from globalmin.patches.claims.precise import precise_patch_residual
from globalmin.patches.network import PatchNetwork
from globalmin.shallow.claims.high_precision import PreciseResidual

Indices = NDArray[np.int64]
# safety factor on the margins, above what the bound mu loses to the true eigenvalue
ROOM = 1.0 + 1e-4
_COMFORTABLE = 0.5  # ratio from which on no further Newton step is worth moving the filters
_STEPS = 12
_BESIDE = (1e-9, 1e-7, 1e-5, 1e-3)  # relative distances at which a witness is looked for
_BINARY_DIGITS = (4, 8, 12, 16, 24, 32)  # of filters that may be exact


@dataclass(frozen=True)
class Measured:
    """Filters at the samples: the residual far beyond doubles, slopes b (n x m x p), and for the
    filters T and samples S of the proof the least eigenvalue of G and the worst ratio of a move to
    its margin, which must be below 1.
    """

    network: PatchNetwork
    patches: Array = field(repr=False)
    residual: PreciseResidual = field(repr=False)
    slopes: Array = field(repr=False)
    moving: Indices
    solved: Indices
    mu: float
    ratio: float

    @property
    def J(self) -> Array:
        """The slopes of T and S, one row per sample."""
        return self.slopes[np.ix_(self.solved, self.moving)].reshape(self.solved.size, -1)

    @property
    def rho(self) -> float:
        """The norm of the residual over S, from above."""
        over = PreciseResidual(self.residual.r[self.solved], self.residual.radius[self.solved])
        return over.norm_above()


def measured(network: PatchNetwork, patches: Array, y: Array) -> Measured:
    """The point with the filters whose margins suffice, or the best that were tried."""
    H = patches @ network.filters.T
    slopes = np.matmul((H > 0.0).transpose(0, 2, 1) * network.head, patches)
    start = Measured(
        network,
        patches,
        precise_patch_residual(network, patches, y),
        slopes,
        np.arange(network.n_filters),
        np.arange(y.size),
        0.0,
        math.inf,
    )
    best, ratios = _with_filters(start, start.moving, H)
    point = best
    while (kept := point.moving[ratios * ROOM <= 1.0]).size not in (0, point.moving.size):
        point, ratios = _with_filters(start, kept, H)
        if point.solved.size < best.solved.size:  # the others cannot do without them
            break
        best = point if point.ratio < best.ratio else best
    return best


def _with_filters(start: Measured, moving: Indices, H: Array) -> tuple[Measured, Array]:
    """The point where these filters move, and the worst ratio of each."""
    point = replace(start, moving=moving)
    point = replace(point, solved=_independent(point.J))
    spectrum = np.linalg.eigvalsh(point.J @ point.J.T) if point.solved.size else np.zeros(1)
    mu = float(spectrum[0])
    if not mu > point.solved.size * EPS * float(spectrum[-1]):
        return replace(point, mu=0.0), np.full(moving.size, math.inf)
    ratios = np.array([_worst_ratio(point, j, H[:, :, j], mu) for j in moving])
    return replace(point, mu=mu, ratio=float(ratios.max())), ratios


def _independent(J: Array) -> Indices:
    """Samples whose rows are independent and span the others, as far as doubles tell: all of them
    if they can be.
    """
    n = len(J)
    values = np.linalg.svd(J, compute_uv=False)
    rank = int((values > 8.0 * max(J.shape) * EPS * values[0]).sum()) if values[0] > 0.0 else 0
    if rank == n:
        return np.arange(n)
    factors: Any = scipy.linalg.qr(J.T, mode="economic", pivoting=True)
    return np.sort(factors[2][:rank]).astype(np.int64)


def _worst_ratio(point: Measured, j: int, products: Array, mu: float) -> float:
    """The largest move of a product of filter j over its distance to zero, over the patches whose
    output weight is not zero.
    """
    Z, rho = point.patches, point.rho
    length = np.linalg.norm(Z, axis=2)
    rounding = (Z.shape[2] + 2) * EPS * length * float(np.linalg.norm(point.network.filters[j]))
    reach = np.linalg.norm(Z @ point.slopes[point.solved, j].T, axis=2)
    move = np.minimum(length * rho / math.sqrt(mu), reach * rho / mu)
    counts = (point.network.head[j] != 0.0) & (length > 0.0)
    distance = np.maximum(np.abs(products) - rounding, 0.0)
    stuck = np.where(move > 0.0, math.inf, 0.0)  # a product that is zero must not move
    ratios = np.divide(move, distance, out=stuck, where=distance > 0.0)
    return float(ratios[counts].max(initial=0.0))


def newton(stored: Measured, y: Array) -> Measured:
    """Newton steps within the cell until the margins are comfortable or the residual stops falling;
    the best point seen.
    """
    best = point = stored
    for _ in range(_STEPS):
        if not point.mu > 0.0 or point.ratio <= _COMFORTABLE:
            break
        J = point.J
        alpha = np.linalg.solve(J @ J.T, point.residual.r[point.solved])
        filters = np.array(point.network.filters)
        filters[point.moving] -= (alpha @ J).reshape(point.moving.size, -1)
        moved = PatchNetwork(filters, point.network.head, point.network.layout)
        following = measured(moved, point.patches, y)
        best = following if following.ratio < best.ratio else best
        if not following.rho < 0.5 * point.rho:
            break
        point = following
    return best


def beside_creases(point: Measured, y: Array) -> Measured:
    """A witness a little beside the point: least squares may have ended where a filter has the
    product zero with a patch, and filters of zero loss lie beside it as well.
    """
    best = point
    lengths = np.linalg.norm(point.network.filters, axis=1, keepdims=True)
    noise = np.random.default_rng(0).standard_normal(point.network.filters.shape)
    for scale in _BESIDE:
        filters = point.network.filters + scale * lengths * noise
        moved = PatchNetwork(filters, point.network.head, point.network.layout)
        found = newton(measured(moved, point.patches, y), y)
        best = found if found.ratio < best.ratio else best
        if best.ratio * ROOM <= 1.0:
            break
    return best


def rounded(point: Measured, y: Array) -> Measured:
    """The filters in few binary digits, if these fit exactly: products that are exactly zero there
    allow no other witness.
    """
    scale = float(np.abs(point.network.filters).max())
    for bits in _BINARY_DIGITS:
        unit = 2.0 ** (math.frexp(scale)[1] - bits)
        filters = np.round(point.network.filters / unit) * unit
        network = PatchNetwork(filters, point.network.head, point.network.layout)
        if not np.any(precise_patch_residual(network, point.patches, y).r):
            return measured(network, point.patches, y)
    return point
