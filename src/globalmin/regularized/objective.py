r"""What is minimized: rows, labels, a convex loss, weight decay, and the class of networks.

$P = \sum_i \omega_i\,\ell(f_i, y_i) + \frac b2\sum_l(\|w_l\|^2 + v_l^2) + \frac{k_0}2 c_0^2 +
\frac{k_1}2\|\theta\|^2$, a sum over the rows and not a mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from globalmin._options import one_of
from globalmin._types import Array, ArrayLike
from globalmin.data.sparse import as_sparse_rows, is_sparse
from globalmin.data.validation import as_matrix, frozen
from globalmin.errors import DataError
from globalmin.losses import Loss, get_loss
from globalmin.losses.several import SeveralOutputs, SquaredOutputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from globalmin.regularized.network import RegularizedNetwork

HiddenBias = Literal["penalized", "free", "none"]
HIDDEN_BIASES: tuple[HiddenBias, ...] = get_args(HiddenBias)
Groups = Literal["columns", "pairs", "all"]
GROUPS: tuple[Groups, ...] = get_args(Groups)
Shape = Literal["none", "increasing", "decreasing", "convex", "concave"]
SHAPES: tuple[Shape, ...] = get_args(Shape)
RISING = ("increasing", "decreasing")


@dataclass(frozen=True)
class Penalty:
    r"""What a network pays for its weights.

    Parameters
    ----------
    weight_decay : float
        b > 0, of the hidden weights and the head.
    hidden_bias : str
        "penalized": the bias of a neuron is tau times a weight that is counted with the others;
        "free": it costs nothing; "none": there is none.
    tau : float
        The bias feature, positive.
    intercept : str | float
        "free", "none", or $k_0 > 0$.
    linear : str | float
        "none", "free", or $k_1 > 0$.
    """

    neurons: ClassVar[str] = "relu"
    weight_decay: float
    hidden_bias: HiddenBias = "penalized"
    tau: float = 1.0
    intercept: Literal["free", "none"] | float = "free"
    linear: Literal["free", "none"] | float = "none"

    def __post_init__(self) -> None:
        one_of("hidden_bias", self.hidden_bias, HIDDEN_BIASES)
        for name in ("weight_decay", "tau"):
            require_positive(name, getattr(self, name))
        for name in ("intercept", "linear"):
            given = getattr(self, name)
            if isinstance(given, str):
                one_of(name, given, ("free", "none"), remedy="or a positive number")
            else:
                require_positive(name, given)

    @property
    def needs_centering(self) -> bool:
        """Whether the dual vector must sum to zero: free hidden biases contain an intercept."""
        return self.intercept == "free" or self.hidden_bias == "free"

    def of(self, network: RegularizedNetwork) -> float:
        """The penalty part of the objective, in floats."""
        weights = np.sum(np.square(network.W)) + np.sum(np.square(network.v))
        if self.hidden_bias == "penalized":
            weights += np.sum(np.square(network.bias / self.tau))
        total = 0.5 * self.weight_decay * float(weights)
        if not isinstance(self.intercept, str):
            total += 0.5 * self.intercept * float(np.sum(np.square(network.intercept)))
        if not isinstance(self.linear, str) and network.linear is not None:
            total += 0.5 * self.linear * float(network.linear @ network.linear)
        return total


def require_positive(name: str, value: float) -> None:
    """Refuse a number that is not finite and positive."""
    if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
        raise DataError(f"{name}={value!r} must be a finite positive number")


@dataclass(frozen=True, eq=False)
class RegularizedProblem:
    """Rows, labels, loss, penalty and the class of networks: what a certificate speaks of.

    Parameters
    ----------
    X : Array
        n x d rows, without a constant column; of scipy.sparse too for networks of squares.
    y : Array
        n labels that the loss accepts; for "softmax" class numbers 0, 1, 2, ...; for "squared" also
        n x c labels, c outputs that share their neurons.
    penalty : Penalty
        Weight decay, and what else is penalized.
    loss : Loss
        Or its name, see `get_loss`.
    groups : str | tuple[tuple[int, ...], ...]
        The columns that one neuron may see together: "columns" (one), "pairs" (any two), "all", or
        a list of groups.
    sample_weight : Array | None
        n numbers of at least 0; None for ones.
    monotone : tuple[int, ...] | None
        1, -1 or 0 per column, for groups of one column: every *neuron* of a column with 1 is
        nondecreasing, with -1 nonincreasing. That is a smaller class than monotone functions:
        relu(x - 1) - relu(x - 2) is nondecreasing and not in it.
    shapes : tuple[str, ...] | None
        "increasing", "decreasing", "convex", "concave" or "none" per column, for groups of one
        column: the *curve* of the column (the sum of its neurons, whatever their signs) has this
        shape on the whole line. Not together with `monotone`.
    """

    X: Array
    y: Array
    penalty: Penalty
    loss: Loss = field(default_factory=lambda: get_loss("squared"))
    groups: Groups | tuple[tuple[int, ...], ...] = field(default="columns", kw_only=True)
    sample_weight: Array | None = field(default=None, kw_only=True)
    monotone: tuple[int, ...] | None = field(default=None, kw_only=True)
    shapes: tuple[str, ...] | None = field(default=None, kw_only=True)

    if TYPE_CHECKING:

        def __init__(
            self,
            X: ArrayLike,
            y: ArrayLike,
            penalty: Penalty,
            loss: str | Loss = "squared",
            *,
            groups: Groups | Sequence[Sequence[int]] = "columns",
            sample_weight: ArrayLike | None = None,
            monotone: Sequence[int] | None = None,
            shapes: Sequence[str] | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        X = self._rows()
        n = X.shape[0]
        object.__setattr__(self, "X", X)
        self._set_labels(n)
        if self.sample_weight is not None:
            weight = _column(self.sample_weight, "sample_weight", n)
            if not ((weight >= 0).all() and weight.any()):
                raise DataError("sample_weight must be at least 0, and positive for some row")
            object.__setattr__(self, "sample_weight", frozen(weight))
        object.__setattr__(self, "groups", _groups(self.groups, X.shape[1]))
        object.__setattr__(self, "monotone", _monotone(self.monotone, X.shape[1]))
        if self.monotone is not None and max(map(len, self.group_list())) > 1:
            raise DataError(
                f"monotone={self.monotone!r} with groups={self.groups!r}: neurons are monotone "
                "where they see one column; take groups='columns'"
            )
        object.__setattr__(self, "shapes", _shapes(self.shapes, X.shape[1]))
        if self.shapes is not None:
            _require_curves(self)
        if self.outputs > 1:
            _require_columns(self)

    def _set_labels(self, n: int) -> None:
        loss, y = get_loss(self.loss), np.asarray(self.y)
        if y.ndim == 2 and y.shape[1] > 1 and loss.name == "squared":
            y, loss = _table(y, n), SquaredOutputs()
        else:
            y = _column(self.y, "y", n)
        loss.check_labels(y)
        if isinstance(loss, SeveralOutputs):
            loss = loss.for_labels(y)
        object.__setattr__(self, "y", frozen(y))
        object.__setattr__(self, "loss", loss)

    @property
    def outputs(self) -> int:
        """The number of outputs: 1, the number of classes of a softmax, or of labels in a row."""
        return self.loss.outputs if isinstance(self.loss, SeveralOutputs) else 1

    def _rows(self) -> Array:
        """X checked and read-only; sparse rows stay sparse."""
        if self.penalty.neurons == "quadratic" and is_sparse(self.X):
            return as_sparse_rows(self.X)
        return frozen(as_matrix(self.X, "X"))

    @property
    def weights(self) -> Array:
        """The weights of the rows, ones if none are given."""
        return np.ones(len(self.y)) if self.sample_weight is None else self.sample_weight

    def group_list(self) -> list[tuple[int, ...]]:
        """The maximal groups, as a certificate's checker enumerates them."""
        d = self.X.shape[1]
        if self.groups == "all":
            return [tuple(range(d))]
        if self.groups == "columns" or (self.groups == "pairs" and d < 2):
            return [(j,) for j in range(d)]
        if self.groups == "pairs":
            return list(combinations(range(d), 2))
        return [tuple(group) for group in self.groups]


