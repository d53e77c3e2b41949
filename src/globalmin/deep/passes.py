"""Forward and backward passes of deep networks, and the Jacobian and Gram matrices that follow from
them in closed form (DU-G3).

Arrays are n x pixels x channels. x^(h) = [x^(h-1) +] s_h sigma(Phi^(h) W^(h)T) with the patches
Phi^(h) = phi(x^(h-1)); the corrected gradients (erratum E13) come from p^(H) = a, Q^(h) =
sigma'(Z^(h)) o p^(h) and p^(h-1) = [p^(h) +] s_h phi^T(Q^(h) W^(h)).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalmin._types import Array
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.deep.network import DeepNetwork


class Forward(NamedTuple):
    """What a forward pass leaves: features x^(0..H), patches Phi^(1..H) and pre-activations
    Z^(1..H).
    """

    features: tuple[Array, ...]
    patches: tuple[Array, ...]
    preactivations: tuple[Array, ...]


@states("DU-M3a", "DU-M3b", "DU-M3c")
def forward(network: DeepNetwork, x: Array) -> Forward:
    """All layers at inputs x, n x pixels x channels."""
    features, patches, preactivations = [x], [], []
    for h, (W, s) in enumerate(zip(network.weights, network.scales, strict=True)):
        patches.append(network.geometry.patches(features[-1]))
        preactivations.append(patches[-1] @ W.T)
        value = s * network.activation(preactivations[-1])
        features.append(features[-1] + value if network.skips[h] else value)
    return Forward(tuple(features), tuple(patches), tuple(preactivations))


def outputs(network: DeepNetwork, passed: Forward) -> Array:
    """f(x_i) = <a, x_i^(H)>."""
    return np.einsum("ilr,rl->i", passed.features[-1], network.head_matrix)


@states("DU-G3")
def backward(network: DeepNetwork, passed: Forward) -> tuple[Array, ...]:
    """Q^(h) = sigma'(Z^(h)) o p^(h) for h = 1..H, each n x pixels x width: the derivative of f by
    Z^(h) is s_h Q^(h).
    """
    p = np.broadcast_to(network.head_matrix.T, passed.features[-1].shape)
    slopes = []
    for h in reversed(range(network.depth)):
        slopes.append(network.activation.derivative(passed.preactivations[h]) * p)
        if h > 0:
            pulled = network.scales[h] * network.geometry.fold(slopes[-1] @ network.weights[h])
            p = p + pulled if network.skips[h] else pulled
    return tuple(reversed(slopes))


@states("DU-G3")
def jacobian_blocks(network: DeepNetwork, passed: Forward) -> tuple[Array, ...]:
    """Derivatives of the n outputs by W^(1), ..., W^(H) and a, each n x (number of entries)."""
    n = len(passed.features[0])
    slopes = backward(network, passed)
    blocks = [
        s * np.matmul(Q.transpose(0, 2, 1), Phi).reshape(n, -1)
        for s, Q, Phi in zip(network.scales, slopes, passed.patches, strict=True)
    ]
    return (*blocks, passed.features[-1].transpose(0, 2, 1).reshape(n, -1))


@states("DU-G3")
def layer_grams(network: DeepNetwork, passed: Forward) -> tuple[Array, ...]:
    """G^(1), ..., G^(H+1), n x n: s_h^2 sum over pixels l, r of <Q_il, Q_jr><Phi_il, Phi_jr>, or
    with the layer's Jacobian where that costs less (images).
    """
    n = len(passed.features[0])
    grams = []
    for s, Q, Phi in zip(network.scales, backward(network, passed), passed.patches, strict=True):
        (p, m), columns = Q.shape[1:], Phi.shape[2]
        if p**2 * (m + columns) > m * columns:
            J = (Q.transpose(0, 2, 1) @ Phi).reshape(n, -1)
            grams.append(s**2 * (J @ J.T))
            continue
        product = _pixel_gram(Q) * _pixel_gram(Phi)
        grams.append(s**2 * product.reshape(n, p, n, p).sum(axis=(1, 3)))
    last = passed.features[-1].reshape(n, -1)
    return (*grams, last @ last.T)


def _pixel_gram(x: Array) -> Array:
    flat = x.reshape(-1, x.shape[2])
    return flat @ flat.T


@states("DU-G3")
def pull_back(network: DeepNetwork, passed: Forward, u: Array) -> Array:
    """J^T u as a flat vector of all parameters, without J: the gradient of the loss for u = r
    (erratum E13).
    """
    pieces = [
        s
        * ((Q * u[:, None, None]).reshape(-1, Q.shape[2]).T @ Phi.reshape(-1, Phi.shape[2])).ravel()
        for s, Q, Phi in zip(network.scales, backward(network, passed), passed.patches, strict=True)
    ]
    return np.concatenate([*pieces, np.einsum("i,ilr->rl", u, passed.features[-1]).ravel()])
