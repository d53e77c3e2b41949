r"""Fourth derivative of the loss 1/(2n) along a direction (FCL-D3), whose size form C of
*unique-minimum* bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import HypothesisError
from globalmin.linalg.symmetric import row_blocks
from globalmin.recovery.geometry import check_local_inputs, local_activation
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.activations import Activation


def fourth_derivative(z: ArrayLike, activation: str | Activation) -> Array:
    r"""$\phi''''(z)$ of sigmoid, softplus, tanh or erf, from its lower derivatives; other
    activations are refused.
    """
    phi, z = local_activation(activation), np.asarray(z, dtype=np.float64)
    b = 1.0 if phi.parameter is None else phi.parameter
    first, second = phi.derivative(z), phi.derivative(z, order=2)
    if phi.name == "sigmoid":
        return b**2 * second * (1.0 - 12.0 * first / b)
    if phi.name == "softplus":
        return b**2 * second * (1.0 - 6.0 * second / b)
    if phi.name == "tanh":
        return second * (4.0 - 12.0 * first)
    if phi.name == "erf":
        near = np.clip(z, -40.0, 40.0)  # beyond, the first derivative is zero in floats
        return first * (12.0 * near - 8.0 * near**3)
    raise HypothesisError(
        f"no fourth derivative of {phi}; use sigmoid, softplus, tanh or erf",
        hypothesis="FCL-D3",
        value=str(phi),
    )


@states("FCL-D3")
def fourth_directional_derivative(
    W: Array, A: Array, X: Array, y: Array, activation: str | Activation
) -> float:
    r"""$D^4f_n[A,A,A,A] = \mathrm{mean}(3A_2^2 + 4A_1A_3 + eA_4)$, $A_p =
    \frac1K\sum_k\phi^{(p)}(w_k\cdot x)(a_k\cdot x)^p$.
    """
    phi, total = local_activation(activation), 0.0
    check_local_inputs(W, X, y)
    for rows in row_blocks(*X.shape):
        Z, S = X[rows] @ W.T, X[rows] @ A.T
        e = phi(Z).mean(axis=1) - y[rows]
        A1, A2, A3 = ((phi.derivative(Z, order=p) * S**p).mean(axis=1) for p in (1, 2, 3))
        A4 = (fourth_derivative(Z, phi) * S**4).mean(axis=1)
        total += float(3.0 * (A2 @ A2) + 4.0 * (A1 @ A3) + e @ A4)
    return total / X.shape[0]
