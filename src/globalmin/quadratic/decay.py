"""Paths of quadratic networks over the weight decay, each solution started from the one before."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import Signs
from globalmin._types import Array
from globalmin.errors import DataError, HypothesisError
from globalmin.linalg.symmetric import factored_forms, moment_matrix
from globalmin.quadratic.duality import critical_decay
from globalmin.quadratic.solve import TOL, QuadraticSolution, checked_data, solve_quadratic
from globalmin.references import states

if TYPE_CHECKING:
    from collections.abc import Sequence


def decay_path(
    X: object,
    y: object,
    weight_decays: Sequence[float] | None = None,
    *,
    n_decays: int = 20,
    ratio: float = 1e-3,
    signs: Signs = "mixed",
    v_max: float = 1.0,
    width: int | None = None,
    tol: float = TOL,
) -> list[QuadraticSolution]:
    r"""Solutions for a decreasing sequence of weight decays, each started from the one before.

    Parameters
    ----------
    weight_decays : positive numbers, solved in decreasing order; default `n_decays` of them, evenly
        spaced in the logarithm from the critical decay (`critical_decay`, where W = 0 becomes
        optimal) down to `ratio` times it.
    """
    samples, labels = checked_data(X, y)
    if weight_decays is None:
        weight_decays = default_decays(
            samples, labels, n_decays=n_decays, ratio=ratio, signs=signs, v_max=v_max
        )
    path: list[QuadraticSolution] = []
    for w in sorted(weight_decays, reverse=True):
        warm = path[-1].M if path else None
        path.append(
            solve_quadratic(
                samples,
                labels,
                signs=signs,
                width=width,
                weight_decay=w,
                v_max=v_max,
                tol=tol,
                start=warm,
            )
        )
    return path


def default_decays(
    X: Array, y: Array, *, n_decays: int, ratio: float, signs: Signs, v_max: float
) -> list[float]:
    """Weight decays from the critical one down to `ratio` times it, evenly spaced in the
    logarithm.
    """
    if n_decays < 1 or not 0 < ratio < 1:
        raise DataError(
            f"n_decays={n_decays} and ratio={ratio} must satisfy n_decays >= 1 and 0 < ratio < 1"
        )
    largest = critical_decay(X, y, two_sided=signs == "mixed", v_max=v_max)
    if not largest > 0:
        raise DataError(
            "every weight decay gives the zero network for these labels; give weight_decays "
            "explicitly"
        )
    return [largest * ratio ** (i / max(n_decays - 1, 1)) for i in range(n_decays)]


ROUNDING = 64.0  # room in units of the rounding error of Z, so that the checker can prove |Z| < c


@dataclass(frozen=True)
class SmallDecay:
    r"""A weight decay so small that it hardly matters, at which the network is provably a minimum;
    in floats.

    Attributes
    ----------
    weight_decay : w; pass it to `certify(network, data, claims=["optimality-gap"],
        weight_decay=w)`.
    objective : $L + (w/2)\|W\|_F^2$ of the network.
    gap : estimate of its distance to the minimum.
    """

    weight_decay: float
    objective: float
    gap: float

    def estimate_floor(self, norm: float) -> float:
        r"""No network with heads of at most this size and $\|W\|_F \le$ `norm` has a smaller loss
        (true once proved).
        """
        return max(self.objective - self.gap - 0.5 * self.weight_decay * norm**2, 0.0)


@states("SJL-T2.1", "SJL-DUAL")
def smallest_provable_decay(W: Array, v: Array, X: Array, y: Array) -> SmallDecay:
    r"""The least weight decay at which theorem D proves a least-squares network, and what it then
    says.

    Theory
    ------
    SJL-T2.1: at a second-order point with at least d heads of each sign Z(r) = 0, so the residual
    itself is a dual vector of theorem D for every w > 0. The bound holds for every width and every
    head with $|v_l| \le v_{\max}$.
    """
    v_max = float(np.abs(v).max(initial=0.0))
    if not v_max > 0:
        raise HypothesisError(
            "all head weights are zero; give at least one that is not",
            hypothesis="v != 0",
            value=v_max,
        )
    r = factored_forms(X, W, v) - y
    Z = moment_matrix(X, r)
    squares = np.einsum("ij,ij->i", X, X)
    outputs = np.square(np.abs(X) @ np.abs(W).T) @ np.abs(v) + np.abs(y)
    noise = float(np.finfo(np.float64).eps) * float((np.abs(r) + sum(W.shape) * outputs) @ squares)
    c = float(np.linalg.norm(Z, 2)) + ROUNDING * noise
    w = max(2.0 * v_max * c, math.sqrt(np.finfo(np.float64).tiny))
    penalty = 0.5 * w * float(np.sum(W * W))
    loss = 0.5 * float(r @ r)
    return SmallDecay(w, loss + penalty, penalty + abs(float(np.sum(Z * ((W * v[:, None]).T @ W)))))
