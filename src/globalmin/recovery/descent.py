r"""Gradient descent on $f_n$ with the same samples at every step (FCL-ALG1), for real and binary
labels, streamed in blocks.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.errors import DataError
from globalmin.optimize.follow import (
    End,
    Iterate,
    Options,
    Recorder,
    Watch,
    Watching,
    every_step,
    follow,
)
from globalmin.optimize.run import Run, Status
from globalmin.recovery.geometry import (
    check_local_inputs,
    empirical_loss_and_gradient,
    hessian_parts,
    local_activation,
)
from globalmin.recovery.matching import match_neurons, spread
from globalmin.recovery.newton import Point, newton_end
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.activations import Activation


CHUNK = 50  # steps of descent between two trials of Newton's method
LEAST_STEP = 1e-12  # below it nothing moves any more
SAMPLES = 1024  # of a block of `batched_gradients`: all stays in the second-level cache
NEAR = 0.03  # part of the weights within which descent is taken as linear
NEWTON_TOL = 1e-11  # gradient norm at the minimum the linear map belongs to
SPREAD_WARNING = (
    "a small SD_n only says that all starts end at the same point; that point can be far from the "
    "teacher: read the error too"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Descent(Run[Array]):
    """End point of gradient descent.

    Attributes
    ----------
    network : the weights, K x d; also called `weights`.
    losses : f_n at every accepted step, the start included.
    gradient_norm : at the end point.
    step : the last step size.
    newton_steps : Newton steps that finished the descent.
    """

    gradient_norm: float
    step: float
    newton_steps: int = 0

    @property
    def weights(self) -> Array:
        """The weights, K x d."""
        return self.network


def safe_step(K: int, activation: str | Activation) -> float:
    r"""$K/b_1^2$, one over the bound FCL-HMAX of the population curvature at a teacher."""
    return K / float(local_activation(activation).supremum(1)) ** 2


def curvature_step(
    W: Array, X: Array, y: Array, activation: str | Activation, *, samples: int = 20_000
) -> float:
    r"""One over the largest eigenvalue of the Hessian at W (on the first samples only, when there
    are many).
    """
    parts = hessian_parts(W, X[:samples], y[:samples], activation)
    top = float(np.linalg.eigvalsh(parts.gauss_newton)[-1]) + float(
        np.linalg.norm(parts.residual, 2)
    )
    return 1.0 / max(top, 1e-300)


@states("FCL-ALG1")
def local_descent(
    X: Array,
    y: Array,
    W0: Array,
    activation: str | Activation = "sigmoid",
    *,
    step: float | str = "safe",
    max_iter: int = 1_000,
    tol: float = 1e-12,
    newton: bool = False,
    **options: Unpack[Watching],
) -> Descent:
    r"""$W_{t+1} = W_t - \eta\nabla f_n(W_t)$ from W0, halving the step whenever the loss would
    rise.

    Parameters
    ----------
    X, y : n x d and (n,); blocks of rows are read, nothing of size n x d is made.
    W0 : K x d.
    step : $\eta$, or "safe" for $K/b_1^2$, or "curvature" for one over the largest curvature at W0
        (longer for long neurons).
    tol : stop when the gradient norm is below it.
    newton : every 50 steps try to finish by Newton's method, kept only where every Hessian is
        positive definite and no step long: the critical point of the same basin, to rounding, in a
        fraction of the time. With many samples by conjugate gradients, no Hessian formed. Left out
        above 4,000 weights.
    options : verbose, throw, monitor as in `train`.

    Theory
    ------
    FCL-ALG1, no resampling.
    """
    phi, W = local_activation(activation), np.array(W0, dtype=np.float64)
    check_local_inputs(W, X, y)
    point = Point(W, *empirical_loss_and_gradient(W, X, y, phi), _step_size(step, W, X, y, phi))
    watch = Watch(
        point,
        lambda at: at.W,
        Recorder(gap=every_step),
        Options(**options),
        method="gradient_descent",
        default_max_iter=sys.maxsize,  # the method counts refused steps too
        reached=lambda at, _: Status.CONVERGED if at.size <= tol else None,
        keeps_last=True,
    )
    run = follow(watch, _steps(point, (X, y, phi), max_iter=max_iter, tol=tol, newton=newton))
    end = watch.chosen
    return Descent.of(run, gradient_norm=end.size, step=end.eta, newton_steps=end.newton_steps)


def _steps(
    point: Point, on: tuple[Array, Array, Activation], *, max_iter: int, tol: float, newton: bool
) -> Generator[Iterate[Point], None, End[Point]]:
    """Accepted steps; every 50 tries the end by Newton's method, if asked for."""
    for start in range(0, max_iter, CHUNK):
        tries = 0
        for _ in range(min(CHUNK, max_iter - start)):
            if point.size <= tol or point.eta < LEAST_STEP:
                break
            trial = point.W - point.eta * point.G
            loss, G = empirical_loss_and_gradient(trial, *on)
            tries += 1
            if loss <= point.loss * (1 + 1e-12):
                point = Point(trial, loss, G, point.eta)
                yield Iterate(point, tries)
                tries = 0
            else:
                point = Point(point.W, point.loss, point.G, point.eta / 2.0)
        if newton and point.size > tol:
            point, taken = newton_end(point, *on, tol)
            if taken:
                point = replace(point, newton_steps=taken)
                yield Iterate(point, taken)
        if point.eta < LEAST_STEP:
            return End(Status.STALLED, point)
    return End(Status.MAX_ITER, point)


