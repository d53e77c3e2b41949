"""Asymmetric factorization by other roads: autodiff, exact identities, runs (DU-M4, DU-A4.9,
DU-T4.4, DU-L4.2, DU-L4.4).
"""

import math

import numpy as np
import pytest

from globalmin.errors import DataError, HypothesisError
from globalmin.factorization import landscape as theory
from globalmin.factorization.factors import Factors, checked_matrix
from globalmin.factorization.landscape import (
    balanced_target,
    footnote_schedule,
    imbalance_budget,
    nearest_rotation,
    printed_schedule,
    saddle_test,
    schedule_report,
)
from globalmin.factorization.train import descend_factors


def draw(
    m: int = 7, n: int = 5, r: int = 2, *, scale: float = 1.0, seed: int = 0
) -> tuple[Factors, np.ndarray]:
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((m, r)) @ rng.standard_normal((r, n))
    return Factors.initialize((m, n), r, scale=scale, seed=seed + 1), M


def flat(pair: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return np.concatenate([part.ravel() for part in pair])


@pytest.mark.parametrize("penalty", [0.0, theory.PENALTY])
def test_loss_gradient_and_hessian_are_those_of_automatic_differentiation(penalty: float) -> None:
    """DU-M4 (4.1)-(4.3), DU-T4.4 (4.12)."""
    import jax
    import jax.numpy as jnp

    factors, M = draw()
    with jax.enable_x64(True):

        def loss(pair):
            U, V = pair
            return 0.5 * jnp.sum((U @ V.T - M) ** 2) + penalty * jnp.sum((U.T @ U - V.T @ V) ** 2)

        at = (jnp.array(factors.U), jnp.array(factors.V))
        value, slopes = jax.value_and_grad(loss)(at)
        assert theory.factorization_loss(factors, M, penalty=penalty) == pytest.approx(
            float(value), rel=1e-13
        )
        np.testing.assert_allclose(
            flat(theory.factorization_gradient(factors, M, penalty=penalty)),
            flat(slopes),
            rtol=1e-12,
            atol=1e-12,
        )
        if penalty:
            return
        rng = np.random.default_rng(3)
        along = (rng.standard_normal(factors.U.shape), rng.standard_normal(factors.V.shape))
        turned = jax.jvp(jax.grad(loss), (at,), (tuple(map(jnp.array, along)),))[1]
        np.testing.assert_allclose(
            flat(theory.hessian_times(factors, M, along)), flat(turned), rtol=1e-12, atol=1e-12
        )
        assert theory.hessian_form(factors, M, along) == pytest.approx(
            float(flat(along) @ flat(turned)), rel=1e-12
        )


def test_the_change_of_the_imbalance_is_exact_for_every_step() -> None:
    """DU-T4.4, (4.13) with U^T R R^T U: the printed order of transposes does not even have the
    right shape.
    """
    factors, M = draw()
    for step in (1e-3, 0.1, 3.0):
        by_u, by_v = theory.factorization_gradient(factors, M)
        after = Factors(factors.U - step * by_u, factors.V - step * by_v)
        change = theory.imbalance(after) - theory.imbalance(factors)
        scale = np.linalg.norm(theory.imbalance(after))
        assert np.linalg.norm(change - theory.imbalance_change(factors, M, step)) <= 1e-14 * scale


@pytest.mark.parametrize("seed", range(5))
def test_smoothness_bound_holds_and_is_within_a_factor_of_the_truth(seed: int) -> None:
    """Lemma 4.3 (DU-T4.4): the largest eigenvalue of the Hessian on the set, against (6c + 2)
    |M|.
    """
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((4, 3))
    norm, c = float(np.linalg.norm(M)), 2.0
    largest = 0.0
    for trial in range(30):
        raw = Factors.initialize((4, 3), 1 + trial % 2, scale=1.0, seed=100 * seed + trial)
        size = math.sqrt(c * norm)
        factors = Factors(
            raw.U * size / np.linalg.norm(raw.U), raw.V * size / np.linalg.norm(raw.V)
        )
        p, q = factors.U.size, factors.V.size
        H = np.array(
            [
                flat(
                    theory.hessian_times(
                        factors, M, (e[:p].reshape(factors.U.shape), e[p:].reshape(factors.V.shape))
                    )
                )
                for e in np.eye(p + q)
            ]
        )
        largest = max(largest, float(np.abs(np.linalg.eigvalsh(H)).max()))
    bound = theory.smoothness_at_most(c, norm)
    assert bound / 6.0 < largest <= bound


def test_the_best_loss_is_that_of_eckart_and_young() -> None:
    rng = np.random.default_rng(0)
    M = rng.standard_normal((6, 4))
    best = theory.estimate_best_loss(M, 2)
    assert theory.factorization_loss(balanced_target(M, 2), M) == pytest.approx(best, rel=1e-12)
    for seed in range(20):
        V = np.random.default_rng(seed).standard_normal((4, 2))
        U = M @ V @ np.linalg.inv(V.T @ V)
        assert theory.factorization_loss(Factors(U, V), M) >= best
    assert theory.estimate_best_loss(M, 4) == 0.0


def test_lemma_identities_hold_at_any_point() -> None:
    """DU-L4.2: (4.19), (4.20), (4.21) are identities, (4.22) an inequality; claims 4.4 and 4.5 at a
    stationary point.
    """
    factors, M = draw(6, 6, 3, scale=0.7)
    target = balanced_target(M, 3)
    R = nearest_rotation(factors, target)
    D_u, D_v = factors.U - target.U @ R, factors.V - target.V @ R
    residual = factors.product() - M
    left = factors.U @ D_v.T + D_u @ factors.V.T
    np.testing.assert_allclose(left, D_u @ D_v.T + residual, atol=1e-12)  # (4.19)
    D, W, star = (
        np.vstack([D_u, D_v]),
        np.vstack([factors.U, factors.V]),
        np.vstack([target.U, target.V]),
    )
    square = lambda A: float(np.sum(A**2))  # noqa: E731
    assert square(D @ D.T) == pytest.approx(
        4 * square(D_u @ D_v.T) + square(D_u.T @ D_u - D_v.T @ D_v), rel=1e-12
    )  # (4.20)
    whole = 4 * square(residual) - 2 * square(factors.U.T @ target.U - factors.V.T @ target.V)
    whole += square(theory.imbalance(factors)) + square(theory.imbalance(target))
    assert square(W @ W.T - star @ star.T) == pytest.approx(whole, rel=1e-12)  # (4.21)
    assert square(D @ D.T) <= 2 * square(W @ W.T - star @ star.T)  # (4.22)


@pytest.mark.parametrize("keep", [[0], [1], [0, 2], [1, 2], []])
def test_other_singular_pairs_are_strict_saddles_with_the_promised_curvature(
    keep: list[int],
) -> None:
    """DU-L4.2: balanced stationary points that are not minima; the curvature is at most the bound,
    and below zero.
    """
    rng = np.random.default_rng(4)
    M = rng.standard_normal((7, 3)) @ rng.standard_normal((3, 6))
    left, values, right = np.linalg.svd(M)
    U, V = np.zeros((7, 3)), np.zeros((6, 3))
    U[:, : len(keep)], V[:, : len(keep)] = (
        left[:, keep] * np.sqrt(values[keep]),
        right[keep].T * np.sqrt(values[keep]),
    )
    test = saddle_test(Factors(U, V), M)
    assert test.gradient_norm < 1e-12
    assert test.curvature <= test.bound + 1e-10 < 0.0
    assert test.is_escape
    step = 1e-4
    moved = Factors(U + step * test.direction[0], V + step * test.direction[1])
    difference = theory.factorization_loss(moved, M) - theory.factorization_loss(Factors(U, V), M)
    assert difference == pytest.approx(0.5 * step**2 * test.curvature, rel=1e-2)


def test_at_the_minimum_there_is_no_direction_down() -> None:
    _, M = draw(6, 5, 2)
    test = saddle_test(balanced_target(M, 2), M)
    assert abs(test.curvature) < 1e-12
    assert test.distance < 1e-12


def test_the_printed_schedule_needs_more_steps_than_any_machine_will_take() -> None:
    """DU-T4.4 cannot be run as printed: the numbers of the report, and a run that confirms them."""
    rng = np.random.default_rng(0)
    M = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 20))
    M /= np.linalg.norm(M)
    start = Factors.initialize((20, 20), 2, scale=1e-4, seed=1)
    report = schedule_report(start, M, 0.1)
    assert theory.start_conditions(start, M, 0.1).hold
    assert (
        1400 < report.log10_steps_lower < 1600
    )  # the specification has e^3518 = 10^1528 for such an instance
    assert report.log10_years > 1300
    assert 13 < report.log10_frozen < 14
    assert report.log10_underflow == pytest.approx(321, abs=1)
    assert (
        report.log10_steps_lower > report.log10_underflow
    )  # the steps are zero in float64 long before
    assert not report.can_be_run
    assert report.budget_used == pytest.approx(4.65e-4, rel=1e-2)
    assert report.budget == pytest.approx(0.05)
    run = descend_factors(
        M, start, step_size=printed_schedule(0.1, 2, 1.0), max_iter=2_000, record_every=100
    )
    assert 0.4999 < run.losses[-1] < run.losses[0] == pytest.approx(0.5, rel=1e-4)
    assert run.monitors(M, 0.1).hold


