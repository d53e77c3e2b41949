r"""Networks with several outputs that share their neurons, $f(x) = c_0 + \sum_l
v_l\,\mathrm{relu}(w_l\cdot x + \beta_l)$ with $v_l\in\mathbb{R}^c$, and the penalty $\frac
b2\sum_l(\|w_l\|^2 + \|v_l\|^2)$: one neuron bends the curves of all outputs at the same place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.data.validation import frozen
from globalmin.errors import DataError
from globalmin.regularized.network import RegularizedNetwork


class SharedNetwork(RegularizedNetwork):
    """f(x) = intercept + sum of v_l relu(W_l . x + bias_l), one vector of c outputs.

    Parameters
    ----------
    W : Array
        k x d hidden weights; zero at the columns that a neuron does not see.
    bias : Array
        k hidden biases, multiplied by the bias feature tau already.
    v : Array
        k x c head weights.
    intercept : Array
        c constants.

    Examples
    --------
    >>> network = SharedNetwork([[1.0]], [1.0], [[0.5, -1.0]], [0.0, 1.0])
    >>> network.predict([[-2.0], [1.0]]).tolist()
    [[0.0, 1.0], [1.0, -1.0]]
    """

    intercept: Any

    if TYPE_CHECKING:

        def __init__(
            self, W: ArrayLike, bias: ArrayLike, v: ArrayLike, intercept: ArrayLike
        ) -> None: ...

    def __post_init__(self) -> None:
        for name, ndim in (("W", 2), ("bias", 1), ("v", 2), ("intercept", 1)):
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.ndim != ndim or not np.isfinite(array).all():
                raise DataError(
                    f"{name} of shape {array.shape} must be finite with {ndim} dimension(s)"
                )
            object.__setattr__(self, name, frozen(array))
        if self.linear is not None:
            raise DataError("linear: a network with several outputs has no linear part; leave it")
        k, c = self.v.shape
        if len(self.W) != k or len(self.bias) != k or len(self.intercept) != c or c < 2:
            raise DataError(
                f"W has {len(self.W)} rows, bias {len(self.bias)} entries, v the shape "
                f"{self.v.shape} and intercept {len(self.intercept)} entries; give one row and "
                "bias per neuron, and two or more outputs with one intercept each"
            )

    @property
    def outputs(self) -> int:
        """Number c of outputs."""
        return self.v.shape[1]

    def reach(self, X: Array) -> Array:
        """What the absolute values of all summands add up to, row by row, for the largest of the
        outputs.
        """
        size = np.abs(X) @ np.abs(self.W).T + np.abs(self.bias)
        return (np.abs(self.intercept) + size @ np.abs(self.v)).max(axis=1)

    def output(self, o: int) -> RegularizedNetwork:
        """The network of one output."""
        used = self.v[:, o] != 0
        return RegularizedNetwork(
            self.W[used], self.bias[used], self.v[used, o], float(self.intercept[o])
        )
