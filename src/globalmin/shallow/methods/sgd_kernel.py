"""Updates of stochastic gradient descent as one compiled loop, for the activations of the catalog
that have a formula without coefficients.

A numpy update of a small network is some twenty calls, each of which costs more than its
arithmetic. Here all updates between two looks at the full loss are one call. W is held feature by
feature, so that the loops over the neurons are those that the compiler turns into vector
instructions; no `fastmath`, NaN stays NaN. Compiled once and kept on disk.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from globalmin._compiled import compiled
from globalmin._types import Array

CODES = {
    name: code
    for code, name in enumerate(
        ("relu", "leaky_relu", "abs", "linear", "quadratic", "softplus", "sigmoid", "tanh", "erf",
         "swish", "gelu")
    )
}  # fmt: skip
RELU, LEAKY, ABS, LINEAR, QUADRATIC, SOFTPLUS, SIGMOID, TANH, ERF, SWISH, GELU = range(11)
NOWHERE = -1  # no update left the ball


class Rule(NamedTuple):
    """Activation code and parameter, step size, which layers move, and the radius that is watched
    (infinite: none).
    """

    code: int
    parameter: float
    eta: float
    moves_hidden: bool
    moves_head: bool
    radius: float


@compiled()
def _pair(z, code, b):  # noqa: ANN001, ANN202
    """phi(z) and phi'(z), by the formulas of `activations.functions`."""
    if code in (RELU, LEAKY, ABS):
        left = 0.0 if code == RELU else (b if code == LEAKY else -1.0)
        return (z, 1.0) if not z < 0.0 else (left * z, left)
    if code == LINEAR:
        return z, 1.0
    if code == QUADRATIC:
        return z * z, 2.0 * z
    if code == ERF:
        t = min(max(z, -40.0), 40.0)
        return math.erf(z), 2.0 / math.sqrt(math.pi) * math.exp(-t * t)
    if code == GELU:
        t = min(max(z, -40.0), 40.0)
        below = 0.5 * math.erfc(-z / math.sqrt(2.0))
        return z * below, below + t * math.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi)
    rate = b if code in (SOFTPLUS, SIGMOID) else (2.0 if code == TANH else 1.0)
    u = math.exp(-rate * abs(z))
    s = (1.0 if z >= 0.0 else u) / (1.0 + u)
    slope = u / ((1.0 + u) * (1.0 + u))
    if code == SOFTPLUS:
        return max(z, 0.0) + math.log1p(u) / b, s
    if code == SIGMOID:
        return s, b * slope
    if code == TANH:
        return math.tanh(z), 4.0 * slope
    return z * s, s + z * slope


@compiled()
def _add_sample(x, y, weights, rule, room):  # noqa: ANN001, ANN202
    """Add r phi'(W x) v x^T and r phi(W x) to the directions G and g."""
    (W, v), (phi, slope, G, g) = weights, room
    (d, k), r = W.shape, -y
    phi[:] = 0.0
    for a in range(d):
        for neuron in range(k):
            phi[neuron] += x[a] * W[a, neuron]
    for neuron in range(k):
        phi[neuron], slope[neuron] = _pair(phi[neuron], rule.code, rule.parameter)
        r += v[neuron] * phi[neuron]
    if rule.moves_hidden:
        for neuron in range(k):
            slope[neuron] *= r * v[neuron]
        for a in range(d):
            for neuron in range(k):
                G[a, neuron] += x[a] * slope[neuron]
    if rule.moves_head:
        for neuron in range(k):
            g[neuron] += r * phi[neuron]


@compiled()
def _descend(weights, rule, eta, room):  # noqa: ANN001, ANN202
    """Move along the directions, set them to zero, and return the length of the step."""
    (W, v), (squares, _, G, g) = weights, room
    squares[:] = 0.0
    if rule.moves_hidden:
        for a in range(W.shape[0]):
            for neuron in range(W.shape[1]):
                squares[neuron] += G[a, neuron] * G[a, neuron]
                W[a, neuron] -= eta * G[a, neuron]
        G[:] = 0.0
    if rule.moves_head:
        for neuron in range(len(v)):
            squares[neuron] += g[neuron] * g[neuron]
            v[neuron] -= eta * g[neuron]
        g[:] = 0.0
    return eta * math.sqrt(np.sum(squares))


@compiled()
def _is_outside(W, v, W0, v0, radius):  # noqa: ANN001, ANN202
    """Whether the weights are farther than the radius from those of the beginning, or NaN."""
    if radius == np.inf:
        return False
    square = 0.0
    for neuron in range(len(v)):
        square += (v[neuron] - v0[neuron]) ** 2
        for a in range(W.shape[0]):
            square += (W[a, neuron] - W0[a, neuron]) ** 2
    return not square <= radius * radius


@compiled(nogil=True)
def _updates(data, weights, picks, rule, room):  # noqa: ANN001, ANN202
    """All updates of `picks` (updates x samples of one update), in place."""
    (X, y), ((W, v), (W0, v0)) = data, weights
    travel, left_at, batch = 0.0, NOWHERE, picks.shape[1]
    for update in range(picks.shape[0]):
        for j in range(batch):
            i = picks[update, j]
            _add_sample(X[i], y[i], (W, v), rule, room)
        travel += _descend((W, v), rule, rule.eta / batch, room)
        if left_at == NOWHERE and _is_outside(W, v, W0, v0, rule.radius):
            left_at = update
    return travel, left_at


class Sampler:
    """One network under stochastic updates: its weights in the layout of the kernel, and room to
    work in.

    Parameters
    ----------
    X, y : inputs and labels.
    W, v : the weights at the beginning.
    rule : what an update does.
    """

    def __init__(self, X: Array, y: Array, W: Array, v: Array, rule: Rule) -> None:
        self._data = np.ascontiguousarray(X), np.ascontiguousarray(y)
        self._W, self._v, self._rule = np.ascontiguousarray(W.T), v.copy(), rule
        d, k = self._W.shape
        self._weights = (self._W, self._v), (self._W.copy(), self._v.copy())
        self._room = np.zeros(k), np.zeros(k), np.zeros((d, k)), np.zeros(k)

    def run(self, picks: Any) -> tuple[float, int]:
        """Make the updates with these samples (updates x batch): the length of the path, and the
        first update after which the weights were outside of the radius around the beginning (-1 if
        none was).
        """
        return _updates(self._data, self._weights, picks, self._rule, self._room)

    @property
    def W(self) -> Array:
        """A copy of the hidden weights, k x d."""
        return self._W.T.copy()

    @property
    def v(self) -> Array:
        """A copy of the head."""
        return self._v.copy()

    @property
    def weights(self) -> tuple[Array, Array]:
        """Copies of W and v."""
        return self.W, self.v
