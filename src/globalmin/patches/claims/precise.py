"""Outputs of a patch network far beyond double precision, and the exact question whether labels are
those of some filters of a cell.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.linalg.positive_definite import SMALLEST_RADIUS, ball_matrix, working_precision
from globalmin.patches.network import PatchNetwork
from globalmin.shallow.claims.high_precision import PreciseResidual


def precise_patch_residual(network: PatchNetwork, patches: Array, y: Array) -> PreciseResidual:
    """The residual f - y of the stored doubles. Cost: n k m p products at 192 bits."""
    from flint import arb

    with working_precision():
        zero, filters = arb(0), ball_matrix(network.filters).transpose()
        heads = [arb(a) for a in network.head.T.ravel().tolist()]
        found = []
        for sample, label in zip(patches, y.tolist(), strict=True):
            products = (ball_matrix(sample) * filters).entries()  # place by place, as the heads
            terms = (z.max(zero) * a for z, a in zip(products, heads, strict=True))
            found.append(sum(terms, -arb(label)))
        # a radius whose square underflows would count as none
        radius = [0.0 if r.is_exact() else max(float(r.rad()), SMALLEST_RADIUS) for r in found]
        return PreciseResidual(np.array([float(r) for r in found]), np.array(radius))


def labels_are_exact(
    network: PatchNetwork, patches: Array, y: Array, moving: NDArray[np.int64], rank: int
) -> bool:
    """Whether the slopes of the filters `moving`, and the labels without what the others give, have
    at most this rank together, in exact integers.
    """
    from flint import fmpz_mat

    Z, sample_unit = _integers(patches)
    heads, head_unit = _integers(network.head)
    filters, filter_unit = _integers(network.filters)
    labels, label_unit = _integers(y)
    on = (patches @ network.filters.T > 0.0).transpose(0, 2, 1)
    slopes = np.matmul(np.where(on, heads, 0), Z)  # n x m x p
    fixed = np.setdiff1d(np.arange(network.n_filters), moving)
    given = (slopes[:, fixed] * filters[fixed]).sum(axis=(1, 2)) * label_unit
    rest = labels * (head_unit * filter_unit * sample_unit) - given
    system = np.column_stack([slopes[:, moving].reshape(len(y), -1), rest])
    return fmpz_mat(system.tolist()).rank() <= rank


def _integers(values: Array) -> tuple[NDArray[np.object_], int]:
    """The values times the least power of two that makes them integers, and that power."""
    ratios: Sequence[tuple[int, int]] = [x.as_integer_ratio() for x in values.ravel().tolist()]
    unit = max(q for _, q in ratios)
    whole = np.empty(len(ratios), dtype=object)
    whole[:] = [p * (unit // q) for p, q in ratios]
    return whole.reshape(values.shape), unit