def test_the_lower_bound_of_the_time_holds_along_constant_steps_and_is_tight() -> None:
    """The same inequality for another schedule: the sum of steps when the accuracy is reached,
    against its lower bound.
    """
    rng = np.random.default_rng(0)
    u, v = rng.standard_normal(20), rng.standard_normal(20)
    M = np.outer(u, v) / np.linalg.norm(u) / np.linalg.norm(v)
    start = Factors.initialize((20, 20), 1, scale=1e-3, seed=1)
    bound = schedule_report(start, M, 0.1).time_lower
    run = descend_factors(M, start, step_size=0.02, max_iter=2_000)
    used = 0.02 * int(np.flatnonzero(np.sqrt(2 * run.losses) <= 0.1)[0])
    assert bound <= used < 3 * bound


def test_the_footnote_family_keeps_its_budget_and_is_still_slow() -> None:
    """DU-T4.4, footnote: 40 sqrt(r) |M|^3 sum eta^2 <= eps/2, and steps of at most 1/beta; monitors
    hold.
    """
    M = np.random.default_rng(0).standard_normal((8, 8))
    M = balanced_target(M / np.linalg.norm(M), 2).product()
    norm, accuracy = float(np.linalg.norm(M)), 0.1
    for delta in (0.1, 0.5):
        steps = footnote_schedule(accuracy, 2, norm, delta)
        squares = sum(steps(t) ** 2 for t in range(100_000))
        assert imbalance_budget(squares, 2, norm) <= accuracy / 2
        assert steps(0) <= 1.0 / theory.descent_smoothness_at_most(2, norm)
    start = Factors.initialize((8, 8), 2, scale=1e-2, seed=0)
    run = descend_factors(
        M, start, step_size=footnote_schedule(accuracy, 2, norm), max_iter=3_000, record_every=50
    )
    assert run.monitors(M, accuracy).hold
    assert run.losses[-1] > 0.9 * run.losses[0]


