"""The claim `relu-interpolation` in floats: signs from pairs, exact numbers where these leave them
open; margins and Gram matrix with proved bounds (section 7 of `spec/fast-route.md`).
"""

from __future__ import annotations

import numpy as np
from flint import arb

from globalmin_check.balls import sum_of_squares, upper_float
from globalmin_check.checks import Checks
from globalmin_check.claims import relu_interpolation
from globalmin_check.claims.kind import Numbers
from globalmin_check.claims.relu_interpolation import MARGINS, ReluInterpolation
from globalmin_check.exact import inner_product
from globalmin_check.fast import pairs
from globalmin_check.fast.definite import GramMatrix
from globalmin_check.fast.linearization import balls, residual_of
from globalmin_check.fast.products import Products
from globalmin_check.fast.rounding import Floats, U, float_down, float_up, gamma, need, stored, up
from globalmin_check.fast.smooth import Prover
from globalmin_check.problem import Problem, Sizes

LARGEST_SQUARE = 2.0**900  # of residuals
DUST = 2.0**-600


class Cell:
    """The activation cell of What over the kept samples, in floats."""

    def __init__(self, claim: ReluInterpolation, problem: Problem, checks: Checks) -> None:
        self.kept = np.array(claim.kept)
        self.X = np.ascontiguousarray(stored(problem.X, "X")[self.kept])
        self.W, self.v = stored(claim.W_hat, "W_hat"), stored(problem.v, "v")
        self.y = stored(problem.y, "y")[self.kept]
        self.neurons = np.array(claim.neurons)
        self._claim, self._problem, self._checks = claim, problem, checks

    def load(self, products: Products) -> arb:
        """Pre-activations and signs; returns |rhat|^2."""
        Z, dZ = pairs.product(products, self.X, self.W)
        self.least = _least_sizes(Z.h, dZ)
        self.active = self._signs(Z.h)
        rhat = residual_of(_rectified(Z), dZ, self.v, self.y)
        return sum_of_squares(balls(rhat))

    def _signs(self, z: Floats) -> np.ndarray:
        """Where zhat > 0: by its float if that is certain, else by exact numbers."""
        active = z > 0
        open_pairs = np.argwhere(~(self.least > 0))
        self._checks.budget.charge_exact(len(open_pairs) * self.X.shape[1])
        for i, neuron in open_pairs.tolist():
            row = self._problem.X.row(int(self.kept[i]))
            active[i, neuron] = inner_product(row, self._claim.W_hat.row(neuron)) > 0
        return active

    def pattern(self) -> Floats:
        """D on the neurons of T, as numbers."""
        return self.active[:, self.neurons].astype(np.float64)

    def gram(self) -> GramMatrix:
        """G, whose factors |v_l| D_li are exact."""
        B = self.pattern() * np.abs(self.v[self.neurons])
        return GramMatrix(self.X, B, np.zeros_like(B))

    def margins(self, mu: float, square: float, products: Products) -> tuple[bool, str]:
        """R6 for every pair, and how many needed the second condition."""
        least = self.least[:, self.neurons]
        energy = least * least * mu
        norms = up(np.einsum("ia,ia->i", self.X, self.X), self.X.shape[1] + 1)
        hard = ~(energy * (1 - 8 * U) - DUST >= up(norms * square)[:, None])
        found = f"{hard.size} pairs, {int(hard.sum())} of them by the second"
        rows = np.flatnonzero(hard.any(axis=1))
        if not rows.size:
            return True, found
        sums = products.upper(self._inner_squares(rows, products), self.pattern())
        heads = self.v[self.neurons]
        wanted = up(up(up(heads * heads) * sums) * square)
        holds = energy[rows] * mu * (1 - 8 * U) - DUST >= wanted
        return bool((holds | ~hard[rows]).all()), found

    def _inner_squares(self, rows: np.ndarray, products: Products) -> Floats:
        """At least (x_i . x_j)^2, for the given i."""
        left, d = self.X[rows], self.X.shape[1]
        sizes = products.upper(np.abs(left), np.abs(self.X).T)
        inner = up(np.abs(products.product(left, self.X.T)) + gamma(d) * sizes + DUST, 2)
        return up(inner * inner)


def _least_sizes(z: Floats, dz: Floats) -> Floats:
    """At most |zhat|, for pairs with the high part z known up to dz; zero where the sign is not."""
    return np.maximum(np.abs(z) - up(dz + 2 * U * np.abs(z), 2), 0.0) * (1 - 4 * U)


def _rectified(z: pairs.Pair) -> pairs.Pair:
    return pairs.Pair(np.where(z.h > 0, z.h, 0.0), np.where(z.h > 0, z.l, 0.0))


def _residual(problem: Problem, products: Products) -> list[arb]:
    """Residuals of the stored weights as balls."""
    X, W, y, v = (stored(getattr(problem, name), name) for name in "XWyv")
    Z, dZ = pairs.product(products, X, W)
    return balls(residual_of(_rectified(Z), dZ, v, y))


def check(
    claim: ReluInterpolation, problem: Problem, _: None, checks: Checks, prover: Prover
) -> Numbers:
    """R4 to R7."""
    cell = Cell(claim, problem, checks)
    square = cell.load(prover.products)
    r = _residual(problem, prover.products)
    numbers = relu_interpolation.inequalities(claim, problem, checks, r, square)
    above = upper_float(square)
    need(above <= LARGEST_SQUARE, "the residual of What is too large")
    holds, found = cell.margins(float_down(claim.mu), above, prover.products)
    checks.require_outcome("R6", MARGINS, True if holds else None, found)
    prover.require_above(checks, "R7", "G - mu I", cell.gram(), float_up(claim.mu))
    return numbers


def needed_bytes(claim: ReluInterpolation, sizes: Sizes) -> int:
    """Memory at once: the factor, squares of inner products, and a few n x k and n x d arrays."""
    n, d, k = sizes.n, sizes.d, sizes.k
    return 8 * (3 * n * n + 6 * 256 * n + 40 * n * k + 16 * n * d)


def flops(claim: ReluInterpolation, sizes: Sizes) -> int:
    """Operations in floats, roughly."""
    n, d, k = len(claim.kept), sizes.d, sizes.k
    return n**3 + 8 * n * n * (k + d) + 60 * sizes.n * k * d
