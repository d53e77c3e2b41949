"""Whole models for ONNX: the recipe of the columns, the scaling, one network or one for each class
or target, and what is said of their outputs (classes, probabilities, counts).
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from globalmin._types import NDArray
from globalmin.data.columns import numbers_of
from globalmin.data.preprocessing import Preprocessing
from globalmin.data.raw_table import RawTable, raw_table_of
from globalmin.data.recipe import Recipe
from globalmin.errors import DataError
from globalmin.interop.findings import Findings
from globalmin.interop.network_nodes import n_inputs, network_nodes
from globalmin.interop.onnx_nodes import Nodes
from globalmin.interop.onnx_tables import recipe_inputs, recipe_nodes, scaling_nodes
from globalmin.interop.packages import package
from globalmin.patches.network import PatchNetwork


@dataclass(frozen=True, eq=False)
class WholeModel:
    """What stands between raw rows and predictions: that of a `SavedModel` or of a fitted
    estimator.
    """

    networks: tuple[Any, ...]
    preprocessing: tuple[Preprocessing, ...] | None
    recipe: Recipe | None
    loss: str
    classes: tuple[Any, ...]
    image_shape: tuple[int, ...] | None = None

    @property
    def n_columns(self) -> int:
        """Numbers in a row, before scaling."""
        if self.preprocessing is not None:
            return self.preprocessing[0].n_features_in
        return n_inputs(self.networks[0])


def whole_model(model: Any) -> WholeModel | None:
    """The parts of a `SavedModel` or of a fitted estimator of ours, None for anything else."""
    if hasattr(model, "networks") and hasattr(model, "recipe"):
        parts = (model.networks, model.preprocessing, model.recipe, model.loss, model.classes)
        return WholeModel(*parts)
    if not hasattr(model, "get_params") or not type(model).__module__.startswith("globalmin."):
        return None
    fitted = getattr(model, "best_estimator_", model)
    if hasattr(fitted, "coef_") and hasattr(fitted, "_as_network"):
        return WholeModel((fitted._as_network(fitted.n_features_in_),), None, None, "squared", ())
    network = getattr(fitted, "network_", None)
    if isinstance(network, PatchNetwork):
        return WholeModel((network,), None, None, "squared", ())
    networks = tuple(getattr(fitted, "networks_", ()))
    if not networks:
        raise DataError(f"model={type(model).__name__} is not fitted; call fit first")
    steps = fitted.preprocessing_
    steps = tuple(steps) if isinstance(steps, list) else (steps,) * len(networks)
    classes = tuple(np.asarray(getattr(fitted, "classes_", ())).tolist())
    shape = getattr(fitted, "image_shape_", None)
    return WholeModel(networks, steps, None, _loss_of(fitted), classes, shape)


def _loss_of(fitted: Any) -> str:
    runs = getattr(fitted, "runs_", None)
    problem = getattr(runs[0], "problem", None) if runs else None
    loss = getattr(problem, "loss", None)
    return str(getattr(loss, "name", getattr(fitted, "loss", "squared")))


def whole_graph(
    model: WholeModel, path: str | os.PathLike[str] | None = None, *, single: bool = False
) -> Any:
    """An ONNX model of the whole, see `to_onnx`."""
    nodes = Nodes(single=single)
    if model.recipe is None:
        told = "rows of numbers in the order of the columns of training"
        rows = nodes.input("X", model.n_columns, None, told)
    else:
        rows = recipe_nodes(nodes, model.recipe)
    if model.image_shape is not None and len(model.image_shape) == 3:
        places = np.arange(model.n_columns).reshape(model.image_shape).transpose(2, 0, 1)
        rows = nodes.node("Gather", rows, nodes.whole(places.ravel()), axis=1)
    steps = model.preprocessing
    stored = rows if steps is None else scaling_nodes(nodes, rows, steps[0])
    parts = _parts(nodes, model, stored)
    outputs = parts[0] if len(parts) == 1 else nodes.node("Concat", *parts, axis=1)
    count = sum(getattr(network, "outputs", 1) for network in model.networks)
    if model.classes:
        _classes(nodes, model, outputs, count)
    else:
        answer = nodes.node("Exp", outputs) if model.loss == "poisson" else outputs
        nodes.output("y", answer, count, None, "predictions in the units of the labels")
    return nodes.model(_told(model), path)


def _parts(nodes: Nodes, model: WholeModel, stored: str) -> list[str]:
    """The outputs of each network, in the units of the labels."""
    steps, findings = model.preprocessing, Findings("the model")
    units: list[dict[str, Any]] = [{}] * len(model.networks)
    if steps is not None:
        units = [{"bias": step.bias, "unit": step.y_scale} for step in steps]
    pairs = zip(model.networks, units, strict=True)
    parts = [network_nodes(nodes, net, stored, findings, **given) for net, given in pairs]
    findings.require_none()
    shifts = [0.0] * len(parts) if steps is None else [step.y_shift for step in steps]
    return [
        nodes.node("Add", part, nodes.constant([shift])) if shift else part
        for part, shift in zip(parts, shifts, strict=True)
    ]


def _classes(nodes: Nodes, model: WholeModel, outputs: str, count: int) -> None:
    """Outputs label, scores, and probabilities where the loss has them."""
    kinds = package("onnx").TensorProto
    if count == 1:
        positive = nodes.node("Greater", outputs, nodes.constant(0.0))
        flat = nodes.node("Squeeze", positive, nodes.whole([1]))
        winner = nodes.node("Cast", flat, to=kinds.INT64)
    else:
        winner = nodes.node("ArgMax", outputs, axis=1, keepdims=0)
    names, kind = _class_names(model.classes)
    table = nodes.constant(names, names.dtype)
    nodes.output("label", nodes.node("Gather", table, winner), None, kind, "the class")
    nodes.output("scores", outputs, count, None, "outputs of the networks; the largest decides")
    shares = _probabilities(nodes, model, outputs, count)
    if shares is not None:
        told = f"of the classes {', '.join(map(str, model.classes))}"
        nodes.output("probabilities", shares, len(model.classes), None, told)


def _class_names(classes: tuple[Any, ...]) -> tuple[NDArray[Any], int]:
    """The labels as a tensor, twice if there is one only, and its kind."""
    kinds = package("onnx").TensorProto
    given = classes * 2 if len(classes) == 1 else classes
    for kind, array, named in (
        (bool, np.bool_, kinds.BOOL),
        (int, np.int64, kinds.INT64),
        (int | float, np.float64, kinds.DOUBLE),
    ):
        if all(isinstance(label, kind) for label in given):
            return np.array(given, dtype=array), named
    return np.array([str(label) for label in given], dtype=object), kinds.STRING


def _probabilities(nodes: Nodes, model: WholeModel, outputs: str, count: int) -> str | None:
    if model.loss == "softmax" and count > 1:
        return nodes.node("Softmax", outputs, axis=1)
    if model.loss != "logistic":
        return None
    bent = nodes.node("Tanh", nodes.times(outputs, 0.5))
    shares = nodes.times(nodes.node("Add", bent, nodes.constant(1.0)), 0.5)
    if count == 1:
        other = nodes.node("Sub", nodes.constant(1.0), shares)
        return nodes.node("Concat", other, shares, axis=1)
    total = nodes.node("ReduceSum", shares, nodes.whole([1]), keepdims=1)
    is_more = nodes.node("Greater", total, nodes.constant(0.0))
    safe = nodes.node("Where", is_more, total, nodes.constant(1.0))
    equal = nodes.constant(1.0 / count)
    return nodes.node("Where", is_more, nodes.node("Div", shares, safe), equal)


def _told(model: WholeModel) -> dict[str, str]:
    """What the file says besides its graph."""
    told = {"loss": model.loss}
    names = None if model.preprocessing is None else model.preprocessing[0].feature_names
    if model.recipe is not None:
        told["columns"] = "; ".join(model.recipe.sentences())
    elif names is not None:
        told["columns"] = json.dumps(list(names), ensure_ascii=False)
    if model.classes:
        told["classes"] = json.dumps(list(model.classes), ensure_ascii=False)
    return told


def onnx_inputs(model: Any, rows: object, *, single: bool = False) -> dict[str, NDArray[Any]]:
    """Rows of a table as the inputs of the graph that `to_onnx` makes of the model, for
    `onnxruntime.InferenceSession.run`.

    Parameters
    ----------
    model : Any
        The `SavedModel` of `globalmin.load`, or a fitted estimator.
    rows : object
        A data frame, a dict of columns, a `RawTable`, or rows of numbers.
    single : bool
        As for `to_onnx`.

    Returns
    -------
    dict[str, NDArray[Any]]
        "X", or a tensor n x 1 for each raw column: numbers (NaN at gaps), categories as strings (""
        at gaps), dates as seconds since 1970-01-01 00:00.

    Examples
    --------
    >>> import globalmin as gm
    >>> fitted = gm.AdditiveNetworkRegressor(weight_decay=0.5, certify=False)
    >>> onnx_inputs(fitted.fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 3.0]), [[1.5]])
    {'X': array([[1.5]])}
    """
    whole = whole_model(model)
    if whole is None:
        raise DataError(f"model={type(model).__name__}: give a SavedModel or a fitted estimator")
    kind = np.float32 if single else np.float64
    if whole.recipe is None:
        return {"X": _ordered(whole, rows).astype(kind)}
    given = recipe_inputs(whole.recipe, raw_table_of(rows))
    numbers = {step.column for step in whole.recipe.steps if step.kind == "number"}
    return {name: c.astype(kind) if name in numbers else c for name, c in given.items()}


def _ordered(model: WholeModel, rows: object) -> NDArray[Any]:
    """The numbers in the order of training; columns by name where both sides have names."""
    names = None if model.preprocessing is None else model.preprocessing[0].feature_names
    has_names = isinstance(rows, RawTable | dict) or hasattr(rows, "columns")
    if not has_names:
        numbers = np.asarray(rows, dtype=np.float64)
        return numbers.reshape(len(numbers), -1)
    table = raw_table_of(rows)
    table.require(names or (), "input")
    return np.column_stack([numbers_of(table, name) for name in names or table.names])
