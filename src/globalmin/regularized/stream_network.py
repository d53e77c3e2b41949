"""An additive ReLU network with the scaling of the raw rows it reads."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.data.row_scaling import RowScaling
from globalmin.data.row_values import raw_inputs
from globalmin.regularized.network import RegularizedNetwork
from globalmin.shallow.storage import save_network


@dataclass(frozen=True, eq=False)
class AdditiveStreamNetwork:
    r"""$f(x) = c_0 + \sum_l v_l\,\mathrm{relu}(w_l x_{j(l)} + \beta_l)$ of scaled inputs.

    Attributes
    ----------
    network : RegularizedNetwork
        The network of the scaled inputs; every neuron sees one column.
    columns : tuple
        Names of the inputs and, last, of the label.
    scaling : RowScaling
        Shift and scale of the inputs and, last, of the label.
    """

    network: RegularizedNetwork
    columns: tuple[str, ...]
    scaling: RowScaling = field(repr=False)

    @property
    def width(self) -> int:
        """Neurons."""
        return self.network.width

    def predict(self, X: Any) -> Array:
        """Labels in their own units, of raw inputs: an n x q array, or a data frame with the
        columns that were fitted.
        """
        raw, scaling = raw_inputs(X, self.columns[:-1]), self.scaling
        scaled = (raw - scaling.shift[:-1]) * scaling.scale[:-1]
        return self.network.predict(scaled) / scaling.scale[-1] + scaling.shift[-1]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the network with its scaling to one file, for `globalmin.load`, `globalmin predict`
        and `globalmin export`.
        """
        steps = self.scaling.preprocessing(self.columns, bias=False)
        save_network(path, self.network, steps, {"loss": "squared"})

    def curve(self, column: int, low: float, high: float) -> tuple[Array, Array]:
        """What a column adds to the output between two raw numbers, in units of the label and zero
        at the lower one: the kinks with both ends, and the values there.
        """
        inner, scaling = self.network, self.scaling
        seen = np.flatnonzero(inner.W[:, column])
        w, bias, v = inner.W[seen, column], inner.bias[seen], inner.v[seen]
        kinks = -bias / w / scaling.scale[column] + scaling.shift[column]
        x = np.unique(np.concatenate([[low, high], kinks[(kinks > low) & (kinks < high)]]))
        z = (x - scaling.shift[column]) * scaling.scale[column]
        y = np.maximum(z[:, None] * w + bias, 0.0) @ v / scaling.scale[-1]
        return x, y - y[0]
