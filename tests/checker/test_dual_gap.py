"""The claim dual-gap: the golden examples of its theorems by hand, every rule of the class, every
loss against its definition, and what is refused.
"""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker.regularized_cases import (
    Case,
    changed,
    derivative,
    dual_claim,
    file_of,
    golden,
    quadratic_witness,
    rounded,
    spectral_witness,
)
from tests.checker.regularized_cases import build as sealed
from tests.corpus.whole_files import opened
from tests.oracles.fraction_checker import check_bytes as slow_check

from globalmin_check import limits
from globalmin_check.engine import check_bytes
from globalmin_check.verdict import Result

F = Fraction


def verdict(raw: bytes) -> str:
    """The verdict of the fast checker, which the slow one must not contradict."""
    fast, slow = check_bytes(raw).verdict.value, slow_check(raw).verdict
    assert fast == slow or "UNDECIDED" in (fast, slow), (fast, slow)
    return fast


def numbers_of(result: Result) -> dict[str, Any]:
    found = result.claims[0].numbers
    assert found is not None
    return found


@pytest.mark.parametrize(("t", "expected"), [(0.353, "ACCEPTED"), (0.354, "REJECTED")])
def test_golden_one_column(t: float, expected: str):
    """2 t^2 <= 1/4; D = 2t - t^2."""
    raw = file_of(*golden(t=t))
    assert verdict(raw) == expected
    if expected == "ACCEPTED":
        floor = float(numbers_of(check_bytes(raw))["p_low"])
        assert floor == pytest.approx(2 * t - t * t, rel=1e-15)
        assert floor == pytest.approx(0.581391, abs=1e-9)


def test_golden_free_bias_is_accepted_with_equality():
    case, u = golden(t=0.25, hidden_bias="free")
    claim, tensors = dual_claim(case, u)
    assert F(claim["p_low"]) == F(7, 16)
    assert verdict(sealed(case, [(claim, tensors)])) == "ACCEPTED"
    assert verdict(file_of(case, np.nextafter(u, [1, -1]))) == "REJECTED"


def test_golden_free_bias_needs_a_zero_sum_even_without_an_intercept():
    case, _ = golden(hidden_bias="free")
    u = np.array([0.25, -0.24])
    assert "Y5" in check_bytes(file_of(case, u)).reason
    without = replace(case, intercept=None)
    assert "Y5" in check_bytes(file_of(without, u)).reason
    assert verdict(file_of(without, np.array([0.25, -0.25]))) == "ACCEPTED"


@pytest.mark.parametrize("field", ["b", "tau", "k0", "k1", "v_max"])
@pytest.mark.parametrize("value", ["0", "-1/2"])
def test_golden_what_must_be_positive_is_malformed_otherwise(field: str, value: str):
    """A checker that only squares b would accept P = -35/4 below D = 1/4."""
    parts: dict[str, Any] = {"linear": np.zeros(1)}
    rules = {"intercept": "penalized", "k0": "1", "linear": "penalized", "k1": "1"}
    case = changed(golden()[0], **parts, network=rules)
    if field == "v_max":
        case = changed(golden()[0], network={"neurons": "quadratic", "groups": "all", "v_max": "1"})
        u, witness = quadratic_witness(case, np.array([0.1, -0.1]))
        file = opened(file_of(case, u, "quadratic", witness=witness))
    else:
        file = opened(file_of(case, np.array([0.1, -0.1])))
    assert verdict(file.sealed()) == "ACCEPTED"
    file.top["network"][field] = value
    assert verdict(file.sealed()) == "MALFORMED"


def test_golden_negative_decay():
    case = Case(
        np.array([[0.0], [1.0]]),
        np.array([0.0, 1.0]),
        np.array([[3.0]]),
        np.array([3.0]),
        bias=np.zeros(1),
        intercept=0.5,
    )
    file = opened(file_of(case, np.array([0.5, -0.5])))
    file.top["network"]["b"] = "-5"
    assert verdict(file.sealed()) == "MALFORMED"


