"""The least-squares problem seen by every training method, and a point of it.

r = f(X) - y and L = (1/2)||r||^2. A `Point` computes each quantity at most once, however many parts
of the training ask for it, and never forms the n x kd Jacobian J: only J^T u and J J^T.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from globalmin._options import TRAINABLE, Trained, one_of
from globalmin._types import Array, NDArray
from globalmin.data.validation import require_memory
from globalmin.errors import DataError

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork

    Direction = tuple[Array, Array | None]


ROUNDED_FIT = 1e-8  # a larger relative residual is never blamed on rounding


class HasData(Protocol):
    """What training needs of a data set: inputs X (n x d, bias included) and labels y (n)."""

    @property
    def X(self) -> Array:
        """Inputs, one row per sample."""
        ...

    @property
    def y(self) -> Array:
        """Labels."""
        ...


class Differentiable(Protocol):
    """What training needs of an activation: phi and phi', elementwise."""

    def __call__(self, z: Array, /) -> Array:
        """phi(z)."""
        ...

    def derivative(self, z: Array, /) -> Array:
        """phi'(z)."""
        ...


class Tie(NamedTuple):
    """Samples on which every network satisfies f(x_i) = g_i t with one free number t: their
    indices, and g.
    """

    members: NDArray[np.intp]
    g: Array


@dataclass(frozen=True)
class Problem:
    """Fit y at the rows of X by v . phi(W x), moving W only, both layers, or v only.

    Attributes
    ----------
    X, y : inputs and the labels to reach; for data with a positive loss floor the best reachable
        labels (see `degenerate`).
    activation : phi with its derivative.
    trained : "W", "vW" or "v".
    scale : norm of the user's labels (1 if they are all zero); residuals are reported relative to
        it.
    floor : the loss that no network can go below; the reported loss is floor + (1/2)||r||^2.
    ties : groups of samples whose outputs are tied together, see `degenerate`.
    weights : factor of each residual (None: all one), r_i = weight_i (f(x_i) - y_i).
    """

    X: Array
    y: Array
    activation: Differentiable
    trained: Trained = "W"
    scale: float = 1.0
    floor: float = 0.0
    ties: tuple[Tie, ...] = ()
    weights: Array | None = None

    def weighted(self, rows: Array) -> Array:
        """Rows (one per sample) times the weights of the samples."""
        if self.weights is None:
            return rows
        return rows * (self.weights if rows.ndim == 1 else self.weights[:, None])

    @property
    def moves_W(self) -> bool:
        """Whether the hidden weights are trained."""
        return "W" in self.trained

    @property
    def moves_v(self) -> bool:
        """Whether the head is trained."""
        return "v" in self.trained

    def at(self, W: Array, v: Array) -> Point:
        """The point with these weights."""
        return Point(self, W, v)


if TYPE_CHECKING:
    once = cached_property
else:

    class once(cached_property):  # noqa: N801 a decorator
        """Computed on first use and kept, without the lock that Python 3.11 takes each time: a
        point belongs to one thread, and a small one is computed in microseconds.
        """

        def __get__(self, point: Any, owner: Any = None) -> Any:
            """The value, which hides this attribute from now on."""
            if point is None:
                return self
            value = point.__dict__[self.attrname] = self.func(point)
            return value


