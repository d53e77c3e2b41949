r"""Start weights from moment tensors (FCL-ALG2): subspace, directions inside it, then lengths and
signs.

Two variants: `LITERAL`, the algorithm of the paper (three-way split, random alpha, raw labels), and
`TUNED`, which works at realistic sample sizes (no split, alpha = first moment, labels minus their
linear fit). The pieces can be combined freely.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import one_of
from globalmin._types import Array, NDArray
from globalmin.activations import get_activation
from globalmin.errors import DataError
from globalmin.recovery.moments import (
    first_moment_inverse,
    hermite_moment,
    moment_orders,
    saturation_norm,
)
from globalmin.recovery.tensor_decomposition import (
    Subspace,
    decompose_symmetric,
    leading_subspace,
    shifted_power_subspace,
)
from globalmin.recovery.tensor_moments import (
    REMOVALS,
    MatrixMoment,
    Removal,
    first_moment,
    linear_fit,
    projected_tensor,
    reduced_labels,
    without_projected_quadratic,
)
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.recovery.moments import MomentOrders


DIRECTIONS = ("random", "best", "first_moment")
CANDIDATES = 20


@dataclass(frozen=True)
class TensorOptions:
    """The choices of the initialization.

    Attributes
    ----------
    alpha : direction of the contraction: "random", "best" (largest gap of 20 random ones) or
        "first_moment".
    removal : what is taken from the labels before moments of order 2 to 4: "nothing", "mean" or
        "linear".
    split : three disjoint thirds of the samples for subspace, directions and lengths.
    power : "shifted", the paper's power method, or "squared", ours.
    slopes : estimate the first moment by the slopes of the linear fit instead of by the mean of y
        x; both have mean M_1.
    """

    alpha: str = "first_moment"
    removal: Removal = "linear"
    split: bool = False
    power: str = "squared"
    slopes: bool = True

    def __post_init__(self) -> None:
        choices = {"alpha": DIRECTIONS, "removal": REMOVALS, "power": ("shifted", "squared")}
        for name, allowed in choices.items():
            one_of(name, getattr(self, name), allowed)


LITERAL = TensorOptions(
    alpha="random", removal="nothing", split=True, power="shifted", slopes=False
)
TUNED = TensorOptions()
VARIANTS = {"literal": LITERAL, "tuned": TUNED}


@dataclass(frozen=True)
class TensorStart:
    r"""Start weights and what the data said on the way.

    Attributes
    ----------
    weights : K x d by rows.
    subspace : basis, eigenvalues and gap of the span of the neurons.
    betas : estimates of $m_1(\|w_i\|)$, at least 0.
    clipped : which betas exceed every value that m_1 takes up to the largest norm allowed.
    contractions : $|\alpha\cdot\bar w_i|$; where it is near zero the neuron is invisible in P_2 (or
        in P_3 for order 4).
    cross_norms : second estimates of the norms, from the tensor's weights (NaN where there is
        none).
    residual : relative misfit of the tensor decomposition.
    orders : which moments were read.
    """

    weights: Array
    subspace: Subspace
    betas: Array
    clipped: NDArray[np.bool_]
    contractions: Array
    cross_norms: Array
    residual: float
    orders: MomentOrders


@states("FCL-ALG2", "FCL-T3", "FCL-C3")
def tensor_start(
    X: Array,
    y: Array,
    neurons: int,
    activation: str | Activation = "sigmoid",
    *,
    options: TensorOptions = TUNED,
    largest_norm: float | None = None,
    seed: int = 0,
) -> TensorStart:
    """Start weights from samples x ~ N(0, I) of a teacher with `neurons` neurons, real or binary
    labels.

    Parameters
    ----------
    X, y : n x d and (n,).
    largest_norm : norms are clipped there; default where the first moment saturates
        (`saturation_norm`, 5 for the sigmoid).

    Theory
    ------
    FCL-ALG2; FCL-T3 and its corollary for regression say that the error falls to zero with n, with
    polynomials that are not stated. Memory: d x d and blocks of samples.
    """
    phi, K = get_activation(activation), int(neurons)
    orders, parts = moment_orders(phi), _parts(X, y, options, seed)
    first, second, third = parts
    alpha, subspace = _subspace(*first, K, orders, options=options, seed=seed)
    X2, y2 = second
    r2 = reduced_labels(X2, y2, options.removal)
    if orders.tensor == 4 and options.removal == "linear":
        r2 = without_projected_quadratic(X2, r2, subspace.V)
    T = projected_tensor(
        X2, r2, subspace.V, order=orders.tensor, alpha=alpha if orders.tensor == 4 else None
    )
    found = decompose_symmetric(T, seed=seed)
    directions = (subspace.V @ found.U).T
    Q1 = linear_fit(*third)[1] if options.slopes else first_moment(*third)
    cap = saturation_norm(phi) if largest_norm is None else float(largest_norm)
    weights, betas, clipped = recover_magnitudes(directions, Q1, phi, largest_norm=cap)
    contractions = np.abs(directions @ alpha)
    factor = contractions if orders.tensor == 4 else np.ones(K)
    cross = _cross_norms(
        K * np.abs(found.weights) / np.maximum(factor, 1e-300), phi, orders.tensor, cap
    )
    return TensorStart(
        weights, subspace, betas, clipped, contractions, cross, found.residual, orders
    )


def _parts(X: Array, y: Array, options: TensorOptions, seed: int) -> list[tuple[Array, Array]]:
    if not options.split:
        return [(X, y)] * 3
    if X.shape[0] < 3 * (X.shape[1] + 1):
        raise DataError(
            f"{X.shape[0]} samples cannot be split in three parts for {X.shape[1]} features; use "
            "options.split=False"
        )
    chunks = np.array_split(np.random.default_rng(seed).permutation(X.shape[0]), 3)
    return [(X[rows], y[rows]) for rows in chunks]


@states("FCL-ALPHA", "FCL-DEF3")
def _subspace(
    X: Array, y: Array, K: int, orders: MomentOrders, *, options: TensorOptions, seed: int
) -> tuple[Array, Subspace]:
    """The direction alpha and the span of the neurons seen in P_2."""
    d, rng = X.shape[1], np.random.default_rng([seed, 1])
    r = reduced_labels(X, y, options.removal)
    find = leading_subspace if options.power == "squared" else shifted_power_subspace
    if options.alpha == "first_moment":
        mean = linear_fit(X, y)[1] if options.slopes else first_moment(X, y)
        candidates = [mean / max(float(np.linalg.norm(mean)), 1e-300)]
    else:
        drawn = rng.standard_normal(
            (1 if options.alpha == "random" or orders.matrix == 2 else CANDIDATES, d)
        )
        candidates = list(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))
    best: tuple[Array, Subspace] | None = None
    for alpha in candidates:
        subspace = find(MatrixMoment(X, r, order=orders.matrix, alpha=alpha), K, seed=seed)
        if best is None or _absolute_gap(subspace) > _absolute_gap(best[1]):
            best = alpha, subspace
    if best is None:
        raise DataError("no direction alpha was tried")
    return best


def _absolute_gap(subspace: Subspace) -> float:
    return subspace.gap * float(np.abs(subspace.values[0]))


@states("FCL-RM")
def recover_magnitudes(
    directions: Array, Q1: Array, activation: str | Activation, *, largest_norm: float
) -> tuple[Array, Array, NDArray[np.bool_]]:
    r"""Weights, betas and clips from unit directions (K x d, signs free) and $Q_1 =
    \frac1K\sum_im_1(\|w_i\|)\bar w_i$.

    Theory
    ------
    FCL-RM with $l_1 = 1$: betas solve a least-squares problem, their signs are those of the
    neurons, and the norms are $m_1^{-1}(|\beta_i|)$. For the few values above the range of m_1 the
    norm is clipped.
    """
    phi, K = get_activation(activation), directions.shape[0]
    signed = np.linalg.lstsq(directions.T / K, Q1, rcond=None)[0]
    betas = np.abs(signed)
    clipped = betas >= float(hermite_moment(largest_norm, phi, 1))
    norms = np.array([first_moment_inverse(float(b), phi, largest=largest_norm) for b in betas])
    return (np.where(signed < 0, -1.0, 1.0) * norms)[:, None] * directions, betas, clipped


def _cross_norms(values: Array, phi: Activation, order: int, cap: float) -> Array:
    """Norms s with |m_order(s)| = value, where |m_order| increases up to the cap; NaN above it."""
    grid = np.linspace(cap / 400.0, cap, 400)
    table = np.abs(hermite_moment(grid, phi, order))
    rising = np.concatenate([[True], np.diff(table) > 0])
    stop = len(grid) if rising.all() else int(np.argmin(rising))
    return np.where(values <= table[stop - 1], np.interp(values, table[:stop], grid[:stop]), np.nan)