def test_each_step_lowers_the_loss_by_half_the_squared_gradient() -> None:
    """DU-L4.4: f(t+1) <= f(t) - (eta_t/2) |grad|^2 for steps of at most 1/beta."""
    factors, M = draw(6, 6, 2, scale=0.1)
    M = M / np.linalg.norm(M)
    step = 1.0 / theory.descent_smoothness_at_most(2, 1.0)
    run = descend_factors(M, factors, step_size=step, max_iter=300)
    slack = theory.descent_slack(run.losses, run.gradients, np.full(300, step))
    assert np.all(slack >= -1e-15)
    drop = run.losses[:-1] - run.losses[1:]
    np.testing.assert_allclose(slack, drop - 0.5 * step * run.gradients[:-1] ** 2, atol=1e-15)
    large = descend_factors(M, factors, step_size=3.0, max_iter=8)
    assert (
        theory.descent_slack(large.losses, large.gradients, np.full(large.n_iter, 3.0)).min() < 0.0
    )


def test_hypotheses_are_named() -> None:
    with pytest.raises(HypothesisError, match="accuracy=2"):
        printed_schedule(2.0, 1, 1.0)
    with pytest.raises(HypothesisError, match="delta"):
        footnote_schedule(0.1, 1, 1.0, delta=0.7)
    with pytest.raises(DataError, match="rank"):
        printed_schedule(0.1, 0, 1.0)
    factors, M = draw(scale=3.0)
    assert not theory.start_conditions(factors, M, 0.1).hold


def test_factors_are_values_that_refuse_what_they_cannot_hold() -> None:
    factors, M = draw()
    assert factors == Factors(factors.U.copy(), factors.V.copy())
    assert hash(factors) == hash(Factors(factors.U, factors.V))
    assert factors != draw(seed=5)[0]
    assert factors.__eq__(3) is NotImplemented
    with pytest.raises(ValueError, match="read-only"):
        factors.U[0, 0] = 1.0
    balanced = factors.balanced()
    np.testing.assert_allclose(balanced.product(), factors.product(), atol=1e-12)
    assert np.linalg.norm(theory.imbalance(balanced)) < 1e-12
    wide = Factors(np.ones((2, 4)), np.ones((3, 4)))
    np.testing.assert_allclose(wide.balanced().product(), wide.product(), atol=1e-12)
    for U, V, word in (
        (np.ones((2, 2)), np.ones((2, 3)), "columns"),
        (np.ones(3), np.ones((2, 3)), "shape"),
        (np.array([[np.nan]]), np.ones((1, 1)), r"U\[0, 0\] is nan"),
        (np.ones((1, 1)), np.array([["x"]]), "real numbers"),
        (np.ones((1, 1)), np.array([[1j]]), "real numbers"),
        (np.ones((1, 1)), np.array([[2**60 + 1]]), "2\\^53"),
        (np.ones((1, 1)), np.array([[1e200]]), "scale"),
        (np.ones((1, 1)), np.array([[1e-200]]), "scale"),
    ):
        with pytest.raises(DataError, match=word):
            Factors(U, V)
    with pytest.raises(DataError, match="must have that shape"):
        factors.require_fit(M.T)
    with pytest.raises(DataError, match="rank"):
        Factors.initialize((2, 2), 0)
    with pytest.raises(DataError, match="scale"):
        Factors.initialize((2, 2), 1, scale=0.0)
    assert checked_matrix(np.ones((2, 2), dtype=np.float32)).dtype == np.float64
    assert checked_matrix([[1, 0], [0, 2]]).flags.c_contiguous
