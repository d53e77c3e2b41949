"""A deep network as the certificate format writes it (sections 3 and 4): the object `network` and
the tensors `W_1`, ..., `v`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.deep.network import DeepNetwork
from globalmin.proving.certificate import Certificate
from globalmin.proving.claim import Json, Tensor, rational
from globalmin.proving.record import NetworkForm, Question, Subject

if TYPE_CHECKING:
    from globalmin.proving.claim import Claim

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


SUBJECT = Subject(
    DeepNetwork,
    _certificate,
    lambda network: NetworkForm(deep_network_object(network), deep_network_tensors(network)),
)