def test_golden_constant_column():
    case, _ = golden(b=F(1, 10**9))
    case = replace(case, X=np.ones((2, 1)))
    assert verdict(file_of(case, np.array([100.0, -100.0]))) == "ACCEPTED"
    alone = replace(case, intercept=None, network=case.network | {"b": F(2829, 1000)})
    assert verdict(file_of(alone, np.ones(2))) == "ACCEPTED"  # b^2 > 8
    tight = replace(alone, network=case.network | {"b": F(2828, 1000)})
    assert verdict(file_of(tight, np.ones(2))) == "REJECTED"


@pytest.mark.parametrize(
    ("name", "y", "floor"),
    [
        ("squared", [1.0, 2.0], 0.0),
        ("logistic", [1.0, -1.0], 0.0),
        ("poisson", [1.0, 2.0], 3 - 2 * math.log(2)),
        ("poisson", [0.0, 0.0], 0.0),
    ],
)
def test_golden_zero_is_always_feasible(name: str, y: list[float], floor: float):
    case = replace(golden()[0], y=np.array(y), loss={"name": name})
    result = check_bytes(file_of(case, np.zeros(2)))
    assert result.verdict.value == "ACCEPTED"
    assert float(numbers_of(result)["floor"]) == pytest.approx(floor, abs=1e-15)


def test_golden_weight_zero():
    case = replace(golden(t=0.1)[0], om=np.array([0.0, 1.0]), intercept=None)
    assert verdict(file_of(case, np.array([0.0, -0.1]))) == "ACCEPTED"
    assert "Y4" in check_bytes(file_of(case, np.array([1e-30, -0.1]))).reason
    file = opened(file_of(case, np.zeros(2)))
    file.tensors["om"] = np.array([-1.0, 1.0])
    assert verdict(file.sealed()) == "MALFORMED"


def one_row(name: str, y: float, u: float, a: Fraction | None = None) -> bytes:
    """One sample at zero, where every neuron's sum is that of its bias."""
    loss = {"name": name} | ({} if a is None else {"parameter": a})
    case = Case(
        np.zeros((1, 1)),
        np.array([y]),
        np.zeros((1, 1)),
        np.zeros(1),
        bias=np.zeros(1),
        loss=loss,
        network={"b": F(10)},
    )
    return file_of(case, np.array([u]))


@pytest.mark.parametrize(
    ("name", "a", "y", "u", "expected"),
    [
        ("logistic", None, 1.0, -1.0, "ACCEPTED"),
        ("logistic", None, 1.0, 1e-9, "REJECTED"),
        ("logistic", None, -1.0, 1.0, "ACCEPTED"),
        ("logistic", None, -1.0, 1.0000001, "REJECTED"),
        ("quantile", F(7, 8), 0.5, 0.125, "ACCEPTED"),
        ("quantile", F(7, 8), 0.5, -0.875, "ACCEPTED"),
        ("quantile", F(7, 8), 0.5, 0.126, "REJECTED"),
        ("quantile", F(7, 8), 0.5, -0.876, "REJECTED"),
        ("quantile", F(0.9), 0.5, 0.1, "REJECTED"),  # the doubles: .1 > 1 - .9 exactly
        ("huber", F(1, 2), 0.5, -0.5, "ACCEPTED"),
        ("huber", F(1, 2), 0.5, 0.51, "REJECTED"),
        ("huber", F(1, 2), 0.5, -0.51, "REJECTED"),
        ("hinge", None, 1.0, -1.0, "ACCEPTED"),
        ("hinge", None, 1.0, -1.01, "REJECTED"),
        ("hinge", None, -1.0, -0.01, "REJECTED"),
        ("squared_hinge", None, 1.0, -3.0, "ACCEPTED"),
        ("squared_hinge", None, -1.0, -3.0, "REJECTED"),
        ("poisson", None, 2.0, -2.0, "ACCEPTED"),
        ("poisson", None, 2.0, -2.01, "REJECTED"),
        ("squared", None, 2.0, -2.01, "ACCEPTED"),
    ],
)
def test_domains_are_decided_exactly(
    name: str, a: Fraction | None, y: float, u: float, expected: str
):
    raw = one_row(name, y, u, a)
    assert verdict(raw) == expected
    if expected == "REJECTED":
        assert "Y4" in check_bytes(raw).reason


