"""Matching (FCL-MATCH), descent (FCL-ALG1), SD_n (FCL-E1, FCL-E2), labels (FCL-M1, FCL-M2), and
what is refused or flagged.
"""

import itertools

import numpy as np
import pytest

from globalmin.activations import get_activation
from globalmin.data import Dataset
from globalmin.errors import DataError, HypothesisError
from globalmin.recovery import newton as local_newton
from globalmin.recovery.descent import curvature_step, local_descent, local_spread, safe_step
from globalmin.recovery.geometry import empirical_hessian, empirical_loss_and_gradient
from globalmin.recovery.matching import match_neurons, spread
from globalmin.recovery.newton import likelihood_refinement, log_likelihood
from globalmin.recovery.recover import recover_teacher
from globalmin.shallow.network import loss


def orthogonal(K, d, sigma, seed=0):
    return sigma * np.linalg.qr(np.random.default_rng(seed).standard_normal((d, K)))[0].T


def draw(W, n, *, binary=False, name="sigmoid", seed=0):
    rng = np.random.default_rng([seed, 1])
    X = rng.standard_normal((n, W.shape[1]))
    p = get_activation(name)(X @ W.T).mean(axis=1)
    return X, (rng.random(n) < p).astype(float) if binary else p


def plain(X, y):
    return Dataset(X, y, bias=False, scaling="none")


def has(found, word):
    return any(word in warning for warning in found.warnings)


def test_matching_is_the_best_of_all_permutations():
    rng = np.random.default_rng(0)
    for K in (1, 2, 4, 6):
        A, B = rng.standard_normal((2, K, 3))
        best = min(np.linalg.norm(A[list(p)] - B) for p in itertools.permutations(range(K)))
        found = match_neurons(A, B)
        assert found.error == pytest.approx(best)
        assert found.relative_error == pytest.approx(best / np.linalg.norm(B))
        np.testing.assert_allclose(np.linalg.norm(A[found.order] - B), best)
    exact = match_neurons(A[[2, 0, 1, 5, 4, 3]] * 2, A)
    np.testing.assert_allclose(exact.cosines, 1.0)
    np.testing.assert_allclose(exact.norm_ratios, 2.0)
    with pytest.raises(DataError, match="shape"):
        match_neurons(A, A[:, :2])


def test_spread_is_the_root_mean_square_distance_from_the_mean():
    points = np.array([[[1.0, 0.0]], [[-1.0, 0.0]], [[0.0, 3.0]]])
    mean = points.mean(axis=0)
    assert spread(points) == pytest.approx(
        np.sqrt(np.mean([np.sum((p - mean) ** 2) for p in points]))
    )
    with pytest.raises(DataError, match="end points"):
        spread(points[0])


@pytest.mark.parametrize("binary", [False, True])
def test_descent_takes_plain_gradient_steps_on_the_same_samples(binary):
    W = orthogonal(2, 4, 1.5)
    X, y = draw(W, 500, binary=binary)
    start, expected = W + 0.1, W + 0.1
    for _ in range(7):
        expected = expected - 10.0 * empirical_loss_and_gradient(expected, X, y, "sigmoid")[1]
    found = local_descent(X, y, start, step=10.0, max_iter=7)
    np.testing.assert_allclose(found.weights, expected, atol=1e-14)
    assert len(found.losses) == 8
    assert np.all(np.diff(found.losses) < 0)


def test_steps_are_safe_and_too_long_ones_are_halved():
    W = orthogonal(3, 5, 1.5)
    X, y = draw(W, 4_000)
    top = np.linalg.eigvalsh(empirical_hessian(W, X, y, "sigmoid"))[-1]
    assert safe_step(3, "sigmoid") == 48.0
    assert safe_step(3, "sigmoid") <= 1.1 / top
    assert curvature_step(W, X, y, "sigmoid") == pytest.approx(1 / top, rel=1e-9)
    found = local_descent(X, y, W + 0.1, step=1e5, max_iter=60)
    assert found.step < 1e4
    assert np.all(np.diff(found.losses) <= 1e-12)
    with pytest.raises(DataError, match="step"):
        local_descent(X, y, W, step="long")


@pytest.mark.parametrize("binary", [False, True])
def test_newton_ends_where_long_descent_ends(binary):
    W = orthogonal(2, 3, 2.0)
    X, y = draw(W, 4_000, binary=binary)
    slow = local_descent(X, y, W + 0.05, step="curvature", max_iter=8_000, tol=1e-11)
    fast = local_descent(X, y, W + 0.05, step="curvature", max_iter=8_000, tol=1e-13, newton=True)
    assert fast.newton_steps > 0
    assert len(fast.losses) < len(slow.losses)
    np.testing.assert_allclose(fast.weights, slow.weights, atol=1e-6)
    assert np.linalg.eigvalsh(empirical_hessian(fast.weights, X, y, "sigmoid"))[0] > 0


