"""After training, relu-descent and deep-descent are proved, and gradient descent from the stored
weights obeys them.
"""

import numpy as np
import pytest
from tests.checker.relu_descent_cases import ReluFit, trained_relu

import globalmin as gm
from globalmin.deep.network import DeepNetwork
from globalmin_check import Verdict
from globalmin_check.engine import check_bytes

RELU = {
    "20 samples, head 1/sqrt(m)": (20, 30, 400, 20, None),
    "20 samples, head of OS": (20, 30, 400, 60, "os"),
    "50 samples, late": (50, 50, 1000, 60, None),
}


def os_head(n: int, m: int, seed: int) -> float:
    """||y|| / sqrt(2 n m), the scale of OS for the labels of this seed."""
    fit = trained_relu(n, 2, 1, 0, seed=seed)
    return float(np.linalg.norm(fit.y)) / np.sqrt(2 * n * m)


@pytest.mark.parametrize("name", list(RELU))
def test_relu_descent_is_accepted_and_obeyed(name: str) -> None:
    """Theorem RD (DU-CERT-L1, DU-CERT-R): stable pairs never flip, the residual stays under its
    envelope, the path is bounded.
    """
    n, d, m, steps, head = RELU[name]
    fit = trained_relu(n, d, m, steps, seed=1, head=os_head(n, m, 1) if head else None)
    data = gm.Dataset(fit.X, fit.y, bias=False, scaling="none")
    certificate = gm.certify(
        gm.ShallowNetwork(fit.W, fit.v, gm.get_activation("relu")), data, claims=["relu-descent"]
    )
    result = check_bytes(certificate.to_bytes())
    assert result.verdict is Verdict.ACCEPTED, result.reason
    replay_relu(fit, certificate.summary(), 200)


def replay_relu(fit: ReluFit, claimed: dict[str, float], steps: int) -> None:
    s, possible, sure = fit.bracket(claimed["tau"])
    Z0, bound, travelled = fit.X @ fit.W.T, float(np.linalg.norm(fit.residual())), 0.0
    for k in range(steps):
        after = fit.step(claimed["eta"], at_kink=float(k % 2))
        travelled += float(np.linalg.norm(after.W - fit.W))
        fit, bound = after, bound * claimed["rate"]
        Z = fit.X @ fit.W.T
        assert np.linalg.norm(fit.residual()) <= bound * (1 + 1e-9) + 1e-12
        assert np.all(np.abs(Z - Z0) <= s * (1 + 1e-9) + 1e-12)
        assert np.all(Z[sure & (Z0 > 1e-12)] > 0)
        assert np.all(Z[~possible & (Z0 < -1e-12)] < 0)
    assert travelled <= claimed["path"] * (1 + 1e-9)


DEEP = {
    "dense 1 tanh": ("fully_connected", "tanh", 1, 20, 5, (6,)),
    "dense 2 tanh": ("fully_connected", "tanh", 2, 20, 5, (6,)),
    "dense 3 tanh": ("fully_connected", "tanh", 3, 20, 8, (6,)),
    "dense 5 tanh": ("fully_connected", "tanh", 5, 30, 20, (6,)),
    "dense 1 softplus": ("fully_connected", "softplus", 1, 20, 5, (6,)),
    "dense 2 softplus": ("fully_connected", "softplus", 2, 20, 5, (6,)),
    "dense 3 softplus": ("fully_connected", "softplus", 3, 20, 8, (6,)),
    "dense 5 softplus": ("fully_connected", "softplus", 5, 30, 20, (6,)),
    "residual 2 softplus": ("resnet", "softplus", 2, 20, 8, (6,)),
    "residual 3 tanh": ("resnet", "tanh", 3, 20, 8, (6,)),
    "residual 5 softplus": ("resnet", "softplus", 5, 20, 8, (6,)),
    "convolution 3 tanh": ("convolutional_resnet", "tanh", 3, 8, 5, (2, 5)),
    "convolution 3 softplus": ("convolutional_resnet", "softplus", 3, 8, 5, (2, 5)),
}


@pytest.mark.parametrize("name", list(DEEP))
def test_deep_descent_is_accepted_after_gauss_newton_and_obeyed(name: str) -> None:
    """Theorem DS (DU-CERT-S): from random weights of DU-M3a, DU-M3b, DU-M3c; the first iterate that
    can be certified is.
    """
    architecture, activation, depth, width, n, shape = DEEP[name]
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, int(np.prod(shape))))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    data = gm.Dataset(X, rng.standard_normal(n), bias=False, scaling="none")
    network = DeepNetwork.initialize(shape, width, depth, architecture, activation, seed=0)
    certificate = None
    for _ in range(12):
        J, r = network.jacobian(X), network.predict(X) - data.y
        network = network.with_parameters(network.parameters - J.T @ np.linalg.solve(J @ J.T, r))
        try:
            certificate = gm.certify(network, data)
            break
        except gm.errors.CannotCertify:
            continue
    assert certificate is not None
    result = check_bytes(certificate.to_bytes())
    assert result.verdict is Verdict.ACCEPTED, result.reason
    replay_deep(network, data, certificate.summary(), 100)


def replay_deep(
    network: DeepNetwork, data: gm.Dataset, claimed: dict[str, float], steps: int
) -> None:
    travelled, noise = 0.0, 1e-14 * max(1.0, claimed["b"])
    for _ in range(steps):
        r = network.predict(data.X) - data.y
        step = claimed["eta"] * network.jacobian(data.X).T @ r
        travelled += float(np.linalg.norm(step))
        network = network.with_parameters(network.parameters - step)
        after = network.predict(data.X) - data.y
        assert (
            np.linalg.norm(after) <= claimed["rate"] * np.linalg.norm(r) * (1 + 1e-9) + 1e3 * noise
        )
    assert travelled <= claimed["t"] * (1 + 1e-6) + noise