@pytest.mark.parametrize("name", ["squared", "huber", "quantile", "hinge", "squared_hinge"])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_and_conjugates_agree_with_their_definition(name: str, weighted: bool):
    """l(f) + l*(u) >= u f with equality at u = l'(f): by hand for every rational loss, through P
    and D of a file.
    """
    rng = np.random.default_rng(5)
    y = rng.choice([-1.0, 1.0], 6)
    parameter = {"huber": F(3, 4), "quantile": F(1, 4)}
    loss = {"name": name} | ({"parameter": parameter[name]} if name in parameter else {})
    case = Case(
        rng.standard_normal((6, 1)),
        y,
        np.array([[1.5]]),
        np.array([0.75]),
        bias=np.array([0.25]),
        om=rng.choice([0.5, 1.0, 2.0], 6) if weighted else None,
        loss=loss,
        network={"b": F(10**6)},
    )
    u = derivative(case)
    numbers = numbers_of(check_bytes(file_of(case, u)))
    f = np.maximum(case.X @ case.W.T + case.bias, 0) @ case.v
    penalty = 10**6 / 2 * (1.5**2 + 0.25**2 + 0.75**2)
    # at u = om l'(f): sum l(f) + sum l*(u) = u . f
    assert float(numbers["objective"]) - penalty - float(numbers["floor"]) == pytest.approx(
        u @ f, rel=1e-6, abs=1e-6
    )


@pytest.mark.parametrize("name", ["logistic", "poisson"])
def test_logistic_and_poisson_in_balls(name: str):
    poisson = name == "poisson"
    y = np.array([1.0, 1.0]) if poisson else np.array([1.0, -1.0])
    u = np.array([-0.25, -0.5]) if poisson else np.array([-0.25, 0.5])
    case = replace(golden()[0], y=y, loss={"name": name}, network={"b": F(4)}, intercept=None)
    numbers = numbers_of(check_bytes(file_of(case, u)))
    f, p = np.array([0.0, 0.5]), np.array([0.25, 0.5])
    losses = np.exp(f) - y * f if poisson else np.log1p(np.exp(-y * f))
    assert float(numbers["objective"]) == pytest.approx(losses.sum() + 2 * 0.75, rel=1e-14)
    q = u + y
    conjugates = q * np.log(q) - q if poisson else p * np.log(p) + (1 - p) * np.log(1 - p)
    assert float(numbers["floor"]) == pytest.approx(-conjugates.sum(), rel=1e-14)


def two_columns() -> tuple[Case, np.ndarray]:
    """The network uses the first column only; H of the second one is too large."""
    case, u = golden(t=0.353)
    X = np.hstack([case.X, 2 * case.X])
    return replace(case, X=X, W=np.hstack([case.W, [[0.0]]])), u


def test_golden_a_column_that_the_network_does_not_use_needs_the_test_too():
    case, u = two_columns()
    assert "Y7" in check_bytes(file_of(case, u)).reason
    smaller = changed(case, network={"groups": [[0]]})
    result = check_bytes(file_of(smaller, u))
    assert result.verdict.value == "ACCEPTED"
    assert "one of the groups [0]" in result.statement


@pytest.mark.parametrize(
    "groups",
    [
        "every pair",
        "pairs",
        [],
        [[]],
        [[1]],
        [[-1]],
        [[0], [0]],
        [[True]],
        [0],
        {"columns": 1},
        7,
        [[0]] * 5000,
    ],
)
def test_hostile_groups_are_malformed(groups: Any):
    file = opened(file_of(*golden()))
    file.top["network"]["groups"] = groups
    assert verdict(file.sealed()) == "MALFORMED"


def test_a_pair_cannot_be_left_out():
    """H of the third pair is too large: the class name enumerates it, the list without it is
    another class, which is printed.
    """
    rng = np.random.default_rng(3)
    X = rng.standard_normal((4, 3))
    case = Case(
        X,
        rng.standard_normal(4),
        np.array([[1.0, 0.5, 0.0]]),
        np.ones(1),
        bias=np.zeros(1),
        network={"groups": "pairs"},
    )
    u = rounded(0.02 * derivative(case))
    narrow = changed(case, X=X * [1, 1, 40])
    assert verdict(file_of(case, u, "cones")) == "ACCEPTED"
    assert "Y8" in check_bytes(file_of(narrow, u, "cones")).reason
    listed = changed(narrow, network={"groups": [[0], [0, 1]]})
    result = check_bytes(file_of(listed, u, "cones"))
    assert result.verdict.value == "ACCEPTED"
    assert "groups [0, 1]" in result.statement
    assert "columns" in result.statement
    reversed_pair = opened(file_of(listed, u, "cones"))
    reversed_pair.top["network"]["groups"] = [[1, 0]]
    assert verdict(reversed_pair.sealed()) == "MALFORMED"


