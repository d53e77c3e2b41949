"""A network from elsewhere as one of our families, with the data set that goes with it: exactly, or
with a list of what stands in the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.activations import Activation, get_activation
from globalmin.data import Dataset
from globalmin.data.preprocessing import Preprocessing
from globalmin.data.validation import as_floats, as_matrix
from globalmin.deep.network import DeepNetwork
from globalmin.errors import DataError
from globalmin.interop.findings import Findings
from globalmin.interop.network import ImportedNetwork, InputScaling, Layer
from globalmin.interop.rounding import Rounded, added, divided, multiplied
from globalmin.regularized.network import RegularizedNetwork
from globalmin.shallow.network import ShallowNetwork

# activations with a value at 0 or 1 that is a power of two: a neuron of that value is exact
RATIONAL = ("relu", "leaky_relu", "abs", "linear", "quadratic", "sigmoid")


class Posed(NamedTuple):
    """A network of ours with its data set, and what was rounded on the way."""

    network: ShallowNetwork | DeepNetwork
    data: Dataset
    notes: tuple[str, ...]


def _one_output(network: ImportedNetwork, findings: Findings) -> None:
    if network.n_outputs != 1:
        findings.add(
            f"{network.n_outputs} outputs",
            "the last layer",
            "one at a time: .only(j); all of them share the hidden weights, so the least sum of "
            "their losses is at least the sum of the least ones",
        )
    if network.output != "identity":
        findings.add(
            f"the function {network.output} of the outputs",
            "the end",
            "our networks are linear there: .without_output() gives the logits; with a weight "
            "decay and loss='logistic' (--loss logistic) examine and gap take sigmoid as it is",
        )


def _one_hidden_layer(network: ImportedNetwork, findings: Findings) -> None:
    if len(network.layers) != 2:
        findings.add(
            f"{len(network.layers) - 1} hidden layers", "the network", "this family has one"
        )


def shallow(network: ImportedNetwork) -> ShallowNetwork:
    """As f(x) = v . phi(W x), see `ImportedNetwork.shallow`."""
    findings = Findings(network.origin)
    _one_hidden_layer(network, findings)
    _one_output(network, findings)
    findings.require_none()
    hidden, last = network.layers
    return ShallowNetwork(_with_bias(hidden), last.W[0], hidden.activation)


def _with_bias(layer: Layer) -> Array:
    return layer.W if layer.b is None else np.column_stack([layer.W, layer.b])


def regularized(network: ImportedNetwork) -> RegularizedNetwork:
    """As a relu network with intercept, see `ImportedNetwork.regularized`."""
    findings = Findings(network.origin)
    _one_hidden_layer(network, findings)
    _one_output(network, findings)
    for number, name in enumerate(network.activations, 1):
        if name != "relu":
            findings.add(
                f"{name} neurons",
                f"layer {number}",
                "this family has relu neurons; `examine` without a weight decay takes all "
                "activations",
            )
    if network.scaling is not None:
        findings.add(
            "a scaling of the inputs",
            "before the first layer",
            "this family reads its rows as they are: give .scaled(X), or take .folded()",
        )
    findings.require_none()
    hidden, last = network.layers
    return RegularizedNetwork(hidden.W, hidden.bias, last.W[0], float(last.bias[0]))


def deep(network: ImportedNetwork) -> DeepNetwork:
    """As a fully connected deep network, see `ImportedNetwork.deep`."""
    return _deep(network)[0]


def _deep(network: ImportedNetwork) -> tuple[DeepNetwork, list[str]]:
    findings = Findings(network.origin)
    _one_output(network, findings)
    names = sorted(set(network.activations))
    if len(network.layers) < 3:
        findings.add(f"{len(network.layers) - 1} hidden layers", "the network", "two or more")
    if len(names) > 1:
        findings.add(
            f"the activations {', '.join(names)}", "the hidden layers", "the same in all of them"
        )
    findings.require_none()
    phi, hidden = get_activation(names[0]), list(network.layers)
    last = hidden.pop()
    if all(layer.b is None for layer in hidden[1:]):
        weights = (_with_bias(hidden[0]), *(layer.W for layer in hidden[1:]))
        return DeepNetwork(weights, last.W[0], (1.0,) * len(weights), phi), []
    weights, head, notes = _constant_neurons(hidden, last, phi)
    made = DeepNetwork(weights, head, (1.0,) * len(weights), phi)
    constant = (
        "biases beyond the first layer are the weights of a neuron of constant value in each "
        "hidden layer; a proof may move it as any other"
    )
    return made, [constant, *notes]


def _constant_neurons(
    hidden: Sequence[Layer], last: Layer, phi: Activation
) -> tuple[tuple[Array, ...], Array, list[str]]:
    """Weights with one more neuron per hidden layer, whose value is the same for all rows: its
    incoming weight from the constant below makes it (1 where phi(1) = 1; phi(0) = 1/2 of the
    sigmoid; else some value, and biases divided by it are rounded).
    """
    wire = 0.0 if phi.name == "sigmoid" else 1.0
    weights, notes, below = [], [], 1.0
    for number, layer in enumerate(hidden, 1):
        made = divided(layer.bias, np.full(len(layer.W), below))
        note = made.note(f"biases of layer {number}, divided by the constant {below:.6g}")
        notes += [] if note is None else [note]
        W = np.column_stack([layer.W, made.value])
        row = np.zeros(W.shape[1])
        row[-1] = wire / below
        weights.append(np.vstack([W, row]))
        below = float(phi(row[-1] * below))
    if phi.name not in RATIONAL:
        notes.append(
            f"that neuron has the value {phi.spelling}(1), which is no double: biases beyond the "
            "first layer are off by a few parts in 2^53"
        )
    return tuple(weights), np.append(last.W[0], 0.0), notes


def posed(network: ImportedNetwork, X: ArrayLike, y: ArrayLike, output: int | None = None) -> Posed:
    """Network and data set, see `ImportedNetwork.with_data`."""
    one = network if output is None else network.only(output)
    rows = as_matrix(X, "X")
    labels = as_floats(y, "y").ravel()
    if labels.shape != (len(rows),):
        raise DataError(
            f"y has {labels.size} entries but X has {len(rows)} rows; give one label per row: of "
            "several outputs one, as output=j with y[:, j]"
        )
    notes = list(one.notes)
    if len(one.layers) == 2:
        made: ShallowNetwork | DeepNetwork = shallow(one)
        has_constant = one.layers[0].b is not None
    else:
        made, more = _deep(one)
        notes += more
        has_constant = any(layer.b is not None for layer in one.layers[:-1])
    shift = float(one.layers[-1].bias[0])
    note = added(labels, np.full_like(labels, -shift)).note(
        "labels, from which the bias of the output is taken"
    )
    notes += [] if note is None else [note]
    if shift:
        notes.append(f"the bias {shift:.6g} of the output stays as it is: a proof does not move it")
    step, stored = _preprocessing(one, rows, bias=has_constant, y_shift=shift)
    return Posed(made, Dataset.from_raw(stored, labels, step), tuple(notes))


def _preprocessing(
    network: ImportedNetwork, rows: Array, *, bias: bool, y_shift: float
) -> tuple[Preprocessing, Array]:
    """What the data set does, and the rows it does it to: (x - m) / s is its own scaling, any other
    one is done before.
    """
    network.scaled(rows[:1])  # refuses other columns
    d = network.n_features
    steps = () if network.scaling is None else network.scaling.steps
    known: dict[str, Any] = {"bias": bias, "y_shift": y_shift}
    known |= {"feature_names": network.feature_names}
    kinds = tuple(kind for kind, _ in steps)
    if kinds in (("subtract", "divide"), ("divide",), ("subtract",)):
        numbers = dict(steps)
        shift, scale = numbers.get("subtract", np.zeros(d)), numbers.get("divide", np.ones(d))
        if (scale > 0).all():
            return Preprocessing("standardize", x_shift=shift, x_scale=scale, **known), rows
    plain = Preprocessing("none", x_shift=np.zeros(d), x_scale=np.ones(d), **known)
    return plain, network.scaled(rows)


def folded(network: ImportedNetwork) -> ImportedNetwork:
    """See `ImportedNetwork.folded`."""
    if network.scaling is None:
        return network
    first = network.layers[0]
    d = network.n_features
    slope, shift = [Fraction(1)] * d, [Fraction(0)] * d
    for kind, numbers in network.scaling.steps:
        for j, number in enumerate(Fraction(float(x)) for x in numbers):
            if kind in ("add", "subtract"):
                shift[j] += number if kind == "add" else -number
            else:
                factor = number if kind == "multiply" else 1 / number
                slope[j], shift[j] = slope[j] * factor, shift[j] * factor
    exact = [[Fraction(float(w)) for w in row] for row in first.W]
    W = [[w * s for w, s in zip(row, slope, strict=True)] for row in exact]
    b = [
        Fraction(float(c)) + sum(w * s for w, s in zip(row, shift, strict=True))
        for row, c in zip(exact, first.bias, strict=True)
    ]
    numbers = [*(w for row in W for w in row), *b]
    inexact = sum(Fraction(float(number)) != number for number in numbers)
    note = (
        f"the scaling of the inputs is folded into the first layer: {inexact} of {len(numbers)} "
        "weights are rounded, each by at most one part in 2^53; kept as preprocessing (without "
        ".folded()) nothing is"
    )
    biases = None if first.b is None and not any(shift) else np.array([float(c) for c in b])
    layer = Layer(np.array([[float(w) for w in row] for row in W]), biases, first.activation)
    notes = (*network.notes, note) if inexact else network.notes
    layers = (layer, *network.layers[1:])
    return replace(network, layers=layers, scaling=None, notes=notes, agreement=None)


def imported(model: Any, preprocessing: Preprocessing | None = None) -> ImportedNetwork:
    """One of our networks as layers that read raw rows and give outputs in the user's units.

    Parameters
    ----------
    model : Any
        An `ImportedNetwork`, a `ShallowNetwork`, a `RegularizedNetwork` or a fully connected
        `DeepNetwork`.
    preprocessing : Preprocessing | None
        Of the data set it was trained on; without it the network reads its stored rows.
    """
    if isinstance(model, ImportedNetwork):
        return model
    layers, notes = _layers(model, has_constant=bool(preprocessing and preprocessing.bias))
    if preprocessing is None:
        return ImportedNetwork(layers, origin=type(model).__name__, notes=tuple(notes))
    scaling = None
    if preprocessing.scaling == "standardize":
        step = preprocessing
        scaling = InputScaling((("subtract", step.x_shift), ("divide", step.x_scale)))
    elif preprocessing.scaling != "none":
        raise DataError(
            f"scaling={preprocessing.scaling!r} divides every row by its norm, which no layer "
            "does; scale the rows before, and give no preprocessing"
        )
    head, more = _restored(layers[-1], preprocessing)
    return ImportedNetwork(
        (*layers[:-1], head),
        scaling=scaling,
        origin=type(model).__name__,
        notes=(*notes, *more),
        feature_names=preprocessing.feature_names,
    )


def _restored(head: Layer, step: Preprocessing) -> tuple[Layer, list[str]]:
    """The last layer with outputs in the user's units."""
    if (step.y_scale, step.y_shift) == (1.0, 0.0):
        return head, []
    W = multiplied(head.W, np.full_like(head.W, step.y_scale))
    factor = multiplied(head.bias, np.full_like(head.bias, step.y_scale))
    shifted = added(factor.value, np.full_like(head.bias, step.y_shift))
    b = Rounded(shifted.value, max(factor.inexact, shifted.inexact))
    said = "the units of the labels are taken into the last layer"
    notes = [note for note in (W.note(said), b.note(said)) if note is not None]
    return Layer(W.value, b.value), notes


