"""Random inputs and labels for tests, benchmarks and reproductions; everything is a function of its
seed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from globalmin._options import Scaling
from globalmin._types import Array
from globalmin.data.dataset import Dataset
from globalmin.data.validation import as_matrix
from globalmin.errors import DataError
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.activations import Activation

Seed = int | np.random.Generator


class Predictor(Protocol):
    """Anything with outputs at the rows of a matrix, such as a ShallowNetwork."""

    def predict(self, X: Array) -> Array:
        """Outputs at the rows of X."""
        ...


Teacher = Predictor | Callable[[Array], Array]


class Planted(NamedTuple):
    """Inputs X (n x d), labels y (n,), the teacher's outputs before noise, and its weights W, v if
    it was drawn here.
    """

    X: Array
    y: Array
    outputs: Array
    W: Array | None = None
    v: Array | None = None

    def dataset(self, *, bias: bool = False, scaling: Scaling = "none") -> Dataset:
        """The data set of X and y."""
        return Dataset(self.X, self.y, bias=bias, scaling=scaling)


def gaussian(n: int, d: int, seed: Seed = 0) -> Array:
    """Draw n independent rows from N(0, I_d)."""
    _check_sizes(n=n, d=d)
    return np.random.default_rng(seed).standard_normal((n, d))


def unit_sphere(n: int, d: int, seed: Seed = 0) -> Array:
    """Draw n independent uniform rows on the unit sphere of R^d (norm 1 up to rounding)."""
    X = gaussian(n, d, seed)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def random_labels(n: int, seed: Seed = 0) -> Array:
    """Draw n independent labels from N(0, 1)."""
    _check_sizes(n=n)
    return np.random.default_rng(seed).standard_normal(n)


def random_signs(n: int, seed: Seed = 0) -> Array:
    """Draw n independent labels +1 or -1, each with probability 1/2."""
    _check_sizes(n=n)
    return np.random.default_rng(seed).choice([-1.0, 1.0], size=n)


def sphere_with_random_labels(n: int, d: int, seed: int = 0) -> Dataset:
    """Uniform rows on the unit sphere with independent N(0, 1) labels, no bias, no scaling: the
    data of the benchmarks.
    """
    rng = np.random.default_rng(seed)
    X = unit_sphere(n, d, rng)
    return Dataset(X, random_labels(n, rng), bias=False, scaling="none")


def planted_weights(width: int, d: int, seed: Seed = 0) -> tuple[Array, Array]:
    """Teacher weights W with independent N(0, 1/d) entries (k x d) and the head v = 1.

    Theory
    ------
    The planted experiments of SJL (section on experiments): y = 1^T phi(W* x), W*_ij ~ N(0, 1)/sqrt
    d.
    """
    _check_sizes(width=width, d=d)
    return gaussian(width, d, seed) / np.sqrt(d), np.ones(width)


@states("FCL-M2")
def planted_regression(
    X: object,
    teacher: Teacher | None = None,
    *,
    width: int | None = None,
    activation: Activation | str = "softplus",
    average: bool = False,
    noise: float = 0.0,
    seed: Seed = 0,
) -> Planted:
    """Labels y_i = f(x_i) + noise N(0, 1) of a teacher f.

    Parameters
    ----------
    teacher : an object with `.predict`, or a function of a matrix; None draws f(x) = sum_l phi(w_l
        . x) with `planted_weights`.
    width, activation : of the drawn teacher; leave `width` out when a teacher is given.
    average : the drawn teacher is the mean over its neurons instead of the sum.

    Theory
    ------
    FCL-M2 with `average=True` and no noise; the planted experiments of SJL with the sum.
    """
    inputs = as_matrix(X, "X")
    if not noise >= 0 or not np.isfinite(noise):
        raise DataError(f"noise={noise} must be a finite standard deviation >= 0")
    rng = np.random.default_rng(seed)
    outputs, W, v = _teach(inputs, teacher, _Drawn(width, activation, average), rng)
    y = outputs + noise * rng.standard_normal(inputs.shape[0]) if noise else outputs.copy()
    return Planted(inputs, y, outputs, W, v)


@states("FCL-M1")
def planted_logistic(
    X: object,
    teacher: Teacher | None = None,
    *,
    width: int | None = None,
    activation: Activation | str = "sigmoid",
    seed: Seed = 0,
) -> Planted:
    """Labels y_i in {0, 1} with P(y_i = 1) = f(x_i), f(x) = (1/k) sum_l phi(w_l . x) for a drawn
    teacher.

    A given teacher must output probabilities. The field `outputs` holds them.

    Theory
    ------
    FCL-M1, the classification model; it needs phi with values in [0, 1].
    """
    inputs = as_matrix(X, "X")
    rng = np.random.default_rng(seed)
    outputs, W, v = _teach(inputs, teacher, _Drawn(width, activation, average=True), rng)
    if not ((outputs >= 0) & (outputs <= 1)).all():
        raise DataError(
            f"the teacher's outputs range from {outputs.min():.3g} to {outputs.max():.3g}, not "
            "within [0, 1]; use the sigmoid activation"
        )
    y = (rng.random(inputs.shape[0]) < outputs).astype(np.float64)
    return Planted(inputs, y, outputs, W, v)


class _Drawn(NamedTuple):
    width: int | None
    activation: Activation | str
    average: bool


def _teach(
    X: Array, teacher: Teacher | None, drawn: _Drawn, rng: np.random.Generator
) -> tuple[Array, Array | None, Array | None]:
    if (teacher is None) == (drawn.width is None):
        raise DataError("give either a teacher or the width of a teacher to be drawn")
    if drawn.width is not None:
        from globalmin.activations import get_activation

        W, v = planted_weights(drawn.width, X.shape[1], rng)
        v = v / drawn.width if drawn.average else v
        return get_activation(drawn.activation)(X @ W.T) @ v, W, v
    predict = getattr(teacher, "predict", teacher)
    if not callable(predict):
        raise DataError(
            f"teacher={teacher!r} has no .predict and is not a function; pass a network or a "
            "function of a matrix"
        )
    outputs = np.asarray(predict(X), dtype=np.float64)
    if outputs.shape != (X.shape[0],):
        raise DataError(
            f"the teacher's outputs have shape {outputs.shape}; it must return one number per row "
            f"of X, shape ({X.shape[0]},)"
        )
    return outputs, None, None


def _check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
            raise DataError(f"{name}={size!r} must be an integer >= 1")