def test_neurons_outside_the_class_are_refused():
    case, u = two_columns()
    both = replace(case, W=np.array([[0.5, 0.5]]))
    assert "Y1" in check_bytes(file_of(both, u)).reason
    listed = changed(both, network={"groups": [[0], [1]]})
    assert "Y1" in check_bytes(file_of(listed, u)).reason
    positive = changed(golden()[0], network={"heads": "nonnegative"}, v=np.array([-0.5]))
    assert "Y1" in check_bytes(file_of(positive, np.zeros(2))).reason
    falling = changed(golden()[0], network={"monotone": [-1]})
    assert "Y1" in check_bytes(file_of(falling, np.zeros(2))).reason
    # the product of these doubles rounds to zero
    tiny = changed(falling, W=np.array([[1e-200]]), v=np.array([1e-200]))
    assert "Y1" in check_bytes(file_of(tiny, np.zeros(2))).reason
    assert verdict(file_of(changed(tiny, v=np.array([-1e-200])), np.zeros(2))) == "ACCEPTED"


@pytest.mark.parametrize(("p_up", "p_low", "number"), [(-1, 0, "Y12"), (0, 1, "Y13")])
def test_bounds_that_are_too_good_are_refused(p_up: int, p_low: int, number: str):
    case, u = golden()
    claim, tensors = dual_claim(case, u)
    room = F(1, 10**30)
    good = {
        "p_up": str(F(claim["p_up"]) + p_up * room),
        "p_low": str(F(claim["p_low"]) + p_low * room),
    }
    raw = sealed(case, [(claim | good, tensors)])
    assert verdict(raw) == "REJECTED"
    assert number in check_bytes(raw).reason
    small = claim | {"gap": str(F(claim["gap"]) - room)}
    assert "Y2" in check_bytes(sealed(case, [(small, tensors)])).reason


def free_parts() -> tuple[Case, np.ndarray]:
    """Free intercept and free linear part on five samples."""
    rng = np.random.default_rng(7)
    case = Case(
        rng.standard_normal((5, 2)),
        rng.standard_normal(5),
        np.array([[0.5, 0.0]]),
        np.ones(1),
        bias=np.zeros(1),
        intercept=0.25,
        linear=np.array([0.5, -0.5]),
        network={"b": F(50)},
    )
    return case, derivative(case)


def test_repair_makes_the_equations_exact():
    case, u = free_parts()
    assert "Y5" in check_bytes(file_of(case, u)).reason
    assert "Y6" in check_bytes(file_of(replace(case, intercept=None), u)).reason
    assert verdict(file_of(case, u, repair=[0, 2, 3])) == "ACCEPTED"
    assert "Y3" in check_bytes(file_of(case, u, repair=[0, 1, 2, 3])).reason
    # too few rows: the columns that are left over do not vanish
    assert "Y6" in check_bytes(file_of(case, u, repair=[0, 2])).reason


def test_repair_with_collinear_columns_takes_those_that_are_independent():
    case, u = free_parts()
    X = case.X.copy()
    X[:, 1] = 2 * X[:, 0]
    assert verdict(file_of(replace(case, X=X), u, repair=[0, 3])) == "ACCEPTED"
    assert "Y3" in check_bytes(file_of(replace(case, X=X), u, repair=[0, 2, 3])).reason


@pytest.mark.parametrize("rows", [[1, 0], [0, 0], [-1, 0], [0, 5]])
def test_rows_of_repair_that_are_no_increasing_samples_are_malformed(rows: list[int]):
    case, u = free_parts()
    file = opened(file_of(case, u, repair=[0, 1]))
    file.tensors["claims.0.repair"] = np.array(rows)
    assert verdict(file.sealed()) == "MALFORMED"


