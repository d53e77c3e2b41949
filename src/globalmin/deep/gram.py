"""Limiting Gram matrices of deep networks, the last hidden layer's and those of all layers
(DU-D3.1 to D3.4), by the one recursion of DU-D3.4 for all architectures.

At infinite width the channels of layer h are independent copies of one Gaussian-driven variable X =
D X' + rho(U): X' that of the layer below, U ~ N(0, P) with P = T(S') the patch Gram, independent of
X'. With rho = s sigma and D = 0 or 1 (erratum E10, E11):

    S = D (S' + s (b' mu^T + mu b'^T)) + s^2 F(P),    b = D b' + s mu,    mu_i = E sigma(sqrt(P_ii)
    z).

S and b are over pairs (sample, pixel), n p of them, sample by sample. Floats: estimates, not
bounds.

All three architectures are instances of `deep_framework`; the formulas carry the corrections E8,
E10, E11 of the errata. Floats: estimates, accurate to about 1e-13 relative to the size of the
entries.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalmin._options import Architecture
from globalmin._types import Array, ArrayLike
from globalmin.activations import Activation, get_activation
from globalmin.activations.dual import dual_matrices, dual_matrix
from globalmin.activations.moments import mean_square, mean_square_slope, mean_value, normalizer
from globalmin.data.pixels import Geometry, geometry_of, real_array
from globalmin.data.validation import gram_bytes, require_memory
from globalmin.deep.architecture import (
    DEFAULT_ARCHITECTURE,
    DEFAULT_DEPTH,
    check_depth,
    check_residual,
)
from globalmin.references import states

if TYPE_CHECKING:
    from collections.abc import Callable

    from globalmin.deep.network import DeepNetwork


def mean_at(activation: Activation, variances: Array) -> Array:
    """E sigma(sqrt(a) z) for every variance a >= 0."""
    return _at(variances, lambda scale: mean_value(activation, scale), float(activation(0.0)))


def mean_square_at(activation: Activation, variances: Array) -> Array:
    """E sigma(sqrt(a) z)^2 for every variance a >= 0."""
    return _at(variances, lambda scale: mean_square(activation, scale), float(activation(0.0)) ** 2)


def square_slope_at(activation: Activation, variances: Array) -> Array:
    """E sigma'(sqrt(a) z)^2 for every variance a >= 0."""
    return _at(
        variances,
        lambda scale: mean_square_slope(activation, scale),
        float(activation.derivative(0.0)) ** 2,
    )


def _at(variances: Array, moment: Callable[[Array], Array], at_zero: float) -> Array:
    distinct, places = np.unique(variances, return_inverse=True)
    values = np.full(distinct.shape, at_zero)
    positive = distinct > 0
    if positive.any():
        values[positive] = moment(np.sqrt(distinct[positive]))
    return values[places].reshape(variances.shape)


class Rule(NamedTuple):
    """One layer at infinite width: X = D X' + s sigma(U)."""

    scale: float
    is_skip: bool


class Stage(NamedTuple):
    """Pixel Gram S^(h) and mean b^(h) of one layer, (np) x (np) and (np)."""

    S: Array
    b: Array


@dataclass(frozen=True)
class Framework:
    """An instance of the recursion: the first Gram, the layers and the windows."""

    S0: Array
    rules: tuple[Rule, ...]
    geometry: Geometry
    activation: Activation

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.S0) // self.geometry.pixels

    @states("DU-D3.4")
    def advance(self, stage: Stage, rule: Rule, P: Array, F: Array) -> Stage:
        """One layer up, given the patch Gram P of the layer below and F = E[sigma(u) sigma(u)^T]
        for u ~ N(0, P).
        """
        s, mu = rule.scale, mean_at(self.activation, np.diag(P))
        S, b = s**2 * F, s * mu
        if rule.is_skip:
            cross = np.outer(stage.b, s * mu)
            S += stage.S + cross + cross.T
            b = b + stage.b
        return Stage(S, b)

    def start(self) -> Stage:
        """Layer 0, the inputs."""
        return Stage(self.S0, np.zeros(len(self.S0)))

    def stages(self, count: int) -> Iterator[Stage]:
        """Layers 0..count, one after the other, so that only what is kept takes memory."""
        stage = self.start()
        yield stage
        for rule in self.rules[:count]:
            P = self.geometry.patch_gram(stage.S)
            stage = self.advance(stage, rule, P, dual_matrix(self.activation, P))
            yield stage

    def layer(self, h: int) -> Stage:
        """Layer h alone."""
        return deque(self.stages(h), maxlen=1).pop()

    def pixel_trace(self, M: Array) -> Array:
        """Sum, n x n, over equal pixels of an (np) x (np) array; the head's weights at different
        pixels are uncorrelated.
        """
        p = self.geometry.pixels
        return np.einsum("iljl->ij", M.reshape(self.n, p, self.n, p))

    def pixel_sum(self, M: Array) -> Array:
        """Sum, n x n, over all pairs of pixels."""
        p = self.geometry.pixels
        return M.reshape(self.n, p, self.n, p).sum(axis=(1, 3))


