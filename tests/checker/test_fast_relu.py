"""The ReLU cell in floats against exact rationals: signs, sizes from below, residual, margins and
Gram matrix, at ordinary and at wild scales.
"""

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.checker.test_fast_network import problem, tensor

from globalmin_check.balls import precision
from globalmin_check.checks import Budget, Checks
from globalmin_check.fast import relu
from globalmin_check.fast.products import Products

SEED = 20420


def exact_rows(A: np.ndarray) -> list[list[Fraction]]:
    return [[Fraction(x) for x in row] for row in A.tolist()]


def inner(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def case(rng: np.random.Generator, *, wild: bool) -> dict[str, Any]:
    """Rows, witness, heads and labels; some pre-activations are exactly zero or nearly so."""
    n, d, k = int(rng.integers(2, 7)), int(rng.integers(2, 5)), int(rng.integers(2, 7))
    X, W, v, y = (rng.normal(size=s) for s in ((n, d), (k, d), k, n))
    if wild:
        X, W = (A * 10.0 ** rng.uniform(-60, 15, A.shape) for A in (X, W))
    X[0, :2], W[0] = 1.0, 0.0
    W[0, :2] = 3.0, -3.0  # zero at the first row
    X[1], W[1] = 0.0, 0.0
    X[1, :2], W[1, :2] = (1.0, 2.0**-110), (0.0, 1.0)  # beyond the slices, and positive
    return {"X": X, "W": W, "v": v, "y": y}


def cell_of(parts: dict[str, Any], kept: list[int], neurons: list[int]) -> tuple[Any, Any]:
    stored = problem("relu", parts["X"], parts["y"], parts["W"], parts["v"])
    claim = SimpleNamespace(kept=tuple(kept), neurons=tuple(neurons), W_hat=tensor(parts["W"]))
    with precision(128):
        found = relu.Cell(claim, stored, Checks(Budget(), {}, 53))  # type: ignore[arg-type]
        return found, found.load(Products(b"seed"))


@pytest.mark.parametrize("wild", [False, True])
def test_signs_sizes_and_residual_of_a_cell_hold(wild: bool):
    rng = np.random.default_rng([SEED, wild])
    for _ in range(20):
        parts = case(rng, wild=wild)
        n, k = len(parts["X"]), len(parts["v"])
        kept = list(range(max(2, n - 1)))
        found, square = cell_of(parts, kept, list(range(k)))
        X, W = exact_rows(parts["X"]), exact_rows(parts["W"])
        total = Fraction(0)
        for place, i in enumerate(kept):
            z = [inner(X[i], w) for w in W]
            assert [bool(on) for on in found.active[place]] == [x > 0 for x in z]
            least = found.least[place].tolist()
            assert all(Fraction(low) <= abs(x) for low, x in zip(least, z, strict=True))
            assert wild or all(
                low >= 0.999 * float(abs(x)) or abs(x) < 1e-20
                for low, x in zip(least, z, strict=True)
            )
            output = inner(list(map(Fraction, parts["v"])), [max(x, Fraction(0)) for x in z])
            total += (output - Fraction(parts["y"][i])) ** 2
        with precision(4000):
            assert square.overlaps(relu.arb(total.numerator) / total.denominator)
        assert wild or float(square.rad()) <= 1e-12 * float(total)


def margins_hold(parts: dict[str, Any], neurons: list[int], mu: Fraction, square: Fraction) -> bool:
    """R6 by exact rationals, over all samples."""
    X, W = exact_rows(parts["X"]), exact_rows(parts["W"])
    for x in X:
        for neuron in neurons:
            z, v = inner(x, W[neuron]), Fraction(parts["v"][neuron])
            sums = sum((inner(x, o) ** 2 for o in X if inner(o, W[neuron]) > 0), Fraction(0))
            first = z * z * mu >= inner(x, x) * square
            if not (first or z * z * mu * mu >= v * v * sums * square):
                return False
    return True


def test_margins_are_granted_only_where_they_hold_and_nearly_always_where_they_do():
    rng = np.random.default_rng(SEED)
    granted = refused = second = 0
    for _ in range(60):
        n, d, k = 4, 3, 3
        parts = {"X": rng.normal(size=(n, d)), "W": rng.normal(size=(k, d)),
                 "v": 10.0 ** rng.uniform(-3, 0, k), "y": np.zeros(n)}  # fmt: skip
        parts["X"][0] *= 100.0
        found, _square = cell_of(parts, [0, 1, 2, 3], [0, 2])
        for exponent in range(-30, 4):
            square = 2.0**exponent
            said, words = found.margins(0.5, square, Products(b"seed"))
            truth = margins_hold(parts, [0, 2], Fraction(1, 2), Fraction(square))
            assert truth or not said
            assert said == truth  # the margins of these cases are not within rounding
            granted, refused = granted + said, refused + (not said)
            second += said and " 0 of them" not in words
    assert min(granted, refused, second) > 20


def test_the_gram_matrix_of_a_cell_counts_active_pairs_of_its_neurons_only():
    parts = case(np.random.default_rng(SEED), wild=False)
    n = len(parts["X"])
    found, _ = cell_of(parts, list(range(n)), [1])
    active = parts["X"] @ parts["W"][1] > 0
    active[1] = True
    expected = np.outer(active, active) * parts["v"][1] ** 2 * (parts["X"] @ parts["X"].T)
    strip = found.gram().strips(None).strip(0, n)
    assert strip == pytest.approx(expected)
