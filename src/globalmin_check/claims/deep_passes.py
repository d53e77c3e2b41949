"""Forward and backward passes of a deep network in balls, its gradient and the tangent Gram matrix.

A layer's numbers are a list of n p rows, row i p + l for sample i and pixel l, one ball per
channel.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb, arb_mat

from globalmin_check import limits
from globalmin_check.activations import value_and_slope, values_and_slopes
from globalmin_check.balls import ball, column, total
from globalmin_check.claims.deep_network import Layers
from globalmin_check.primitives import Rows, add_lower, hadamard, lower_product
from globalmin_check.problem import Problem


class Passes:
    """x_h, z_h and p_h of every sample at the stored weights, or at those given: W_1, ..., W_H and
    the head, a column.
    """

    def __init__(
        self, problem: Problem, layers: Layers, weights: Sequence[arb_mat] | None = None
    ) -> None:
        self.problem, self.layers, self.is_replayed = problem, layers, weights is not None
        p = layers.pixels
        if weights is None:
            self.weights = [arb_mat(W.rows()) for W in layers.weights]
            head = list(map(arb, problem.v.values))
        else:
            self.weights, head = list(weights[:-1]), weights[-1].entries()
        self.head: Rows = [head[pixel::p] for pixel in range(p)]
        self.features: list[Rows] = [
            [list(map(arb, x[pixel::p])) for x in problem.X.rows() for pixel in range(p)]
        ]
        self.slopes: list[Rows] = []
        for scale, residual, W in zip(layers.scales, layers.residual, self.weights, strict=True):
            self._forward(ball(scale), residual, W)
        self.pulled = self._backward()

    def _strips(self, columns: int) -> list[slice]:
        """Ranges of rows, whole samples, in which a matrix with so many columns is worked on."""
        p, n = self.layers.pixels, self.problem.sizes.n
        samples = max(1, limits.STRIP_BALLS // (p * columns))
        return [slice(i * p, min(i + samples, n) * p) for i in range(0, n, samples)]

    def _forward(self, scale: arb, residual: bool, W: arb_mat) -> None:
        below, weights = self.features[-1], W.transpose()
        values: Rows = []
        slopes: Rows = []
        for strip in self._strips(W.ncols()):
            Z = (arb_mat(self._windows(below[strip])) * weights).tolist()
            jets = [self._jets(row) for row in Z]
            values += [[scale * entry for entry in row] for row, _ in jets]
            slopes += [row for _, row in jets]
        self.slopes.append(slopes)
        self.features.append(_sum(below, values) if residual else values)

    def _jets(self, zs: list[arb]) -> tuple[list[arb], list[arb]]:
        """Values and slopes; along a replay only their absolute errors count."""
        name, parameter = self.problem.activation, self.problem.parameter
        if self.is_replayed:
            return values_and_slopes(name, parameter, zs)
        pairs = [value_and_slope(name, parameter, z) for z in zs]
        return [value for value, _ in pairs], [slope for _, slope in pairs]

    def _windows(self, rows: Rows) -> Rows:
        """The windows of every pixel of whole samples, one after the other; zero outside."""
        if self.layers.patches == ((0,),):
            return rows
        p, nothing = self.layers.pixels, [arb(0)] * len(rows[0])
        starts = range(0, len(rows), p)
        return [
            [
                entry
                for pixel in window
                for entry in (rows[start + pixel] if pixel >= 0 else nothing)
            ]
            for start in starts
            for window in self.layers.patches
        ]

    def _fold(self, rows: Rows, channels: int) -> Rows:
        """The transpose of `_windows`."""
        if self.layers.patches == ((0,),):
            return rows
        p = self.layers.pixels
        result = [[arb(0)] * channels for _ in rows]
        for a, row in enumerate(rows):
            for o, pixel in enumerate(self.layers.patches[a % p]):
                if pixel >= 0:
                    place = a - a % p + pixel
                    result[place] = list(
                        map(arb.__add__, result[place], row[o * channels : (o + 1) * channels])
                    )
        return result

    def _backward(self) -> list[tuple[Rows, Rows]]:
        """(p_h, q_h = phi'(z_h) o p_h) for h = H..1, reversed to h = 1..H."""
        layers, n = self.layers, self.problem.sizes.n
        above: Rows = self.head * n
        pairs: list[tuple[Rows, Rows]] = []
        for h in reversed(range(len(layers.weights))):
            q = [list(map(arb.__mul__, *rows)) for rows in zip(self.slopes[h], above, strict=True)]
            pairs.append((above, q))
            if h > 0:  # p_0, the derivative by the data, is not needed
                pulled = self._pull(q, h)
                above = _sum(above, pulled) if layers.residual[h] else pulled
        return pairs[::-1]

    def _pull(self, q: Rows, h: int) -> Rows:
        """scale_h Phi^T(W_h^T q_h)."""
        scale, W = ball(self.layers.scales[h]), self.weights[h]
        channels, pulled = len(self.features[h][0]), []
        for strip in self._strips(W.ncols()):
            pulled += self._fold((arb_mat(q[strip]) * W).tolist(), channels)
        return [[scale * entry for entry in row] for row in pulled]

    def residual(self) -> list[arb]:
        """r_i = f(x_i) - y_i."""
        p, last, y = self.layers.pixels, self.features[-1], self.problem.y.values
        outputs = [
            total(x * v for x, v in zip(row, self.head[a % p], strict=True))
            for a, row in enumerate(last)
        ]
        return [total(outputs[i * p : (i + 1) * p]) - y[i] for i in range(len(y))]

    def gram(self) -> Rows:
        """Lower triangle of J J^T, all layers and the head."""
        p, n = self.layers.pixels, self.problem.sizes.n
        last = [
            [x for row in self.features[-1][i * p : (i + 1) * p] for x in row] for i in range(n)
        ]
        G = lower_product(last, last)
        for h, (_, q) in enumerate(self.pulled):
            by_pairs = self.layers.prefers_pairs(h)
            product = self._pairs_gram(h, q) if by_pairs else self._jacobian_gram(h, q)
            scale = ball(self.layers.scales[h] ** 2)
            G = add_lower(G, [[scale * entry for entry in row] for row in product])
        return G

    def _pairs_gram(self, h: int, q: Rows) -> Rows:
        """Layer h of the Gram matrix as sums over pairs of pixels, the Jacobian never formed."""
        patches = self._windows(self.features[h])
        product = hadamard(lower_product(q, q), lower_product(patches, patches))
        return _blocks(product, self.layers.pixels)

    def _jacobian_gram(self, h: int, q: Rows) -> Rows:
        """The same as J_h J_h^T, row i of J_h being the sum over the pixels of sample i of q Phi^T,
        a few columns of Phi at a time.
        """
        p, n = self.layers.pixels, self.problem.sizes.n
        m, columns = self.layers.weights[h].shape
        samples = [slice(i * p, (i + 1) * p) for i in range(n)]
        slopes = [arb_mat(q[sample]).transpose() for sample in samples]
        patches = self._windows(self.features[h])
        G, width = arb_mat(n, n), max(1, limits.STRIP_BALLS // (n * m))
        for start in range(0, columns, width):
            part = [row[start : start + width] for row in patches]
            J = arb_mat(
                [
                    (slope * arb_mat(part[sample])).entries()
                    for slope, sample in zip(slopes, samples, strict=True)
                ]
            )
            G += J * J.transpose()
        return G.tolist()

    def gradient(self, r: list[arb]) -> tuple[arb_mat, ...]:
        """J^T r, as W_1, ..., W_H and the head, a column."""
        p = self.layers.pixels
        blocks = []
        for h, (_, q) in enumerate(self.pulled):
            weighted = [[r[a // p] * entry for entry in row] for a, row in enumerate(q)]
            product = arb_mat(weighted).transpose() * arb_mat(self._windows(self.features[h]))
            blocks.append(product * ball(self.layers.scales[h]))
        sums = [
            (arb_mat([r]) * arb_mat(self.features[-1][pixel::p])).entries() for pixel in range(p)
        ]
        head = [row[channel] for channel in range(len(sums[0])) for row in sums]
        return *blocks, column(head)


def _sum(A: Rows, B: Rows) -> Rows:
    return [list(map(arb.__add__, *rows)) for rows in zip(A, B, strict=True)]


def _blocks(M: Rows, p: int) -> Rows:
    """Sums over the p x p blocks of a symmetric matrix given by its lower triangle, again a lower
    triangle.
    """
    if p == 1:
        return M
    sums = [[arb(0)] * (i + 1) for i in range(len(M) // p)]
    for a, row in enumerate(M):
        for c in range(a + 1):
            twice = a // p == c // p and a != c
            sums[a // p][c // p] += 2 * row[c] if twice else row[c]
    return sums
