"""Rates of gradient flow from activation margins: over all reachable slopes, along small-step
descent, and against theorem RD.
"""

import numpy as np
import pytest
from scipy.linalg import expm

import globalmin as gm
from globalmin.errors import DataError
from globalmin.kernels.linearized import (
    _largest_moves,
    change_of_gram,
    estimate_linearized_rate,
    linearized_path,
    required_moves,
)
from globalmin.shallow.claims import relu_descent
from globalmin.shallow.claims.high_precision import precise_residual
from globalmin.shallow.lipschitz import rounding_of_preactivations
from globalmin.shallow.network import preactivations
from globalmin.shallow.relu_margins import (
    ReluState,
    Slopes,
    estimate_flow_radius,
    estimate_flow_rate,
    slopes_of_radius,
)


def instance(n, d, m, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1)[:, None]
    return (
        X,
        rng.standard_normal(n),
        rng.standard_normal((m, d)),
        rng.choice([-1.0, 1.0], m) / np.sqrt(m),
    )


def state_at(X, y, W, v):
    Z = X @ W.T
    return ReluState(X @ X.T, Z, v, np.maximum(Z, 0) @ v - y)


def gram(K, v, D):
    return np.einsum("ij,l,il,jl->ij", K, v**2, D, D)


def descend(X, y, W, v, *, step_size, steps):
    """The states along gradient descent on (1/2) |r|^2, the start first."""
    for _ in range(steps + 1):
        state = state_at(X, y, W, v)
        yield state
        W = W - step_size * ((state.Z > 0) * v * state.r[:, None]).T @ X


def trained(X, y, W, v, *, until):
    top = np.linalg.eigvalsh(gram(X @ X.T, v, X @ W.T > 0))[-1]
    while True:
        Z = X @ W.T
        r = np.maximum(Z, 0) @ v - y
        if np.linalg.norm(r) <= until:
            return W
        W = W - 0.9 / top * ((Z > 0) * v * r[:, None]).T @ X


@pytest.mark.parametrize(
    ("shape", "tau"), [((8, 5, 60), 0.3), ((12, 4, 200), 0.02), ((6, 10, 40), 1.0)]
)
def test_no_slopes_in_the_sets_go_below_the_rates(shape, tau):
    """DU-CERT-L1C: hill climbing over slopes, corners and fractions, for the least eigenvalue; the
    bound holds.
    """
    X, y, W, v = instance(*shape, 0)
    state, rng = (
        state_at(X, y, W, v * (1.0 + 0.5 * np.sin(np.arange(v.size)))),
        np.random.default_rng(1),
    )
    slopes = slopes_of_radius(state.K, state.Z, state.v, tau)
    rate = estimate_flow_rate(state.K, state.v, slopes)
    pairs = np.argwhere(slopes.unstable)
    assert len(pairs) > 0
    least = np.inf
    for trial in range(6):
        D = slopes.sure.astype(float)
        D[slopes.unstable] = (
            rng.random(len(pairs)) if trial % 2 else rng.integers(2, size=len(pairs))
        )
        value = np.linalg.eigvalsh(gram(state.K, state.v, D))[0]
        for i, j in rng.permutation(pairs)[:80]:
            other = D.copy()
            other[i, j] = 1.0 - np.round(D[i, j])
            lower = np.linalg.eigvalsh(gram(state.K, state.v, other))[0]
            D, value = (other, lower) if lower < value else (D, value)
        least = min(least, value)
    assert rate.best <= least + 1e-12
    assert rate.best >= max(rate.plain, rate.split)


