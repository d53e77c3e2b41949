"""Every hypothesis that theorems share, on both sides of its edge, with the numbers it shows."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import globalmin as gm
from globalmin.activations import get_activation
from globalmin.facts import assumptions
from globalmin.facts.instance import UNIT
from globalmin.inspection.measurements import measure


def measured(X, activation="softplus"):
    X = np.asarray(X, dtype=float)
    data = gm.Dataset(X, np.arange(1.0, len(X) + 1), bias=False, scaling="none")
    return measure(data, get_activation(activation))


def instance(W, v=None, activation="softplus", n=5):
    W = np.asarray(W, dtype=float)
    v = np.ones(len(W)) if v is None else np.asarray(v, dtype=float)
    m = SimpleNamespace(activation=get_activation(activation), n=n, d=W.shape[1])
    return SimpleNamespace(m=m, start=SimpleNamespace(network=SimpleNamespace(W=W, v=v)))


@pytest.mark.parametrize(
    ("width", "needed", "finding"),
    [(10, 10.0, "holds"), (9, 10.0, "fails"), (10, 10.5, "fails"), (10, math.inf, "fails")],
)
def test_width(width, needed, finding):
    assert assumptions.enough_width(width, needed).finding == finding


@pytest.mark.parametrize(("failure", "finding"), [(1.0, "fails"), (0.999, "holds"), (0.0, "holds")])
def test_a_promise_says_something_below_one(failure, finding):
    assert assumptions.promised(failure).finding == finding


@pytest.mark.parametrize(
    ("low", "high", "finding"),
    [
        (1.0, 1.0, "holds"),
        (1.0 - 0.9 * UNIT, 1.0 + 0.9 * UNIT, "holds"),
        (1.0 - 1.1 * UNIT, 1.0, "fails"),
        (1.0, 1.0 + 1.1 * UNIT, "fails"),
    ],
)
def test_rows_of_norm_one(low, high, finding):
    X = [[low, 0.0], [0.0, high]]
    found = measured(X)
    assert assumptions.unit_rows(found).finding == finding
    assert ("scaling" in assumptions.scale_rows(found)) is (finding == "fails")
    assert ("use scaling" in assumptions.unit_rows(found).measured) is (finding == "fails")


def test_other_rows_are_sent_to_the_theorem_that_takes_them():
    X = [[2.0, 0.0], [0.0, 1.0]]
    assert "OS-C3 takes" in assumptions.scale_rows(measured(X, "relu"))
    assert "OS-C6 takes" in assumptions.scale_rows(measured(X))


@pytest.mark.parametrize(
    ("activation", "expected"),
    [
        ("softplus", ("holds", "holds", "holds", "holds")),
        ("tanh", ("holds", "holds", "holds", "holds")),
        ("quadratic", ("fails", "holds", "fails", "holds")),  # phi' unbounded
        ("relu", ("fails", "fails", "fails", "holds")),  # a kink
        ("polynomial(0,0,0,1)", ("fails", "fails", "fails", "holds")),
        ("linear", ("holds", "holds", "holds", "fails")),
        ("polynomial(1,2)", ("holds", "holds", "holds", "fails")),  # affine by another name
    ],
)
def test_smoothness_and_curvature_of_activations(activation, expected):
    m = measured(np.eye(2), activation)
    found = (
        assumptions.smooth(m),
        assumptions.bounded_curvature(m),
        assumptions.thrice_bounded(m),
        assumptions.not_affine(m),
    )
    assert tuple(h.finding.value for h in found) == expected


def test_labels():
    data = gm.Dataset(np.eye(2), np.zeros(2), bias=False, scaling="none")
    zero = measure(data, get_activation("softplus"))
    assert assumptions.labels(zero).finding == "fails"
    assert assumptions.labels(measured(np.eye(2))).finding == "holds"
    assert assumptions.relu(zero).finding == "fails"
    assert assumptions.relu(measured(np.eye(2), "relu")).finding == "holds"


@pytest.mark.parametrize(
    ("rows", "activation", "words"),
    [
        ([[0.1, 0.0], [0.0, 0.1]], "softplus", ""),
        ([[0.1, 0.0], [0.0, 0.0]], "softplus", ": row 1 is zero"),
        ([[0.1, 0.0], [0.1, 0.0]], "softplus", ": rows 0 and 1 are equal"),
        ([[0.1, 0.0], [-0.1, 0.0]], "tanh", ": rows 0 and 1 are equal up to sign"),
        ([[0.1, 0.0], [-0.3, 0.0]], "quadratic", ": rows 0 and 1 are multiples of each other"),
    ],
)
def test_rows_that_make_the_limit_singular_are_named(rows, activation, words):
    m = measured(rows, activation)
    assert assumptions.why_singular(m) == words
    found = assumptions.positive_lambda(m)
    assert found.finding == ("fails" if words else "holds")
    assert found.measured.endswith(words)


def test_a_limit_below_resolution_is_not_called_singular():
    m = measured([[1.0, 0.0], [1.0, 1e-9]])
    assert m.lam == 0.0
    assert assumptions.why_singular(m) == ": below what floats resolve"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([[0.1, 0.0], [0.0, 0.0]], "row 1 is zero"),
        ([[0.1, 0.0], [0.1, 0.0]], "rows 0 and 1 are equal (exact)"),
        ([[0.1, 0.0], [0.2, 0.0]], "rows 0 and 1 are parallel (exact)"),
        ([[0.1, 0.0], [-0.1, 0.0]], "rows 0 and 1 are antiparallel (exact)"),
    ],
)
def test_parallel_rows_are_named(rows, words):
    found = assumptions.no_parallel_rows(measured(rows))
    assert found.finding == "fails"
    assert found.measured == words
    assert assumptions.no_parallel_rows(measured(np.eye(2))).finding == "holds"


def test_the_second_moment_of_inputs_is_compared_with_what_a_gaussian_has():
    """|X^T X/n - I| = 0 for rows +-sqrt(d) e_j, 3 for twice as long ones; d = 2, n = 8 expects
    2 sqrt(1/4) + 1/4.
    """
    X = math.sqrt(2.0) * np.vstack([np.eye(2), -np.eye(2)] * 2)
    for factor, shown in ((1.0, "≈0"), (2.0, "= 3,")):
        found = assumptions.gaussian(SimpleNamespace(X=factor * X, n=8, d=2))
        assert found.finding == "constant unknown"
        assert found.measured.endswith("1.25 expected")
        value = float(found.measured.split("‖ = ")[1].split(",")[0])
        assert value == pytest.approx(factor**2 - 1, abs=1e-12), shown


@pytest.mark.parametrize(("k", "finding"), [(3, "holds"), (2, "fails"), (4, "holds")])
def test_as_many_neurons_as_features(k, finding):
    assert assumptions.at_least_as_wide(SimpleNamespace(d=3), k).finding == finding


@pytest.mark.parametrize(("n", "finding"), [(3, "holds"), (2, "fails"), (4, "holds")])
def test_as_many_samples_as_features(n, finding):
    assert assumptions.enough_samples(SimpleNamespace(d=3, n=n)).finding == finding


@pytest.mark.parametrize(
    ("W", "v", "finding"),
    [
        ([[1.0, 0.0], [0.0, 0.5]], [1.0, -0.5], "holds"),
        ([[1.0, 0.0], [0.0, 0.0]], [1.0, -0.5], "fails"),
        ([[1.0, 0.0], [0.0, 0.5]], [1.0, 0.0], "fails"),
    ],
)
def test_weights_that_are_not_zero(W, v, finding):
    found = assumptions.sized_weights(instance(W, v))
    assert found.finding == finding
    assert found.measured.startswith(f"|v_l| from {min(map(abs, v)):.3g} to 1".replace("0.0", "0"))


def test_the_ratio_of_samples_is_shown_and_never_judged():
    """SJL (2.3): n sigma_max^8/(sigma_min^4 d^2) = 5 * 2^8/4 for class a, without sigma_min for
    class b; without full column rank it fails for every constant.
    """
    W = np.diag([2.0, 1.0])
    for activation, ratio in (("softplus", 320), ("tanh", 320)):
        found = assumptions.few_samples(instance(W, activation=activation))
        assert found.finding == "constant unknown"
        assert found.measured.startswith(f"n is {ratio} times")
    steep = np.diag([2.0, 0.5])
    assert assumptions.few_samples(instance(steep)).measured.startswith("n is 5,120 times")
    odd = assumptions.few_samples(instance(steep, activation="tanh"))
    assert odd.measured.startswith("n is 320 times")
    assert "class b" in odd.statement
    flat = np.array([[1.0, 0.0]])
    assert assumptions.few_samples(instance(flat)).finding == "fails"
    assert assumptions.few_samples(instance(flat, activation="tanh")).finding == (
        "constant unknown"
    )


@pytest.mark.parametrize(
    ("activation", "slope", "curvature", "letter"),
    [
        ("softplus", "holds", "holds", " (class a)"),
        ("quadratic", "holds", "holds", " (class a)"),
        ("tanh", "holds", "holds", " (class b)"),
        ("polynomial(0,-3,0,1)", "fails", "holds", ""),  # E phi'(sg) = 3 s^2 - 3
    ],
)
def test_means_of_slope_and_curvature(activation, slope, curvature, letter):
    """SJL-A2.3, with the range over the neurons, zero rows left out."""
    it = instance([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]], activation=activation)
    found = assumptions.average_slope(it), assumptions.average_curvature(it)
    assert (found[0].finding.value, found[1].finding.value) == (slope, curvature)
    assert letter in found[1].measured
    if activation == "quadratic":  # phi' = 2z, phi'' = 2
        assert "μ(" not in found[0].measured
        assert found[1].measured.endswith("γ(‖w_l‖) from 2 to 2")
    if activation == "softplus":
        assert found[0].measured.endswith("μ(‖w_l‖) from 0.5 to 0.5")
    nothing = instance(np.zeros((2, 2)), activation=activation)
    assert "‖w_l‖" not in assumptions.average_slope(nothing).measured
