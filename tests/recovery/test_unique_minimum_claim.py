"""unique-minimum: produced at polished minima, accepted by the independent checker, true on sampled
points; and the refusals.
"""

import numpy as np
import pytest
from scipy.special import expit

from globalmin.data import Dataset
from globalmin.errors import CannotCertify, DataError
from globalmin.proving.certificate import Certificate
from globalmin.proving.producer import certify, check
from globalmin.recovery.claims import unique_minimum
from globalmin.recovery.claims.convexity_forms import BUILDERS, measure_center
from globalmin.recovery.claims.unique_minimum import polish_minimum
from globalmin.shallow.hessian import gradient, gradient_norm, hessian
from globalmin.shallow.lipschitz import (
    best_tilt,
    estimate_hessian_lipschitz,
    third_blocks,
    third_derivative,
    tilted,
)
from globalmin.shallow.network import ShallowNetwork

FORMS = tuple(BUILDERS)


def teacher(mode, *, n=400, d=3, k=2, sigma=1.5, activation="sigmoid", seed=0):
    """Samples of a network with orthonormal neurons and head 1/k, and the polished minimum next to
    it.
    """
    rng = np.random.default_rng(seed)
    W = sigma * np.linalg.qr(rng.standard_normal((d, k)))[0].T
    truth = ShallowNetwork(W, np.full(k, 1 / k), activation)
    X = rng.standard_normal((n, d))
    p = truth.predict(X)
    data = Dataset.from_preprocessed(
        X, p if mode == "regression" else (rng.random(n) < p).astype(float)
    )
    return polish_minimum(truth, data), data


def accepted(claim, network, data, tmp_path):
    result = check(Certificate((claim,), network, data, True).save(tmp_path / "claim.gmc"))
    assert result.verdict.name == "ACCEPTED", result.reason
    return result.claims[0].numbers


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", ["regression", "classification"])
def test_both_label_models_are_certified_in_every_form(mode, form, tmp_path):
    """FCL-CERT, FCL-T2, FCL-C2, FCL-C4: the certified ball is convex with the claimed bounds at
    sampled points.
    """
    network, data = teacher(mode, n=1000)
    numbers = accepted(unique_minimum.build(network, data, form=form), network, data, tmp_path)
    assert numbers["form"] == form
    assert 0 < numbers["r_minus"] < 1e-8 < 1e-3 < numbers["r"]
    rng = np.random.default_rng(1)
    for _ in range(30):
        step = rng.standard_normal(network.W.shape)
        moved = network.with_weights(W=network.W + numbers["r"] * step / np.linalg.norm(step))
        spectrum = np.linalg.eigvalsh(hessian(moved, data.X, data.y))
        assert numbers["mu"] <= spectrum[0] <= spectrum[-1] <= numbers["M"]


def test_default_form_has_the_largest_ball_and_mixed_beats_the_plain_one():
    """FCL-CERT: the radius of the default is the largest of the four; split and tensor together
    beat each alone here.
    """
    for mode in ("regression", "classification"):
        network, data = teacher(mode, n=1000)
        radii = {
            form: unique_minimum.build(network, data, form=form).summary["r"] for form in FORMS
        }
        assert (
            unique_minimum.build(network, data).summary["r"]
            == max(radii.values())
            == radii["mixed"]
        )
        assert radii["mixed"] > 1.5 * radii["plain"]


@pytest.mark.parametrize("mode", ["regression", "classification"])
def test_gradient_descent_from_the_edge_obeys_the_rate(mode):
    """FCL-T2: every step contracts the distance to the minimum by the claimed rate."""
    network, data = teacher(mode, n=1000)
    claim = unique_minimum.build(network, data, modulus=0.5)
    r, s, eta, rate = (claim.summary[key] for key in ("r", "r_minus", "eta", "rate"))
    step = np.random.default_rng(2).standard_normal(network.W.shape)
    here = network.with_weights(W=network.W + (r - 2 * s) * step / np.linalg.norm(step))
    distance = float(np.linalg.norm(here.W - network.W))
    for _ in range(300):
        here = here.with_weights(W=here.W - eta * gradient(here, data.X, data.y)[0])
        new = float(np.linalg.norm(here.W - network.W))
        assert new <= rate * distance + 2 * s + 1e-13
        distance = new
    assert distance < r * rate**300 + 1e-10


def test_lipschitz_levels_are_ordered_and_bound_sampled_differences():
    """FCL-LIP: crude >= spectral >= quartic >= what is seen between pairs of points of the ball."""
    network, data = teacher("classification", n=1000)
    R = 0.1
    crude, spectral, quartic = (
        estimate_hessian_lipschitz(network, data.X, data.y, R, level=level)
        for level in ("crude", "spectral", "quartic")
    )
    assert crude > spectral > quartic
    rng = np.random.default_rng(3)
    seen = 0.0
    for _ in range(60):
        steps = rng.standard_normal((2, *network.W.shape))
        first, second = (
            network.W + R * rng.random() * step / np.linalg.norm(step) for step in steps
        )
        change = hessian(network.with_weights(W=first), data.X, data.y) - hessian(
            network.with_weights(W=second), data.X, data.y
        )
        seen = max(seen, float(np.linalg.norm(change, 2)) / float(np.linalg.norm(first - second)))
    assert quartic / 20 < seen < quartic
    with pytest.raises(DataError, match="level"):
        estimate_hessian_lipschitz(network, data.X, data.y, R, level="cubic")


