r"""The value `Loss`: a convex function $\ell(f, y)$ of the output of a network at one row, and its
conjugate $\ell^*(u) = \sup_t\,(ut - \ell(t, y))$, which turns a vector u into a floor.

Everything is elementwise and in floats; sample weights are applied by the objective
($\omega\ell$ has the conjugate $\omega\,\ell^*(u/\omega)$).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from globalmin._types import Array, ArrayLike, Mask
from globalmin.errors import DataError

Labels = Literal["real", "signs", "counts", "classes"]
MOST_CLASSES = 2**16
_MEANING: dict[Labels, tuple[str, str]] = {
    "real": ("a finite number", "remove or correct these rows"),
    "signs": ("-1 or 1", "write the two classes as -1 and 1"),
    "counts": ("a finite number of at least 0", "take another loss, or correct these rows"),
    "classes": ("a whole number of at least 0", "number the classes 0, 1, 2, ..."),
}


@dataclass(frozen=True)
class Loss(ABC):
    """One loss; get one from `get_loss`, two are equal when name and parameter are.

    Attributes
    ----------
    name : str
        As in `get_loss` and in certificates.
    parameter : float | None
        The threshold of Huber's loss, the level of the quantile; None for the others.
    labels : str
        "real", "signs" (-1 and 1), "counts" (at least 0) or "classes" (0, 1, 2, ...).
    """

    name: ClassVar[str]
    labels: ClassVar[Labels] = "real"
    parameter: float | None = None

    @property
    def smoothness(self) -> float | None:
        """A Lipschitz constant of the derivative; None where there is none."""
        return None

    @abstractmethod
    def value(self, f: Array, y: Array) -> Array:
        """The loss of the outputs f at the labels y."""

    @abstractmethod
    def derivative(self, f: Array, y: Array) -> Array:
        """Its derivative in f; at a kink one of the subgradients."""

    @abstractmethod
    def second(self, f: Array, y: Array) -> Array:
        """Its second derivative in f; zero where the loss is linear or has a kink."""

    @abstractmethod
    def conjugate(self, u: Array, y: Array) -> Array:
        """The conjugate at u, in floats; infinity outside of `domain`."""

    @abstractmethod
    def domain(self, y: Array) -> tuple[Array, Array]:
        """Ends (low, high) of the interval on which the conjugate is finite, row by row."""

    @abstractmethod
    def constant(self, y: Array, weight: Array) -> float:
        """The best constant output for these labels and weights, up to rounding."""

    def smoothed(self, width: float) -> Loss:
        r"""The Moreau envelope $\min_s\,\ell(s) + (t-s)^2/(2\cdot\mathrm{width})$ of a loss with
        kinks; a smooth loss is returned as it is.
        """
        return self

    def check_labels(self, y: ArrayLike, name: str = "y") -> None:
        """DataError with the first row whose label this loss does not take."""
        given = np.asarray(y, dtype=np.float64)
        wrong = np.flatnonzero(~self._accepts(given))
        if wrong.size:
            meaning, remedy = _MEANING[self.labels]
            value = float(given[wrong[0]])
            raise DataError(
                f"{name}[{wrong[0]}] = {value!r}, in {wrong.size} row(s): the loss "
                f"{self.name!r} needs {meaning}; {remedy}"
            )

    def _accepts(self, y: Array) -> Mask:
        if self.labels == "signs":
            return np.abs(y) == 1.0
        if self.labels == "classes":
            return (y >= 0) & (y == np.floor(y)) & (y < MOST_CLASSES)
        return np.isfinite(y) & (y >= 0) if self.labels == "counts" else np.isfinite(y)

    def _finite_inside(self, value: Array, u: Array, y: Array) -> Array:
        low, high = self.domain(y)
        return np.where((u >= low) & (u <= high), value, math.inf)


def xlogx(p: Array) -> Array:
    """The product p log p with 0 log 0 = 0, and 0 for p < 0, which lies outside of every
    domain here.
    """
    return p * np.log(np.where(p > 0, p, 1.0)) * (p > 0)


def root_of_slope(loss: Loss, y: Array, weight: Array) -> float:
    """The constant at which the summed derivative changes sign, by bisection between the least and
    the largest label.
    """
    low, high = float(y.min()), float(y.max())
    for _ in range(200):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        slope = float(weight @ loss.derivative(np.full_like(y, middle), y))
        low, high = (low, middle) if slope > 0 else (middle, high)
    return 0.5 * (low + high)
