"""The witness of R4-free: slabs of the hidden bias, each with slopes, multipliers and factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.errors import CannotCertify
from globalmin.linalg.positive_definite import inverse_factor
from globalmin.proving.claim import Json, Tensor, rational
from globalmin.regularized.slabs import Slab, SlabProof

_RESIDUAL = 0.1  # of P1, which needs one below 1
_SIGNS = (("plus", 1.0), ("minus", -1.0))


@dataclass(frozen=True, eq=False)
class SlabWitness:
    """Fields and tensors of the constraint "slabs"."""

    fields: dict[str, Json]
    tensors: dict[str, Tensor]


def slab_witness(X: Array, b: float, u: Array, proof: SlabProof) -> SlabWitness:
    """The witness for the exact vector u, or CannotCertify."""
    slabs = proof.slabs
    tensors: dict[str, Tensor] = {"center": proof.center}
    for name in ("rho", "sig", "al", "be"):
        tensors[name] = np.stack([getattr(slab, name) for slab in slabs])
    edges = [slabs[0].low, *(slab.high for slab in slabs)]
    fields: dict[str, Json] = {"slabs": [rational(edge) for edge in edges]}
    for place, (name, sign) in enumerate(_SIGNS):
        fields[f"gamma_{name}"] = [rational(slab.gamma[place]) for slab in slabs]
        fields[f"delta_{name}"] = [rational(slab.delta[place]) for slab in slabs]
        for j, slab in enumerate(slabs):
            matrix = slab_matrix(X - proof.center, b, sign * u, slab, place)
            C = inverse_factor(matrix)
            if C is None or not _residual(C, matrix) < _RESIDUAL:
                raise CannotCertify(
                    f"H(u) <= {proof.bound:.6g} against b = {b:.6g}: the matrix of slab {j} is "
                    "not positive definite in double precision; scale the columns alike"
                )
            tensors[f"C_{name}_{j}"] = C
    return SlabWitness(fields, tensors)


def slab_matrix(Y: Array, b: float, u: Array, slab: Slab, place: int) -> Array:
    """The matrix of R4-free for one sign, which u has in it."""
    up, is_sure = u > 0, slab.rho == 0.0
    norms = np.sqrt(np.square(Y).sum(axis=1))
    is_on = norms <= slab.low
    slope = np.where(up, np.where(is_sure, np.where(is_on, u, 0.0), 0.5 * u), u * slab.al)
    curve = np.where(up, 0.5 * u * slab.rho, u * slab.be)
    k = 0.5 * float((u * slab.sig)[up].sum())
    Z = np.column_stack([Y, np.ones(len(Y))])
    size = Z.shape[1]
    gamma, delta = slab.gamma[place], slab.delta[place]
    matrix = np.empty((size + 1, size + 1))
    matrix[:size, :size] = -(Z * curve[:, None]).T @ Z
    matrix[range(size - 1), range(size - 1)] += gamma
    matrix[size - 1, size - 1] += delta
    c = Z.T @ slope
    c[-1] += delta * (slab.low + slab.high)
    matrix[size, :size] = matrix[:size, size] = -0.5 * c
    matrix[size, size] = b - k - gamma + delta * slab.low * slab.high
    return matrix


def _residual(C: Array, matrix: Array) -> float:
    product: Any = C @ matrix @ C.T
    return float(np.linalg.norm(product - np.eye(len(matrix))))
