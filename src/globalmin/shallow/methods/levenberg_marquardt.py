r"""Levenberg-Marquardt in the n x n form.

The damped step is $-J^T u$ with $(K + \lambda I)\,u = r$ and $K = J J^T = (S S^T) \circ (X X^T)$:
neither J nor anything of size kd x kd is formed. One step costs n^3/3 + n^2 (k + d) multiplications
and three n x n arrays in all.

The model of the loss after the step is $\frac12\|r - K u\|^2 = \frac12\|\lambda u\|^2$, so the gain
ratio needs no further product. The damping is $\lambda = \mu \|r\|$ with mu steered by the gain
ratio: near a zero of r it vanishes with r and the convergence is quadratic.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Unpack

import numpy as np

from globalmin._types import Array
from globalmin.optimize.follow import Iterate
from globalmin.references import states
from globalmin.shallow.degenerate import pose, representatives
from globalmin.shallow.problem import check_memory
from globalmin.shallow.trajectory import Options, follow, shallow_watch

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.problem import HasData, Point
    from globalmin.shallow.trajectory import ShallowRun


MAX_ITER = 300
START_DAMPING = 0.1  # lambda at the start, relative to the mean of the diagonal of K
MAX_REJECTIONS = 12  # in a row; the damping has then grown by 2^78
# a start is given up when 60 systems have not lowered ||r|| by one per cent
PATIENCE, PROGRESS = 60, 0.99
EPS, TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)
POLISH_BELOW = 1e-10  # a caller who asks for no more than this is not given the last digits


@states("OS-J")
def levenberg_marquardt(
    network: ShallowNetwork,
    data: HasData,
    *,
    polish: bool | None = None,
    **options: Unpack[Options],
) -> ShallowRun:
    """Train by Levenberg-Marquardt steps in the n x n form; the method of choice for smooth
    activations.

    Parameters
    ----------
    network, data : the start and the data.
    polish : after the tolerance, continue with undamped Gauss-Newton steps until rounding stops
        them. Default: if tol <= 1e-10.
    options : as in `globalmin.train`.

    Theory
    ------
    OS-J for the Gram matrix; the undamped step is that of the interpolation theorem (OS-C2),
    quadratically convergent near a zero.
    """
    start = pose(network, data, options.get("trained", "W"))
    tol = options.get("tol", 1e-13)
    polish = tol <= POLISH_BELOW if polish is None else polish
    check_memory(start, method="levenberg_marquardt")
    watch = shallow_watch(
        network,
        start,
        options,
        method="levenberg_marquardt",
        default_max_iter=MAX_ITER,
        stops_at_tol=not polish,
    )
    return follow(watch, steps(representatives(start), tol=tol, polish=polish))


def steps(
    start: Point, *, tol: float, polish: bool, solver: GramSolver | None = None
) -> Iterator[Iterate[Point]]:
    """Damped steps down to the tolerance, then undamped ones down to the rounding floor."""
    solver = solver or GramSolver(start.problem.X)
    point = yield from damped_steps(start, solver, tol=tol)
    if polish and point.is_fitted(tol):
        yield from undamped_steps(point, solver)


def damped_steps(
    point: Point, solver: GramSolver, *, tol: float
) -> Generator[Iterate[Point], None, Point]:
    """Levenberg-Marquardt steps until the point is fitted or there is no progress; an iterate per
    system, rejected or not.
    """
    diagonal = solver.load(point)
    mu, growth, rejections = (
        START_DAMPING * diagonal / point.norm if point.norm > 0 else 0.0,
        2.0,
        0,
    )
    norms = [point.norm]
    while not point.is_fitted(tol) and diagonal > 0:
        shift = max(mu * point.norm, EPS * diagonal)
        u = solver.solve(point.residual, shift=shift)
        trial = None if u is None else point.moved(point.pull_back(u))
        if u is not None and trial is not None and trial.norm < point.norm:
            gain = (point.norm**2 - trial.norm**2) / max(
                point.norm**2 - shift**2 * float(u @ u), TINY
            )
            mu *= max(1 / 3, 1 - (2 * min(gain, 1.0) - 1) ** 3)
            point, growth, rejections = trial, 2.0, 0
            diagonal = solver.load(point)
        else:
            mu, growth, rejections = mu * growth, 2 * growth, rejections + 1
        yield Iterate(point)
        norms.append(point.norm)
        if rejections >= MAX_REJECTIONS or (
            len(norms) > PATIENCE and norms[-1] > PROGRESS * norms[-PATIENCE - 1]
        ):
            break
    return point


def undamped_steps(point: Point, solver: GramSolver) -> Generator[Iterate[Point], None, Point]:
    """Gauss-Newton steps of least norm, theta - J^T K^{-1} r, until one lowers ||r|| by less than a
    tenth.
    """
    improves = point.norm > 0
    while improves:
        solver.load(point)
        u = solver.solve(point.residual, shift=0.0)
        trial = point if u is None else point.moved(point.pull_back(u))
        improves = 0 < trial.norm < 0.9 * point.norm
        if trial.norm < point.norm:
            point = trial
            yield Iterate(point)
    return point


class GramSolver:
    """Solves (K + shift I) u = r with three n x n arrays: X X^T, K, and the factor, which
    overwrites its own matrix.
    """

    def __init__(self, X: Array) -> None:
        from scipy.linalg import get_lapack_funcs

        n = X.shape[0]
        self._potrf, self._potrs = get_lapack_funcs(("potrf", "potrs"), dtype=np.float64)
        self._inputs_gram = X @ X.T
        self._K = np.empty((n, n))
        self._factor = np.empty((n, n))
        self._diagonal = self._factor.reshape(-1)[:: n + 1]

    def load(self, point: Point) -> float:
        """Form K at this point and return the mean of its diagonal."""
        point.gram(inputs_gram=self._inputs_gram, out=self._K)
        return float(self._K.trace()) / len(self._K)

    def solve(self, r: Array, *, shift: float) -> Array | None:
        """Solve (K + shift I) u = r by a Cholesky factorization; None if the matrix is not positive
        definite in floats.
        """
        np.copyto(self._factor, self._K)
        self._diagonal += shift
        # the transpose of a C array is the Fortran array that LAPACK overwrites in place; the
        # matrix is symmetric
        factor, failed = self._potrf(self._factor.T, lower=1, overwrite_a=1, clean=0)
        if failed:
            return None
        u, failed = self._potrs(factor, r, lower=1)
        return u if not failed and np.isfinite(u).all() else None
