"""gm.recover_teacher: weights, a certified radius that is true, the file and the picture; and what
it says otherwise.
"""

import numpy as np
import pytest

import globalmin as gm
from globalmin.errors import CannotCertify
from globalmin.shallow.hessian import gradient, gradient_norm, hessian


def teacher(labels: str, n: int, *, d: int = 4, K: int = 2, sigma: float = 1.5, seed: int = 0):
    rng = np.random.default_rng(seed)
    W = sigma * np.linalg.qr(rng.standard_normal((d, K)))[0].T
    X = rng.standard_normal((n, d))
    p = gm.get_activation("sigmoid")(X @ W.T).mean(axis=1)
    y = p if labels == "regression" else (rng.random(n) < p).astype(float)
    return gm.Dataset(X, y, bias=False, scaling="none"), W


def test_weights_radius_file_and_picture_come_out_of_one_call(tmp_path):
    """FCL-ALG2, FCL-CERT: regression; the file is accepted, descent from the edge of the ball obeys
    the proved rate.
    """
    data, W = teacher("regression", 1500)
    found = gm.recover_teacher(data, neurons=2)
    assert found.error_against(W) < 1e-9
    assert found.radius is not None
    assert found.radius > 0.02
    assert gm.check(found.save_certificate(tmp_path / "teacher.gmc")).verdict.value == "ACCEPTED"
    truth = W[found.match(W).order.argsort()]
    assert (
        np.linalg.norm(found.weights - truth) <= found.radius
    )  # W* is a critical point of noiseless labels, so it is the one
    U = np.random.default_rng(1).standard_normal(W.shape)
    net = found.network.with_weights(W=found.weights + 0.99 * found.radius * U / np.linalg.norm(U))
    ball = found.ball
    assert ball.step_size is not None
    assert ball.rate is not None
    assert ball.distance is not None
    for _ in range(20):
        before = np.linalg.norm(net.W - found.weights)
        # the step is for the loss 1/(2n), the gradient here that of the sum
        mean_gradient = gradient(net, data.X, data.y)[0] / data.n_samples
        net = net.with_weights(W=net.W - ball.step_size * mean_gradient)
        assert np.linalg.norm(net.W - found.weights) <= ball.rate * before + 3 * ball.distance
    # and no shorter step is meant: the last curvature seen allows at most 2/M, this is near it
    top = np.linalg.eigvalsh(hessian(found.network, data.X, data.y))[-1] / data.n_samples
    assert 0.5 < ball.step_size * top < 2.0
    gm.plot_recovery(found, W, tmp_path / "neurons.svg")
    assert "proved" in (tmp_path / "neurons.svg").read_text()


def test_binary_labels_are_certified_around_the_critical_point_and_not_around_the_teacher():
    """FCL-CERT: the ball around the minimum of the samples; the likelihood estimate is another
    point.
    """
    data, _ = teacher("classification", 8000)
    squares = gm.recover_teacher(data, neurons=2, labels="classification")
    assert squares.radius is not None
    assert squares.radius > 0.004
    assert gradient_norm(squares.network, data.X, data.y) < 1e-10
    assert np.linalg.eigvalsh(hessian(squares.network, data.X, data.y))[0] > 0
    likely = gm.recover_teacher(data, neurons=2, labels="classification", estimator="likelihood")
    assert likely.radius == squares.radius
    assert np.linalg.norm(likely.weights - squares.weights) > 1e-6


def test_the_cost_can_be_skipped_and_a_missing_proof_gives_its_reason(tmp_path):
    data, W = teacher("regression", 300)
    skipped = gm.recover_teacher(data, neurons=2, certify=False)
    assert skipped.radius is None
    assert "certify=False" in skipped.ball.reason
    with pytest.raises(CannotCertify, match="certify=False"):
        skipped.save_certificate(tmp_path / "none.gmc")
    assert not (tmp_path / "none.gmc").exists()
    gm.plot_recovery(skipped, W, tmp_path / "neurons.svg")
    assert "nothing proved" in (tmp_path / "neurons.svg").read_text()
    few, _ = teacher("regression", 10)
    unproved = gm.recover_teacher(few, neurons=3, max_iter=50)
    assert unproved.radius is None
    assert unproved.ball.reason


def test_certify_finds_the_unique_minimum_of_a_recovered_network_at_once():
    """Fewer weights than samples: no zero loss to prove, so the ball is, in CPU seconds (it took
    minutes once).
    """
    import time

    data, _ = teacher("classification", 1500)
    found = gm.recover_teacher(data, neurons=2, labels="classification", certify=False)
    started = time.process_time()
    certificate = gm.certify(found.network, data)
    assert time.process_time() - started < 10
    assert [claim.kind for claim in certificate.claims] == ["unique-minimum"]


def test_error_bars_come_with_the_certified_weights():
    data, W = teacher("classification", 8000)
    found = gm.recover_teacher(data, neurons=2, labels="classification", certify=False)
    assert found.covariance.shape == (8, 8)
    low, high = (end[found.match(W).order] for end in found.intervals(0.999))
    assert np.all((low <= W) & (high >= W))
    assert found.error_against(W) < 3 * found.expected_error < 0.6
