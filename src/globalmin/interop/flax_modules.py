"""Networks of Flax: nnx modules, and parameters of linen with or without their module.

What stands between the layers is Python of the user's: in a `nnx.Sequential` the functions are
seen, otherwise the activation is the one that gives the module's outputs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise, permutations, product
from typing import Any

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError
from globalmin.interop.agreement import DisagreementError, agreed
from globalmin.interop.findings import Findings
from globalmin.interop.known_functions import CANDIDATES, NOT_KNOWN, check_activation, recognized
from globalmin.interop.network import ImportedNetwork
from globalmin.interop.packages import double_precision, package
from globalmin.interop.steps import Step, assembled

TRIED = (*CANDIDATES[1:], "leaky_relu", "linear")
PASSED = ("Dropout",)
MOST_ORDERED = 5  # linear layers of which every order is tried


def from_flax(
    model: Any, *, activation: str | None = None, probe: ArrayLike | None = None
) -> ImportedNetwork:
    """A network of Flax, by its linear layers, its weights as doubles without change of value.

    Parameters
    ----------
    model : Any
        A `flax.nnx` module; a pair (module, variables) of `flax.linen`; or parameters of linen
        alone, {"params": {"Dense_0": {"kernel": ..., "bias": ...}, ...}}.
    activation : str | None
        Of all hidden layers; needed for parameters alone. Otherwise that of `nnx.Sequential`, or
        the one of ours that gives the outputs of the module.
    probe : ArrayLike | None
        Rows at which the outputs are compared with the module's own; by default 64 random ones.

    Returns
    -------
    ImportedNetwork
        Its `agreement` says how far the outputs are from those of the module in float64; None for
        parameters alone.
    """
    given = check_activation(activation)
    rows = None if probe is None else np.asarray(probe, dtype=np.float64)
    if isinstance(model, Mapping):
        steps = _dense(model)
        if given is None and len(steps) > 1:
            findings = Findings("the flax parameters")
            findings.refuse(
                "an unknown activation between the layers",
                "the parameters",
                'give activation="relu", or the pair (module, variables)',
            )
        chain = _between(_chains(steps)[0], given or "linear")
        return _network(chain, Findings("the flax parameters"))
    if isinstance(model, tuple) and len(model) == 2 and hasattr(model[0], "apply"):
        module, variables = model
        origin = f"the linen module {type(module).__name__}"
        theirs = _applied(module, variables)
        return _believed(_dense(variables), given, theirs, origin, rows)
    package("flax.nnx")
    origin = f"the nnx module {type(model).__name__}"
    if not any(kind.__module__.startswith("flax") for kind in type(model).__mro__):
        raise DataError(
            f"model={type(model).__name__} is no flax module; give a nnx module, a pair (module, "
            "variables) of linen, or its parameters"
        )
    findings = Findings(origin)
    if type(model).__name__ == "Sequential" and given is None:
        network = _network(_sequential(model, findings), findings)
        return agreed(network, _run_nnx(model), probe=rows)
    layers = [Step("affine", name, _linear(part)) for name, part in _linears(model, "")]
    if not layers:
        findings.refuse("no nnx.Linear", origin, "a network has at least one")
    return _believed(layers, given, _run_nnx(model), origin, rows)


def _network(steps: list[Step], findings: Findings) -> ImportedNetwork:
    return assembled(steps, findings, origin=findings.model)


def _between(layers: list[Step], activation: str) -> list[Step]:
    steps: list[Step] = []
    for number, layer in enumerate(layers):
        steps += [layer]
        if number < len(layers) - 1:
            steps.append(Step("activation", layer.where, activation))
    return steps


def _believed(
    layers: list[Step],
    given: str | None,
    theirs: Callable[[Array], Array],
    origin: str,
    probe: Array | None,
) -> ImportedNetwork:
    """The network whose outputs are the module's; tried are the activations of ours."""
    names = TRIED if given is None else (given,)
    for chain, name in product(_chains(layers), names):
        network = _network(_between(chain, name), Findings(origin))
        try:
            return agreed(network, theirs, probe=probe)
        except DisagreementError:
            continue
    findings = Findings(origin)
    findings.refuse(
        f"outputs that its linear layers do not give with {given or 'any activation here'}",
        "its __call__",
        f"linear layers that follow each other, between all of them the same activation, "
        f"{NOT_KNOWN}, and nothing else",
    )


