"""The head alone: the least-norm solution, steps that descend to the same loss, refusals, and the
certificate of its minimum.
"""

import numpy as np
import pytest

import globalmin as gm
from globalmin.errors import CannotCertify, DataError
from globalmin.optimize.run import Status
from globalmin.shallow.methods.least_squares import least_norm_head


def case(n=20, d=5, k=8, activation="softplus", seed=0):
    data = gm.generators.sphere_with_random_labels(n, d, seed=seed)
    return gm.ShallowNetwork.initialize(data, k, activation, seed=seed), data


@pytest.mark.parametrize(("n", "k"), [(20, 8), (20, 20), (12, 30)])
def test_auto_is_the_least_norm_solution_of_lstsq_and_keeps_the_hidden_weights(n, k):
    network, data = case(n=n, k=k)
    run = gm.train(network, data, trained="v")
    Phi = network.activation(data.X @ network.W.T)
    v = np.linalg.lstsq(Phi, data.y, rcond=None)[0]
    assert np.allclose(run.network.v, v, rtol=1e-7, atol=1e-9 * np.abs(v).max())
    assert np.array_equal(run.network.W, network.W)
    assert run.status is Status.CONVERGED
    assert run.method == "least_squares"
    assert (run.relative_residual < 1e-10) == (k >= n)


def test_dependent_features_get_the_least_norm_and_their_rank():
    rng = np.random.default_rng(0)
    Phi = rng.standard_normal((9, 4)) @ rng.standard_normal((4, 6))
    y = rng.standard_normal(9)
    v, rank = least_norm_head(Phi, y)
    assert rank == 4
    assert np.allclose(v, np.linalg.pinv(Phi) @ y)
    assert np.array_equal(least_norm_head(np.zeros((3, 2)), np.ones(3))[0], np.zeros(2))


def test_gradient_descent_and_sgd_move_the_head_alone_to_the_same_loss():
    network, data = case(n=10, k=5, activation="tanh")
    least = gm.train(network, data, trained="v").loss
    for method in ("gradient_descent", "sgd"):
        start = network.with_weights(v=0 * network.v)
        run = gm.train(start, data, method, trained="v", max_iter=30_000)
        assert np.array_equal(run.network.W, network.W)
        near = 1e-9 if method == "gradient_descent" else 0.3  # sgd ends in its own noise
        assert least * (1 - 1e-12) <= run.loss <= least * (1 + near)


def test_the_step_of_gradient_descent_is_that_of_the_convex_problem():
    """One step from v with 1/||Phi||^2, by the formula."""
    network, data = case()
    Phi = network.activation(data.X @ network.W.T)
    run = gm.train(network, data, "gradient_descent", trained="v", max_iter=1)
    moved = network.v - Phi.T @ (Phi @ network.v - data.y) / np.linalg.norm(Phi, 2) ** 2
    assert np.allclose(run.network.v, moved, rtol=1e-12)


def test_width_auto_takes_as_many_neurons_as_free_outputs():
    _, data = case(n=15)
    run = gm.train_auto(data, trained="v")
    assert run.width == 18
    assert run.relative_residual < 1e-10


def test_methods_and_options_about_hidden_weights_are_refused():
    network, data = case()
    for bad, word in (
        ({"method": "lbfgs"}, "keeps them"),
        ({"until": "provable"}, "until="),
        ({"weight_decay": 0.1}, "weight_decay"),
    ):
        with pytest.raises(DataError, match=word):
            gm.train(network, data, trained="v", **bad)
    with pytest.raises(DataError, match="trains the head alone"):
        gm.train(network, data, "least_squares")
    with pytest.raises(DataError, match="'v'"):
        gm.train(network, data, trained="w")
    with pytest.raises(DataError, match="trained='v'"):
        gm.certify(network, data, claims=["interpolation"], trained="v")


@pytest.mark.parametrize("activation", ["softplus", "relu", "tanh", "quadratic", "leaky_relu(0.2)"])
@pytest.mark.parametrize("k", [6, 30])
def test_the_minimum_over_heads_is_proved(activation, k):
    network, data = case(n=20, d=7, k=k, activation=activation)
    run = gm.train(network, data, trained="v")
    proof = gm.prove(run.network, data, trained="v")
    assert proof.verdict == "ACCEPTED", proof.why
    assert proof.claim("head-gap") is not None
    assert proof.reaches_head_minimum
    assert proof.reaches_minimum == (k == 30)
    if k == 6:
        assert proof.gap <= 1e-20 * run.loss
        assert proof.loss_lower <= run.loss * (1 + 1e-12)
        assert proof.loss_lower == pytest.approx(run.loss, rel=1e-12)


def test_the_gap_of_any_head_is_its_excess():
    """At an untrained head the proved gap is the excess over least squares, up to the margin."""
    network, data = case()
    least = gm.train(network, data, trained="v").loss
    proof = gm.prove(network, data, claims=["head-gap"])
    r = network.predict(data.X) - data.y
    assert proof.gap == pytest.approx(0.5 * float(r @ r) - least, rel=1e-6)
    assert not proof.reaches_head_minimum


def test_without_a_proof_the_reason_is_told():
    network, data = case()
    twice = network.with_weights(W=network.W[[0, 0, 1, 2, 3, 4, 5, 6]])
    with pytest.raises(CannotCertify, match="columns of the 20 x 8"):
        gm.certify(gm.train(twice, data, trained="v").network, data, trained="v")
    wide, few = case(n=5, k=9)
    with pytest.raises(CannotCertify, match="train the head first"):
        gm.certify(wide, few, trained="v")


def test_rows_that_repeat_are_left_out_only_where_the_loss_is_zero():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((10, 3)), rng.standard_normal(10)
    data = gm.Dataset(np.vstack([X, X[:2]]), np.append(y, y[:2]))
    wide = gm.train_auto(data, 14, trained="v").network
    assert gm.prove(wide, data, trained="v").data.n_samples == 10
    narrow = gm.train_auto(data, 4, trained="v").network
    proof = gm.prove(narrow, data, trained="v")
    assert proof.verdict == "ACCEPTED"
    assert proof.data.n_samples == 12


def test_a_claim_about_heads_does_not_bound_other_networks():
    """Beside a proof of zero loss the floor over heads is not the floor of the file."""
    data = gm.generators.sphere_with_random_labels(12, 6, seed=3)
    network = gm.train_auto(data, 4, seed=0).network
    proof = gm.prove(network, data, claims=["interpolation", "head-gap"])
    assert proof.verdict == "ACCEPTED", proof.why
    assert proof.loss_lower == 0.0
