r"""Finitely many samples on which the loss of quadratic networks is exactly a multiple of their
Gaussian population risk.

Only fourth moments enter: $\sum_i x_{ia}^4 = 3c$, $\sum_i x_{ia}^2x_{ib}^2 = c$ and zero where an
index is odd make $\sum_i(x_i^TDx_i)^2 = c\,(2\|D\|_F^2 + (\mathrm{tr}D)^2)$ for every symmetric D.
An orthogonal array of signs of strength four (scaled) and the unit vectors have these moments with
c = 1/2, in dyadic numbers, so without rounding. Claims about data thereby speak of the population
risk: its saddles, its barrier, its descent.
"""

from __future__ import annotations

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.errors import DataError
from globalmin.references import states

RISK_FACTOR = 0.25
"""The loss $(1/2)\\sum_i r_i^2$ on `population_samples` is this times the population risk of GKZ
(which has no 1/2).
"""
BITS = (3, 7, 11)  # the array has 2^m rows of entries +-2^(-(m+1)/4), exact for these m


@states("GKZ-R1", "GKZ-R4")
def population_samples(d: int) -> Array:
    r"""Samples with $S^TS = \frac12(2I + uu^T)$ exactly: the loss on them is a quarter of the
    population risk.

    Parameters
    ----------
    d : int
        Number of features, 1 to 38.

    Returns
    -------
    Array
        n x d, n = d + 8, d + 128 or d + 2048 for d up to 3, 11, 38; every entry is a power of two
        up to sign, or zero.

    Theory
    ------
    GKZ-R4: E F = 2I + uu^T is all that the population risk (GKZ-R1) knows of the inputs. Columns of
    the array are characters $(-1)^{t \cdot c_j}$; four distinct ones multiply to a nontrivial
    character, whose sum is zero, if no four of the $c_j$ are dependent over the field of two
    elements.

    Examples
    --------
    >>> X = population_samples(2)
    >>> X.shape, float((X[:, 0] ** 4).sum()), float((X[:, 0] ** 2 * X[:, 1] ** 2).sum())
    ((10, 2), 1.5, 0.5)
    """
    if isinstance(d, bool) or not isinstance(d, int | np.integer) or d < 1:
        raise DataError(f"d={d!r} must be an integer of at least 1")
    for bits in BITS:
        codes = independent_codes(bits, int(d))
        if codes is not None:
            break
    else:
        raise DataError(
            f"d={d} features need more than 2^{BITS[-1]} samples of signs; use at most 38 features"
        )
    parity = np.bitwise_count(np.arange(2**bits)[:, None] & codes[None, :]) % 2
    return np.vstack([np.eye(d), 2.0 ** (-(bits + 1) / 4) * (1.0 - 2.0 * parity)])


def independent_codes(bits: int, count: int) -> NDArray[np.int64] | None:
    """The least `count` bit vectors of which no four are dependent (sums of at most four are not
    zero), or None if they end.

    >>> independent_codes(3, 3).tolist(), independent_codes(3, 4)
    ([1, 2, 4], None)
    """
    size = 2**bits
    everything = np.arange(size)
    forbidden = np.zeros(size, dtype=bool)  # sums of at most three
    forbidden[0] = True
    codes, pairs = [0], np.array([0])  # zero stands for "fewer terms"
    while len(codes) <= count:
        free = everything[~forbidden]
        if not free.size:
            return None
        new = int(free[0])
        forbidden[new ^ pairs] = True
        codes.append(new)
        pairs = np.unique(np.concatenate([pairs, new ^ np.array(codes)]))
        forbidden[(pairs[:, None] ^ np.array(codes)[None, :]).ravel()] = True
    return np.array(codes[1:], dtype=np.int64)
