r"""Directions of negative curvature at stationary points that are not global: in closed form for
quadratic networks, by the Hessian otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.linalg.inertia import least_eigenvalue
from globalmin.linalg.symmetric import moment_matrix
from globalmin.references import states
from globalmin.shallow.complete_square import complete_square
from globalmin.shallow.hessian import curvature_along, hessian
from globalmin.shallow.network import residual

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork


@dataclass(frozen=True)
class Escape:
    """A unit direction (U in W, u in v or None) and the curvature of the loss along it,
    negative.
    """

    U: Array
    u: Array | None
    curvature: float
    method: str


@states("SJL-T2.1", "SJL-T2.2")
def quadratic_escape(network: ShallowNetwork, X: Array, y: Array) -> Escape | None:
    r"""A direction $U = ab^T$ of negative curvature at a stationary point of a quadratic network;
    None if this construction finds none.

    a is a unit vector on the neurons of one sign with $W^TD_va = 0$, b an eigenvector of $Z =
    \sum_ir_ix_ix_i^T$ of the opposite sign; then the curvature is $2(a^TD_va)(b^TZb) < 0$. With at
    least d heads of a sign such an a exists at every stationary point with $Z \ne 0$ (SJL-T2.1,
    case II). For $\alpha z^2 + \beta z + \gamma$ the square is completed: W and v are those of the
    squares on (x, 1), $\alpha v$ in place of v, and a is orthogonal to the head too.
    """
    squares = complete_square(network)
    W, v = squares.W[:-1], squares.v[:-1]
    Z = moment_matrix(X, residual(network, X, y))
    eigenvalues, vectors = np.linalg.eigh(Z)
    found = [
        _along(network, X, y, a, b)
        for sign, value, b in (
            (1.0, eigenvalues[0], vectors[:, 0]),
            (-1.0, -eigenvalues[-1], vectors[:, -1]),
        )
        if value < 0 and (a := _null_vector(W, v, sign)) is not None
    ]
    best = min(found, key=lambda escape: escape.curvature, default=None)
    return best if best is not None and best.curvature < 0 else None


def _null_vector(W: Array, v: Array, sign: float) -> Array | None:
    r"""A unit vector a on the neurons of one sign with $W^TD_va = 0$ (or nearly) and $|a^TD_va|$ as
    large as it can be.
    """
    members = np.flatnonzero(sign * v > 0)
    if not members.size:
        return None
    scaled = v[members, None] * W[members]
    left, singular, _ = np.linalg.svd(scaled)
    largest = float(singular[0])
    count = int((singular > 1e-6 * largest).sum()) if largest > 0 else 0
    null = left[:, min(count, members.size - 1) :]
    weights = null.T @ (np.abs(v[members])[:, None] * null)
    a = np.zeros(v.size)
    a[members] = null @ np.linalg.eigh(weights)[1][:, -1]
    return a / np.linalg.norm(a)


def _along(network: ShallowNetwork, X: Array, y: Array, a: Array, b: Array) -> Escape:
    U = np.outer(a, b)
    U /= np.linalg.norm(U)
    return Escape(U, None, curvature_along(network, X, y, U), "closed form")


def hessian_escape(
    network: ShallowNetwork, X: Array, y: Array, *, trained: str = "W", H: Array | None = None
) -> Escape | None:
    """The eigenvector of the least eigenvalue of the dense Hessian, if that is negative."""
    H = hessian(network, X, y, trained=trained) if H is None else H
    value, vector = least_eigenvalue(H)
    if not value < 0:
        return None
    head = network.width if trained == "vW" else 0
    U, u = vector[head:].reshape(network.W.shape), vector[:head] if head else None
    return Escape(U, u, curvature_along(network, X, y, U, u), "eigenvector")