def objective(network: RegularizedNetwork, problem: RegularizedProblem) -> float:
    """The value P of the objective, in floats: summed loss plus penalty.

    Examples
    --------
    >>> from globalmin.regularized.network import RegularizedNetwork
    >>> problem = RegularizedProblem([[-1.0], [1.0]], [-1.0, 1.0], Penalty(0.5))
    >>> objective(RegularizedNetwork([[1.0]], [1.0], [0.5], -0.5), problem)
    0.8125
    """
    rows = problem.loss.value(network.predict(problem.X), problem.y)
    used = problem.weights > 0  # a row of weight 0 is absent, whatever its loss
    return float(problem.weights[used] @ rows[used]) + problem.penalty.of(network)


def require_relu(problem: RegularizedProblem) -> None:
    """Refuse a problem of other neurons than ReLU ones."""
    if problem.penalty.neurons != "relu":
        raise DataError(
            f"the penalty is one of {problem.penalty.neurons} neurons; train them with "
            "train_squares, or give a Penalty"
        )


def _require_columns(problem: RegularizedProblem) -> None:
    """Refuse what is neither trained nor proved for several outputs."""
    penalty, given = problem.penalty, f"with {problem.outputs} outputs"
    if max(map(len, problem.group_list())) > 1:
        raise DataError(
            f"groups={problem.groups!r} {given}: neurons that several outputs share see one column "
            "each; take groups='columns', or one network per output"
        )
    if penalty.neurons != "relu" or penalty.hidden_bias == "none" or penalty.linear != "none":
        raise DataError(
            f"{given}: neurons are ReLU with a bias, hidden_bias='penalized' or 'free', and "
            "linear='none'"
        )
    if problem.monotone is not None:
        raise DataError(f"monotone={problem.monotone!r} {given}: take one network per output")


