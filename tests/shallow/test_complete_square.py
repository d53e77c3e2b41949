"""Completed squares carry train, prove, classify and the regressor for alpha z^2 + beta z + gamma:
against the least-squares minimum over the monomials, built by hand.
"""

import numpy as np
import pytest

import globalmin as gm
from globalmin.shallow.complete_square import as_squares
from globalmin.shallow.stationary import PointKind

GENERAL, EVEN, TURNED = "polynomial(0.4,-1.3,0.7)", "polynomial(0.4,0,0.7)", "polynomial(1,2,-0.5)"


def table(*, bias, n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n) + 0.5
    return gm.Dataset(X, y, bias=bias, scaling="none")


def least_loss(data, activation, v, *, free_constant=False):
    """Of all functions that networks with this activation and head can be."""
    c0, c1, _ = (float(c) for c in activation[len("polynomial(") : -1].split(","))
    X = np.asarray(data.X)
    rows, columns = np.triu_indices(X.shape[1])
    features = [X[:, rows] * X[:, columns]]
    features += [X] if c1 else []
    features += [np.ones((len(X), 1))] if free_constant else []
    y = data.y - (0.0 if free_constant else c0 * v.sum())
    F = np.hstack(features)
    r = F @ np.linalg.lstsq(F, y, rcond=None)[0] - y
    return 0.5 * float(r @ r)


