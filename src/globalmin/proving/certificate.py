"""The value `Certificate`: claims with their witnesses, the network and the data they speak of,
and the bytes of the file; what is too large for producer or checker is refused before anything is
allocated.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from globalmin._types import Array
from globalmin.errors import CannotCertify, MemoryRefused
from globalmin.files import canonical_json, data_digest, packed, save_atomically
from globalmin.proving.claim import Claim, NetworkForm, Tensor, subject_of

if TYPE_CHECKING:
    from globalmin.data import Dataset

MEMORY_LIMIT = 4 * 2**30
# n x n float64 arrays alive at the same time: K, its shifted copy, C, the product, a workspace
_MATRICES = 5
# ball multiplications, 2 m^3 for one positive-definiteness test (certificate format, section 7)
CHECKER_WORK = 10**11


class HasWeights(Protocol):
    """A network with one hidden layer, k x d."""

    @property
    def W(self) -> Array:
        """The hidden weights."""
        ...


def refuse_if_too_large(n: int, network: HasWeights, *, fast: bool = False) -> None:
    """Raise MemoryRefused or CannotCertify if n samples are beyond the producer's memory or the
    checker's budget, which is only memory where its fast route knows the claim.
    """
    k, d = network.W.shape
    needed = 8 * (_MATRICES * n * n + 6 * n * (k + d))
    if needed > MEMORY_LIMIT:
        raise MemoryRefused(
            f"a certificate for n = {n} samples, d = {d}, k = {k} needs about {needed / 2**30:.1f} "
            f"GiB, more than the {MEMORY_LIMIT / 2**30:.0f} GiB allowed; certify fewer samples"
        )
    if not fast and 2 * n**3 > CHECKER_WORK:
        largest = int((CHECKER_WORK / 2) ** (1 / 3))
        raise CannotCertify(
            f"n = {n} samples: the checker's work budget ends at n = {largest}; certify fewer "
            "samples",
            reasons={"size": f"n = {n} > {largest}"},
        )


FORMAT = "globalmin-certificate/1"
_EMPTY_SEAL = "0" * 64


def sealed_bytes(certificate: Mapping[str, object], tensors: Mapping[str, Tensor]) -> bytes:
    """The whole certificate file: header with the canonical `certificate` string, tensors, and the
    seal over every byte.
    """
    metadata = {"certificate": canonical_json(certificate), "format": FORMAT, "seal": _EMPTY_SEAL}
    unsealed = bytearray(packed(tensors, metadata))
    # "seal" sorts last inside __metadata__ and no tensor entry holds 64 zeros in a row: the last
    # such run is the seal.
    header_end = 8 + int.from_bytes(unsealed[:8], "little")
    start = unsealed.rindex(_EMPTY_SEAL.encode("ascii"), 8, header_end)
    unsealed[start : start + 64] = hashlib.sha256(unsealed).hexdigest().encode("ascii")
    return bytes(unsealed)


def data_bytes(X: Tensor, y: Tensor) -> bytes:
    """The data file that goes with a certificate that stores only the digest: tensors X and y, no
    metadata.
    """
    return packed({"X": X, "y": y}, None)


PRODUCER = "globalmin"


class SealedCertificate:
    """Claims about one subject, ready to be written: what all certificate files have in common."""

    claims: tuple[Claim, ...]

    def to_bytes(self) -> bytes:
        """The certificate file; the same certificate gives the same bytes."""
        claims = [claim.to_json() for claim in self.claims]
        content = {"producer": PRODUCER, **self._description(), "claims": claims}
        return sealed_bytes(content, {**self._tensors(), **self._witnesses()})

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the file atomically and return its path."""
        return save_atomically(path, self.to_bytes())

    def summary(self) -> dict[str, float]:
        """The numbers of all claims as floats, for reports; where two claims share a name the first
        claim's is given.
        """
        merged: dict[str, float] = {}
        for claim in self.claims:
            merged = {**claim.summary, **merged}
        return merged

    def _description(self) -> Mapping[str, object]:
        """The members `loss`, `network` and `data` of the certificate object."""
        raise NotImplementedError

    def _tensors(self) -> Mapping[str, Tensor]:
        """The tensors of the network and the data."""
        raise NotImplementedError

    def _witnesses(self) -> dict[str, Tensor]:
        return {
            f"claims.{index}.{role}": tensor
            for index, claim in enumerate(self.claims)
            for role, tensor in claim.tensors.items()
        }


@dataclass(frozen=True)
class Certificate(SealedCertificate):
    """Claims about one network at one data set, ready to be written; get one from `certify`.

    Attributes
    ----------
    claims : the claims, strongest first.
    network, data : what they speak of; the data after preprocessing, without rows that repeat
        another where these do not matter.
    store_data : whether the file holds the data or only their digest.
    notes : what was left out of the data, and why.
    """

    claims: tuple[Claim, ...]
    network: Any = field(repr=False)
    data: Dataset = field(repr=False)
    store_data: bool = True
    notes: tuple[str, ...] = ()

    def save_data(self, path: str | os.PathLike[str]) -> Path:
        """Write the data file that the checker needs beside a certificate made with
        `store_data=False`.
        """
        return save_atomically(path, data_bytes(self.data.X, self.data.y))

    @property
    def _form(self) -> NetworkForm:
        form = subject_of(self.network).form
        if form is None:
            raise TypeError(f"a {type(self.network).__name__} has no samples to be stored with")
        return form(self.network)

    def _tensors(self) -> Mapping[str, Tensor]:
        samples = {"X": self.data.X, "y": self.data.y} if self.store_data else {}
        return {**self._form.tensors, **samples}

    def _description(self) -> Mapping[str, object]:
        X, y = self.data.X, self.data.y
        n, d = X.shape
        # The flag promises a last column of ones; scaling by rows breaks that, and then the bias is
        # an ordinary feature.
        bias = bool(self.data.bias and (X[:, -1] == 1.0).all())
        return {
            "loss": "half-sum-of-squares",
            "network": dict(self._form.description),
            "data": {
                "bias": bias,
                "n": n,
                "d": d,
                "sha256": data_digest(X, y),
                "stored": self.store_data,
            },
        }
