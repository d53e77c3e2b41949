"""Perceptrons of scikit-learn, alone or behind scalers in a pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.interop.agreement import agreed
from globalmin.interop.findings import Findings
from globalmin.interop.network import ImportedNetwork, TrainedFor, named
from globalmin.interop.steps import Step, assembled

ACTIVATIONS = {"identity": "linear", "logistic": "sigmoid", "tanh": "tanh", "relu": "relu"}
LOSSES = {"identity": "squared", "logistic": "logistic", "exp": "poisson"}
SCALERS = "StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler or 'passthrough'"


def from_sklearn(model: Any, *, probe: ArrayLike | None = None) -> ImportedNetwork:
    """A fitted `MLPRegressor` or `MLPClassifier`, or a pipeline of scalers that ends with one.

    The scalers are kept as they are, in their own arithmetic, so that nothing is rounded;
    `.folded()` takes them into the first layer and says what that rounds. Outputs of a classifier
    are its probabilities: of the second class, or of all of several.

    Parameters
    ----------
    model : Any
        Fitted.
    probe : ArrayLike | None
        Rows at which the outputs are compared with the model's own; by default 64 random ones.

    Returns
    -------
    ImportedNetwork
        `trained_for` has the loss and the weight decay of the summed loss: scikit-learn divides
        both loss and penalty by n and leaves the biases free.

    Examples
    --------
    >>> from sklearn.neural_network import MLPRegressor
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]
    >>> model = MLPRegressor(hidden_layer_sizes=(4,), solver="lbfgs", random_state=0).fit(X, y)
    >>> net = from_sklearn(model)
    >>> net.activations, net.trained_for.weight_decay, net.agreement.relative < 1e-12
    (('relu',), 0.0001, True)
    """
    origin = f"the scikit-learn model {type(model).__name__}"
    findings = Findings(origin)
    steps: list[Step] = []
    last = model
    if hasattr(model, "steps"):
        for name, part in model.steps[:-1]:
            steps += _scaler(part, name, findings)
        last = model.steps[-1][1]
    if not hasattr(last, "coefs_"):
        what = type(last).__name__
        findings.refuse(
            f"the estimator {what}", origin, "a fitted MLPRegressor or MLPClassifier at the end"
        )
    steps += _perceptron(last, findings)
    network = assembled(
        steps,
        findings,
        origin=origin,
        feature_names=named(getattr(model, "feature_names_in_", None)),
        trained_for=_trained_for(last),
    )
    rows = None if probe is None else np.asarray(probe, dtype=np.float64)
    return agreed(network, lambda X: _own_outputs(model, last, X), probe=rows)


def _own_outputs(model: Any, last: Any, X: Array) -> Array:
    names = getattr(model, "feature_names_in_", None)
    rows: Any = X
    if names is not None:
        import pandas as pd

        rows = pd.DataFrame(X, columns=names)
    if not hasattr(last, "classes_"):
        return np.asarray(model.predict(rows))
    p = model.predict_proba(rows)
    return p[:, 1] if last.n_outputs_ == 1 else p


def _trained_for(last: Any) -> TrainedFor:
    classes = getattr(last, "classes_", None)
    return TrainedFor(
        loss=LOSSES.get(str(last.out_activation_)),
        weight_decay=float(last.alpha) or None,
        hidden_bias="free",
        classes=None if classes is None else tuple(classes),
    )


def _perceptron(model: Any, findings: Findings) -> list[Step]:
    steps = []
    for number, (W, b) in enumerate(zip(model.coefs_, model.intercepts_, strict=True), 1):
        where = f"layer {number}"
        steps.append(Step("affine", where, (np.asarray(W, dtype=np.float64).T, b)))
        if number < len(model.coefs_):
            steps.append(Step("activation", where, ACTIVATIONS[model.activation]))
    out = str(model.out_activation_)
    if out in ("softmax", "exp"):
        steps.append(Step("output", "the output", out))
    elif out == "logistic":
        steps.append(Step("activation", "the output", "sigmoid"))
    elif out != "identity":
        findings.add(f"out_activation_ {out}", "the output", "identity, logistic, softmax or exp")
    return steps


def _scaler(part: Any, name: str, findings: Findings) -> list[Step]:
    """The operations of a scaler, in its own order."""
    kind = type(part).__name__
    if part is None or part == "passthrough":
        return []
    if kind == "MinMaxScaler" and not part.clip:
        return [Step("multiply", name, part.scale_), Step("add", name, part.min_)]
    if kind == "MaxAbsScaler" and not getattr(part, "clip", False):
        return [Step("divide", name, part.scale_)]
    if kind == "StandardScaler":
        shift = part.mean_ if part.with_mean else None
        scale = part.scale_ if part.with_std else None
    elif kind == "RobustScaler":
        shift = part.center_ if part.with_centering else None
        scale = part.scale_ if part.with_scaling else None
    else:
        findings.add(f"the step {kind}", f"pipeline step {name!r}", f"{SCALERS}, not clipped")
        return []
    subtracted = [] if shift is None else [Step("subtract", name, shift)]
    return subtracted + ([] if scale is None else [Step("divide", name, scale)])
