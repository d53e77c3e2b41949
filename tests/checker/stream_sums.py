"""A case as the checker holds it, and how far sums are apart."""

from __future__ import annotations

from array import array
from fractions import Fraction

import numpy as np
from tests.checker import stream_cases as cases

from globalmin_check.claims.stream_network import Stream, StreamSizes
from globalmin_check.container import Tensor


def tensor(values: np.ndarray) -> Tensor:
    flat = array("d", values.ravel().tolist())
    return Tensor("F64", values.shape, flat, memoryview(flat.tobytes()))


def stream_of(case: cases.Case) -> Stream:
    k, d = case.W.shape
    width = case.rows.shape[1]
    shift, scale, W, v = map(tensor, (case.shift, case.scale, case.W, case.v))
    sizes = StreamSizes(len(case.rows), d, k, shards=1)
    names = tuple(f"x{j}" for j in range(width))
    return Stream("quadratic", Fraction(1), case.bias, sizes, shift, scale, W, v, "", names)


def frobenius(d: int, differences: list[Fraction]) -> float:
    pairs = zip(*np.triu_indices(d), strict=True)
    found = sum(
        ((1 + int(i < j)) * e * e for (i, j), e in zip(pairs, differences, strict=True)), Fraction()
    )
    return float(found) ** 0.5