def _chains(layers: list[Step]) -> list[list[Step]]:
    """Orders in which the shapes fit, that of their definition first: Dense(1)(relu(Dense(6)(x)))
    defines the last layer first.
    """
    orders = permutations(layers) if len(layers) <= MOST_ORDERED else [layers]
    fitting = [
        list(order)
        for order in orders
        if all(b.value[0].shape[1] == a.value[0].shape[0] for a, b in pairwise(order))
    ]
    return fitting or [layers]


def _sequential(model: Any, findings: Findings) -> list[Step]:
    """The layers of a `nnx.Sequential`: linear ones, and functions by their values."""
    steps: list[Step] = []
    for number, part in enumerate(model.layers):
        where, kind = f"layers[{number}]", type(part).__name__
        if kind == "Linear":
            steps.append(Step("affine", where, _linear(part)))
        elif kind == "Sequential":
            steps += _sequential(part, findings)
        elif kind not in PASSED:
            seen = recognized(_in_jax(part))
            name = getattr(part, "__name__", kind)
            if seen is not None:
                steps.append(Step("activation", where, seen.name))
            elif name == "softmax":
                steps.append(Step("output", where, "softmax"))
            else:
                findings.add(f"{name}", where, f"nnx.Linear, or {NOT_KNOWN}")
    return steps


def _in_jax(function: Callable[..., Any]) -> Callable[[Array], Array]:
    def run(z: Array) -> Array:
        with double_precision():
            return np.asarray(function(package("jax.numpy").asarray(z)))

    return run


def _linears(part: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Linear layers in the order of their definition."""
    if type(part).__name__ == "Linear" and hasattr(part, "kernel"):
        yield name, part
        return
    inside = part if isinstance(part, list | tuple) else None
    pairs = enumerate(inside) if inside is not None else getattr(part, "__dict__", {}).items()
    for key, value in pairs:
        own = any(kind.__module__.startswith("flax") for kind in type(value).__mro__)
        if own or isinstance(value, list | tuple):
            yield from _linears(value, f"{name}.{key}".lstrip("."))


def _linear(part: Any) -> tuple[Array, Array | None]:
    bias = None if part.bias is None else _array(part.bias)
    return _array(part.kernel).T, bias


def _array(value: Any) -> Array:
    inner = value[...] if hasattr(value, "get_value") else value
    return np.asarray(inner, dtype=np.float64)


def _dense(variables: Mapping[str, Any]) -> list[Step]:
    """Kernels of linen's parameters; Dense_2 before Dense_10, else in the order of the mapping."""
    parameters = variables.get("params", variables)
    findings = Findings("the flax parameters")
    found = []
    for name, part in parameters.items():
        kernel = part.get("kernel") if isinstance(part, Mapping) else None
        if kernel is None or np.ndim(kernel) != 2:
            findings.add(f"parameters {name}", name, "a Dense layer: kernel (matrix) and bias")
            continue
        bias = part.get("bias")
        W, b = _array(kernel).T, None if bias is None else _array(bias)
        found.append(Step("affine", str(name), (W, b)))
    findings.require_none()
    if all(re.fullmatch(r"Dense_\d+", step.where) for step in found):
        found.sort(key=lambda step: int(step.where.removeprefix("Dense_")))
    return found


def _run_nnx(module: Any) -> Callable[[Array], Array]:
    """The outputs of the module with its numbers in float64, as it predicts."""
    nnx, jax = package("flax.nnx"), package("jax")

    def run(X: Array) -> Array:
        with double_precision():
            graph, state = nnx.split(module)
            copy = nnx.merge(graph, jax.tree.map(_double, state))
            copy.eval()
            return _checked(copy(jax.numpy.asarray(X)))

    return run


def _applied(module: Any, variables: Any) -> Callable[[Array], Array]:
    jax = package("jax")

    def run(X: Array) -> Array:
        with double_precision():
            numbers = jax.tree.map(_double, variables)
            numbers = numbers if "params" in numbers else {"params": numbers}
            return _checked(module.apply(numbers, jax.numpy.asarray(X)))

    return run


def _double(value: Any) -> Any:
    numpy = package("jax.numpy")
    is_real = hasattr(value, "dtype") and numpy.issubdtype(value.dtype, numpy.floating)
    return numpy.asarray(np.asarray(value, dtype=np.float64)) if is_real else value


def _checked(outputs: Any) -> Array:
    if outputs.dtype != np.float64:
        raise DataError(
            f"the module computes in {outputs.dtype} whatever its inputs are; leave dtype=None, so "
            "that its outputs can be compared in float64"
        )
    return np.asarray(outputs)
