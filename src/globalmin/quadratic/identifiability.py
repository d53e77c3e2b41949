r"""When do n samples determine a quadratic network? The span condition, recovery, and interpolants
that are wrong everywhere else.

GKZ, section 5: the outputs at $x_1,\dots,x_n$ determine the function iff the matrices $x_ix_i^T$
span the symmetric ones, which needs n >= N = d(d+1)/2 samples and holds for almost all such
samples. Losses as in `quadratic_risk`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.data.validation import as_matrix
from globalmin.errors import DataError, HypothesisError
from globalmin.linalg.symmetric import design_matrix, unsvec
from globalmin.quadratic.risk import square_root_of
from globalmin.references import states


@states("GKZ-T2.8", "GKZ-T2.9a")
def critical_samples(d: int) -> int:
    """N = d(d+1)/2: almost every N samples determine a quadratic network, no N - 1 do.

    >>> critical_samples(30)
    465
    """
    if d < 1:
        raise DataError(f"d={d} must be at least 1")
    return d * (d + 1) // 2


@dataclass(frozen=True)
class SpanCondition:
    """Numerical rank of the n x N design matrix S against the `needed` N, its extreme singular
    values, and lambda_min of F = S^T S / n.
    """

    rank: int
    needed: int
    sigma_min: float
    sigma_max: float
    lambda_min: float

    @property
    def holds(self) -> bool:
        """Whether the samples determine the network, up to rounding."""
        return self.rank == self.needed


@states("GKZ-SPAN", "GKZ-T2.6a")
def span_condition(X: Array) -> SpanCondition:
    r"""Do the matrices $x_ix_i^T$ span all symmetric matrices? By singular values of S, tolerance
    max(n, N) eps sigma_max.

    Theory
    ------
    GKZ-T2.6a: if so, every W with the teacher's outputs on the samples has $W^TW = W^{*T}W^*$. An
    estimate in floats; `exact_span_rank` proves.
    """
    return span_of(design_matrix(X))


def span_of(features: Array) -> SpanCondition:
    """The same for n x N features of any kind."""
    n, N = features.shape
    singular = np.linalg.svd(features, compute_uv=False)
    largest = float(singular[0])
    rank = int((singular > max(n, N) * np.finfo(np.float64).eps * largest).sum())
    smallest = float(singular[-1]) if n >= N else 0.0
    return SpanCondition(rank, N, smallest, largest, smallest**2 / n)


@states("GKZ-SPAN", "GKZ-T2.8")
def exact_span_rank(X: Array, *, max_exact: int = 120) -> tuple[int, int]:
    r"""Proved bounds (lower, upper) of the rank of $\{x_ix_i^T\}$ over the rationals, for the
    doubles in X.

    Parameters
    ----------
    X : n x d.
    max_exact : largest N for which a deficient rank is settled by exact integer elimination; above
        it the bounds may differ.

    Theory
    ------
    Primitive P4: the rank modulo one prime is a lower bound; min(n, N) is an upper bound; between
    the two only exact elimination decides.
    """
    n, N = X.shape[0], critical_samples(X.shape[1])
    lower, upper = _modular_span_rank(X), min(n, N)
    if lower == upper or max_exact < N:
        return lower, upper
    exact = integer_monomials(X).rank()
    return exact, exact


def monomial_indices(d: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Indices a <= b of the N monomials x_a x_b, in lexicographic order."""
    return np.triu_indices(d)


def _modular_span_rank(X: Array) -> int:
    from flint import nmod_mat

    from globalmin.data.exact_algebra import PRIME, multiply, residues

    rows, columns = monomial_indices(X.shape[1])
    field = residues(np.ascontiguousarray(X, dtype=np.float64))
    table = multiply(field[:, rows], field[:, columns])
    return nmod_mat(X.shape[0], rows.shape[0], table.ravel().tolist(), PRIME).rank()


def integer_monomials(X: Array) -> Any:
    """The n x N integer matrix of the monomials of the rows, each row scaled by a power of two (a
    flint matrix).
    """
    from flint import fmpz_mat

    from globalmin.data.exact_algebra import integer_row

    rows, columns = monomial_indices(X.shape[1])
    scaled = [integer_row(row) for row in X]
    return fmpz_mat(
        [
            [row[a] * row[b] for a, b in zip(rows.tolist(), columns.tolist(), strict=True)]
            for row in scaled
        ]
    )


@states("GKZ-DIRECT")
def recover_gram(X: Array, y: Array) -> Array:
    r"""The matrix A with $x_i^TAx_i = y_i$ by least squares, d x d: the teacher's $W^{*T}W^*$ when
    the span condition holds.

    Raises
    ------
    HypothesisError
        If the samples do not span, so that A is not determined.
    """
    condition = span_condition(X)
    if not condition.holds:
        raise HypothesisError(
            f"the samples span {condition.rank} of {condition.needed} dimensions, so they do not "
            "determine the network; give more samples in general position",
            hypothesis="span",
            value=condition.rank,
        )
    return unsvec(np.asarray(np.linalg.lstsq(design_matrix(X), y, rcond=None)[0], dtype=np.float64))


@states("GKZ-DIRECT")
def recover_network(X: Array, y: Array, width: int) -> Array:
    r"""W with `width` >= d rows and $W^TW$ = the recovered A (its negative eigenvalues, if labels
    are noisy, set to zero).
    """
    A = recover_gram(X, y)
    if width < A.shape[0]:
        raise HypothesisError(
            f"width={width} is below d={A.shape[0]}; give at least d neurons",
            hypothesis="m >= d",
            value=width,
        )
    return square_root_of(A, width)


@dataclass(frozen=True)
class SampleCount:
    """What n samples of d features say about quadratic networks, by exact arithmetic on the doubles
    given.

    `needed` is d(d+1)/2; the rank of the matrices $x_ix_i^T$ is at least `rank` and at most
    `rank_upper` (equal unless d is large and the rank is deficient).
    """

    n: int
    d: int
    needed: int
    rank: int
    rank_upper: int

    @property
    def determines(self) -> bool | None:
        """Whether equal outputs on the samples make two quadratic networks the same function; None
        if not settled.
        """
        if self.rank == self.needed:
            return True
        return False if self.rank_upper < self.needed else None

    @property
    def missing(self) -> int:
        """How many further samples in general position are needed, at most."""
        return self.needed - self.rank


@states("GKZ-SPAN", "GKZ-T2.8", "GKZ-T2.6a")
def samples_determine(X: object, *, max_exact: int = 120) -> SampleCount:
    r"""The critical sample number as an exact test on your own inputs: do these samples determine a
    quadratic network?

    Parameters
    ----------
    X : object
        n x d samples, the ones that will be used (bias column included).
    max_exact : int
        Largest d(d+1)/2 for which a deficient rank is settled exactly.

    Theory
    ------
    GKZ-T2.6a, GKZ-SPAN: yes iff the $x_ix_i^T$ span the symmetric matrices. GKZ-T2.8: n < d(d+1)/2
    samples never do, almost every d(d+1)/2 do.

    Examples
    --------
    >>> samples_determine([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]).determines
    True
    >>> few = samples_determine([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    >>> few.determines, few.rank, few.needed, few.missing
    (False, 2, 3, 1)
    """
    samples = as_matrix(X)
    n, d = samples.shape
    lower, upper = exact_span_rank(samples, max_exact=max_exact)
    return SampleCount(n, d, critical_samples(d), lower, upper)
