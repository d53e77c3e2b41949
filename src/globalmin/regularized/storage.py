"""Networks trained with weight decay on disk: what `save_network` writes and `load_network` reads
of them, one safetensors file with one network, or several (one per class).

Tensors `0.W`, `0.bias`, `0.v`, `0.intercept` (one number), `0.linear` if there is a linear part
(with c outputs that share the neurons `0.v` is k x c and `0.intercept` has c numbers, no linear),
and with preprocessing `0.x_shift`, `0.x_scale`; the next network has `1.`, and so on. The metadata
are the strings `format` ("globalmin-regularized-network/1"), `activation` ("relu", or "quadratic"
for networks of squares), `networks` (their number), `preprocessing` (if any) and `extra` (JSON).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from globalmin._types import NDArray
from globalmin.errors import DataError
from globalmin.regularized.network import RegularizedNetwork
from globalmin.regularized.shared import SharedNetwork
from globalmin.regularized.squares import SquaresNetwork
from globalmin.shallow.storage import network_count, require_tensors

FORMATS = ("globalmin-regularized-network/1",)
NETWORK = RegularizedNetwork
KINDS: dict[str, type[RegularizedNetwork]] = {
    "relu": RegularizedNetwork,
    "quadratic": SquaresNetwork,
}

Tensors = dict[str, NDArray[np.float64]]


def n_inputs(network: RegularizedNetwork) -> int:
    """Numbers in one input."""
    return network.n_features


def written(networks: Sequence[RegularizedNetwork]) -> tuple[Tensors, dict[str, str]]:
    """Tensors and header fields, for `save_networks`."""
    tensors: Tensors = {}
    for j, network in enumerate(networks):
        tensors |= {f"{j}.W": network.W, f"{j}.bias": network.bias, f"{j}.v": network.v}
        tensors[f"{j}.intercept"] = np.atleast_1d(np.asarray(network.intercept, float))
        if network.linear is not None:
            tensors[f"{j}.linear"] = network.linear
    return tensors, {"format": FORMATS[0]}


def read(tensors: Tensors, header: dict[str, str]) -> tuple[RegularizedNetwork, ...]:
    """The networks of a file, for `load_networks`."""
    kind = KINDS.get(header.get("activation", ""))
    if kind is None:
        raise DataError(
            f"activation={header.get('activation')!r} must be one of {', '.join(KINDS)}"
        )
    count = network_count(header)
    own = {f"{j}.{role}" for j in range(count) for role in ("W", "bias", "v", "intercept")}
    linear = {f"{j}.linear" for j in range(count)} & set(tensors)
    require_tensors(tensors, header, own | linear)
    return tuple(_network(kind, tensors, j) for j in range(count))


def _network(kind: type[RegularizedNetwork], tensors: Tensors, j: int) -> RegularizedNetwork:
    intercept = tensors[f"{j}.intercept"]
    if tensors[f"{j}.v"].ndim == 2 and f"{j}.linear" not in tensors:
        return SharedNetwork(tensors[f"{j}.W"], tensors[f"{j}.bias"], tensors[f"{j}.v"], intercept)
    if intercept.shape != (1,):
        raise DataError(f"the intercept of network {j} must be one number")
    if kind is SquaresNetwork and f"{j}.linear" in tensors:
        raise DataError(f"network {j} is of squares and has a linear part, which these have not")
    return kind(
        tensors[f"{j}.W"],
        tensors[f"{j}.bias"],
        tensors[f"{j}.v"],
        float(intercept[0]),
        tensors.get(f"{j}.linear"),
    )
