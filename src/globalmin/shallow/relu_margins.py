r"""What the activation margins of a ReLU network prove: a zero-loss network in the activation cell
of the present weights (theorem RI), and rates of gradient flow, two refinements of theorem RD
(DU-CERT-L1).

Flow: the state is a one-output network $f(x) = \sum_l v_l\,\mathrm{relu}(w_l \cdot x)$ at its data
with only W trained: $K = XX^T$, $Z = XW^T$ (n x k), head v, residual r. While every $z_{il}$ stays
within $s_{il}$ of its start, its slope is 1 if *sure* ($z > s$), 0 unless *possible* ($z \ge -s$),
and anything in [0, 1] otherwise (*unstable*).

Everything is computed in floats, so these are estimates; claims relu-interpolation, relu-descent
(the plain form) and relu-linearized-descent (DU-CERT-L2, for descent) are the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, Mask, NDArray
from globalmin.references import states

if TYPE_CHECKING:
    Indices = NDArray[np.int64]


def cell_slopes(Z: Array, v: Array) -> Array:
    """v_l 1{z_il > 0}, n x k: slopes of the outputs in the pre-activations within the cell."""
    return np.where(Z > 0, v, 0.0)


def cell_gram(X: Array, slopes: Array, neurons: Indices) -> Array:
    r"""$G_{ij} = (x_i \cdot x_j) \sum_{l \in T} v_l^2 D_{li} D_{lj}$ for the neurons T."""
    S = slopes[:, neurons]
    G = S @ S.T
    G *= X @ X.T
    return G


def relative_margins(Z: Array, X: Array, error: Array | float = 0.0) -> Array:
    r"""$m_l = \min_i (|z_{il}| - \mathrm{error}_{il})/\|x_i\|$ per neuron, over the rows that are
    not zero.
    """
    norms = np.linalg.norm(X, axis=1)
    rows = norms > 0
    safe = np.abs(Z) - error
    return (
        (safe[rows] / norms[rows, None]).min(axis=0)
        if rows.any()
        else np.full(Z.shape[1], math.inf)
    )


@dataclass(frozen=True)
class Cell:
    """Neurons T, smallest eigenvalue mu of G, and `ratio`, the largest ||x_i|| ||r|| / (|z_li| sqrt
    mu) over T; RI needs <= 1.
    """

    neurons: Indices
    mu: float
    ratio: float


@states("DU-CERT-0")
def choose_neurons(
    X: Array, slopes: Array, margins: Array, residual_norm: float, *, factor: float = 1.0
) -> Cell | None:
    r"""The largest set T of neurons whose margins suffice, or the best tried; None if G is singular
    with all neurons.

    A neuron with margin $m_l < \|r\|/\sqrt\mu$ can never belong to T, because removing neurons
    lowers mu. So the least set of removals is found by removing all such neurons, measuring mu
    again, and so on until nothing more falls out or G is singular.

    Parameters
    ----------
    X, slopes, margins : data, `cell_slopes` and `relative_margins` at the point.
    residual_norm : ||r|| at the point.
    factor : safety factor >= 1 on the required margin.

    Theory
    ------
    Theorem RI: $z_{li}^2 \mu \ge \|x_i\|^2 \|r\|^2$ for all i and all l in T.
    """
    neurons = np.flatnonzero(margins > 0)
    best: Cell | None = None
    while neurons.size:
        cell = _measure(X, slopes, margins, residual_norm, neurons)
        if cell is None:
            break
        best = cell if best is None or cell.ratio < best.ratio else best
        kept = neurons[margins[neurons] >= factor * residual_norm / math.sqrt(cell.mu)]
        if kept.size == neurons.size:
            return cell
        neurons = kept
    return best


def _measure(
    X: Array, slopes: Array, margins: Array, residual_norm: float, neurons: Indices
) -> Cell | None:
    G = cell_gram(X, slopes, neurons)
    if not np.isfinite(G).all():
        return None
    eigenvalues = np.linalg.eigvalsh(G)
    mu = float(eigenvalues[0])
    if not mu > X.shape[0] * np.finfo(np.float64).eps * float(eigenvalues[-1]):
        return None
    return Cell(neurons, mu, residual_norm / (math.sqrt(mu) * float(margins[neurons].min())))


# of the golden section: the interval of gamma shrinks to 1e-5, and every gamma gives a bound
SECTIONS = 24
_GOLDEN = (5.0**0.5 - 1.0) / 2.0
_ROUNDS = 400
# from one trial of tau to the next, at least: the sets change only when a margin is crossed
_STRETCH = 1.02


@dataclass(frozen=True)
class ReluState:
    """K = X X^T, pre-activations Z (n x k), head v and residual r of a ReLU network at its data."""

    K: Array = field(repr=False)
    Z: Array = field(repr=False)
    v: Array = field(repr=False)
    r: Array = field(repr=False)

    @property
    def residual_norm(self) -> float:
        """||r||."""
        return float(np.linalg.norm(self.r))


@dataclass(frozen=True)
class Slopes:
    """What the slopes can be when pre-activations move by at most `moves`: sets of pairs (sample,
    neuron), n x k.
    """

    moves: Array = field(repr=False)
    possible: Mask = field(repr=False)
    sure: Mask = field(repr=False)

    @classmethod
    def within(cls, Z: Array, moves: Array) -> Slopes:
        """The sets for a table of moves; z = 0 is unstable even if it cannot move."""
        return cls(moves, -moves <= Z, moves < Z)

    @property
    def unstable(self) -> Mask:
        """Pairs whose sign may change."""
        return self.possible & ~self.sure


def slopes_of_radius(K: Array, Z: Array, v: Array, tau: float) -> Slopes:
    r"""The sets of theorem RD for a path with $\int\|r\| \le \tau$: $s_{il} =
    |v_l|\,\|(K_{ij}PA_{jl})_j\|\,\tau$.
    """
    reach = np.abs(v) * tau
    near = -(np.linalg.norm(K, axis=1)[:, None] * reach) <= Z
    return Slopes.within(Z, np.sqrt((K * K) @ near) * reach)


@dataclass(frozen=True)
class FlowRate:
    """Lower bounds of the smallest eigenvalue of the Gram matrix over all slopes: `plain` (L1) and
    `split` (L1C), in floats.
    """

    plain: float
    split: float
    gamma: float

    @property
    def best(self) -> float:
        """The larger of the two, which both hold for the flow."""
        return max(self.plain, self.split)


@states("DU-CERT-L1C")
def estimate_flow_rate(K: Array, v: Array, slopes: Slopes) -> FlowRate:
    r"""$\lambda$ with $\|r(t)\| \le e^{-\lambda t}\|r\|$ for gradient flow while the slopes stay in
    their sets.

    Theory
    ------
    Plain, DU-CERT-L1: $\lambda_{\min}(H_{mid}) - \|E\|$. Split, DU-CERT-L1C: the slopes of a neuron
    are A on sure plus B on unstable samples, and $(A+B)^T(A+B) \ge (1-\gamma)A^TA -
    (1/\gamma-1)B^TB$. Here $\gamma$ is 0 for neurons without unstable samples, where B = 0, and one
    number in (0, 1] for all others (at 1 these are dropped): $\max_\gamma\lambda_{\min}(K\circ C_0
    + (1-\gamma)K\circ C_1 - (1/\gamma-1)Q)$ with the counts $C = \sum_lv_l^2S_{il}S_{jl}$ over the
    two kinds of neurons and $Q = \mathrm{diag}_i(\sum_j|K_{ij}|\sum_lv_l^2U_{il}U_{jl})$. Never
    below the printed form with one $\gamma$ for all neurons; concave in $\gamma$.
    """
    most, least = pair_counts(slopes.possible, v), pair_counts(slopes.sure, v)
    middle, spread = K * (most + least) / 2.0, np.abs(K) * (most - least) / 2.0
    shaky = slopes.unstable.any(axis=0)
    plain = float(np.linalg.eigvalsh(middle)[0]) - (
        float(np.linalg.norm(spread, 2)) if shaky.any() else 0.0
    )
    steady, rest = (
        K * pair_counts(slopes.sure[:, ~shaky], v[~shaky]),
        K * pair_counts(slopes.sure[:, shaky], v[shaky]),
    )
    Q = np.diag((np.abs(K) * pair_counts(slopes.unstable, v)).sum(axis=1))

    def bound(gamma: float) -> float:
        return float(np.linalg.eigvalsh(steady + (1.0 - gamma) * rest - (1.0 / gamma - 1.0) * Q)[0])

    low, high = 0.0, 1.0
    for _ in range(SECTIONS if shaky.any() else 0):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        low, high = (low, right) if bound(left) >= bound(right) else (left, high)
    gamma = max((low + high) / 2.0, 1.0, key=bound)
    return FlowRate(plain, bound(gamma), gamma)


def pair_counts(marks: Mask, v: Array) -> Array:
    r"""$\sum_lv_l^2M_{il}M_{jl}$, n x n, for a set M of pairs (sample, neuron)."""
    weighted = marks * v
    return weighted @ weighted.T


@dataclass(frozen=True)
class FlowEstimate:
    """A radius tau with ||r|| <= rate * tau: the flow converges to zero loss at this rate, its
    integral of ||r|| within tau.
    """

    tau: float
    rate: FlowRate
    slopes: Slopes = field(repr=False)


@states("DU-CERT-L1C")
def estimate_flow_radius(state: ReluState, *, refined: bool = True) -> FlowEstimate | None:
    r"""The smallest radius found with $\|r\| \le \lambda\tau$, or None; `refined` False for the
    plain $\lambda$ of L1.

    Theory
    ------
    Theorem RD for the flow, with any lower bound $\lambda$ of the spectrum over all slopes that
    $\tau$ allows (DU-CERT-L1C).
    """
    size, tau = state.residual_norm, 0.0
    for _ in range(_ROUNDS):
        slopes = slopes_of_radius(state.K, state.Z, state.v, tau)
        rate = estimate_flow_rate(state.K, state.v, slopes)
        lam = rate.best if refined else rate.plain
        if not lam > 0.0:
            return None
        if size <= lam * tau:
            return FlowEstimate(tau, rate, slopes)
        tau = max(tau * _STRETCH, size / lam * (1.0 + 1e-9))
    return None
