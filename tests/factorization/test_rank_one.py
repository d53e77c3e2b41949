"""DU-T4.5: the map of four numbers against real vectors, its closed forms, both lemmas, the
constants of the proof.
"""

import math

import numpy as np
import pytest

from globalmin.errors import DataError, HypothesisError
from globalmin.factorization.factors import Factors
from globalmin.factorization.rank_one import (
    RankOneState,
    draw_rank_one,
    first_stage_at_most,
    rank_one_constants,
    rank_one_run,
    rank_one_state,
    rank_one_step,
)
from globalmin.factorization.train import descend_factors

SIGMA, STEP = 1.7, 0.1


def signal_step(state, sigma, step_size):
    r"""$(h^+,\xi^+)$ from the closed forms (4.24), for comparison with `rank_one_step`."""
    a, b, p, q = state.alpha**2, state.beta**2, state.alpha_rest**2, state.beta_rest**2
    h, product = state.h(sigma), state.alpha * state.beta
    growth = 1.0 - step_size * (a + b) + step_size**2 * (product * h + a * q + b * p + p * q)
    next_h = growth * h - step_size * product * (p + q) + step_size**2 * sigma * p * q
    return next_h, (1.0 - step_size * (b + q)) ** 2 * p + (1.0 - step_size * (a + p)) ** 2 * q


def unit(d: int, seed: int) -> np.ndarray:
    x = np.random.default_rng(seed).standard_normal(d)
    return x / np.linalg.norm(x)


def positive_start(d: int, seed: int) -> RankOneState:
    return next(
        s
        for i in range(100)
        if (s := draw_rank_one(d, SIGMA, 0.1, seed=100 * seed + i)).alpha * s.beta > 0
    )


def test_four_numbers_follow_gradient_descent_on_the_vectors() -> None:
    """(4.23) and the formula of the distance, along 150 steps in dimensions 30 and 20."""
    u_star, v_star = unit(30, 0), unit(20, 1)
    M = SIGMA * np.outer(u_star, v_star)
    rng = np.random.default_rng(2)
    u, v = 0.1 * rng.standard_normal(30), 0.1 * rng.standard_normal(20)
    eta = STEP / SIGMA
    run = descend_factors(M, Factors(u[:, None], v[:, None]), step_size=eta, max_iter=150, tol=0.0)
    state = rank_one_state(u, v, u_star, v_star)
    for t in range(150):
        assert state.distance(SIGMA) == pytest.approx(
            math.sqrt(2 * run.losses[t]), rel=1e-9, abs=1e-12
        )
        following = rank_one_step(state, SIGMA, eta)
        h, xi = signal_step(state, SIGMA, eta)
        assert following.h(SIGMA) == pytest.approx(h, rel=1e-9, abs=1e-13)  # (4.24)
        assert following.xi == pytest.approx(xi, rel=1e-9, abs=1e-30)
        state = following
    end = rank_one_state(run.factors.U[:, 0], run.factors.V[:, 0], u_star, v_star)
    np.testing.assert_allclose(
        (state.alpha, state.beta, state.alpha_rest, state.beta_rest),
        (end.alpha, end.beta, end.alpha_rest, end.beta_rest),
        atol=1e-10,
    )


@pytest.mark.parametrize("d", [10, 100, 1000, 10**6, 10**12])
@pytest.mark.parametrize("seed", range(4))
def test_both_lemmas_hold_along_runs_and_the_steps_grow_with_the_logarithm_of_d(
    d: int, seed: int
) -> None:
    """Lemmas 4.5 and 4.6 with the measured c_1: T_1 about 34 + 5.3 ln(d/10), the tail rate 1 -
    c_step.
    """
    start = positive_start(d, seed)
    run = rank_one_run(start, SIGMA, STEP)
    assert run.first_stage is not None
    assert run.steps is not None
    assert all(run.stage_one.values()), run.stage_one
    assert all(run.stage_two.values()), run.stage_two
    assert run.first_stage <= first_stage_at_most(start, SIGMA, STEP)
    assert run.first_stage == pytest.approx(34 + 0.5 * math.log(d / 10) / math.log1p(STEP), abs=30)
    assert run.steps - run.first_stage < 230
    assert run.tail_rate == pytest.approx(1 - STEP, abs=2e-3)
    assert 0.2 < run.c_1 < 0.51
    assert 0.04 <= run.ratio[0] <= run.ratio[1] <= 22


def test_the_golden_run_of_the_specification() -> None:
    """C_init = c_step = .1, sigma = 1.7, eps = 1e-10: T_1 about 34, 48, 60 and 240, 254, 267 steps
    for d = 10, 100, 1000.
    """
    for d, first, steps in ((10, 34, 240), (100, 48, 254), (1000, 60, 267)):
        runs = [rank_one_run(positive_start(d, seed), SIGMA, STEP) for seed in range(25)]
        assert np.median(
            [run.first_stage for run in runs if run.first_stage is not None]
        ) == pytest.approx(first, abs=4)
        assert np.median([run.steps for run in runs if run.steps is not None]) == pytest.approx(
            steps, abs=4
        )


def test_the_draw_has_the_law_of_gaussian_vectors() -> None:
    """Standard deviation delta (E21), not variance delta: signals and rests against their moments,
    2,000 draws.
    """
    states = [draw_rank_one(50, 2.0, 0.3, seed=i) for i in range(2000)]
    delta = 0.3 * math.sqrt(2.0 / 50)
    alpha, rest = np.array([s.alpha for s in states]), np.array([s.alpha_rest for s in states])
    assert abs(alpha.mean()) < 5 * delta / math.sqrt(2000)
    assert alpha.std() == pytest.approx(delta, rel=0.09)
    assert np.mean(rest**2) == pytest.approx(49 * delta**2, rel=5 * math.sqrt(2 / 49 / 2000))
    inside = np.mean([0.1 * delta <= abs(s.alpha) <= 10 * delta for s in states])
    assert inside == pytest.approx(0.92, abs=0.03)
    assert draw_rank_one(1, 1.0, 0.1).alpha_rest == 0.0


def test_the_constants_of_the_proof_are_those_of_the_specification() -> None:
    found = rank_one_constants()
    assert found.c_1 == pytest.approx(1.25e-5, rel=1e-3)
    assert found.c_init_stage_one**2 == pytest.approx(1 / 600)
    assert found.c_init_stage_two == pytest.approx(2.1e-4, rel=0.02)
    assert found.c_init_printed == pytest.approx(1.5e-4, rel=0.02)
    assert math.exp(-200 * found.c_init_stage_two**2 / found.c_1) == pytest.approx(0.5)


def test_negative_signals_are_flipped_and_opposite_ones_refused() -> None:
    start = positive_start(100, 0)
    flipped = RankOneState(-abs(start.alpha), -abs(start.beta), start.alpha_rest, start.beta_rest)
    plain = RankOneState(abs(start.alpha), abs(start.beta), start.alpha_rest, start.beta_rest)
    assert rank_one_run(flipped, SIGMA, STEP).steps == rank_one_run(plain, SIGMA, STEP).steps
    with pytest.raises(HypothesisError, match="alpha_0 beta_0"):
        rank_one_run(RankOneState(1.0, -1.0, 0.0, 0.0), SIGMA, STEP)
    with pytest.raises(DataError, match="positive"):
        draw_rank_one(0, 1.0, 0.1)


def test_a_run_that_is_cut_short_says_so() -> None:
    run = rank_one_run(positive_start(100, 1), SIGMA, STEP, max_iter=5)
    assert run.steps is None
    assert run.first_stage is None
    assert math.isnan(run.c_1)
