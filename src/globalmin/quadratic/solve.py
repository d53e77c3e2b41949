r"""Quadratic networks $f(x) = \sum_l v_l (w_l \cdot x)^2$ solved to the global minimum, with a
lower bound that shows it.

The matrix $M = W^T\mathrm{diag}(v)W$ turns training into a convex problem: least squares over
symmetric matrices (heads of both signs), over positive semidefinite ones (heads >= 0), or with the
nuclear norm (weight decay). Its solution gives W, its dual vector the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from globalmin._options import SIGNS, Signs, one_of
from globalmin._types import Array
from globalmin.data.validation import as_matrix, as_targets
from globalmin.errors import DataError
from globalmin.linalg.symmetric import head_counts, place_on_head
from globalmin.optimize.run import Run, Status, Trajectory
from globalmin.quadratic.convex import MatrixSolution, solve_matrix
from globalmin.quadratic.duality import decay_threshold, network_objective, row_space
from globalmin.quadratic.least_squares import least_squares
from globalmin.quadratic.local import best_local_minimum
from globalmin.quadratic.matrix import MatrixProblem
from globalmin.references import states
from globalmin.shallow.network import ShallowNetwork

MAX_ITER = 50_000
TOL = 1e-10


@dataclass(frozen=True, eq=False, kw_only=True)
class QuadraticSolution(Run[ShallowNetwork]):
    r"""A quadratic network and how near it is to the global minimum.

    Attributes
    ----------
    network : the network; its width and head are the ones asked for.
    status : CONVERGED when the gap is below the tolerance.
    trajectory : the zero network and the solution; the stages in between are points of another
        problem, not weights.
    loss : $L = (1/2)\sum_i r_i^2$.
    n_iter : iterations of all stages together.
    method : "least squares", "convex" or "local" (too few neurons for the minimum of the class: the
        gap is then an honest distance).
    M : $W^T\mathrm{diag}(v)W$.
    objective : L plus $(w/2)\|W\|_F^2$; equal to `loss` without weight decay.
    lower_estimate : no network of the class (any width, heads of these signs and at most this size)
        has a smaller objective; in floats.
    gap : objective - lower_estimate.
    dual : the dual vector of that bound: lambda of theorem P, u of theorem D, or the least-squares
        residual.
    weight_decay : w.
    stages : (iterations so far, W) after every stage of the convex problem, on the same head; the
        longest rows where it has too few neurons for all.
    """

    M: Array
    objective: float
    lower_estimate: float
    gap: float
    dual: Array
    weight_decay: float
    stages: tuple[tuple[int, Array], ...] = field(default=(), repr=False)

    @property
    def relative_gap(self) -> float:
        """The gap relative to the objective (0 if both vanish)."""
        return self.gap / self.objective if self.objective > 0 else 0.0

    @property
    def rank(self) -> int:
        """Number of neurons that are not zero."""
        return int(self.network.W.any(axis=1).sum())


@dataclass(frozen=True)
class Relaxed:
    """The minimum over matrices: rows a_i and signs s_i with M = sum s_i a_i a_i^T, the dual
    vector, its bound, the work, and (iterations so far, rows, signs) after every stage.
    """

    rows: Array
    signs: Array
    dual: Array
    lower: float
    method: str
    n_iter: int
    stages: tuple[tuple[int, Array, Array], ...] = ()


@states("SJL-T2.1", "SJL-T2.2", "SJL-T2.2k")
def solve_quadratic(
    X: object,
    y: object,
    *,
    signs: Signs = "mixed",
    width: int | None = None,
    head: Array | None = None,
    weight_decay: float = 0.0,
    v_max: float = 1.0,
    tol: float = TOL,
    max_iter: int = MAX_ITER,
    start: Array | None = None,
    starts: int = 3,
    seed: int = 0,
) -> QuadraticSolution:
    r"""The global minimum of $L + (w/2)\|W\|_F^2$ over W for quadratic networks, any labels.

    Parameters
    ----------
    X, y : samples (n x d, bias feature included if wanted) and labels (n).
    signs : "mixed" (heads of both signs) or "positive" (heads >= 0).
    width : number k of neurons; default 2d for "mixed", d for "positive", which always suffices.
    head : head weights v instead of `signs`, `width` and `v_max`; zeros are neurons without effect.
    weight_decay : w >= 0 on W.
    v_max : size of the head weights (they are +-v_max).
    tol : gap relative to the objective at which the solver stops (1e-3 `tol` of the objective of
        the zero network for minima that are zero).
    max_iter : iterations of all stages together.
    start : a matrix M near the solution, for warm starts (with weight decay only).
    starts, seed : starts of the local search, used only when the minimum of the class needs more
        neurons than given.

    Theory
    ------
    SJL-T2.1 (mixed), SJL-T2.2k and theorem P (positive), theorem D (weight decay). A width below
    the default gives the same minimum whenever the matrix of the minimum has few enough eigenvalues
    of each sign; otherwise a local minimum with the gap to the bound.
    """
    samples, labels = checked_data(X, y)
    v = _head(samples.shape[1], signs, width, v_max) if head is None else _checked_head(head)
    w = _checked_decay(weight_decay)
    if not 0 < tol < 1:
        raise DataError(f"tol={tol!r} must lie strictly between 0 and 1")
    relaxed = _relax(samples, labels, v, w, tol=tol, max_iter=max_iter, start=start)
    W = place_on_head(relaxed.rows, relaxed.signs, v)
    if W is not None:
        solution = _solution(samples, labels, W, v, relaxed=relaxed, w=w, tol=tol)
        if solution.status is Status.CONVERGED or not _uneven(v, w):
            return solution
    first = _truncated(relaxed.rows, relaxed.signs, v) if W is None else W
    W, used = best_local_minimum(
        samples, labels, first, v, weight_decay=w, starts=max(starts, 1), seed=seed
    )
    return _solution(samples, labels, W, v, relaxed=relaxed, w=w, tol=tol, local_iterations=used)


def _relax(
    X: Array, y: Array, v: Array, w: float, *, tol: float, max_iter: int, start: Array | None
) -> Relaxed:
    """The convex problem of the class of the head: two-sided, or one-sided after a change of
    sign.
    """
    plus, minus = head_counts(v)
    if plus and minus:
        return _relax_two_sided(X, y, v, w, tol=tol, max_iter=max_iter, start=start)
    flip = 1.0 if plus or not minus else -1.0
    relaxed = _relax_one_sided(
        X, flip * y, v, w, tol=tol, max_iter=max_iter, start=None if start is None else flip * start
    )
    return Relaxed(
        relaxed.rows,
        flip * relaxed.signs,
        flip * relaxed.dual,
        relaxed.lower,
        relaxed.method,
        relaxed.n_iter,
        tuple((used, rows, flip * signs) for used, rows, signs in relaxed.stages),
    )


def _relax_two_sided(
    X: Array, y: Array, v: Array, w: float, *, tol: float, max_iter: int, start: Array | None
) -> Relaxed:
    if w > 0:
        return _relax_decay(
            MatrixProblem(X, y, decay_threshold(w, float(np.abs(v).max())), True),
            tol=tol,
            max_iter=max_iter,
            start=start,
        )
    space = row_space(X)
    found = least_squares(space.white, y, tol=tol)
    stages = tuple((used, *_rows(*np.linalg.eigh(M), space.basis)) for used, M in found.stages)
    rows, row_signs = _rows(*np.linalg.eigh(found.M), space.basis)
    loss = 0.5 * float(found.residual @ found.residual)
    lower = 0.0 if loss <= 1e-3 * tol * 0.5 * float(y @ y) else max(loss - found.gap, 0.0)
    return Relaxed(rows, row_signs, found.residual, lower, "least squares", found.n_iter, stages)


def _rows(eigenvalues: Array, vectors: Array, basis: Array | None = None) -> tuple[Array, Array]:
    """Rows a_i and signs s_i with M = sum s_i a_i a_i^T, from a spectrum in the given basis."""
    placed = vectors if basis is None else basis @ vectors
    return np.sqrt(np.abs(eigenvalues))[:, None] * placed.T, np.sign(eigenvalues)


def _relax_one_sided(
    X: Array, y: Array, v: Array, w: float, *, tol: float, max_iter: int, start: Array | None
) -> Relaxed:
    if w > 0:
        return _relax_decay(
            MatrixProblem(X, y, decay_threshold(w, float(np.abs(v).max())), False),
            tol=tol,
            max_iter=max_iter,
            start=start,
        )
    space = row_space(X)
    if space.rank == 0:
        return Relaxed(np.zeros((0, X.shape[1])), np.zeros(0), -y, 0.5 * float(y @ y), "convex", 0)
    found = solve_matrix(MatrixProblem(space.white, y, 0.0, False), tol=tol, max_iter=max_iter)
    return _relaxed(found, space.basis)


def _relax_decay(
    problem: MatrixProblem, *, tol: float, max_iter: int, start: Array | None
) -> Relaxed:
    return _relaxed(solve_matrix(problem, tol=tol, max_iter=max_iter, start=start))


def _relaxed(found: MatrixSolution, basis: Array | None = None) -> Relaxed:
    rows, signs = _rows(found.point.eigenvalues, found.point.vectors, basis)
    stages = tuple(
        (used, *_rows(point.eigenvalues, point.vectors, basis)) for used, point in found.stages
    )
    bound = found.point.dual
    lower = max(bound.value, 0.0)
    return Relaxed(rows, signs, bound.vector, lower, "convex", found.n_iter, stages)


def _solution(
    X: Array,
    y: Array,
    W: Array,
    v: Array,
    *,
    relaxed: Relaxed,
    w: float,
    tol: float,
    local_iterations: int | None = None,
) -> QuadraticSolution:
    objective = network_objective(W, v, X, y, weight_decay=w)
    gap = objective - relaxed.lower
    zero = 0.5 * float(y @ y)
    run = solved(
        ShallowNetwork(W, v, "quadratic"),
        is_close=gap <= max(tol * objective, 1e-3 * tol * zero),
        gap=gap,
        losses=(zero, network_objective(W, v, X, y)),
        n_iter=relaxed.n_iter + (local_iterations or 0),
        method=relaxed.method if local_iterations is None else "local",
    )
    return QuadraticSolution.of(
        run,
        M=(W * v[:, None]).T @ W,
        objective=objective,
        lower_estimate=relaxed.lower,
        gap=gap,
        dual=relaxed.dual,
        weight_decay=w,
        stages=tuple((used, _truncated(rows, signs, v)) for used, rows, signs in relaxed.stages),
    )


def solved(
    network: ShallowNetwork,
    *,
    is_close: bool,
    gap: float,
    losses: tuple[float, float],
    n_iter: int,
    method: str,
) -> Run[ShallowNetwork]:
    """What is the same for every solution: how it ended, in words too, and the losses of the zero
    network and of this one.
    """
    remedy = "widen the network" if method == "local" else "raise max_iter"
    words = "the gap to the lower bound is below the tolerance" if is_close else remedy
    iterations = np.array([0, n_iter], dtype=np.int64)
    return Run(
        network=network,
        status=Status.CONVERGED if is_close else Status.STALLED,
        message=f"{method}: {gap:.2g} above the lower bound; {words}",
        trajectory=Trajectory(iterations, np.array(losses)),
        n_iter=n_iter,
        method=method,
        loss=losses[1],
    )


def _truncated(rows: Array, signs: Array, v: Array) -> Array:
    """The longest rows of each sign that the head can carry."""
    keep = np.zeros(signs.shape, dtype=bool)
    lengths = np.linalg.norm(rows, axis=1)
    for sign, count in zip((1.0, -1.0), head_counts(v), strict=True):
        members = np.flatnonzero(signs == sign)
        keep[members[np.argsort(-lengths[members])[:count]]] = True
    W = place_on_head(rows[keep], signs[keep], v)
    return np.zeros((v.shape[0], rows.shape[1])) if W is None else W


def _uneven(v: Array, w: float) -> bool:
    """Whether weight decay meets heads of different sizes, so that the bound (for the largest) may
    not be attained.
    """
    sizes = np.abs(v[v != 0])
    return w > 0 and bool(sizes.size) and not bool((sizes == sizes[0]).all())


def checked_data(X: object, y: object) -> tuple[Array, Array]:
    """Samples and labels of one target as float64 arrays, or a refusal that names the remedy."""
    samples = as_matrix(X)
    labels = as_targets(y, samples.shape[0])
    if labels.shape[1] != 1:
        raise DataError(f"y has {labels.shape[1]} targets; solve one network per target")
    return samples, np.ascontiguousarray(labels[:, 0])


def _head(d: int, signs: Signs, width: int | None, v_max: float) -> Array:
    one_of("signs", signs, SIGNS)
    k = (2 * d if signs == "mixed" else d) if width is None else width
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise DataError(f"width={width!r} must be an integer of at least 1")
    if not (math.isfinite(v_max) and v_max > 0):
        raise DataError(f"v_max={v_max!r} must be a positive number")
    v = np.full(int(k), float(v_max))
    if signs == "mixed":
        v[(int(k) + 1) // 2 :] *= -1.0
    return v


def _checked_head(head: object) -> Array:
    v = np.array(head, dtype=np.float64)
    if v.ndim != 1 or v.size == 0 or not np.isfinite(v).all():
        raise DataError(
            f"head has shape {v.shape}; give one finite weight per neuron, at least one"
        )
    if not v.any():
        raise DataError(
            "all head weights are zero, so no network of this head can be trained; give at least "
            "one that is not"
        )
    return v


def _checked_decay(weight_decay: float) -> float:
    if not (math.isfinite(weight_decay) and weight_decay >= 0):
        raise DataError(f"weight_decay={weight_decay!r} must be a number of at least 0")
    return float(weight_decay)
