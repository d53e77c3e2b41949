"""Products with a Gram matrix that is not held, its least eigenvalue, and the proved lower bound,
each beside the matrix itself, exact rationals or balls.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

import globalmin as gm
from globalmin.activations import get_activation
from globalmin.errors import DataError
from globalmin.kernels import streamed_gram, tail_bound
from globalmin.kernels.limit_gram import limit_gram
from globalmin.kernels.streamed_gram import StreamedGram, streamed_lambda_min
from globalmin.kernels.tail_bound import POWERS, cosine_error, prove_lambda_lower, row_sums_upper

CASES = [("relu", "weights"), ("relu", "features"), ("abs", "weights"), ("softplus", "weights")]
KINKED = ("relu", "abs", "leaky_relu(0.3)")


def rows(n, d, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X * spread ** rng.standard_normal((n, 1))


@pytest.mark.parametrize("budget", [0, 10**4, 10**9])
@pytest.mark.parametrize(("activation", "kernel"), CASES)
def test_the_product_is_that_of_the_matrix(activation, kernel, budget, monkeypatch):
    monkeypatch.setattr(streamed_gram, "BLOCK", 32)
    X, v = rows(101, 7, spread=2.0), np.random.default_rng(1).standard_normal(101)
    gram = StreamedGram(X, get_activation(activation), int(kernel == "weights"), budget)
    exact = limit_gram(X, activation, kernel=kernel) @ v
    close = 1e-12 if budget == 0 else 2e-6
    for _ in range(2):  # the second time from what was kept
        np.testing.assert_allclose(gram.times(v), exact, rtol=0, atol=close * np.abs(exact).max())
    kept = sum(block.nbytes for block in gram._kept.values())
    assert kept <= budget
    assert (kept == 0) == (budget == 0)
    if budget == 10**9:
        assert len(gram._kept) == 10  # four strips, each pair once


@pytest.mark.parametrize(("activation", "kernel"), CASES[:3])
def test_the_estimate_is_the_least_eigenvalue(activation, kernel):
    X = rows(300, 20)
    values = np.linalg.eigvalsh(limit_gram(X, activation, kernel=kernel))
    found = streamed_lambda_min(X, activation, kernel=kernel, tol=1e-4, max_iter=300)
    assert found.estimate == pytest.approx(values[0], rel=1e-4)
    assert found.largest == pytest.approx(values[-1], rel=1e-5)
    assert found.residual <= 1e-4 * found.estimate
    assert found.lower is not None
    assert 0 < found.lower < values[0]
    assert np.abs(values - found.estimate).min() <= found.residual + 1e-5 * values[0]
    assert f"{found.lower:.4g}" in str(found)


def test_few_steps_stay_above_and_end_in_time():
    X = rows(200, 10)
    values = np.linalg.eigvalsh(limit_gram(X))
    estimates = [streamed_lambda_min(X, max_iter=k, prove=False).estimate for k in (1, 5, 25)]
    assert estimates == sorted(estimates, reverse=True)
    assert estimates[-1] > values[0] * (1 - 1e-6)
    found = streamed_lambda_min(rows(3, 2), max_iter=50, tol=1e-15)  # no more steps than rows
    assert found.steps <= 3
    smooth = streamed_lambda_min(rows(30, 5), "softplus")
    assert smooth.lower is None
    assert "nothing is proved" in str(smooth)


def test_control_c_keeps_what_was_found():
    seen = []

    def watch(what, share):
        seen.append((what, share))
        if what == "Lanczos step 4":
            raise KeyboardInterrupt

    found = streamed_lambda_min(rows(120, 8), watch=watch, tol=1e-9)
    assert found.is_interrupted
    assert found.steps == 3
    assert "interrupted" in str(found)
    assert ("lower bound", 1.0) in seen
    assert all(0 < share <= 1 for _, share in seen)

    def at_once(what, share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        streamed_lambda_min(rows(12, 8), watch=at_once)


@pytest.mark.parametrize("kernel", ["weights", "features"])
@pytest.mark.parametrize("activation", KINKED)
@pytest.mark.parametrize("shape", [(1, 3), (40, 5), (300, 10), (400, 30), (1500, 40)])
def test_the_proved_bound_is_below_the_least_eigenvalue(activation, kernel, shape):
    X = rows(*shape, spread=1.5)
    found = prove_lambda_lower(X, activation, kernel=kernel)
    least = np.linalg.eigvalsh(limit_gram(X, activation, kernel=kernel))[0]
    assert found.lower <= least
    assert found.n == len(X)
    if shape == (400, 30):
        U = X / np.linalg.norm(X, axis=1)[:, None]
        close = prove_lambda_lower(U, activation, kernel=kernel)
        whole = np.linalg.eigvalsh(limit_gram(U, activation, kernel=kernel))[0]
        assert close.lower > 0.3 * whole  # not far below where norms are equal
        assert close.row_sum < 1
        assert close.power in POWERS


def test_orthogonal_rows_give_the_whole_series():
    """Cosines 0: the matrix is half the identity, of which 1/4 is the linear term."""
    found = prove_lambda_lower(3.0 * np.eye(8))
    assert 9 * (0.25 - 1e-5) < found.lower < 9 * 0.25
    features = prove_lambda_lower(np.eye(8), kernel="features")
    # E phi^2 = 1/2: 1/4 is linear, 1/(2 pi) the constant term
    assert features.lower == pytest.approx(0.25 - 1 / (2 * np.pi), rel=1e-4)
    assert features.lower < 0.25 - 1 / (2 * np.pi)


def test_close_rows_prove_nothing_and_zero_rows_are_refused():
    X = rows(20, 4)
    assert prove_lambda_lower(np.vstack([X, -2.0 * X[:1]])).lower == 0.0
    assert prove_lambda_lower(np.vstack([X, X[:1] * (1 + 1e-9)])).power == 0
    for bad in (np.vstack([X, np.zeros(4)]), np.vstack([X, np.full(4, 1e-170)])):
        with pytest.raises(DataError, match="zero row"):
            prove_lambda_lower(bad)
    with pytest.raises(DataError, match="zero row"):
        streamed_lambda_min(np.vstack([X, np.zeros(4)]), "softplus")
    with pytest.raises(DataError, match="lambda_lower_bounds"):
        prove_lambda_lower(X, "tanh")
    with pytest.raises(DataError, match="max_iter"):
        streamed_lambda_min(X, max_iter=0)


def _exact_sums(X, power):
    """Upper and lower ends of the row sums from balls of 120 bits."""
    units = []
    for row in X:
        norm = sum((arb(float(x)) ** 2 for x in row), arb(0)).sqrt()
        units.append([arb(float(x)) / norm for x in row])
    sums = []
    for i, u in enumerate(units):
        cosines = (
            abs(sum((a * b for a, b in zip(u, v, strict=True)), arb(0)))
            for k, v in enumerate(units)
            if k != i
        )
        sums.append(sum((c**power for c in cosines), arb(0)))
    return max(float(s) for s in sums)


@pytest.mark.parametrize("block", [8, 1024])
@pytest.mark.parametrize("scale", [1e-120, 1.0, 1e150])
def test_row_sums_are_above_the_exact_ones_and_close(block, scale, monkeypatch):
    monkeypatch.setattr(tail_bound, "BLOCK", block)
    X = scale * rows(21, 6, seed=3, spread=3.0)
    X[1] = X[0] * (1 + 1e-7)  # almost parallel
    found = row_sums_upper(X)
    assert tuple(found) == POWERS
    for power in (2, 10, 64, 512):
        exact = _exact_sums(X, power)
        assert exact <= found[power] <= exact * (1 + 2.5e-4 + power * 2e-6) + 1e-5


def test_cosines_of_single_precision_are_within_their_bound():
    worst = 0.0
    for d in (1, 3, 50, 400):
        X = rows(60, d, seed=d)
        U = X / np.linalg.norm(X, axis=1)[:, None]
        single = U.astype(np.float32)
        error = np.abs((single @ single.T).astype(float) - U @ U.T).max()
        assert error <= cosine_error(d)
        worst = max(worst, error / cosine_error(d))
    assert worst > 0.02
    assert cosine_error(50) == pytest.approx(52 * 2.0**-24, rel=1e-2)
    # and it is added to every cosine, also to those that are 0
    assert row_sums_upper(np.eye(9))[2] >= 8 * cosine_error(9) ** 2 > 0
    with pytest.raises(DataError, match="65,536"):
        row_sums_upper(np.ones((2, 70_000)))


def test_weights_of_the_series_are_those_of_the_arcsine():
    """Against c arcsin c and sqrt(1 - c^2) + c arcsin c at a rational point, by balls."""
    c = Fraction(3, 10)
    for order in (1, 0):
        total = sum(tail_bound._weight(r, order) * c**r for r in range(2, 80, 2))
        ball = arb(3) / 10
        exact = ball * ball.asin()
        exact = exact if order else exact + (1 - ball**2).sqrt() - 1
        assert float(abs(arb(total.numerator) / total.denominator - exact)) < 1e-14
    none = dict.fromkeys(POWERS, 0.0)
    assert float(tail_bound._series_lower(none, 1)) == pytest.approx(math.pi / 2, rel=1e-15)
    assert float(tail_bound._series_lower(none, 0)) == pytest.approx(math.pi / 2 - 1, rel=1e-15)
    assert tail_bound._series_lower(none, 1) < Fraction(math.pi) / 2 + Fraction(1, 10**20)
    ones = dict.fromkeys(POWERS, 1.0)
    assert tail_bound._series_lower(ones | {512: 0.5}, 1) == pytest.approx(
        0.5 * (math.pi / 2 - sum(float(tail_bound._weight(r, 1)) for r in range(2, 512, 2)))
    )


def test_the_doors():
    X = rows(40, 6)
    assert gm.theory.streamed_lambda_min(X).lower == gm.theory.prove_lambda_lower(X).lower