def start(data, activation, k=12, seed=1):
    rng = np.random.default_rng(seed)
    v = rng.uniform(0.5, 1.5, k) * np.repeat([1.0, -1.0], k // 2)
    return gm.ShallowNetwork(rng.standard_normal((k, data.n_features)), v, activation)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("activation", [GENERAL, EVEN, TURNED])
def test_training_reaches_the_least_loss_and_it_is_called_and_proved_global(bias, activation):
    """GKZ-C2.2: uneven head with a sum that is not zero, labels with a mean."""
    data = table(bias=bias)
    network = start(data, activation)
    run = gm.train(network, data)
    least = least_loss(data, activation, network.v)
    assert run.loss == pytest.approx(least, rel=1e-12)
    assert run.status.is_success
    assert (run.network.v == network.v).all()
    assert gm.classify_point(run.network, data).kind is PointKind.GLOBAL_MINIMUM
    proof = gm.prove(run.network, data)
    assert proof.verdict == "ACCEPTED"
    assert proof.claims[0].kind == "optimality-gap"
    assert proof.gap <= 1e-20
    assert "completed to squares" in proof.notes[0]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("activation", [GENERAL, EVEN])
def test_the_proved_gap_covers_the_true_one_and_is_not_far_above_it(bias, activation):
    """Weights that are not at the minimum: the gap is that to the least loss of the class, so at
    least, and (theorem S is exact for enough heads) at most, the loss above it.
    """
    data = table(bias=bias)
    network = start(data, activation)
    found = gm.train(network, data).network
    rng = np.random.default_rng(2)
    for size in (1e-3, 1.0):
        moved = found.with_weights(W=found.W + size * rng.standard_normal(found.W.shape))
        r = moved.predict(data.X) - data.y
        excess = 0.5 * float(r @ r) - least_loss(data, activation, network.v)
        proof = gm.prove(moved, data, claims=["optimality-gap"])
        assert proof.verdict == "ACCEPTED"
        assert excess * (1 - 1e-6) <= proof.gap <= excess * (1 + 1e-6)


def test_the_row_that_holds_the_constant_adds_the_same_to_all_networks_of_the_head():
    """Without bias: any W of this head has one value at (0, 64), and the squares agree with the
    network on all other rows.
    """
    data = table(bias=False)
    network = start(data, GENERAL)
    found = as_squares(network, data.X, data.y)
    assert found.X.shape == (61, 4)
    assert found.X[-1].tolist() == [0.0, 0.0, 0.0, 64.0]
    r = network.predict(data.X) - data.y
    ours = found.network.predict(found.X) - found.y
    np.testing.assert_allclose(ours[:-1], r, rtol=1e-9, atol=1e-12)
    assert ours[-1] == pytest.approx(-r.sum() / 64.0**2, rel=1e-6)
    other = network.with_weights(W=2.0 - network.W)
    there = as_squares(other, data.X, data.y).network.predict(found.X[-1:])
    np.testing.assert_allclose(there, found.network.predict(found.X[-1:]), rtol=1e-12)
    np.testing.assert_allclose(there, 64.0**2 * 0.4 * network.v.sum(), rtol=1e-9)


def test_a_trained_head_may_change_the_constant():
    """trained="vW": no row is added, and the gap is that to all quadratic functions."""
    data = table(bias=False)
    network = start(data, GENERAL)
    found = as_squares(network, data.X, data.y, trained="vW")
    assert found.X.shape == (60, 4)
    assert (found.X[:, -1] == 1.0).all()
    run = gm.train(network, data)
    free = least_loss(data, GENERAL, network.v, free_constant=True)
    proof = gm.prove(run.network, data, trained="vW", claims=["optimality-gap"])
    assert proof.gap == pytest.approx(run.loss - free, rel=1e-6)
    assert run.loss - free > 0.01


def test_zero_loss_of_few_samples_is_proved_as_interpolation():
    data = table(bias=False, n=7)
    run = gm.train_auto(data, activation=GENERAL)
    assert run.width == 8
    proof = gm.prove(run.network, data)
    assert proof.verdict == "ACCEPTED"
    assert [claim.kind for claim in proof.claims] == ["interpolation"]


def test_statements_about_weights_are_not_made_of_the_squares():
    """Descent and kinds of points are about weights: refused as for any activation outside the
    format, and so are cubic polynomials.
    """
    data = table(bias=False)
    network = gm.train(start(data, GENERAL), data).network
    for kind in ("descent", "below-barrier", "strict-saddle"):
        assert gm.prove(network, data, claims=[kind]).verdict == "NOT PROVED"
    cubic = gm.ShallowNetwork(network.W, network.v, "polynomial(0,0,1,1)")
    assert "not in the certificate format" in gm.prove(cubic, data).why
    with pytest.raises(gm.DataError, match="weight_decay"):
        gm.prove(network, data, weight_decay=1.0)
    with pytest.raises(gm.DataError, match="weight_decay"):
        gm.train(network, data, weight_decay=1.0)
    with pytest.raises(gm.DataError, match="weight_decay"):
        gm.train_auto(data, activation=GENERAL, weight_decay=1.0)


@pytest.mark.parametrize("width", ["auto", 11, 5])
def test_fresh_networks_of_any_width_are_trained(width):
    """Narrow ones by descent with restarts, as any other activation."""
    data = table(bias=False)
    run = gm.train_auto(data, width, GENERAL)
    assert run.width == (8 if width == "auto" else width)
    if width != 5:
        assert run.method == "least_squares"
        assert run.loss == pytest.approx(least_loss(data, GENERAL, np.zeros(1)), rel=1e-12)
    cubic = gm.train_auto(data, 4, "polynomial(0,0,1,1)", max_iter=3, max_starts=1)
    assert cubic.method != "least_squares"


@pytest.mark.parametrize("bias", [False, True])
def test_the_regressor_fits_any_quadratic_activation_with_a_proof(bias):
    """The same predictions as z^2 on the inputs with a constant where that has a bias (both are the
    least-squares polynomial), and the least loss of the class where not.
    """
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((50, 3)), rng.standard_normal(50)
    options = {"bias": bias, "scaling": "none"}
    model = gm.QuadraticNetworkRegressor(activation=GENERAL, **options).fit(X, y)
    assert model.verdict_ == "ACCEPTED"
    assert model.gap_ <= 1e-20
    assert model.network_.activation.name == "polynomial"
    assert model.width_ == 2 * (3 + bias) + 2
    data = gm.Dataset(X, y, bias=bias, scaling="none")
    assert model.objective_ == pytest.approx(least_loss(data, GENERAL, np.zeros(1)), rel=1e-12)
    residual = model.predict(X) - y
    assert 0.5 * residual @ residual == pytest.approx(model.objective_, rel=1e-10)
    if bias:
        squares = gm.QuadraticNetworkRegressor(**options).fit(X, y)
        np.testing.assert_allclose(model.predict(X), squares.predict(X), atol=1e-9)
        np.testing.assert_allclose(model.matrix_, squares.matrix_, atol=1e-9)
    for wrong in ({"weight_decay": 1.0}, {"signs": "positive"}, {"width": 7}):
        with pytest.raises(gm.DataError, match="activation="):
            gm.QuadraticNetworkRegressor(activation=GENERAL, **options, **wrong).fit(X, y)
    with pytest.raises(gm.DataError, match="not quadratic"):
        gm.QuadraticNetworkRegressor(activation="tanh", **options).fit(X, y)
