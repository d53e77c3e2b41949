"""The ball around a second-order point (theorem SO): the Lipschitz lemma of both layers is
attacked, minima are found where the certificate says, every overstated number is refused, and the
two checkers agree.
"""

from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.checker.autodiff_cases import loss, problem
from tests.checker.cases import Smooth, build
from tests.checker.quadratic_cases import Pair, claim
from tests.checker.second_order_cases import gradient, hessian, random_smooth, saddle_claim
from tests.checker.surroundings_cases import (
    constants,
    lipschitz_of_both,
    moved,
    near_a_minimum,
    surroundings_claim,
    third_along,
)
from tests.oracles.fraction_checker import check_bytes as slow_check

from globalmin_check.claims.hessian import Curve
from globalmin_check.engine import check_bytes

ACTIVATIONS = ["softplus", "sigmoid", "tanh", "erf", "quadratic"]


def verdicts(net: Smooth, pair: Pair) -> tuple[str, str]:
    raw = build(net, [pair])
    fast, slow = check_bytes(raw), slow_check(raw)
    assert fast.verdict.value == slow.verdict, (fast.reason, slow.reason)
    return fast.verdict.value, fast.reason


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_checker_computes_the_constant_of_both_layers_of_the_lemma(activation: str) -> None:
    net = random_smooth(4, 3, 2, activation=activation, trained="vW", seed=3)
    for R in (Fraction(1, 1000), Fraction(1, 2)):
        found = Curve(problem(net), True).lipschitz_of_both(R)
        assert float(found) == pytest.approx(lipschitz_of_both(net, float(R)), rel=1e-9)


@pytest.mark.parametrize("trained", ["W", "vW"])
@pytest.mark.parametrize("activation", ["softplus", "erf"])
def test_the_closed_form_of_the_third_derivative_agrees_with_automatic_differentiation(
    activation: str, trained: str
) -> None:
    net = random_smooth(3, 2, 2, activation=activation, trained=trained, seed=1)
    value, theta = loss(net)
    h = np.random.default_rng(0).standard_normal(len(theta))
    third = jax.grad(jax.grad(jax.grad(lambda t: value(jnp.asarray(theta) + t * jnp.asarray(h)))))(
        0.0
    )
    assert third_along(net, h) == pytest.approx(float(third), rel=1e-9)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("sizes", [(1, 1, 1), (1, 2, 2), (3, 2, 2)])
def test_no_third_derivative_in_the_ball_exceeds_the_constant_of_both_layers(
    activation: str, sizes: tuple[int, int, int]
) -> None:
    """Attack: hill climbing on |D^3 L [h, h, h]| over points of the ball and unit directions."""
    worst = 0.0
    for seed in range(4):
        net = random_smooth(*sizes, activation=activation, trained="vW", seed=seed)
        for R in (0.01, 0.7):
            worst = max(
                worst,
                _largest_third(net, R, np.random.default_rng(seed)) / lipschitz_of_both(net, R),
            )
    assert worst <= 1.0 + 1e-9
    assert worst >= 0.05  # the lemma is not absurdly loose on tiny instances


def _largest_third(net: Smooth, R: float, rng: np.random.Generator) -> float:
    size, best, width = net.W.size + len(net.v), 0.0, 1.0
    place, direction = np.zeros(size), np.ones(size)
    for _ in range(400):
        point, h = (
            place + width * rng.standard_normal(size),
            direction + width * rng.standard_normal(size),
        )
        point, h = point / max(1.0, float(np.linalg.norm(point))), h / np.linalg.norm(h)
        found = abs(third_along(moved(net, R * point), h))
        if found > best:
            best, place, direction, width = found, point, h, min(1.0, 1.5 * width)
        else:
            width = max(1e-3, 0.98 * width)
    return best


