"""The claim `dual-gap` for neurons that see all columns: the witness of R4 or R4-free, or a vector
whose cones close (R3), and the rows on which the equations of a free linear part are repaired (F1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.errors import CannotCertify
from globalmin.linalg.positive_definite import inverse_factor
from globalmin.proving.claim import Json, Tensor, rational
from globalmin.regularized.claims.slab_gap import slab_witness
from globalmin.regularized.design import Design
from globalmin.regularized.full_dual import FullBound, free_columns, room_in_domain
from globalmin.regularized.repair import exact_dual
from globalmin.regularized.spectral import SpectralWitness, quadratic_above

# of P1, which needs a residual below 1; the rest is for what floats do not see
_RESIDUAL = 0.1


@dataclass(frozen=True, eq=False)
class FullWitness:
    """What a file needs besides the network: the exact dual vector, fields and tensors."""

    u: Array
    fields: dict[str, Json]
    tensors: dict[str, Tensor]


def full_witness(design: Design, bound: FullBound) -> FullWitness:
    """The witness of a bound, or CannotCertify with the reason."""
    tensors: dict[str, Tensor] = {}
    fields: dict[str, Json] = {"constraint": bound.constraint}
    if design.problem.penalty.linear == "free":
        u = bound.u
        rows = repaired_rows(design, u)
        tensors["repair"], fields["repair"] = rows, len(rows)
    else:
        u = exact_dual(design.problem, bound.u)
    if bound.constraint == "spectral":
        if bound.witnesses is None:
            raise CannotCertify("the bound has no witness")
        found = _spectral(design, u, bound.witnesses)
        fields |= found.fields
        tensors |= found.tensors
    if bound.constraint == "slabs":
        if bound.slabs is None:
            raise CannotCertify("the bound has no slabs")
        found = slab_witness(design.problem.X, design.b, u, bound.slabs)
        fields |= found.fields
        tensors |= found.tensors
    return FullWitness(u, fields, tensors)


def repaired_rows(design: Design, u: Array) -> NDArray[np.int64]:
    """Rows on which the equations A^T u = 0 can be repaired: independent, and far from the ends of
    their domains.
    """
    from scipy.linalg import qr

    A = free_columns(design)
    room = room_in_domain(design, u)
    weighted = A * (room / max(float(room.max()), 1e-300))[:, None]
    triangle, order = qr(weighted.T, mode="r", pivoting=True)  # pyright: ignore
    diagonal = np.abs(np.diag(np.asarray(triangle)[:, : A.shape[1]]))
    rank = int((diagonal > 1e-10 * diagonal.max(initial=0.0)).sum())
    if not rank:
        raise CannotCertify("no row has room for the repair of the equations of the linear part")
    return np.sort(np.asarray(order[:rank], dtype=np.int64))


def _spectral(
    design: Design, u: Array, pair: tuple[SpectralWitness, SpectralWitness]
) -> FullWitness:
    """Slopes, gamma and factor of both signs for the exact vector."""
    plus, minus = pair[0].for_vector(design.Z, u), pair[1].for_vector(design.Z, -u)
    is_up = u > 0  # such a row has slopes rho, sig in the sum of u, and al, be in that of -u
    tensors: dict[str, Tensor] = {
        "rho": np.where(is_up, plus.rho, minus.rho),
        "sig": np.where(is_up, plus.sig, minus.sig),
        "al": np.where(is_up, minus.al, plus.al),
        "be": np.where(is_up, minus.be, plus.be),
    }
    fields: dict[str, Json] = {}
    for name, sign, witness in (("plus", 1.0, plus), ("minus", -1.0, minus)):
        matrix = _matrix(design, sign * u, witness)
        C = inverse_factor(matrix)
        if C is None or not _residual(C, matrix) < _RESIDUAL:
            raise CannotCertify(
                f"H(u) <= {witness.bound:.6g} against b = {design.b:.6g}: the matrix of R4 is not "
                "positive definite in double precision; scale the columns alike"
            )
        tensors[f"C_{name}"], fields[f"gamma_{name}"] = C, rational(witness.gamma)
    return FullWitness(u, fields, tensors)


def _matrix(design: Design, u: Array, witness: SpectralWitness) -> Array:
    Q, c, k = quadratic_above(design.Z, u, (witness.rho, witness.sig, witness.al, witness.be))
    p = len(c)
    matrix = np.empty((p + 1, p + 1))
    matrix[:p, :p] = witness.gamma * np.eye(p) - Q
    matrix[:p, p] = matrix[p, :p] = -0.5 * c
    matrix[p, p] = design.b - k - witness.gamma
    return matrix


def _residual(C: Array, matrix: Array) -> float:
    product: Any = C @ matrix @ C.T
    return float(np.linalg.norm(product - np.eye(len(matrix))))