def framework(
    X: ArrayLike,
    architecture: Architecture,
    depth: int,
    activation: str | Activation,
    *,
    c_res: float = 0.5,
    patch_size: int = 3,
    kept: int = 8,
) -> Framework:
    """The recursion for these inputs, refused before it starts if `kept` arrays of (np)^2 numbers
    do not fit in memory.
    """
    inputs, phi, H = (
        real_array(X, "X"),
        get_activation(activation),
        check_depth(depth, architecture),
    )
    geometry = geometry_of(inputs.shape[1:], architecture, patch_size)
    plain = Rule(math.sqrt(normalizer(phi)), False)
    upper = plain if architecture == "fully_connected" else Rule(check_residual(c_res) / H, True)
    return _pose(geometry.arrange(inputs), (plain,) + (upper,) * (H - 1), geometry, phi, kept)


def network_framework(network: DeepNetwork, X: ArrayLike, *, kept: int = 8) -> Framework:
    """The recursion of the network's own architecture, depth, activation and scales: layer h of
    width m_h has the limit scale s_h sqrt(m_h).
    """
    rules = tuple(
        Rule(s * math.sqrt(len(W)), skip)
        for s, W, skip in zip(network.scales, network.weights, network.skips, strict=True)
    )
    geometry = network.geometry
    return _pose(geometry.arrange(X), rules, geometry, network.activation, kept)


def _pose(
    arranged: Array, rules: tuple[Rule, ...], geometry: Geometry, phi: Activation, kept: int
) -> Framework:
    size = len(arranged) * geometry.pixels
    require_memory(
        gram_bytes(size, copies=kept),
        f"the deep recursion for n={len(arranged)} inputs of {geometry.pixels} pixel(s)",
    )
    pixels = arranged.reshape(size, geometry.channels)
    return Framework(pixels @ pixels.T, rules, geometry, phi)


class DeepKernel(NamedTuple):
    """The limiting Gram matrices of all trained blocks: G^(1), ..., G^(H) of the weight matrices
    and G^(H+1) of the head.
    """

    layers: tuple[Array, ...]

    @property
    def total(self) -> Array:
        """Their sum, the limit of J J^T."""
        return reduce(np.add, self.layers)

    @property
    def last(self) -> Array:
        """K^(H) = G^(H), of the last hidden weight matrix: the matrix of DU-T3.1 to T3.3."""
        return self.layers[-2]


@states("DU-D3.1", "DU-D3.2", "DU-D3.3")
def deep_gram(
    X: ArrayLike,
    architecture: Architecture = DEFAULT_ARCHITECTURE,
    depth: int = DEFAULT_DEPTH,
    activation: str | Activation = "softplus",
    *,
    c_res: float = 0.5,
    patch_size: int = 3,
) -> Array:
    r"""K^(H), n x n: the limit at infinite width of the Gram matrix of the last hidden weight
    matrix.

    Parameters
    ----------
    X : ArrayLike
        n inputs by rows, of any norm: n x d, or for a convolution n x channels x pixels or n x
        channels x height x width.
    architecture : str
        "fully_connected", "resnet" or "convolutional_resnet".
    depth : int
        Number H of hidden weight matrices; at least 2 for the residual architectures.
    c_res : float
        Strength of the residual branches; unused if fully connected.
    patch_size : int
        Odd side of the window; unused unless convolutional.

    Theory
    ------
    DU-D3.1, DU-D3.2, DU-D3.3, corrected. Zero rows give zero rows of K^(1) and, like repeated rows,
    a singular K^(H). With depth 1 the fully connected value is c_sigma times the two-layer Gram
    matrix, 2 H^inf for ReLU (erratum E9).
    """
    return last_layer_gram(
        framework(X, architecture, depth, activation, c_res=c_res, patch_size=patch_size)
    )


