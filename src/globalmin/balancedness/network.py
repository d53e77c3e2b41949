"""Homogeneous networks f(x) = W^(H) sigma(W^(H-1) ... sigma(W^(1) x)) of DU chapter 4, as a
description without weights.

Every layer is one flat vector of parameters, weights first, then biases; a network's parameters are
these vectors one after the other. Layers are `Dense`, `Shared` (any sparsity or sharing of weights,
W[i, j] = v[g(i, j)] or 0) and `Convolution`. Forward and backward passes are in closed form on
numpy arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from globalmin._options import one_of
from globalmin._types import Array, ArrayLike
from globalmin.activations import Activation, get_activation
from globalmin.balancedness.layers import Convolution, Dense, Layer, Shared, sparse
from globalmin.data.pixels import whole_number
from globalmin.errors import DataError, HypothesisError
from globalmin.references import states

Loss = Callable[["Array", "Array"], tuple[float, "Array"]]


def squared(F: Array, Y: Array) -> tuple[float, Array]:
    """(1/2) ||F - Y||^2."""
    R = F - Y
    return 0.5 * float(np.square(R).sum()), R


def cross_entropy(F: Array, Y: Array) -> tuple[float, Array]:
    """Sum over the rows of log sum exp f - <y, f>; y is a distribution over the outputs, such as a
    one-hot row.
    """
    shifted = F - F.max(axis=1, keepdims=True)
    masses = np.exp(shifted)
    totals = masses.sum(axis=1, keepdims=True)
    return float((np.log(totals[:, 0]) - (Y * shifted).sum(axis=1)).sum()), masses / totals - Y


LOSSES: dict[str, Loss] = {"squared": squared, "cross_entropy": cross_entropy}


def get_loss(loss: str | Loss) -> Loss:
    """The loss of this name, or the function itself."""
    if not isinstance(loss, str):
        return loss
    return LOSSES[one_of("loss", loss, LOSSES, remedy="or give a function of (F, Y)")]


def smooth_slope(activation: Activation, width: float) -> Activation:
    """The activation s(z) z with derivative s(z), for relu, leaky_relu and abs; smooth activations
    come back as they are.
    """
    if not 0 <= width < np.inf:
        raise DataError(
            f"kink_width={width!r} must be a small positive number, or 0 for the kink itself"
        )
    if width == 0 or activation.is_smooth or activation.homogeneity != 1:
        return activation
    left, right = (float(activation.derivative(z)) for z in (-1.0, 1.0))

    def slope(z: Array) -> Array:
        return 0.5 * (left + right) + 0.5 * (right - left) * np.tanh(z / width)

    def value(z: Array) -> Array:
        return slope(z) * z

    return replace(activation, derivatives=(value, slope, *activation.derivatives[2:]))


__all__ = ["Convolution", "Dense", "HomogeneousNetwork", "Shared", "fully_connected", "sparse"]


@states("DU-M4")
@dataclass(frozen=True)
class HomogeneousNetwork:
    """Layers with a homogeneous activation between them; no activation after the last.

    Attributes
    ----------
    layers : tuple[Layer, ...]
        From the input to the output; the outputs of one are the inputs of the next.
    activations : tuple[Activation, ...]
        One for each gap between layers (names or values), or a single one for all; each must be
        homogeneous of a degree p >= 1 (relu, leaky_relu, linear, abs: 1; quadratic: 2; a one-term
        polynomial: its power), unless `any_activation`.
    any_activation : bool
        Let activations pass that are not homogeneous, as a control: nothing is conserved then.
    """

    layers: tuple[Layer, ...]
    activations: tuple[Activation, ...] = ()
    any_activation: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", tuple(self.layers))
        gaps = len(self.layers) - 1
        given: object = self.activations
        names = [given] * gaps if isinstance(given, str | Activation) else self.activations
        object.__setattr__(self, "activations", tuple(get_activation(name) for name in names))
        _check_chain(self.layers, len(self.activations))
        if not self.any_activation:
            _check_degrees(self.activations)

    @property
    def n_inputs(self) -> int:
        """Numbers in one input."""
        return self.layers[0].n_in

    @property
    def n_outputs(self) -> int:
        """Numbers in one output."""
        return self.layers[-1].n_out

    @property
    def degrees(self) -> tuple[int | None, ...]:
        """Degree of homogeneity of each activation; None where it is not homogeneous."""
        return tuple(activation.homogeneity for activation in self.activations)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Parameters of each layer."""
        return tuple(layer.n_weights + layer.n_biases for layer in self.layers)

    @property
    def n_parameters(self) -> int:
        """Parameters of all layers."""
        return sum(self.sizes)

    def split(self, theta: ArrayLike) -> tuple[Array, ...]:
        """The parameters of each layer out of the vector of all."""
        vector = np.asarray(theta, dtype=np.float64)
        if vector.shape != (self.n_parameters,):
            raise DataError(
                f"theta has shape {vector.shape}; this network has {self.n_parameters} parameters "
                "in one vector"
            )
        return tuple(np.split(vector, np.cumsum(self.sizes)[:-1]))

    def matrices(self, theta: ArrayLike) -> tuple[Array, ...]:
        """W^(1), ..., W^(H) written out, zeros where nothing is connected; biases are left out."""
        pieces = zip(self.layers, self.split(theta), strict=True)
        return tuple(
            layer.apply(v, np.eye(layer.n_in), with_bias=False).T.copy() for layer, v in pieces
        )

    def draw(
        self,
        seed: int | np.random.Generator | None = 0,
        *,
        deviations: float | Sequence[float] | None = None,
    ) -> Array:
        """Gaussian weights and zero biases.

        Parameters
        ----------
        deviations : float | Sequence[float] | None
            Standard deviation of the weights, one number or one per layer; default 1/sqrt(number of
            weights that enter one unit), counting the entries of W that are not fixed to zero.
        """
        rng = np.random.default_rng(seed)
        if deviations is None:
            chosen = [1.0 / math.sqrt(layer.fan_in) for layer in self.layers]
        else:
            chosen = [
                float(s)
                for s in np.broadcast_to(
                    np.asarray(deviations, dtype=np.float64), (len(self.layers),)
                )
            ]
        pieces = []
        for layer, s in zip(self.layers, chosen, strict=True):
            pieces += [s * rng.standard_normal(layer.n_weights), np.zeros(layer.n_biases)]
        return np.concatenate(pieces)

    def predict(self, theta: ArrayLike, X: ArrayLike) -> Array:
        """Outputs, one row per input."""
        return self._forward(self.split(theta), self._inputs(X))[1][-1]

    @states("DU-M4")
    def loss_and_gradient(
        self, theta: ArrayLike, X: ArrayLike, Y: ArrayLike, loss: str | Loss = "squared"
    ) -> tuple[float, Array]:
        """L = (1/m) sum over the m inputs of l(f(x_i), y_i), eq. (4.4), and its gradient by all
        parameters.

        Parameters
        ----------
        loss : str | Loss
            "squared" for (1/2)||f - y||^2, "cross_entropy" for log sum exp f - <y, f>, or a
            function (F, Y) -> (sum of the losses over the rows, its derivative by F).
        """
        pieces, x = self.split(theta), self._inputs(X)
        targets = np.asarray(Y, dtype=np.float64).reshape(len(x), -1)
        features, preactivations = self._forward(pieces, x)
        total, slopes = get_loss(loss)(preactivations[-1], targets)
        p, gradients = slopes / len(x), []
        for h in reversed(range(len(self.layers))):
            gradients.append(self.layers[h].gradient(features[h], p))
            if h > 0:
                below = self.layers[h].pull_back(pieces[h], p)
                p = self.activations[h - 1].derivative(preactivations[h - 1]) * below
        return float(total) / len(x), np.concatenate(gradients[::-1])

    def _forward(self, pieces: tuple[Array, ...], x: Array) -> tuple[list[Array], list[Array]]:
        features, preactivations = [x], []
        for h, (layer, v) in enumerate(zip(self.layers, pieces, strict=True)):
            preactivations.append(layer.apply(v, features[-1]))
            if h < len(self.activations):
                features.append(self.activations[h](preactivations[-1]))
        return features, preactivations

    def _inputs(self, X: ArrayLike) -> Array:
        inputs = np.asarray(X, dtype=np.float64)
        inputs = inputs.reshape(len(inputs), -1) if inputs.ndim > 1 else inputs
        if inputs.ndim != 2 or inputs.shape[1] != self.n_inputs:
            raise DataError(
                f"X has shape {np.shape(X)}; give one input of {self.n_inputs} numbers per row"
            )
        return inputs