def _layers(model: Any, *, has_constant: bool) -> tuple[tuple[Layer, ...], list[str]]:
    if isinstance(model, RegularizedNetwork):
        if model.linear is not None and model.linear.any():
            raise DataError("the network has a linear part, a path beside its layers; leave it out")
        head = Layer(model.v[None, :], np.array([model.intercept]))
        return (Layer(model.W, model.bias, "relu"), head), []
    if isinstance(model, ShallowNetwork):
        hidden = _split(model.W, model.activation.spelling, has_constant)
        return (hidden, Layer(model.v[None, :])), []
    if not isinstance(model, DeepNetwork) or model.architecture != "fully_connected":
        raise DataError(
            f"model={type(model).__name__} is no chain of layers; give an ImportedNetwork, a "
            "ShallowNetwork, a RegularizedNetwork or a fully connected DeepNetwork"
        )
    name = model.activation.spelling
    matrices = [*model.weights, model.head[None, :]]
    notes = []
    for h, scale in enumerate(model.scales):  # s phi(z) is read by the layer above
        made = multiplied(matrices[h + 1], np.full_like(matrices[h + 1], scale))
        note = made.note(f"the factor of layer {h + 1} is taken into the weights above")
        notes += [] if note is None else [note]
        matrices[h + 1] = made.value
    first = _split(matrices[0], name, has_constant)
    return (first, *(Layer(W, None, name) for W in matrices[1:-1]), Layer(matrices[-1])), notes


def _split(W: Array, activation: str, has_constant: bool) -> Layer:
    return Layer(W[:, :-1], W[:, -1], activation) if has_constant else Layer(W, None, activation)