@pytest.mark.parametrize("binary", [False, True])
def test_newton_without_a_hessian_ends_where_newton_with_it_does(binary, monkeypatch):
    """FCL-ALG1's end by conjugate gradients, preconditioned by every tenth sample: the same point
    to rounding.
    """
    W = orthogonal(2, 4, 2.0)
    X, y = draw(W, 20_000, binary=binary)
    options = {"step": "curvature", "max_iter": 400, "tol": 1e-13, "newton": True}
    whole = local_descent(X, y, W + 0.05, **options)
    monkeypatch.setattr(local_newton, "HESSIAN_COST", 2_000 * W.size**2)
    assert local_newton.hessian_stride(len(X), W.size) == 10
    part = local_descent(X, y, W + 0.05, **options)
    assert part.newton_steps >= whole.newton_steps > 0
    assert len(part.losses) == len(whole.losses)
    assert part.gradient_norm <= 1e-13
    np.testing.assert_allclose(part.weights, whole.weights, atol=1e-9)


def test_the_part_of_the_samples_grows_with_the_number_of_weights():
    assert local_newton.hessian_stride(20_000, 30) == 1
    assert local_newton.hessian_stride(10**6, 500) == 12  # 80,000 samples by cost
    assert local_newton.hessian_stride(10**6, 2_000) == 25  # 20 samples a weight
    assert local_newton.hessian_stride(10**6, 5_000) is None


def test_newton_is_left_out_where_the_hessian_is_indefinite_or_too_large(monkeypatch):
    W = orthogonal(2, 4, 2.0)
    X, y = draw(W, 2_000)
    far = np.full(W.shape, 3.0)
    assert local_descent(X, y, far, max_iter=1, newton=True).newton_steps == 0
    monkeypatch.setattr(local_newton, "WEIGHTS", 7)
    assert local_descent(X, y, W + 0.05, max_iter=60, newton=True).newton_steps == 0


def test_a_small_spread_does_not_mean_a_small_error():
    """FCL-E1, FCL-E2: binary labels, few samples: all starts agree on a point far from the
    teacher.
    """
    W = orthogonal(2, 5, 1.0)
    X, y = draw(W, 1_500, binary=True)
    found = local_spread(X, y, W, starts=3, step="curvature", max_iter=3_000)
    assert found.success
    assert found.mean_error > 20 * found.sd
    assert found.mean_error > 0.2
    assert "far from the teacher" in found.warning
    X, y = draw(W, 1_500)
    exact = local_spread(X, y, W, starts=3, step="curvature", max_iter=3_000)
    assert exact.mean_error < 1e-2


def test_the_likelihood_rises_and_its_gradient_vanishes():
    W = orthogonal(2, 3, 2.0)
    X, y = draw(W, 3_000, binary=True)
    squares = local_descent(X, y, W, step="curvature", max_iter=500, newton=True).weights
    best = likelihood_refinement(X, y, squares, "sigmoid")
    value = log_likelihood(X, y, best, "sigmoid")
    assert value > log_likelihood(X, y, squares, "sigmoid")
    h = 1e-4
    for place in itertools.product(range(2), range(3)):
        E = np.zeros((2, 3))
        E[place] = h
        slope = (
            log_likelihood(X, y, best + E, "sigmoid") - log_likelihood(X, y, best - E, "sigmoid")
        ) / (2 * h)
        assert abs(slope) < 1e-6


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "softplus"])
def test_regression_recovers_the_weights_up_to_order(name):
    W = orthogonal(3, 6, 1.5)
    X, y = draw(W, 20_000 if name == "softplus" else 3_000, name=name)
    found = recover_teacher(plain(X, y), 3, name)
    assert found.error_against(W) < 1e-8
    assert loss(found.network, X, y) < 1e-15
    assert np.all(found.match(W).cosines > 1 - 1e-10)


def test_the_literal_variant_is_selectable_and_says_when_it_is_lost():
    W = orthogonal(3, 10, 1.5)
    X, y = draw(W, 3_000)
    literal, tuned = (
        recover_teacher(plain(X, y), 3, variant=variant) for variant in ("literal", "tuned")
    )
    assert (
        match_neurons(tuned.initialization, W).relative_error
        < 0.3
        < match_neurons(literal.initialization, W).relative_error
    )
    assert not tuned.warnings
    assert literal.start_notes
    assert literal.warnings or literal.error_against(W) < 1e-8  # descent may mend a lost start