def test_gamma_is_the_best_and_the_printed_form_is_never_better():
    """DU-CERT-L1C: a grid of gamma, by the formula of the catalogue (one gamma for all neurons) and
    by ours.
    """
    X, y, W, v = instance(10, 6, 80, 2)
    state = state_at(X, y, W, v)
    slopes = slopes_of_radius(state.K, state.Z, v, 0.03)
    S, U, shaky = slopes.sure, slopes.unstable, slopes.unstable.any(axis=0)
    assert 0 < shaky.sum() < shaky.size
    Q = np.diag(
        [sum(abs(state.K[i, j]) * (v**2 * U[i] * U[j]).sum() for j in range(10)) for i in range(10)]
    )
    H, steady = gram(state.K, v, S), gram(state.K, v * ~shaky, S)
    grid = np.linspace(1e-3, 1.0, 2000)
    printed = max(np.linalg.eigvalsh((1 - g) * H - (1 / g - 1) * Q)[0] for g in grid)
    ours = max(
        np.linalg.eigvalsh(steady + (1 - g) * (H - steady) - (1 / g - 1) * Q)[0] for g in grid
    )
    rate = estimate_flow_rate(state.K, v, slopes)
    assert rate.split >= ours - 1e-12
    assert rate.split == pytest.approx(ours, abs=1e-5)
    assert rate.split >= printed
    assert 0.0 < rate.gamma <= 1.0


def test_without_unstable_pairs_both_rates_are_the_smallest_eigenvalue():
    X, y, W, v = instance(6, 10, 50, 3)
    state = state_at(X, y, W, v)
    rate = estimate_flow_rate(state.K, v, slopes_of_radius(state.K, state.Z, v, 0.0))
    exact = np.linalg.eigvalsh(gram(state.K, v, state.Z > 0))[0]
    assert rate.plain == pytest.approx(exact, abs=1e-13)
    assert rate.split == pytest.approx(exact, abs=1e-13)


def test_the_sets_and_the_plain_rate_are_those_of_the_claim_relu_descent():
    """DU-CERT-L1: the margin of the producer at the same radius; and by loops."""
    X, y, W, v = instance(7, 9, 120, 4)
    network = gm.ShallowNetwork(W, v, "relu")
    residual = precise_residual(network, X, y)
    point = relu_descent.ReluPoint(
        network,
        X,
        residual,
        preactivations(network, X),
        rounding_of_preactivations(network, X),
        X @ X.T,
    )
    state, tau = state_at(X, y, W, v), 0.2
    slopes = slopes_of_radius(state.K, state.Z, v, tau)
    trial = relu_descent.bracket(point, tau)
    assert trial.unstable == slopes.unstable.sum() > 0
    assert estimate_flow_rate(state.K, v, slopes).plain == pytest.approx(trial.margin(), abs=1e-12)
    near = -np.abs(v) * np.linalg.norm(state.K, axis=1)[:, None] * tau <= state.Z
    for i, q in ((0, 0), (3, 50), (6, 119)):
        move = abs(v[q]) * np.sqrt(sum(state.K[i, j] ** 2 for j in range(7) if near[j, q])) * tau
        assert slopes.moves[i, q] == pytest.approx(move, rel=1e-12)


def check_along(states, rate, slopes, step_size):
    """Envelope, spectrum, moves and signs along the run; the integral of |r|."""
    states = list(states)
    first, length = states[0], 0.0
    for k, state in enumerate(states):
        assert (
            state.residual_norm
            <= np.exp(-rate * step_size * k) * first.residual_norm * (1 + 1e-9) + 1e-13
        )
        assert (np.abs(state.Z - first.Z) <= slopes.moves * (1 + 1e-9) + 1e-13).all()
        stable = ~slopes.unstable
        assert ((state.Z > 0) == (first.Z > 0))[stable].all()
        if k % 50 == 0:
            weighted = (state.Z > 0) * first.v
            assert np.linalg.eigvalsh(first.K * (weighted @ weighted.T))[0] >= rate
        length += step_size * state.residual_norm
    return length