def fully_connected(
    widths: Sequence[int],
    activations: str | Sequence[str | Activation] = "relu",
    *,
    bias: bool = False,
) -> HomogeneousNetwork:
    """Dense layers with these numbers of units, the inputs first and the outputs last."""
    sizes = [whole_number(width, "widths") for width in widths]
    if len(sizes) < 2:
        raise DataError(
            f"widths={tuple(widths)} needs at least two numbers: the inputs and the outputs"
        )
    layers = tuple(Dense(a, b, bias=bias) for a, b in pairwise(sizes))
    names = [activations] * (len(layers) - 1) if isinstance(activations, str) else activations
    return HomogeneousNetwork(layers, tuple(get_activation(name) for name in names))


def _check_chain(layers: tuple[Layer, ...], n_activations: int) -> None:
    if not layers:
        raise DataError("layers is empty; give at least one layer")
    if n_activations != len(layers) - 1:
        raise DataError(
            f"{n_activations} activations for {len(layers)} layers; give {len(layers) - 1}, one "
            "for each gap"
        )
    for h, (below, above) in enumerate(pairwise(layers)):
        if below.n_out != above.n_in:
            raise DataError(
                f"layers[{h}] has {below.n_out} outputs but layers[{h + 1}] takes {above.n_in} "
                "inputs"
            )


def _check_degrees(activations: tuple[Activation, ...]) -> None:
    for h, activation in enumerate(activations):
        p = activation.homogeneity
        if p is None or p < 1:
            raise HypothesisError(
                f"activation {activation} after layer {h + 1} is not homogeneous, so that nothing "
                "is conserved; take relu, leaky_relu, linear, abs or quadratic, or pass "
                "any_activation=True for a control experiment",
                hypothesis="sigma(c z) = c^p sigma(z) for c > 0",
                value=p,
            )
