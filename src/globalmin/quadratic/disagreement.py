r"""Two networks that fit and disagree: the critical sample number as a construction on your own
data (GKZ-T2.6b, GKZ-T2.9b).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from globalmin._types import Array
from globalmin.data.validation import as_matrix, as_targets
from globalmin.errors import DataError, HypothesisError
from globalmin.linalg.symmetric import design_matrix, factor_by_head, quadratic_forms, unsvec
from globalmin.quadratic.ambiguity import kernel_direction
from globalmin.quadratic.identifiability import critical_samples
from globalmin.quadratic.risk import risk_of_difference
from globalmin.references import states
from globalmin.shallow.network import ShallowNetwork


@dataclass(frozen=True)
class Disagreement:
    r"""Two quadratic networks with the same outputs on all samples (up to rounding) that are
    different functions.

    Attributes
    ----------
    first, second : ShallowNetwork
        The networks, with d heads +1 and d heads -1 each; both attain the least loss of all
        quadratic networks.
    loss : float
        That loss; zero up to rounding unless the samples repeat each other with other labels.
    difference : Array
        Symmetric matrix D, second - first = $x^TDx$.
    on_samples : float
        The largest difference of the outputs on the samples, rounding only.
    root_mean_square : float
        $\sqrt{E(x^TDx)^2}$ over x ~ N(0, I).
    x : Array
        A unit vector where they differ most; `at_x` is the difference there.
    """

    first: ShallowNetwork
    second: ShallowNetwork
    loss: float
    difference: Array = field(repr=False)
    on_samples: float
    root_mean_square: float
    x: Array = field(repr=False)
    at_x: float


@states("GKZ-T2.6b", "GKZ-T2.9b", "SJL-T2.1")
def disagreeing_networks(
    X: object, y: object, *, root_mean_square: float | None = None
) -> Disagreement:
    r"""Give me data with n < d(d+1)/2 and I hand you two networks that fit and disagree, by as much
    as you like.

    Parameters
    ----------
    X, y : object
        Samples (n x d, bias column included if there is one) and one label each. More samples do as
        well if they lie on a common quadric ($x_i^TMx_i = 0$ for some M != 0), such as signs or
        one-hot columns.
    root_mean_square : float | None
        How far apart the two functions shall be over standard normal inputs, any positive number;
        default the size of the first one (1 if that is zero).

    Raises
    ------
    HypothesisError
        If the samples determine the network: n >= d(d+1)/2 in general position.

    Theory
    ------
    SJL-T2.1: with d heads of each sign every symmetric matrix is a network. GKZ-T2.6b: adding a
    matrix that vanishes at the samples changes no output there. The networks exist exactly (by
    counting dimensions); their weights are rounded. For heads >= 0 and a given teacher see
    `bad_interpolant`, and `certify(..., claims="ambiguous")` for a proof.

    Examples
    --------
    >>> X = [[1.0, 0.0], [0.0, 1.0]]  # two samples, three would be needed
    >>> found = disagreeing_networks(X, [1.0, 2.0], root_mean_square=10.0)
    >>> [round(float(output), 12) for output in found.first.predict(np.array(X))]
    [1.0, 2.0]
    >>> [round(float(output), 12) for output in found.second.predict(np.array(X))]
    [1.0, 2.0]
    >>> round(found.root_mean_square, 12), round(abs(found.at_x), 12)
    (10.0, 5.0)
    """
    samples = as_matrix(X)
    labels = as_targets(y, samples.shape[0])[:, 0]
    if root_mean_square is not None and not (
        math.isfinite(root_mean_square) and root_mean_square > 0
    ):
        raise DataError(f"root_mean_square={root_mean_square!r} must be a positive number, or None")
    K = _kernel_of(samples)
    M = unsvec(
        np.asarray(np.linalg.lstsq(design_matrix(samples), labels, rcond=None)[0], dtype=np.float64)
    )
    size = root_mean_square or math.sqrt(risk_of_difference(M)) or 1.0
    D = size / math.sqrt(risk_of_difference(K)) * K
    return _disagreement(samples, labels, M, D)


def _kernel_of(X: Array) -> Array:
    K = kernel_direction(X)
    if K is None:
        n, d = X.shape
        raise HypothesisError(
            f"these n={n} samples of d={d} features determine a quadratic network (d(d+1)/2 = "
            f"{critical_samples(d)}): any two that fit are the same function; leave samples out",
            hypothesis="rank{x x^T} < d(d+1)/2",
            value=n,
        )
    return K


def _disagreement(X: Array, y: Array, M: Array, D: Array) -> Disagreement:
    v = np.repeat([1.0, -1.0], X.shape[1])
    first, second = (_network(matrix, v) for matrix in (M, M + D))
    outputs = first.predict(X)
    eigenvalues, vectors = np.linalg.eigh(D)
    place = int(np.argmax(np.abs(eigenvalues)))
    return Disagreement(
        first=first,
        second=second,
        loss=0.5 * float(np.sum((quadratic_forms(X, M) - y) ** 2)),
        difference=D,
        on_samples=float(np.abs(second.predict(X) - outputs).max()),
        root_mean_square=math.sqrt(risk_of_difference(D)),
        x=vectors[:, place],
        at_x=float(eigenvalues[place]),
    )


def _network(M: Array, v: Array) -> ShallowNetwork:
    W = factor_by_head(M, v)
    if W is None:  # d heads of each sign carry every symmetric matrix
        raise ArithmeticError(
            "a symmetric matrix of order d has more than d eigenvalues of one sign"
        )
    return ShallowNetwork(W, v, "quadratic")
