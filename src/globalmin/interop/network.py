r"""A network that came from elsewhere, as a plain value: its layers in float64, what is done to the
inputs before them and to the outputs after them.

None of our families represents everything that comes in (`ShallowNetwork` has no output bias,
`RegularizedNetwork` only relu, `DeepNetwork` no biases, all of them one output). This one does; its
methods say which family it is, exactly, or what stands in the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.activations import get_activation
from globalmin.activations.functions import logistic
from globalmin.data.validation import as_floats, as_matrix, frozen
from globalmin.errors import DataError
from globalmin.losses.several import probabilities

if TYPE_CHECKING:
    from globalmin.deep.network import DeepNetwork
    from globalmin.interop.agreement import Agreement
    from globalmin.interop.families import Posed
    from globalmin.regularized.network import RegularizedNetwork
    from globalmin.shallow.network import ShallowNetwork

Operation = Literal["subtract", "add", "multiply", "divide"]
OUTPUTS = ("identity", "softmax", "exp")  # of the outputs, besides the activations


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer of a network from elsewhere, phi(W x + b).

    Attributes
    ----------
    W : Array
        Outputs x inputs, float64, read-only.
    b : Array | None
        One number per output; None where the layer has no bias at all.
    activation : str
        As `get_activation` spells it; "linear" for none.
    """

    W: Array
    b: Array | None = None
    activation: str = "linear"

    if TYPE_CHECKING:  # what the generated constructor takes: lists too, converted below

        def __init__(
            self, W: ArrayLike, b: ArrayLike | None = None, activation: str = "linear"
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "W", frozen(np.array(as_matrix(self.W, "W"))))
        if self.b is not None:
            b = frozen(np.array(as_floats(self.b, "b")).ravel())
            if b.shape != (self.W.shape[0],):
                raise DataError(
                    f"b has {b.size} entries but W has {self.W.shape[0]} rows; give one for each"
                )
            object.__setattr__(self, "b", b)
        object.__setattr__(self, "activation", get_activation(self.activation).spelling)

    @property
    def bias(self) -> Array:
        """The biases, zeros where there are none."""
        return np.zeros(self.W.shape[0]) if self.b is None else self.b

    def values(self, x: Array) -> Array:
        """The numbers W x + b, rows x outputs."""
        z = x @ self.W.T
        return z if self.b is None else z + self.b


@dataclass(frozen=True, eq=False)
class InputScaling:
    """What is done to every column before the first layer, in the order and with the very
    operations of the framework: equal rows give equal bits.

    Attributes
    ----------
    steps : tuple[tuple[str, Array], ...]
        "subtract", "add", "multiply" or "divide", each with one number per column.
    """

    steps: tuple[tuple[Operation, Array], ...]

    def transform(self, X: ArrayLike) -> Array:
        """The rows as the first layer reads them."""
        rows = as_matrix(X, "X")
        for operation, numbers in self.steps:
            rows = getattr(np, operation)(rows, numbers)
        return rows


@dataclass(frozen=True)
class TrainedFor:
    """What the framework says the network was trained to minimize; None where it says nothing."""

    loss: str | None = None
    weight_decay: float | None = None
    hidden_bias: str | None = None
    classes: tuple[Any, ...] | None = None


