"""The value `Certificate`: claims with their witnesses, the network and the data they speak of, and
the bytes of the file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from globalmin.deep.claims.form import deep_network_object, deep_network_tensors
from globalmin.deep.network import DeepNetwork
from globalmin.files import data_digest, save_atomically
from globalmin.proving.claim import Claim, Json, Tensor, rational
from globalmin.proving.container import data_bytes, sealed_bytes

if TYPE_CHECKING:
    from globalmin.data import Dataset
    from globalmin.shallow.network import ShallowNetwork

PRODUCER = "globalmin"


@dataclass(frozen=True)
class Certificate:
    """Claims about one network at one data set, ready to be written; get one from `certify`.

    Attributes
    ----------
    claims : the claims, strongest first.
    network, data : what they speak of; the data after preprocessing.
    store_data : whether the file holds the data or only their digest.
    """

    claims: tuple[Claim, ...]
    network: ShallowNetwork | DeepNetwork = field(repr=False)
    data: Dataset = field(repr=False)
    store_data: bool = True

    def to_bytes(self) -> bytes:
        """The certificate file; the same certificate gives the same bytes."""
        return sealed_bytes(self._certificate_object(), self._tensors())

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the file atomically and return its path."""
        return save_atomically(path, self.to_bytes())

    def save_data(self, path: str | os.PathLike[str]) -> Path:
        """Write the data file that the checker needs beside a certificate made with
        `store_data=False`.
        """
        return save_atomically(path, data_bytes(self.data.X, self.data.y))

    def summary(self) -> dict[str, float]:
        """The numbers of all claims as floats, for reports; where two claims share a name the first
        claim's is given.
        """
        merged: dict[str, float] = {}
        for claim in self.claims:
            merged = {**claim.summary, **merged}
        return merged

    def _tensors(self) -> dict[str, Tensor]:
        network = self.network
        deep = isinstance(network, DeepNetwork)
        tensors: dict[str, Tensor] = (
            deep_network_tensors(network) if deep else {"W": network.W, "v": network.v}
        )
        if self.store_data:
            tensors |= {"X": self.data.X, "y": self.data.y}
        for index, claim in enumerate(self.claims):
            tensors |= {f"claims.{index}.{role}": tensor for role, tensor in claim.tensors.items()}
        return tensors

    def _certificate_object(self) -> dict[str, object]:
        X, y = self.data.X, self.data.y
        n, d = X.shape
        # The flag promises a last column of ones; scaling by rows breaks that, and then the bias is
        # an ordinary feature.
        bias = bool(self.data.bias and (X[:, -1] == 1.0).all())
        return {
            "producer": PRODUCER,
            "loss": "half-sum-of-squares",
            "network": _network_object(self.network),
            "data": {
                "bias": bias,
                "n": n,
                "d": d,
                "sha256": data_digest(X, y),
                "stored": self.store_data,
            },
            "claims": [claim.to_json() for claim in self.claims],
        }


def _network_object(network: ShallowNetwork | DeepNetwork) -> dict[str, Json]:
    if isinstance(network, DeepNetwork):
        return deep_network_object(network)
    activation = network.activation
    description: dict[str, Json] = {
        "kind": "shallow",
        "activation": activation.certificate_name or activation.name,
    }
    parameter = activation.certificate_parameter
    return description if parameter is None else {**description, "parameter": rational(parameter)}