class Point:
    """Weights of a problem with everything that follows from them, each computed on first use and
    kept.
    """

    def __init__(self, problem: Problem, W: Array, v: Array) -> None:
        self.problem, self.W, self.v = problem, W, v

    @once
    def preactivations(self) -> Array:
        """Z = X W^T, n x k."""
        return self.problem.X @ self.W.T

    @once
    def features(self) -> Array:
        """phi(Z), n x k."""
        return self.problem.activation(self.preactivations)

    @once
    def slopes(self) -> Array:
        """S = phi'(Z) diag(v), n x k: J J^T = (S S^T) o (X X^T)."""
        return self.problem.weighted(
            self.problem.activation.derivative(self.preactivations) * self.v
        )

    @once
    def residual(self) -> Array:
        """Residual r = f(X) - y."""
        return self.problem.weighted(self.features @ self.v - self.problem.y)

    @once
    def square(self) -> float:
        """||r||^2."""
        return float(self.residual @ self.residual)

    @once
    def norm(self) -> float:
        """||r||."""
        return float(np.sqrt(self.square))

    @property
    def error(self) -> float:
        """What training lowers: ||r||."""
        return self.norm

    @property
    def relative_residual(self) -> float:
        """||r||/||y||."""
        return self.norm / self.problem.scale

    def in_words(self) -> str:
        """How well the weights fit."""
        return f"relative residual {self.relative_residual:.2e}"

    @once
    def rounding(self) -> float:
        """Size of the rounding errors in r (an estimate): no float weights near here can be
        expected to have a smaller ||r||.

        Each pre-activation is off by eps |x| . |w|, each output by eps |v| . |phi|; measured
        residuals end at 0.05 to 0.3 of this.
        """
        shifts = np.einsum(
            "il,il->i", np.abs(self.slopes), np.abs(self.problem.X) @ np.abs(self.W).T
        )
        size = shifts + self.problem.weighted(np.abs(self.features) @ np.abs(self.v))
        return float(np.finfo(np.float64).eps * np.linalg.norm(size))

    def is_fitted(self, tol: float) -> bool:
        """Whether ||r|| <= tol ||y||, or ||r|| is small (1e-8 ||y||) and as small as rounding
        allows.
        """
        relative = self.relative_residual
        return relative <= tol or (
            tol <= ROUNDED_FIT and relative <= ROUNDED_FIT and self.norm <= self.rounding
        )

    @property
    def loss(self) -> float:
        """The floor plus (1/2)||r||^2, the loss on the user's labels (the two terms add up by
        Pythagoras' theorem).
        """
        return self.problem.floor + 0.5 * self.square

    @once
    def gradient(self) -> Direction:
        """Gradient of L in W and, if the head is trained, in v: J^T r."""
        return self.pull_back(self.residual)

    def pull_back(self, u: Array) -> Direction:
        """J^T u, shaped like (W, v); None for v and zero for W if it is frozen. Cost nkd."""
        in_v = self.features.T @ self.problem.weighted(u) if self.problem.moves_v else None
        if not self.problem.moves_W:
            return np.zeros_like(self.W), in_v
        return (self.slopes * u[:, None]).T @ self.problem.X, in_v

    def gram(self, *, inputs_gram: Array | None = None, out: Array | None = None) -> Array:
        """K = J J^T = (S S^T) o (X X^T), plus phi(Z) phi(Z)^T for both layers (OS-J), the latter
        alone for the head. `inputs_gram` is X X^T if it is at hand.
        """
        if not self.problem.moves_W:
            Q = self.problem.weighted(self.features)
            return np.matmul(Q, Q.T, out=out)
        K = np.matmul(self.slopes, self.slopes.T, out=out)
        K *= self.problem.X @ self.problem.X.T if inputs_gram is None else inputs_gram
        if self.problem.moves_v:
            Q = self.problem.weighted(self.features)
            K += Q @ Q.T
        return K

    def moved(self, direction: Direction, step: float = -1.0) -> Point:
        """The point at theta + step * direction."""
        in_W, in_v = direction
        v = self.v if in_v is None else self.v + step * in_v
        return self.with_head(v) if not self.problem.moves_W else self._at(self.W + step * in_W, v)

    def with_head(self, v: Array) -> Point:
        """The point with another head; the hidden layer and its outputs are kept."""
        moved = self._at(self.W, v)
        moved.preactivations, moved.features = self.preactivations, self.features
        return moved

    def _at(self, W: Array, v: Array) -> Point:
        return Point(self.problem, W, v)

    def distance(self, other: Point) -> float:
        """Euclidean distance of the weights."""
        return length((self.W - other.W, self.v - other.v if self.v is not other.v else None))


def length(direction: Direction) -> float:
    """Euclidean norm over both layers."""
    in_W, in_v = direction
    square = np.vdot(in_W, in_W) + (0.0 if in_v is None else np.vdot(in_v, in_v))
    return float(np.sqrt(square))


def check_shapes(network: ShallowNetwork, X: Array, y: Array, trained: Trained) -> None:
    """Refuse, with the remedy, data and network that do not belong together."""
    one_of("trained", trained, TRAINABLE)
    if X.ndim != 2 or y.ndim != 1 or X.shape[0] != y.shape[0] or X.shape[0] == 0:
        raise DataError(
            f"X has shape {X.shape} and y has shape {y.shape}; give X as n x d and y as n numbers, "
            "n >= 1"
        )
    if X.shape[1] != network.n_features:
        raise DataError(
            f"the network takes {network.n_features} features but X has {X.shape[1]}; draw a "
            "network for these data"
        )
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise DataError("X or y contains NaN or infinity; remove or impute these entries first")


GRAM_METHODS = ("levenberg_marquardt", "homotopy", "auto")
ARRAYS_OF_GRAM = 3  # X X^T, K and the factor of K + lambda I
ARRAYS_OF_LAYER = 8  # pre-activations, features, slopes of two points and temporaries


def estimate_memory(n: int, d: int, k: int, method: str = "levenberg_marquardt") -> int:
    """Bytes that a method allocates for n samples, d features, k neurons: 24 n^2 for the n x n
    form, plus a few n x k arrays.
    """
    gram = ARRAYS_OF_GRAM * n * n if method in GRAM_METHODS else 0
    return 8 * (gram + ARRAYS_OF_LAYER * n * k + 2 * n * d + 6 * k * d)


def check_memory(start: Point, *, method: str) -> None:
    """Refuse a run that cannot fit, before anything large is allocated."""
    (n, d), k = start.problem.X.shape, len(start.v)
    remedy = (
        " (24 n^2 bytes; 'gradient_descent', 'sgd' and 'lbfgs' need no n x n array)"
        if method in GRAM_METHODS
        else ""
    )
    require_memory(
        estimate_memory(n, d, k, method), f"method {method!r} with n={n} samples{remedy}"
    )
