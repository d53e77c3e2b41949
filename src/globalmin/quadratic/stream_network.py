"""A quadratic network with the scaling of the raw rows it reads."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.data.row_scaling import RowScaling
from globalmin.data.row_values import raw_inputs
from globalmin.linalg.symmetric import factored_forms
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.storage import save_network


@dataclass(frozen=True, eq=False)
class StreamNetwork:
    r"""$f(x) = \sum_l v_l (w_l \cdot x)^2$ of scaled inputs.

    Attributes
    ----------
    W : Array
        Weights, k x d, the constant input last.
    v : Array
        Heads.
    columns : tuple
        Names of the inputs and, last, of the label.
    scaling : RowScaling
        Shift and scale of the inputs and, last, of the label.
    bias : bool
        Whether a constant input 1 is added.
    """

    W: Array = field(repr=False)
    v: Array = field(repr=False)
    columns: tuple[str, ...]
    scaling: RowScaling = field(repr=False)
    bias: bool

    @property
    def width(self) -> int:
        """Neurons."""
        return self.W.shape[0]

    def predict(self, X: Any) -> Array:
        """Labels in their own units, of raw inputs: an n x q array, or a data frame with the
        columns that were fitted.
        """
        raw = raw_inputs(X, self.columns[:-1])
        scaled = (raw - self.scaling.shift[:-1]) * self.scaling.scale[:-1]
        if self.bias:
            scaled = np.column_stack([scaled, np.ones(len(scaled))])
        return (
            factored_forms(scaled, self.W, self.v) / self.scaling.scale[-1] + self.scaling.shift[-1]
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the network with its scaling to one file, for `globalmin.load`, `globalmin predict`
        and `globalmin export`.
        """
        steps = self.scaling.preprocessing(self.columns, bias=self.bias)
        network = ShallowNetwork(self.W, self.v, "quadratic")
        save_network(path, network, steps, {"loss": "squared"})

    def coefficients(self) -> list[tuple[str, float]]:
        """Of the products, squares and single columns of scaled inputs, in units of the label, the
        largest first; without the constant.
        """
        M = (self.W * self.v[:, None]).T @ self.W / self.scaling.scale[-1]
        names = [*self.columns[:-1], ""] if self.bias else list(self.columns[:-1])
        found = []
        for a in range(len(M)):
            for b in range(a, len(M)):
                name = f"{names[a]}²" if a == b else f"{names[a]} × {names[b]}".removesuffix(" × ")
                if names[a]:
                    found.append((name, float(M[a, b]) * (1.0 if a == b else 2.0)))
        return sorted(found, key=lambda term: -abs(term[1]))
