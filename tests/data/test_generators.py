"""Generated data: shapes, seeds, distributions (with stated confidence), teachers."""

import numpy as np
import pytest

from globalmin.activations import get_activation
from globalmin.data import Dataset, generators
from globalmin.errors import DataError
from globalmin.shallow.network import ShallowNetwork


def test_everything_is_a_function_of_its_seed():
    makers = (
        lambda seed: generators.gaussian(5, 3, seed),
        lambda seed: generators.unit_sphere(5, 3, seed),
        lambda seed: generators.random_labels(5, seed),
        lambda seed: generators.random_signs(64, seed),
        lambda seed: generators.sphere_with_random_labels(5, 3, seed).X,
        lambda seed: generators.planted_regression(np.eye(3), width=2, noise=0.1, seed=seed).y,
        lambda seed: generators.planted_logistic(generators.gaussian(99, 3), width=2, seed=seed).y,
    )
    for make in makers:
        assert make(1).tobytes() == make(1).tobytes() != make(2).tobytes()
    rng = np.random.default_rng(0)
    assert generators.gaussian(2, 2, rng).tolist() != generators.gaussian(2, 2, rng).tolist()


def test_sphere_rows_have_unit_norm_and_isotropic_covariance():
    X = generators.unit_sphere(20_000, 4, seed=0)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0, rtol=1e-15)
    # entries of x x^T lie in [-1, 1]: Hoeffding at level 1e-8 for each of the 16 means gives 0.031
    assert np.abs(X.T @ X / len(X) - np.eye(4) / 4).max() < 0.031


def test_gaussian_rows_have_mean_zero_and_unit_covariance():
    X = generators.gaussian(20_000, 3, seed=0)
    # standard errors 0.007 (means) and 0.01 (variances): seven of them
    assert np.abs(X.mean(axis=0)).max() < 0.05
    assert np.abs(X.T @ X / len(X) - np.eye(3)).max() < 0.07


def test_signs_are_balanced():
    y = generators.random_signs(10_000, seed=0)
    assert set(y.tolist()) == {-1.0, 1.0}
    assert abs(y.mean()) < 0.07


def test_benchmark_data_are_raw_and_without_bias():
    data = generators.sphere_with_random_labels(30, 5, seed=3)
    assert isinstance(data, Dataset)
    assert (data.n_samples, data.n_features, data.bias, data.scaling) == (30, 5, False, "none")
    assert np.corrcoef(data.X[:, 0], data.y)[0, 1] != pytest.approx(1.0)


def test_labels_of_the_benchmark_are_not_the_inputs_again():
    data = generators.sphere_with_random_labels(200, 1, seed=0)
    assert abs(np.corrcoef(data.X[:, 0], data.y)[0, 1]) < 0.5


@pytest.mark.parametrize("average", [False, True])
def test_planted_labels_are_those_of_the_returned_weights(average):
    X = generators.gaussian(20, 4, seed=1)
    planted = generators.planted_regression(X, width=3, activation="tanh", average=average, seed=2)
    assert planted.W is not None
    assert planted.v is not None
    network = ShallowNetwork(planted.W, planted.v, get_activation("tanh"))
    np.testing.assert_allclose(planted.y, network.predict(X), rtol=1e-13)
    assert planted.v.sum() == pytest.approx(1.0 if average else 3.0)
    assert planted.dataset().y.tolist() == planted.y.tolist()


def test_noise_has_the_stated_size():
    X = generators.gaussian(20_000, 2, seed=1)
    planted = generators.planted_regression(X, width=2, noise=0.5, seed=2)
    residual = planted.y - planted.outputs
    assert residual.std() == pytest.approx(0.5, rel=0.04)  # standard error 0.5 %: eight of them
    assert abs(residual.mean()) < 0.03


def test_a_network_or_a_function_may_teach():
    X = generators.gaussian(10, 2, seed=0)
    network = ShallowNetwork(np.ones((1, 2)), np.ones(1), get_activation("relu"))
    by_network = generators.planted_regression(X, network)
    by_function = generators.planted_regression(
        X, lambda inputs: np.maximum(inputs.sum(axis=1), 0.0)
    )
    np.testing.assert_allclose(by_network.y, by_function.y, rtol=1e-14)
    assert by_network.W is None


