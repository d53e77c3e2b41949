"""Our networks as nodes of ONNX graphs: shallow, with weight decay, deep, on patches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.deep.network import DeepNetwork
from globalmin.errors import DataError
from globalmin.interop.findings import Findings
from globalmin.interop.onnx_nodes import Nodes
from globalmin.interop.onnx_tables import unit_rows
from globalmin.patches.network import PatchNetwork
from globalmin.regularized.network import RegularizedNetwork
from globalmin.shallow.network import ShallowNetwork

KINDS = "a ShallowNetwork, a RegularizedNetwork, a DeepNetwork, a PatchNetwork"


def network_nodes(
    nodes: Nodes,
    network: Any,
    rows: str,
    findings: Findings,
    *,
    bias: bool = False,
    unit: float = 1.0,
) -> str:
    """The outputs of a network times `unit`, n x outputs, at stored rows.

    Parameters
    ----------
    nodes : Nodes
        The graph.
    network : Any
        One of ours.
    rows : str
        The tensor of rows, without the constant column.
    findings : Findings
        Where activations without a form in ONNX are noted.
    bias : bool
        Whether the network reads a constant column behind these rows.
    unit : float
        Of the labels; multiplied into the head, see `Nodes.times`.
    """
    if isinstance(network, RegularizedNetwork):
        return _regularized(nodes, network, rows, findings, unit)
    if isinstance(network, ShallowNetwork):
        z = affine(nodes, rows, network.W, bias=bias)
        bent = nodes.activation(network.activation.spelling, z, findings, "the hidden layer")
        return nodes.node("MatMul", bent, nodes.constant(unit * network.v[:, None]))
    if isinstance(network, DeepNetwork):
        return _deep(nodes, network, rows, findings, bias=bias, unit=unit)
    if isinstance(network, PatchNetwork):
        return _patches(nodes, network, rows, unit)
    raise no_form(network)


def n_inputs(network: Any) -> int:
    """Numbers in one row of a network."""
    if isinstance(network, PatchNetwork):
        return network.layout.n_features
    if isinstance(network, DeepNetwork):
        return math.prod(network.input_shape)
    if isinstance(network, ShallowNetwork | RegularizedNetwork):
        return network.n_features
    raise no_form(network)


def no_form(model: Any) -> DataError:
    """The error for what cannot be written."""
    return DataError(
        f"model={type(model).__name__} has no form in ONNX here; give {KINDS}, an ImportedNetwork, "
        "the model of globalmin.load, or a fitted estimator of globalmin"
    )


def affine(nodes: Nodes, rows: str, W: Array, *, bias: bool) -> str:
    """W x, with the last column of W as the bias if there is one."""
    if not bias:
        return nodes.node("MatMul", rows, nodes.constant(W.T))
    product = nodes.node("MatMul", rows, nodes.constant(W[:, :-1].T))
    return nodes.node("Add", product, nodes.constant(W[:, -1]))


def _regularized(
    nodes: Nodes, network: RegularizedNetwork, rows: str, findings: Findings, unit: float
) -> str:
    head = unit * network.v.reshape(len(network.v), -1)
    product = nodes.node("MatMul", rows, nodes.constant(network.W.T))
    z = nodes.node("Add", product, nodes.constant(network.bias))
    bent = nodes.activation(network.activation.spelling, z, findings, "the hidden layer")
    parts = nodes.node("MatMul", bent, nodes.constant(head))
    if network.linear is not None and network.linear.any():
        straight = nodes.node("MatMul", rows, nodes.constant(unit * network.linear[:, None]))
        parts = nodes.node("Add", parts, straight)
    return nodes.node("Add", parts, nodes.constant(unit * np.atleast_1d(network.intercept)))


def _deep(
    nodes: Nodes, network: DeepNetwork, rows: str, findings: Findings, *, bias: bool, unit: float
) -> str:
    """Vectors stay n x m; pixels are n x pixels x channels, as in `deep.passes`."""
    geometry, has_pixels = network.geometry, len(network.input_shape) > 1
    features = rows
    if has_pixels:
        shape = nodes.whole([0, geometry.channels, geometry.pixels])
        features = nodes.node("Transpose", nodes.node("Reshape", rows, shape), perm=[0, 2, 1])
    name, least = network.activation.spelling, nodes.constant(np.finfo(nodes.kind).min)
    for h, (W, s) in enumerate(zip(network.weights, network.scales, strict=True)):
        read = _windows(nodes, network, features, W.shape[1])
        z = affine(nodes, read, W, bias=bias and h == 0)
        bent = nodes.activation(name, z, findings, f"layer {h + 1}")
        scaled = bent if s == 1.0 else nodes.node("Max", nodes.times(bent, s), least)
        features = nodes.node("Add", features, scaled) if network.skips[h] else scaled
    head = unit * network.head_matrix.T.reshape(-1, 1)
    if has_pixels:
        features = nodes.node("Reshape", features, nodes.whole([0, len(head)]))
    return nodes.node("MatMul", features, nodes.constant(head))


def _windows(nodes: Nodes, network: DeepNetwork, features: str, entries: int) -> str:
    """The neighbours of each pixel, zero outside."""
    geometry = network.geometry
    if geometry.window == 1:
        return features
    padded = nodes.node("Pad", features, nodes.whole([0, 0, 0, 0, 1, 0]))
    taken = nodes.node("Gather", padded, nodes.whole(geometry.table), axis=1)
    return nodes.node("Reshape", taken, nodes.whole([0, geometry.pixels, entries]))


def _patches(nodes: Nodes, network: PatchNetwork, rows: str, unit: float) -> str:
    layout = network.layout
    padded = nodes.node("Pad", rows, nodes.whole([0, 0, 0, 1]))
    Z = nodes.node("Gather", padded, nodes.whole(layout.table), axis=1)
    if layout.normalize == "contrast":
        Z = nodes.node("Sub", Z, nodes.node("ReduceMean", Z, axes=[2], keepdims=1))
    if layout.normalize != "none":
        Z = unit_rows(nodes, Z, 2)
    bent = nodes.node("Relu", affine(nodes, Z, network.filters, bias=layout.bias))
    head = unit * network.head.T.reshape(-1, 1)
    flat = nodes.node("Reshape", bent, nodes.whole([0, len(head)]))
    return nodes.node("MatMul", flat, nodes.constant(head))
