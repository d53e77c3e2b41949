"""Gradient descent on two factors (DU-A4.9, DU-T4.4, DU-F4.1) and the finish, against plain loops
and the SVD.
"""

import math

import numpy as np
import pytest

from globalmin.errors import DataError, NotConverged
from globalmin.factorization import train as factorization
from globalmin.factorization.factors import Factors, improve_span
from globalmin.factorization.landscape import (
    PENALTY,
    estimate_best_loss,
    factorization_gradient,
    imbalance,
    printed_schedule,
)
from globalmin.factorization.train import descend_factors, estimate_norm, factorize
from globalmin.optimize.run import Status


def low_rank(m: int, n: int, r: int, *, noise: float = 0.0, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, r)) @ rng.standard_normal((r, n)) + noise * rng.standard_normal(
        (m, n)
    )


@pytest.mark.parametrize("penalty", [0.0, PENALTY])
def test_steps_are_those_of_a_plain_loop(penalty: float) -> None:
    """DU-A4.9: both factors at once, from the same old point."""
    M, start = low_rank(6, 5, 2), Factors.initialize((6, 5), 2, scale=0.3, seed=1)
    U, V = start.U.copy(), start.V.copy()
    losses = []
    for _ in range(20):
        R, D = U @ V.T - M, U.T @ U - V.T @ V
        losses.append(0.5 * np.sum(R**2))
        U, V = U - 0.01 * (R @ V + 4 * penalty * U @ D), V - 0.01 * (R.T @ U - 4 * penalty * V @ D)
    run = descend_factors(M, start, step_size=0.01, max_iter=20, penalty=penalty)
    np.testing.assert_allclose(run.factors.U, U, rtol=1e-12)
    np.testing.assert_allclose(run.losses[:-1], losses, rtol=1e-12)
    assert run.n_iter == 20
    assert run.status is Status.MAX_ITER
    assert np.all(run.objectives >= run.losses)


def test_constant_steps_reach_rounding_where_the_printed_schedule_does_not_move() -> None:
    """DU-T4.4 in numbers: constant .1 ends below 1e-29 within 3,000 steps with little imbalance;
    the printed steps stay at .5.
    """
    M = low_rank(20, 20, 2)
    M /= np.linalg.norm(M)
    start = Factors.initialize((20, 20), 2, scale=1e-3, seed=1)
    run = descend_factors(M, start, step_size=0.1, max_iter=3_000, tol=0.0, record_every=10)
    assert run.losses[-1] < 1e-29
    assert run.imbalance.max() < 5e-3
    printed = descend_factors(
        M, start, step_size=printed_schedule(0.1, 2, 1.0), max_iter=3_000, record_every=500
    )
    assert printed.losses[-1] > 0.4995


def test_both_objectives_of_the_figure_converge_and_the_ratio_of_norms_stays() -> None:
    """DU-F4.1: with and without the regularizer, similar speed; without it the ratio of the norms
    hardly moves.
    """
    M = low_rank(30, 25, 3)
    start = Factors.initialize((30, 25), 3, scale=0.05, seed=2)
    step = 0.2 / estimate_norm(M)
    plain = descend_factors(M, start, step_size=step, max_iter=600)
    penalized = descend_factors(M, start, step_size=step, max_iter=600, penalty=PENALTY)
    for run in (plain, penalized):
        assert run.losses[-1] < 1e-20 * run.losses[0]
    reached = [
        int(np.flatnonzero(run.losses < 1e-12 * run.losses[0])[0]) for run in (plain, penalized)
    ]
    assert max(reached) < 2 * min(reached)
    ratio = plain.norm_u / plain.norm_v
    assert np.ptp(ratio) < 0.2
    assert penalized.norm_u[-1] / penalized.norm_v[-1] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("m", "n", "r", "noise"),
    [
        (30, 20, 3, 0.0),
        (20, 30, 3, 0.1),
        (25, 25, 2, 1.0),
        (40, 10, 9, 0.5),
        (6, 6, 6, 1.0),
        (4, 7, 9, 1.0),
        (1, 5, 1, 0.3),
    ],
)
def test_factorize_finds_the_best_matrix_of_the_rank(m: int, n: int, r: int, noise: float) -> None:
    """From a small random start to the loss of the truncated SVD, to rounding, with balanced
    factors.
    """
    M = low_rank(m, n, min(r, m, n), noise=noise, seed=3)
    run = factorize(M, r, seed=4)
    assert run.status is Status.CONVERGED
    best, square = estimate_best_loss(M, r), float(np.sum(M**2))
    assert run.losses[-1] == pytest.approx(best, rel=1e-10, abs=1e-28 * square)
    assert np.linalg.norm(imbalance(run.factors)) < 1e-12 * math.sqrt(square)
    slopes = factorization_gradient(run.factors, M)
    assert math.hypot(*(float(np.linalg.norm(part)) for part in slopes)) < 1e-12 * square**0.75
    assert run.leak < 1e-12