def _table(values: ArrayLike, n: int) -> Array:
    array = np.array(values, dtype=np.float64)
    if len(array) != n or not np.isfinite(array).all():
        raise DataError(f"y of shape {array.shape} must be finite numbers in {n} rows")
    return array


def _column(values: ArrayLike, name: str, n: int) -> Array:
    array = np.array(values, dtype=np.float64)
    if array.shape != (n,) or not np.isfinite(array).all():
        raise DataError(f"{name} of shape {array.shape} must be {n} finite numbers, one per row")
    return array


def _monotone(given: Sequence[int] | None, d: int) -> tuple[int, ...] | None:
    """One of -1, 0, 1 per column; None if all are 0."""
    if given is None:
        return None
    signs = np.asarray(given)
    if signs.shape != (d,) or not np.isin(signs, (-1, 0, 1)).all():
        raise DataError(f"monotone={given!r} must be {d} numbers 1, -1 or 0, one per column")
    return tuple(int(sign) for sign in signs) if signs.any() else None


def _shapes(given: Sequence[str] | None, d: int) -> tuple[str, ...] | None:
    """One word per column; None if all are "none"."""
    if given is None:
        return None
    words = tuple(given)
    if isinstance(given, str) or len(words) != d or any(word not in SHAPES for word in words):
        raise DataError(
            f"shapes={given!r} must be {d} words of {', '.join(SHAPES)}, one per column"
        )
    return words if any(word != "none" for word in words) else None


def _require_curves(problem: RegularizedProblem) -> None:
    """Refuse what shapes of curves are not trained or proved for."""
    penalty, given = problem.penalty, f"shapes={problem.shapes!r}"
    if max(map(len, problem.group_list())) > 1:
        raise DataError(
            f"{given} with groups={problem.groups!r}: a curve is that of neurons that see one "
            "column; take groups='columns'"
        )
    if problem.monotone is not None:
        raise DataError(
            f"{given} with monotone={problem.monotone!r}: shapes are of curves, monotone of "
            "neurons; give one of them"
        )
    if problem.outputs > 1:
        raise DataError(f"{given} with {problem.outputs} outputs: take one network per output")
    if penalty.neurons != "relu" or penalty.hidden_bias == "none" or penalty.linear != "none":
        raise DataError(
            f"{given}: neurons are ReLU with a bias, hidden_bias='penalized' or 'free', and "
            "linear='none'"
        )


def _groups(given: object, d: int) -> Groups | tuple[tuple[int, ...], ...]:
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        return one_of("groups", given, GROUPS, remedy="or a list of groups of columns")
    found = tuple(tuple(sorted({int(j) for j in group})) for group in given)  # pyright: ignore
    if not found or any(not group or group[0] < 0 or group[-1] >= d for group in found):
        raise DataError(
            f"groups={given!r}: give non-empty groups of column numbers from 0 to {d - 1}"
        )
    return tuple(dict.fromkeys(found))