def deep_features(
    X: ArrayLike,
    architecture: Architecture = DEFAULT_ARCHITECTURE,
    depth: int = DEFAULT_DEPTH,
    activation: str | Activation = "softplus",
    *,
    c_res: float = 0.5,
    patch_size: int = 3,
) -> list[Stage]:
    """Feature Gram S^(h) and mean b^(h) of layers h = 0..H at infinite width, over pairs (sample,
    pixel).
    """
    H = check_depth(depth, architecture)
    recursion = framework(
        X, architecture, H, activation, c_res=c_res, patch_size=patch_size, kept=8 + H
    )
    return list(recursion.stages(H))


@states("DU-X3.1")
def deep_ntk(
    X: ArrayLike,
    architecture: Architecture = DEFAULT_ARCHITECTURE,
    depth: int = DEFAULT_DEPTH,
    activation: str | Activation = "softplus",
    *,
    c_res: float = 0.5,
    patch_size: int = 3,
) -> DeepKernel:
    r"""Limiting Gram matrices of all layers, the full neural tangent kernel; arguments as in
    `deep_gram`.

    Theory
    ------
    DU-X3.1, and for convolutions our extension: with the backward Gram B^(H) = 1 at equal pixels
    and 0 elsewhere, G^(h) = s_h^2 sum over pixels of B^(h) o P^(h-1) o F'(P^(h-1)) and B^(h-1) = D
    B^(h) + s_h^2 T(B^(h) o F'(P^(h-1))). Both lambda_min(K^(H)) and lambda_min of the sum bound the
    rate; the sum's is many times larger for residual networks.
    """
    H = check_depth(depth, architecture)
    return all_layers(
        framework(
            X, architecture, H, activation, c_res=c_res, patch_size=patch_size, kept=8 + 2 * H
        )
    )


@states("DU-X3.1", "DU-D3.1", "DU-D3.2", "DU-D3.3")
def network_kernel(network: DeepNetwork, X: ArrayLike) -> DeepKernel:
    """The limiting Gram matrices of all layers of a given network, see `DeepNetwork.limit_gram`."""
    return all_layers(network_framework(network, X, kept=8 + 2 * network.depth))


def all_layers(recursion: Framework) -> DeepKernel:
    """The limiting Gram matrices of all blocks of an instance of the recursion."""
    stage, moments = recursion.start(), []
    for rule in recursion.rules:
        P = recursion.geometry.patch_gram(stage.S)
        F, F_dot = dual_matrices(recursion.activation, P)
        moments.append((P, F_dot))
        stage = recursion.advance(stage, rule, P, F)
    return DeepKernel((*_weight_grams(recursion, moments), recursion.pixel_trace(stage.S)))


def last_layer_gram(recursion: Framework) -> Array:
    """K^(H) of an instance: s_H^2 times the trace over pixels of P^(H-1) o F'(P^(H-1)) (erratum
    E8).
    """
    below = recursion.layer(len(recursion.rules) - 1)
    return last_formula(recursion, recursion.geometry.patch_gram(below.S))


def last_formula(recursion: Framework, P: Array) -> Array:
    """The last line of the recursion at a given patch Gram, that of the limit or that of a finite
    network (DU-L3.22).
    """
    return recursion.rules[-1].scale ** 2 * recursion.pixel_trace(
        P * dual_matrix(recursion.activation, P, 1)
    )


def _weight_grams(recursion: Framework, moments: list[tuple[Array, Array]]) -> list[Array]:
    n, p = recursion.n, recursion.geometry.pixels
    B = np.tile(np.eye(p), (n, n))
    grams = []
    for rule, (P, F_dot) in zip(reversed(recursion.rules), reversed(moments), strict=True):
        pulled = rule.scale**2 * B * F_dot
        grams.append(recursion.pixel_sum(pulled * P))
        B = recursion.geometry.patch_gram(pulled) + (B if rule.is_skip else 0.0)
    return grams[::-1]
