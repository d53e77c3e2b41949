r"""Training of patch networks on data: any scale of the patches and labels, restarts by sign flips
(DU-T5.4), dead filters drawn again.

Patches and labels are brought to a mean square of 1 first and the weights are brought back, so the
units of the user do not matter. Nothing here is a theorem about the data: that a run reaches zero
loss is seen, and can then be proved for the network it found (`prove`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np

from globalmin._options import PATCH_HEADS, PATCH_METHODS, PatchHead, PatchMethod, one_of
from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError
from globalmin.linalg.sampling import uniform_in_ball
from globalmin.optimize.follow import Options, Recorder, Watch, Watching, every_step, follow
from globalmin.optimize.run import Run, Status
from globalmin.patches.cells import PatchPoint, Scaled, Weights
from globalmin.patches.creases import training_path
from globalmin.patches.layout import PatchLayout
from globalmin.patches.network import PatchNetwork
from globalmin.references import states

MAX_ITER = 300  # steps of one start, unless told
REDRAWS = 100  # draws of one filter before a dead one is accepted


@dataclass(frozen=True, eq=False, kw_only=True)
class PatchRun(Run[PatchNetwork]):
    """A trained patch network.

    Attributes
    ----------
    loss, losses : (1/2n) sum of squared residuals, in the user's units.
    relative_loss : the loss over that of the zero network; does not depend on units.
    starts, dead_starts : starts that were trained, and filters that were dead and drawn again.
    """

    relative_loss: float
    starts: int = 1
    dead_starts: int = 0


@dataclass(frozen=True)
class _Units:
    """What patches and labels were divided by."""

    patches: Array  # one number per entry; 1 for the constant entry
    labels: float

    def restored(self, weights: Weights, head: PatchHead) -> Weights:
        """The weights for the user's units; filters of length 1 where output weights are free."""
        W, A = weights
        W = W / self.patches
        if head != "trained":
            return W * self.labels, A
        length = np.linalg.norm(W, axis=1, keepdims=True)
        length = np.where(length > 0.0, length, 1.0)
        return W / length, A * length * self.labels


@states("DU-M5", "DU-M6", "DU-T5.4")
def train_patches(
    X: ArrayLike,
    y: ArrayLike,
    layout: PatchLayout,
    *,
    filters: int = 1,
    head: PatchHead = "average",
    method: PatchMethod = "auto",
    max_iter: int = MAX_ITER,
    tol: float = 1e-20,
    restarts: int = 2,
    seed: int = 0,
    start: PatchNetwork | None = None,
    **options: Unpack[Watching],
) -> PatchRun:
    r"""Train a patch network on samples.

    Parameters
    ----------
    X, y : ArrayLike
        Samples in the layout's shape (or as rows) and one label each.
    layout : PatchLayout
        From `patch_layout`.
    filters : int
        How many, m.
    head : str
        "average": every output weight is 1/k, so that no output is negative. "signed": every other
        filter counts as -1/k. "trained": one free output weight for every filter and patch.
    method : str
        "gradient_descent", "least_squares" (inside the cells of active patches) or "auto": the
        first for a third of the iterations, then the second.
    max_iter : int
        Steps of one start.
    tol : float
        The loss to reach, relative to that of the zero network.
    restarts : int
        Further random draws. Every draw is tried with its sign flips (filters and, where they are
        free, output weights) until one reaches the tolerance; else the least loss counts.
    seed : int
        Of the draws.
    start : PatchNetwork | None
        Train from here instead, without flips and restarts.
    options : Any
        verbose, throw, monitor as in `train`.
    """
    Z, labels = layout.patches(X), _labels(y, X)
    one_of("head", head, PATCH_HEADS)
    one_of("method", method, PATCH_METHODS)
    if filters < 1 or max_iter < 1 or restarts < 0 or not tol >= 0.0:
        raise DataError(
            f"filters={filters!r}, max_iter={max_iter!r}, restarts={restarts!r}, tol={tol!r}: give "
            "filters and max_iter >= 1, restarts and tol >= 0"
        )
    units = _units(Z, labels, bias=layout.bias)
    scaled = Scaled(Z / units.patches, labels / units.labels, head == "trained")
    draws = Draws(scaled, filters, head, np.random.default_rng(seed))
    starts = draws.flips(restarts) if start is None else iter([_given(start, layout, units)])
    best: PatchRun | None = None
    for count, weights in enumerate(starts, start=1):
        path = training_path(scaled, scaled.at(weights), method, max_iter)
        watch = Watch(
            scaled.at(weights),
            lambda point: PatchNetwork(*units.restored(point.weights, head), layout),
            Recorder(gap=every_step),
            Options(max_iter=max_iter, **options),
            method=method,
            default_max_iter=max_iter,
            reached=lambda point, _: _reached(point, tol, head),
        )
        run = _in_units(follow(watch, path), units, labels)
        best = replace(run if best is None or run.loss < best.loss else best, starts=count)
        if run.status in (Status.CONVERGED, Status.INTERRUPTED, Status.STOPPED):
            break
    if best is None:
        raise DataError(f"restarts={restarts}: give an integer of at least 0")
    return replace(best, dead_starts=draws.dead)