def test_penalized_parts_need_no_equation_and_are_paid_for():
    case, u = free_parts()
    rules = {"intercept": "penalized", "k0": F(1, 4), "linear": "penalized", "k1": F(1, 8)}
    result = check_bytes(file_of(changed(case, network=rules), u))
    assert result.verdict.value == "ACCEPTED"
    assert "k0 = 1/4" in result.statement
    assert "k1 = 1/8" in result.statement
    dual = -(u @ case.y + u @ u / 2) - u.sum() ** 2 / 0.5 - ((case.X.T @ u) ** 2).sum() / 0.25
    assert float(numbers_of(result)["floor"]) == pytest.approx(dual, rel=1e-12)


def test_sums_of_two_doubles():
    case, u = golden(t=0.25, hidden_bias="free")
    tail = np.array([2.0**-60, -(2.0**-60)])
    assert verdict(file_of(case, np.array([u, -tail]))) == "ACCEPTED"
    assert verdict(file_of(case, np.array([u, tail]))) == "REJECTED"
    file = opened(file_of(case, u))
    file.claim["parts"] = 3
    assert verdict(file.sealed()) == "MALFORMED"


def test_one_sign_of_the_heads_needs_one_side_only():
    """With v >= 0 only sum u relu >= -b|w| is needed: u = (t, t) without an intercept is free."""
    case = replace(golden()[0], intercept=None)
    u = np.array([10.0, 10.0])
    assert verdict(file_of(case, u)) == "REJECTED"
    positive = changed(case, network={"heads": "nonnegative"})
    result = check_bytes(file_of(positive, u))
    assert result.verdict.value == "ACCEPTED"
    assert "output weights not negative" in result.statement
    assert verdict(file_of(positive, -u)) == "REJECTED"


@pytest.mark.parametrize("rule", ["penalized", "free", "none"])
@pytest.mark.parametrize("slope", [1, -1])
def test_nondecreasing_neurons_need_one_side_of_each_half(rule: str, slope: int):
    """u = (t, -t) pulls upward: a class of falling neurons cannot follow."""
    case, u = golden(t=3.0)
    rules = {"monotone": [slope], "hidden_bias": rule}
    case = changed(case, network=rules, v=slope * case.v, intercept=None)
    if rule == "none":
        case = replace(case, bias=None)
    # u_i relu(w x_i): the sum is -3 at w = 1 and 3 at w = -1, so rising neurons gain
    raw = file_of(case, u)
    assert verdict(raw) == ("REJECTED" if slope > 0 else "ACCEPTED")
    words = "nondecreasing" if slope > 0 else "nonincreasing"
    if slope < 0:
        assert f"every neuron is {words} in the columns 0" in check_bytes(raw).statement


@pytest.mark.parametrize("monotone", [[2], [0, 0], "up", [True], []])
def test_monotone_is_one_sign_per_column(monotone: Any):
    file = opened(file_of(*golden()))
    file.top["network"]["monotone"] = monotone
    assert verdict(file.sealed()) == "MALFORMED"


def test_monotone_pairs_are_malformed():
    case, u = two_columns()
    file = opened(file_of(changed(case, network={"groups": "all"}), 0 * u, "cones"))
    file.top["network"]["monotone"] = [1, 1]
    assert verdict(file.sealed()) == "MALFORMED"


def spectral_row(u: float, b: Fraction, **slopes: float) -> bytes:
    """One row x = 1 without bias: R4 by hand."""
    case = Case(
        np.ones((1, 1)),
        np.zeros(1),
        np.zeros((1, 1)),
        np.zeros(1),
        network={"groups": "all", "b": b},
    )
    tensors = {name: np.array([slopes.get(name, 0.5)]) for name in ("rho", "sig", "al", "be")}
    matrices = {}
    for name, sign in (("plus", 1), ("minus", -1)):
        gamma = slopes.get(f"gamma_{name}", 0.5)
        s = sign * u
        Q, c, k = (
            (s * tensors["rho"][0] / 2, s / 2, s * tensors["sig"][0] / 2)
            if s > 0
            else (
                s * tensors["be"][0],
                s * tensors["al"][0],
                0.0,
            )
        )
        M = np.array([[gamma - Q, -c / 2], [-c / 2, float(b) - k - gamma]])
        values, vectors = np.linalg.eigh(M)
        matrices[f"C_{name}"] = (vectors / np.sqrt(np.maximum(values, 1e-30))).T
    gammas = {f"gamma_{name}": F(slopes.get(f"gamma_{name}", 0.5)) for name in ("plus", "minus")}
    return file_of(case, np.array([u]), "spectral", witness=tensors | matrices, **gammas)