def test_the_refined_rate_holds_where_the_plain_one_says_nothing():
    """DU-CERT-L1C: 30 points in 5 dimensions, an ill-conditioned Gram matrix: L1 fails, and so it
    does much later still.
    """
    X, y, W, v = instance(30, 5, 600, 1)
    W = trained(X, y, W, v, until=4e-4)
    found = estimate_flow_radius(state_at(X, y, W, v))
    assert found is not None
    assert estimate_flow_radius(state_at(X, y, W, v), refined=False) is None
    assert found.rate.plain < 0 < found.rate.best == found.rate.split
    assert found.slopes.unstable.sum() > 500
    length = check_along(
        descend(X, y, W, v, step_size=0.1, steps=1000), found.rate.best, found.slopes, 0.1
    )
    assert length <= found.tau


def test_where_both_hold_the_refined_one_is_not_worse():
    """DU-CERT-L1C against DU-CERT-L1, wide networks at the start: the certified rates of the
    catalogue, .70 to .80 of mu.
    """
    for seed in (2, 3, 4):
        X, y, W, v = instance(5, 20, 3000, seed)
        state = state_at(X, y, W, v)
        plain, refined = estimate_flow_radius(state, refined=False), estimate_flow_radius(state)
        assert plain is not None
        assert refined is not None
        assert refined.rate.best >= plain.rate.plain > 0
        assert refined.tau <= plain.tau
        assert state.residual_norm <= plain.rate.plain * plain.tau
        length = check_along(
            descend(X, y, W, v, step_size=0.02, steps=300), refined.rate.best, refined.slopes, 0.02
        )
        assert 0.2 * refined.tau <= length <= refined.tau


@pytest.mark.parametrize("seed", [0, 1])
def test_the_integrals_of_the_linearized_path_are_above_the_true_ones_and_close(seed):
    """DU-CERT-L2: matrix exponentials on a fine uniform grid."""
    X, y, W, v = instance(5, 4, 60, seed)
    state = state_at(X, y, W, v)
    H, path = gram(state.K, v, state.Z > 0), linearized_path(state)
    h, rows = 0.02 / path.top, [state.r]
    step = expm(-H * h)
    while np.linalg.norm(rows[-1]) > 1e-6 * np.linalg.norm(state.r):
        rows.append(step @ rows[-1])
    rows = np.array(rows)
    trapezoid = h * (np.abs(rows[:-1]) + np.abs(rows[1:])).sum(axis=0) / 2
    norms = np.linalg.norm(rows, axis=1)
    length = h * (norms[:-1] + norms[1:]).sum() / 2
    assert length * (1 - 1e-4) <= path.length <= 1.002 * length
    assert (trapezoid * (1 - 1e-4) <= path.totals).all()
    assert (path.totals <= 1.01 * trapezoid + 1e-3 * length).all()
    integrals = np.cumsum(rows, axis=0) * h - h * (rows + rows[0]) / 2
    moves = np.abs(np.einsum("ij,tj,jl->til", state.K, integrals, (state.Z > 0).astype(float))).max(
        axis=0
    )
    bound = _largest_moves(state, path)
    assert (moves <= bound + 1e-9).all()
    assert (bound - moves <= 0.02 * path.length * np.linalg.norm(state.K, axis=1)[:, None]).all()


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_the_sums_of_linearized_descent_are_those_of_a_loop(share):
    """DU-CERT-L2 for gradient descent: (I - eta H)^k r, step by step."""
    X, y, W, v = instance(5, 6, 60, 3)
    state = state_at(X, y, W, v)
    H, flow = gram(state.K, v, state.Z > 0), linearized_path(state)
    eta = share * 2.0 / (flow.mu + flow.top)
    path, r, total, lengths = linearized_path(state, eta), state.r, np.zeros(5), 0.0
    sums, moves = np.zeros(5), np.zeros_like(state.Z)
    while np.linalg.norm(r) > 1e-14:
        total, lengths, sums = (
            total + eta * np.abs(r),
            lengths + eta * np.linalg.norm(r),
            sums + eta * r,
        )
        moves = np.maximum(moves, np.abs((state.K * sums) @ (state.Z > 0)))
        r = r - eta * H @ r
    assert path.length == pytest.approx(lengths, rel=1e-10)
    np.testing.assert_allclose(path.totals, total, rtol=1e-9)
    assert (moves <= _largest_moves(state, path) + 1e-12).all()


