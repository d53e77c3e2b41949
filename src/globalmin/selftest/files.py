"""Small certificate files of several claims, and what an enemy or a bad disk makes of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from globalmin.data import Dataset, generators
from globalmin.files import data_digest
from globalmin.proving.certificate import sealed_bytes
from globalmin.proving.producer import certify
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.train import train_auto

SIZES = {"softplus": (12, 3, 6), "tanh": (10, 4, 5), "relu": (8, 4, 6), "quadratic": (10, 3, 4)}
_DTYPES = {"F64": "<f8", "I64": "<i8"}


def made(folder: Path, seed: int) -> dict[str, Path]:
    """One file for each activation, trained to zero loss on random labels, and one about labels
    that no network fits.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name, (n, d, k) in SIZES.items():
        data = generators.sphere_with_random_labels(n, d, seed=seed)
        run = train_auto(data, width=k, activation=name, seed=seed)
        paths[name] = certify(run.network, data).save(folder / f"{name}.gmc")
    twice = Dataset.from_preprocessed([[1.0, 0.0], [1.0, 0.0]], [0.0, 1.0])
    network = ShallowNetwork([[1.0, 0.0]], [0.5], "relu")
    paths["floor"] = certify(network, twice, claims=["loss-floor"]).save(folder / "floor.gmc")
    return paths


def damaged(raw: bytes, rng: np.random.Generator) -> bytes:
    """One careless change of the bytes: a bit, a block, a cut, an insertion."""
    place, size = int(rng.integers(len(raw))), 1 + int(rng.integers(16))
    changes: list[Callable[[], bytes]] = [
        lambda: raw[:place] + bytes([raw[place] ^ (1 << int(rng.integers(8)))]) + raw[place + 1 :],
        lambda: raw[:place] + rng.bytes(size) + raw[place + size :],
        lambda: raw[:place],
        lambda: raw[:place] + rng.bytes(size) + raw[place:],
        lambda: raw[:place] + raw[place + size :],
    ]
    return changes[int(rng.integers(len(changes)))]()


def forged(raw: bytes) -> Iterator[bytes]:
    """The file with one label moved away from the fit, its digest and seal made anew: the claim is
    false, for the loss at the stored weights is then at least 1/2 and the file says it is almost 0.
    """
    end = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:end])
    certificate = json.loads(header.pop("__metadata__")["certificate"])
    tensors = {}
    for name, entry in header.items():
        first, last = (end + offset for offset in entry["data_offsets"])
        values = np.frombuffer(raw[first:last], _DTYPES[entry["dtype"]])
        tensors[name] = values.reshape(entry["shape"])
    y = tensors["y"]
    for i in range(len(y)):
        for move in (-1.0, 1.0):
            moved = y.copy()
            moved[i] += move
            certificate["data"]["sha256"] = data_digest(tensors["X"], moved)
            yield sealed_bytes(certificate, {**tensors, "y": moved})