def test_golden_spectral_bound_is_exactly_the_maximum():
    """rho = sig = gamma = 1/2 proves H <= b for every b > 1 = H, never at b = 1."""
    minus = {"al": 0.0, "be": 0.0, "gamma_minus": 0.25}
    assert verdict(spectral_row(1.0, F(1001, 1000), **minus)) == "ACCEPTED"
    assert verdict(spectral_row(1.0, F(1), **minus)) != "ACCEPTED"
    assert verdict(spectral_row(1.0, F(999, 1000), **minus)) == "REJECTED"


def test_golden_spectral_negative_row_costs_nothing():
    plus = {"al": 0.0, "be": 0.0, "gamma_plus": 2.0**-11}
    raw = spectral_row(-1.0, F(2), **plus)
    assert verdict(raw) == "ACCEPTED"
    heads = opened(spectral_row(1.0, F(1, 1024), al=0.0, be=0.0, gamma_minus=2.0**-11))
    heads.top["network"]["heads"] = "nonnegative"
    for name in ("claims.0.C_plus",):
        heads.tensors.pop(name)
    heads.claim.pop("gamma_plus")
    assert verdict(heads.sealed()) == "ACCEPTED"


@pytest.mark.parametrize(
    "slopes",
    [
        {"al": 0.5, "be": 0.51},
        {"al": 0.4, "be": 0.41},
        {"al": 0.6, "be": 0.41},
        {"al": -0.1, "be": 0.0},
        {"al": 1.1, "be": 0.0},
        {"al": 0.5, "be": -0.1},
        {"rho": 0.5, "sig": 0.5 - 2.0**-51, "al": 0.0, "be": 0.0},
        {"rho": -0.5, "sig": -0.5, "al": 0.0, "be": 0.0},
    ],
)
def test_golden_slopes_that_prove_nothing(slopes: dict[str, float]):
    """be |x| <= min(al, 1 - al) and 4 sig rho >= 1 are exact."""
    good = spectral_row(1.0, F(100), al=0.5, be=0.5, gamma_plus=10.0, gamma_minus=10.0)
    assert verdict(good) == "ACCEPTED"
    raw = spectral_row(1.0, F(100), **({"gamma_plus": 10.0, "gamma_minus": 10.0} | slopes))
    assert verdict(raw) == "REJECTED"
    assert "Y9" in check_bytes(raw).reason


def test_spectral_files_of_random_networks():
    rng = np.random.default_rng(11)
    case = Case(
        rng.standard_normal((7, 3)),
        rng.standard_normal(7),
        rng.standard_normal((2, 3)),
        rng.standard_normal(2),
        bias=rng.standard_normal(2),
        network={"groups": "all", "b": F(2)},
    )
    u, gammas, witness = spectral_witness(case, derivative(case))
    raw = file_of(case, u, "spectral", witness=witness, **gammas)
    assert verdict(raw) == "ACCEPTED"
    file = opened(raw)
    file.top["network"]["b"] = "1999/1000"
    assert "Y10" in check_bytes(file.sealed()).reason
    zeros = replace(case, X=case.X * [[0], [1], [1], [1], [1], [1], [1]])
    u, gammas, witness = spectral_witness(zeros, np.append(0.0, derivative(zeros)[1:]))
    assert verdict(file_of(zeros, u, "spectral", witness=witness, **gammas)) == "ACCEPTED"


