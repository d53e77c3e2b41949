"""The constants of the proofs (DU-A3.1, DU-L3.1, DU-L3.3, DU-L3.4, DU-L3.5, DU-L3.6, DU-L3.8,
DU-L3.26) hold on instances.
"""

import math

import numpy as np
import pytest

from globalmin.deep import constants
from globalmin.deep.gram import deep_gram, deep_ntk
from globalmin.deep.network import DeepNetwork
from globalmin.deep.train import train_deep
from globalmin.errors import DataError


def _sphere(n, d, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1)[:, None]


def _moved(network, R, rng):
    """Every block moved by exactly sqrt(m) R in Frobenius norm."""
    blocks = []
    for block in network.split(network.parameters):
        step = rng.standard_normal(block.shape)
        blocks.append(block + math.sqrt(network.width) * R * step / np.linalg.norm(step))
    return network.with_parameters(np.concatenate([block.ravel() for block in blocks]))


def test_smoothness_of_the_activations():
    """DU-A3.1: softplus has L = 1 and beta = 1/4; ReLU fails Condition 3.1."""
    s = constants.Slopes.of("softplus")
    assert (s.L, s.beta) == pytest.approx((1.0, 0.25), rel=1e-6)
    assert s.at_zero == pytest.approx(math.log(2))
    assert constants.Slopes.of("relu").beta == math.inf


def test_width_for_norms_is_the_formula_and_norms_are_in_range_far_below_it():
    """DU-L3.1, corrected (E16): by hand for erf and depth 2, and at width 2,000 all norms are
    between 1/2 and 2.
    """
    s = constants.Slopes.of("erf")  # sigma(0) = 0: C = 2.5 c L^2, C_2 = 48 c^2 L^4
    by_hand = 4 * 3 * 2 * (1 + 2.5 * s.c_sigma * s.L**2) ** 2 * 48 * s.c_sigma**2 * s.L**4 / 0.1
    assert constants.width_for_norms(3, 2, "erf") == pytest.approx(by_hand, rel=1e-12)
    assert constants.width_for_norms(3, 4, "softplus") > 2000
    X = _sphere(3, 4)
    for x in DeepNetwork.initialize(X, 2000, 4, seed=0).forward(X).features:
        assert ((np.linalg.norm(x, axis=(1, 2)) > 0.5) & (np.linalg.norm(x, axis=(1, 2)) < 2)).all()
    with pytest.raises(DataError, match="delta"):
        constants.width_for_norms(3, 2, "erf", delta=0.0)


def test_spectral_tail_bounds_the_measured_frequency():
    """DU-L3.27 with the corrected sign: 400 square and 400 three-fold wide matrices of width 12."""
    rng = np.random.default_rng(0)
    for window in (1, 3):
        sizes = [
            np.linalg.norm(rng.standard_normal((12, 12 * window)), 2) / math.sqrt(12)
            for _ in range(400)
        ]
        for c in (2.1, 2.5, 3.0):
            frequency = np.mean(np.array(sizes) > c)
            assert frequency <= constants.spectral_tail(12, c, window=window) + 3 * math.sqrt(
                0.25 / 400
            )
    assert constants.spectral_tail(100, 1.5) == 1.0


def test_feature_bound_of_residual_networks_holds_where_the_printed_one_lacks_a_term():
    """DU-L3.8, corrected (E18): vectors and signals, measured c_w0."""
    for architecture, X, q, p in (
        ("resnet", _sphere(4, 3), 1, 1),
        ("convolutional_resnet", _sphere(4, 10).reshape(4, 2, 5), 3, 5),
    ):
        network = DeepNetwork.initialize(X, 60, 4, architecture, c_res=0.9, seed=1)
        start = constants.measured_start(network, X)
        bound = constants.feature_limit("softplus", start.c_w0, c_res=0.9, pixels=p, window=q)
        assert start.c_x0 <= bound
    assert constants.feature_limit("softplus", 2.0, c_res=0.5) == pytest.approx(
        math.e * (2 + 0.5 * math.log(2))
    )