def _reached(point: PatchPoint, tol: float, head: PatchHead) -> Status | None:
    if 2.0 * point.loss <= tol:
        return Status.CONVERGED
    is_dead = head != "trained" and not (point.H > 0.0).any()
    return Status.DEAD if is_dead else None


def _in_units(run: Run[PatchNetwork], units: _Units, labels: Array) -> PatchRun:
    square = units.labels**2
    trajectory = replace(run.trajectory, loss=run.trajectory.loss * square)
    zero = 0.5 * float(labels @ labels) / len(labels)
    loss = run.loss * square
    relative = loss / zero if zero > 0.0 else (0.0 if loss == 0.0 else math.inf)
    return PatchRun.of(replace(run, loss=loss, trajectory=trajectory), relative_loss=relative)


def _units(Z: Array, y: Array, *, bias: bool) -> _Units:
    entries = Z[:, :, :-1] if bias else Z
    size = math.sqrt(float(np.mean(entries**2))) if entries.size else 0.0
    if not math.isfinite(size):
        raise DataError("X is so large that its squares overflow; divide it by a power of ten")
    patches = np.full(Z.shape[2], size if size > 0.0 else 1.0)
    if bias:
        patches[-1] = 1.0
    level = math.sqrt(float(np.mean(y**2)))
    return _Units(patches, level if level > 0.0 else 1.0)


def _given(start: PatchNetwork, layout: PatchLayout, units: _Units) -> Weights:
    if start.layout != layout:
        raise DataError(
            f"start has the layout {start.layout}, the samples {layout}; give a network of the same"
        )
    return start.filters * units.patches / units.labels, np.array(start.head)


class Draws:
    """Random starts with their sign flips, and how many dead filters were drawn again."""

    def __init__(
        self, problem: Scaled, filters: int, head: PatchHead, rng: np.random.Generator
    ) -> None:
        self.problem, self.filters, self.head, self.rng = problem, filters, head, rng
        self.dead = 0

    def flips(self, restarts: int) -> Iterator[Weights]:
        """(v, a), (-v, a) and, with output weights of both signs, (v, -a), (-v, -a) of every
        draw; the ball of the output weights is halved after each (Remark 5.3).
        """
        for attempt in range(restarts + 1):
            W, A = self._filters(), self._head(0.5**attempt)
            flips = (1.0, -1.0) if self.head != "average" else (1.0,)
            for a in flips:
                for v in (1.0, -1.0):
                    yield self._sized(v * W, a * A)

    def _filters(self) -> Array:
        rows = self.rng.standard_normal((self.filters, self.problem.Z.shape[2]))
        for j in range(self.filters):
            for _ in range(REDRAWS):
                if (self.problem.Z @ rows[j] > 0.0).any():
                    break
                self.dead += 1
                rows[j] = self.rng.standard_normal(rows.shape[1])
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def _head(self, radius: float) -> Array:
        k, m = self.problem.Z.shape[1], self.filters
        if self.head == "trained":
            return np.stack([uniform_in_ball(k, radius, self.rng) for _ in range(m)])
        signs = np.ones(m) if self.head == "average" else (-1.0) ** np.arange(m)
        return np.repeat(signs[:, None] / k, k, axis=1)

    def _sized(self, W: Array, A: Array) -> Weights:
        """The positive multiple of the filters that fits the labels best, or a small one."""
        output = np.einsum("nkm,mk->n", np.maximum(self.problem.Z @ W.T, 0.0), A, optimize=True)
        size, match = float(output @ output), float(output @ self.problem.y)
        if not self.problem.y.any():
            return 0.0 * W, A  # the zero function is the answer
        if size == 0.0:
            return W, A
        least = 0.1 * math.sqrt(len(output) / size)
        return W * max(match / size, least), A


def _labels(y: ArrayLike, X: ArrayLike) -> Array:
    labels, n = np.asarray(y, dtype=np.float64), len(np.asarray(X))
    if labels.shape != (n,) or not np.isfinite(labels).all():
        raise DataError(
            f"y has shape {labels.shape}; give one finite label for each of the {n} samples"
        )
    return labels
