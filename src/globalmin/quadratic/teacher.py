r"""A planted quadratic network as one object, with everything GKZ prove of it as calls.

$f^*(x) = \sum_{j=1}^m\varphi(W^*_j \cdot x)$ with $\varphi(z) = \alpha z^2 + \beta z + \gamma$ and
unit head. Population quantities are over x ~ N(0, I) and without 1/2, as in the paper. All in
floats but `certify`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.activations import Activation, get_activation
from globalmin.data.dataset import Dataset
from globalmin.data.validation import as_matrix, as_weights
from globalmin.errors import DataError, HypothesisError
from globalmin.quadratic.ambiguity import BadInterpolant, bad_interpolant
from globalmin.quadratic.barrier import (
    DescentRate,
    barrier_constant,
    exact_barrier_point,
    identity_start,
    require_full_rank,
    tight_point,
)
from globalmin.quadratic.census import StationaryPoint, classify_stationary, stationary_census
from globalmin.quadratic.claims.below_barrier import population_certificate
from globalmin.quadratic.general_activation import (
    general_gradient,
    general_risk,
    monomials,
    teacher_weights,
)
from globalmin.quadratic.identifiability import SpanCondition, critical_samples, span_of
from globalmin.quadratic.population_descent import (
    PopulationDescent,
    general_rate,
    population_descent,
)
from globalmin.quadratic.risk import orbit_distance
from globalmin.references import states
from globalmin.shallow.complete_square import coefficients_of
from globalmin.shallow.network import ShallowNetwork

if TYPE_CHECKING:
    from globalmin.proving.certificate import Certificate


@dataclass(frozen=True)
class EnergyBarrier:
    r"""What weights of rank < d must cost.

    Attributes
    ----------
    printed : float
        $2\alpha^2\sigma^4$, the bound of the paper (GKZ-T2.1b, GKZ-C2.2).
    exact : float
        $2\frac{d+2}{d+1}\alpha^2\sigma^4$, ours: the least such risk, attained at `point` if $\beta
        = 0$; a bound otherwise.
    tight : float
        $3\alpha^2\sigma^4$, the risk of the paper's own rank-deficient weights `tight_point`
        (GKZ-T2.1c).
    point, tight_point : Array
        The weights, of the shape of the teacher's.
    """

    printed: float
    exact: float
    tight: float
    point: Array = field(repr=False)
    tight_point: Array = field(repr=False)


@dataclass(frozen=True, eq=False, repr=False)
class QuadraticTeacher:
    r"""A planted network $f^*(x) = \sum_j\varphi(W_j \cdot x)$ with a quadratic activation, and
    what GKZ prove of it.

    Parameters
    ----------
    W : ArrayLike
        Weights $W^*$, m x d with m >= d and rank d, the case of the paper.
    activation : str | Activation
        "quadratic" or a polynomial of degree two, "polynomial(c,b,a)" for $az^2 + bz + c$.

    Theory
    ------
    GKZ-T2.1 to GKZ-T2.9: a barrier around weights of deficient rank, no other stationary points of
    full rank, a start below the barrier, and d(d+1)/2 samples to know the network.

    Examples
    --------
    >>> import numpy as np
    >>> teacher = QuadraticTeacher(np.diag([2.0, 1.0]))
    >>> teacher
    QuadraticTeacher(m=2, d=2, activation='quadratic', sigma=1, barrier=2.66667)
    >>> teacher.risk(np.diag([2.0, 0.0])), teacher.barrier.printed
    (3.0, 2.0)
    >>> [(point.subset, round(point.risk, 3)) for point in teacher.census()]
    [((0, 1), 0.0), ((0,), 2.667), ((1,), 42.667), ((), 59.0)]
    >>> teacher.samples_needed
    3
    """

    W: Array
    activation: Activation = field(default_factory=lambda: get_activation("quadratic"))

    if TYPE_CHECKING:

        def __init__(self, W: ArrayLike, activation: str | Activation = "quadratic") -> None: ...

    def __post_init__(self) -> None:
        remedy = "give the m x d weights of the teacher"
        object.__setattr__(self, "activation", get_activation(self.activation))
        object.__setattr__(self, "W", as_weights(self.W, "W", dimensions=(2,), remedy=remedy))
        coefficients_of(self.activation)
        require_full_rank(self.W)

    @classmethod
    @states("GKZ-C2.7")
    def from_network(cls, network: ShallowNetwork) -> QuadraticTeacher:
        r"""The teacher with unit head that is the same function as a network with a head a > 0:
        rows $\sqrt{a_j}W_j$ (activation $z^2$ only, or a head of ones).
        """
        if (network.v == 1.0).all():
            return cls(network.W, network.activation)
        if network.activation.name != "quadratic" or not (network.v > 0.0).all():
            raise HypothesisError(
                f"the head of a {network.activation} network has weights from "
                f"{network.v.min():.3g} to {network.v.max():.3g}; only positive weights of z^2 are "
                "absorbed into the rows",
                hypothesis="v > 0, z^2",
                value=float(network.v.min()),
            )
        return cls(np.sqrt(network.v)[:, None] * network.W)

    @classmethod
    @states("GKZ-DIRECT", "GKZ-T2.6a", "GKZ-C2.2")
    def recover(
        cls,
        X: object,
        y: object,
        *,
        activation: str | Activation = "quadratic",
        width: int | None = None,
    ) -> QuadraticTeacher:
        r"""The teacher read from its labels, up to what no sample can tell (the order and rotation
        of its rows): one least-squares problem.

        Parameters
        ----------
        X, y : object
            Samples that span, see `span_condition`, and labels; noisy ones give the best fit.
        activation : str | Activation
            That of the teacher.
        width : int | None
            Its number m of neurons, default d; to be given if the activation has a linear part or
            a constant.
        """
        phi = get_activation(activation)
        data = Dataset(X, y, bias=False, scaling="none")
        W = teacher_weights(data.X, data.y, coefficients_of(phi), width)
        return cls(W, phi)

    def __repr__(self) -> str:
        return (
            f"QuadraticTeacher(m={self.m}, d={self.d}, activation={self.activation.spelling!r}, "
            f"sigma={self.sigma:.6g}, barrier={self.barrier.exact:.6g})"
        )

    @property
    def m(self) -> int:
        """Number of neurons."""
        return self.W.shape[0]

    @property
    def d(self) -> int:
        """Number of features."""
        return self.W.shape[1]

    @property
    def sigma(self) -> float:
        r"""$\sigma_{\min}(W^*)$."""
        return require_full_rank(self.W)

    @property
    def coefficients(self) -> tuple[float, float, float]:
        r"""$(\alpha, \beta, \gamma)$."""
        return coefficients_of(self.activation)

    @property
    def network(self) -> ShallowNetwork:
        """The teacher as a network with unit head."""
        return ShallowNetwork(self.W, np.ones(self.W.shape[0]), self.activation)

    @states("GKZ-M1")
    def label(self, X: object) -> Array:
        """Its outputs at the rows of X."""
        return self.network.predict(as_matrix(X))

    def sample(self, n: int, *, seed: int | np.random.Generator | None = 0) -> Dataset:
        """A data set of n inputs drawn from N(0, I), with labels; not scaled, without a bias."""
        X = np.random.default_rng(seed).standard_normal((n, self.d))
        return Dataset(X, self.label(X), bias=False, scaling="none")

    @states("GKZ-R1", "GKZ-C2.2")
    def risk(self, W: ArrayLike | ShallowNetwork) -> float:
        r"""$E(f(W; x) - f^*(x))^2$ over x ~ N(0, I), in closed form."""
        return general_risk(self._weights(W), self.W, self.coefficients)

    @states("GKZ-R2", "GKZ-C2.2")
    def gradient(self, W: ArrayLike | ShallowNetwork) -> Array:
        """The gradient of `risk` in W."""
        return general_gradient(self._weights(W), self.W, self.coefficients)

    @states("GKZ-T2.1a")
    def distance(self, W: ArrayLike | ShallowNetwork) -> float:
        r"""How far W is from the nearest global minimum $QW^*$, Q orthogonal (and, with a linear
        part, Q1 = 1); zero iff the risk is.
        """
        given = self._weights(W)
        rows = max(given.shape[0], self.m)
        ours, theirs = (np.vstack([M, np.zeros((rows - len(M), self.d))]) for M in (given, self.W))
        if self.coefficients[1] == 0.0:
            return orbit_distance(ours, theirs)
        self.risk(given)  # refuses another number of rows
        u = np.full(rows, 1.0 / math.sqrt(rows))
        along = float(np.linalg.norm(u @ ours - u @ theirs))
        beside = orbit_distance(ours - np.outer(u, u @ ours), theirs - np.outer(u, u @ theirs))
        return math.hypot(along, beside)

    @property
    def barrier(self) -> EnergyBarrier:
        """The least risk of weights of deficient rank: as printed, exactly, and at the paper's own
        point.
        """
        unit = self.coefficients[0] ** 2 * self.sigma**4
        exact = barrier_constant(self.d) * unit
        points = exact_barrier_point(self.W), tight_point(self.W)
        return EnergyBarrier(2.0 * unit, exact, 3.0 * unit, *points)

    @states("GKZ-T2.5")
    def margin(self, W: ArrayLike | ShallowNetwork) -> float:
        """Its risk over the exact barrier: below 1 the weights have full rank, and so has all that
        descent makes of them.
        """
        return self.risk(W) / self.barrier.exact

    @states("GKZ-CENSUS")
    def census(self, subsets: str | Iterable[Iterable[int]] = "all") -> list[StationaryPoint]:
        r"""All stationary points of the risk by increasing risk, see
        `gm.landscape.stationary_census`; for $\beta = 0$.
        """
        square = self._without_linear("the census") ** 2
        rows = stationary_census(self.W, subsets)
        return [
            StationaryPoint(p.subset, p.B, square * p.risk, square * p.least_curvature)
            for p in rows
        ]

    @states("GKZ-T2.3")
    def classify(self, W: ArrayLike | ShallowNetwork, *, tol: float = 1e-8) -> str:
        r"""What W is for the risk: "global minimum", "strict saddle" or "not stationary"; for
        $\beta = 0$.
        """
        self._without_linear("the list of stationary points")
        return classify_stationary(self._weights(W), self.W, tol=tol)

    @property
    def samples_needed(self) -> int:
        r"""d(d+1)/2: almost every so many samples determine the teacher, no fewer do; d more
        suffice with a linear part.
        """
        return critical_samples(self.d) + (self.d if self.coefficients[1] else 0)

    @states("GKZ-SPAN", "GKZ-T2.6a")
    def span_condition(self, X: object) -> SpanCondition:
        r"""Whether these samples determine the teacher: the rank of the $x_ix_i^T$, and of the
        $x_i$ beside them if the activation has a linear part, in floats.
        """
        return span_of(monomials(as_matrix(X), self.coefficients))

    @states("GKZ-T2.6b", "GKZ-T2.9b")
    def impostor(self, X: object, *, delta: float | str | None = None) -> BadInterpolant | None:
        r"""Weights with the teacher's outputs on these samples that are another function, see
        `gm.landscape.bad_interpolant`; None if the samples determine the teacher. For $\beta = 0$.
        """
        square = self._without_linear("the construction of an impostor") ** 2
        found = bad_interpolant(as_matrix(X), self.W, delta=delta)
        if found is None:
            return None
        return BadInterpolant(
            found.W,
            found.M,
            found.delta,
            square * found.population_risk,
            square * found.guaranteed,
            math.sqrt(square) * found.training_error,
        )

    @states("GKZ-T2.5")
    def start(self, width: int | None = None, *, scale: float | str = "teacher") -> ShallowNetwork:
        r"""The start of GKZ-T2.5, $W_0 = \sqrt s[I; 0]$ with unit head.

        Parameters
        ----------
        width : int | None
            Its neurons, at least d; default those of the teacher.
        scale : float | str
            s: "teacher" is $\|W^*\|_F^2/d$, the best multiple of I, which on data is mean(y)/d
            (`scheme="identity"`); "paper" is m + 4d, for teachers with N(0,1) weights; "width" is
            m; or a positive number.
        """
        m = self.m if width is None else width
        chosen = float(np.sum(self.W**2)) / self.d if scale == "teacher" else scale
        return ShallowNetwork(identity_start(m, self.d, scale=chosen), np.ones(m), self.activation)

    @states("GKZ-RATE")
    def rate(self, W0: ArrayLike | ShallowNetwork) -> DescentRate | None:
        """Step and factor per step that descent on the risk keeps from here; None where nothing is
        proved: not below the barrier, or a linear part.
        """
        return general_rate(self._weights(W0), self.W, self.coefficients)

    @states("GKZ-GD", "GKZ-RATE")
    def descend(
        self,
        W0: ArrayLike | ShallowNetwork | None = None,
        *,
        step_size: float | None = None,
        max_iter: int = 1_000,
        tol: float = 1e-15,
        **options: Any,
    ) -> PopulationDescent:
        """Gradient descent on the risk, from `start` or the weights given; a run, whose `rate` is
        proved per step where `step_size` is left to the theory.
        """
        given = self.start() if W0 is None else W0
        return population_descent(
            self._weights(given),
            self.W,
            coefficients=self.coefficients,
            eta=step_size,
            max_iter=max_iter,
            tol=tol,
            **options,
        )

    @states("GKZ-RATE", "GKZ-GD")
    def certify(
        self, start: ShallowNetwork | None = None, *, step_size: float | None = None
    ) -> Certificate:
        """The certificate that descent on the risk from these weights (default `start`) converges
        to the teacher, see `gm.landscape.population_certificate`; for the activation z^2.
        """
        if self.activation.name != "quadratic":
            raise HypothesisError(
                f"the certificate of descent is for the activation z^2, not {self.activation}",
                hypothesis="z^2",
                value=0.0,
            )
        chosen = self.start() if start is None else start
        return population_certificate(chosen, self.W, step_size=step_size)

    def _weights(self, W: ArrayLike | ShallowNetwork) -> Array:
        if isinstance(W, ShallowNetwork):
            if not (W.v == 1.0).all() or W.activation != self.activation:
                raise DataError(
                    f"the network has activation {W.activation} and heads from {W.v.min():.3g} to "
                    f"{W.v.max():.3g}; the risk is for {self.activation} and unit heads "
                    "(QuadraticTeacher.from_network absorbs positive ones)"
                )
            return self._weights(W.W)
        found = as_weights(W, "W", dimensions=(2,), remedy="give weights, m x d")
        if found.shape[1] != self.d:
            raise DataError(f"W has {found.shape[1]} columns; the teacher has d={self.d} features")
        return found

    def _without_linear(self, what: str) -> float:
        alpha, beta, _ = self.coefficients
        if beta != 0.0:
            raise HypothesisError(
                f"{what} is for activations without a linear part, not {self.activation}",
                hypothesis="beta = 0",
                value=beta,
            )
        return alpha
