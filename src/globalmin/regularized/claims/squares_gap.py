"""The claim `dual-gap` for networks of squares: a dual vector with aI + Z(u) > 0 and aI - Z(u) > 0,
and the factors that prove both (R5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.errors import CannotCertify
from globalmin.linalg.positive_definite import inverse_factor
from globalmin.proving.claim import Tensor
from globalmin.regularized.objective import RegularizedProblem
from globalmin.regularized.repair import exact_dual
from globalmin.regularized.squares import rows_with_bias, squares_penalty
from globalmin.regularized.squares_spectrum import dual_matrix
from globalmin.regularized.squares_training import height

# of a: room between the eigenvalues of Z and a, tried in this order
_ROOMS = (2.0**-32, 2.0**-27, 2.0**-22, 2.0**-16)
# of P1, which needs a residual below 1; the rest is for what floats do not see
_RESIDUAL = 0.1


@dataclass(frozen=True, eq=False)
class SquaresWitness:
    """What a file needs besides the network: the exact dual vector and the factors of P1."""

    u: Array
    tensors: dict[str, Tensor]


def squares_witness(problem: RegularizedProblem, u: Array) -> SquaresWitness:
    """The witness of a centered vector in its domain, scaled as far as needed; or CannotCertify
    with the reason.
    """
    penalty, Z = squares_penalty(problem), rows_with_bias(problem)
    a, top = penalty.threshold, height(Z, u, penalty)
    for room in _ROOMS:
        share = min(1.0, a / top * (1.0 - room)) if top > 0 else 1.0
        exact = exact_dual(problem, share * u)
        found = _factors(Z, exact, a, is_two_sided=penalty.heads == "any")
        if found is not None:
            return SquaresWitness(exact, found)
    raise CannotCertify(
        f"the eigenvalues of Z(u) reach {top:.6g} against a = {a:.6g}: the matrices of R5 are not "
        "positive definite in double precision; raise the weight decay or scale the columns alike"
    )


def _factors(Z: Array, u: Array, a: float, *, is_two_sided: bool) -> dict[str, Tensor] | None:
    """The factors for both signs, None where doubles do not suffice."""
    moment = dual_matrix(Z, u)
    # rounding of Z(u) in floats, in the Frobenius norm, as if every term had its own
    noise = float(np.finfo(np.float64).eps) * float(np.abs(u) @ (Z * Z).sum(axis=1))
    tensors: dict[str, Tensor] = {}
    for name, sign in (("C_lower", 1.0), ("C_upper", -1.0))[: 1 + is_two_sided]:
        matrix = a * np.eye(len(moment)) + sign * moment
        C = inverse_factor(matrix)
        if C is None or not _residual(C, matrix, noise) < _RESIDUAL:
            return None
        tensors[name] = C
    return tensors


def _residual(C: Array, matrix: Array, noise: float) -> float:
    product: Any = C @ matrix @ C.T
    return float(np.linalg.norm(product - np.eye(len(matrix)))) + noise * float(
        np.linalg.norm(C, 2) ** 2
    )