def test_logistic_labels_follow_the_teachers_probabilities():
    X = generators.gaussian(40_000, 3, seed=0)
    planted = generators.planted_logistic(X, width=4, seed=1)
    assert set(planted.y.tolist()) == {0.0, 1.0}
    for low, high in ((0.0, 0.4), (0.4, 0.6), (0.6, 1.0)):
        inside = (planted.outputs >= low) & (planted.outputs < high)
        # Hoeffding: the mean of m labels is within sqrt(log(2e8)/(2m)) of its expectation with
        # probability 1 - 1e-8
        assert abs((planted.y - planted.outputs)[inside].mean()) < np.sqrt(
            np.log(2e8) / (2 * inside.sum())
        )


def test_classification_and_regression_losses_differ_by_the_variance_of_the_label():
    """FCL-M1 against FCL-M2: with one teacher, E(f - y)^2/2 grows by E p(1-p)/2 whatever network f
    is compared with.
    """
    X = generators.gaussian(100_000, 3, seed=0)
    regression = generators.planted_regression(
        X, width=4, activation="sigmoid", average=True, seed=1
    )
    classification = generators.planted_logistic(X, width=4, seed=1)
    p = regression.y
    assert classification.outputs.tolist() == p.tolist()
    for f in (np.full_like(p, 0.3), 1.0 - p, p**2):
        gap = np.mean((f - classification.y) ** 2 - (f - p) ** 2) / 2
        # the terms lie in [-1/2, 1/2]: Hoeffding at level 1e-8 gives 0.0098
        assert abs(gap - np.mean(p * (1 - p)) / 2) < 0.0098


def test_logistic_teacher_may_be_a_function_of_probabilities():
    planted = generators.planted_logistic(np.zeros((50, 1)), lambda X: np.ones(len(X)))
    assert planted.y.tolist() == [1.0] * 50


REFUSED = {
    "no samples": (lambda: generators.gaussian(0, 3), "n=0"),
    "no features": (lambda: generators.unit_sphere(3, 0), "d=0"),
    "negative": (lambda: generators.random_labels(-1), "n=-1"),
    "fractional": (lambda: generators.gaussian(2.5, 3), "n=2.5"),  # type: ignore[arg-type]
    "boolean": (lambda: generators.random_signs(True), "n=True"),
    "no teacher": (
        lambda: generators.planted_regression(np.eye(2)),
        "either a teacher or the width",
    ),
    "two teachers": (
        lambda: generators.planted_regression(np.eye(2), len, width=2),
        "either a teacher or the width",
    ),  # type: ignore[arg-type]
    "zero width": (lambda: generators.planted_regression(np.eye(2), width=0), "width=0"),
    "negative noise": (
        lambda: generators.planted_regression(np.eye(2), width=1, noise=-1.0),
        "noise=-1",
    ),
    "nan noise": (
        lambda: generators.planted_regression(np.eye(2), width=1, noise=np.nan),
        "noise=nan",
    ),
    "teacher that cannot teach": (
        lambda: generators.planted_regression(np.eye(2), 3.0),
        "no .predict",
    ),  # type: ignore[arg-type]
    "teacher of another shape": (
        lambda: generators.planted_regression(np.eye(2), lambda X: X),
        r"shape \(2, 2\)",
    ),
    "no probabilities": (
        lambda: generators.planted_logistic(np.ones((9, 2)) * 9.0, width=9, activation="softplus"),
        r"within \[0, 1\]",
    ),
    "nan probabilities": (
        lambda: generators.planted_logistic(np.eye(2), lambda X: X[:, 0] * np.nan),
        r"within \[0, 1\]",
    ),
    "one-dimensional inputs": (
        lambda: generators.planted_regression(np.ones(3), width=2),
        "X is one-dimensional",
    ),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_impossible_requests_are_refused(case):
    make, match = case
    with pytest.raises(DataError, match=match):
        make()
