"""The producer of deep-descent claims: all architectures, precision, refusals."""

import numpy as np
import pytest

import globalmin as gm
from globalmin.deep.claims.high_precision import PreciseDeep
from globalmin.deep.lipschitz import deep_jacobian_lipschitz, estimate_deep_descent
from globalmin.deep.network import DeepNetwork
from globalmin.deep.train import train_deep
from globalmin.linalg.positive_definite import to_floats
from globalmin_check import Verdict
from globalmin_check.engine import check_bytes

SHAPES = {"fully_connected": (5,), "resnet": (5,), "convolutional_resnet": (2, 4)}


def instance(
    architecture: str, activation: str = "tanh", *, depth: int = 2, n: int = 5, seed: int = 0
) -> tuple[DeepNetwork, gm.Dataset]:
    rng = np.random.default_rng(seed)
    shape = SHAPES[architecture]
    X = rng.standard_normal((n, int(np.prod(shape))))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    data = gm.Dataset(X, rng.standard_normal(n), bias=False, scaling="none")
    return DeepNetwork.initialize(shape, 8, depth, architecture, activation, seed=seed), data


def gauss_newton(network: DeepNetwork, data: gm.Dataset, steps: int) -> DeepNetwork:
    for _ in range(steps):
        J = network.jacobian(data.X)
        r = network.predict(data.X) - data.y
        network = network.with_parameters(network.parameters - J.T @ np.linalg.solve(J @ J.T, r))
    return network


@pytest.mark.parametrize("architecture", list(SHAPES))
@pytest.mark.parametrize("activation", ["tanh", "softplus"])
def test_every_architecture_is_certified_and_accepted(architecture: str, activation: str) -> None:
    """DU-CERT-S for DU-M3a, DU-M3b, DU-M3c."""
    network, data = instance(architecture, activation)
    certificate = gm.certify(gauss_newton(network, data, 7), data)
    result = check_bytes(certificate.to_bytes())
    assert result.verdict is Verdict.ACCEPTED, result.reason
    assert result.claims[0].numbers["Lam"] == pytest.approx(certificate.summary()["Lam"], rel=1e-4)


def test_images_with_two_dimensional_windows_are_accepted() -> None:
    rng = np.random.default_rng(0)
    data = gm.Dataset(
        rng.standard_normal((3, 9)), rng.standard_normal(3), bias=False, scaling="none"
    )
    network = gauss_newton(
        DeepNetwork.initialize((1, 3, 3), 4, 2, "convolutional_resnet", "tanh", seed=1), data, 8
    )
    assert check_bytes(gm.certify(network, data).to_bytes()).verdict is Verdict.ACCEPTED


@pytest.mark.parametrize("architecture", list(SHAPES))
def test_precise_numbers_agree_with_floats(architecture: str) -> None:
    network, data = instance(architecture, depth=3)
    precise = PreciseDeep(network, data.X, data.y)
    J = network.jacobian(data.X)
    assert np.allclose(precise.residual().r, network.predict(data.X) - data.y, rtol=0, atol=1e-13)
    assert np.allclose(to_floats(precise.gram()), J @ J.T, rtol=1e-12)


def test_a_wider_network_has_a_smaller_relative_constant() -> None:
    """Lam shrinks with the width (DU-CERT-S needs Lam |r| small), because p_h enters by its largest
    entry.
    """
    constants = []
    for width in (10, 1000):
        network = DeepNetwork.initialize((5,), width, 2, "resnet", "tanh", seed=0)
        X = instance("resnet")[1].X
        constants.append(deep_jacobian_lipschitz(network, X, 1e-6))
    assert constants[1] < constants[0]


@pytest.mark.parametrize("architecture", list(SHAPES))
@pytest.mark.parametrize("activation", ["tanh", "softplus"])
def test_trainer_theory_and_claim_have_one_constant(architecture: str, activation: str) -> None:
    """DU-CERT-S: where the claim is proved the estimate holds, with the same numbers; and a run
    that stops as provable is certified."""
    network, data = instance(architecture, activation, depth=3)
    run = train_deep(network, data, until="descent")
    assert run.status.value == "provable"
    proved = gm.certify(run.network, data, claims=["deep-descent"]).summary()
    found = estimate_deep_descent(run.network, data.X, data.y)
    assert found.holds
    # the proved a^2 lies below the eigenvalue by a relative 1e-3 at most, so t above by as much
    assert found.lipschitz == pytest.approx(proved["Lam"], rel=1e-3)
    assert found.radius == pytest.approx(proved["t"], rel=1e-2)
    assert found.residual == pytest.approx(proved["residual_norm"], rel=1e-6)
    assert found.step_size == pytest.approx(proved["eta"], rel=1e-3)
    assert 1 - found.rate == pytest.approx(proved["rate"], abs=1e-3)
    # the proved norms of the weights and Lam itself are enlarged by 1e-6 each, three layers deep
    assert deep_jacobian_lipschitz(run.network, data.X, proved["t"]) == pytest.approx(
        proved["Lam"], rel=1e-5
    )


def test_a_chosen_step_is_claimed_and_too_large_a_step_refused() -> None:
    network, data = instance("resnet")
    network = gauss_newton(network, data, 7)
    largest = gm.certify(network, data).summary()["eta"]
    chosen = gm.certify(network, data, claims=["deep-descent"], step_size=largest / 2)
    assert check_bytes(chosen.to_bytes()).verdict is Verdict.ACCEPTED
    with pytest.raises(gm.errors.CannotCertify, match="step_size"):
        gm.certify(network, data, step_size=2 * largest)


def test_data_may_stay_outside_the_file(tmp_path) -> None:
    network, data = instance("fully_connected")
    certificate = gm.certify(gauss_newton(network, data, 7), data, store_data=False)
    path, rows = (
        certificate.save(tmp_path / "deep.gmc"),
        certificate.save_data(tmp_path / "data.safetensors"),
    )
    assert gm.check(path).verdict is Verdict.UNDECIDED
    assert gm.check(path, rows).verdict is Verdict.ACCEPTED


def test_refusals_name_the_cause() -> None:
    network, data = instance("resnet")
    with pytest.raises(gm.errors.CannotCertify, match="train further"):
        gm.certify(network, data)
    with pytest.raises(gm.errors.DataError, match="deep-descent"):
        gm.certify(network, data, claims=["descent"])
    relu = DeepNetwork.initialize((5,), 8, 2, "resnet", "relu", seed=0)
    with pytest.raises(gm.errors.CannotCertify, match="not for relu"):
        gm.certify(relu, data)
    shallow = gm.ShallowNetwork.initialize(data, width=4, activation="tanh", seed=0)
    with pytest.raises(gm.errors.DataError, match="about a DeepNetwork"):
        gm.certify(shallow, data, claims=["deep-descent"])
    twice = gm.Dataset(
        np.vstack([data.X, data.X[:1]]), np.append(data.y, 0.0), bias=False, scaling="none"
    )
    with pytest.raises(gm.errors.CannotCertify, match="positive definite"):
        gm.certify(network, twice)
