r"""Floors under the objective of fully connected networks: dual vectors from several sources, made
feasible in floats, each with the constraint that proves $H(u) \le b$, and the best of them.

| source | constraint | where |
|---|---|---|
| the derivative of the loss at the outputs of a network | spectral (R4) | any number of columns |
| the relaxation of R4, solved for u | spectral (R4) | while its matrices are small |
| the derivative of the loss | cones (R3) | up to 6 dimensions with the bias |
| the derivative of the loss | slabs (R4-free) | free hidden biases, any number of columns |

Everything here is in floats, with room left for the exact repair and for the checker's strict
inequalities.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from globalmin._types import Array
from globalmin.regularized.cone_search import LARGEST_DIMENSION, search_cones
from globalmin.regularized.design import Design
from globalmin.regularized.directions import estimate_height
from globalmin.regularized.full_training import least_width, without_neurons
from globalmin.regularized.network import RegularizedNetwork
from globalmin.regularized.relaxation import RelaxedProblem, solve_relaxation
from globalmin.regularized.slabs import SlabProof, slab_proof
from globalmin.regularized.spectral import SpectralWitness, spectral_witness

Constraint = Literal["spectral", "cones", "slabs"]
SHRINK = 1e-7  # of u, so that the matrices of R4 are positive definite with this much room
MAX_CONES = 100_000  # the checker needs 20 microseconds for each, in integers up to 500
# room above H, cones; coarse at first, where a search that does not end is found out cheaply
_LADDER = (3.0, 1.0, 0.3, 0.03, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 1e-6)
_LOW = 1e-3  # a height, as a share of b; with every room of the ladder u need not be scaled
_BETWEEN = 2  # rooms tried between the last one that closed and the first one that did not
_MORE_CONES = 1.1  # the checker's integers may need a few more cones than these floats
_HIGHER = 20  # times that a search may correct the estimate of H
# unknowns of the relaxation up to which a Newton step takes less than a tenth of a second
_LARGEST_RELAXATION = 700
_LARGEST_ROWS = 20_000
_SHARES = (1.0, 0.99, 0.9, 0.5, 0.0)


@dataclass(frozen=True, eq=False)
class FullBound:
    """A feasible dual vector, the floor D(u) it stands for, and how H(u) <= b is proved.

    Attributes
    ----------
    u : one number per row.
    floor : D(u), in floats.
    constraint : "spectral", "cones" or "slabs".
    witnesses : of u and of -u, for "spectral".
    slabs : for "slabs".
    source : where u comes from, in words.
    """

    u: Array
    floor: float
    constraint: Constraint
    witnesses: tuple[SpectralWitness, SpectralWitness] | None = None
    source: str = "the network"
    slabs: SlabProof | None = None


def best_floor(
    design: Design,
    networks: list[RegularizedNetwork],
    objective: float,
    *,
    gap: float = 1e-6,
    max_cones: int = MAX_CONES,
    max_seconds: float = 30.0,
    seed: int = 0,
) -> FullBound | None:
    """The highest floor found; None where no constraint applies.

    Parameters
    ----------
    design : the problem.
    networks : trained ones; each gives a dual vector.
    objective : the least objective known. The search ends at a floor within `gap` of it, as a
        share of what it is above D(0), which no model undercuts.
    max_cones : of the search for one dual vector, both signs together; 0: no search.
    max_seconds : no relaxation and, once one has ended, no search over cones is begun later.
    seed : of the sampled estimate of H that the search over cones begins at.
    """
    deadline = time.perf_counter() + max_seconds
    best: FullBound | None = None
    smooth = design.smoothed(least_width(design.problem))
    vectors = [
        feasible(design, smooth.loss_terms(n.predict(design.problem.X))[1]) for n in networks
    ]
    duals = [u for u in vectors if u is not None]

    allowed = gap * (objective - floor_of(design, np.zeros_like(design.problem.y)))

    def is_enough() -> bool:
        return best is not None and objective - best.floor <= allowed

    if not design.is_free:
        for u in duals:
            best = _higher(best, floor_by_matrix(design, u))
        if not is_enough() and can_relax(design) and time.perf_counter() < deadline:
            best = _higher(best, floor_by_relaxation(design, tol=max(0.1 * gap, 1e-7)))
    elif len(design.problem.y) <= _LARGEST_ROWS:
        for u in duals:
            best = _higher(best, floor_by_slabs(design, u))
    if max_cones and design.Z.shape[1] <= LARGEST_DIMENSION and not is_enough():
        known = [design.parameters(n)[0] for n in networks]
        for u, W in zip(duals, known, strict=False):
            found = floor_by_cones(
                design,
                u,
                W,
                target=objective - 0.5 * allowed,
                max_cones=max_cones,
                deadline=deadline,
                seed=seed,
            )
            best = _higher(best, found)
    return best


def _higher(one: FullBound | None, other: FullBound | None) -> FullBound | None:
    if one is None or other is None:
        return one or other
    return one if one.floor >= other.floor else other


def floor_of(design: Design, u: Array) -> float:
    """D(u) of theorem R1, in floats, for a feasible u."""
    used = design.problem.weights > 0
    weight, y = design.problem.weights[used], design.problem.y[used]
    value = -float(weight @ design.problem.loss.conjugate(u[used] / weight, y))
    is_penalized = design.ridge > 0
    sums = design.F[:, is_penalized].T @ u
    return value - 0.5 * float(sums @ (sums / design.ridge[is_penalized]))


def feasible(design: Design, u: Array) -> Array | None:
    """The vector moved into the domain and onto the equations of free parts, every entry in
    proportion to its room; None if that fails.
    """
    low, high = _domain(design)
    u = np.clip(u, low, high)
    A = free_columns(design)
    if not A.shape[1]:
        return u
    found = _moved(A, u, low, high)
    if found is None:
        found = _nearest(A, u, low, high)
    # entries at the ends of their domains have no room before the vector shrinks
    return found if found is not None else _moved(A, 0.99 * u, low, high)


def _moved(A: Array, u: Array, low: Array, high: Array) -> Array | None:
    """Weighted projections onto A^T u = 0, each clipped to the domain."""
    for _ in range(20):
        room = _room(u, low, high)
        sums = A.T @ u
        scale = float(np.abs(u).max(initial=0.0))
        if not np.abs(sums).max() > 1e-12 * scale * float(np.abs(A).sum(axis=0).max()):
            return u
        gram = (A * room[:, None]).T @ A
        step = np.linalg.lstsq(gram, sums, rcond=None)[0]
        u = np.clip(u - room * (A @ step), low, high)
    return None


def _nearest(A: Array, u: Array, low: Array, high: Array) -> Array | None:
    """The nearest vector of the domain with A^T u = 0: u - A lambda, clipped, by Newton's method
    for lambda; None if it does not get there.
    """
    multiplier, scale = np.zeros(A.shape[1]), max(float(np.abs(u).max(initial=0.0)), 1e-300)
    limit = 1e-12 * scale * float(np.abs(A).sum(axis=0).max())

    def potential(point: Array) -> float:
        z = u - A @ point
        c = np.clip(z, low, high)
        return float(z @ c - 0.5 * c @ c)

    for _ in range(100):
        z = u - A @ multiplier
        sums = A.T @ np.clip(z, low, high)
        if np.abs(sums).max() <= limit:
            return np.clip(z, low, high)
        free = A[(z > low) & (z < high)]
        gram = free.T @ free + 1e-9 * np.eye(A.shape[1]) * float((A * A).sum())
        step, value = np.linalg.solve(gram, sums), potential(multiplier)
        length = 1.0
        while potential(multiplier + length * step) > value - 1e-4 * length * float(sums @ step):
            length *= 0.5
            if length < 1e-14:
                is_near = np.abs(sums).max() <= 1e3 * limit  # no more than rounding is left
                return np.clip(z, low, high) if is_near else None
        multiplier = multiplier + length * step
    return None


def _domain(design: Design) -> tuple[Array, Array]:
    low, high = design.problem.loss.domain(design.problem.y)
    weight = design.problem.weights
    with np.errstate(invalid="ignore"):  # 0 times infinity: the row is absent
        low, high = weight * low, weight * high
    return np.where(weight > 0, low, 0.0), np.where(weight > 0, high, 0.0)


def room_in_domain(design: Design, u: Array) -> Array:
    """Distance of every entry to the ends of its domain, at most the size of u."""
    return _room(u, *_domain(design))


def _room(u: Array, low: Array, high: Array) -> Array:
    largest = max(float(np.abs(u).max(initial=0.0)), 1e-300)
    return np.minimum(np.minimum(u - low, high - u), largest)


def free_columns(design: Design) -> Array:
    """Columns of the equations A^T u = 0, free hidden biases included."""
    A = design.F[:, design.ridge == 0.0]
    if design.is_free and design.problem.penalty.intercept != "free":
        A = np.column_stack([np.ones(len(A)), A])
    return A


def floor_by_matrix(design: Design, u: Array) -> FullBound:
    """The floor of a multiple of u that R4 proves feasible."""
    pair = (spectral_witness(design.Z, u), spectral_witness(design.Z, -u))
    return _scaled(design, u, pair, "the network")


def floor_by_slabs(design: Design, u: Array) -> FullBound:
    """The floor of a multiple of u that R4-free proves feasible, for free hidden biases."""
    proof = slab_proof(design.problem.X, u)
    top = min(1.0, design.b / proof.bound) * (1.0 - SHRINK) if proof.bound > 0 else 1.0
    best = FullBound(0.0 * u, -np.inf, "slabs")
    for share in _SHARES:
        value = floor_of(design, top * share * u)
        if value > best.floor:
            slabs = proof.scaled(top * share)
            best = replace(best, u=top * share * u, floor=value, slabs=slabs)
    return best


def can_relax(design: Design) -> bool:
    """Whether the relaxation is defined here and small enough."""
    p = design.Z.shape[1]
    has_zero_row = not np.abs(design.Z).max(axis=1).min() > 0
    is_smooth = design.loss.smoothed(1.0) is design.loss
    is_small = p * (p + 3) <= _LARGEST_RELAXATION and len(design.Z) <= _LARGEST_ROWS
    return is_smooth and is_small and p >= 2 and not design.is_free and not has_zero_row


def floor_by_relaxation(design: Design, *, tol: float = 1e-7) -> FullBound | None:
    """The floor of the dual vector that R4 proves most with."""
    problem = RelaxedProblem(
        design.Z, design.F, design.ridge, design.b, design.loss_terms, without_neurons(design).c
    )
    found = solve_relaxation(problem, tol=tol)
    u = feasible(design, found.u)
    if u is None:
        return None
    pair = found.witnesses
    # the slopes belong to the signs of the relaxed vector; moving u may have changed some
    if not np.array_equal(np.sign(u), np.sign(found.u)):
        pair = (spectral_witness(design.Z, u), spectral_witness(design.Z, -u))
    else:
        pair = (pair[0].for_vector(design.Z, u), pair[1].for_vector(design.Z, -u))
    return _scaled(design, u, pair, "the relaxation")


def _scaled(
    design: Design, u: Array, pair: tuple[SpectralWitness, SpectralWitness], source: str
) -> FullBound:
    """The best floor along the ray of u; the witnesses scale with it."""
    height = max(witness.bound for witness in pair)
    top = min(1.0, design.b / height) * (1.0 - SHRINK) if height > 0 else 1.0
    best = FullBound(0.0 * u, -np.inf, "spectral", None, source)
    for share in _SHARES:
        scale = top * share
        value = floor_of(design, scale * u)
        if value > best.floor:
            witnesses = (pair[0].scaled(scale), pair[1].scaled(scale))
            best = replace(best, u=scale * u, floor=value, witnesses=witnesses)
    return best


def floor_by_cones(
    design: Design,
    u: Array,
    known: Array,
    *,
    target: float = np.inf,
    max_cones: int = MAX_CONES,
    deadline: float = np.inf,
    seed: int = 0,
) -> FullBound | None:
    """The floor of a multiple of u whose cones close within the limit; None if there is none. No
    search begins after the deadline but the first that closes.

    The room above H shrinks until the floor reaches `target` or the search grows too long. With
    free hidden biases the rows are differences to every row in turn.
    """
    # far below b nothing is gained by knowing how far
    height = max(estimate_height(design, u, np.random.default_rng(seed), known), _LOW * design.b)
    best, closed, failed, limit = None, np.inf, 0.0, int(max_cones / _MORE_CONES)
    rooms = list(_LADDER)
    while rooms and (best is None or best.floor < target):
        if best is not None and time.perf_counter() > deadline:
            break
        room = rooms.pop(0)
        reached = _closed_height(design, u, height, room, limit)
        if reached is None:
            # between the two, as often as there is a room that closed
            rooms = [] if failed or not np.isfinite(closed) else [0.0] * _BETWEEN
            failed = room
        else:
            height, closed = reached, room
            scale = min(1.0, design.b / (height * (1.0 + room)))
            best = _higher(best, FullBound(scale * u, floor_of(design, scale * u), "cones"))
        rooms = [np.sqrt(closed * failed), *rooms[1:]] if failed and rooms else rooms
    return best


def _closed_height(
    design: Design, u: Array, height: float, room: float, max_cones: int
) -> float | None:
    """The height, corrected where the search met a larger sum, for which the cones close with this
    room; None if they do not within the limit.
    """
    for _ in range(_HIGHER):
        met = _largest_met(design, u, height * (1.0 + room), max_cones)
        if met is None or met == 0.0:
            return None if met is None else height
        height = max(met, height * (1.0 + 1e-3 * room))
    return None


def _largest_met(design: Design, u: Array, b: float, max_cones: int) -> float | None:
    """Zero if the checker will close every cone at this b; the largest sum that is met near a
    direction where it exceeds b, per |w|; None at the limit.
    """
    used = 0
    for rows in _searched_rows(design):
        found = search_cones(rows, u, b, max_cones=max_cones - used)
        used += found.n_cones
        if len(found.above):
            return max(_ascended(rows, sign * u, found.above[0]) for sign in (1.0, -1.0))
        if not found.is_closed:
            return None
    return 0.0


def _ascended(rows: Array, u: Array, w: Array) -> float:
    """The largest sum along steps to the gradient, from a unit vector."""
    best = float(u @ np.maximum(rows @ w, 0.0))
    for _ in range(30):
        gradient = rows.T @ (u * (rows @ w > 0.0))
        w = 0.5 * w + 0.5 * gradient / max(float(np.linalg.norm(gradient)), 1e-300)
        w = w / max(float(np.linalg.norm(w)), 1e-300)
        best = max(best, float(u @ np.maximum(rows @ w, 0.0)))
    return best


def _searched_rows(design: Design) -> list[Array]:
    if not design.is_free:
        return [design.Z]
    X = design.problem.X
    return [X - row for row in np.unique(X, axis=0)]
