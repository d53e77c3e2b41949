"""Claim factorization-gap: factors U, V and a matrix M -> how far they are from the best matrix of
their rank -> file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from globalmin._options import one_of
from globalmin._types import Array, ArrayLike
from globalmin.errors import CannotCertify
from globalmin.factorization.factors import Factors, checked_matrix
from globalmin.linalg.positive_definite import ball_matrix, inverse_factor, working_precision
from globalmin.proving.certificate import CHECKER_WORK, SealedCertificate
from globalmin.proving.claim import (
    Claim,
    ClaimRecord,
    Json,
    Proves,
    Question,
    Rung,
    Subject,
    Tensor,
    rational,
)
from globalmin.proving.producer import certified
from globalmin.references import states

Norm = Literal["auto", "zero", "frobenius", "factor"]
NORMS: tuple[Norm, ...] = get_args(Norm)
BITS = 192
STRIP_ENTRIES = 2**19
Ball = Any


@dataclass(frozen=True)
class GapNumbers:
    """Bounds on the safe side of the exact quantities, S the factor whose span is used; NaN where S
    has dependent columns.

    Attributes
    ----------
    square : |M|_F^2. loss_lower, loss_upper : the loss (1/2)|P S^T - M|^2.
    rounding : estimate of what 128-bit balls add to the loss, a sum of m n squares.
    inside : at least |(M - P S^T) Q|^2. leak : at least |(I - Q) M^T M Q|^2. outside : at least |M
        (I - Q)|^2.
    """

    square: float
    loss_lower: float
    loss_upper: float
    rounding: float
    inside: float
    leak: float
    outside: float


def gap_numbers(M: Array, S: Array, P: Array) -> GapNumbers:
    """The numbers for M (m x n), S (n x r) and P (m x r). Cost: two products of M with r columns at
    192 bits.
    """
    with working_precision(BITS):
        balls, other = ball_matrix(S), ball_matrix(P)
        Y, K, square = _products(M, balls)
        G, energy = balls.transpose() * balls, Y.transpose() * Y
        cross = (other.transpose() * Y).trace()
        loss = (square - 2 * cross + (other.transpose() * other * G).trace()) / 2
        known = (
            _below(square),
            max(_below(loss), 0.0),
            _above(loss),
            _above(square) * M.size * 2.0**-127,
        )
        try:
            inverse = G.inv()
        except ZeroDivisionError:
            return GapNumbers(*known, math.nan, math.nan, math.nan)
        T, N = Y - other * G, K - balls * (inverse * energy)
        inside, leak = ((inverse * (part.transpose() * part)).trace() for part in (T, N))
        return GapNumbers(
            *known, _above(inside), _above(leak), _above(square - (inverse * energy).trace())
        )


def _products(M: Array, S: Ball) -> tuple[Ball, Ball, Ball]:
    """M S, M^T M S and |M|_F^2, strip by strip."""
    from flint import arb, arb_mat

    rows, K, square = [], arb_mat(M.shape[1], S.ncols()), arb(0)
    for strip in _strips(M):
        balls = ball_matrix(strip)
        part = balls * S
        rows += part.tolist()
        K += balls.transpose() * part
        entries = balls.entries()
        square += sum(map(arb.__mul__, entries, entries), arb(0))
    return arb_mat(rows), K, square


def _strips(M: Array) -> Iterator[Array]:
    height = max(1, STRIP_ENTRIES // M.shape[1])
    for start in range(0, M.shape[0], height):
        yield M[start : start + height]


def _above(value: Ball) -> float:
    """A double at least as large as every number of the ball, and not negative."""
    from flint import arb

    near = max(float(value.upper()), 0.0)
    return near if arb(near) >= value else math.nextafter(near, math.inf)


def _below(value: Ball) -> float:
    """A double at most as large as every number of the ball."""
    from flint import arb

    near = float(value.lower())
    return near if arb(near) <= value else math.nextafter(near, -math.inf)


EPS = float(np.finfo(np.float64).eps)
_LOOSE = (
    1e-3  # relative distance of a to the r-th squared singular value when nothing depends on it
)
FACTOR_ROWS = int(
    (CHECKER_WORK / 4) ** (1 / 3)
)  # beyond this the spectral witness exceeds the checker's budget
FILE_BYTES = 2**30 - 2**20
_TIGHT = 1e-11  # the same, and of b to the next one, where the two nearly meet


@dataclass(frozen=True)
class FactorizationCertificate(SealedCertificate):
    """A claim about stored factors of a stored matrix; get one from `certify_factorization`."""

    claims: tuple[Claim, ...]
    factors: Factors = field(repr=False)
    M: Tensor = field(repr=False)

    @property
    def gap(self) -> float:
        """The loss exceeds the best loss of this rank by at most this."""
        return self.claims[0].summary["gap"]

    @property
    def relative_gap(self) -> float:
        """The gap divided by |M|_F^2."""
        return self.claims[0].summary["relative_gap"]

    def _description(self) -> Mapping[str, object]:
        m, n = self.M.shape
        return {
            "loss": "half-squared-frobenius",
            "network": {"kind": "factorization"},
            "data": {"rows": m, "columns": n},
        }

    def _tensors(self) -> Mapping[str, Tensor]:
        return {"M": self.M, "U": self.factors.U, "V": self.factors.V}


@states("DU-T4.4", "DU-M4")
def certify_factorization(
    U: ArrayLike, V: ArrayLike, M: ArrayLike, *, norm: Norm = "auto", tol: float = 1e-8
) -> FactorizationCertificate:
    r"""Prove how far $\frac12\lVert UV^T-M\rVert_F^2$ is from the best loss of any matrix of rank r
    (the width of U and V).

    The same as `certify(Factors(U, V), M)`.

    Parameters
    ----------
    U, V, M : ArrayLike
        m x r, n x r and m x n.
    norm : str
        How M is bounded outside the span of the factors. "frobenius" costs O(mnr) and needs
        $\sigma_r^2 > \sum_{i>r}\sigma_i^2$ to be sharp; "factor" stores an n x n witness and needs
        only $\sigma_r > \sigma_{r+1}$ (with a tie it still proves a relative 1e-10); "zero"
        compares with zero loss; "auto" takes the cheapest that is sharp.
    tol : float
        Largest gap worth a certificate, as a share of $\lVert M\rVert_F^2$.

    Raises
    ------
    CannotCertify : the proved gap is above `tol`; train further, or the factors are at a saddle.

    Theory
    ------
    Theorem EY of `spec/claims/factorization-gap.md`; the minimum itself is the theorem of Eckart
    and Young.
    """
    question = Question(Factors(U, V), M, options={"norm": norm, "tol": tol})
    certificate: Any = certified(question)[0]
    return certificate


def _checked(question: Question, wanted: Sequence[ClaimRecord] | None) -> Question:
    M = checked_matrix(question.data)
    question.network.require_fit(M)
    return replace(question, data=M)


def _build(question: Question) -> Claim:
    return build(question.network, question.data, **question.options)


def build(factors: Factors, M: Array, *, norm: Norm = "auto", tol: float = 1e-8) -> Claim:
    """The claim with its witness, or CannotCertify; see `certify_factorization`."""
    one_of("norm", norm, NORMS)
    _refuse_if_too_large(M.shape, factors.rank, norm)
    side = "right" if M.shape[1] <= M.shape[0] else "left"
    A, S, P = (M, factors.V, factors.U) if side == "right" else (M.T, factors.U, factors.V)
    numbers = gap_numbers(np.ascontiguousarray(A), S, P)
    claim = _best_claim(A, S, numbers, side, norm)
    if not claim.summary["gap"] <= tol * numbers.square:
        share = claim.summary["gap"] / numbers.square if numbers.square > 0 else math.inf
        raise CannotCertify(
            f"the proved gap is {share:.3g} of |M|_F^2, above tol={tol:g}: the factors are not "
            f"near the best rank-{factors.rank} "
            "matrix, or are at a saddle; train further or raise tol"
        )
    return claim


def _refuse_if_too_large(shape: tuple[int, ...], rank: int, norm: Norm) -> None:
    small, size = min(shape), 8 * (math.prod(shape) + sum(shape) * rank)
    if size + (8 * small**2 if norm == "factor" else 0) > FILE_BYTES:
        raise CannotCertify(
            f"M of shape {shape} and rank {rank} need {size:.3g} bytes, a certificate file holds "
            f"{FILE_BYTES:.3g}"
        )
    if norm == "factor" and small > FACTOR_ROWS:
        raise CannotCertify(
            f"norm='factor' ends at {FACTOR_ROWS} rows or columns, M has {small}; try "
            "norm='frobenius'"
        )


def _best_claim(A: Array, S: Array, numbers: GapNumbers, side: str, norm: Norm) -> Claim:
    zero = _claim("zero", {}, {}, numbers, numbers.loss_upper)
    span = (
        None
        if norm == "zero" or math.isnan(numbers.inside) or S.shape[1] >= min(A.shape)
        else _span(A, S)
    )
    if span is None:
        return zero
    claim = _subspace_claim(A, span, numbers, side, norm)
    return zero if norm == "auto" and claim.summary["gap"] >= zero.summary["gap"] else claim


@dataclass(frozen=True)
class _Span:
    """Orthonormal basis Z of the span of S, the triangle with S = Z R, singular values of A Z and
    their right vectors.
    """

    Z: Array
    R: Array
    values: Array
    W: Array


def _span(A: Array, S: Array) -> _Span | None:
    Z, R = np.linalg.qr(S)
    diagonal = np.abs(np.diag(R))
    if diagonal.min() <= 8.0 * EPS * diagonal.max():
        return None
    _, values, Wt = np.linalg.svd(A @ Z, full_matrices=False)
    return _Span(Z, R, values, Wt.T) if values[-1] > 0.0 else None


def _subspace_claim(A: Array, span: _Span, numbers: GapNumbers, side: str, norm: Norm) -> Claim:
    """Theorem EY: b from the Frobenius norm if that is clearly below the r-th squared singular
    value, else from P1.
    """
    lowest = span.values[-1] ** 2
    cheap = norm == "frobenius" or (
        norm == "auto" and (numbers.outside < 0.9 * lowest or A.shape[1] > FACTOR_ROWS)
    )
    tensors: dict[str, Tensor] = {}
    a = lowest * (1.0 - _LOOSE)
    if cheap:
        b = numbers.outside
    else:
        b, a, tensors["C_b"] = _outer_witness(A, span, lowest)
    tau = max(a, b + max(math.sqrt(numbers.leak / span.values.size), EPS * b))
    tau = tau if tau > b else math.nextafter(b, math.inf)
    excess = (
        numbers.inside + numbers.leak / (tau - b) + span.values.size * max(tau - a, 0.0)
    ) / 2.0
    tensors["C_a"] = _inner_witness(span, a)
    fields: dict[str, Json] = {
        "side": side,
        "a": rational(a),
        "b": rational(b),
        "tau": rational(tau),
    }
    return _claim("frobenius" if cheap else "factor", fields, tensors, numbers, excess)


def _inner_witness(span: _Span, a: float) -> Array:
    """C with C (S^T A^T A S - a S^T S) C^T = I: in the basis of right singular vectors the form is
    diagonal.
    """
    from scipy.linalg import solve_triangular

    return solve_triangular(span.R, span.W).T / np.sqrt(span.values**2 - a)[:, None]


def _outer_witness(A: Array, span: _Span, lowest: float) -> tuple[float, float, Array]:
    """(b, a, C_b): b above the squared norm of A outside the span, C_b the factor that proves it,
    and a suitable a.
    """
    B = A - (A @ span.Z) @ span.Z.T
    gram, unit = B.T @ B, np.eye(B.shape[1])
    top = max(float(np.linalg.eigvalsh(gram)[-1]), 0.0)
    tight = max(_TIGHT, 1e3 * EPS * span.values[0] / span.values[-1])
    a = lowest * (1.0 - (_LOOSE if lowest - top > 10.0 * _LOOSE * lowest else tight))
    noise = (100.0 * EPS * span.values[0]) ** 2  # below this the entries of B are rounding
    choices = (
        [(top + lowest) / 2.0]
        if lowest - top > 1e-6 * lowest
        else [top * (1.0 + _TIGHT), top * (1.0 + 100.0 * _TIGHT)]
    )
    for b in (max(choice, noise) for choice in choices):
        C = inverse_factor(b * unit - gram)
        if C is not None:
            return b, a, C
    raise CannotCertify(
        "no factor proves the norm of M outside the span of the factors; try norm='frobenius'"
    )


def _claim(
    method: str,
    fields: dict[str, Json],
    tensors: dict[str, Tensor],
    numbers: GapNumbers,
    excess: float,
) -> Claim:
    """The claim with its rationals rounded to the safe side; 1e-9 of the excess is room for the
    floats of this file.

    `rounding` is room that lets the checker decide at its lowest precision, since sums of the size
    of |M|^2 cancel in the loss.
    """
    room = numbers.rounding if numbers.loss_upper > 0.0 else 0.0
    upper = numbers.loss_upper + room
    gap = math.nextafter(excess * (1.0 + 1e-9), math.inf) + room if method != "zero" else upper
    floor = (
        0.0 if method == "zero" else max(math.nextafter(numbers.loss_lower - gap, -math.inf), 0.0)
    )
    whole: dict[str, Json] = {
        "method": method,
        "gap": rational(gap),
        "floor": rational(floor),
        "loss_upper": rational(upper),
    }
    share = gap / numbers.square if numbers.square > 0.0 else 0.0
    summary = {"loss_upper": upper, "gap": gap, "floor": floor, "relative_gap": share}
    return Claim(CLAIM.kind, whole | fields, tensors, summary)


CLAIM = ClaimRecord(
    kind="factorization-gap",
    theorem="best-rank/1",
    proves=Proves.GAP,
    label="gap to the best matrix of this rank",
    network=Factors,
    build=_build,
    rungs=lambda question: (Rung(1, lambda: _build(question)),),
)
SUBJECT = Subject(
    Factors,
    lambda claims, question, _: FactorizationCertificate(claims, question.network, question.data),
    prepare=_checked,
)
