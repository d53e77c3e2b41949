"""Deep networks of DU chapter 3: fully connected, residual and convolutional residual, all layers
trained, and their random first weights (DU-M3a, M3b, M3c).

x^(1) = s_1 sigma(W^(1) phi(x)), then x^(h) = s_h sigma(W^(h) x^(h-1)) (fully connected) or x^(h) =
x^(h-1) + s_h sigma(W^(h) phi(x^(h-1))) (residual), and f(x) = <a, x^(H)>. The factors s_h are
stored with the network: they are part of the function that a certificate speaks of.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._options import Architecture
from globalmin._types import Array, ArrayLike
from globalmin.activations import Activation, get_activation
from globalmin.activations.moments import normalizer
from globalmin.data.pixels import Geometry, geometry_of, real_array, whole_number
from globalmin.data.validation import as_weights, matrix_bytes, require_memory
from globalmin.deep import gram as deep_limits
from globalmin.deep import passes as deep_passes
from globalmin.deep.architecture import (
    DEFAULT_ARCHITECTURE,
    DEFAULT_DEPTH,
    check_depth,
    check_residual,
)
from globalmin.errors import DataError
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.deep.gram import DeepKernel
    from globalmin.deep.passes import Forward


@states("DU-M3a", "DU-M3b", "DU-M3c")
def draw_deep(
    data_or_shape: Any,
    width: int,
    depth: int = DEFAULT_DEPTH,
    architecture: Architecture = DEFAULT_ARCHITECTURE,
    activation: str | Activation = "softplus",
    *,
    c_res: float = 0.5,
    patch_size: int = 3,
    seed: int | np.random.Generator | None = 0,
) -> DeepNetwork:
    """Draw a network.

    Parameters
    ----------
    data_or_shape : a Dataset (anything with X), an array of inputs by rows, or the shape of one
        input: features, (channels, pixels) or (channels, height, width).
    width : channels m of every hidden layer.
    depth : number H of hidden weight matrices; at least 2 for the residual architectures.
    architecture : "fully_connected", "resnet" or "convolutional_resnet".
    c_res : strength of the residual branches, 0 < c_res < 1; unused if fully connected.
    patch_size : odd side of the window; unused unless convolutional.
    seed : an integer, a numpy Generator (which advances), or None for fresh entropy.

    Theory
    ------
    DU-M3a, DU-M3b, DU-M3c. The theorems speak of inputs of norm 1; nothing is rescaled here.
    """
    phi, m, H = (
        get_activation(activation),
        whole_number(width, "width"),
        check_depth(depth, architecture),
    )
    geometry = geometry_of(_input_shape(data_or_shape), architecture, patch_size)
    rng = np.random.default_rng(seed)
    channels = [geometry.channels] + [m] * (H - 1)
    head = (m, geometry.pixels) if architecture == "convolutional_resnet" else (m,)
    return DeepNetwork(
        weights=tuple(rng.standard_normal((m, geometry.window * c)) for c in channels),
        head=rng.standard_normal(head),
        scales=layer_scales(phi, m, H, architecture=architecture, c_res=c_res),
        activation=phi,
        architecture=architecture,
        input_shape=geometry.shape,
        patch_size=geometry.patch_size,
    )


def layer_scales(
    activation: str | Activation,
    width: int,
    depth: int,
    *,
    architecture: Architecture,
    c_res: float = 0.5,
) -> tuple[float, ...]:
    """s_1, ..., s_H: sqrt(c_sigma/m) for layer 1 and all fully connected layers, c_res/(H sqrt(m))
    for residual branches.
    """
    plain = math.sqrt(normalizer(activation) / width)
    if architecture == "fully_connected":
        return (plain,) * depth
    return (plain,) + (check_residual(c_res) / (depth * math.sqrt(width)),) * (depth - 1)


def _input_shape(data_or_shape: Any) -> tuple[int, ...]:
    if isinstance(data_or_shape, int | np.integer):
        return (whole_number(int(data_or_shape), "data_or_shape"),)
    if isinstance(data_or_shape, tuple):
        return tuple(whole_number(size, "data_or_shape") for size in data_or_shape)
    return real_array(getattr(data_or_shape, "X", data_or_shape), "data_or_shape").shape[1:]


@dataclass(frozen=True, eq=False)
class DeepNetwork:
    """A network with H hidden weight matrices and a linear head.

    Attributes
    ----------
    weights : tuple[Array, ...]
        W^(1), ..., W^(H); W^(h) has one row per channel of layer h and window * (channels of layer
        h - 1) columns.
    head : Array
        a, one weight per channel, or channels x pixels for a convolution.
    scales : tuple[float, ...]
        s_1, ..., s_H, positive; see `deep.network.layer_scales` for those of the theorems.
    activation : Activation
        Sigma.
    architecture : str
        "fully_connected", "resnet" or "convolutional_resnet"; the last two add x^(h-1) from the
        second layer on.
    input_shape : tuple[int, ...]
        Of one input: (features,), (channels, pixels) or (channels, height, width).
    patch_size : int
        Odd side of the convolution's window.
    """

    weights: tuple[Array, ...]
    head: Array
    scales: tuple[float, ...]
    activation: Activation = field(default_factory=lambda: get_activation("softplus"))
    architecture: Architecture = "fully_connected"
    input_shape: tuple[int, ...] = ()
    patch_size: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "activation", get_activation(self.activation))
        object.__setattr__(
            self, "weights", tuple(_weights(W, f"weights[{h}]") for h, W in enumerate(self.weights))
        )
        object.__setattr__(self, "head", _weights(self.head, "head"))
        object.__setattr__(self, "scales", tuple(float(s) for s in self.scales))
        object.__setattr__(
            self,
            "input_shape",
            tuple(int(size) for size in self.input_shape) or self.weights[0].shape[1:],
        )
        _check_chain(self)

    @classmethod
    def initialize(
        cls,
        data_or_shape: Any,
        width: int,
        depth: int = DEFAULT_DEPTH,
        architecture: Architecture = DEFAULT_ARCHITECTURE,
        activation: str | Activation = "softplus",
        *,
        c_res: float = 0.5,
        patch_size: int = 3,
        seed: int | np.random.Generator | None = 0,
    ) -> DeepNetwork:
        """Draw a network as in the theorems, see `deep.network.draw_deep`."""
        options = {"c_res": c_res, "patch_size": patch_size, "seed": seed}
        return draw_deep(data_or_shape, width, depth, architecture, activation, **options)

    @property
    def depth(self) -> int:
        """Number H of hidden weight matrices."""
        return len(self.weights)

    @property
    def width(self) -> int:
        """Channels m of the last hidden layer."""
        return self.weights[-1].shape[0]

    @cached_property
    def skips(self) -> tuple[bool, ...]:
        """Whether layer h adds the layer below."""
        return tuple(self.architecture != "fully_connected" and h > 0 for h in range(self.depth))

    @property
    def c_res(self) -> float | None:
        """Strength of the residual branches, s_H H sqrt(m); None if fully connected."""
        if self.architecture == "fully_connected":
            return None
        return self.scales[-1] * self.depth * math.sqrt(self.width)

    @cached_property
    def geometry(self) -> Geometry:
        """Pixels and windows of the inputs."""
        return geometry_of(self.input_shape, self.architecture, self.patch_size)

    @property
    def head_matrix(self) -> Array:
        """The head as channels x pixels, one pixel for vectors."""
        return self.head.reshape(self.width, -1)

    @property
    def n_parameters(self) -> int:
        """Number P of weights, head included."""
        return sum(W.size for W in self.weights) + self.head.size

    @property
    def parameters(self) -> Array:
        """All weights in one vector: W^(1), ..., W^(H), a, each row by row."""
        return self.flat.copy()

    @cached_property
    def flat(self) -> Array:
        """The same vector, read-only and kept."""
        vector = np.concatenate([*(W.ravel() for W in self.weights), self.head.ravel()])
        vector.setflags(write=False)
        return vector

    def with_parameters(self, theta: ArrayLike) -> DeepNetwork:
        """The same network with other weights, in the order of `parameters`."""
        vector = np.asarray(theta, dtype=np.float64)
        if vector.shape != (self.n_parameters,):
            raise DataError(
                f"theta has shape {vector.shape}; this network has {self.n_parameters} parameters"
            )
        if not np.isfinite(vector).all():
            raise DataError("theta contains NaN or infinity; give finite weights")
        return self.at(vector.copy())

    def at(self, theta: Array) -> DeepNetwork:
        """The same network at a vector of finite numbers that nobody else writes to: nothing is
        copied and nothing checked again, as every step of a training wants it.
        """
        theta.setflags(write=False)
        pieces = self.split(theta)
        moved = object.__new__(type(self))
        form = {name: vars(self)[name] for name in self.__dataclass_fields__}
        known = {name: getattr(self, name) for name in ("geometry", "skips", "_places")}
        vars(moved).update(form, weights=pieces[:-1], head=pieces[-1], flat=theta, **known)
        return moved

    def with_activation(self, activation: Activation) -> DeepNetwork:
        """The same weights with another activation."""
        return replace(self, activation=activation)

    def split(self, theta: Array) -> tuple[Array, ...]:
        """A vector of all parameters cut into the shapes of W^(1), ..., W^(H), a."""
        return tuple(theta[place].reshape(shape) for place, shape in self._places)

    @cached_property
    def _places(self) -> tuple[tuple[slice, tuple[int, ...]], ...]:
        shapes = [*(W.shape for W in self.weights), self.head.shape]
        ends = np.cumsum([0, *(math.prod(shape) for shape in shapes)]).tolist()
        return tuple(
            (slice(first, end), shape)
            for first, end, shape in zip(ends[:-1], ends[1:], shapes, strict=True)
        )

    def forward(self, X: ArrayLike) -> Forward:
        """Features, patches and pre-activations of all layers at the inputs X."""
        return deep_passes.forward(self, self.geometry.arrange(X))

    def predict(self, X: ArrayLike) -> Array:
        """Outputs f(x_i); X has one input per row, of `input_shape` or flattened."""
        return deep_passes.outputs(self, self.forward(X))

    def jacobian(self, X: ArrayLike) -> Array:
        """Derivatives of the n outputs by all parameters, n x P, in closed form (DU-G3); refused if
        it does not fit.
        """
        passed = self.forward(X)
        n = len(passed.features[0])
        require_memory(
            matrix_bytes(n, self.n_parameters, copies=2), f"the {n} x {self.n_parameters} Jacobian"
        )
        return np.concatenate(deep_passes.jacobian_blocks(self, passed), axis=1)

    def loss_and_gradient(self, X: ArrayLike, y: Array) -> tuple[float, Array]:
        r"""$\frac1{2n}\sum_i(f(x_i) - y_i)^2$ and its gradient by all parameters."""
        passed = self.forward(X)
        r = deep_passes.outputs(self, passed) - y
        return 0.5 * float(r @ r) / len(r), deep_passes.pull_back(self, passed, r / len(r))

    def layer_grams(self, X: ArrayLike) -> tuple[Array, ...]:
        """G^(1), ..., G^(H+1) of DU-G3, n x n each; their sum is J J^T."""
        return deep_passes.layer_grams(self, self.forward(X))

    def limit_gram(self, X: ArrayLike) -> DeepKernel:
        """The kernel this very network tends to as its layers widen at fixed s_h sqrt(m): `total`
        is the limit of J J^T, `last` is K^(H), of the last hidden weight matrix.

        Architecture, depth, activation, window and scales are this network's own; float64,
        accurate to about 1e-13 relative to the size of the entries.
        """
        return deep_limits.network_kernel(self, X)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeepNetwork):
            return NotImplemented
        return _form(self) == _form(other) and np.array_equal(self.parameters, other.parameters)

    def __hash__(self) -> int:
        return hash((_form(self), float(self.head.sum())))

    def __reduce__(self) -> tuple[type[DeepNetwork], tuple[object, ...]]:
        form = (self.scales, self.activation, self.architecture, self.input_shape, self.patch_size)
        return DeepNetwork, (
            self.weights,
            self.head,
            *form,
        )  # through the constructor: copies are read-only as well


def _form(network: DeepNetwork) -> tuple[object, ...]:
    """Everything but the weights; equal forms have parameter vectors of the same meaning."""
    shapes = tuple(W.shape for W in network.weights)
    return (
        network.activation,
        network.architecture,
        network.input_shape,
        network.geometry.patch_size,
        network.scales,
        shapes,
        network.head.shape,
    )


def _weights(value: ArrayLike, name: str) -> Array:
    remedy = "give a matrix (or a vector for the head), not empty"
    return as_weights(value, name, dimensions=(1, 2), remedy=remedy)


def _check_chain(network: DeepNetwork) -> None:
    """Refuse layers that do not fit together."""
    geometry = network.geometry
    if len(network.scales) != network.depth or not all(0 < s < math.inf for s in network.scales):
        raise DataError(
            f"scales={network.scales} must be {network.depth} positive numbers, one per weight "
            "matrix"
        )
    channels = geometry.channels
    for h, W in enumerate(network.weights):
        if W.ndim != 2 or W.shape[1] != geometry.window * channels:
            raise DataError(
                f"weights[{h}] has shape {W.shape}; layer {h + 1} needs "
                f"{geometry.window * channels} columns"
            )
        if network.skips[h] and W.shape[0] != channels:
            raise DataError(
                f"weights[{h}] has {W.shape[0]} rows; a residual layer keeps the {channels} "
                "channels of the one below"
            )
        channels = W.shape[0]
    wanted = (
        (channels, geometry.pixels)
        if network.architecture == "convolutional_resnet"
        else (channels,)
    )
    if network.head.shape != wanted:
        raise DataError(f"head has shape {network.head.shape}; the last layer needs {wanted}")
