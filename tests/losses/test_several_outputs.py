"""Losses of several outputs against automatic differentiation, their conjugates against a numeric
supremum, their domains against where that supremum runs away.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

import globalmin as gm
from globalmin.losses import get_loss
from globalmin.losses.several import SquaredOutputs, one_against_rest, probabilities

RNG = np.random.default_rng(12)
F = RNG.standard_normal((7, 4)) * 2
CLASSES = np.array([0.0, 1, 2, 3, 0, 1, 2])
LABELS = RNG.standard_normal((7, 4))
CASES = {
    "softmax": (get_loss("softmax", 4), CLASSES),
    "squared": (SquaredOutputs(outputs=4), LABELS),
}
FORMULAS = {
    "softmax": lambda f, y: jnp.log(jnp.sum(jnp.exp(f))) - f[y.astype(int)],
    "squared": lambda f, y: jnp.sum((f - y) ** 2) / 2,
}


@pytest.mark.parametrize("name", CASES)
def test_value_derivative_and_curvature_agree_with_autodiff(name: str):
    (loss, y), formula = CASES[name], FORMULAS[name]
    with jax.enable_x64(True):
        pairs = list(zip(F, y, strict=True))
        # both sides are evaluated in doubles: a few roundings of numbers up to 10
        np.testing.assert_allclose(
            loss.value(F, y), [formula(f, label) for f, label in pairs], rtol=1e-13, atol=1e-13
        )
        first = [jax.grad(formula)(f, jnp.asarray(label)) for f, label in pairs]
        np.testing.assert_allclose(loss.derivative(F, y), first, rtol=1e-12, atol=1e-13)
        second = [jax.hessian(formula)(f, jnp.asarray(label)) for f, label in pairs]
        np.testing.assert_allclose(loss.second(F, y), second, rtol=1e-11, atol=1e-13)
        largest = np.linalg.eigvalsh(loss.second(F, y)).max()
        assert largest <= loss.smoothness * (1 + 1e-12)


@pytest.mark.parametrize("name", CASES)
def test_the_smoothness_is_attained(name: str):
    """By a softmax where two classes share all: diag(p) - pp^T has the eigenvalue 1/2."""
    loss, y = CASES[name]
    f = np.array([[0.0, 0.0, -60.0, -60.0]])
    largest = np.linalg.eigvalsh(loss.second(f, y[:1])).max()
    assert largest == pytest.approx(loss.smoothness, rel=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_the_conjugate_is_the_supremum(name: str):
    loss, y = CASES[name]
    for i in range(len(F)):
        q = RNG.dirichlet(np.ones(4))
        u = q - np.eye(4)[int(CLASSES[i])] if name == "softmax" else RNG.standard_normal(4)
        label = y[i : i + 1]

        def negative(t: np.ndarray, u: np.ndarray = u, label: np.ndarray = label) -> float:
            return float(loss.value(t[None], label)[0] - u @ t)

        brute = -minimize(negative, np.zeros(4), method="BFGS", options={"gtol": 1e-9}).fun
        found = float(loss.conjugate(u[None], label)[0])
        # the search stops where its gradient, by differences, is about 1e-8
        assert brute <= found + 1e-10
        assert found <= brute + 1e-7
        # Fenchel and Young, with equality at the derivative
        own = loss.derivative(F[i : i + 1], label)
        both = loss.value(F[i : i + 1], label) + loss.conjugate(own, label)
        assert abs(both[0] - float(own[0] @ F[i])) < 1e-12


def test_the_domain_of_the_softmax_is_the_simplex():
    loss = get_loss("softmax", 3)
    y = np.zeros(5)
    u = np.array([[-1, 1, 0], [0, 0, 0], [-1.1, 1.1, 0], [0.1, -0.1, 0], [-0.5, 0.6, 0]])
    assert np.isfinite(loss.conjugate(u, y)).tolist() == [True, True, False, False, False]
    assert loss.conjugate(u, y)[:2].tolist() == [0.0, 0.0]
    # rounding of a few numbers of at most 1 is forgiven, more is not: below zero, and in the sum
    for size, is_inside in ((1e-12, True), (1e-8, False)):
        off = np.array([[-1.0 - size, 1.0 + size, 0.0], [-0.5, 0.5 + size, 0.0]])
        assert np.isfinite(loss.conjugate(off, y[:2])).tolist() == [is_inside, is_inside]
    low, high = loss.domain(y)
    assert low[0].tolist() == [-1, 0, 0]
    assert high[0].tolist() == [0, 1, 1]


def test_large_outputs_and_shifts_do_no_harm():
    loss = get_loss("softmax", 3)
    f = np.array([[1000.0, 0.0, -1000.0], [-1e9, 0.0, 1.0]])
    y = np.array([0.0, 0.0])
    np.testing.assert_allclose(loss.value(f, y), [0.0, 1e9 + np.log1p(np.e)])
    assert np.isfinite(loss.derivative(f, y)).all()
    np.testing.assert_allclose(probabilities(F + 7.0), probabilities(F), rtol=1e-13)


def test_the_centers_are_the_best_constants():
    weight = np.array([1.0, 2, 0.5, 0, 3, 1, 1])
    for loss, y in CASES.values():
        centers = loss.centers(y, weight)
        slope = weight @ loss.derivative(np.tile(centers, (7, 1)), y)
        # class 3 has weight 0: its share is set to 1e-6 of the total
        np.testing.assert_allclose(slope, 0.0, atol=1e-5 if loss.name == "softmax" else 1e-12)


def test_probabilities_of_one_class_against_the_rest():
    """Against 1/(1 + exp(-f)) and, for two classes, against the softmax of (0, f)."""
    np.testing.assert_allclose(
        one_against_rest(F[:, :1]), probabilities(np.c_[np.zeros(7), F[:, 0]]), rtol=1e-12
    )
    np.testing.assert_array_equal(one_against_rest(F[:, 0]), one_against_rest(F[:, :1]))
    shares = 1.0 / (1.0 + np.exp(-F))
    np.testing.assert_allclose(
        one_against_rest(F), shares / shares.sum(axis=1, keepdims=True), rtol=1e-12
    )
    # where no class is likely none is preferred, and nothing is divided by zero
    np.testing.assert_array_equal(one_against_rest([[-1e4, -1e5, -1e4]]), [[1 / 3] * 3])


def test_class_numbers_end_below_2_to_the_16():
    get_loss("softmax").check_labels(np.array([0.0, 2.0**16 - 1]))


@pytest.mark.parametrize("value", [0.5, -1.0, np.nan, 2.0**16, 1e9])
def test_other_labels_than_classes_are_refused(value: float):
    with pytest.raises(gm.DataError, match="needs a whole number"):
        get_loss("softmax").check_labels(np.array([0.0, value]))


@pytest.mark.parametrize("parameter", [1, 2.5, -3])
def test_numbers_of_classes(parameter: float):
    with pytest.raises(gm.DataError, match="must be a number of classes"):
        get_loss("softmax", parameter)
    with pytest.raises(gm.DataError, match="class number 4"):
        get_loss("softmax", 3).for_labels(np.array([0.0, 4.0]))
    assert get_loss("softmax").for_labels(np.array([0.0, 4.0])).outputs == 5