def _step_size(step: float | str, W: Array, X: Array, y: Array, phi: Activation) -> float:
    if step == "safe":
        return safe_step(W.shape[0], phi)
    if step == "curvature":
        return curvature_step(W, X, y, phi)
    if isinstance(step, str) or not (math.isfinite(step) and step > 0):
        raise DataError(f"step={step!r} must be a positive number, 'safe' or 'curvature'")
    return float(step)


@dataclass(frozen=True)
class LocalSpread:
    """End points of descent from several starts near the teacher, on one data set.

    Attributes
    ----------
    sd : SD_n, their spread.
    mean_error : average of ||What - W*||_F over the starts.
    success : SD_n <= 1e-2, the paper's criterion.
    steps : steps taken one by one; the others up to `max_iter` by the linear map of the Hessian.
    warning : what SD_n alone does not say.
    """

    sd: float
    mean_error: float
    success: bool
    steps: int
    warning: str = SPREAD_WARNING


@states("FCL-E1", "FCL-E2")
def local_spread(
    X: Array,
    y: Array,
    true_weights: Array,
    activation: str | Activation = "sigmoid",
    *,
    starts: int = 20,
    radius: float = 0.1,
    max_iter: int = 2_000,
    step: float | str = "safe",
    seed: int = 0,
) -> LocalSpread:
    r"""SD_n and estimation error as in the paper: `max_iter` steps of descent with a fixed step
    from random points at distance radius ||W*||_F of the teacher, all starts moved together.

    Parameters
    ----------
    step : as in `local_descent`; "curvature" is taken at the teacher. It is kept, never halved.

    Theory
    ------
    FCL-E1 (Figure 3) and FCL-E2 (Figure 4). The paper does not state the step, the law of the
    starts or the teacher.
    """
    if starts < 1 or not radius >= 0:
        raise DataError(
            f"starts={starts} and radius={radius} must satisfy starts >= 1 and radius >= 0"
        )
    phi, truth = local_activation(activation), np.asarray(true_weights, dtype=np.float64)
    check_local_inputs(truth, X, y)
    D = np.random.default_rng(seed).standard_normal((starts, *truth.shape))
    D *= radius * float(np.linalg.norm(truth)) / np.linalg.norm(D, axis=(1, 2), keepdims=True)
    eta = _step_size(step, truth, X, y, phi)
    ends, steps = _ends_of_descent(truth + D, (X, y, phi), eta, max_iter)
    errors = [match_neurons(W, truth).error for W in ends]
    sd = spread(ends)
    return LocalSpread(sd, float(np.mean(errors)), sd <= 1e-2, steps)


