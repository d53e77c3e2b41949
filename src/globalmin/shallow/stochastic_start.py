r"""Stochastic gradient descent from a start, one permutation of the samples after the other,
followed until the rest of the run can be proved in every order.

The order of the steps is recorded, so that the checker can make them again. After the last of them
the claim *sgd-trajectory* speaks of all orders that go on meeting every sample.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import CannotCertify
from globalmin.shallow.claims.replay import REACH_OF_SAMPLES
from globalmin.shallow.claims.sgd_trajectory import (
    landing_radius,
    sample_constants,
    stochastic_landing,
)
from globalmin.shallow.degenerate import pose
from globalmin.shallow.from_start import StartedRun
from globalmin.shallow.lipschitz import estimate_lipschitz
from globalmin.shallow.methods.gradient_descent import MAX_ITER, check_step
from globalmin.shallow.methods.sgd import sample_step
from globalmin.shallow.network import jacobian_gram, residual
from globalmin.shallow.step_sizes import sgd_step

if TYPE_CHECKING:
    from globalmin._types import Array, NDArray
    from globalmin.data import Dataset
    from globalmin.shallow.network import ShallowNetwork

LANDED = 0.5  # of 1, where the theorem begins to hold
_ASKED_EVERY = 0.8


def descend_by_samples(
    start: ShallowNetwork,
    data: Dataset,
    *,
    step_size: float | str | None = None,
    max_iter: int = MAX_ITER,
    seed: int | None = None,
    shuffle_seed: int = 0,
) -> StartedRun:
    r"""Follow W <- W - eta r_i grad f_i(W) until the claim *sgd-trajectory* holds with room.

    Parameters
    ----------
    start, data : the network at the start, whose head stays fixed, and the samples.
    step_size : eta; by default $1/\max_i\|\nabla f_i\|^2$, "theory" for the step of OS-T2.6.
    max_iter : steps after which CannotCertify says how far the theorem is.
    seed : whose cell the start is; None for stored doubles.
    shuffle_seed : of the permutations.
    """
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y, dtype=np.float64)
    eta = _step(start, data, step_size)
    walk = _Walk(start, X, y, eta)
    rng, asked, ratio = np.random.default_rng(shuffle_seed), math.inf, math.inf
    while True:
        network = start.with_weights(W=walk.W)
        norm = float(np.linalg.norm(residual(network, X, y)))
        if norm <= asked:
            asked, ratio = _ASKED_EVERY * norm, _ratio(network, X, norm, eta)
            if ratio < LANDED:
                return walk.landed(start, network, seed)
        if not math.isfinite(norm) or len(walk.order) + len(y) > max_iter:
            break
        walk.follow(rng.permutation(len(y)))
    raise CannotCertify(
        f"stochastic descent with step {eta:.3g} does not come within the reach of its theorem in "
        f"{len(walk.order)} steps: its ratio is {ratio:.3g} at the last question, must be below "
        f"{LANDED:g}; ||r|| = {norm:.2g}. Take more steps, another step, or a wider network"
    )


def _step(start: ShallowNetwork, data: Dataset, step_size: float | str | None) -> float:
    first = pose(start, data, "W")
    if step_size is None:
        return sample_step(start, first)
    if step_size == "theory":
        return sgd_step(first.problem.X, first.problem.y, start.activation, n_weights=start.W.size)
    return check_step(step_size)


def _ratio(network: ShallowNetwork, X: Array, norm: float, eta: float) -> float:
    """How far theorem SG is from holding at these weights (an estimate, below 1 where it does)."""
    low = float(np.linalg.eigvalsh(jacobian_gram(network, X))[0])
    if not low > 0.0:
        return math.inf
    a = math.sqrt(low)
    rho = landing_radius(network, X, a)
    alpha = a - rho * estimate_lipschitz(network, X, rho)
    Delta = REACH_OF_SAMPLES * max(1.0, float(np.linalg.norm(network.W)))
    bounds = sample_constants(network, X)
    return stochastic_landing(bounds, eta, len(X), alpha=alpha, g=norm, Delta=Delta, rho=rho).ratio


class _Walk:
    """The weights under single steps, and what is kept of each."""

    def __init__(self, start: ShallowNetwork, X: Array, y: Array, eta: float) -> None:
        self.W: Array = start.W.copy()
        self.v, self.phi = start.v, start.activation
        self.X, self.y, self.eta = X, y, eta
        b1, b2 = (float(self.phi.supremum(order)) for order in (1, 2))
        squares = np.sum(X * X, axis=1)
        m2 = b1 * b1 * float(self.v @ self.v) * squares
        self.least = np.maximum(1.0, eta * m2 - 1.0)
        self.bends = eta * b2 * float(np.abs(self.v).max()) * squares
        self.order: list[int] = []
        self.norms: list[float] = []
        self.lengths: list[float] = []

    def follow(self, samples: NDArray[np.int64]) -> None:
        """One step with each of the samples."""
        for i in map(int, samples):
            x = self.X[i]
            z = self.W @ x
            r = float(self.phi(z) @ self.v - self.y[i])
            push = self.eta * r * self.phi.derivative(z) * self.v
            self.W = self.W - push[:, None] * x
            self.order.append(i)
            self.norms.append(abs(r))
            self.lengths.append(float(np.linalg.norm(push) * np.linalg.norm(x)))

    def landed(
        self, start: ShallowNetwork, network: ShallowNetwork, seed: int | None
    ) -> StartedRun:
        """The run up to here."""
        order, norms = np.array(self.order, dtype=np.int64), np.array(self.norms)
        factors = self.least[order] + self.bends[order] * norms
        return StartedRun(
            start,
            network,
            self.eta,
            len(order),
            seed,
            norms,
            np.array(self.lengths),
            factors=factors,
            order=order,
        )