@pytest.mark.parametrize("activation", ["sigmoid", "tanh", "softplus", "erf"])
def test_third_derivative_is_the_derivative_of_the_hessian(activation):
    """FCL-D3: against central differences of the Hessian."""
    network, data = teacher("regression", n=60, activation=activation)
    moved = network.with_weights(W=network.W + 0.1)
    D, h = third_derivative(moved, data.X, data.y), 1e-5
    for a in range(moved.W.size):
        step = np.zeros(moved.W.size)
        step[a] = h
        above, below = (
            hessian(
                moved.with_weights(W=moved.W + sign * step.reshape(moved.W.shape)), data.X, data.y
            )
            for sign in (1, -1)
        )
        np.testing.assert_allclose(
            (above - below) / (2 * h), D[a], atol=1e-7 * np.abs(D).max() + 1e-6
        )


def test_tilted_matrix_dominates_every_direction():
    """FCL-CERT, mixed form: S - sum_a D_a T_a is positive semidefinite for unit D, with any factor
    V.
    """
    network, data = teacher("classification", n=200)
    T = third_blocks(network, data.X, data.y, diagonal=1.0)
    k, d = network.W.shape
    rng = np.random.default_rng(4)
    H = hessian(network, data.X, data.y)
    for V in (best_tilt(T, H, 0.01)[0], rng.standard_normal((k, d, d))):
        S = tilted(T, V)
        for _ in range(50):
            D = rng.standard_normal((k, d))
            D /= np.linalg.norm(D)
            along = np.einsum("mj,mjlab->lab", D, T)
            assert np.linalg.eigvalsh(S - along).min() > -1e-9 * np.abs(S).max()


def test_radius_and_modulus_can_be_chosen(tmp_path):
    network, data = teacher("regression", n=1000)
    full, half = (
        unique_minimum.build(network, data, form="plain", modulus=share) for share in (0.02, 0.5)
    )
    assert half.summary["r"] < full.summary["r"]
    assert half.summary["rate"] < full.summary["rate"]
    center = measure_center(network, data.X, data.y)
    assert half.summary["mu"] >= 0.499 * center.least
    chosen = unique_minimum.build(network, data, radius=half.summary["r"] / 2)
    assert accepted(chosen, network, data, tmp_path)["r"] == half.summary["r"] / 2
    with pytest.raises(CannotCertify, match="no ball"):
        unique_minimum.build(network, data, radius=1.0)


def test_conversion_from_the_mean_loss_with_head_one_over_k():
    """FCL-D2: the Hessian of the paper's loss is ours divided by n, the radius is the same."""
    network, data = teacher("regression", n=300)
    Z, k, n = data.X @ network.W.T, 2, 300
    slopes = expit(Z) * (1 - expit(Z))
    e = expit(Z).mean(axis=1) - data.y
    bends = slopes * (1 - 2 * expit(Z))
    blocks = [
        [
            (
                data.X.T
                * (slopes[:, j] * slopes[:, m] / k**2 + (e * bends[:, j] / k if j == m else 0.0))
            )
            @ data.X
            / n
            for m in range(k)
        ]
        for j in range(k)
    ]
    np.testing.assert_allclose(
        np.block(blocks) * n, hessian(network, data.X, data.y), rtol=1e-10, atol=1e-12
    )


def test_polishing_reaches_rounding_and_certify_knows_the_claim(tmp_path):
    network, data = teacher("classification", n=1000)
    assert gradient_norm(network, data.X, data.y) < 1e-10
    certificate = certify(network, data, claims=["unique-minimum"])
    result = check(certificate.save(tmp_path / "claim.gmc"))
    assert result.verdict.name == "ACCEPTED"
    assert "exactly one critical point" in result.statement


def test_refusals_name_the_reason():
    network, data = teacher("regression")
    with pytest.raises(DataError, match="form"):
        unique_minimum.build(network, data, form="best")
    with pytest.raises(DataError, match="radius"):
        unique_minimum.build(network, data, radius=-1.0)
    with pytest.raises(DataError, match="modulus"):
        unique_minimum.build(network, data, modulus=1.5)
    twins = network.with_weights(W=np.vstack([network.W[0], network.W[0]]))
    flat = Dataset.from_preprocessed(data.X, twins.predict(data.X))
    with pytest.raises(CannotCertify):
        unique_minimum.build(twins, flat)
    few = Dataset.from_preprocessed(data.X[:5], data.y[:5])
    with pytest.raises(CannotCertify):
        unique_minimum.build(network, few)
    away = network.with_weights(W=network.W + 0.02)
    with pytest.raises(CannotCertify, match="gradient"):
        unique_minimum.build(away, data)
    kinked = ShallowNetwork(network.W, network.v, "relu")
    with pytest.raises(CannotCertify, match="second derivatives"):
        unique_minimum.build(kinked, data)
    wide = ShallowNetwork(np.ones((200, 3)), np.ones(200), "sigmoid")
    with pytest.raises(CannotCertify, match="400"):
        unique_minimum.build(wide, data)


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("mode", "plain", "best"), [("regression", 0.018, 0.04), ("classification", 0.004, 0.015)]
)
def test_certified_radii_of_ten_draws_reach_the_promised_medians(mode, plain, best, tmp_path):
    """FCL-CERT: K = 3, d = 10, n = 20,000, sigma = 1.5, every certificate accepted by the
    checker.
    """
    radii = {"plain": [], "mixed": []}
    for seed in range(10):
        network, data = teacher(mode, n=20_000, d=10, k=3, seed=seed)
        for form, found in radii.items():
            claim = unique_minimum.build(network, data, form=form)
            found.append(accepted(claim, network, data, tmp_path)["r"])
    assert np.median(radii["plain"]) >= plain
    assert np.median(radii["mixed"]) >= best
