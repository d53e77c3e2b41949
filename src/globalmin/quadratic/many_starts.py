r"""Plain gradient descent on quadratic networks from many starts at once, with the plateaus it
passes.

With $s = \mathrm{svec}(W^TD_vW)$ the loss is $\frac12s^TFs - b \cdot s + c$, so a step costs $N^2 +
2kd^2$ whatever the number of samples, and all starts are moved together.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.errors import DataError
from globalmin.linalg.symmetric import design_gram, moment_matrix, svec
from globalmin.optimize.run import Status
from globalmin.quadratic.risk import expected_design_gram
from globalmin.references import states

SHRINK = 0.7  # factor of the step when it would raise the loss
ROUNDING = 1e-13  # the loss may rise by this much of that of the zero network: rounding
# a dip of the gradient norm counts when it falls below this fraction of the highest value before it
DIP = 0.1


@dataclass(frozen=True)
class QuadraticLoss:
    r"""$\frac12s^TFs - b \cdot s + c$ for $s = \mathrm{svec}(W^TD_vW)$: the loss of quadratic
    networks with the head v.
    """

    F: Array = field(repr=False)
    b: Array = field(repr=False)
    c: float
    v: Array

    @classmethod
    def of_data(cls, X: Array, y: Array, v: Array) -> QuadraticLoss:
        r"""$(1/2)\sum_ir_i^2$ on samples X with labels y."""
        return cls(
            design_gram(X),
            svec(moment_matrix(X, y)),
            0.5 * float(y @ y),
            np.asarray(v, dtype=np.float64),
        )

    @classmethod
    def of_teacher(cls, Wstar: Array, width: int) -> QuadraticLoss:
        r"""Half the population risk $E(f - f^*)^2$ of `width` neurons with head 1 and Gaussian
        inputs (GKZ-R1).
        """
        F, a = expected_design_gram(Wstar.shape[1]), svec(Wstar.T @ Wstar)
        return cls(F, F @ a, 0.5 * float(a @ F @ a), np.ones(width))

    @property
    def least(self) -> float:
        """The least value over all symmetric matrices, in floats: reached with at least d heads of
        each sign.
        """
        best = np.linalg.lstsq(self.F, self.b, rcond=None)[0]
        return max(self.c - 0.5 * float(self.b @ best), 0.0)

    def value_and_gradient(self, W: Array) -> tuple[Array, Array]:
        r"""Losses (m) and gradients $2D_vWZ$ (m x k x d) of m networks, W of shape m x k x d."""
        d = W.shape[2]
        rows, columns = np.triu_indices(d)
        scale = np.where(rows == columns, 1.0, np.sqrt(2.0))
        s = ((W.transpose(0, 2, 1) * self.v) @ W)[:, rows, columns] * scale
        z = s @ self.F - self.b
        Z = np.empty((W.shape[0], d, d))
        Z[:, rows, columns] = z / scale
        Z[:, columns, rows] = Z[:, rows, columns]
        return 0.5 * np.einsum("ij,ij->i", s, z - self.b) + self.c, 2.0 * self.v[:, None] * (W @ Z)


@dataclass(frozen=True)
class Plateau:
    """An iterate at which the gradient norm had a local minimum along the way, with its loss: a
    saddle was passed nearby.
    """

    start: int
    iteration: int
    W: Array = field(repr=False)
    loss: float
    gradient_norm: float


@dataclass(frozen=True)
class Descents:
    """Where every start ended.

    `W` (m x k x d) and `losses` (m) at the end, `iterations` and `step_sizes` of each run,
    `reached` whether the loss came within the tolerance of the target, the plateaus passed, and
    `history`: the losses (t x m) every so many steps, if asked for.
    """

    W: Array = field(repr=False)
    losses: Array = field(repr=False)
    iterations: NDArray[np.int64] = field(repr=False)
    step_sizes: Array = field(repr=False)
    reached: NDArray[np.bool_] = field(repr=False)
    plateaus: tuple[Plateau, ...] = field(repr=False)
    history: Array = field(repr=False)

    @property
    def statuses(self) -> tuple[Status, ...]:
        """How each run ended."""
        return tuple(Status.CONVERGED if ok else Status.MAX_ITER for ok in self.reached)


def random_starts(
    count: int, width: int, d: int, *, scales: tuple[float, float] = (1e-4, 0.5), seed: int = 0
) -> Array:
    """Gaussian weights, `count` x `width` x d, each start with its own scale, log-uniform between
    the two given.
    """
    low, high = scales
    if count < 1 or width < 1 or d < 1 or not 0.0 < low <= high:
        raise DataError(
            f"count={count}, width={width}, d={d} must be at least 1 and scales={scales} positive "
            "and increasing"
        )
    rng = np.random.default_rng(seed)
    sizes = np.exp(rng.uniform(np.log(low), np.log(high), count))
    return sizes[:, None, None] * rng.standard_normal((count, width, d))


@states("SJL-T2.1", "SJL-T2.2")
@np.errstate(over="ignore", invalid="ignore")
def descend(
    loss: QuadraticLoss,
    starts: Array,
    *,
    target: float | None = None,
    tol: float = 1e-12,
    max_iter: int = 100_000,
    plateaus: int = 3,
    every: int | None = None,
) -> Descents:
    r"""Gradient descent from every start until the loss is within `tol` times that of the zero
    network of `target`.

    Parameters
    ----------
    loss : QuadraticLoss
        Of data or of a teacher.
    starts : Array
        m x k x d.
    target : float | None
        By default the least value over all symmetric matrices.
    tol : float
        Relative to c, the loss of W = 0.
    max_iter : int
        Steps at most; a step that would raise the loss is taken back, and the step size of that run
        shrinks by 0.7 for good: each run is descent with a constant step, found from above.
    plateaus : int
        At most this many dips of the gradient norm are kept per run, the first ones.
    every : int | None
        Record the losses every so many steps.

    Theory
    ------
    SJL-T2.1: with at least d heads of each sign no start can end anywhere else but for a set of
    measure zero; SJL-T2.2k for heads of one sign, with the least value over positive semidefinite
    matrices as target.
    """
    if (
        starts.ndim != 3
        or starts.shape[1] != loss.v.shape[0]
        or starts.shape[2] * (starts.shape[2] + 1) != 2 * loss.b.shape[0]
    ):
        raise DataError(
            f"starts has shape {starts.shape}; give (count, {loss.v.shape[0]}, d) with d(d+1)/2 = "
            f"{loss.b.shape[0]}"
        )
    goal = (loss.least if target is None else target) + tol * loss.c
    state = _State.begin(loss, starts)
    found: list[Plateau] = []
    history: list[Array] = []
    for iteration in range(1, max_iter + 1):
        active = np.flatnonzero(state.losses > goal)
        if not active.size:
            break
        if every and iteration % every == 1 % every:
            history.append(state.losses.copy())
        moved = state.step(loss, active, iteration)
        found += state.dips(moved, iteration, plateaus)
    recorded = np.array(history).reshape(len(history), starts.shape[0])
    return Descents(
        state.W,
        state.losses,
        state.iterations,
        state.step_sizes,
        state.losses <= goal,
        tuple(found),
        history=recorded,
    )


@dataclass
class _State:
    """The runs on their way; `norms` are the gradient norms, `before` the ones a step earlier,
    `peak` the highest since a dip.
    """

    W: Array
    losses: Array
    gradients: Array
    step_sizes: Array
    iterations: NDArray[np.int64]
    norms: Array
    before: Array
    peak: Array
    counts: NDArray[np.int64]
    previous: Array

    @classmethod
    def begin(cls, loss: QuadraticLoss, starts: Array) -> _State:
        W = np.array(starts, dtype=np.float64)
        losses, gradients = loss.value_and_gradient(W)
        if not np.isfinite(losses).all():
            raise DataError("starts: the loss of a start is not finite; give smaller weights")
        norms, m = _norms(gradients), W.shape[0]
        heads = max(float(np.abs(loss.v).max()), np.finfo(np.float64).tiny)
        step = 1.0 / (heads * max(float(np.linalg.eigvalsh(loss.F)[-1]), np.finfo(np.float64).tiny))
        counts = np.zeros(m, dtype=np.int64)
        return cls(
            W,
            losses,
            gradients,
            np.full(m, step),
            counts.copy(),
            norms,
            norms.copy(),
            norms.copy(),
            counts,
            np.zeros_like(W),
        )

    def step(
        self, loss: QuadraticLoss, active: NDArray[np.intp], iteration: int
    ) -> NDArray[np.intp]:
        """One step of the active runs; steps that raise the loss are taken back and shrink the step
        size. The runs that moved.
        """
        W = self.W[active] - self.step_sizes[active, None, None] * self.gradients[active]
        losses, gradients = loss.value_and_gradient(W)
        good = losses <= self.losses[active] + ROUNDING * loss.c
        moved, stayed = active[good], active[~good]
        self.step_sizes[stayed] *= SHRINK
        self.previous[moved], self.before[moved] = self.W[moved], self.norms[moved]
        self.W[moved], self.losses[moved], self.gradients[moved] = (
            W[good],
            losses[good],
            gradients[good],
        )
        self.norms[moved] = _norms(gradients[good])
        self.iterations[active] = iteration
        return moved

    def dips(self, moved: NDArray[np.intp], iteration: int, most: int) -> list[Plateau]:
        """Runs whose gradient norm begins to rise after a deep fall: the iterate before is next to
        a saddle.
        """
        norms, before = self.norms[moved], self.before[moved]
        rising = moved[
            (norms > before) & (before < DIP * self.peak[moved]) & (self.counts[moved] < most)
        ]
        self.peak[moved] = np.where(
            norms > before, np.maximum(self.peak[moved], norms), self.peak[moved]
        )
        self.peak[rising] = self.before[rising]
        self.counts[rising] += 1
        return [
            Plateau(
                int(i),
                iteration - 1,
                self.previous[i].copy(),
                float(self.losses[i]),
                float(self.before[i]),
            )
            for i in rising
        ]


def _norms(gradients: Array) -> Array:
    return np.sqrt(np.einsum("ijk,ijk->i", gradients, gradients))
