"""R4: the matrix bound of H(u) with free slopes, its exact inequalities, and how tight it is."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from globalmin._types import Array
from globalmin.regularized.spectral import (
    SLOPE_BITS,
    largest_on_sphere,
    quadratic_above,
    spectral_witness,
    witness_of_slopes,
)


def _largest_in_the_plane(rows: Array, u: Array) -> float:
    """max over |w| = 1 of sum u_i relu(x_i.w) in two dimensions, exactly up to rounding: on every
    arc between kinks the sum is s.w, largest at an end or along s.
    """
    kinks = np.concatenate(
        [np.arctan2(rows[:, 1], rows[:, 0]) + q for q in (np.pi / 2, -np.pi / 2)]
    )
    angles = np.sort(np.mod(kinks, 2 * np.pi))
    best = 0.0
    middles = np.concatenate(
        [(angles[1:] + angles[:-1]) / 2, [angles[0] - 1e-9, angles[-1] + 1e-9]]
    )
    tried = [np.stack([np.cos(angles), np.sin(angles)], axis=1)]
    for middle in middles:
        w = np.array([np.cos(middle), np.sin(middle)])
        s = (u * (rows @ w > 0)) @ rows
        if np.linalg.norm(s) > 0:
            tried.append(s[None] / np.linalg.norm(s))
    for W in tried:
        best = max(best, float((u @ np.maximum(rows @ W.T, 0.0)).max()))
    return best


def _is_positive_definite(A: list[list[Fraction]]) -> bool:
    """By elimination in rationals."""
    A = [list(row) for row in A]
    for k in range(len(A)):
        if A[k][k] <= 0:
            return False
        for i in range(k + 1, len(A)):
            factor = A[i][k] / A[k][k]
            A[i] = [a - factor * b for a, b in zip(A[i], A[k], strict=True)]
    return True


def _instance(seed: int, n: int, p: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, p)) * rng.choice([0.1, 1.0, 10.0], (n, 1))
    rows[-1] = rows[0]  # a repeated row
    rows[:, -1] = 1.0
    return rows, rng.standard_normal(n)


@pytest.mark.parametrize("seed", range(6))
def test_conditions_of_the_theorem_hold_exactly_for_the_stored_numbers(seed: int) -> None:
    """4 sig rho >= 1 and be^2 |x|^2 <= min(al, 1 - al)^2, and the matrix is positive definite for
    b just above the bound, all in rationals.
    """
    rows, u = _instance(seed, 12, 3)
    found = spectral_witness(rows, u, steps=50)
    exact = [[Fraction(value) for value in row] for row in rows.tolist()]
    U = [Fraction(value) for value in u.tolist()]
    rho, sig = (list(map(Fraction, a.tolist())) for a in (found.rho, found.sig))
    al, be = (list(map(Fraction, a.tolist())) for a in (found.al, found.be))
    p = rows.shape[1]
    gamma, b = Fraction(found.gamma), Fraction(found.bound) * (1 + Fraction(1, 10**7))
    A = [[Fraction(0)] * (p + 1) for _ in range(p + 1)]
    A[p][p] = b - gamma
    for i in range(p):
        A[i][i] += gamma
    for i, x in enumerate(exact):
        squares = sum(value * value for value in x)
        assert 4 * sig[i] * rho[i] >= 1
        assert 0 <= al[i] <= 1
        assert be[i] >= 0
        assert be[i] ** 2 * squares <= min(al[i], 1 - al[i]) ** 2
        bend, slope = (rho[i] / 2, Fraction(1, 2)) if U[i] > 0 else (be[i], al[i])
        for j in range(p):
            A[j][p] -= U[i] * slope * x[j] / 2
            A[p][j] = A[j][p]
            for k in range(p):
                A[j][k] -= U[i] * bend * x[j] * x[k]
        A[p][p] -= U[i] * sig[i] / 2 if U[i] > 0 else 0
    assert _is_positive_definite(A)
    A[p][p] -= 2 * (b - Fraction(found.bound))  # below the bound it must not be
    assert not _is_positive_definite(A)


@pytest.mark.parametrize("seed", range(5))
def test_quadratic_is_above_the_sum_everywhere_on_the_sphere(seed: int) -> None:
    rows, u = _instance(seed, 30, 4)
    found = spectral_witness(rows, u, steps=30)
    Q, c, k = quadratic_above(rows, u, (found.rho, found.sig, found.al, found.be))
    W = np.random.default_rng(seed + 100).standard_normal((4000, 4))
    W /= np.linalg.norm(W, axis=1)[:, None]
    sums = u @ np.maximum(rows @ W.T, 0.0)
    above = W @ c + np.einsum("ij,jk,ik->i", W, Q, W) + k
    scale = float(np.abs(u) @ np.linalg.norm(rows, axis=1))
    assert (above - sums).min() > -1e-13 * scale  # rounding of 30 products
    assert found.bound >= above.max() - 1e-9 * scale  # gamma of the hard case


@pytest.mark.parametrize("seed", range(8))
def test_bound_holds_against_the_exact_maximum_of_one_column(seed: int) -> None:
    """One column and the bias: the maximum over the circle is known."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.standard_normal(15), np.ones(15)])
    u = rng.standard_normal(15)
    exact = _largest_in_the_plane(rows, u)
    bound = spectral_witness(rows, u).bound
    assert bound >= exact * (1 - 1e-12)
    # sufficient, not exact; all of |u_i||x_i| would be the bound without any theorem
    assert bound <= exact + 0.1 * float(np.abs(u) @ np.linalg.norm(rows, axis=1))