@dataclass(frozen=True, eq=False)
class ImportedNetwork:
    """A feed-forward network from elsewhere; get one from `from_torch` and its neighbors.

    Attributes
    ----------
    layers : tuple[Layer, ...]
        In order; the last one is linear.
    output : str
        The function of the outputs: "identity", "softmax", "exp" or an activation.
    scaling : InputScaling | None
        What the model does to its inputs first.
    origin : str
        Where it came from.
    notes : tuple[str, ...]
        What was rounded or left out on the way; nothing was if there are none.
    feature_names : tuple[str, ...] | None
        Names of the columns, if the model knows them.
    trained_for : TrainedFor
        What it was trained to minimize, if the model says so.
    agreement : Agreement | None
        How far its outputs are from the framework's own.

    Examples
    --------
    >>> net = ImportedNetwork((Layer([[1.0], [-1.0]], [0.0, 0.5], "relu"), Layer([[2.0, 1.0]])))
    >>> net.predict([[3.0], [-1.0]]).tolist()
    [6.0, 1.5]
    """

    layers: tuple[Layer, ...]
    output: str = "identity"
    scaling: InputScaling | None = None
    origin: str = "layers"
    notes: tuple[str, ...] = ()
    feature_names: tuple[str, ...] | None = None
    trained_for: TrainedFor = field(default_factory=TrainedFor)
    agreement: Agreement | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", tuple(self.layers))
        if not self.layers or self.layers[-1].activation != "linear":
            raise DataError("layers must end with a linear one; give its function as output=...")
        for number, (below, above) in enumerate(
            zip(self.layers[:-1], self.layers[1:], strict=True), 2
        ):
            if above.W.shape[1] != below.W.shape[0]:
                raise DataError(
                    f"layer {number} reads {above.W.shape[1]} numbers and the one below has "
                    f"{below.W.shape[0]}; give layers that fit together"
                )
        if self.output not in OUTPUTS:
            object.__setattr__(self, "output", get_activation(self.output).spelling)

    @property
    def n_features(self) -> int:
        """Number of columns of the table it reads."""
        return self.layers[0].W.shape[1]

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return self.layers[-1].W.shape[0]

    @property
    def widths(self) -> tuple[int, ...]:
        """Neurons of the hidden layers."""
        return tuple(layer.W.shape[0] for layer in self.layers[:-1])

    @property
    def activations(self) -> tuple[str, ...]:
        """Those of the hidden layers."""
        return tuple(layer.activation for layer in self.layers[:-1])

    def scaled(self, X: ArrayLike) -> Array:
        """The rows as the first layer reads them; refused if they have other columns."""
        rows = as_matrix(X, "X")
        if rows.shape[1] != self.n_features:
            raise DataError(
                f"the network reads {self.n_features} features and X has {rows.shape[1]} columns; "
                "give the columns that it was trained on"
            )
        return rows if self.scaling is None else self.scaling.transform(rows)

    def logits(self, X: ArrayLike) -> Array:
        """What the last layer computes, before the function of the outputs: (n,) for one output,
        (n, q) for several.
        """
        values = self._last(X)
        return values[:, 0] if self.n_outputs == 1 else values

    def predict(self, X: ArrayLike) -> Array:
        """Outputs at raw rows: (n,) for one output, (n, q) for several."""
        values = output_values(self._last(X), self.output)
        return values[:, 0] if self.n_outputs == 1 else values

    def _last(self, X: ArrayLike) -> Array:
        x = self.scaled(X)
        for layer in self.layers[:-1]:
            x = get_activation(layer.activation)(layer.values(x))
        return self.layers[-1].values(x)

    def only(self, output: int) -> ImportedNetwork:
        """The network of one of several outputs: the same hidden layers, exact."""
        if not -self.n_outputs <= output < self.n_outputs:
            raise DataError(f"output={output}: the network has {self.n_outputs}, counted from 0")
        if self.output == "softmax":
            raise DataError(
                "the outputs go through softmax, so none of them is a network of its own; ask for "
                ".without_output().only(...), the logits"
            )
        last, row = self.layers[-1], output % self.n_outputs
        b = None if last.b is None else last.b[row : row + 1]
        layers = (*self.layers[:-1], Layer(last.W[row : row + 1], b))
        return replace(self, layers=layers, agreement=None)

    def without_output(self) -> ImportedNetwork:
        """The network without the function of its outputs: the logits."""
        return replace(self, output="identity", agreement=None)

    def folded(self) -> ImportedNetwork:
        """The network that reads raw rows: its scaling is folded into the first layer.

        Computed in exact rationals and rounded once at the end; `notes` says how many weights were
        rounded. The scaling as it is (`with_data` keeps it) rounds nothing.
        """
        from globalmin.interop.families import folded

        return folded(self)

    def shallow(self) -> ShallowNetwork:
        """As f(x) = v . phi(W x): hidden biases are the weights of a constant feature, appended as
        last column; the bias of the output is not part of it, see `with_data`.
        """
        from globalmin.interop.families import shallow

        return shallow(self)

    def regularized(self) -> RegularizedNetwork:
        """As a relu network with hidden biases and intercept, exact."""
        from globalmin.interop.families import regularized

        return regularized(self)

    def for_logits(self) -> RegularizedNetwork:
        """The same of the layers alone: without the scaling before and the function after them,
        for losses that are functions of the logits.
        """
        return replace(self, output="identity", scaling=None).regularized()

    def deep(self) -> DeepNetwork:
        """As a fully connected network of several hidden layers; biases are the weights of a
        constant neuron in every layer, and the bias of the output is not part of it.
        """
        from globalmin.interop.families import deep

        return deep(self)

    def with_data(self, X: ArrayLike, y: ArrayLike, *, output: int | None = None) -> Posed:
        """Network and data set of one of our families that have this network's outputs on these
        rows: what `prove`, `classify_point` and `train` take.

        Parameters
        ----------
        X : ArrayLike
            Raw rows.
        y : ArrayLike
            Labels, (n,).
        output : int | None
            Which of several outputs.

        Returns
        -------
        Posed
            `network`, `data`, `notes`. The bias of the output is taken off the labels, and the
            scaling of the model is that of the data set.

        Examples
        --------
        >>> hidden = Layer([[1.0], [2.0]], [0.5, 0.0], "tanh")
        >>> net = ImportedNetwork((hidden, Layer([[1.0, -1.0]], [3.0])))
        >>> posed = net.with_data([[0.0], [1.0]], [3.0, 4.0])
        >>> posed.network.W.tolist(), posed.data.y.tolist()
        ([[1.0, 0.5], [2.0, 0.0]], [0.0, 1.0])
        """
        from globalmin.interop.families import posed

        return posed(self, X, y, output)

    def __str__(self) -> str:
        hidden = ", ".join(
            f"{width} {name}" for width, name in zip(self.widths, self.activations, strict=True)
        )
        outputs = f"{self.n_outputs} {self.output} output{'s' * (self.n_outputs > 1)}"
        lines = [
            f"{self.origin}: {self.n_features} columns, {hidden or 'no hidden layer'}, {outputs}"
        ]
        if self.scaling is not None:
            lines.append(f"inputs first: {', '.join(name for name, _ in self.scaling.steps)}")
        lines += [*self.notes, *([] if self.agreement is None else [str(self.agreement)])]
        return "\n".join(lines)


def output_values(z: Array, output: str) -> Array:
    """The function of the outputs, row by row."""
    if output == "identity":
        return z
    if output == "exp":
        return np.exp(z)
    if output == "softmax":
        return probabilities(z)
    return logistic(z) if output == "sigmoid" else get_activation(output)(z)


def named(names: Sequence[Any] | None) -> tuple[str, ...] | None:
    """Names of columns as texts."""
    return None if names is None else tuple(str(name) for name in names)