@pytest.mark.parametrize("trained", ["W", "vW"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_epsilon_with_the_proved_constant_is_accepted_and_nothing_smaller(
    activation: str, trained: str
) -> None:
    """DU-D7.5, DU-CERT7, theorem SO (a)."""
    net = random_smooth(5, 2, 2, activation=activation, trained=trained, seed=7)
    fields, tensors = surroundings_claim(net, 0.05)
    result = check_bytes(build(net, [(fields, tensors)]))
    assert verdicts(net, (fields, tensors))[0] == "ACCEPTED", result.reason
    assert "epsilon-second-order stationary" in result.statement
    numbers = result.claims[0].numbers
    g, low = np.linalg.norm(gradient(net)), np.linalg.eigvalsh(hessian(net))[0]
    assert g <= numbers["epsilon"]
    assert low >= -np.sqrt(numbers["rho"] * numbers["epsilon"])
    less = Fraction(fields["radius"]["epsilon"]) * Fraction(999, 1000)
    verdict, reason = verdicts(
        net, (fields | {"radius": fields["radius"] | {"epsilon": str(less)}}, tensors)
    )
    assert (verdict, "T10" in reason) == ("REJECTED", True)


def _radius_for(net: Smooth, mu: float) -> float:
    """The largest radius with Lam R below 0.9 mu."""
    low, high = 0.0, 1.0
    for _ in range(50):
        R = (low + high) / 2
        low, high = (R, high) if constants(net, R)[0] * R < 0.9 * mu else (low, R)
    return low


def _minimum(activation: str, trained: str) -> tuple[Smooth, Pair]:
    for seed in range(20):
        net = near_a_minimum(activation, trained, seed=seed, offset=1e-7)
        mu = float(np.linalg.eigvalsh(hessian(net))[0])
        if mu < 1e-3:
            continue
        R = _radius_for(net, mu)
        if 2 * constants(net, R)[0] * np.linalg.norm(gradient(net)) < 0.9 * mu**2:
            return net, surroundings_claim(net, R, minimum=True)
    raise AssertionError(activation)


@pytest.mark.parametrize("trained", ["W", "vW"])
@pytest.mark.parametrize("activation", ["softplus", "sigmoid", "tanh", "erf", "quadratic"])
def test_a_minimum_is_where_the_certificate_says_and_no_other_in_the_ball(
    activation: str, trained: str
) -> None:
    """DU-CERT7, theorem SO (c): Newton's method finds it within the distance, from everywhere in
    the ball.
    """
    if (activation, trained) == ("quadratic", "vW"):
        return  # v w^2 has a flat direction: no strict minimum exists, see the next test
    net, pair = _minimum(activation, trained)
    result = check_bytes(build(net, [pair]))
    assert verdicts(net, pair)[0] == "ACCEPTED", result.reason
    assert "no other critical point" in result.statement
    R, distance = (float(result.claims[0].numbers[name]) for name in ("radius", "distance"))
    eps = float(result.claims[0].numbers["eps"])
    start = _theta(net)
    found = _theta(_newton(net))
    assert np.linalg.norm(found - start) <= distance * (1 + 1e-6) + 1e-13
    drop = 0.5 * (net.residual() @ net.residual()) - 0.5 * (
        _newton(net).residual() @ _newton(net).residual()
    )
    assert drop <= eps * distance * (1 + 1e-6) + 1e-14
    rng = np.random.default_rng(0)
    for _ in range(5):
        step = rng.standard_normal(len(start))
        inside = moved(net, 0.999 * R * step / np.linalg.norm(step))
        assert np.linalg.eigvalsh(hessian(inside))[0] > 0
        np.testing.assert_allclose(_theta(_descended(inside)), found, atol=1e-8)


def _theta(net: Smooth) -> np.ndarray:
    return np.concatenate([net.v, net.W.ravel()]) if net.trained == "vW" else net.W.ravel()


def _newton(net: Smooth) -> Smooth:
    for _ in range(8):
        net = moved(net, -np.linalg.solve(hessian(net), gradient(net)))
    return net


def _descended(net: Smooth) -> Smooth:
    """Newton steps in a strictly convex region; started in the ball they stay near it."""
    for _ in range(40):
        H, g = hessian(net), gradient(net)
        step, t = -np.linalg.solve(H, g), 1.0
        value = net.residual() @ net.residual()
        while (
            t > 1e-6 and moved(net, t * step).residual() @ moved(net, t * step).residual() > value
        ):
            t /= 2
        net = moved(net, t * step)
    return net


def test_a_flat_direction_is_never_certified_as_a_minimum() -> None:
    """v w^2: the loss does not change along (2v, -w) to first order at a fit, so H - mu I is not
    positive definite.
    """
    net = Smooth(
        np.array([[1.0], [2.0]]),
        np.array([1.0, 4.0]),
        np.ones((1, 1)),
        np.ones(1),
        "quadratic",
        "vW",
    )
    fields, tensors = surroundings_claim(net, 1e-6)
    radius = fields["radius"] | {
        "minimum": {"mu": "1/1000000", "distance": str(Fraction(1, 10**6))}
    }
    verdict, reason = verdicts(
        net, (fields | {"radius": radius}, tensors | {"C_mu": 1e3 * np.eye(2)})
    )
    assert verdict == "REJECTED"
    assert "T11" in reason or "T12" in reason


def golden(R: Fraction, /, **changes: Any) -> tuple[Smooth, Pair]:
    """w = 1, y = 1: r = 0, gradient 0, H = 4, c = 3 * 2 (1 + R) * 2 = 12 (1 + R) = Lam
    (certificates-smooth, section 15).
    """
    net = Smooth(np.ones((1, 1)), np.ones(1), np.ones((1, 1)), np.ones(1), "quadratic")
    c = 12 * (1 + R) + Fraction(1, 10**9)
    minimum = {"mu": Fraction(39, 10), "distance": Fraction(1, 10**9)} | changes.pop("minimum", {})
    radius = {
        "R": R,
        "lam": c,
        "quartic": {"kappa": c, "method": "rows"},
        "epsilon": Fraction(1, 100),
        "minimum": minimum,
    }
    fields = {
        "trained": "W",
        "method": "dense",
        "eps": Fraction(0),
        "delta": Fraction(1, 10),
        "loss_upper": Fraction(0),
    }
    wide = np.array([[1e4 * np.sqrt(10)]])
    tensors = {
        "C": np.array([[4.1**-0.5]]),
        "C_mu": np.array([[0.1**-0.5]]),
        "C_lam": wide,
        "C_kappa": wide,
    }
    return net, (claim("second-order-stationary", **fields, radius=radius | changes), tensors)


def test_the_golden_ball_reaches_exactly_where_strong_convexity_is_lost_in_the_bound() -> None:
    """12 (1 + R) R < 3.9 for R <= 0.2583."""
    for R, verdict in ((Fraction(258, 1000), "ACCEPTED"), (Fraction(259, 1000), "REJECTED")):
        found, reason = verdicts(*golden(R))
        assert found == verdict, reason
        assert verdict == "ACCEPTED" or "T11d" in reason


@pytest.mark.parametrize(
    ("changes", "number"),
    [
        ({"R": Fraction(0)}, "T7a"),
        ({"R": Fraction(-1)}, "T7a"),
        ({"lam": Fraction(0)}, "T7b"),
        ({"lam": Fraction(1, 10)}, "T8"),
        ({"quartic": {"kappa": Fraction(-1), "method": "rows"}}, "T7c"),
        ({"quartic": {"kappa": Fraction(1, 10), "method": "rows"}}, "T9"),
        ({"epsilon": Fraction(-1)}, "T10a"),
        ({"epsilon": Fraction(1, 10**6)}, "T10b"),
        ({"minimum": {"mu": Fraction(0)}}, "T11a"),
        ({"minimum": {"mu": Fraction(-39, 10)}}, "T11a"),
        ({"minimum": {"distance": Fraction(0)}}, "T11b"),
        ({"minimum": {"distance": Fraction(-1, 10)}}, "T11b"),
        ({"minimum": {"distance": Fraction(1, 2)}}, "T11c"),
        ({"minimum": {"mu": Fraction(1)}}, "T11d"),
        ({"minimum": {"mu": Fraction(41, 10)}}, "T12"),
    ],
)
def test_every_number_of_the_object_is_checked(changes: dict[str, Any], number: str) -> None:
    verdict, reason = verdicts(*golden(Fraction(1, 10), **changes))
    assert (verdict, f"check {number}" in reason) == ("REJECTED", True), reason


def test_a_distance_shorter_than_the_gradient_allows_is_refused() -> None:
    """eps = 1/10: mu D - Lam D^2/2 > eps needs D > 0.0267; T11e below eps/mu = 0.0256, T11f
    between.
    """
    for distance, number in (
        (Fraction(25, 1000), "T11e"),
        (Fraction(26, 1000), "T11f"),
        (Fraction(31, 1000), ""),
    ):
        net, (fields, tensors) = golden(
            Fraction(1, 10), minimum={"distance": distance}, epsilon=Fraction(1, 10)
        )
        verdict, reason = verdicts(net, (fields | {"eps": "1/10"}, tensors))
        assert verdict == ("REJECTED" if number else "ACCEPTED"), reason
        assert not number or f"check {number}" in reason


@pytest.mark.parametrize("name", ["C_lam", "C_kappa", "C_mu"])
def test_factors_that_prove_nothing_are_refused(name: str) -> None:
    net, (fields, tensors) = golden(Fraction(1, 10))
    assert verdicts(net, (fields, tensors | {name: np.zeros((1, 1))}))[0] == "REJECTED"


def test_form_of_the_object() -> None:
    net, (fields, tensors) = golden(Fraction(1, 10))
    radius, plain = (
        fields["radius"],
        {key: value for key, value in fields.items() if key != "radius"},
    )
    assert verdicts(net, (plain, tensors))[0] == "MALFORMED"
    assert (
        verdicts(net, (plain, {"C": tensors["C"]}))[0] == "ACCEPTED"
    )  # files of before have no such object
    for changed in (
        {key: value for key, value in radius.items() if key != "epsilon"},
        {key: value for key, value in radius.items() if key != "lam"},
        radius | {"Lip": "1"},
        radius | {"rho": "1"},
        radius | {"minimum": {"mu": "1"}},
        radius | {"minimum": radius["minimum"] | {"rate": "1"}},
        radius | {"minimum": "39/10"},
        [],
    ):
        assert verdicts(net, (fields | {"radius": changed}, tensors))[0] == "MALFORMED"
    assert verdicts(net, (fields | {"method": "blocks"}, tensors))[0] == "MALFORMED"
    assert (
        verdicts(net, (fields, {key: value for key, value in tensors.items() if key != "C_mu"}))[0]
        == "MALFORMED"
    )
    assert verdicts(net, (fields, tensors | {"C_mu": np.eye(2)}))[0] == "MALFORMED"


def test_the_object_is_allowed_beside_blocks_without_a_minimum() -> None:
    net = random_smooth(5, 2, 3, activation="tanh", seed=7)
    assert verdicts(net, surroundings_claim(net, 0.05, method="blocks"))[0] == "ACCEPTED"


def test_the_constant_of_both_layers_is_checked_in_both_claims() -> None:
    net = random_smooth(5, 2, 3, activation="tanh", trained="vW", seed=7)
    fields, tensors = surroundings_claim(net, 0.05)
    less = Fraction(fields["radius"]["Lip"]) * Fraction(99, 100)
    changed = fields["radius"] | {"Lip": str(less), "epsilon": "1000"}
    verdict, reason = verdicts(net, (fields | {"radius": changed}, tensors))
    assert (verdict, "check T8" in reason) == ("REJECTED", True)
    fields, tensors = saddle_claim(net)
    gamma = float(Fraction(fields["gamma"]))
    R = 0.5 * gamma / lipschitz_of_both(net, gamma)
    Lip = lipschitz_of_both(net, R) * 1.001
    radius = {"R": str(Fraction(R)), "Lip": str(Fraction(Lip))}
    result = check_bytes(build(net, [(fields | {"radius": radius}, tensors)]))
    assert verdicts(net, (fields | {"radius": radius}, tensors))[0] == "ACCEPTED", result.reason
    assert "No weights (v, W) closer than" in result.statement
    verdict, reason = verdicts(
        net,
        (fields | {"radius": radius | {"Lip": str(Fraction(Lip) * Fraction(99, 100))}}, tensors),
    )
    assert (verdict, "check S8" in reason) == ("REJECTED", True)
    verdict, reason = verdicts(
        net, (fields | {"radius": radius | {"Lip": str(Fraction(Lip) * 1000)}}, tensors)
    )
    assert (verdict, "check S7d" in reason) == ("REJECTED", True)


@pytest.mark.parametrize("trained", ["W", "vW"])
def test_the_promised_drop_along_the_direction_is_there(trained: str) -> None:
    """DU-CERT7, theorem SO (b): at the distance R, and at every shorter one t, the loss is lower by
    gamma t^2/3 on one side.
    """
    for seed in range(40):
        net = random_smooth(5, 2, 3, activation="tanh", trained=trained, seed=seed)
        low, vectors = np.linalg.eigh(hessian(net))
        if low[0] > -0.1:
            continue
        gamma, w = -float(low[0]), vectors[:, 0]
        R = _saddle_radius(net, gamma)
        value = 0.5 * net.residual() @ net.residual()
        for t in (R, 0.3 * R):
            ends = [moved(net, sign * t * w).residual() for sign in (1, -1)]
            assert min(0.5 * r @ r for r in ends) <= value - gamma * t**2 / 3 + 1e-12 * value


def _saddle_radius(net: Smooth, gamma: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(40):
        R = (low + high) / 2
        low, high = (R, high) if constants(net, R)[0] * R < gamma else (low, R)
    return low
