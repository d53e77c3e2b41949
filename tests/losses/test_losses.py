"""Each loss against automatic differentiation, its conjugate against a brute-force supremum, its
domain against where that supremum runs away.
"""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import globalmin as gm
from globalmin.losses import LOSSES, get_loss

CASES = {
    "squared": get_loss("squared"),
    "huber": get_loss("huber", 0.75),
    "quantile": get_loss("quantile", 0.875),
    "quantile, smoothed": get_loss("quantile", 0.875).smoothed(0.25),
    "poisson": get_loss("poisson"),
    "logistic": get_loss("logistic"),
    "hinge": get_loss("hinge"),
    "hinge, smoothed": get_loss("hinge").smoothed(0.25),
    "squared_hinge": get_loss("squared_hinge"),
}
FORMULAS = {
    "squared": lambda t, y: (t - y) ** 2 / 2,
    "huber": lambda t, y: jnp.where(
        jnp.abs(t - y) <= 0.75, (t - y) ** 2 / 2, 0.75 * jnp.abs(t - y) - 0.75**2 / 2
    ),
    "quantile": lambda t, y: jnp.maximum(0.875 * (y - t), -0.125 * (y - t)),
    "poisson": lambda t, y: jnp.exp(t) - y * t,
    "logistic": lambda t, y: jnp.log1p(jnp.exp(-y * t)),
    "hinge": lambda t, y: jnp.maximum(0.0, 1 - y * t),
    "squared_hinge": lambda t, y: jnp.maximum(0.0, 1 - y * t) ** 2 / 2,
}
LABELS = {"real": (-1.3, 0.0, 2.4), "signs": (-1.0, 1.0), "counts": (0.0, 1.0, 3.5)}
# irrational, so that no point is a kink
OUTPUTS = np.linspace(-3.1, 3.3, 45) + np.sqrt(2) / 1000


def test_every_loss_has_a_case():
    joint = {"softmax"}  # in test_several_outputs.py
    assert {loss.name for loss in CASES.values()} | joint == set(LOSSES)


@pytest.mark.parametrize("name", FORMULAS)
def test_value_and_derivatives_agree_with_autodiff(name: str):
    loss, formula = CASES[name], FORMULAS[name]
    with jax.enable_x64(True):
        for y in LABELS[loss.labels]:
            labels = np.full_like(OUTPUTS, y)
            first = jax.vmap(jax.grad(lambda t, y=y: formula(t, y)))
            second = jax.vmap(jax.grad(jax.grad(lambda t, y=y: formula(t, y))))
            found = loss.value(OUTPUTS, labels), loss.derivative(OUTPUTS, labels)
            # both sides are evaluated in doubles: a few roundings of numbers up to 30
            np.testing.assert_allclose(found[0], formula(OUTPUTS, y), rtol=1e-13, atol=1e-13)
            np.testing.assert_allclose(found[1], first(OUTPUTS), rtol=1e-12, atol=1e-13)
            np.testing.assert_allclose(
                loss.second(OUTPUTS, labels), second(OUTPUTS), rtol=1e-11, atol=1e-13
            )


@pytest.mark.parametrize("name", [name for name in CASES if "smoothed" in name])
def test_the_envelope_is_the_infimal_convolution(name: str):
    loss, plain = CASES[name], CASES[name.split(",")[0]]
    s = np.linspace(-8, 8, 160001)
    for y in LABELS[loss.labels]:
        for t in OUTPUTS[::6]:
            labels = np.array([y])
            brute = (plain.value(s, np.full_like(s, y)) + (t - s) ** 2 / (2 * 0.25)).min()
            found = float(loss.value(np.array([t]), labels)[0])
            # the grid of step 1e-4 misses the minimum by at most (1e-4)^2/2 * 4 = 2e-8
            assert found <= brute + 1e-12
            assert brute <= found + 2e-8
            step = 1e-6
            ends = loss.value(np.array([t + step, t - step]), np.array([y, y]))
            slope = float(loss.derivative(np.array([t]), labels)[0])
            # central difference; its error is at most step * (1/smoothing) next to a kink of slope
            assert abs((ends[0] - ends[1]) / (2 * step) - slope) < 5e-6


@pytest.mark.parametrize("name", CASES)
def test_conjugate_is_the_supremum_and_its_domain_is_where_it_is_finite(name: str):
    loss = CASES[name]
    for y in LABELS[loss.labels]:
        low, high = (float(end[0]) for end in loss.domain(np.array([y])))
        t = np.linspace(-40, 40, 800001)
        values = loss.value(t, np.full_like(t, y))
        for u in np.linspace(max(low, -2.0), min(high, 2.0), 21):
            brute = float((u * t - values).max())
            found = float(loss.conjugate(np.array([u]), np.array([y]))[0])
            # a supremum over a grid is never above the true one; below by the step squared times
            # the curvature (at most 4), or, at an end of the domain, by e^{-40}
            assert brute <= found + 1e-12
            assert found <= brute + 3e-8
        for u in (low - 0.01, high + 0.01):
            if np.isfinite(u):
                assert np.isinf(loss.conjugate(np.array([u]), np.array([y]))[0])
                far = np.array([-4e3, 4e3]) if name != "poisson" else np.array([-4e3, 4.0])
                slope = (u * far - loss.value(far, np.array([y, y]))).max()
                assert slope > 10  # it runs away