def test_the_linearized_condition_holds_at_widths_where_the_plain_one_does_not():
    """DU-CERT-L2: n = 10, width 10,000 (catalogue: L2 from 10,000, L1 from 30,000); replayed, also
    with descent's own form.
    """
    for seed, share in ((2, 0.88), (3, 0.76)):
        X, y, W, v = instance(10, 40, 10_000, seed)
        state = state_at(X, y, W, v)
        assert estimate_flow_radius(state) is None
        found = estimate_linearized_rate(state)
        assert found is not None
        assert found.rate == pytest.approx(share * found.mu)
        path = linearized_path(state)
        assert found.length >= path.length
        length = check_along(
            descend(X, y, W, v, step_size=0.05, steps=100), found.rate, found.slopes, 0.05
        )
        assert length <= found.length
        descent = estimate_linearized_rate(state, 0.5 / path.top)
        assert descent is not None
        check_along(
            descend(X, y, W, v, step_size=0.5 / path.top, steps=60),
            descent.rate,
            descent.slopes,
            0.5 / path.top,
        )


def test_the_run_stays_as_close_to_the_linearized_path_as_the_condition_says():
    """DU-CERT-L2: the integral of |r - r0| is at most eps T/mu, and that of |r| at most T."""
    X, y, W, v = instance(5, 20, 3000, 2)
    state = state_at(X, y, W, v)
    found, eta = estimate_linearized_rate(state), 0.01
    assert found is not None
    assert found.slopes.unstable.any()
    step, r, gap = expm(-eta * gram(state.K, v, state.Z > 0)), state.r, 0.0
    for at in descend(X, y, W, v, step_size=eta, steps=1500):
        gap, r = gap + eta * np.linalg.norm(at.r - r), step @ r
    assert 0.0 < gap <= found.eps * found.length / found.mu


def test_both_conditions_hold_on_the_final_table_by_loops():
    """DU-CERT-L2: (i) and (ii) evaluated pair by pair; the table is no larger than it must be."""
    X, y, W, v = instance(5, 20, 3000, 3)
    state = state_at(X, y, W, v)
    found, path = estimate_linearized_rate(state), linearized_path(state)
    possible, sure, s = found.slopes.possible, found.slopes.sure, found.slopes.moves
    np.testing.assert_array_equal(possible, -s <= state.Z)
    np.testing.assert_array_equal(sure, s < state.Z)
    spread = np.linalg.norm(gram(np.abs(state.K), v, possible) - gram(np.abs(state.K), v, sure), 2)
    assert spread <= found.eps
    assert change_of_gram(state, found.slopes) == pytest.approx(spread, rel=1e-9)
    largest = _largest_moves(state, path)
    for i in range(5):
        for q in range(0, 3000, 37):
            row = np.sqrt(sum(state.K[i, j] ** 2 for j in range(5) if possible[j, q]))
            far = sum(
                abs(state.K[i, j]) * path.totals[j]
                for j in range(5)
                if possible[j, q] and not sure[j, q]
            )
            need = abs(v[q]) * min(
                row * found.length, largest[i, q] + far + row * found.eps * found.length / found.mu
            )
            assert s[i, q] == pytest.approx(need, rel=1e-10)
    np.testing.assert_array_equal(s, required_moves(state, path, largest, found.slopes, found.eps))


def test_a_singular_gram_matrix_and_a_large_step_are_refused():
    X, y, W, v = instance(6, 3, 50, 5)
    twice = state_at(np.vstack([X, X[:1]]), np.append(y, 0.0), W, v)
    assert estimate_linearized_rate(twice) is None
    assert estimate_flow_radius(twice) is None
    state = state_at(X, y, W, v)
    with pytest.raises(DataError, match="step_size"):
        linearized_path(state, 10.0)
    still = Slopes.within(np.zeros((1, 1)), np.zeros((1, 1)))
    assert still.unstable.all()
