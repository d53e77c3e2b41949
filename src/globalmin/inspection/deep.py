"""`inspect` at a deep network: its kernel on the data, what gradient descent from here is predicted
to do, and what theorem DS says. Estimates in floats.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.deep.lipschitz import estimate_deep_descent
from globalmin.deep.network import DeepNetwork
from globalmin.deep.prediction import DeepPrediction, predict_deep
from globalmin.errors import DataError
from globalmin.facts.finding import finite, number

FORMAT = "globalmin-deep-inspection/1"
LIMIT = 1_000  # samples (times pixels) up to which the limiting kernel is computed
CURVE = (0, 1, 10, 100, 1_000, 10_000)  # steps of the predicted curve that are printed


@dataclass(frozen=True)
class DeepQuantity:
    """One measured number: its symbol, its meaning in words, and its value; None where it was not
    computed.
    """

    symbol: str
    meaning: str
    value: float | None


@dataclass(frozen=True, eq=False)
class DeepInspection:
    """What can be said of a deep network on data before it is trained further; print it, or ask for
    `to_json()`.

    Attributes
    ----------
    network : in words.
    quantities : the numbers.
    prediction : the linearized run of gradient descent from these weights.
    eigenvalues : of the kernel J J^T of all layers at these weights, increasing.
    """

    network: str
    quantities: tuple[DeepQuantity, ...]
    prediction: DeepPrediction = field(repr=False)
    eigenvalues: Array = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        losses = self.prediction.losses(CURVE)
        return {
            "format": FORMAT,
            "network": self.network,
            "quantities": [{**asdict(q), "value": finite(q.value)} for q in self.quantities],
            "prediction": {"steps": list(CURVE), "losses": [finite(x) for x in losses.tolist()]},
            "eigenvalues": [finite(x) for x in self.eigenvalues.tolist()],
        }

    def to_json(self) -> str:
        """The same as text, sorted keys, ended by a line feed."""
        text = json.dumps(
            self.to_dict(), sort_keys=True, indent=1, allow_nan=False, ensure_ascii=False
        )
        return text + "\n"

    def __str__(self) -> str:
        rows = [self.network, ""]
        for q in self.quantities:
            value = "not computed" if q.value is None else number(q.value)
            rows.append(f"  {q.symbol:<12} {value:<14} {q.meaning}")
        losses = ", ".join(
            f"{number(float(loss))} after {step:,}"
            for step, loss in zip(CURVE, self.prediction.losses(CURVE), strict=True)
        )
        rows += ["", f"  predicted loss of gradient descent: {losses} steps", ""]
        return "\n".join(rows)


def inspect_deep(network: DeepNetwork, data: Any) -> DeepInspection:
    """What a deep network is on these data: spectrum of the kernel of all layers, here and in the
    limit of wide layers, the predicted loss curve, and whether convergence of gradient descent from
    these weights can be expected to be provable.

    Parameters
    ----------
    network : DeepNetwork
        Trained or not.
    data : Any
        A Dataset, or anything with X and y.

    Returns
    -------
    DeepInspection
        Print it, or ask for `to_json()`.
    """
    if math.prod(np.shape(data.X)[1:]) != math.prod(network.input_shape):
        raise DataError(
            f"the network takes inputs of shape {network.input_shape}, the data have "
            f"{np.shape(data.X)[1]} columns; give the data it was trained on"
        )
    found = predict_deep(network, data)
    descent = estimate_deep_descent(network, data.X, data.y)
    n, values = len(found.eigenvalues), found.eigenvalues
    total, last = math.nan, math.nan
    if n * network.geometry.pixels <= LIMIT and network.activation.is_smooth:
        limit = network.limit_gram(data.X)
        total, last = (float(np.linalg.eigvalsh(K)[0]) for K in (limit.total, limit.last))
    decade = math.log(10) / -math.log(found.rate) if 0 < found.rate < 1 else math.inf
    said = "theorem DS can be expected to prove descent to zero loss from here: 1 yes, 0 no"
    quantities = (
        DeepQuantity("loss", "½ Σ (f(xᵢ) − yᵢ)² of these weights", float(found.losses([0])[0])),
        DeepQuantity("λ_min", "of J Jᵀ, all layers, at these weights", float(values[0])),
        DeepQuantity("λ_max", "of the same matrix", float(values[-1])),
        DeepQuantity("λ_min(∞)", "of its limit as the layers widen", finite(total)),
        DeepQuantity("λ_min(K^H)", "of the limit of the last hidden layer's part", finite(last)),
        DeepQuantity("η", "step of gradient descent, 1/λ_max", found.step_size),
        DeepQuantity("rate", "predicted factor of the residual a step, at last", found.rate),
        DeepQuantity("decade", "steps to a tenth of the residual at that rate", finite(decade)),
        DeepQuantity("DS", said, float(descent.holds)),
    )
    form = network.architecture.replace("_", " ")
    words = (
        f"{form} network, depth {network.depth}, width {network.width}, {network.activation}, "
        f"{network.n_parameters} weights, on {n} samples"
    )
    return DeepInspection(words, quantities, found, values)