@pytest.mark.parametrize("name", CASES)
def test_fenchel_equality_at_the_derivative(name: str):
    loss = CASES[name]
    for y in LABELS[loss.labels]:
        labels = np.full_like(OUTPUTS, y)
        u = loss.derivative(OUTPUTS, labels)
        both = loss.value(OUTPUTS, labels) + loss.conjugate(u, labels)
        np.testing.assert_allclose(both, u * OUTPUTS, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", [name for name, loss in CASES.items() if loss.smoothness])
def test_smoothness_holds_and_is_attained(name: str):
    loss = CASES[name]
    t = np.linspace(-5, 5, 4001)
    slopes = [
        np.abs(np.diff(loss.derivative(t, np.full_like(t, y)))).max() / (t[1] - t[0])
        for y in LABELS[loss.labels]
    ]
    assert max(slopes) <= loss.smoothness * (1 + 1e-9)  # rounding of a difference quotient
    assert max(slopes) >= loss.smoothness * (1 - 1e-5)


@pytest.mark.parametrize("name", CASES)
def test_the_best_constant_is_the_best_of_a_grid(name: str):
    loss = CASES[name]
    rng = np.random.default_rng(0)
    y = {
        "real": rng.standard_normal(41),
        "signs": np.where(rng.random(41) < 0.3, 1.0, -1.0),
        "counts": rng.poisson(2.0, 41).astype(float),
    }[loss.labels]
    weight = rng.random(41) + 0.5
    found = loss.constant(y, weight)
    total = float(weight @ loss.value(np.full_like(y, found), y))
    grid = [weight @ loss.value(np.full_like(y, c), y) for c in np.linspace(-3, 3, 2001)]
    # of an envelope the constant of the plain loss is only a start
    assert total <= min(grid) + (1.0 if "smoothed" in name else 1e-9)


def test_the_best_constant_for_huber_is_a_root_of_the_slope_to_the_last_digits():
    loss, rng = CASES["huber"], np.random.default_rng(1)
    y, weight = rng.standard_normal(41), rng.random(41) + 0.5
    found = loss.constant(y, weight)
    # next to the root the slope is at most its steepness, the sum of the weights, times 1e-16
    assert abs(weight @ loss.derivative(np.full_like(y, found), y)) <= 1e-14 * weight.sum()


@pytest.mark.parametrize(("share", "best"), [(1.01, 1.0), (0.99, -1.0)])
def test_the_best_constant_for_the_hinge_is_the_heavier_class_however_little(
    share: float, best: float
):
    loss = CASES["hinge"]
    assert loss.constant(np.array([1.0, -1.0]), np.array([share, 1.0])) == best


@pytest.mark.parametrize("name", ["poisson", "squared", "logistic"])
def test_labels_at_the_edge_are_accepted(name: str):
    CASES[name].check_labels(
        {"counts": [0.0, 1e300], "real": [-1e300], "signs": [-1.0, 1.0]}[CASES[name].labels]
    )


def test_the_upper_end_of_the_quantile_domain_is_never_rounded_up():
    for level in (0.1, 0.3, 0.7, 0.9, 1 / 3, 1e-9):
        loss = get_loss("quantile", level)
        low, high = (float(end[0]) for end in loss.domain(np.zeros(1)))
        assert Fraction(high) <= 1 - Fraction(level)
        assert low == -level


def test_extreme_outputs_do_not_overflow():
    f = np.array([-1e4, -800.0, 0.0, 800.0, 1e4])
    for y in (-1.0, 1.0):
        for name in ("logistic", "hinge", "squared_hinge"):
            loss, labels = get_loss(name), np.full_like(f, y)
            for values in (loss.value(f, labels), loss.derivative(f, labels)):
                assert np.isfinite(values).all()


@pytest.mark.parametrize(
    ("name", "labels", "said"),
    [
        ("logistic", [1.0, 0.0], r"y\[1\] = .*0.0.*'logistic' needs -1 or 1"),
        ("poisson", [1.0, 2.0, -1.0], r"y\[2\] = .*at least 0"),
        ("squared", [np.nan], r"y\[0\] = .*nan.*finite number"),
    ],
)
def test_a_wrong_label_is_named_with_its_row(name: str, labels: list[float], said: str):
    with pytest.raises(gm.DataError, match=said):
        get_loss(name).check_labels(labels)


@pytest.mark.parametrize(
    ("name", "parameter", "said"),
    [
        ("squared", 1.0, "has none"),
        ("huber", 0.0, "positive"),
        ("quantile", 1.0, "between 0 and 1"),
        ("huber", float("inf"), "positive"),
    ],
)
def test_a_wrong_parameter_is_refused(name: str, parameter: float, said: str):
    with pytest.raises(gm.DataError, match=said):
        gm.get_loss(name, parameter)


def test_an_unknown_name_is_refused_and_a_loss_is_kept():
    with pytest.raises(gm.DataError, match="loss='absolute' is unknown; choose one of 'squared'"):
        gm.get_loss("absolute")
    loss = gm.get_loss("huber", 2.0)
    assert gm.get_loss(loss) is loss
    assert loss == gm.get_loss("huber", 2.0) != gm.get_loss("huber")
