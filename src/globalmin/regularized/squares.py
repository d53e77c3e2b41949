r"""Networks of squares $f(x) = c_0 + \sum_l v_l\,(w_l\cdot x + \beta_l)^2$ with weight decay
$\frac b2\|W\|_F^2$ and heads of at most `v_max`: the same problem as a convex one over symmetric
matrices, $f = c_0 + z^TAz$ with $z = (x, \tau)$ and the penalty $a\|A\|_*$, $a = b/(2v_{\max})$.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, get_args

import numpy as np

from globalmin._options import Heads, one_of
from globalmin._types import Array, ArrayLike
from globalmin.activations import Activation, get_activation
from globalmin.data.sparse import is_sparse
from globalmin.errors import DataError
from globalmin.regularized.network import RegularizedNetwork
from globalmin.regularized.objective import Penalty, RegularizedProblem, require_positive

HEADS: tuple[Heads, ...] = get_args(Heads)
# of the largest eigenvalue: smaller ones are rounding of the matrix
_RANK = 1e-13


class SquaresNetwork(RegularizedNetwork):
    """f(x) = intercept + sum of v_l (W_l . x + bias_l)^2.

    The arrays are those of `RegularizedNetwork`, without a linear part: biases make linear terms.

    Examples
    --------
    >>> SquaresNetwork([[1.0]], [1.0], [0.5], -0.5).predict([[1.0], [2.0]]).tolist()
    [1.5, 4.0]
    """

    neurons: ClassVar[str] = "quadratic"

    @property
    def activation(self) -> Activation:
        """Squares: files of networks name it."""
        return get_activation("quadratic")

    def predict(self, X: ArrayLike) -> Array:
        """The outputs at the rows of X."""
        return np.square(self._hidden(X)) @ self.v + self.intercept

    def reach(self, X: Array) -> Array:
        """What the absolute values of all summands add up to, row by row."""
        size = np.abs(X) @ np.abs(self.W).T + np.abs(self.bias)
        return np.abs(self.intercept) + np.square(size) @ np.abs(self.v)


@dataclass(frozen=True)
class SquaresPenalty(Penalty):
    r"""What a network of squares pays: $\frac b2\|W\|_F^2$, the biases (over tau) counted in W; the
    head pays nothing and is bounded.

    Parameters
    ----------
    weight_decay : float
        b > 0, of the hidden weights.
    hidden_bias : str
        "penalized" or "none".
    tau : float
        The bias feature, positive: the larger, the less linear terms cost against squares.
    intercept : str
        "free" or "none".
    linear : str
        "none".
    v_max : float
        Bound of the absolute value of every head weight.
    heads : str
        "any", or "nonnegative" for convex functions only.
    """

    neurons: ClassVar[str] = "quadratic"
    v_max: float = 1.0
    heads: Heads = "any"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive("v_max", self.v_max)
        one_of("heads", self.heads, HEADS)
        for name, allowed in (
            ("hidden_bias", ("penalized", "none")),
            ("intercept", ("free", "none")),
            ("linear", ("none",)),
        ):
            if getattr(self, name) not in allowed:
                raise DataError(
                    f"{name}={getattr(self, name)!r}: for networks of squares take one of {allowed}"
                )

    @property
    def threshold(self) -> float:
        """The number a = b/(2 v_max) that multiplies the trace norm."""
        return self.weight_decay / (2.0 * self.v_max)

    def of(self, network: RegularizedNetwork) -> float:
        """The penalty part of the objective, in floats."""
        weights = np.sum(np.square(network.W))
        if self.hidden_bias == "penalized":
            weights += np.sum(np.square(network.bias / self.tau))
        return 0.5 * self.weight_decay * float(weights)


def squares_penalty(problem: RegularizedProblem) -> SquaresPenalty:
    """The penalty of a problem of squares; DataError for another problem."""
    if not isinstance(problem.penalty, SquaresPenalty) or problem.groups != "all":
        raise DataError(
            "networks of squares need a problem with a SquaresPenalty and groups='all', not "
            f"{type(problem.penalty).__name__} and groups={problem.groups!r}"
        )
    return problem.penalty


def rows_with_bias(problem: RegularizedProblem) -> Array:
    """The rows z_i: those of X, with the entry tau if biases are penalized."""
    if problem.penalty.hidden_bias == "none":
        return problem.X
    constant = np.full((problem.X.shape[0], 1), problem.penalty.tau)
    if not is_sparse(problem.X):
        return np.hstack([problem.X, constant])
    from scipy.sparse import csr_array, hstack

    rows: Any = hstack([problem.X, csr_array(constant)], format="csr")
    return rows


def factored_spectrum(rows: Array, signs: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of the sum of s_l a_l a_l^T; with fewer rows than columns those
    of the span of the rows only, which are all that are not zero.
    """
    k, p = rows.shape
    if k >= p:
        return np.linalg.eigh((rows * signs[:, None]).T @ rows)
    basis, upper = np.linalg.qr(rows.T)
    eigenvalues, turned = np.linalg.eigh((upper * signs) @ upper.T)
    return eigenvalues, basis @ turned


def network_of_spectrum(
    eigenvalues: Array, vectors: Array, intercept: float, problem: RegularizedProblem
) -> SquaresNetwork:
    """The network of least penalty with f = intercept + z^T A z: one neuron per eigenvalue of A."""
    penalty = squares_penalty(problem)
    kept = np.abs(eigenvalues) > _RANK * np.abs(eigenvalues).max(initial=0.0)
    if penalty.heads == "nonnegative":
        kept &= eigenvalues > 0
    size = np.sqrt(np.abs(eigenvalues[kept]) / penalty.v_max)
    W = size[:, None] * vectors.T[kept]
    v = penalty.v_max * np.sign(eigenvalues[kept])
    if penalty.hidden_bias == "none":
        return SquaresNetwork(W, np.zeros(len(v)), v, intercept)
    return SquaresNetwork(W[:, :-1], penalty.tau * W[:, -1], v, intercept)


def rows_of_network(network: RegularizedNetwork, penalty: Penalty) -> tuple[Array, Array]:
    """Rows a_l and signs s_l with A the sum of s_l a_l a_l^T, of d columns, or d + 1 with penalized
    biases.
    """
    W = network.W
    if penalty.hidden_bias == "penalized":
        W = np.column_stack([W, network.bias / penalty.tau])
    return np.sqrt(np.abs(network.v))[:, None] * W, np.sign(network.v)
