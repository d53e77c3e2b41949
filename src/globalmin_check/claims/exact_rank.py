"""P4 of `spec/claims/identifies.md`: exact statements about ranks of doubles, by modular and
integer elimination.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd
from operator import mul

from flint import fmpz_mat, nmod_mat

from globalmin_check.claims.quadratic import pairs
from globalmin_check.container import Tensor

# Odd primes of this checker: 2 divides the scaling of doubles, a composite modulus has no rank, a
# prime from a file would
# need a proof that it is one.
PRIMES = (2**61 - 1, 2**61 - 31, 2**61 - 45)
STRIP_ENTRIES = 2**18


def integer_row(row: Sequence[float]) -> list[int]:
    """The row times the least power of two that makes it integer."""
    ratios = [x.as_integer_ratio() for x in row]
    common = max(q for _, q in ratios)
    return [p * (common // q) for p, q in ratios]


def squares_span(X: Tensor) -> tuple[bool, int]:
    """Whether the matrices x_i x_i^T have full rank N modulo one of the primes, and the largest
    rank found.

    Doubles are p/2^q, so they have residues modulo every odd prime, and a minor that is not zero
    there is not zero.
    """
    N = len(pairs(X.shape[1]))
    best = 0
    for prime in PRIMES:
        best = max(best, _rank_modulo(X, prime, N))
        if best == N:
            break
    return best == N, best


def _rank_modulo(X: Tensor, prime: int, N: int) -> int:
    """The rank of the monomials modulo the prime: N rows at a time are added to a reduced basis,
    until it is full.
    """
    order = pairs(X.shape[1])
    basis: list[list] = []
    for start in range(0, X.shape[0], N):
        rows = [_residues(X.row(i), prime) for i in range(start, min(X.shape[0], start + N))]
        stack = basis + [[row[a] * row[b] % prime for a, b in order] for row in rows]
        reduced, rank = nmod_mat(
            len(stack), N, [entry for row in stack for entry in row], prime
        ).rref()
        if rank == N:
            return N
        basis = [[int(entry) for entry in row] for row in reduced.tolist()[:rank]]
    return len(basis)


def _residues(row: Sequence[float], prime: int) -> list[int]:
    return [p * pow(q, -1, prime) % prime for p, q in (x.as_integer_ratio() for x in row)]


def rows_span_all(X: Tensor, chosen: Sequence[int]) -> bool:
    """Whether every row of X is a combination of the chosen ones: the integer kernel of those
    annihilates all rows.
    """
    kernel, nullity = fmpz_mat([integer_row(X.row(i)) for i in chosen]).nullspace()
    if nullity == 0:
        return True
    columns = [
        _primitive(list(map(int, column))) for column in kernel.transpose().tolist()[:nullity]
    ]
    K = fmpz_mat(columns).transpose()
    return not any(any((fmpz_mat(rows) * K).entries()) for _, rows in _integer_strips(X))


def _primitive(column: list[int]) -> list[int]:
    factor = gcd(*column)
    return [entry // factor for entry in column]


def first_not_annihilated(M: Tensor, X: Tensor) -> int | None:
    """The first sample i with x_i^T M x_i != 0 for the integer matrix M, exactly; None if there is
    none.
    """
    matrix = fmpz_mat(M.rows())
    for start, rows in _integer_strips(X):
        products = (fmpz_mat(rows) * matrix).tolist()
        for i, pair in enumerate(zip(products, rows, strict=True)):
            if sum(map(mul, *pair)) != 0:
                return start + i
    return None


def _integer_strips(X: Tensor) -> Iterator[tuple[int, list[list[int]]]]:
    length = max(1, STRIP_ENTRIES // X.shape[1])
    for start in range(0, X.shape[0], length):
        yield start, [integer_row(X.row(i)) for i in range(start, min(X.shape[0], start + length))]
