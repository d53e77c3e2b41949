"""Gaussian inputs of unknown mean and covariance, and teachers with offsets."""

import numpy as np
import pytest

import globalmin as gm
from globalmin.errors import DataError
from globalmin.recovery.coordinates import coordinates_of
from globalmin.recovery.recover import recover_teacher


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


def correlated(n, d, seed=0):
    rng = np.random.default_rng([seed, 9])
    A = np.linalg.qr(rng.standard_normal((d, d)))[0] * np.geomspace(0.3, 3.0, d)
    return rng.standard_normal((n, d)) @ A.T + rng.uniform(-1.0, 1.0, d), rng


@pytest.mark.parametrize("offsets", [False, True])
def test_the_change_of_coordinates_keeps_every_neuron(offsets):
    X, rng = correlated(500, 4)
    at = coordinates_of(X, inputs="gaussian", offsets=offsets)
    Z = at.whitened(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.cov(Z, rowvar=False), np.eye(4), atol=1e-12)
    A = rng.standard_normal((3, 4 + offsets))
    raw = np.column_stack([X, np.ones(len(X))]) if offsets else X
    np.testing.assert_allclose(raw @ (A @ at.outward.T).T, at.inner(X) @ A.T, atol=1e-12)
    assert not at.is_standard
    assert coordinates_of(X, inputs="standard", offsets=False).is_standard


@pytest.mark.parametrize("labels", ["regression", "classification"])
def test_correlated_inputs_of_unknown_mean_are_whitened(labels):
    """The teacher in the units of the rows as given; the standard reading of the same rows warns or
    is exact.
    """
    X, rng = correlated(4_000 if labels == "regression" else 40_000, 5)
    W = rng.standard_normal((2, 5)) / X.std(axis=0)
    p = sigmoid(X @ W.T).mean(axis=1)
    y = p if labels == "regression" else (rng.random(len(p)) < p).astype(float)
    data = gm.Dataset(X, y, bias=False, scaling="none")
    found = recover_teacher(data, 2, labels=labels, inputs="gaussian")
    error = found.error_against(W)
    print(labels, error, found.expected_error)
    assert found.warnings == ()
    if labels == "regression":
        assert error < 1e-8
    else:
        assert error < 2.5 * found.expected_error < 0.5
        low, high = (end[found.match(W).order] for end in found.intervals(0.999))
        assert np.all((low <= W) & (high >= W))


@pytest.mark.parametrize("inputs", ["standard", "gaussian"])
def test_offsets_are_recovered_with_the_weights(inputs):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((6_000, 5)) if inputs == "standard" else correlated(6_000, 5)[0]
    W = np.column_stack([rng.standard_normal((2, 5)) / X.std(axis=0), [0.8, -0.5]])
    y = sigmoid(X @ W[:, :-1].T + W[:, -1]).mean(axis=1)
    data = gm.Dataset(X, y, bias=True, scaling="none")
    found = recover_teacher(data, 2, inputs=inputs, offsets=True)
    assert found.error_against(W) < 1e-8
    assert found.warnings == ()
    assert found.weights.shape == (2, 6)
    np.testing.assert_allclose(found.network.predict(data.X), y, atol=1e-9)
    if inputs == "standard":  # the model without offsets does not fit, and says so
        plain = gm.Dataset(X, y, bias=False, scaling="none")
        assert any("not fitted" in w for w in recover_teacher(plain, 2).warnings)


def test_what_cannot_be_whitened_is_refused():
    X, rng = correlated(300, 3)
    y = rng.random(300)

    def tried(X, **options):
        return recover_teacher(gm.Dataset(X, y, bias=False, scaling="none"), 2, **options)

    with pytest.raises(DataError, match="inputs='uniform'"):
        tried(X, inputs="uniform")
    with pytest.raises(DataError, match="feature 3 is constant"):
        tried(np.column_stack([X, np.full(300, 7.0)]), inputs="gaussian")
    with pytest.raises(DataError, match="linearly dependent"):
        tried(np.column_stack([X, X[:, 0] - X[:, 1]]), inputs="gaussian")
    with pytest.raises(DataError, match="bias=True and offsets=True"):
        tried(X, offsets=True)
    with pytest.raises(DataError, match="bias=True and offsets=True"):
        recover_teacher(gm.Dataset(X, y, bias=True, scaling="none"), 2)
