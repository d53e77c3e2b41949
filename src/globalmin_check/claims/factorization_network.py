"""Form of a stored matrix with its two factors (sections 3 and 4 of the format page), and products
with it in balls.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from flint import arb, arb_mat

from globalmin_check.balls import sum_of_squares
from globalmin_check.canonical import Fields
from globalmin_check.container import Tensor, Tensors, digest_of
from globalmin_check.problem import Problem, Sizes, digits

STRIP_ENTRIES = 2**19  # entries of M that are balls at the same time


def read_factorization(network: Fields, fields: Fields, tensors: Tensors) -> Problem:
    """The stored numbers: X (and y) hold M (m x n), W holds U (m x r), v holds V (n x r); sizes are
    m, n, r.
    """
    network.end()
    fields.choice("loss", ("half-squared-frobenius",))
    data = Fields(fields.take("data"), "data")
    m, n = data.integer("rows", 1), data.integer("columns", 1)
    data.end()
    M, U = tensors.take("M", "F64", m, n), tensors.take("U", "F64", m, None)
    V = tensors.take("V", "F64", n, U.shape[1])
    r = U.shape[1]
    factors, matrix = (
        f"globalmin-network/1 factorization {m} {n} {r}",
        f"globalmin-matrix/1 {m} {n}",
    )
    about = digits(digest_of(factors, U, V), digest_of(matrix, M))
    return Problem("linear", Fraction(1), False, Sizes(m, n, r), M, M, U, V, about)


def transposed(M: Tensor) -> Tensor:
    """The transpose of a matrix, as a tensor."""
    m, n = M.shape
    values = array("d")
    for j in range(n):
        values += M.values[j::n]
    return replace(M, shape=(n, m), values=values)


def _matrix(tensor: Tensor) -> arb_mat:
    return arb_mat(tensor.rows())


def _strips(M: Tensor) -> Iterator[arb_mat]:
    """The rows of M, a few at a time."""
    m, n = M.shape
    height = max(1, STRIP_ENTRIES // n)
    for start in range(0, m, height):
        end = min(m, start + height)
        yield arb_mat(end - start, n, M.values[start * n : end * n].tolist())


@dataclass(frozen=True)
class Compression:
    """What theorem EY needs of M, of the factor S whose columns span the subspace and of the other
    factor P.

    Y = M S, K = M^T Y, G = S^T S, square = |M|_F^2; Q is the projector S G^-1 S^T.
    """

    square: arb
    S: arb_mat
    P: arb_mat
    Y: arb_mat
    K: arb_mat
    G: arb_mat

    @cached_property
    def inverse(self) -> arb_mat:
        """G^-1, or NaN in every entry if G is not certainly invertible."""
        r = self.G.nrows()
        try:
            return self.G.inv()
        except ZeroDivisionError:
            return arb_mat([[arb("nan")] * r] * r)

    @property
    def energy(self) -> arb_mat:
        """Y^T Y, the form |M S x|^2."""
        return self.Y.transpose() * self.Y

    @property
    def leak(self) -> arb_mat:
        """N = K - S G^-1 S^T K, that is (I - Q) M^T M S."""
        return self.K - self.S * (self.inverse * self.energy)

    def loss(self) -> arb:
        """(1/2)|P S^T - M|_F^2."""
        cross = (self.P.transpose() * self.Y).trace()
        return (self.square - 2 * cross + (self.P.transpose() * self.P * self.G).trace()) / 2

    def outside(self) -> arb:
        """|M (I - Q)|_F^2."""
        return self.square - (self.inverse * self.energy).trace()

    def inside(self) -> arb:
        """|(M - P S^T) Q|_F^2."""
        return self.projected(self.Y - self.P * self.G)

    def projected(self, T: arb_mat) -> arb:
        """|T G^-1 S^T|_F^2 = tr(G^-1 T^T T)."""
        return (self.inverse * (T.transpose() * T)).trace()


def compression(M: Tensor, S: Tensor, P: Tensor) -> Compression:
    """The quantities at the present precision."""
    span, square = _matrix(S), arb(0)
    rows, K = [], arb_mat(*S.shape)
    for strip in _strips(M):
        part = strip * span
        rows += part.tolist()
        K += strip.transpose() * part
        square += sum_of_squares(strip.entries())
    return Compression(square, span, _matrix(P), arb_mat(rows), K, span.transpose() * span)
