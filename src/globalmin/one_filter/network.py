r"""The two-layer network with one normalized filter on samples: $f(Z,v,a) = \sum_i
a_i\,\sigma(Z_i^Tv)/\lVert v\rVert$.

Patches are an array of shape n x k x p, as `extract_patches` gives them (the thesis writes them as
columns). These are empirical quantities; the population theorems of chapter 5 say nothing about
them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.data.validation import as_weights
from globalmin.errors import DataError
from globalmin.references import states


@dataclass(frozen=True, eq=False)
class OneFilterNetwork:
    """A filter v (p numbers, not zero) shared by k patches and output weights a (k numbers); the
    arrays are read-only copies.
    """

    v: Array
    a: Array

    def __post_init__(self) -> None:
        for name in ("v", "a"):
            remedy = "give a vector of finite numbers, at least one"
            value = as_weights(getattr(self, name), name, dimensions=(1,), remedy=remedy)
            object.__setattr__(self, name, value)
        if not np.any(self.v):
            raise DataError(
                "v is zero, and a zero filter has no direction: v/|v| is not defined; give another "
                "filter"
            )

    @property
    def patch_size(self) -> int:
        """Entries p of a patch."""
        return self.v.size

    @property
    def n_patches(self) -> int:
        """Patches k of a sample."""
        return self.a.size

    def predict(self, Z: ArrayLike) -> Array:
        """Outputs for patches n x k x p."""
        return one_filter_outputs(Z, self.v, self.a)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OneFilterNetwork):
            return NotImplemented
        return np.array_equal(self.v, other.v) and np.array_equal(self.a, other.a)

    def __hash__(self) -> int:
        return hash((self.v.tobytes(), self.a.tobytes()))


@states("DU-M5")
def one_filter_outputs(Z: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
    r"""$f(Z_j, v, a)$ for every sample: patches n x k x p, filter p, output weights k. Does not
    depend on the length of v.
    """
    Z, unit, a, _ = _checked(Z, v, a)
    return np.maximum(_products(Z, unit), 0.0) @ a


@states("DU-M5")
def empirical_loss(Z: ArrayLike, y: ArrayLike, v: ArrayLike, a: ArrayLike) -> float:
    r"""$\frac{1}{2n}\sum_j (f(Z_j, v, a) - y_j)^2$."""
    miss = one_filter_outputs(Z, v, a) - np.asarray(y, dtype=np.float64)
    return 0.5 * float(np.mean(miss**2))


@states("DU-M5")
def empirical_gradient(
    Z: ArrayLike, y: ArrayLike, v: ArrayLike, a: ArrayLike
) -> tuple[Array, Array]:
    r"""$(\partial_v, \partial_a)$ of `empirical_loss`, with $\sigma'(0) = 0$; the first is
    orthogonal to v up to rounding.
    """
    Z, unit, a, length = _checked(Z, v, a)
    H = _products(Z, unit)
    active = np.maximum(H, 0.0)
    miss = (active @ a - np.asarray(y, dtype=np.float64)) / len(Z)
    by_unit = np.einsum("nkp,nk->p", Z, (H > 0.0) * (miss[:, None] * a), optimize=True)
    return (by_unit - unit * float(unit @ by_unit)) / length, active.T @ miss


def _products(Z: Array, unit: Array) -> Array:
    return Z @ unit


def _checked(Z: ArrayLike, v: ArrayLike, a: ArrayLike) -> tuple[Array, Array, Array, float]:
    Z, v, a = (np.asarray(x, dtype=np.float64) for x in (Z, v, a))
    if Z.ndim != 3 or len(Z) == 0 or Z.shape[1:] != (a.size, v.size):
        raise DataError(
            f"Z has shape {Z.shape}; with a filter of {v.size} and {a.size} output weights it must "
            f"be (n, {a.size}, {v.size}), as extract_patches gives it"
        )
    length = float(np.linalg.norm(v))
    if length == 0.0:
        raise DataError(
            "v is zero, and a zero filter has no direction: v/|v| is not defined; give another "
            "filter"
        )
    return Z, v / length, a, length