def test_free_slopes_are_tight_where_one_neuron_carries_the_sum() -> None:
    """Signs of u that one neuron explains: the bound is the maximum; slope 1/2 is far from it."""
    rng = np.random.default_rng(3)
    rows = np.column_stack([rng.standard_normal((60, 3)), np.ones(60)])
    u = np.sign(rows @ np.array([1.0, -1.0, 0.5, 0.2]))
    found = spectral_witness(rows, u)
    W = rng.standard_normal((20000, 4))
    W /= np.linalg.norm(W, axis=1)[:, None]
    sampled = float((u @ np.maximum(rows @ W.T, 0.0)).max())
    half = witness_of_slopes(rows, u, found.sig, (np.zeros(60), np.zeros(60), np.ones(60))).bound
    assert sampled <= found.bound <= 1.02 * sampled
    assert half > 1.05 * found.bound


def test_golden_examples_of_one_row() -> None:
    """x = 1, u = 1: bound 1 = H, with rho = sig = gamma = 1/2. x = 1, u = -1: the sum is at most
    0.
    """
    one = np.ones((1, 1))
    up = spectral_witness(one, np.ones(1))
    assert up.bound == pytest.approx(1.0, abs=1e-6)  # slopes have 24 bits
    assert up.rho[0] == pytest.approx(0.5, rel=1e-6)
    assert up.sig[0] == pytest.approx(0.5, rel=1e-6)
    assert up.gamma == pytest.approx(0.5, abs=1e-4)
    down = spectral_witness(one, -np.ones(1))
    assert down.bound == pytest.approx(0.0, abs=1e-2)  # play approaches al = 0 at the rate 1/steps


def test_witness_of_a_multiple_is_the_multiple_of_gamma() -> None:
    rows, u = _instance(1, 20, 3)
    found = spectral_witness(rows, u, steps=20)
    stored = (found.rho, found.sig, found.al, found.be)
    Q, c, k = quadratic_above(rows, 0.5 * u, stored)
    scaled = found.scaled(0.5)
    gamma = scaled.gamma
    value = gamma + c @ np.linalg.solve(gamma * np.eye(3) - Q, c) / 4 + k
    assert value == pytest.approx(scaled.bound, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_trust_region_value_is_the_maximum_on_the_sphere(seed: int) -> None:
    """By the other road: the stationary points of a fine grid in the plane."""
    rng = np.random.default_rng(seed)
    Q, c = rng.standard_normal((2, 2)), rng.standard_normal(2)
    Q = Q + Q.T
    angles = np.linspace(0, 2 * np.pi, 200001)
    W = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    grid = float((W @ c + np.einsum("ij,jk,ik->i", W, Q, W)).max())
    value, gamma, w = largest_on_sphere(Q, c)
    assert gamma > np.linalg.eigvalsh(Q)[-1]
    assert grid <= value <= grid + 1e-8 * (1 + abs(grid))  # the grid's error is of second order
    assert w @ c + w @ Q @ w == pytest.approx(value, rel=1e-6)


def test_hard_case_and_zero_rows() -> None:
    """c orthogonal to the top eigenvector; a zero row contributes nothing."""
    value, gamma, _ = largest_on_sphere(np.diag([1.0, 0.0]), np.array([0.0, 0.1]))
    # max of w1^2 + .1 w2 with w1^2 = 1 - w2^2 is 1 + .0025
    assert value == pytest.approx(1.0025, abs=1e-8)
    assert gamma > 1.0
    rows, u = _instance(2, 10, 3)
    rows[3] = 0.0
    kept, v = np.delete(rows, 3, axis=0), np.delete(u, 3)
    # sums that differ in their last bit may round a slope of 24 bits to its other neighbor later on
    for steps, error in ((0, 1e-13), (40, 2.0**-SLOPE_BITS)):
        without = spectral_witness(kept, v, steps=steps).bound
        assert spectral_witness(rows, u, steps=steps).bound == pytest.approx(without, rel=error)