def _ends_of_descent(
    starts: Array, on: tuple[Array, Array, Activation], eta: float, max_iter: int
) -> tuple[Array, int]:
    """The points after exactly `max_iter` steps from each start, L x K x d, and the steps that were
    taken one by one.

    The steps are taken in single precision, every 50 of them the rest is tried by `_rest`.
    """
    X, y, phi = on
    W, short, labels = (np.asarray(array, dtype=np.float32) for array in (starts, X, y))
    for done in range(0, max_iter, CHUNK):
        count = min(CHUNK, max_iter - done)
        for _ in range(count):
            W = W - np.float32(eta) * batched_gradients(W, short, labels, phi)
        ends = _rest(W.astype(np.float64), on, eta, max_iter - done - count)
        if ends is not None:
            return ends, done + count
    return W.astype(np.float64), max_iter


def _rest(W: Array, on: tuple[Array, Array, Activation], eta: float, left: int) -> Array | None:
    r"""$W_c + (I - \eta H)^{left}(W - W_c)$ for a strict minimum $W_c$ with Hessian H to which all
    points are so near that descent is this linear map, to second order; None where they are not.

    Near: within 3 % of $W_c$, and Newton's step from each point, with H, leads to $W_c$ up to a
    tenth of the way.
    """
    center = W.mean(axis=0)
    if _largest(W - center) > NEAR * float(np.linalg.norm(center)):
        return None
    point = Point(center, *empirical_loss_and_gradient(center, *on), eta)
    point, _ = newton_end(point, *on, NEWTON_TOL)
    D = W - point.W
    if point.size > NEWTON_TOL or _largest(D) > NEAR * float(np.linalg.norm(point.W)):
        return None
    eigenvalues, Q = np.linalg.eigh(hessian_parts(point.W, *on).total)
    factors = 1.0 - eta * eigenvalues
    if not (eigenvalues[0] > 0.0 and np.abs(factors).max() <= 1.0):
        return None
    along = D.reshape(len(D), -1) @ Q
    newton = batched_gradients(W, *on).reshape(len(D), -1) @ Q / eigenvalues
    if (np.linalg.norm(newton - along, axis=1) > 0.1 * np.linalg.norm(along, axis=1)).any():
        return None
    return point.W + (along * factors**left @ Q.T).reshape(D.shape)


def _largest(D: Array) -> float:
    return float(np.sqrt((D**2).sum(axis=(1, 2)).max()))


@states("FCL-D1")
def batched_gradients(
    W: NDArray[Any], X: NDArray[Any], y: NDArray[Any], phi: Activation
) -> NDArray[Any]:
    r"""Gradients of $f_n$ at L networks of K neurons on the same samples, L x K x d, in the
    precision of X: two matrix products a block of samples for all networks together.
    """
    (L, K, d), n = W.shape, X.shape[0]
    V = np.ascontiguousarray(W.transpose(1, 0, 2)).reshape(K * L, d)
    G, logistic = np.zeros_like(V), phi.name == "sigmoid" and phi.parameter in (None, 1.0)
    for first in range(0, n, SAMPLES):
        part = X[first : first + SAMPLES]
        Z: NDArray[Any] = V @ part.T
        if logistic:  # one exponential for value and slope; 1/inf is the limit 0
            with np.errstate(over="ignore"):
                Z = np.exp(-Z)
            values: NDArray[Any] = 1.0 / (1.0 + Z)
            slopes = values - values * values
        else:
            values, slopes = (np.asarray(f(Z), dtype=Z.dtype) for f in (phi, phi.derivative))
        e = values.reshape(K, L, -1).sum(axis=0) / Z.dtype.type(K) - y[first : first + SAMPLES]
        slopes.reshape(K, L, -1)[...] *= e
        G += slopes @ part
    return G.reshape(K, L, d).transpose(1, 0, 2) / X.dtype.type(n * K)
