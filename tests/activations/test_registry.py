"""Names, parameters, structural facts, copies, and activations of the user's own."""

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

from globalmin.activations import (
    Activation,
    activation_names,
    get_activation,
    register_activation,
    registry,
)
from globalmin.errors import DataError

ALL = (
    "softplus", "softplus(4)", "sigmoid", "sigmoid(0.1)", "tanh", "erf", "swish", "gelu",
    "quadratic", "polynomial(1,-2.5,1e-3)",
    "linear", "relu", "leaky_relu(0.1)", "abs",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _no_registration_outlives_its_test(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", {})


def sine(**changes):
    given = {
        "second": lambda z: -np.sin(z),
        "third": lambda z: -np.cos(z),
        "suprema": [1, 1, 1, 1],
    } | changes
    return register_activation("wave", np.sin, given.pop("derivative", np.cos), **given)


@pytest.mark.parametrize("spelling", ALL)
def test_spelling_reads_back_as_the_same_activation(spelling):
    phi = get_activation(spelling)
    assert get_activation(phi.spelling) == phi == get_activation(phi)
    assert get_activation(f"  {spelling.replace('(', ' ( ')} ") == phi
    assert str(phi) == phi.spelling
    assert hash(get_activation(phi.spelling)) == hash(phi)


@pytest.mark.parametrize("spelling", ALL)
def test_activations_survive_copying_and_transport_to_a_worker(spelling):
    phi = get_activation(spelling)
    for twin in (copy.deepcopy(phi), copy.copy(phi), pickle.loads(pickle.dumps(phi))):  # noqa: S301
        assert twin == phi
        assert float(twin(0.7)) == float(phi(0.7))


def test_parameters_are_part_of_the_identity():
    assert get_activation("softplus") == get_activation("softplus(1)")
    assert get_activation("softplus") != get_activation("softplus(2)")
    assert get_activation("polynomial(1,2)") != get_activation("polynomial(1,2,3)")
    assert get_activation("softplus(4)").parameter == 4.0
    assert get_activation("tanh").parameter is None
    assert get_activation("leaky_relu").parameter == 0.01
    assert get_activation("polynomial(1,2)").coefficients == (1.0, 2.0)


@pytest.mark.parametrize("spelling", ALL)
def test_structural_facts_are_true_on_a_grid(spelling):
    phi, z = get_activation(spelling), np.linspace(-5, 5, 101)
    assert phi.is_odd == bool(np.allclose(phi(-z), -phi(z), atol=1e-14))
    assert phi.vanishes_at_zero == (float(phi(0.0)) == 0.0)
    assert phi.is_nonnegative == bool((phi(z) >= 0).all())
    p = phi.homogeneity
    for degree in (1, 2, 3):
        assert (degree == p) == bool(
            np.allclose(phi(3.0 * z), 3.0**degree * phi(z), rtol=1e-12, atol=1e-12)
        )
    assert phi.is_smooth == (spelling.split("(")[0] not in ("relu", "leaky_relu", "abs"))


def test_facts_of_polynomials():
    assert get_activation("polynomial(0,1,0,-2)").is_odd
    assert get_activation("polynomial(1,0,2)").is_nonnegative
    assert get_activation("polynomial(0,0,0,5)").homogeneity == 3
    assert get_activation("polynomial(7)").homogeneity is None
    assert get_activation("leaky_relu(0)").is_nonnegative
    assert not get_activation("leaky_relu(0.5)").is_nonnegative


def test_names_and_parameters_of_certificates():
    assert [get_activation(n).certificate_name for n in ("softplus(4)", "relu", "leaky_relu(0.1)",
    "linear", "abs")] == [
        "softplus", "relu", "leaky_relu", "linear", "abs",
    ]  # fmt: skip
    assert [get_activation(n).certificate_name for n in ("swish", "gelu", "polynomial(0,0,1)")] == [
        None
    ] * 3
    assert get_activation("softplus").certificate_parameter is None
    assert get_activation("sigmoid(1.0)").certificate_parameter is None
    assert get_activation("softplus(0.1)").certificate_parameter == Fraction(0.1)
    assert get_activation("leaky_relu(0)").certificate_parameter == 0
    assert get_activation("quadratic").certificate_parameter is None


@pytest.mark.parametrize(
    ("spelling", "message"),
    [
        ("softmax", "known: softplus, sigmoid"),
        ("", "is not a name"),
        (7, "is not a name"),
        (None, "is not a name"),
        ("softplus(4", "is not a name"),
        ("softplus(4)(4)", "is not a name"),
        ("softplus(four)", "must be numbers"),
        ("softplus(1,2)", "does not take 2 parameter"),
        ("tanh(2)", "does not take 1 parameter"),
        ("softplus(nan)", "must be finite"),
        ("softplus(0)", "between 1e-60 and 1e60"),
        ("sigmoid(-1)", "between 1e-60 and 1e60"),
        ("leaky_relu(1)", "0 <= slope < 1"),
        ("leaky_relu(-0.1)", "0 <= slope < 1"),
        ("polynomial", "1 to 33 coefficients"),
        (f"polynomial({','.join(['1'] * 34)})", "1 to 33 coefficients"),
        ("polynomial(0,1e300)", "1e290"),
    ],
)
def test_wrong_names_are_refused_with_a_reason(spelling, message):
    with pytest.raises(DataError, match=message.replace("(", r"\(")):
        get_activation(spelling)


def test_the_extreme_parameters_allowed_work():
    for spelling in ("softplus(1e60)", "sigmoid(1e-60)", "softplus(1e-60)", "sigmoid(1e60)"):
        phi = get_activation(spelling)
        for order in (1, 2, 3):
            assert np.isfinite(phi.supremum_on(order, -1.0, 1.0))
            assert np.isfinite(phi.derivative([-1.0, 0.0, 1.0], order)).all()


def test_a_registered_activation_is_found_by_name_and_cannot_be_certified():
    phi = sine(is_odd=True, vanishes_at_zero=True)
    assert isinstance(phi, Activation)
    assert get_activation("wave") is phi
    assert activation_names()[-1] == "wave"
    assert phi.certificate_name is None
    assert phi.certificate_parameter is None
    assert phi.supremum(4) == 1
    assert copy.deepcopy(phi) is phi
    with pytest.raises(DataError, match=r"wave\(2\)"):
        get_activation("wave(2)")


def test_local_bounds_of_a_registered_activation_hold_and_use_the_next_supremum():
    phi, rng = sine(), np.random.default_rng(0)
    low = rng.normal(size=300) * 4
    high = low + rng.exponential(size=300)
    for order in (1, 2, 3):
        bound = phi.supremum_on(order, low, high)
        assert (
            bound >= np.abs(phi.derivative(np.linspace(low, high, 101), order)).max(axis=0)
        ).all()
        assert (bound <= 1.0).all()
    assert float(phi.supremum_on(1, math.pi / 2, math.pi / 2 + 0.1)) < 0.11


def test_a_registered_activation_may_leave_out_what_is_unknown():
    phi = register_activation(
        "hump", lambda z: np.exp(-z * z), lambda z: -2 * z * np.exp(-z * z), suprema=[0.86]
    )
    assert phi.supremum(1) == Fraction(0.86)
    assert phi.supremum(2) == math.inf
    assert float(phi.supremum_on(1, 5.0, 6.0)) == float(Fraction(0.86))
    with pytest.raises(DataError, match="without its derivative of order 2"):
        phi.derivative(0.0, 2)
    bare = register_activation("bare", np.sin, np.cos)
    assert [bare.supremum(j) for j in (1, 2, 3, 4)] == [math.inf] * 4


def test_functions_with_kinks_and_steep_ones_may_be_registered():
    def slope(z):
        return np.where(np.abs(z) < 1, 1.0, 0.0)

    phi = register_activation(
        "hard", lambda z: np.clip(z, -1, 1), slope, suprema=[1], is_smooth=False, is_odd=True
    )
    assert not phi.is_smooth
    steep = get_activation("softplus(500)")
    register_activation(
        "steep",
        *steep.derivatives,
        suprema=[steep.supremum(j) for j in (1, 2, 3, 4)],
        is_nonnegative=True,
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"derivative": lambda z: np.cos(z) + 1e-3},
            "derivative of order 1 is .* differences of the function below",
        ),
        ({"second": np.sin}, "derivative of order 2"),
        ({"third": np.cos}, "derivative of order 3"),
        ({"suprema": [0.9, 1, 1, 1]}, r"suprema\[0\] = 0.9 is below"),
        ({"suprema": [1, 0.5], "second": None, "third": None}, r"suprema\[1\] = 0.5 is below"),
        ({"suprema": [1, 1, 0.9]}, r"suprema\[2\]"),
        ({"suprema": [1, -1]}, "up to four numbers"),
        ({"suprema": [math.nan]}, "up to four numbers"),
        ({"suprema": [1] * 5}, "up to four numbers"),
        ({"is_nonnegative": True}, "is_nonnegative=True is not true"),
        ({"homogeneity": 1}, "homogeneity=1 is not true"),
        ({"derivative": lambda z: 1.0}, "a float array of shape"),
        ({"second": lambda z: -np.sin(z).astype(np.float32)}, "type float32"),
        ({"third": lambda z: np.where(z > 5, np.nan, -np.cos(z))}, "finite on"),
        ({"is_fast": True}, "unknown: is_fast"),
    ],
)
def test_what_the_user_states_is_tested(changes, message):
    with pytest.raises(DataError, match=message):
        sine(**changes)
    assert "wave" not in activation_names()


def test_false_parity_and_value_at_zero_are_refused():
    for fact in ("is_odd", "vanishes_at_zero"):
        with pytest.raises(DataError, match=f"{fact}=True is not true"):
            register_activation("cosine", np.cos, lambda z: -np.sin(z), suprema=[1], **{fact: True})


def test_taken_and_unusable_names_are_refused():
    sine()
    with pytest.raises(DataError, match="replace=True"):
        sine()
    assert sine(replace=True) is get_activation("wave")
    for name, message in (
        ("relu", "is taken"),
        ("my wave", "letters"),
        ("", "letters"),
        (3, "letters"),
    ):
        with pytest.raises(DataError, match=message):
            register_activation(name, np.sin, np.cos)
