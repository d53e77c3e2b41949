"""Planted bugs in the object `radius` of second-order-stationary: wrong formulas with factors of
their own wrong matrices.

Every claim here is false or unproved as stated by the oracle; neither checker may accept it.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker import second_order_cases as s
from tests.checker.cases import Smooth, build, inverse_factor
from tests.checker.quadratic_cases import Pair
from tests.checker.surroundings_cases import (
    constants,
    lipschitz_of_both,
    near_a_minimum,
    surroundings_claim,
)
from tests.oracles.fraction_checker import check_bytes as slow_check
from tests.oracles.fraction_checker import oracle_truth

from globalmin_check.engine import check_bytes

Bug = Callable[[int], tuple[Smooth, Pair]]


def _written(
    pair: Pair,
    *,
    tensors: dict[str, Any] | None = None,
    minimum: dict[str, float] | None = None,
    **changes: float,
) -> Pair:
    fields, arrays = pair
    radius = fields["radius"] | {name: str(Fraction(value)) for name, value in changes.items()}
    if minimum:
        radius["minimum"] = radius["minimum"] | {
            name: str(Fraction(value)) for name, value in minimum.items()
        }
    return fields | {"radius": radius}, arrays | (tensors or {})


def _bent(seed: int, trained: str) -> Smooth:
    return s.random_smooth(
        5, 2, 2, activation=["softplus", "tanh", "erf"][seed % 3], trained=trained, seed=seed
    )


def _minimum(seed: int, trained: str = "W", offset: float = 1e-3) -> tuple[Smooth, Pair, float]:
    """A claim of a minimum with eps near the limit, and mu."""
    for number in range(seed, seed + 60):
        net = near_a_minimum(
            ["tanh", "erf", "softplus"][number % 3], trained, seed=number, offset=1e-7
        )
        mu = float(np.linalg.eigvalsh(s.hessian(net))[0])
        if mu > 1e-2:
            R = 1e-6
            while constants(net, 2 * R)[0] * 2 * R < 0.8 * mu:
                R *= 2
            return net, surroundings_claim(net, R, minimum=True), mu
    raise AssertionError(seed)


def epsilon_of_delta_without_the_square(seed: int) -> tuple[Smooth, Pair]:
    """epsilon = delta/rho where delta > 1: too small."""
    net = s.random_smooth(5, 2, 2, activation="quadratic", seed=seed)
    fields, arrays = surroundings_claim(net, 0.05)
    rho = constants(net, 0.05)[0]
    delta = float(Fraction(fields["delta"]))
    return net, _written((fields, arrays), epsilon=min(delta, 1.0) ** 2 / rho / (2 + delta))


def constant_of_both_layers_with_a_frozen_head(seed: int) -> tuple[Smooth, Pair]:
    """|v_l| instead of |v_l| + R."""
    net = _bent(seed, "vW")
    pair = surroundings_claim(net, 0.5)
    smaller = lipschitz_of_both(net, 0.5) * 0.9
    return net, _written(pair, Lip=smaller, epsilon=1e3)


def constant_at_the_center(seed: int) -> tuple[Smooth, Pair]:
    """The constant of R = 0 claimed for R = 1/2, with factors of the matrices at the center."""
    net = _bent(seed, "W")
    fields, arrays = surroundings_claim(net, 0.5)
    _, center, factors = constants(net, 0.0)
    radius = fields["radius"] | {
        "lam": str(Fraction(center["lam"])),
        "quartic": {"kappa": str(Fraction(center["quartic"]["kappa"])), "method": "rows"},
        "epsilon": "1000",
    }
    return net, (fields | {"radius": radius}, arrays | factors)


def distance_of_a_newton_step(seed: int) -> tuple[Smooth, Pair]:
    """D = eps/mu, without the term of rho."""
    net, pair, _ = _minimum(seed)
    eps = float(Fraction(pair[0]["eps"]))
    mu = float(Fraction(pair[0]["radius"]["minimum"]["mu"]))
    return net, _written(pair, minimum={"distance": eps / mu})


def mu_of_the_gauss_newton_matrix(seed: int) -> tuple[Smooth, Pair]:
    """J^T J instead of the Hessian at a point with a negative curvature."""
    for number in range(seed, seed + 60):
        net = s.random_smooth(9, 2, 2, activation="tanh", seed=number)
        J = s.jacobian(net)
        if np.linalg.eigvalsh(s.hessian(net))[0] < 0 < np.linalg.eigvalsh(J.T @ J)[0]:
            break
    fields, arrays = surroundings_claim(net, 1e-9)
    mu = float(np.linalg.eigvalsh(J.T @ J)[0]) / 2
    radius = fields["radius"] | {
        "minimum": {"mu": str(Fraction(mu)), "distance": str(Fraction(1e-9))}
    }
    return net, (
        fields | {"radius": radius},
        arrays | {"C_mu": inverse_factor(J.T @ J - mu * np.eye(len(J.T)))},
    )


def mu_a_little_too_large(seed: int) -> tuple[Smooth, Pair]:
    """The least eigenvalue rounded up, with a factor of the nearest positive definite matrix."""
    net, pair, mu = _minimum(seed)
    H = s.hessian(net)
    wrong = mu * (1 + 1e-6)
    C = inverse_factor(H - mu * (1 - 1e-6) * np.eye(len(H)))
    return net, _written(pair, minimum={"mu": wrong}, tensors={"C_mu": C})


def ball_beyond_strong_convexity(seed: int) -> tuple[Smooth, Pair]:
    """R with rho R > mu, everything else honest."""
    net, (fields, arrays), mu = _minimum(seed)
    R = 1e-6
    while constants(net, R)[0] * R < 1.01 * mu:
        R *= 1.1
    _, wide, factors = constants(net, R)
    radius = fields["radius"] | {
        "R": str(Fraction(R)),
        "lam": str(Fraction(wide["lam"])),
        "quartic": {"kappa": str(Fraction(wide["quartic"]["kappa"])), "method": "rows"},
        "epsilon": "1000",
    }
    return net, (fields | {"radius": radius}, arrays | factors)


BUGS: tuple[Bug, ...] = (
    epsilon_of_delta_without_the_square,
    constant_of_both_layers_with_a_frozen_head,
    constant_at_the_center,
    distance_of_a_newton_step,
    mu_of_the_gauss_newton_matrix,
    mu_a_little_too_large,
    ball_beyond_strong_convexity,
)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_no_checker_accepts_a_planted_bug(bug: Bug, seed: int) -> None:
    net, pair = bug(seed)
    raw = build(net, [pair])
    fast, slow = check_bytes(raw), slow_check(raw)
    assert fast.verdict.value == slow.verdict == "REJECTED", (fast.reason, slow.reason)
    assert oracle_truth(raw) is False
