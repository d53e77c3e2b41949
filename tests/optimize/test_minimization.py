"""The second-order report of general functions, against eigenvalues known in closed form."""

import numpy as np
import pytest

import globalmin as gm
from globalmin.errors import DataError


def form(eigenvalues, seed=0):
    """A quadratic form with these eigenvalues, with its derivatives."""
    Q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(eigenvalues),) * 2))
    H = Q @ np.diag(eigenvalues) @ Q.T
    return lambda x: 0.5 * x @ H @ x, {"gradient": lambda x: H @ x, "hessian": lambda x: H}, Q


@pytest.mark.parametrize("method", ["dense", "lanczos"])
def test_the_least_eigenvalue_and_its_direction_are_found(method):
    """DU-D7.4, DU-CERT7: strict saddle with the curvature of the form along the direction."""
    f, given, Q = form([-0.3, 0.5, 1.0, 2.0, 7.0, 9.0])
    found = gm.estimate_second_order(f, np.zeros(6), method=method, **given)
    assert found.kind == "strict saddle"
    assert found.least_eigenvalue == pytest.approx(-0.3, rel=1e-7)
    assert abs(found.direction @ Q[:, 0]) == pytest.approx(1.0, abs=1e-6)


def test_the_kinds_follow_the_definition():
    """DU-D7.5: gradient <= epsilon and least eigenvalue >= -sqrt(rho epsilon)."""
    f, given, _ = form([-0.3, 2.0])
    at = np.array([0.01, 0.0])
    norm = float(np.linalg.norm(given["gradient"](at)))
    kinds = {
        (epsilon, rho): gm.estimate_second_order(f, at, epsilon=epsilon, rho=rho, **given).kind
        for epsilon in (0.5 * norm, 2 * norm)
        for rho in (0.04 / norm, 0.09 / norm)
    }
    assert kinds[0.5 * norm, 0.04 / norm] == kinds[0.5 * norm, 0.09 / norm] == "large gradient"
    assert kinds[2 * norm, 0.04 / norm] == "strict saddle"  # sqrt(rho epsilon) = 0.28
    assert kinds[2 * norm, 0.09 / norm] == "second-order stationary"  # sqrt(rho epsilon) = 0.42


def test_the_least_epsilon_is_where_the_kind_changes():
    """DU-D7.5."""
    f, given, _ = form([-0.3, 2.0])
    found = gm.estimate_second_order(f, np.array([0.01, 0.0]), **given)
    least = found.least_epsilon(rho=3.0)
    assert least == pytest.approx(max(found.gradient_norm, 0.09 / 3.0))
    for factor, kind in (
        (0.999, ("large gradient", "strict saddle")),
        (1.001, ("second-order stationary",)),
    ):
        assert (
            gm.estimate_second_order(
                f, np.array([0.01, 0.0]), epsilon=factor * least, rho=3.0, **given
            ).kind
            in kind
        )


def test_large_problems_are_looked_at_by_products_only():
    """DU-CERT7: 2,000 parameters, no Hessian formed; the Ritz value is not below the least
    eigenvalue.
    """
    diagonal = np.linspace(-1.0, 3.0, 2_000)

    def refuse(x):
        raise AssertionError

    found = gm.estimate_second_order(
        lambda x: 0.5 * (diagonal * x**2).sum(),
        np.zeros(2_000),
        gradient=lambda x: diagonal * x,
        derivatives="central_differences",
    )
    assert found.method == "lanczos"
    assert -1.0 - 1e-6 <= found.least_eigenvalue <= -1.0 + 1e-6


def test_wrong_arguments_are_named():
    f, given, _ = form([1.0, 2.0])
    for options, message in (
        ({"epsilon": 0.0}, "epsilon"),
        ({"rho": -1.0}, "rho"),
        ({"rho": 1.0, "delta": 1.0}, "not both"),
        ({"method": "power"}, "method"),
    ):
        with pytest.raises(DataError, match=message):
            gm.estimate_second_order(f, np.zeros(2), **options, **given)
    with pytest.raises(DataError, match="not finite"):
        gm.estimate_second_order(
            f, np.zeros(2), gradient=given["gradient"], hessian=lambda x: np.full((2, 2), np.nan)
        )
