r"""The end of patch-network training: minima of the loss lie on its kinks more often than not, and
there a gradient says nothing.

A kink is a patch with $w_j^Tz = 0$. On the kinks that are held, least squares goes on along them
(an active-set method); next to them the loss is smooth plus $\sum_s c_s\,\sigma(z_s^T\delta)$, so
that a point is stationary if the force on every held kink lies between 0 and $c_s$.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.optimize.follow import End, Iterate
from globalmin.optimize.run import Status
from globalmin.patches.cells import (
    ENOUGH,
    LARGEST_SYSTEM,
    PatchPoint,
    Path,
    Scaled,
    balanced,
    cell_path,
    gradient_path,
    stepped,
)
from globalmin.patches.network import patch_jacobian

FLAT = 1e-6  # largest cosine between the residual and a column of J at a stationary point
CREASE = 1e-9  # relative size of a product w . z below which the point lies on a kink
NEAR = 16  # kinks that a line search looks at
MOST = 400  # rounds of holding and releasing
LARGEST = LARGEST_SYSTEM // 2  # unknowns beyond which kinks are not followed

Place = tuple[int, int, int]  # sample, patch, filter
Ending = Generator[Iterate[PatchPoint], None, End[PatchPoint]]


def training_path(problem: Scaled, point: PatchPoint, method: str, max_iter: int) -> Path | Ending:
    """The steps of a method: "auto" is a third of the iterations by gradient, the rest in cells,
    the last ones along kinks.
    """
    is_large = min(problem.unknowns * len(point.weights[0]), len(problem.y)) > LARGEST_SYSTEM
    if method == "gradient_descent" or (method == "auto" and is_large):
        return gradient_path(problem, point)
    return _to_the_end(problem, point, 0 if method == "least_squares" else max(1, max_iter // 3))


def _to_the_end(problem: Scaled, point: PatchPoint, steps: int) -> Ending:
    for iterate in islice(gradient_path(problem, point), steps):
        point = iterate.point
        yield iterate
    for iterate in cell_path(problem, point):
        point = iterate.point
        yield iterate
    return (yield from crease_path(problem, point))


@dataclass
class Held:
    """The kinks that are held, and those let go to the active side, until a step is taken."""

    kinks: list[Place] = field(default_factory=list)
    active: set[Place] = field(default_factory=set)

    def products(self, H: Array) -> Array:
        """H with the signs that the next step is to assume."""
        H = H.copy()
        for place in self.kinks:
            H[place] = 0.0
        for place in self.active:
            H[place] = max(H[place], np.finfo(float).tiny)
        return H


def crease_path(problem: Scaled, point: PatchPoint) -> Ending:
    """Least squares along the kinks that stop it, until none of them wants to be left."""
    held, unknowns = Held(), problem.unknowns * len(point.weights[0])
    last: list[Place] = []  # held when the point was reached
    for _ in range(MOST if unknowns <= LARGEST else 0):
        H = held.products(point.H)
        J = patch_jacobian(problem.Z, H, point.weights[1], trains_head=problem.trains_head)
        C = _constraints(problem, held.kinks, J.shape[1])
        step, forces = _held_step(J, point, C, np.array([point.H[s] for s in held.kinks]))
        better, kink = _line_search(problem, point, step, held)
        if better is not None:
            held.active.clear()
            held.kinks += [kink] if kink else []
            last = list(held.kinks)
            is_lower = better.loss < point.loss
            point = balanced(problem, better)
            if is_lower:
                yield Iterate(point)
            continue
        freed = most_wanting(point, forces, held)
        if freed is None:
            break
    return ending(problem, point, Held(last))  # letting them go did not help


def _constraints(problem: Scaled, kinks: list[Place], unknowns: int) -> Array:
    """One row z_s per held kink, in the columns of its filter."""
    C, p = np.zeros((len(kinks), unknowns)), problem.Z.shape[2]
    for row, (n, i, j) in zip(C, kinks, strict=True):
        row[j * p : (j + 1) * p] = problem.Z[n, i]
    return C


def _held_step(J: Array, point: PatchPoint, C: Array, height: Array) -> tuple[Array, Array]:
    """The least-squares step with C step = -height, and the forces of the kinks on it."""
    normal, many = J.T @ J, len(C)
    normal[np.diag_indices_from(normal)] += 1e-13 * float(np.trace(normal)) / len(normal)
    system = np.block([[normal, C.T], [C, np.zeros((many, many))]])
    right = np.concatenate([-(J.T @ point.miss), -height])
    solved: Array = np.asarray(np.linalg.lstsq(system, right, rcond=1e-14)[0], dtype=np.float64)
    return solved[: J.shape[1]], solved[J.shape[1] :]


def _line_search(
    problem: Scaled, point: PatchPoint, step: Array, held: Held
) -> tuple[PatchPoint | None, Place | None]:
    """The best of the full step and the kinks it crosses, and the kink to hold there; None if
    nothing is lower and no kink is at hand.
    """
    W = point.weights[0]
    moves = problem.Z @ step[: W.size].reshape(W.shape).T
    with np.errstate(divide="ignore", invalid="ignore"):
        when = np.where((point.H > 0.0) != (point.H + moves > 0.0), -point.H / moves, np.inf)
    for place in (*held.kinks, *held.active):
        when[place] = np.inf
    order = np.argsort(when, axis=None)[:NEAR]
    crossings = [(float(when.flat[q]), q) for q in order if 0.0 <= when.flat[q] < 1.0]
    tries = [(1.0, None), *crossings, *((0.5**q, None) for q in range(1, 8))]
    seen = [(stepped(problem, point, t * step), kink) for t, kink in tries]
    best, kink = min(seen, key=lambda pair: pair[0].loss)
    if not best.loss < point.loss * (1.0 - ENOUGH):
        if not crossings:
            return None, None
        best, kink = seen[1]  # the nearest kink
        if not best.loss <= point.loss * (1.0 + 1e-10):
            return None, None
    return best, None if kink is None else _place(kink, point.H.shape)


def _place(q: int | np.intp, shape: tuple[int, ...]) -> Place:
    n, i, j = np.unravel_index(q, shape)
    return int(n), int(i), int(j)


def most_wanting(point: PatchPoint, forces: Array, held: Held) -> Place | None:
    """Let go the kink whose force is farthest outside of [0, c_s], to the side it wants."""
    if not held.kinks:
        return None
    c = _weights_of(point, held.kinks)
    outside = np.maximum(-forces, forces - c)
    worst = int(np.argmax(outside))
    scale = float(np.max(np.abs(forces))) + float(np.max(np.abs(c)))
    if not outside[worst] > 1e-9 * scale:
        return None
    place = held.kinks.pop(worst)
    if forces[worst] > c[worst]:
        held.active.add(place)
    return place


def _weights_of(point: PatchPoint, kinks: list[Place]) -> Array:
    """c_s = r_n a_ji, what the active side of a kink adds to the slope."""
    return np.array([point.miss[n] * point.weights[1][j, i] for n, i, j in kinks])


def ending(problem: Scaled, point: PatchPoint, held: Held) -> End[PatchPoint]:
    """A local minimum as far as floats can tell, or a stalled run; the note says what was seen."""
    H = held.products(point.H)
    J = patch_jacobian(problem.Z, H, point.weights[1], trains_head=problem.trains_head)
    C, words = _constraints(problem, held.kinks, J.shape[1]), point.in_words()
    forces = np.linalg.lstsq(C.T, -(J.T @ point.miss), rcond=None)[0]
    slope = J.T @ point.miss + C.T @ forces
    lengths = np.linalg.norm(J, axis=0) * np.linalg.norm(point.miss)
    cosines = np.divide(np.abs(slope), lengths, out=np.zeros(len(slope)), where=lengths > 0)
    steepest = float(cosines.max(initial=0.0))
    if not steepest <= FLAT:
        note = f"no further decrease was found, but the slope is not zero ({steepest:.2g}; {words})"
        return End(Status.STALLED, point, note)
    c = _weights_of(point, held.kinks)
    room = 1e-6 * (np.abs(c).max(initial=0.0) + np.finfo(float).tiny)
    if ((forces < -room) | (forces > c + room)).any() or _is_creased(problem, point, held):
        return End(Status.STALLED, point, f"stopped at a kink that is no minimum ({words})")
    least = least_curvature(problem, point, J, C)
    if least < -1e-8:
        note = f"a saddle: curvature {least:.2g} of the largest ({words})"
        return End(Status.STALLED, point, note)
    note = f"a local minimum as far as floats can tell, on {len(c)} kinks, not zero loss ({words})"
    return End(Status.SECOND_ORDER, point, note)


def _is_creased(problem: Scaled, point: PatchPoint, held: Held) -> bool:
    """Whether the point is on a kink that is not held."""
    lengths = np.linalg.norm(problem.Z, axis=2)[:, :, None]
    lengths = lengths * np.linalg.norm(point.weights[0], axis=1)
    heavy: NDArray[np.bool_] = (lengths > 0.0) & (point.weights[1].T != 0.0)
    on = heavy & (np.abs(point.H) < CREASE * lengths)
    for place in held.kinks:
        on[place] = False
    return bool(on.any())


def least_curvature(problem: Scaled, point: PatchPoint, J: Array, C: Array) -> float:
    """Least eigenvalue of the Hessian over the largest, along the kinks with the rows C; with fixed
    output weights it is a sum of squares, so 0.
    """
    if not problem.trains_head or J.shape[1] > LARGEST:
        return 0.0
    (W, A), n = point.weights, len(point.miss)
    hessian = J.T @ J
    cross = np.einsum("nkm,nkp,n->mkp", point.H > 0.0, problem.Z, point.miss, optimize=True)
    for j, block in enumerate(cross):
        rows = slice(W.size + j * A.shape[1], W.size + (j + 1) * A.shape[1])
        columns = slice(j * W.shape[1], (j + 1) * W.shape[1])
        hessian[rows, columns] += block
        hessian[columns, rows] += block.T
    if len(C):
        _, sizes, directions = np.linalg.svd(C)
        along = directions[int((sizes > 1e-12 * sizes[0]).sum()) :].T
        hessian = along.T @ hessian @ along
    values = np.linalg.eigvalsh(hessian / n)
    return float(values[0] / max(values[-1], np.finfo(float).tiny)) if len(values) else 0.0
