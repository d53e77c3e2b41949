"""Whether a network that was read has the outputs of the model it was read from: weights do not say
what stands between them, outputs do.

Both compute the same numbers in another order, so they may differ by rounding. How much is allowed
is a running analysis of the errors of both: in each layer a sum of d + 1 products of size m may be
off by (d + 2) u m, and what was off before is multiplied by the weights and by the slopes of the
activation; u is the unit roundoff of the framework's arithmetic, ours being float64. Twice that,
for two computations, and eight units more for the activation itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from globalmin._types import Array
from globalmin.activations import get_activation
from globalmin.errors import DataError
from globalmin.interop.network import ImportedNetwork, output_values

Slack = Mapping[int, tuple[float, float]]  # layer -> (from this z on, this much)
PROBES = 64
_INVERSE = {"subtract": np.add, "add": np.subtract, "multiply": np.divide, "divide": np.multiply}


class DisagreementError(DataError):
    """The outputs of what was read are not those of the model."""


@dataclass(frozen=True)
class Agreement:
    """How far the outputs read here are from the framework's own, on probe rows.

    Attributes
    ----------
    largest : float
        Largest difference of an output.
    relative : float
        The same relative to one plus the largest output.
    tol : float
        What rounding may make of it at most, where it was largest.
    arithmetic : str
        "float64" or "float32": in which the framework computed.
    rows : int
        Number of probe rows.
    reason : str
        Why the framework was not run in float64; empty if it was.
    """

    largest: float
    relative: float
    tol: float
    arithmetic: str
    rows: int
    reason: str = ""

    def __str__(self) -> str:
        why = f" ({self.reason})" if self.reason else ""
        return (
            f"outputs agree with the framework's own in {self.arithmetic}{why} to "
            f"{self.largest:.2g} on {self.rows} rows, rounding allows {self.tol:.2g}"
        )


def probe_rows(network: ImportedNetwork, n: int = PROBES) -> Array:
    """Rows that the first layer sees as standard normal ones, and one that it sees as zero."""
    rows = np.random.default_rng(0).standard_normal((n, network.n_features))
    rows[0] = 0.0
    for kind, numbers in reversed(network.scaling.steps if network.scaling else ()):
        with np.errstate(divide="ignore", invalid="ignore"):
            rows = np.nan_to_num(_INVERSE[kind](rows, numbers))
    return rows


def rounding_room(
    network: ImportedNetwork, X: Array, unit: float, slack: Slack | None = None
) -> Array:
    """What rounding may make of the outputs at these rows, n x q: see the module; `slack` is what
    the framework's activation of a layer may be off besides, from a number z on.
    """
    x = network.scaled(X)
    off = 4.0 * unit * np.abs(x)
    for number, layer in enumerate(network.layers):
        z = layer.values(x)
        sizes = np.abs(x) @ np.abs(layer.W).T + np.abs(layer.bias)
        off = off @ np.abs(layer.W).T + 2.0 * (layer.W.shape[1] + 2) * unit * sizes
        phi = get_activation(layer.activation)
        # slopes beside z too: z itself is off by `off`
        slope = np.maximum(np.abs(phi.derivative(z + off)), np.abs(phi.derivative(z - off)))
        x = phi(z)
        begins, more = (slack or {}).get(number, (np.inf, 0.0))
        besides = np.where(z + off >= begins, more, 0.0) + 8.0 * unit * (1.0 + np.abs(x))
        off = np.maximum(slope, np.abs(phi.derivative(z))) * off + besides
    if network.output == "softmax":
        return np.full_like(off, float(off.max(initial=0.0)) + 16.0 * unit)
    if network.output == "exp":
        return np.exp(x) * np.expm1(off) + 16.0 * unit * np.exp(x)
    slope = get_activation("linear" if network.output == "identity" else network.output)
    return (1.0 + np.abs(slope.derivative(x))) * off + 16.0 * unit


def agreed(
    network: ImportedNetwork,
    theirs: Callable[[Array], Array],
    *,
    precision: str = "float64",
    reason: str = "",
    probe: Array | None = None,
    slack: Slack | None = None,
) -> ImportedNetwork:
    """The network with its agreement; an error if its outputs are not the framework's."""
    X = probe_rows(network) if probe is None else probe
    if precision == "float32":
        X = X.astype(np.float32).astype(np.float64)  # rows that both read as the same numbers
    outputs = np.asarray(theirs(X), dtype=np.float64)
    ours = output_values(network._last(X), network.output)
    if outputs.size != ours.size:
        raise DisagreementError(
            f"{network.origin} gives outputs of shape {outputs.shape} for {len(X)} rows; the "
            f"layers that were read give {ours.shape}"
        )
    unit = float(np.finfo(precision).eps)
    room = rounding_room(network, X, unit, slack)
    away = np.abs(outputs.reshape(ours.shape) - ours)
    worst = np.unravel_index(int(np.argmax(away)), away.shape)
    if not (away <= room).all():
        raise DisagreementError(
            f"{network.origin}: its outputs differ by {float(away.max()):.3g} from those of the "
            f"layers that were read, and rounding allows {float(room[worst]):.3g}; it does "
            "something that these layers do not say"
        )
    largest = float(away.max())
    found = Agreement(
        largest,
        largest / (1.0 + float(np.abs(ours).max())),
        float(room[worst]),
        precision,
        len(X),
        reason,
    )
    return replace(network, agreement=found)
