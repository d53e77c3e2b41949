"""A hook for any training loop: what gradient flow would conserve, recorded while a torch module or
a JAX pytree is trained.

    watch = watch_torch(module, optimizer)      # records after every optimizer.step()
    watch = watch_pytree(params, layout="in_out", activation="relu")
    watch.record(params)                        # after every update

`watch.values`, `watch.drift` and `print(watch)` say what happened. torch is imported only when a
module is watched.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args, runtime_checkable

import numpy as np

from globalmin._options import one_of
from globalmin._types import Array
from globalmin.activations import Activation, get_activation
from globalmin.balancedness.chains import WeightShape, chain_boundary
from globalmin.balancedness.conserved import (
    Boundary,
    conserved,
    conserved_counts,
    imbalance,
    step_change,
)
from globalmin.errors import DataError, HypothesisError
from globalmin.references import states
from globalmin.shallow.network import ShallowNetwork

if TYPE_CHECKING:
    from globalmin.data.pixels import Geometry

    Reader = Callable[[Any], Sequence[Array]]

Layout = Literal["out_in", "in_out"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)


class BalanceWatch:
    """Records what a model conserves, whenever `record` is called.

    Attributes
    ----------
    boundaries : between which layers and blocks something is conserved.
    skipped : boundaries where nothing is, with the reason.
    """

    def __init__(
        self,
        boundaries: Sequence[Boundary],
        read: Reader,
        start: Any,
        skipped: Mapping[str, str] | None = None,
    ) -> None:
        self.boundaries, self.skipped = tuple(boundaries), dict(skipped or {})
        self._read = read
        self._values = [conserved(self.boundaries, read(start))]
        self._predicted = [np.zeros_like(self._values[0])]

    def record(
        self,
        params: Any,
        *,
        gradients: Any = None,
        step_size: float | None = None,
        decay: float = 0.0,
    ) -> Array:
        """Measure and keep; returns the drift so far, one number for each conserved quantity.

        Parameters
        ----------
        params : the parameters after the step, as they were given at the start (a torch module may
            be None: it is known).
        gradients, step_size, decay : of the step of plain (stochastic) gradient descent since the
            last record, in the form of `params`; with them `predicted` follows the exact identity,
            without them it is NaN from here on.
        """
        change = np.full_like(self._values[0], np.nan)
        if gradients is not None and step_size is not None:
            change = step_change(
                self.boundaries,
                self._read(gradients),
                step_size,
                decay=decay,
                before=self._values[-1],
            )
        return self.append(conserved(self.boundaries, self._read(params)), change)

    def append(self, values: Array, change: Array) -> Array:
        """Keep values that were measured elsewhere, with the change that the identity predicts (NaN
        if it does not).
        """
        self._values.append(values)
        self._predicted.append(self._predicted[-1] + change)
        return values - self._values[0]

    @property
    def values(self) -> Array:
        """What is conserved, one row per record; the first is the start."""
        return np.array(self._values)

    @property
    def drift(self) -> Array:
        """Values minus those at the start."""
        return self.values - self._values[0]

    @property
    def predicted(self) -> Array:
        """The drift by the exact identity for gradient descent, NaN from the first step whose
        gradients are not known.
        """
        return np.array(self._predicted)

    def __str__(self) -> str:
        ends = np.cumsum(conserved_counts(self.boundaries))
        pieces = zip(self.boundaries, np.split(self.values, ends[:-1], axis=1), strict=True)
        lines = [
            f"{b.name}: {b.n_blocks} "
            f"{'x ' + str(b.n_blocks) + ' matrix' if b.is_linear else 'blocks'}, "
            f"largest |D| {np.abs(v[-1]).max():.6g}, largest drift {np.abs(v - v[0]).max():.3g}"
            for b, v in pieces
        ]
        return "\n".join(
            lines + [f"{name}: not conserved, {reason}" for name, reason in self.skipped.items()]
        )


def watch_torch(module: Any, optimizer: Any = None) -> BalanceWatch:
    """Watch a torch module: a Sequential (also nested) or a list of layers in the order in which
    they are applied.

    Linear, Conv1d/2d/3d (grouped too), ReLU, LeakyReLU, PReLU, Identity, Dropout, Flatten and
    pooling are understood. A bias belongs to what enters its neuron or channel, the bias of the
    last layer to nothing. Boundaries across anything else (BatchNorm, Tanh, Softmax, ...), tied or
    frozen weights are listed in `skipped`.

    Parameters
    ----------
    optimizer : Any
        If given, every `optimizer.step()` is recorded; with plain torch.optim.SGD (no momentum) the
        exact identity is followed too, weight decay included. Otherwise call `record(None)` after
        your steps.
    """
    from globalmin.balancedness.chains import attach, read_module, torch_chain

    layers, boundaries, skipped = torch_chain(module)
    if not boundaries:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in skipped.items())
        raise HypothesisError(
            f"this module conserves nothing ({reasons or 'it has fewer than two layers'})"
        )

    def read(model: Any) -> list[Array]:
        if model is not None and model is not module:
            raise DataError(
                "a watched module is known: call record(None); for the exact identity pass the "
                "optimizer to watch_torch"
            )
        return read_module(layers)

    watch = BalanceWatch(boundaries, read, None, skipped)
    if optimizer is not None:
        attach(watch, layers, optimizer)
    return watch


@runtime_checkable
class LayeredNetwork(Protocol):
    """What this room needs of a deep network: `gm.DeepNetwork` has it, and so may yours."""

    weights: tuple[Array, ...]
    head: Array
    activation: Activation
    architecture: str

    @property
    def depth(self) -> int:
        """Number of hidden weight matrices."""
        ...

    @property
    def skips(self) -> tuple[bool, ...]:
        """Whether a layer adds the one below."""
        ...

    @property
    def geometry(self) -> Geometry:
        """Pixels and windows of the inputs."""
        ...

    def split(self, theta: Array) -> tuple[Array, ...]:
        """A vector of all parameters, cut into layers."""
        ...

    def with_parameters(self, theta: Array) -> LayeredNetwork:
        """The same network with other weights."""
        ...

    def loss_and_gradient(self, X: Array, y: Array) -> tuple[float, Array]:
        """Mean of half the squared residuals, and its gradient."""
        ...

    def with_activation(self, activation: Activation) -> LayeredNetwork:
        """The same weights with another activation."""
        ...


def watch_network(network: ShallowNetwork | LayeredNetwork) -> BalanceWatch:
    """Watch one of our own networks, from the monitor of its training; a shallow one must be
    trained in both layers ("vW").

    `gm.train_deep(network, data, monitor=lambda step: watch.record(step.network()))`, and
    `gm.train(network, data, trained="vW", monitor=lambda step: watch.record(step.network()))`.
    """
    return BalanceWatch(_own_boundaries(network), _own_pieces, network)


def watch_pytree(
    params: Any, *, layout: Layout, activation: str | Activation = "relu"
) -> BalanceWatch:
    """Watch a JAX pytree (or any arrays): a sequence, or a mapping in its own order, of layers.

    A layer is a weight array, a pair (weights, bias), or a mapping with one weight array and at
    most one bias vector. Sparse layers are full arrays with zeros, if the gradient is masked as
    well.

    Parameters
    ----------
    layout : str
        "in_out" for x @ W (flax, haiku; convolutions window x in x out, channels last), "out_in"
        for W @ x (torch; convolutions out x in x window, channels first).
    activation : str | Activation
        Between all layers; it must be homogeneous.
    """
    boundaries = pytree_boundaries(params, layout=layout, activation=activation)
    return BalanceWatch(
        boundaries, lambda tree: [_flat_layer(layer, layout) for layer in _layers(tree)], params
    )


@states("DU-T4.1", "DU-C4.1", "DU-T4.3")
def balancedness_of(
    model: Any, *, layout: Layout | None = None, activation: str | Activation = "relu"
) -> dict[str, Array]:
    """||incoming||^2 - p ||outgoing||^2 of every neuron or channel, by boundary.

    Parameters
    ----------
    model : Any
        a ShallowNetwork, a DeepNetwork, a torch module, or a pytree of arrays (then `layout` is
        needed, see `watch_pytree`).
    activation : str | Activation
        Of a pytree's network; the others know theirs.
    """
    if isinstance(model, ShallowNetwork | LayeredNetwork):
        boundaries, pieces = _own_boundaries(model), _own_pieces(model)
    elif _is_torch(model):
        from globalmin.balancedness.chains import read_module, torch_chain

        layers, boundaries, _ = torch_chain(model)
        pieces = read_module(layers)
    else:
        order = one_of("layout", layout, LAYOUTS, remedy="(in_out: x @ W, out_in: W @ x)")
        boundaries = pytree_boundaries(model, layout=order, activation=activation)
        pieces = [_flat_layer(layer, order) for layer in _layers(model)]
    return {b.name: imbalance(b, pieces[b.gap], pieces[b.gap + 1]) for b in boundaries}


def _own_boundaries(network: ShallowNetwork | LayeredNetwork) -> tuple[Boundary, ...]:
    if isinstance(network, LayeredNetwork):
        return layered_boundaries(network)
    return (_plain(network.W.shape, (1, network.width), 0, network.activation),)


def _own_pieces(network: ShallowNetwork | LayeredNetwork) -> tuple[Array, ...]:
    return (
        (*network.weights, network.head)
        if isinstance(network, LayeredNetwork)
        else (network.W, network.v)
    )


def layered_boundaries(network: LayeredNetwork) -> tuple[Boundary, ...]:
    """Boundaries of a DeepNetwork; the factors s_h are fixed and change nothing. Skip connections
    leave nothing conserved.
    """
    if any(network.skips):
        raise HypothesisError(
            f"architecture={network.architecture!r} of depth {network.depth} adds the layer below, "
            "so that rescaling a neuron "
            "changes the function and nothing is conserved; take 'fully_connected' or depth 1"
        )
    _degree(network.activation)
    shapes = [(*W.shape, 1) if network.geometry.pixels > 1 else W.shape for W in network.weights]
    shapes.append((1, network.head.size))
    return tuple(_plain(a, b, h, network.activation) for h, (a, b) in enumerate(pairwise(shapes)))


def pytree_boundaries(
    params: Any, *, layout: Layout, activation: str | Activation
) -> tuple[Boundary, ...]:
    """Boundaries of a chain of layers, see `watch_pytree`."""
    one_of("layout", layout, LAYOUTS, remedy="(in_out: x @ W, out_in: W @ x)")
    phi, layers = get_activation(activation), _layers(params)
    if len(layers) < 2:
        raise DataError(
            f"params has {len(layers)} layers; something is conserved between two layers: give at "
            "least two"
        )
    shapes = [_shape(layer, layout, h) for h, layer in enumerate(layers)]
    options = {
        "degree": _degree(phi),
        "linear": phi.name == "linear",
        "channels_last": layout == "in_out",
    }
    return tuple(
        chain_boundary(a, b, gap=h, **options) for h, (a, b) in enumerate(pairwise(shapes))
    )


def _plain(
    below: tuple[int, ...], above: tuple[int, ...], gap: int, activation: Activation
) -> Boundary:
    shapes = WeightShape(below, name=str(gap + 1)), WeightShape(above, name=str(gap + 2))
    return chain_boundary(
        *shapes, degree=_degree(activation), linear=activation.name == "linear", gap=gap
    )


def _degree(activation: Activation) -> int:
    if not activation.homogeneity:
        raise HypothesisError(
            f"activation {activation} is not homogeneous, so that nothing is conserved; take relu "
            "or leaky_relu"
        )
    return activation.homogeneity


def _is_torch(model: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and (
        isinstance(model, torch.nn.Module)
        or (
            isinstance(model, list | tuple)
            and any(isinstance(part, torch.nn.Module) for part in model)
        )
    )


def _layers(params: Any) -> list[Any]:
    return list(params.values()) if isinstance(params, Mapping) else list(params)


def _arrays(layer: Any) -> tuple[Array, Array | None]:
    """Weights and bias of one layer."""
    if isinstance(layer, Mapping):
        parts = [np.asarray(part, dtype=np.float64) for part in layer.values()]
    elif isinstance(layer, tuple | list) and 1 <= len(layer) <= 2 and np.ndim(layer[0]) >= 2:
        parts = [np.asarray(part, dtype=np.float64) for part in layer]
    else:
        parts = [np.asarray(layer, dtype=np.float64)]
    weights, biases = [p for p in parts if p.ndim >= 2], [p for p in parts if p.ndim == 1]
    if len(weights) != 1 or len(biases) > 1 or len(parts) != len(weights) + len(biases):
        raise DataError(
            f"a layer has arrays of shapes {[p.shape for p in parts]}; give one weight array and "
            "at most one bias vector"
        )
    return weights[0], biases[0] if biases else None


def _out_first(W: Array, layout: Layout) -> Array:
    """Weights as out x in x window."""
    return W if layout == "out_in" else np.moveaxis(W, (-1, -2), (0, 1))


def _shape(layer: Any, layout: Layout, place: int) -> WeightShape:
    W, b = _arrays(layer)
    shape = _out_first(W, layout).shape
    if b is not None and b.shape != shape[:1]:
        raise DataError(
            f"layer {place + 1} has {shape[0]} outputs but a bias of shape {b.shape}; with "
            f"layout={layout!r} the weights "
            f"{W.shape} are read as {shape[0]} x {shape[1]} (out x in): give the other layout?"
        )
    return WeightShape(shape, bias=b is not None, name=str(place + 1))


def _flat_layer(layer: Any, layout: Layout) -> Array:
    W, b = _arrays(layer)
    flat = np.ascontiguousarray(_out_first(W, layout)).ravel()
    return flat if b is None else np.concatenate([flat, b])
