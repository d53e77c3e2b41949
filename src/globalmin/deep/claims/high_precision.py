"""Residual and Gram matrix of a deep network far beyond double precision, as balls (python-flint).

As in `high_precision`: these numbers choose what is claimed, the checker recomputes them in its own
way.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.deep.network import DeepNetwork
from globalmin.linalg.positive_definite import BallMatrix, ball_matrix, working_precision
from globalmin.proving.certificate import Certificate
from globalmin.proving.claim import (
    Claim,
    Json,
    NetworkForm,
    Question,
    StartQuestion,
    Subject,
    Tensor,
    rational,
)
from globalmin.shallow.claims.high_precision import PreciseResidual, slope_of, value_of

CONVOLUTIONAL = "convolutional_resnet"


def deep_network_object(network: DeepNetwork) -> dict[str, Json]:
    """The object `network`: activation, scale and kind of every layer, and the number of pixels of
    a convolution.
    """
    activation = network.activation
    layers = [
        {"residual": skip, "scale": rational(s)}
        for s, skip in zip(network.scales, network.skips, strict=True)
    ]
    name = activation.certificate_name or activation.name
    description: dict[str, Json] = {"kind": "deep", "activation": name, "layers": layers}
    if activation.certificate_parameter is not None:
        description["parameter"] = rational(activation.certificate_parameter)
    return description | (
        {"pixels": network.geometry.pixels} if network.architecture == CONVOLUTIONAL else {}
    )


def deep_network_tensors(network: DeepNetwork) -> dict[str, Tensor]:
    """The weights, the head row by row (channels x pixels), and for a convolution the pixels of
    every window, -1 outside.
    """
    tensors: dict[str, Tensor] = {f"W_{h}": W for h, W in enumerate(network.weights, start=1)}
    tensors["v"] = network.head.ravel()
    if network.architecture == CONVOLUTIONAL:
        table = network.geometry.table
        tensors["patches"] = np.where(table == network.geometry.pixels, -1, table).astype(np.int64)
    return tensors


def _certificate(claims: tuple[Claim, ...], question: Question, store_data: bool) -> Any:
    return Certificate(claims, question.network, question.data, store_data, question.notes)


def _from_start(question: StartQuestion) -> Any:
    from globalmin.deep.from_start import prove_deep_start

    return prove_deep_start(question)


SUBJECT = Subject(
    DeepNetwork,
    _certificate,
    lambda network: NetworkForm(deep_network_object(network), deep_network_tensors(network)),
    from_start=_from_start,
)


def _patch_map(network: DeepNetwork, n: int, channels: int) -> list[list[int]]:
    """The index of every entry of the (np) x (qc) patches in the flat (np) x c features; the last
    index is the padding.
    """
    p = network.geometry.pixels
    table = (
        network.geometry.table
        if network.geometry.window > 1
        else np.zeros((p, 1), dtype=int) + np.arange(p)[:, None]
    )
    rows = np.where(table == p, -1, table)[None] + p * np.arange(n)[:, None, None]
    outside = np.broadcast_to(table == p, rows.shape)
    index = rows[..., None] * channels + np.arange(channels)
    index[outside] = n * p * channels
    return index.reshape(n * p, -1).tolist()


class PreciseDeep:
    """Forward pass of the stored network in balls; arrays are (np) x channels matrices."""

    def __init__(self, network: DeepNetwork, X: Array, y: Array) -> None:
        from flint import arb_mat

        self.network, self.n = network, len(y)
        value, slope = value_of(network.activation), slope_of(network.activation)
        with working_precision():
            x = ball_matrix(network.geometry.arrange(X).reshape(-1, network.geometry.channels))
            self.patches, self.slopes = [], []
            for W, s, skip in zip(network.weights, network.scales, network.skips, strict=True):
                self.patches.append(self._cut(x))
                Z = self.patches[-1] * ball_matrix(W).transpose()
                self.slopes.append(arb_mat(Z.nrows(), Z.ncols(), [slope(z) for z in Z.entries()]))
                out = arb_mat(Z.nrows(), Z.ncols(), [s * value(z) for z in Z.entries()])
                x = x + out if skip else out
            self.last = x
            head = ball_matrix(network.head_matrix.T.reshape(-1, 1))
            flat = arb_mat(self.n, x.nrows() * x.ncols() // self.n, x.entries())
            self.flat = flat
            self.r = flat * head - ball_matrix(y)

    def _cut(self, x: BallMatrix) -> BallMatrix:
        from flint import arb, arb_mat

        if self.network.geometry.window == 1:
            return x
        index = _patch_map(self.network, self.n, x.ncols())
        entries = [*x.entries(), arb(0)]
        return arb_mat([[entries[i] for i in row] for row in index])

    def residual(self) -> PreciseResidual:
        """f(X) - y with its radii."""
        entries = self.r.entries()
        return PreciseResidual(
            np.array([float(x) for x in entries]), np.array([float(x.rad()) for x in entries])
        )

    def gram(self) -> BallMatrix:
        """J J^T over all layers and the head."""
        from flint import arb, arb_mat

        network, n = self.network, self.n
        p = network.geometry.pixels
        with working_precision():
            G = self.flat * self.flat.transpose()
            above = ball_matrix(np.tile(network.head_matrix.T, (n, 1)))
            for h in reversed(range(network.depth)):
                q = _hadamard(self.slopes[h], above)
                scale = arb(network.scales[h])
                if p > 1:
                    J = arb_mat(_sample_products(q, self.patches[h], p))
                    product = J * J.transpose()
                else:
                    product = _hadamard(
                        q * q.transpose(), self.patches[h] * self.patches[h].transpose()
                    )
                G = G + product * (scale * scale)
                if h > 0:
                    pulled = (
                        self._fold(
                            q * ball_matrix(network.weights[h]), network.weights[h - 1].shape[0]
                        )
                        * scale
                    )
                    above = above + pulled if network.skips[h] else pulled
            return G

    def _fold(self, g: BallMatrix, channels: int) -> BallMatrix:
        from flint import arb, arb_mat

        if self.network.geometry.window == 1:
            return g
        index = _patch_map(self.network, self.n, channels)
        result = [arb(0)] * (g.nrows() * channels + 1)
        for place, entry in zip(chain.from_iterable(index), g.entries(), strict=True):
            result[place] += entry
        return arb_mat(g.nrows(), channels, result[:-1])


def _sample_products(q: BallMatrix, patches: BallMatrix, p: int) -> list[list[Any]]:
    """The rows of one layer's Jacobian: the sum over the p pixels of a sample of q Phi^T."""
    from flint import arb_mat

    slopes, windows, starts = q.tolist(), patches.tolist(), range(0, q.nrows(), p)
    return [
        (arb_mat(slopes[i : i + p]).transpose() * arb_mat(windows[i : i + p])).entries()
        for i in starts
    ]


def _hadamard(A: BallMatrix, B: BallMatrix) -> BallMatrix:
    from flint import arb_mat

    return arb_mat(
        A.nrows(), A.ncols(), [a * b for a, b in zip(A.entries(), B.entries(), strict=True)]
    )
