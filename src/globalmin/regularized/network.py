r"""Networks $f(x) = c_0 + \theta\cdot x + \sum_l v_l\,\mathrm{relu}(w_l\cdot x + \beta_l)$, trained
with weight decay: frozen parameters, pure forward pass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.activations import Activation, get_activation
from globalmin.data.sparse import is_sparse
from globalmin.data.validation import frozen
from globalmin.errors import DataError


@dataclass(frozen=True, eq=False)
class RegularizedNetwork:
    """f(x) = intercept + linear . x + sum of v_l relu(W_l . x + bias_l).

    The arrays are copied, made float64 and read-only. A network without neurons has W of shape (0,
    d). What is penalized, and which columns a neuron may see, is said by the
    `RegularizedProblem` that the network was trained for.

    Parameters
    ----------
    W : Array
        k x d hidden weights; zero at the columns that a neuron does not see.
    bias : Array
        k hidden biases, multiplied by the bias feature tau already.
    v : Array
        k head weights.
    intercept : float
        The constant.
    linear : Array | None
        d coefficients of a linear part, None without one.
    """

    neurons: ClassVar[str] = "relu"
    W: Array
    bias: Array
    v: Array
    intercept: float = 0.0
    linear: Array | None = None

    if TYPE_CHECKING:  # what the generated constructor takes: lists too, converted below

        def __init__(
            self,
            W: ArrayLike,
            bias: ArrayLike,
            v: ArrayLike,
            intercept: float = 0.0,
            linear: ArrayLike | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        for name, ndim in (("W", 2), ("bias", 1), ("v", 1), ("linear", 1)):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, _finite(given, name, ndim))
        object.__setattr__(self, "intercept", float(self.intercept))
        k, d = self.W.shape
        if self.bias.shape != (k,) or self.v.shape != (k,):
            raise DataError(
                f"W has {k} rows, bias {self.bias.size} and v {self.v.size} entries; give one of "
                "each per neuron"
            )
        if self.linear is not None and self.linear.shape != (d,):
            raise DataError(
                f"linear has {self.linear.size} entries but W has {d} columns; give one per column"
            )
        if not math.isfinite(self.intercept):
            raise DataError(f"intercept={self.intercept!r} must be a finite number")

    @property
    def width(self) -> int:
        """Number k of neurons."""
        return self.W.shape[0]

    @property
    def outputs(self) -> int:
        """Number of outputs: one, more for a `SharedNetwork`."""
        return 1

    @property
    def n_features(self) -> int:
        """Number d of columns."""
        return self.W.shape[1]

    @property
    def activation(self) -> Activation:
        """ReLU: files of networks name it."""
        return get_activation("relu")

    def predict(self, X: ArrayLike) -> Array:
        """The outputs at the rows of X."""
        out = np.maximum(self._hidden(X), 0.0) @ self.v + self.intercept
        return out if self.linear is None else out + np.asarray(X, dtype=np.float64) @ self.linear

    def reach(self, X: Array) -> Array:
        """What the absolute values of all summands add up to, row by row."""
        size = np.abs(X) @ np.abs(self.W).T + np.abs(self.bias)
        reach = np.abs(self.intercept) + size @ np.abs(self.v)
        return reach if self.linear is None else reach + np.abs(X) @ np.abs(self.linear)

    def _hidden(self, X: ArrayLike) -> Array:
        """The numbers W_l . x + bias_l, rows x neurons."""
        rows: Any = X if is_sparse(X) else np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise DataError(
                f"X has shape {rows.shape}; give rows of {self.n_features} numbers each"
            )
        return rows @ self.W.T + self.bias


def _finite(value: ArrayLike, name: str, ndim: int) -> Array:
    array = np.array(value, dtype=np.float64)
    if array.ndim != ndim or not np.isfinite(array).all():
        raise DataError(f"{name} of shape {array.shape} must be finite with {ndim} dimension(s)")
    return frozen(array)
