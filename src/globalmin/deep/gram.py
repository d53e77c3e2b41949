r"""Limiting Gram matrices of deep networks: the last hidden layer's and those of all layers
(DU-D3.1 to D3.4, DU-X3.1).

All three architectures are instances of `deep_framework`; the formulas carry the corrections E8,
E10, E11 of the errata. Floats: estimates, accurate to about 1e-13 relative to the size of the
entries.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalmin._options import Architecture
from globalmin._types import Array, ArrayLike
from globalmin.activations.dual import dual_matrices, dual_matrix
from globalmin.deep.framework import Framework, Stage, framework
from globalmin.deep.initialization import check_depth
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.activations import Activation


class DeepKernel(NamedTuple):
    """The limiting Gram matrices of all trained blocks: G^(1), ..., G^(H) of the weight matrices
    and G^(H+1) of the head.
    """

    layers: tuple[Array, ...]

    @property
    def total(self) -> Array:
        """Their sum, the limit of J J^T."""
        return reduce(np.add, self.layers)


@states("DU-D3.1", "DU-D3.2", "DU-D3.3")
def deep_gram(
    X: ArrayLike,
    architecture: Architecture = "resnet",
    depth: int = 5,
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
    architecture: Architecture = "resnet",
    depth: int = 5,
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
    architecture: Architecture = "resnet",
    depth: int = 5,
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
    recursion = framework(
        X, architecture, H, activation, c_res=c_res, patch_size=patch_size, kept=8 + 2 * H
    )
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
