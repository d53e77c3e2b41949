r"""Losses of several outputs at one row, $f_i\in\mathbb{R}^c$: softmax for classes, and the squared
loss for several labels that share their neurons.

Values and conjugates are one number per row; derivatives and dual vectors are n x c, second
derivatives n x c x c.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError
from globalmin.losses.loss import Labels, Loss, xlogx

# of the total weight: a class without rows has no best constant, which would be minus infinity
_LEAST_SHARE = 1e-6
# of sums and quotients of a few numbers of at most 1, with weights far apart
_ROUNDING = 1e-9


@dataclass(frozen=True)
class SeveralOutputs(Loss):
    """A loss of c outputs; `outputs` is 0 until the labels of a problem say how many there are."""

    outputs: int = 0

    @property
    def ignores_shifts(self) -> bool:
        """Whether the same change of all outputs of a row changes nothing."""
        return False

    def for_labels(self, y: Array) -> SeveralOutputs:
        """The same loss with the number of outputs that these labels need."""
        raise NotImplementedError

    def centers(self, y: Array, weight: Array) -> Array:
        """The best constant outputs, c numbers, finite."""
        raise NotImplementedError

    def constant(self, y: Array, weight: Array) -> float:
        """There is no single one: see `centers`."""
        raise TypeError(f"the loss {self.name!r} has {self.outputs} outputs; take centers")


@dataclass(frozen=True)
class Softmax(SeveralOutputs):
    r"""$\log\sum_k e^{f_k} - f_y$ for class numbers y = 0, ..., c - 1; the softmax of the outputs
    estimates the probabilities of the classes.
    """

    name: ClassVar[str] = "softmax"
    labels: ClassVar[Labels] = "classes"

    @property
    def ignores_shifts(self) -> bool:
        """Yes: probabilities stay the same."""
        return True

    @property
    def smoothness(self) -> float:
        """A half: no eigenvalue of diag(p) - pp^T is larger."""
        return 0.5

    def for_labels(self, y: Array) -> Softmax:
        """As many outputs as the largest class number needs, at least two; DataError if the loss
        was made for fewer.
        """
        needed = max(int(y.max()) + 1, 2)
        if self.outputs and needed > self.outputs:
            raise DataError(
                f"y has the class number {needed - 1}; a softmax of {self.outputs} classes takes "
                f"0 to {self.outputs - 1}"
            )
        return replace(self, outputs=self.outputs or needed)

    def value(self, f: Array, y: Array) -> Array:
        """Without overflow."""
        top = f.max(axis=1, keepdims=True)
        total = np.log(np.exp(f - top).sum(axis=1)) + top[:, 0]
        return total - np.take_along_axis(f, y.astype(np.int64)[:, None], axis=1)[:, 0]

    def derivative(self, f: Array, y: Array) -> Array:
        """Probabilities minus the indicator of the class; every row sums to zero."""
        return probabilities(f) - indicators(y, f.shape[1])

    def second(self, f: Array, y: Array) -> Array:
        """diag(p) - pp^T for each row."""
        p = probabilities(f)
        blocks = -p[:, :, None] * p[:, None, :]
        blocks[:, range(f.shape[1]), range(f.shape[1])] += p
        return blocks

    def conjugate(self, u: Array, y: Array) -> Array:
        """The sum of q log q for q = u + indicator of the class, in the simplex; infinity
        outside, and where the rows of u do not sum to zero up to rounding.
        """
        q = u + indicators(y, u.shape[1])
        inside = (q >= -_ROUNDING).all(axis=1) & (np.abs(u.sum(axis=1)) <= _ROUNDING)
        return np.where(inside, xlogx(q).sum(axis=1), math.inf)

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Ends of every entry: minus the indicator, and one minus it; rows must sum to zero."""
        own = indicators(y, self.outputs)
        return -own, 1.0 - own

    def centers(self, y: Array, weight: Array) -> Array:
        """Logarithms of the shares of the classes, with mean zero."""
        shares = weight @ indicators(y, self.outputs) / weight.sum()
        logs = np.log(np.maximum(shares, _LEAST_SHARE))
        return logs - logs.mean()


@dataclass(frozen=True)
class SquaredOutputs(SeveralOutputs):
    r"""$\|f-y\|^2/2$ for c labels at each row, with the conjugate $u\cdot y + \|u\|^2/2$."""

    name: ClassVar[str] = "squared"

    @property
    def smoothness(self) -> float:
        """One."""
        return 1.0

    def for_labels(self, y: Array) -> SquaredOutputs:
        """As many outputs as columns of labels."""
        return replace(self, outputs=y.shape[1])

    def value(self, f: Array, y: Array) -> Array:
        """Half the squared distance."""
        return 0.5 * np.square(f - y).sum(axis=1)

    def derivative(self, f: Array, y: Array) -> Array:
        """The residuals."""
        return f - y

    def second(self, f: Array, y: Array) -> Array:
        """The identity for each row."""
        return np.tile(np.eye(f.shape[1]), (len(f), 1, 1))

    def conjugate(self, u: Array, y: Array) -> Array:
        """Equal to u . y + |u|^2/2."""
        return (u * y + 0.5 * u * u).sum(axis=1)

    def domain(self, y: Array) -> tuple[Array, Array]:
        """The whole space."""
        return np.full_like(y, -math.inf), np.full_like(y, math.inf)

    def centers(self, y: Array, weight: Array) -> Array:
        """The weighted means."""
        return weight @ y / weight.sum()


def indicators(y: Array, outputs: int) -> Array:
    """One row per label, 1 at its class and 0 elsewhere."""
    return np.eye(outputs)[y.astype(np.int64)]


def probabilities(f: ArrayLike) -> Array:
    """The softmax of every row of outputs."""
    outputs = np.asarray(f, dtype=np.float64)
    grown = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    return grown / grown.sum(axis=1, keepdims=True)


def one_against_rest(f: ArrayLike) -> Array:
    """Probabilities of classes, m x classes, from the log odds of one class against the others: one
    column (or m numbers) for the second of two classes, or one for each class, scaled to sum 1.
    """
    outputs = np.asarray(f, dtype=np.float64)
    shares = 0.5 * (1.0 + np.tanh(0.5 * outputs.reshape(len(outputs), -1)))
    if shares.shape[1] == 1:
        return np.hstack([1.0 - shares, shares])
    total = shares.sum(axis=1, keepdims=True)
    # where all have underflowed none is preferred
    return np.where(total > 0, shares / np.where(total > 0, total, 1.0), 1.0 / shares.shape[1])
