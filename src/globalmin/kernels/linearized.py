r"""The linearized prediction of gradient descent, $u(t) = y + (I-\eta G)^t(u_0-y)$, and the exact
identity behind it.

G = J J^T is the Gram matrix at the first weights, u the outputs on the samples. Values in floats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.linalg.linearized_run import LinearizedRun as LinearizedRun
from globalmin.linalg.linearized_run import linearize_run as linearize_run
from globalmin.references import states
from globalmin.shallow.relu_margins import ReluState, Slopes, pair_counts

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.shallow.network import ShallowNetwork


def secant_slopes(activation: Activation, Z: Array, Z_next: Array) -> Array:
    r"""$(\phi(z')-\phi(z))/(z'-z)$, and the derivative half-way where a pre-activation moved so
    little that the quotient cancels.
    """
    moved = Z_next - Z
    still = (
        np.abs(moved) <= 1e-5 if activation.is_smooth else moved == 0.0
    )  # a kinked phi is piecewise linear: its quotient is exact
    quotient = (activation(Z_next) - activation(Z)) / np.where(still, 1.0, moved)
    return np.where(still, activation.derivative(Z + moved / 2.0), quotient)


@states("DU-Q2.6", "OS-DEFG.2")
def secant_gram(network: ShallowNetwork, W_next: Array, X: Array) -> Array:
    r"""$\hat H = \bar JJ^T$, $\hat H_{ij} = (x_i\cdot x_j)\sum_lv_l^2\theta_{il}\phi'(z_{jl})$,
    with $\theta$ the secant slopes of the step.

    Gradient descent then obeys $u(t+1)-y = (I-\eta\hat H)(u(t)-y)$ exactly: no linearization, no
    error term. Not symmetric.

    Theory
    ------
    OS-DEFG.2: $\bar J = \int_0^1J(W+t(W'-W))dt$ has the rows $(v_l\theta_{il}x_i)_l$, because
    $\int_0^1\phi'(z+t\Delta)dt$ is the secant slope. DU-Q2.6 for ReLU.
    """
    Z = X @ network.W.T
    slopes = network.activation.derivative(Z) * network.v
    return ((secant_slopes(network.activation, Z, X @ W_next.T) * network.v) @ slopes.T) * (X @ X.T)


def predicted_steps(
    run: LinearizedRun, step_size: float, fraction: float = 1e-3, *, limit: int = 10**9
) -> float:
    r"""Least t with $\|u(t)-y\| \le$ fraction $\cdot\|u_0-y\|$ by bisection on the prediction;
    infinite beyond `limit`.
    """
    target = fraction * float(np.linalg.norm(run.coordinates))
    if run.rate(step_size) >= 1.0 or run.residual_norms([limit], step_size)[0] > target:
        return math.inf
    low, high = 0, 1
    while run.residual_norms([high], step_size)[0] > target:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (low, middle)
            if run.residual_norms([middle], step_size)[0] <= target
            else (middle, high)
        )
    return float(high)


TIMES = 2_000  # of the flow, spaced geometrically
PIECES = 64  # of equal length into which the path is cut to find the largest move along it
LAST = 40.0  # the path is followed until its slowest mode is e^{-40} of its start
MOST_STEPS = 20_000
SHARES = tuple(0.02 * j for j in range(1, 46))  # of mu, tried for epsilon
_ROUNDS = 200


@dataclass(frozen=True)
class LinearizedPath:
    r"""The path $r^0$ of the residual for the Gram matrix $H_0$ at the start, its integrals from
    above.

    Attributes
    ----------
    mu, top : smallest and largest eigenvalue of $H_0$.
    length : $T_0 = \int\|r^0\|$.
    totals : $w_j = \int|r^0_j|$.
    integrals : $\int_0^tr^0$ at some times, the last one infinity.
    piece : the longest piece of the path between two of these times; 0 for two steps of descent in
        sequence.
    """

    mu: float
    top: float
    length: float
    totals: Array = field(repr=False)
    integrals: Array = field(repr=False)
    piece: float


def linearized_path(state: ReluState, step_size: float | None = None) -> LinearizedPath | None:
    r"""$r^0(t) = e^{-H_0t}r$, with `step_size` $(I-\eta H_0)^kr$ and sums; None if $H_0$ is
    singular.

    The trapezoid rule is above $\int\|r^0\|$, because the norm is convex in t.
    """
    H = state.K * pair_counts(state.Z > 0, state.v)
    values, vectors = np.linalg.eigh(H)
    mu, top = float(values[0]), float(values[-1])
    if not mu > len(values) * np.finfo(np.float64).eps * top:
        return None
    if step_size is not None and not 0.0 < step_size <= 2.0 / (mu + top):
        raise DataError(
            f"step_size={step_size!r} must be > 0 and at most 2/(mu + top) = {2.0 / (mu + top):.6g}"
        )
    steps, decay = _flow_times(values) if step_size is None else _descent_times(values, step_size)
    modes = vectors.T @ state.r
    path, integrals = (decay * modes) @ vectors.T, ((1.0 - decay) / values * modes) @ vectors.T
    norms = np.linalg.norm(path, axis=1)
    if step_size is None:
        slopes = np.linalg.norm(H, axis=1) * norms[:-1, None]
        pieces, totals = (
            steps * (norms[:-1] + norms[1:]) / 2.0,
            _absolute_integrals(path, integrals, steps[:, None], slopes),
        )
    else:
        pieces, totals = steps * norms[:-1], steps @ np.abs(path[:-1])
    tail = norms[-1] / mu  # from the last time to infinity
    reached = np.concatenate([[0.0], np.cumsum(pieces), [float(pieces.sum()) + tail]])
    chosen = np.unique(np.searchsorted(reached, np.linspace(0.0, reached[-1], PIECES + 1)))
    integrals = np.concatenate([integrals, ((modes / values) @ vectors.T)[None]])
    gaps = np.diff(reached[chosen])
    if step_size is not None:
        gaps[np.diff(chosen) == 1] = 0.0  # between two steps of descent there is nothing
    return LinearizedPath(
        mu, top, float(reached[-1]), totals + tail, integrals[chosen], float(gaps.max())
    )


def _absolute_integrals(path: Array, integrals: Array, steps: Array, slopes: Array) -> Array:
    """Integrals of |r_j| from above: on a step too short for a zero of r_j that of r_j itself, else
    what the slope allows.
    """
    ends = np.abs(path[:-1]) + np.abs(path[1:])
    has_no_zero = ends > slopes * steps
    return np.where(
        has_no_zero, np.abs(np.diff(integrals, axis=0)), steps * (ends / 2.0 + slopes * steps / 4.0)
    ).sum(axis=0)


def _flow_times(values: Array) -> tuple[Array, Array]:
    """Steps between the times, and the decay of every mode at them (times x n)."""
    times = np.concatenate([[0.0], np.geomspace(1e-3 / values[-1], LAST / values[0], TIMES)])
    return np.diff(times), np.exp(-np.outer(times, values))


def _descent_times(values: Array, step_size: float) -> tuple[Array, Array]:
    factors = 1.0 - step_size * values
    count = min(MOST_STEPS, math.ceil(LAST / (step_size * float(values[0]))))
    return np.full(count, step_size), factors ** np.arange(count + 1)[:, None]


@dataclass(frozen=True)
class LinearizedEstimate:
    r"""Numbers that meet DU-CERT-L2: rate $\lambda = \mu - \epsilon$, length T of the path, moves
    of the pre-activations.
    """

    mu: float
    eps: float
    length: float
    slopes: Slopes = field(repr=False)

    @property
    def rate(self) -> float:
        r"""$\lambda$: $\|r(t)\| \le e^{-\lambda t}\|r\|$, for descent $(1-\eta\lambda)^k\|r\|$."""
        return self.mu - self.eps


@states("DU-CERT-L2")
def estimate_linearized_rate(
    state: ReluState, step_size: float | None = None
) -> LinearizedEstimate | None:
    r"""The largest rate found to meet the condition, for gradient flow or descent with `step_size`;
    None if there is none.

    For each trial of $\epsilon$ the table s is raised from 0 until its sets stop changing (the
    right-hand side of (ii) grows with them), then (i) is tested.

    Theory
    ------
    DU-CERT-L2. With $T = \min(T_0/(1-\epsilon/\mu), \|r\|/(\mu-\epsilon))$: (i) $\epsilon \ge
    \|\,|K|\circ(C_{PA}-C_S)\|$, (ii) $s_{il} \ge |v_l|\min\{\|K_{i,PA_l}\|T, g_{il} + \sum_{j\in
    U_l}|K_{ij}|w_j + \|K_{i,PA_l}\|\epsilon T/\mu\}$, $g_{il} =
    \sup_t|\sum_{j:z_{jl}>0}K_{ij}\int_0^tr^0_j|$. The factor of $w_j$ is 1 (printed: 2), since
    slopes differ by at most 1.
    """
    path = linearized_path(state, step_size)
    if path is None:
        return None
    largest = _largest_moves(state, path)
    for share in SHARES:
        eps = share * path.mu
        slopes = _least_moves(state, path, largest, eps)
        if slopes is not None:
            return LinearizedEstimate(path.mu, eps, _length(state, path, eps), slopes)
    return None


def _length(state: ReluState, path: LinearizedPath, eps: float) -> float:
    return min(path.length / (1.0 - eps / path.mu), state.residual_norm / (path.mu - eps))


def _largest_moves(state: ReluState, path: LinearizedPath) -> Array:
    """The g of condition (ii), n x k: the largest over the grid, and half a piece for what lies
    between.
    """
    active = (state.Z > 0).astype(np.float64)
    largest = np.zeros_like(state.Z)
    for integral in path.integrals:
        np.maximum(largest, np.abs((state.K * integral) @ active), out=largest)
    return largest + path.piece / 2.0 * np.sqrt((state.K**2) @ active)


def required_moves(
    state: ReluState, path: LinearizedPath, largest: Array, slopes: Slopes, eps: float
) -> Array:
    """The right-hand side of condition (ii) for the sets of `slopes`."""
    T = _length(state, path, eps)
    rows = np.sqrt((state.K**2) @ slopes.possible)
    along = largest + (np.abs(state.K) * path.totals) @ slopes.unstable + rows * (eps * T / path.mu)
    return np.abs(state.v) * np.minimum(rows * T, along)


def change_of_gram(state: ReluState, slopes: Slopes) -> float:
    """The right-hand side of condition (i): no reachable Gram matrix is further from another in the
    spectral norm.
    """
    if not slopes.unstable.any():
        return 0.0
    spread = np.abs(state.K) * (
        pair_counts(slopes.possible, state.v) - pair_counts(slopes.sure, state.v)
    )
    return float(np.linalg.norm(spread, 2))


def _least_moves(
    state: ReluState, path: LinearizedPath, largest: Array, eps: float
) -> Slopes | None:
    """The least table with (ii), if (i) holds for it; the sets only grow, so (i) is final once it
    fails.
    """
    slopes = Slopes.within(state.Z, np.zeros_like(state.Z))
    for _ in range(_ROUNDS):
        if change_of_gram(state, slopes) > eps:
            return None
        wider = Slopes.within(state.Z, required_moves(state, path, largest, slopes, eps))
        if np.array_equal(wider.possible, slopes.possible) and np.array_equal(
            wider.sure, slopes.sure
        ):
            return wider
        slopes = wider
    return None
