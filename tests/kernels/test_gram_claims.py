"""The producer of gram-positive claims: kernels, orders, quadrature, refusals."""

from fractions import Fraction

import numpy as np
import pytest

import globalmin as gm
from globalmin.kernels.claims.gram_positive import InfiniteResidual
from globalmin.kernels.claims.gram_series import (
    HermiteTable,
    precise_relu_gram,
    precise_series_gram,
    relu_gram,
    series_gram,
)
from globalmin.linalg.positive_definite import to_floats
from globalmin_check import Verdict
from globalmin_check.engine import check_bytes


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    rng = np.random.default_rng(5)
    return rng.standard_normal((9, 5)) * rng.uniform(0.3, 1.0, (9, 1))


@pytest.mark.parametrize("activation", ["relu", "softplus", "sigmoid", "tanh", "erf"])
@pytest.mark.parametrize("kernel", ["weights", "features", "resnet"])
def test_every_kernel_is_certified_and_accepted(
    X: np.ndarray, activation: str, kernel: str
) -> None:
    """DU-D2.1, OS-LH.1, DU-P3.2."""
    if kernel == "resnet" and activation == "relu":
        with pytest.raises(gm.errors.CannotCertify, match="not for relu"):
            gm.certify_gram(X, activation, kernel, resnet=InfiniteResidual(3))
        return
    resnet = InfiniteResidual(3, 0.5, 0.75) if kernel == "resnet" else None
    certificate = gm.certify_gram(X, activation, kernel, resnet=resnet)
    result = check_bytes(certificate.to_bytes())
    assert result.verdict is Verdict.ACCEPTED, result.reason
    assert certificate.summary()["lambda"] > 0


def test_the_residual_bound_is_below_the_recursion_itself(X: np.ndarray) -> None:
    """DU-P3.2: the proved number against lambda_min of the whole recursion in floats, with a
    non-odd activation.
    """
    from globalmin.deep.gram import deep_gram

    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    c_sigma = float(np.sqrt(2 * np.pi) / (np.logaddexp(0.0, nodes) ** 2 @ weights))
    certificate = gm.certify_gram(X, "softplus", "resnet", resnet=InfiniteResidual(4, 0.5, c_sigma))
    least = np.linalg.eigvalsh(deep_gram(X, "resnet", 4, "softplus", c_res=0.5))[0]
    proved = certificate.summary()["lambda"]
    assert 0.02 * least < proved <= least


def test_c_sigma_is_the_one_of_the_thesis_unless_it_is_given(X: np.ndarray) -> None:
    """DU-DA6: c_sigma = 1/E tanh(z)^2 = 2.53617543321748, to the last digits of a double, in the
    claim that `depth` alone asks for; DU-P3.2."""
    certificate = gm.certify_gram(X, "tanh", "resnet", depth=3)
    stored = certificate.claims[0].fields["c_sigma"]
    assert float(Fraction(stored)) == pytest.approx(2.53617543321748, rel=1e-13)
    assert (
        certificate.to_bytes()
        == gm.certify_gram(X, "tanh", "resnet", resnet=InfiniteResidual(3, 0.5)).to_bytes()
    )
    other = gm.certify_gram(X, "tanh", "resnet", resnet=InfiniteResidual(3, 0.5, 1.0))
    assert other.summary()["kappa"] == pytest.approx(
        certificate.summary()["kappa"] / 2.53617543321748, rel=1e-6
    )
    with pytest.raises(gm.errors.DataError, match="give one of them"):
        gm.certify_gram(X, "tanh", "resnet", depth=3, resnet=InfiniteResidual(3))
    with pytest.raises(gm.errors.DataError, match="depth=\\.\\.\\."):
        gm.certify_gram(X, "tanh", "resnet")


@pytest.mark.parametrize("features", [False, True])
def test_floats_and_balls_agree(X: np.ndarray, features: bool) -> None:
    table = HermiteTable.measure(X, gm.get_activation("softplus"), 12)
    orders = table.useful_orders(features=features, first=0)
    floats = series_gram(X, table, orders, features=features)
    assert np.allclose(
        floats,
        to_floats(precise_series_gram(X, table, orders, features=features)),
        rtol=0,
        atol=1e-14,
    )
    assert np.allclose(
        relu_gram(X, features=features),
        to_floats(precise_relu_gram(X, features=features)),
        rtol=0,
        atol=1e-14,
    )


def test_odd_orders_of_even_slopes_are_left_out(X: np.ndarray) -> None:
    table = HermiteTable.measure(X, gm.get_activation("tanh"), 10)
    assert table.useful_orders(features=False, first=0) == (0, 2, 4, 6, 8, 10)
    assert table.useful_orders(features=True, first=1) == (1, 3, 5, 7, 9)


def test_certify_takes_the_activation_of_the_network_and_keeps_it(X: np.ndarray) -> None:
    data = gm.Dataset(X, np.ones(9), bias=False, scaling="none")
    network = gm.ShallowNetwork(np.ones((2, 5)), np.ones(2), gm.get_activation("softplus(2)"))
    certificate = gm.certify(network, data, claims=["gram-positive"])
    result = check_bytes(certificate.to_bytes())
    assert result.verdict is Verdict.ACCEPTED, result.reason
    assert "softplus(2)" in result.statement
    assert (
        gm.certify_gram(data, "softplus(2)").summary()["lambda"] == certificate.summary()["lambda"]
    )


def test_an_eigenvalue_of_1e_26_is_proved_with_a_finer_rule() -> None:
    X = np.eye(3)
    X[1] = X[0] + 1e-12 * X[2]
    certificate = gm.certify_gram(X, "softplus")
    result = check_bytes(certificate.to_bytes())
    assert result.verdict is Verdict.ACCEPTED, result.reason
    assert 1e-27 < certificate.summary()["lambda"] < 1e-24
    assert certificate.summary()["ill_conditioned"] == 1.0


def test_refusals_name_the_cause(X: np.ndarray) -> None:
    with pytest.raises(gm.errors.CannotCertify, match="rows 0 and 9 are parallel"):
        gm.certify_gram(np.vstack([X, X[:1]]), "tanh")
    with pytest.raises(gm.errors.CannotCertify, match="row 9 of the data is zero"):
        gm.certify_gram(np.vstack([X, 0 * X[:1]]), "tanh")
    with pytest.raises(gm.errors.CannotCertify, match="not for"):
        gm.certify_gram(X, "quadratic")
    with pytest.raises(gm.errors.DataError, match="kernel"):
        gm.certify_gram(X, "tanh", "deep")
    with pytest.raises(gm.errors.DataError, match="resnet"):
        gm.certify_gram(X, "tanh", "resnet")
