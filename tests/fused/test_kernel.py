"""The compiled parts one by one: products, activations on registers, not-a-number, the layout, the
disk cache.
"""

import math
import subprocess
import sys

import numpy as np
import pytest
from numba import njit

from globalmin.fused import kernel as fused_kernel
from globalmin.fused.activations import ARTANH, POWER, TOGETHER, economized, softplus_block
from globalmin.fused.kernel import Rules, descend, packed, unpacked


@njit(error_model="numpy")
def _softplus_of(Z, P, b, lanes):
    for place in range(0, len(Z), TOGETHER * lanes):
        softplus_block(Z, P, place, b)


def softplus_of(z, b, kind):
    lanes = 32 // np.dtype(kind).itemsize
    Z = np.zeros(-(-len(z) // (TOGETHER * lanes)) * TOGETHER * lanes, kind)
    Z[: len(z)] = z
    P = np.zeros_like(Z)
    _softplus_of(Z, P, kind(b), lanes)
    return P[: len(z)].astype(np.float64), Z[: len(z)].astype(np.float64)


@pytest.mark.parametrize(("kind", "error"), [(np.float32, 4e-7), (np.float64, 8e-16)])
@pytest.mark.parametrize("b", [1.0, 10.0, 0.3])
def test_softplus_and_its_derivative_are_accurate_to_rounding(kind, error, b):
    z = (
        np.concatenate([np.linspace(-60, 60, 20_001), np.linspace(-1e-3, 1e-3, 101), [0.0]])
        .astype(kind)
        .astype(np.float64)
    )
    phi, slope = softplus_of(z, b, kind)
    exact = np.logaddexp(0.0, b * z) / b
    np.testing.assert_allclose(phi, exact, rtol=error, atol=error / b)
    np.testing.assert_allclose(slope, np.exp(-np.logaddexp(0.0, -b * z)), atol=error)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_softplus_of_huge_infinite_and_missing_numbers(kind):
    z = np.array([1e30, -1e30, np.inf, -np.inf, np.nan])
    phi, slope = softplus_of(z, 1.0, kind)
    np.testing.assert_allclose(phi[:2], [1e30, 0.0], rtol=1e-6, atol=1e-37)
    np.testing.assert_allclose(slope[:2], [1.0, 0.0], atol=1e-37)
    assert phi[2] == np.inf
    assert 0.0 <= phi[3] < 1e-37
    assert np.isnan(phi[4])
    assert np.isnan(slope[4])


def test_the_polynomials_have_the_stated_errors():
    f = np.linspace(-0.5, 0.5, 4_001)
    s = np.linspace(1e-12, 1 / 9, 4_001)
    for bits, error in ((32, 2e-7), (64, 6e-16)):
        assert np.abs(np.polynomial.polynomial.polyval(f, POWER[bits]) - np.exp2(f)).max() < error
        assert (
            np.abs(
                np.polynomial.polynomial.polyval(s, ARTANH[bits])
                - np.arctanh(np.sqrt(s)) / np.sqrt(s)
            ).max()
            < error
        )
    assert economized([0.0, 0.0, 1.0], -1.0, 1.0, 1) == (0.5, 0.0)  # the best line for the square


@njit(error_model="numpy")
def _product(left, right, target, sizes, lanes):
    fused_kernel._multiply(left, right, target, sizes, lanes)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_products_of_every_block_size_are_those_of_numpy(kind):
    rng = np.random.default_rng(0)
    lanes = 32 // np.dtype(kind).itemsize
    for rows in (1, 2, 3, 4, 5, 7, 8, 11):
        for registers in (1, 2, 3, 4, 5, 7):
            for depth in (1, 2, 9):
                A, B = (
                    rng.standard_normal((rows, depth)).astype(kind),
                    rng.standard_normal((depth, registers * lanes)).astype(kind),
                )
                C = np.full((rows, registers * lanes), np.nan, kind)
                strides = (depth, B.shape[1], C.shape[1])
                flat = [
                    (matrix.reshape(-1), stride)
                    for matrix, stride in zip((A, B, C), strides, strict=True)
                ]
                _product(*flat, (rows, depth, registers), lanes)
                np.testing.assert_allclose(flat[2][0].reshape(C.shape), A @ B, rtol=1e-5, atol=1e-5)


def run_with(W, *, max_iter=5, code=0, y=None):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((10, 3))
    arrays, shape = packed(
        X,
        rng.standard_normal(10) if y is None else y,
        W,
        np.array([1.0, -1.0, 0.5, 0.2]),
        np.float64,
    )
    rules = Rules(code, 1.0, False, 0.01, 0.0, max_iter, 0)
    return descend(arrays, shape, rules, np.zeros(0)), arrays, shape


@pytest.mark.parametrize("code", [0, 1, 2])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_weight_that_is_not_finite_ends_the_run_at_once(code, bad):
    W = np.ones((4, 3))
    W[2, 1] = bad
    (steps, square), _, _ = run_with(W, code=code)
    assert steps == 0
    assert not math.isfinite(square)


def test_packing_and_unpacking_are_inverse_and_the_padding_stays_zero():
    W = np.random.default_rng(2).standard_normal((4, 3))
    (steps, _), arrays, shape = run_with(W)
    assert steps == 5
    trained, v = unpacked(arrays, shape)
    assert trained.shape == (4, 3)
    assert v.tolist() == [1.0, -1.0, 0.5, 0.2]
    assert not arrays.W.reshape(4, -1)[:, 3:].any()
    (_, _), untouched, shape = run_with(W, max_iter=0)
    np.testing.assert_array_equal(unpacked(untouched, shape)[0], W)


def test_a_second_process_loads_the_kernel_from_disk_and_compiles_nothing(tmp_path):
    program = (
        "import numpy as np\n"
        "from globalmin.fused.train import train_many\n"
        "from globalmin.fused.kernel import descend\n"
        "for k in (2, 5):\n"
        "    train_many(np.eye(4), np.ones(4), np.ones((1, k, 4)), np.ones(k), step_size=0.1, "
        "max_iter=3)\n"
        "print(sum(descend.stats.cache_misses.values()), len(descend.signatures))\n"
    )
    environment = {
        "NUMBA_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": ":".join(path for path in sys.path if path),
    }
    answers = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    ]
    assert answers == [["1", "1"], ["0", "1"]]