def quadratic_row(u: float, v: float = 1.0, heads: str = "nonnegative") -> bytes:
    """n = 1, x = 1, y = 1, b = 1, v_max = 1: a = 1/2."""
    case = Case(
        np.ones((1, 1)),
        np.ones(1),
        np.array([[0.5]]),
        np.array([v]),
        network={
            "neurons": "quadratic",
            "groups": "all",
            "b": F(1),
            "v_max": F(1),
            "heads": heads,
        },
    )
    factors = {"C_lower": np.array([[1 / math.sqrt(max(0.5 + u, 1e-12))]])}
    if heads == "any":
        factors["C_upper"] = np.array([[1 / math.sqrt(max(0.5 - u, 1e-12))]])
    return file_of(case, np.array([u]), "quadratic", witness=factors)


def test_golden_quadratic():
    result = check_bytes(quadratic_row(-0.5 * (1 - 1e-9)))
    assert result.verdict.value == "ACCEPTED"
    assert float(numbers_of(result)["floor"]) == pytest.approx(3 / 8, rel=1e-8)
    assert "between 0 and 1" in result.statement
    assert verdict(quadratic_row(-0.5)) != "ACCEPTED"
    assert "Y11" in check_bytes(quadratic_row(-0.51)).reason
    assert verdict(quadratic_row(5.0)) == "ACCEPTED"  # one side is enough for v >= 0
    assert "Y11" in check_bytes(quadratic_row(5.0, heads="any")).reason
    assert "of size at most 1" in check_bytes(quadratic_row(0.1, heads="any")).statement
    assert "Y1" in check_bytes(quadratic_row(0.1, v=1.5, heads="any")).reason
    assert "Y1" in check_bytes(quadratic_row(0.1, v=-0.5)).reason


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("hidden_bias", "free"),
        ("intercept", "penalized"),
        ("linear", "free"),
        ("groups", "columns"),
        ("monotone", [0]),
        ("neurons", "cubic"),
        ("heads", "positive"),
    ],
)
def test_classes_that_no_theorem_covers_are_malformed(field: str, value: Any):
    file = opened(quadratic_row(0.1))
    file.top["network"][field] = value
    assert verdict(file.sealed()) == "MALFORMED"


@pytest.mark.parametrize("constraint", ["columns", "cones", "spectral", "quadratic", "balls"])
def test_the_constraint_must_fit_the_class(constraint: str):
    quadratic = opened(quadratic_row(0.1))
    quadratic.claim["constraint"] = constraint
    assert (verdict(quadratic.sealed()) == "ACCEPTED") == (constraint == "quadratic")
    pairs = opened(
        file_of(changed(two_columns()[0], network={"groups": "all"}), np.zeros(2), "cones")
    )
    pairs.claim["constraint"] = constraint
    assert (verdict(pairs.sealed()) == "ACCEPTED") == (constraint == "cones")


def test_cones_with_free_biases_look_from_every_sample():
    case, u = two_columns()
    case = changed(case, network={"groups": "all", "hidden_bias": "free", "b": F(2)})
    assert verdict(file_of(case, u, "cones")) == "ACCEPTED"
    # H = t |x_1 - x_2| = t sqrt(20)
    edge = changed(case, network={"b": F(0.353) * F(4473, 1000)})
    assert verdict(file_of(edge, u, "cones")) == "ACCEPTED"
    short = changed(case, network={"b": F(0.353) * F(4471, 1000)})
    assert "Y8" in check_bytes(file_of(short, u, "cones")).reason


@pytest.mark.parametrize(
    ("name", "labels"), [("logistic", [0.0, 1.0]), ("hinge", [1.0, 2.0]), ("poisson", [-1.0, 0.0])]
)
def test_labels_for_which_the_loss_is_not_defined_are_malformed(name: str, labels: list[float]):
    file = opened(file_of(*golden(t=0.0)))
    file.top["loss"] = {"name": name}
    file.tensors["y"] = np.array(labels)
    assert verdict(file.sealed()) == "MALFORMED"


@pytest.mark.parametrize(
    "loss",
    [
        {"name": "huber", "parameter": "0"},
        {"name": "quantile", "parameter": "1"},
        {"name": "quantile", "parameter": "-1/2"},
        {"name": "huber"},
        {"name": "squared", "parameter": "1"},
        {"name": "absolute"},
        "squared",
    ],
)
def test_losses_outside_their_range_are_malformed(loss: Any):
    file = opened(file_of(*golden()))
    file.top["loss"] = loss
    assert verdict(file.sealed()) == "MALFORMED"