def test_a_start_on_a_plateau_does_not_mislead_the_finish() -> None:
    """Singular values 10, 1, .1 and a start of size 1e-9: descent halts near saddles, the span
    still leads to the minimum.
    """
    rng = np.random.default_rng(0)
    left, right = (
        np.linalg.qr(rng.standard_normal((12, 12)))[0],
        np.linalg.qr(rng.standard_normal((12, 12)))[0],
    )
    M = left @ np.diag([10.0, 1.0, 0.1, *[1e-3] * 9]) @ right
    run = factorize(M, 3, start=Factors.initialize((12, 12), 3, scale=1e-9, seed=1))
    assert run.losses[-1] == pytest.approx(estimate_best_loss(M, 3), rel=1e-9)


def test_the_finish_alone_leaves_a_saddle_only_by_its_residual_directions() -> None:
    """Close singular values need many rounds; the rounds are bounded and the outcome says when they
    were not enough.
    """
    values = np.linspace(1.0, 0.9, 40)
    rng = np.random.default_rng(1)
    M = (
        np.linalg.qr(rng.standard_normal((40, 40)))[0]
        * values
        @ np.linalg.qr(rng.standard_normal((40, 40)))[0]
    )
    short = factorize(M, 5, max_iter=10, max_sweeps=2)
    assert short.status is Status.MAX_ITER
    assert short.n_sweeps == 2
    with pytest.raises(NotConverged, match="2 sweeps"):
        factorize(M, 5, max_iter=10, max_sweeps=2, throw=True)
    full = factorize(M, 5, max_iter=10)
    assert full.status is Status.CONVERGED
    assert full.losses[-1] == pytest.approx(0.5 * np.sum(values[5:] ** 2), rel=1e-12)


def test_the_span_has_the_singular_values_of_the_matrix() -> None:
    M = low_rank(30, 20, 4, noise=0.2)
    seen: list[int] = []
    span = improve_span(
        M, Factors.initialize((30, 20), 4, scale=1.0), 500, lambda i, x: seen.append(i)
    )
    np.testing.assert_allclose(span.values, np.linalg.svd(M, compute_uv=False)[:4], rtol=1e-13)
    np.testing.assert_allclose(span.Z.T @ span.Z, np.eye(4), atol=1e-13)
    assert seen == list(range(span.sweeps + 1))


def test_divergence_zero_matrices_and_interrupts_are_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    M = low_rank(6, 6, 2)
    start = Factors.initialize((6, 6), 2, scale=1.0)
    run = descend_factors(M, start, step_size=10.0, max_iter=500)
    assert run.status is Status.DIVERGED
    assert run.factors == start
    zero = factorize(np.zeros((3, 4)), 2)
    assert zero.status is Status.CONVERGED
    assert zero.losses[-1] == 0.0
    assert not zero.factors.U.any()

    def interrupt(t: int) -> float:
        if t == 3:
            raise KeyboardInterrupt
        return 0.01

    run = descend_factors(M, start, step_size=interrupt, max_iter=50)
    assert run.status is Status.INTERRUPTED
    assert run.n_iter == 3


def test_small_losses_are_accurate() -> None:
    """The cheap formula loses everything below 1e-16 of |M|^2; then the residual itself is summed,
    in strips.
    """
    M = low_rank(9, 8, 2)
    left, values, right = np.linalg.svd(M)
    factors = Factors(left[:, :2] * values[:2] * (1 + 1e-9), right[:2].T)
    run = descend_factors(M, factors, step_size=1e-3, max_iter=0)
    assert run.losses[0] == pytest.approx(0.5e-18 * np.sum(values**2), rel=1e-5)
    assert factorization.direct_loss(factors, M) == pytest.approx(run.losses[0], rel=1e-12)


def test_bad_arguments_are_named() -> None:
    M = low_rank(4, 3, 1)
    start = Factors.initialize((4, 3), 1)
    with pytest.raises(DataError, match="step_size"):
        descend_factors(M, start, step_size=-1.0)
    with pytest.raises(DataError, match="max_iter"):
        descend_factors(M, start, max_iter=-1)
    with pytest.raises(DataError, match="shape"):
        descend_factors(M.T, start)
    with pytest.raises(DataError, match="rank=2"):
        factorize(M, 2, start=start)
    with pytest.raises(DataError, match="finite"):
        factorize(np.array([[np.inf, 1.0]]), 1)


def test_the_estimated_norm_is_a_little_below_the_norm() -> None:
    M = low_rank(40, 30, 5, noise=0.1)
    assert 0.9 * np.linalg.norm(M, 2) < estimate_norm(M) <= np.linalg.norm(M, 2) * (1 + 1e-12)
    assert estimate_norm(np.zeros((3, 3))) == 0.0
