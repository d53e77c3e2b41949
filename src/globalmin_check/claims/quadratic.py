"""Quadratic networks, f(x) = x^T M x with M = sum_l v_l w_l w_l^T: forms, sums of x x^T and the
design of svec(x x^T), in balls.

Small problems are worked with ball matrices, so that ties of dyadic numbers are decided once the
precision is high enough. Large ones are put on a grid: t-bit integers in units of 2^-s, multiplied
exactly, ten times faster than balls; the bound of what the grid cuts off becomes the radius. Either
way X is read in strips of rows, never as one matrix of balls.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import repeat
from operator import mul

from flint import arb, arb_mat, ctx, fmpz_mat

from globalmin_check.balls import largest, root, sum_of_squares, total
from globalmin_check.container import Tensor
from globalmin_check.primitives import Rows
from globalmin_check.problem import Problem

LARGE = 10**8  # products above this many multiplications are done on the grid
STRIP_ENTRIES = 2**20  # entries of a strip of rows
GRID_BITS = {128: 61, 256: 122}  # by precision: one machine word, then two; 512 bits after that


def residual(problem: Problem) -> list[arb]:
    """r_i = x_i^T M x_i - y_i of the stored network."""
    values = forms(problem.X, network_matrix(problem))
    return [value - label for value, label in zip(values, problem.y.values, strict=True)]


def network_matrix(problem: Problem) -> Rows:
    """M = sum_l v_l w_l w_l^T of the stored network."""
    return weighted_sum(problem.W, list(map(arb, problem.v.values)))


def weighted_sum(X: Tensor, weights: list[arb]) -> Rows:
    """The symmetric matrix sum_i weights_i x_i x_i^T."""
    n, d = X.shape
    if n * d * d > LARGE:
        return _weighted_sum_on_grid(X, weights)
    result = arb_mat(d, d)
    for start, rows in _strips(X, d):
        weighted = [
            [weight * x for x in row] for weight, row in zip(weights[start:], rows, strict=False)
        ]
        result += arb_mat(rows).transpose() * arb_mat(weighted)
    return result.tolist()


def forms(X: Tensor, M: Rows) -> list[arb]:
    """x_i^T M x_i for every row of X."""
    n, d = X.shape
    if n * d * d > LARGE:
        return _forms_on_grid(X, M)
    values: list[arb] = []
    for _, rows in _strips(X, d):
        products = (arb_mat(rows) * arb_mat(M)).tolist()
        values += [
            total(map(arb.__mul__, product, row))
            for product, row in zip(products, rows, strict=True)
        ]
    return values


def design_gram(X: Tensor) -> Rows:
    """Lower triangle of A^T A, the rows of A being svec(x_i x_i^T)."""
    n, d = X.shape
    N = d * (d + 1) // 2
    plain = _monomial_gram_on_grid(X, N) if n * N * N > LARGE else _monomial_gram(X, N)
    off = [a != b for a, b in pairs(d)]
    scales = (arb(1), arb(2).sqrt(), arb(2))
    return [[plain[i][j] * scales[off[i] + off[j]] for j in range(i + 1)] for i in range(N)]


def pairs(d: int) -> list[tuple[int, int]]:
    """The order of svec: the entries (a, b), a <= b, one row after the other."""
    return [(a, b) for a in range(d) for b in range(a, d)]


def symmetric_matrix(z: Sequence[float], d: int) -> Rows:
    """The symmetric d x d matrix whose svec is z."""
    half = 1 / arb(2).sqrt()
    rows = [[arb(0)] * d for _ in range(d)]
    for (a, b), entry in zip(pairs(d), z, strict=True):
        rows[a][b] = rows[b][a] = arb(entry) if a == b else entry * half
    return rows


def frobenius(M: Rows) -> arb:
    """The Frobenius norm, which is the Euclidean norm of svec."""
    return root(total(map(sum_of_squares, M)))


def _strips(X: Tensor, width: int) -> Iterator[tuple[int, list[list[float]]]]:
    """The rows of X in strips, each with the index of its first row; `width` is the number of
    entries made of each row.
    """
    length = max(1, STRIP_ENTRIES // width)
    for start in range(0, X.shape[0], length):
        yield start, [X.row(i) for i in range(start, min(X.shape[0], start + length))]


def _monomial_gram(X: Tensor, N: int) -> Rows:
    """S^T S for the plain monomials x_a x_b, a <= b."""
    result = arb_mat(N, N)
    order = pairs(X.shape[1])
    for _, rows in _strips(X, N):
        balls = [list(map(arb, row)) for row in rows]
        S = arb_mat([[row[a] * row[b] for a, b in order] for row in balls])
        result += S.transpose() * S
    return result.tolist()


# On the grid the true number times 2^s is the integer plus an error: below 1 for the entries of X
# (cut towards zero), at most
# `error` for balls. All integers are at most 2^t in size. Bounds of the errors of products are
# derived in the comments.


def _grid_shift(X: Tensor, t: int) -> int:
    return t - math.frexp(max(map(abs, X.values)))[1]


def _grid_strips(X: Tensor, width: int, shift: int) -> Iterator[tuple[int, list[list[int]]]]:
    for start, rows in _strips(X, width):
        yield start, [list(map(int, map(math.ldexp, row, repeat(shift)))) for row in rows]


def _balls_on_grid(values: list[arb], t: int) -> tuple[list[int], int, arb]:
    """Integers, shift and error of a list of finite balls."""
    parts = [value.mid().man_exp() for value in values]
    tops = [int(mantissa).bit_length() + int(exponent) for mantissa, exponent in parts if mantissa]
    shift = t - max(tops, default=0)
    scaled = [value * arb(2) ** shift for value in values]
    return (
        [int(entry.mid().floor().fmpz()) for entry in scaled],
        shift,
        1 + largest(entry.rad() for entry in scaled),
    )


def _as_balls(H: fmpz_mat, error: arb, shift: int) -> Rows:
    """The lower triangle of (H plus or minus error) 2^-shift, mirrored."""
    slack, unit = arb(0, 1) * error, arb(2) ** -shift
    lower = [
        [(arb(entry) + slack) * unit for entry in row[: i + 1]] for i, row in enumerate(H.tolist())
    ]
    return [row + [lower[j][i] for j in range(i + 1, len(lower))] for i, row in enumerate(lower)]


def _weighted_sum_on_grid(X: Tensor, weights: list[arb]) -> Rows:
    """The rows weights_i x_i are rounded to the grid again, with an error of at most 2 + 2e if e >=
    1 is that of the weights: (2^t + e) 1 + 2^t e over 2^t, and 1 for the floor. Let S bound the
    sums sum_i |x_ia|, in units of the grid. Then the sum of n products errs by at most S (2 + 2e)
    for the second factors and S + n for the first ones, whose partners have size |x_ib| + 1.
    """
    n, d = X.shape
    t = GRID_BITS.get(ctx.prec, 512)
    s = _grid_shift(X, t)
    q, weight_shift, e = _balls_on_grid(weights, t)
    S = (
        1.01
        * max(math.fsum(map(abs, map(math.ldexp, X.values[a::d], repeat(s)))) for a in range(d))
        + 1
    )
    H = fmpz_mat(d, d)
    for start, rows in _grid_strips(X, d, s):
        weighted = [
            [weight * x >> t for x in row] for weight, row in zip(q[start:], rows, strict=False)
        ]
        H += fmpz_mat(rows).transpose() * fmpz_mat(weighted)
    return _as_balls(H, arb(S) * (3 + 2 * e) + n, 2 * s + weight_shift - t)


def _forms_on_grid(X: Tensor, M: Rows) -> list[arb]:
    """With x~ = x + error, m~ = m + error, x~^T m~ x~ - x^T m x = x~^T (m~ - m) x~ + (x~ - x)^T m
    x~ + x^T m (x~ - x): at most s (s e + 2 m1) in size, s a bound of sum_a |x~_a|, m1 of the sums
    of absolute values of the rows and columns of m.
    """
    d = X.shape[1]
    t = GRID_BITS.get(ctx.prec, 512)
    s = _grid_shift(X, t)
    entries, matrix_shift, e = _balls_on_grid([entry for row in M for entry in row], t)
    matrix, sizes = fmpz_mat(d, d, entries), list(map(abs, entries))
    m1 = max(max(sum(sizes[a * d : (a + 1) * d]), sum(sizes[a::d])) for a in range(d))
    unit, around = arb(2) ** -(2 * s + matrix_shift), arb(0, 1)
    values: list[arb] = []
    for _, rows in _grid_strips(X, d, s):
        products = (fmpz_mat(rows) * matrix).tolist()
        for product, row in zip(products, rows, strict=True):
            size = sum(map(abs, row)) + d
            values.append(
                (arb(sum(map(mul, product, row))) + around * size * (size * e + 2 * m1)) * unit
            )
    return values


def _monomial_gram_on_grid(X: Tensor, N: int) -> Rows:
    """A monomial x_a x_b / 2^t errs by at most 3 (2 for its factors, 1 for the floor), the sum of n
    products by 6 n 2^t.
    """
    n, d = X.shape
    t = GRID_BITS.get(ctx.prec, 512)
    s = _grid_shift(X, t)
    order = pairs(d)
    H = fmpz_mat(N, N)
    for _, rows in _grid_strips(X, N, s):
        S = fmpz_mat([[row[a] * row[b] >> t for a, b in order] for row in rows])
        H += S.transpose() * S
    return _as_balls(H, 6 * n * arb(2) ** t, 4 * s - 2 * t)