def test_a_statement_names_the_whole_problem():
    case, u = golden()
    case = changed(
        case,
        om=np.array([1.0, 2.0]),
        loss={"name": "huber", "parameter": F(1, 3)},
        network={"tau": F(1), "b": F(0.3)},
    )
    text = check_bytes(file_of(case, 0 * u)).statement
    for words in (
        "ReLU neurons, each seeing one column",
        "tau = 1",
        "intercept free",
        "no linear part",
        "b = 0.3 (exactly 5404319552844595/18014398509481984)",
        "huber loss with parameter 1/3",
        "2 samples",
        "weighted by the stored sample weights",
        "of any width",
    ):
        assert words in text, words
    assert "of the floor" not in text  # p_low is zero
    none = replace(golden()[0], bias=None)
    assert "no hidden biases" in check_bytes(file_of(none, 0 * u)).statement
    free = changed(golden()[0], network={"hidden_bias": "free"})
    assert "hidden biases not penalized" in check_bytes(file_of(free, 0 * u)).statement


def test_a_gap_that_follows_from_zero_has_a_note():
    case, u = golden()
    assert "next to nothing" in check_bytes(file_of(case, 0 * u)).reason
    poisson = replace(case, y=np.array([1.0, 2.0]), loss={"name": "poisson"})
    assert "next to nothing" not in check_bytes(file_of(poisson, 0 * u)).reason


def test_numbers_of_very_different_size_are_undecided_beyond_the_limits(
    monkeypatch: pytest.MonkeyPatch,
):
    case, u = golden()
    wide = replace(case, X=np.array([[1e-300], [1e300]]), intercept=None)
    assert verdict(file_of(wide, np.array([0.0, -1e-301]))) == "ACCEPTED"
    monkeypatch.setattr(limits, "EXACT_BITS", 1000)
    assert "bits, more than 1000" in check_bytes(file_of(wide, np.array([0.0, -1e-301]))).reason
    monkeypatch.setattr(limits, "BALL_BYTES", 300)
    assert "bytes" in check_bytes(file_of(case, u)).reason


def test_work_is_charged_before_it_is_done(monkeypatch: pytest.MonkeyPatch):
    case, u = free_parts()
    raw = file_of(case, u, repair=[0, 2, 3])
    monkeypatch.setattr(limits, "WORK", 10**3)
    assert "the work of" in check_bytes(raw).reason


def test_a_logistic_bound_beyond_128_bits_is_decided_at_more():
    """p_up beside the objective at 2^-200: open at 128 bits, decided at 256."""
    case = replace(golden()[0], loss={"name": "logistic"}, intercept=None)
    claim, tensors = dual_claim(case, np.array([0.1, -0.1]))
    for sign, expected in ((1, "ACCEPTED"), (-1, "REJECTED")):
        value = F(claim["p_up"]) * (1 + F(sign, 2**200))
        raw = sealed(case, [(claim | {"p_up": str(value), "p_low": "-1", "gap": "100"}, tensors)])
        result = check_bytes(raw)
        assert result.verdict.value == expected
        if sign > 0:
            assert result.claims[0].bits == 256


@pytest.mark.parametrize("heads", ["any", "nonnegative"])
def test_rows_that_are_mostly_zeros_give_the_same_verdicts(heads: str):
    """Rows of one or two entries in 24 columns: sums and products are taken over these alone; the
    slow checker takes all.
    """
    rng = np.random.default_rng(24)
    X = np.zeros((30, 24))
    X[np.arange(30), rng.integers(0, 24, 30)] = rng.standard_normal(30)
    X[0, 3] = X[0, 5] = 1.5
    rules = {"neurons": "quadratic", "groups": "all", "heads": heads, "v_max": F(1), "b": F(1)}
    W = 0.3 * rng.standard_normal((2, 24))
    case = Case(X, rng.standard_normal(30), W, np.array([1.0, 0.5]), network=rules)
    u, factors = quadratic_witness(case, rounded(derivative(case)))
    assert verdict(file_of(case, u, "quadratic", witness=factors)) == "ACCEPTED"
    assert "Y11" in check_bytes(file_of(case, 2.0 * u, "quadratic", witness=factors)).reason
