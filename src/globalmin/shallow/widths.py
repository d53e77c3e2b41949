"""How wide a network must be before fitting n labels can be expected: weights are counted against
samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import DataError
from globalmin.shallow.degenerate import count_free_outputs

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.problem import HasData

EXCESS = 1.2  # weights per sample at the first width
GROWTH = (1.0, 2.0, 3.0, 4.0, 6.0)  # of the width, in the order tried


def widths(
    data: HasData, width: int | str, activation: Activation, trained: str = "W"
) -> Iterator[int]:
    """The widths to try: the given one, or for "auto" the first promising one and then wider
    ones.
    """
    if width != "auto":
        if isinstance(width, bool | str) or int(width) != width or width < 1:
            raise DataError(f"width={width!r} is not usable; give a whole number >= 1 or 'auto'")
        yield int(width)
        return
    k = first_width(data, activation, trained)
    for factor in GROWTH if _is_rich(data, activation, trained) else GROWTH[:1]:
        yield _even(factor * k)


def first_width(data: HasData, activation: Activation, trained: str = "W") -> int:
    """The smallest even k with k d >= 1.2 n, counting only free outputs for n and the rank of X for
    d; at least n/d + 1.

    Even, because half of the head is positive and half negative.
    """
    outputs = min(count_free_outputs(data, activation), capacity(activation, _rank(data)))
    per_neuron = _rank(data) + int(trained == "vW")
    return _even(max(math.ceil(EXCESS * outputs / per_neuron), math.ceil(outputs / per_neuron) + 1))


def can_interpolate(network: ShallowNetwork, data: HasData, trained: str = "W") -> bool:
    """Whether counting leaves hope of zero loss: as many weights that matter as free outputs, and a
    rich enough activation.
    """
    outputs = count_free_outputs(data, network.activation)
    weights = (
        int(np.count_nonzero(network.v)) * _rank(data)
        if trained == "W"
        else network.width * (_rank(data) + 1)
    )
    return weights >= outputs and _is_rich(data, network.activation, trained)


def capacity(activation: Activation, rank: int) -> float:
    """Dimension of the functions that networks of all widths span on inputs of this rank; infinite
    unless phi is a polynomial.
    """
    powers = {
        "linear": (0.0, 1.0),
        "quadratic": (0.0, 0.0, 1.0),
        "polynomial": activation.coefficients,
    }.get(activation.name)
    if powers is None:
        return math.inf
    return sum(
        math.comb(rank + j - 1, j) for j, coefficient in enumerate(powers) if coefficient != 0
    )


def _is_rich(data: HasData, activation: Activation, trained: str) -> bool:
    X = np.asarray(data.X, dtype=np.float64)
    fixed_at_zero = (
        trained == "W" and not activation.vanishes_at_zero and not X.any(axis=1).all()
    )  # f(0) = phi(0) sum of v
    return not fixed_at_zero and capacity(activation, _rank(data)) >= count_free_outputs(
        data, activation
    )


def _rank(data: HasData) -> int:
    return max(1, int(np.linalg.matrix_rank(np.asarray(data.X, dtype=np.float64))))


def _even(k: float) -> int:
    return max(2, 2 * math.ceil(k / 2))