@pytest.mark.parametrize("c_res", [None, 0.5])
@pytest.mark.parametrize("activation", ["softplus", "tanh"])
def test_features_and_last_gram_move_less_than_the_lemmas_say(activation, c_res):
    """DU-L3.3 and DU-L3.4 (E17), and their residual forms L3.10, L3.11: random moves of all blocks
    by sqrt(m) R.
    """
    X, H = _sphere(4, 3), 3
    architecture = "fully_connected" if c_res is None else "resnet"
    network = DeepNetwork.initialize(X, 50, H, architecture, activation, c_res=c_res or 0.5, seed=0)
    start = constants.measured_start(network, X)
    rng = np.random.default_rng(1)
    for R in (0.001, 0.05, 0.3):
        moved = _moved(network, R, rng)
        for h, (old, new) in enumerate(
            zip(network.forward(X).features, moved.forward(X).features, strict=True)
        ):
            distance = np.linalg.norm(new - old, axis=(1, 2)).max()
            assert (
                distance <= constants.feature_movement(activation, start, h, R, c_res=c_res) + 1e-15
            )
        gap = np.linalg.norm(moved.layer_grams(X)[-2] - network.layer_grams(X)[-2])
        assert gap <= constants.gram_movement(activation, start, H, 4, R=R, c_res=c_res)
    allowed = constants.allowed_movement(activation, start, H, 4, lambda0=0.01, c_res=c_res)
    assert constants.gram_movement(
        activation, start, H, 4, R=allowed, c_res=c_res
    ) == pytest.approx(0.0025)


@pytest.mark.parametrize("c_res", [None, 0.5])
def test_training_moves_every_block_less_than_predicted(c_res):
    """DU-L3.5 and, for residual networks, its corrected form (E15): movement/sqrt(m) by block."""
    X, H, m = _sphere(4, 3), 3, 80
    y = np.random.default_rng(3).standard_normal(4)
    architecture = "fully_connected" if c_res is None else "resnet"
    network = DeepNetwork.initialize(X, m, H, architecture, c_res=c_res or 0.5, seed=0)
    run = train_deep(network, (X, y), method="gradient_descent", max_iter=400)
    options = {
        "width": m,
        "residual": float(np.linalg.norm(network.predict(X) - y)),
        "c_res": c_res,
    }
    lambda0 = float(np.linalg.eigvalsh(deep_gram(X, architecture, H))[0])
    bound = constants.predicted_movement(
        "softplus", constants.measured_start(network, X), H, 4, lambda0=lambda0, **options
    )
    first, *upper, head = run.trajectory.relative_movement[-1]
    assert first <= bound.first
    assert max(upper) <= bound.upper
    assert head <= bound.head


def test_upper_layers_of_residual_networks_move_less_with_depth_head_and_first_do_not():
    """Erratum E15: limiting norms of the Jacobian's blocks for H = 4 and 16; only those of the
    upper layers fall like 1/H.
    """
    X = _sphere(5, 4)
    few, many = (
        np.sqrt([np.linalg.eigvalsh(G)[-1] for G in deep_ntk(X, "resnet", H).layers])
        for H in (4, 16)
    )
    assert many[-2] / few[-2] == pytest.approx(1 / 4, rel=0.2)
    assert many[0] / few[0] == pytest.approx(1, rel=0.2)
    assert many[-1] / few[-1] == pytest.approx(1, rel=0.2)


def test_the_proof_step_size_is_tiny_and_descends():
    """DU-L3.6: far below 1/lambda_max(G), so that every step lowers the loss."""
    X, y = _sphere(4, 3), np.random.default_rng(3).standard_normal(4)
    network = DeepNetwork.initialize(X, 60, 2, seed=0)
    lambda0 = float(np.linalg.eigvalsh(deep_gram(X, "fully_connected", 2))[0])
    residual = float(np.linalg.norm(network.predict(X) - y))
    eta = constants.proof_step_size(
        "softplus", constants.measured_start(network, X), 2, 4, residual=residual, lambda0=lambda0
    )
    assert 0 < eta < 1e-4 / np.linalg.eigvalsh(sum(network.layer_grams(X)))[-1]
    run = train_deep(network, (X, y), method="gradient_descent", step_size=eta, max_iter=3)
    assert (np.diff(run.trajectory.loss) < 0).all()
