"""Forward and backward passes of deep networks, and the Jacobian and Gram matrices that follow from
them in closed form (DU-G3).

Arrays are n x pixels x channels. x^(h) = [x^(h-1) +] s_h sigma(Phi^(h) W^(h)T) with the patches
Phi^(h) = phi(x^(h-1)); the corrected gradients (erratum E13) come from p^(H) = a, Q^(h) =
sigma'(Z^(h)) o p^(h) and p^(h-1) = [p^(h) +] s_h phi^T(Q^(h) W^(h)).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalmin._types import Array
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.deep.network import DeepNetwork


class Forward(NamedTuple):
    """What a forward pass leaves: features x^(0..H), patches Phi^(1..H), pre-activations Z^(1..H)
    and sigma(Z^(1..H)).
    """

    features: tuple[Array, ...]
    patches: tuple[Array, ...]
    preactivations: tuple[Array, ...]
    values: tuple[Array, ...]


def _times(x: Array, M: Array) -> Array:
    """The product x M for an n x pixels x channels array, as one product of two matrices."""
    return (x.reshape(-1, x.shape[2]) @ M).reshape(x.shape[0], x.shape[1], M.shape[1])


@states("DU-M3a", "DU-M3b", "DU-M3c")
def forward(network: DeepNetwork, x: Array) -> Forward:
    """All layers at inputs x, n x pixels x channels."""
    features, patches, preactivations, values = [x], [], [], []
    for h, (W, s) in enumerate(zip(network.weights, network.scales, strict=True)):
        patches.append(network.geometry.patches(features[-1]))
        preactivations.append(_times(patches[-1], W.T))
        values.append(network.activation(preactivations[-1]))
        scaled = s * values[-1]
        features.append(features[-1] + scaled if network.skips[h] else scaled)
    return Forward(tuple(features), tuple(patches), tuple(preactivations), tuple(values))


def outputs(network: DeepNetwork, passed: Forward) -> Array:
    """f(x_i) = <a, x_i^(H)>."""
    last = passed.features[-1]
    return last.reshape(len(last), -1) @ network.head_matrix.T.ravel()


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
            pulled = network.scales[h] * network.geometry.fold(
                _times(slopes[-1], network.weights[h])
            )
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
def layer_grams(
    network: DeepNetwork, passed: Forward, slopes: tuple[Array, ...] | None = None
) -> tuple[Array, ...]:
    """G^(1), ..., G^(H+1), n x n: s_h^2 sum over pixels l, r of <Q_il, Q_jr><Phi_il, Phi_jr>, or
    with the layer's Jacobian where that costs less (images). `slopes` of `backward`, where they are
    known, save one pass.
    """
    n = len(passed.features[0])
    grams = []
    slopes = backward(network, passed) if slopes is None else slopes
    for s, Q, Phi in zip(network.scales, slopes, passed.patches, strict=True):
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
def pull_back(
    network: DeepNetwork, passed: Forward, u: Array, slopes: tuple[Array, ...] | None = None
) -> Array:
    """J^T u as a flat vector of all parameters, without J: the gradient of the loss for u = r
    (erratum E13). `slopes` of `backward`, where they are known, save one pass.
    """
    pulled = np.empty(network.n_parameters)
    *blocks, head = network.split(pulled)
    if slopes is None:
        _descend(network, passed, u, blocks)
    else:
        for s, Q, Phi, block in zip(network.scales, slopes, passed.patches, blocks, strict=True):
            _correlate(Q * (s * u)[:, None, None], Phi, block)
    last = passed.features[-1]
    head[...] = (u @ last.reshape(len(last), -1)).reshape(last.shape[1:]).T.reshape(head.shape)
    return pulled


def _correlate(Q: Array, Phi: Array, block: Array) -> None:
    """Sum over samples and pixels of Q Phi^T, written to the block."""
    np.matmul(Q.reshape(-1, Q.shape[2]).T, Phi.reshape(-1, Phi.shape[2]), out=block)


def _descend(network: DeepNetwork, passed: Forward, u: Array, blocks: Sequence[Array]) -> None:
    """J^T u for W^(1), ..., W^(H), written to the blocks, with u carried down the layers."""
    p = u[:, None, None] * network.head_matrix.T
    for h in reversed(range(network.depth)):
        Q = _slope_times(network, passed, h, p)
        Q *= network.scales[h]
        _correlate(Q, passed.patches[h], blocks[h])
        if h > 0:
            pulled = network.geometry.fold(_times(Q, network.weights[h]))
            p = p + pulled if network.skips[h] else pulled


def _slope_times(network: DeepNetwork, passed: Forward, h: int, p: Array) -> Array:
    """sigma'(Z^(h+1)) o p; sigma' of tanh from its values, where 1 - sigma^2 is right to a rounding
    of 1, all that a gradient needs.
    """
    if network.activation.name != "tanh":
        return network.activation.derivative(passed.preactivations[h]) * p
    Q = np.square(passed.values[h])
    np.subtract(1.0, Q, out=Q)
    return np.multiply(Q, p, out=Q)
