"""Bounds over intervals: the proof that phi^(j) is monotone between its peaks, and the bounds
against brute force.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from tests.activations.ball_formulas import SMOOTH, has_no_zero, hull, jet, largest, precision

from globalmin.activations import get_activation, suprema
from globalmin.activations.suprema import SLACK, float_above
from globalmin.errors import DataError

PEAKS = {
    "softplus": ((), *suprema.LOGISTIC_PEAKS[:2]),
    "sigmoid": suprema.LOGISTIC_PEAKS,
    "tanh": suprema.TANH_PEAKS,
    "erf": suprema.ERF_PEAKS,
    "swish": suprema.SWISH_PEAKS,
    "gelu": suprema.GELU_PEAKS,
}
EDGE = {"softplus": 40.0, "sigmoid": 40.0, "tanh": 40.0, "swish": 40.0, "erf": 12.0, "gelu": 12.0}
CASES = [(name, order) for name in SMOOTH for order in (1, 2, 3)]


def enclosures(name, order):
    return sorted(
        suprema._enclosures(PEAKS[name][order - 1], rate=1.0, factor=Fraction(1)),
        key=lambda peak: peak.low,
    )


def reduced(name, order, q, x, sign):
    """phi^(order)(z) without its positive factor and its largest power of |z|, as a function of q =
    e^{-|z|} and x = 1/|z|.
    """
    if name == "erf":
        return {2: -2 * sign, 3: 4 - 2 * x**2, 4: sign * (12 * x**2 - 8)}[order]
    if name == "gelu":
        return {2: 2 * x**2 - 1, 3: sign * (1 - 4 * x**2), 4: -(1 - 7 * x**2 + 4 * x**4)}[order]
    if name == "tanh":
        q = q * q
    t, u = sign * (1 - q) / (1 + q), q / (1 + q) ** 2  # tanh(z/2) and s'
    logistic = {1: 1, 2: -t, 3: 1 - 6 * u, 4: -t * (1 - 12 * u)}  # s^(j)/s'
    if name == "swish":
        return order * logistic[order - 1] * x + sign * logistic[order]
    return logistic[order - 1] if name == "softplus" else logistic[order]


def removed_factor(name, order, z):
    """What `reduced` leaves out: positive for all z != 0."""
    if name == "erf":
        return 2 / math.sqrt(math.pi) * math.exp(-z * z) * abs(z) ** (order - 1)
    if name == "gelu":
        return (
            math.exp(-z * z / 2) / math.sqrt(2 * math.pi) * abs(z) ** (order if order != 1 else 0)
        )
    if name == "tanh":
        return 2 ** (order + 1) * float(jet("sigmoid", 2 * z, 1)[1])
    return float(jet("sigmoid", z, 1)[1]) * (abs(z) if name == "swish" else 1)


@pytest.mark.parametrize(("name", "order"), CASES)
def test_the_reduced_form_is_the_next_derivative(name, order):
    for z in (-3.0, -0.7, 1.3, 5.0):
        value = reduced(
            name, order + 1, math.exp(-abs(z)), 1 / abs(z), math.copysign(1, z)
        ) * removed_factor(name, order + 1, z)
        assert float(value) == pytest.approx(float(jet(name, z, order + 1)[order + 1]), rel=1e-11)


@pytest.mark.parametrize(("name", "order"), CASES)
def test_the_derivative_has_no_zero_outside_the_enclosures_of_the_peaks(name, order):
    ends = [
        -EDGE[name],
        *(end for peak in enclosures(name, order) for end in (peak.low, peak.high)),
        EDGE[name],
    ]
    for low, high in zip(ends[::2], ends[1::2], strict=True):
        assert has_no_zero(lambda z: jet(name, z, order + 1)[order + 1], low, high)
    with precision(160, 2):
        q, x = arb(0).union((-arb(EDGE[name])).exp()), arb(0).union(1 / arb(EDGE[name]))
        for sign in (-1, 1):
            assert reduced(name, order + 1, q, x, sign) != 0  # certain for balls: every |z| >= EDGE


@pytest.mark.parametrize(("name", "order"), CASES)
def test_the_values_of_the_peaks_hold_in_their_enclosures_and_are_tight(name, order):
    for peak in enclosures(name, order):
        middle, around = 0.5 * (peak.low + peak.high), hull(peak.low, peak.high)
        with precision(160, 2):
            value = jet(name, middle, order)[order] + jet(name, around, order + 1)[order + 1] * (
                around - middle
            )
        assert largest(value) <= peak.value * (1 + 2.0**-50)
        assert peak.value <= float(abs(value).lower()) * (1 + 1e-10)


def random_intervals(seed, count, *, scale=4.0, width=1.0):
    rng = np.random.default_rng(seed)
    low = rng.normal(size=count) * scale
    return low, low + rng.exponential(size=count) * width


def assert_holds_and_is_tight(phi, order, low, high):
    bound = phi.supremum_on(order, low, high)
    samples = np.linspace(low, high, 401)
    reached = np.abs(phi.derivative(samples, order)).max(axis=0)
    assert (bound >= reached).all()
    # sampling misses the largest value by at most half a mesh width squared times the curvature
    curvature = np.max(np.abs(np.diff(phi.derivative(samples, order), n=2, axis=0)), axis=0)
    assert (bound <= reached + curvature + 1e-9 * (1 + reached)).all()


@pytest.mark.parametrize(
    "name",
    [*SMOOTH, "softplus(4)", "sigmoid(0.3)", "quadratic", "polynomial(1,-3,0.5,2,-0.25)", "linear"],
)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_interval_bounds_hold_and_are_tight_on_random_intervals(name, order):
    phi = get_activation(name)
    for width in (1e-6, 0.3, 5.0):
        assert_holds_and_is_tight(phi, order, *random_intervals(order, 500, width=width))


@pytest.mark.parametrize(("name", "order"), CASES)
def test_interval_bounds_are_above_exact_values_at_ends_and_inside(name, order):
    phi = get_activation(name)
    low, high = random_intervals(7, 25, width=0.2)
    for a, b in zip(low, high, strict=True):
        bound = arb(float(phi.supremum_on(order, a, b)))
        for z in (a, b, *np.linspace(a, b, 5)[1:-1]):
            assert abs(jet(name, float(z), order)[order]) <= bound


@pytest.mark.parametrize(("name", "order"), CASES)
def test_a_point_interval_costs_only_the_slack(name, order):
    phi = get_activation(name)
    z = np.random.default_rng(3).normal(size=200) * 4
    top = float_above(phi.supremum(order))
    excess = phi.supremum_on(order, z, z) - np.abs(phi.derivative(z, order))
    assert (excess >= 0).all()
    assert (excess <= 1.01 * SLACK * top).all()


@pytest.mark.parametrize("name", [*SMOOTH, "softplus(1024)"])
def test_wide_and_infinite_intervals_reach_the_supremum_over_the_line(name):
    phi = get_activation(name)
    for order in (1, 2, 3):
        top = float_above(phi.supremum(order))
        for low, high in ((-math.inf, math.inf), (-50.0, 50.0), (-1e300, 1e300)):
            assert top * (1 - 1e-7) <= float(phi.supremum_on(order, low, high)) <= top


def test_functions_with_a_kink_are_exact_away_from_it_and_infinite_on_it():
    low, high = np.array([-2.0, 1.0, -1.0, 0.0, -1.0]), np.array([-1.0, 2.0, 1.0, 1.0, 0.0])
    assert get_activation("relu").supremum_on(1, low, high).tolist() == [0, 1, 1, 1, 1]
    assert get_activation("leaky_relu(0.25)").supremum_on(1, low, high).tolist() == [
        0.25,
        1,
        1,
        1,
        1,
    ]
    assert get_activation("abs").supremum_on(1, low, high).tolist() == [1, 1, 1, 1, 1]
    assert get_activation("relu").supremum_on(2, low, high).tolist() == [
        0,
        0,
        math.inf,
        math.inf,
        math.inf,
    ]
    assert get_activation("linear").supremum_on(2, low, high).tolist() == [0, 0, 0, 0, 0]


def test_polynomial_bounds_are_above_exact_fractions():
    rng = np.random.default_rng(5)
    for _ in range(20):
        coefficients = rng.normal(size=int(rng.integers(2, 9)))
        phi = get_activation(f"polynomial({','.join(map(repr, map(float, coefficients)))})")
        low, high = random_intervals(int(rng.integers(100)), 4)
        for order in (1, 2, 3):
            exact = [Fraction(float(c)) for c in coefficients]
            for _ in range(order):
                exact = [j * c for j, c in enumerate(exact)][1:]
            for a, b, bound in zip(low, high, phi.supremum_on(order, low, high), strict=True):
                points = [
                    Fraction(a) + (Fraction(b) - Fraction(a)) * Fraction(i, 10) for i in range(11)
                ]
                assert max(
                    abs(sum(c * z**j for j, c in enumerate(exact))) for z in points
                ) <= Fraction(float(bound))


def test_polynomials_with_multiple_critical_points_at_one_place():
    phi = get_activation(
        "polynomial(0,4,-6,4,-1)"
    )  # 1 - (1 - z)^4: the derivative has a triple critical point at 1
    assert float(phi.supremum_on(1, 0.5, 1.5)) == pytest.approx(0.5)
    assert float(phi.supremum_on(1, 1.0, 1.0)) <= 1e-9


def test_polynomials_of_huge_arguments_give_infinity_not_nan():
    phi = get_activation("polynomial(0,0,0,1,-1)")
    assert float(phi.supremum_on(1, 1e200, 1e201)) == math.inf


def test_bounds_broadcast_and_refuse_nonsense():
    phi = get_activation("softplus")
    assert phi.supremum_on(1, np.zeros((3, 1)), np.ones(4)).shape == (3, 4)
    for low, high in ((1.0, 0.0), (math.nan, 1.0), ([0.0, 0.0], [1.0, math.nan])):
        with pytest.raises(DataError, match="low must be <= high"):
            phi.supremum_on(1, low, high)
    for order in (0, 4, -1, 1.5, "1"):
        with pytest.raises(DataError, match="order"):
            phi.supremum_on(order, 0.0, 1.0)
    with pytest.raises(DataError, match="order=5"):
        phi.supremum(5)
    with pytest.raises(DataError, match="order=4"):
        phi.derivative(0.0, 4)
