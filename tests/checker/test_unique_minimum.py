"""unique-minimum: certified balls hold one minimum and gradient descent obeys the rate; every
overstatement is refused.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.checker.cases import (
    build,
)
from tests.checker.second_order_cases import (
    gradient,
    hessian,
)
from tests.checker.unique_minimum_cases import (
    ACTIVATIONS,
    FORMS,
    Pair,
    _third_slices,
    golden,
    largest_claim,
    minimum,
    verdicts,
)
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_checker import check_bytes as slow_check

from globalmin_check.engine import check_bytes


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_ball_around_a_minimum_is_accepted_and_convex(activation: str, form: str) -> None:
    net = minimum(activation)
    fields, tensors = largest_claim(net, form)
    assert verdicts(net, (fields, tensors)) == ("ACCEPTED", "every check of 1 claim holds")
    r, mu, M = (float(Fraction(fields[key])) for key in ("r", "mu", "M"))
    rng = np.random.default_rng(1)
    for _ in range(100):
        step = rng.standard_normal(net.W.shape)
        spectrum = np.linalg.eigvalsh(
            hessian(replace(net, W=net.W + r * step / np.linalg.norm(step)))
        )
        assert mu <= spectrum[0] <= spectrum[-1] <= M


@pytest.mark.parametrize("form", FORMS)
def test_no_point_of_the_ball_found_by_search_has_less_curvature_than_claimed(form: str) -> None:
    """Attack: descend on the least eigenvalue over the sphere of the certified radius, many starts,
    noisy labels.
    """
    for seed, activation in enumerate(ACTIVATIONS):
        net = minimum(activation, noise=0.05, seed=seed)
        fields, _ = largest_claim(net, form)
        r, mu = float(Fraction(fields["r"])), float(Fraction(fields["mu"]))
        rng = np.random.default_rng(seed)
        for _ in range(4):
            step = rng.standard_normal(net.W.shape)
            for _ in range(15):
                step *= r / np.linalg.norm(step)
                here = replace(net, W=net.W + step)
                values, vectors = np.linalg.eigh(hessian(here))
                assert values[0] >= mu
                slope = np.einsum(
                    "abc,b,c->a", _third_slices(here, True), vectors[:, 0], vectors[:, 0]
                ).reshape(net.W.shape)
                step = step - r * slope / np.linalg.norm(slope)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_gradient_descent_obeys_the_claimed_rate(activation: str, form: str) -> None:
    net = minimum(activation)
    fields, _ = largest_claim(net, form)
    r, s, eta, rate = (float(Fraction(fields[key])) for key in ("r", "r_minus", "eta", "rate"))
    rng = np.random.default_rng(2)
    for _ in range(5):
        step = rng.standard_normal(net.W.shape)
        here = replace(net, W=net.W + (r - 2 * s) * step / np.linalg.norm(step))
        distance = np.linalg.norm(here.W - net.W)
        for _ in range(200):
            here = replace(here, W=here.W - eta * gradient(here).reshape(2, 2))
            new = np.linalg.norm(here.W - net.W)
            assert new <= rate * distance + 2 * s + 1e-12
            distance = new


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("t", [0.0, 0.5])
def test_the_svec_method_is_accepted(form: str, t: float) -> None:
    net = minimum("tanh", n=8)
    assert verdicts(net, largest_claim(net, form, t=t))[0] == "ACCEPTED"


SPOILED = [
    ("mu", 1.01, "U4"),
    ("M", 0.99, "U5"),
    ("r_minus", 0.5, "U6"),
    ("eta", 1.01, "U8"),
    ("rate", 1 - 1e-3, "U9"),
    ("loss_upper", 1e-3, "U3"),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("name", "factor", "number"), SPOILED)
def test_every_number_that_is_too_good_is_refused(
    form: str, name: str, factor: float, number: str
) -> None:
    net = minimum("sigmoid", noise=0.01)
    net = replace(net, W=net.W + 1e-7)
    fields, tensors = largest_claim(net, form)
    verdict, reason = verdicts(
        net, (fields | {name: str(Fraction(fields[name]) * Fraction(factor))}, tensors)
    )
    assert (verdict, f"check {number} " in reason) == ("REJECTED", True), reason


@pytest.mark.parametrize("form", FORMS)
def test_constants_that_are_too_small_are_refused(form: str) -> None:
    net = minimum("tanh")
    fields, tensors = largest_claim(net, form)
    smaller = {
        key: str(Fraction(fields[key]) / 2) for key in ("lam", "flat2", "M0") if key in fields
    }
    for key, value in smaller.items():
        assert verdicts(net, (fields | {key: value}, tensors))[0] == "REJECTED"
    for key in ("quartic", "square"):
        if key in fields:
            half = fields[key] | {"kappa": str(Fraction(fields[key]["kappa"]) / 2)}
            assert verdicts(net, (fields | {key: half}, tensors))[0] == "REJECTED"
    assert (
        "U10"
        in verdicts(
            net, (fields | {"m0": str(Fraction(fields["m0"]) * Fraction(101, 100))}, tensors)
        )[1]
    )
    wider = fields | {"r": str(Fraction(fields["r"]) * Fraction(3, 2))}
    assert verdicts(net, (wider, tensors))[0] == "REJECTED"


@pytest.mark.parametrize("form", FORMS)
def test_witnesses_that_prove_nothing_are_refused(form: str) -> None:
    net, other = minimum("tanh"), minimum("sigmoid")
    fields, tensors = largest_claim(net, form)
    for role in tensors:
        verdict = verdicts(net, (fields, tensors | {role: np.zeros_like(tensors[role])}))[0]
        assert verdict == ("UNDECIDED" if role == "V" else "REJECTED")
    assert verdicts(net, (fields, largest_claim(other, form)[1]))[0] == "REJECTED"
    assert verdicts(other, (fields, tensors))[0] == "REJECTED"


SIGNS = [
    ("r", "0"),
    ("r", "-1"),
    ("mu", "0"),
    ("eta", "0"),
    ("eta", "-1"),
    ("rate", "1"),
    ("rate", "-1"),
    ("m0", "-1"),
]


@pytest.mark.parametrize(
    ("name", "value"),
    [*SIGNS, ("r_minus", "-1"), ("M0", "0"), ("tau", "0"), ("tau", "1"), ("tau", "2")],
)
def test_numbers_outside_their_range_are_refused(name: str, value: str) -> None:
    net = minimum("tanh")
    fields, tensors = largest_claim(net, "mixed")
    verdict, reason = verdicts(net, (fields | {name: value}, tensors))
    assert (verdict, "check U2" in reason) == ("REJECTED", True)


def test_form_of_the_claim() -> None:
    net = minimum("tanh")
    fields, tensors = largest_claim(net, "mixed")
    faults: list[Pair] = [
        ({key: value for key, value in fields.items() if key != "tau"}, tensors),
        (fields | {"lam": "1"}, tensors),
        (fields | {"form": "best"}, tensors),
        (fields | {"form": "plain"}, tensors),
        (fields | {"version": 2}, tensors),
        (fields | {"theorem": "negative-curvature/1"}, tensors),
        (fields | {"square": fields["quartic"]}, tensors),
        (fields | {"trained": "W"}, tensors),
        (fields, {role: value for role, value in tensors.items() if role != "V"}),
        (fields, tensors | {"C_m": np.eye(4, 3)}),
        (fields, tensors | {"V": np.eye(2)}),
        (fields, tensors | {"V": np.full((4, 2), np.nan)}),
        (fields, tensors | {"C_lam": np.eye(2)}),
    ]
    for pair in faults:
        assert verdicts(net, pair)[0] == "MALFORMED"


def test_the_golden_example_is_accepted_up_to_the_exact_radius() -> None:
    """L''' = 12 w exactly: mu = 4 - 12 (1 + r) r is positive for r < (sqrt(21) - 3)/6 = .2637."""
    for r, verdict in (
        (Fraction(1, 5), "ACCEPTED"),
        (Fraction(26, 100), "ACCEPTED"),
        (Fraction(27, 100), "REJECTED"),
    ):
        assert verdicts(*golden(r))[0] == verdict


def test_two_critical_points_are_never_in_one_ball() -> None:
    """L = (w^2 - 1)^2/2 has a maximum at 0: no ball that reaches it can be accepted, whatever the
    numbers say.
    """
    for mu in (Fraction(1, 100), Fraction(1)):
        net, (fields, tensors) = golden(Fraction(1), mu=mu, eta=Fraction(1, 100), rate=1 - mu / 100)
        assert verdicts(net, (fields, tensors))[0] == "REJECTED"


def test_a_singular_hessian_is_never_accepted() -> None:
    """Two equal neurons at zero residual: the Hessian is singular, and a tiny m0 does not help."""
    net = minimum("tanh", noise=0.0)
    fields, tensors = largest_claim(net, "plain")
    twin = replace(net, W=np.vstack([net.W[0], net.W[0]]), v=np.ones(2))
    twin = replace(twin, y=twin.residual() + twin.y)
    tiny = fields | {"m0": str(Fraction(1, 10**12)), "mu": str(Fraction(1, 10**13))}
    assert verdicts(twin, (tiny, tensors))[0] != "ACCEPTED"


@pytest.mark.parametrize("activation", ["relu", "abs", "linear", "leaky_relu"])
def test_kinked_activations_are_refused(activation: str) -> None:
    net, (fields, tensors) = golden(Fraction(1, 5))
    parameter = {"parameter": Fraction(1, 2)} if activation == "leaky_relu" else {}
    raw = gmc.build(
        net.X, net.y, net.W, net.v, [(fields, tensors)], activation=activation, **parameter
    )
    assert check_bytes(raw).verdict.value == slow_check(raw).verdict == "REJECTED"
    assert "U1" in check_bytes(raw).reason


@pytest.mark.parametrize("form", FORMS)
def test_work_beyond_the_budget_is_undecided_before_it_is_done(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = minimum("tanh")
    raw = build(net, [largest_claim(net, form)])
    monkeypatch.setattr("globalmin_check.limits.WORK", 1000)
    monkeypatch.setattr(
        "globalmin_check.claims.unique_minimum.check", None
    )  # would fail if it were called
    result = check_bytes(raw)
    assert (result.verdict.value, "budget" in result.reason) == ("UNDECIDED", True)


def test_a_tie_is_never_accepted_at_any_precision() -> None:
    """The modulus mu = m0 - a r exactly, a a square root: the matrices are proved once, the tie
    stays open at every precision.
    """
    net, (fields, tensors) = golden(Fraction(1, 5))
    m0, c, M = (Fraction(fields[key]) for key in ("m0", "lam", "M"))
    mu = m0 - c / 5
    tie = {"mu": str(mu), "eta": str(2 / (mu + M)), "rate": str(1 - 2 * mu / (mu + M))}
    assert verdicts(net, (fields | tie, tensors))[0] == "UNDECIDED"


def test_more_parameters_than_the_format_allows_are_malformed() -> None:
    net, (fields, _) = golden(Fraction(1, 5))
    wide = replace(net, W=np.ones((401, 1)), v=np.ones(401))
    square = np.zeros((401, 401))
    tensors = {"C_m": square, "C_M": square, "C_lam": np.ones((1, 1)), "C_kappa": np.ones((1, 1))}
    assert verdicts(wide, (fields, tensors))[0] == "MALFORMED"