def test_what_cannot_work_is_refused_with_the_reason():
    W = orthogonal(2, 3, 1.0)
    X, y = draw(W, 200, binary=True)
    with pytest.raises(HypothesisError, match="K <= d"):
        recover_teacher(plain(X, y), 4)
    with pytest.raises(HypothesisError, match=r"sigmoid\(2\)"):
        recover_teacher(plain(X, y), 2, "tanh", labels="classification")
    with pytest.raises(HypothesisError, match="no probabilities"):
        recover_teacher(plain(X, y), 2, "softplus", labels="classification")
    with pytest.raises(HypothesisError, match="kinks"):
        recover_teacher(plain(X, y), 2, "relu")
    with pytest.raises(HypothesisError, match="vanish"):
        recover_teacher(plain(X, y), 2, "linear")
    with pytest.raises(DataError, match=r"\{0, 1\}"):
        recover_teacher(plain(X, y + 0.5), 2, labels="classification")
    with pytest.raises(DataError, match="bias=False"):
        recover_teacher(Dataset(X, y), 2)
    with pytest.raises(DataError, match="too few"):
        recover_teacher(plain(X[:7], y[:7]), 2)
    for wrong in ({"labels": "counts"}, {"variant": "best"}, {"estimator": "likelihood"}):
        with pytest.raises(DataError, match=next(iter(wrong.values()))):
            recover_teacher(plain(X, y), 2, **wrong)
    with pytest.raises(DataError, match="neurons"):
        recover_teacher(plain(X, y), 0)


def test_warnings_speak_of_the_end_and_not_of_the_start():
    """Parallel neurons of different lengths: the moments do not show them, descent finds them
    exactly, and the end has nothing to doubt.
    """
    W = orthogonal(3, 6, 1.5)
    W[2] = -2.0 * W[1]
    found = recover_teacher(plain(*draw(W, 3_000)), 3)
    assert found.error_against(W) < 1e-9
    assert any("small gap" in note for note in found.start_notes)
    assert found.warnings == ()
    early = recover_teacher(plain(*draw(W, 3_000)), 3, max_iter=5)
    assert early.error_against(W) > 0.1
    assert early.warnings


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_neurons_that_cannot_be_told_apart_are_refused(sign):
    W = orthogonal(3, 6, 1.5)
    W[2] = sign * W[1]
    X, y = draw(W, 3_000)
    with pytest.raises(HypothesisError, match="cannot be told apart"):
        recover_teacher(plain(X, y), 3)
    # binary labels cannot show it exactly: a warning, never silence
    X, y = draw(W, 3_000, binary=True)
    found = recover_teacher(plain(X, y), 3, labels="classification")
    assert has(found, "not known") or has(found, "told apart")


@pytest.mark.parametrize(("value", "kind"), [(0.5, "regression"), (1.0, "classification")])
def test_constant_labels_are_refused_with_the_reason(value, kind):
    X = np.random.default_rng(0).standard_normal((300, 4))
    with pytest.raises(DataError, match="constant labels say nothing"):
        recover_teacher(plain(X, np.full(300, value)), 2, labels=kind)
    W = orthogonal(2, 4, 1.5)
    W[1] = -W[0]  # sums to one: constant up to rounding
    with pytest.raises(DataError, match="opposite neurons that cancel"):
        recover_teacher(plain(*draw(W, 300)), 2)


def test_lengths_beyond_what_the_samples_show_are_flagged_and_exact_ones_are_not():
    W = orthogonal(2, 5, 1.0) * np.array([[12.0], [1.5]])
    X, y = draw(W, 20_000)
    exact = recover_teacher(plain(X, y), 2)
    assert exact.error_against(W) < 1e-6
    assert exact.warnings == ()
    noisy = y + 0.3 * np.random.default_rng(5).standard_normal(len(y))
    found = recover_teacher(plain(X[:4_000], noisy[:4_000]), 2)
    assert has(found, "saturated")


def test_inputs_of_another_law_and_a_wrong_number_of_neurons_are_flagged():
    W = orthogonal(2, 4, 1.5)
    X, y = draw(W, 3_000)
    assert has(recover_teacher(plain(2.0 * X, y), 2, max_iter=20), "N(0, I)")
    wrong = recover_teacher(plain(X, y), 1, max_iter=400)
    assert has(wrong, "not fitted")
    extra = recover_teacher(plain(X, y), 3, max_iter=400)
    assert extra.warnings
    early = recover_teacher(plain(X, y), 2, max_iter=1, tol=1e-14)
    assert has(early, "not finished") or has(early, "no minimum")


def test_results_depend_on_the_seed_only():
    W = orthogonal(2, 4, 1.5)
    data = plain(*draw(W, 1_000))
    first, second = (
        recover_teacher(data, 2, seed=3, variant="literal", max_iter=50) for _ in range(2)
    )
    np.testing.assert_array_equal(first.weights, second.weights)
