"""Networks with one hidden layer, f(x) = v . phi(W x): frozen parameters, pure forward pass.

Conventions of the certificates: X is n x d by rows, W is k x d by rows, v in R^k, r = f(X) - y, L =
(1/2) sum_i r_i^2.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import TRAINABLE, Scheme, Trained, one_of
from globalmin._types import Array, ArrayLike
from globalmin.activations import Activation, get_activation
from globalmin.data.validation import as_weights
from globalmin.errors import DataError
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.data import Dataset


@dataclass(frozen=True, eq=False)
class ShallowNetwork:
    """f(x) = v . phi(W x), with W of shape (k, d) and v of shape (k,).

    The arrays are copied, made float64 and read-only. Two networks are equal when their activations
    and all weights are.
    """

    W: Array
    v: Array
    activation: Activation = field(default_factory=lambda: get_activation("softplus"))

    if TYPE_CHECKING:  # what the generated constructor takes: lists and names, converted below

        def __init__(
            self, W: ArrayLike, v: ArrayLike, activation: str | Activation = "softplus"
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "activation", get_activation(self.activation))
        object.__setattr__(self, "W", _weights(self.W, "W", 2))
        object.__setattr__(self, "v", _weights(self.v, "v", 1))
        if self.v.shape[0] != self.W.shape[0]:
            raise DataError(
                f"v has {self.v.shape[0]} entries but W has {self.W.shape[0]} rows; give one head "
                "weight per neuron"
            )

    @classmethod
    def initialize(
        cls,
        data: Dataset,
        width: int,
        activation: str | Activation = "softplus",
        *,
        scheme: Scheme = "os",
        seed: int | np.random.Generator | None = 0,
        weight_scale: float = 1.0,
    ) -> ShallowNetwork:
        """Draw a network for `data`; `scheme` is "os", "sjl", "positive", "du" or "identity", see
        `shallow.initialization.draw`.
        """
        from globalmin.shallow.initialization import draw

        return draw(data, width, activation, scheme=scheme, seed=seed, weight_scale=weight_scale)

    @property
    def width(self) -> int:
        """Number k of hidden neurons."""
        return self.W.shape[0]

    @property
    def n_features(self) -> int:
        """Input dimension d, the bias feature included."""
        return self.W.shape[1]

    def with_weights(self, W: Array | None = None, v: Array | None = None) -> ShallowNetwork:
        """The same network with other weights."""
        return replace(self, W=self.W if W is None else W, v=self.v if v is None else v)

    def predict(self, X: Array) -> Array:
        """Outputs f(x_i) at the rows of X, in the units the network was trained in (no
        preprocessing).
        """
        inputs = np.asarray(X, dtype=np.float64)
        if inputs.ndim != 2 or inputs.shape[1] != self.n_features:
            raise DataError(
                f"X has shape {inputs.shape}; the network expects (rows, {self.n_features}), bias "
                "included"
            )
        return outputs(self, inputs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ShallowNetwork):
            return NotImplemented
        return (
            self.activation == other.activation
            and np.array_equal(self.W, other.W)
            and np.array_equal(self.v, other.v)
        )

    def __hash__(self) -> int:
        return hash((self.activation, self.W.shape, float(self.W.sum()), float(self.v.sum())))

    def __reduce__(self) -> tuple[type[ShallowNetwork], tuple[Array, Array, Activation]]:
        return ShallowNetwork, (
            self.W,
            self.v,
            self.activation,
        )  # through the constructor: copies are read-only as well


def _weights(value: ArrayLike, name: str, ndim: int) -> Array:
    remedy = f"it must have {ndim} dimension(s), none of them empty"
    return as_weights(value, name, dimensions=(ndim,), remedy=remedy)


def preactivations(network: ShallowNetwork, X: Array) -> Array:
    """Z = X W^T, n x k."""
    return X @ network.W.T


def outputs(network: ShallowNetwork, X: Array) -> Array:
    """f(x_i) = sum_l v_l phi(w_l . x_i)."""
    return network.activation(preactivations(network, X)) @ network.v


def residual(network: ShallowNetwork, X: Array, y: Array) -> Array:
    """R = f(X) - y."""
    return outputs(network, X) - y


def loss(network: ShallowNetwork, X: Array, y: Array) -> float:
    """L = (1/2) sum_i r_i^2."""
    r = residual(network, X, y)
    return 0.5 * float(r @ r)


@states("OS-J", "SJL-L5.4")
def jacobian_gram(network: ShallowNetwork, X: Array, *, trained: Trained = "W") -> Array:
    r"""K = J J^T = (P diag(v)^2 P^T) o (X X^T) (+ Q Q^T for both layers, Q Q^T for the head alone),
    formed without J: OS-J, SJL-L5.4. Cost n^2 (k + d).
    """
    one_of("trained", trained, TRAINABLE)
    Z = preactivations(network, X)
    if trained == "v":
        Q = network.activation(Z)
        return Q @ Q.T
    S = network.activation.derivative(Z) * network.v
    K = S @ S.T
    K *= X @ X.T
    if trained == "vW":
        Q = network.activation(Z)
        K += Q @ Q.T
    return K


@states("OS-J")
def jacobian_times(network: ShallowNetwork, X: Array, U: Array) -> Array:
    """J vec(U) for U of the shape of W: entry i is sum_l v_l phi'(w_l . x_i) (u_l . x_i). Cost
    nkd.
    """
    S = network.activation.derivative(preactivations(network, X)) * network.v
    return (S * (X @ U.T)).sum(axis=1)


@states("OS-J")
def jacobian_transpose_times(network: ShallowNetwork, X: Array, u: Array) -> Array:
    """mat(J^T u) = diag(v) phi'(W X^T) diag(u) X, k x d (OS-J): the gradient in W for u = r. Cost
    nkd.
    """
    S = network.activation.derivative(preactivations(network, X)) * network.v
    return (S * u[:, None]).T @ X


@states("SJL-D1")
def head_gradient(network: ShallowNetwork, X: Array, u: Array) -> Array:
    """phi(W X^T) u: the gradient in v for u = r (SJL-D1, corrected)."""
    return network.activation(preactivations(network, X)).T @ u
