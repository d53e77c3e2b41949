"""The certificate container: a canonical JSON string and tensors under one seal
(spec/certificate-v1.md, sections 1 to 4).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from globalmin.files import canonical_json, packed

if TYPE_CHECKING:
    from globalmin.proving.claim import Tensor

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
