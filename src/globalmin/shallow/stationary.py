r"""Stationary points: one near given weights (damped Newton steps on the gradient), the verdict on
a point as a value, and directions of negative curvature where it is not global, in closed form for
quadratic networks, by the Hessian otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from globalmin._options import Trained
from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.linalg.spectrum import least_eigenvalue
from globalmin.linalg.symmetric import moment_matrix
from globalmin.references import states
from globalmin.shallow.complete_square import complete_square
from globalmin.shallow.hessian import check_landscape_inputs, curvature_along, gradient, hessian
from globalmin.shallow.network import ShallowNetwork, residual


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
    network: ShallowNetwork, X: Array, y: Array, *, trained: Trained = "W", H: Array | None = None
) -> Escape | None:
    """The eigenvector of the least eigenvalue of the dense Hessian, if that is negative."""
    H = hessian(network, X, y, trained=trained) if H is None else H
    value, vector = least_eigenvalue(H)
    if not value < 0:
        return None
    head = network.width if trained == "vW" else 0
    U, u = vector[head:].reshape(network.W.shape), vector[:head] if head else None
    return Escape(U, u, curvature_along(network, X, y, U, u), "eigenvector")


class PointKind(StrEnum):
    """The verdicts of `classify_point`.

    A strict saddle has a curvature below what rounding and the remaining gradient can make of zero;
    second-order stationary is a point without curvature below rounding; "not decided" is what lies
    between, and the reason says what would decide it.
    """

    GLOBAL_MINIMUM = "global minimum"
    STRICT_SADDLE = "strict saddle"
    SPURIOUS_MINIMUM = "spurious minimum"
    SECOND_ORDER = "second-order stationary"
    NOT_STATIONARY = "not stationary"
    NOT_DECIDED = "not decided"


@dataclass(frozen=True)
class PointClass:
    """The verdict with its numbers, all in floats.

    Attributes
    ----------
    kind : PointKind
        The verdict.
    reason : str
        In words, with the theorem where one was used.
    loss, gradient_norm : float
        At the point; `relative_gradient` is the norm divided by ||J||_F ||r||.
    gap : float | None
        Bound of loss minus the least loss of the class, None where no theorem gives one.
    negative_eigenvalues : int | None
        Number of eigenvalues of the Hessian below minus rounding, by inertia; None if the Hessian
        was not formed.
    least_eigenvalue : float | None
        Of the Hessian; None if it was not formed.
    escape : Escape | None
        A direction of negative curvature, if one was found.
    loss_at_most : float | None
        What a theorem promises of the loss from gradient norm and least eigenvalue alone
        (SJL-T2.1q, SJL-T2.2a); None where none speaks.
    promise : str
        That theorem with its numbers, in words.
    """

    kind: PointKind
    reason: str
    loss: float
    gradient_norm: float
    relative_gradient: float
    gap: float | None
    negative_eigenvalues: int | None
    least_eigenvalue: float | None
    escape: Escape | None
    loss_at_most: float | None = None
    promise: str = ""


MOST_PARAMETERS = 1_500  # the Hessian is formed and factored in every step


def nearest_stationary(
    network: ShallowNetwork,
    X: Array,
    y: Array,
    *,
    trained: Trained = "W",
    tol: float = 1e-12,
    max_iter: int = 200,
) -> ShallowNetwork:
    r"""Weights near the given ones with $\|\nabla L\|$ at most `tol` times its value there, or the
    least found.

    Levenberg-Marquardt on $\frac12\|\nabla L\|^2$: steps $-(H^2 + \mu I)^{-1}Hg$, which do not care
    whether the point is a saddle. It may end where $Hg = 0$ and $g \ne 0$; look at the gradient of
    the result.

    Parameters
    ----------
    network : ShallowNetwork
        The start and the data.
    X, y : Array
        The start and the data.
    trained : str
        "W" or "vW", the weights that move.
    tol : float
        Part of the gradient that may be left.
    max_iter : int
        Steps, each with the eigenvalues of a Hessian.
    """
    check_landscape_inputs(network, X, y, trained)
    size = network.W.size + (network.width if trained == "vW" else 0)
    if size > MOST_PARAMETERS:
        raise DataError(
            f"{size} weights are too many for the Hessian of every step; at most {MOST_PARAMETERS}"
        )
    g = _flat_gradient(network, X, y, trained)
    goal, mu = tol * float(np.linalg.norm(g)), 1e-3
    for _ in range(max_iter):
        norm = float(np.linalg.norm(g))
        if not norm > goal:
            break
        eigenvalues, vectors = np.linalg.eigh(hessian(network, X, y, trained=trained))
        scale = float(np.max(eigenvalues**2))
        moved, g_moved = network, g
        while mu < 1e6:
            step = vectors @ (eigenvalues * (vectors.T @ g) / (eigenvalues**2 + mu * scale))
            moved = _stepped(network, step, trained)
            g_moved = _flat_gradient(moved, X, y, trained)
            if float(np.linalg.norm(g_moved)) < norm:
                break
            mu *= 8.0
        else:
            break
        network, g, mu = moved, g_moved, max(mu / 8.0, 1e-30)
    return network


def _flat_gradient(network: ShallowNetwork, X: Array, y: Array, trained: Trained) -> Array:
    """Gradient in the order of the Hessian: v first, then W row by row."""
    in_W, in_v = gradient(network, X, y, trained=trained)
    return in_W.ravel() if in_v is None else np.concatenate([in_v, in_W.ravel()])


def _stepped(network: ShallowNetwork, step: Array, trained: Trained) -> ShallowNetwork:
    head = network.width if trained == "vW" else 0
    W = network.W - step[head:].reshape(network.W.shape)
    return network.with_weights(W, network.v - step[:head] if head else None)
