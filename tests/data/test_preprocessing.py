"""Scaling: what is stored, the way back, and bit-for-bit agreement between fitting and
prediction.
"""

import json

import numpy as np
import pytest

from globalmin.data import Dataset, Preprocessing
from globalmin.data.preprocessing import column_statistics, normalized_rows
from globalmin.errors import DataError


def table(seed, n=40, d=5):
    rng = np.random.default_rng(seed)
    return rng.normal(3.0, 10.0 ** rng.integers(-6, 7, d), (n, d)), rng.normal(-50.0, 7.0, n)


@pytest.mark.parametrize("seed", range(5))
def test_standardized_columns_have_mean_zero_and_variance_one(seed):
    X, y = table(seed)
    data = Dataset(X, y)
    fitted = data.preprocessing
    rounding = np.finfo(float).eps * (
        1.0 + np.abs(fitted.x_shift) / fitted.x_scale
    )  # of the stored mean, in standard deviations
    assert (np.abs(data.X[:, :-1].mean(axis=0)) <= 2 * rounding).all()
    np.testing.assert_allclose(data.X[:, :-1].std(axis=0), 1.0, rtol=1e-12)
    assert (data.X[:, -1] == 1.0).all()
    np.testing.assert_allclose([data.y.mean(), data.y.std()], [0.0, 1.0], atol=1e-12)


@pytest.mark.parametrize("scaling", ["standardize", "rows", "none"])
@pytest.mark.parametrize("bias", [True, False])
def test_training_rows_transform_to_the_stored_bits_one_by_one_and_together(scaling, bias):
    X, y = table(1)
    data = Dataset(X, y, scaling=scaling, bias=bias)
    assert data.preprocessing.transform(X).tobytes() == data.X.tobytes()
    alone = np.concatenate([data.preprocessing.transform(row[None, :]) for row in X])
    assert alone.tobytes() == data.X.tobytes()
    shuffled = np.asfortranarray(X[::-1])
    assert data.preprocessing.transform(shuffled)[::-1].tobytes() == data.X.tobytes()
    assert data.preprocessing.transform_y(y).tobytes() == data.y.tobytes()


@pytest.mark.parametrize("scaling", ["standardize", "rows", "none"])
def test_equal_raw_rows_stay_equal(scaling):
    X, y = table(2)
    X[7] = X[30]
    X[8] = X[31]
    data = Dataset(X, y, scaling=scaling)
    assert set(data.degeneracy.equal_rows) == {(7, 30), (8, 31)}


@pytest.mark.parametrize("scaling", ["standardize", "rows", "none"])
def test_restore_undoes_the_scaling_of_labels(scaling):
    X, y = table(3)
    data = Dataset(X, y, scaling=scaling)
    np.testing.assert_allclose(data.preprocessing.restore(data.y), y, rtol=1e-14, atol=1e-13)
    if scaling != "standardize":
        assert data.y.tolist() == y.tolist()


def test_constant_target_is_restored_exactly():
    data = Dataset([[1.0], [2.0], [3.0]], [0.1, 0.1, 0.1])
    assert data.y.tolist() == [0.0, 0.0, 0.0]
    assert data.preprocessing.y_scale == 1.0
    assert data.preprocessing.restore(data.y).tolist() == [0.1, 0.1, 0.1]


def test_rows_get_unit_norm_and_zero_rows_stay_zero():
    X = np.array([[3.0, 4.0], [0.0, 0.0], [1e-300, 1e-300], [-1e150, 1e150], [0.0, -5e-324]])
    norms = np.linalg.norm(normalized_rows(X), axis=1)
    np.testing.assert_allclose(norms, [1.0, 0.0, 1.0, 1.0, 1.0], rtol=1e-15)


@pytest.mark.parametrize("power", [-900, -300, 0, 300, 900])
def test_column_statistics_follow_a_power_of_two_exactly(power):
    X = np.random.default_rng(4).normal(2.0, 1.0, (50, 3))
    shift, scale = column_statistics(X)
    moved_shift, moved_scale = column_statistics(np.ldexp(X, power))
    assert np.ldexp(shift, power).tolist() == moved_shift.tolist()
    assert np.ldexp(scale, power).tolist() == moved_scale.tolist()


def test_column_statistics_agree_with_exact_arithmetic():
    from fractions import Fraction

    X = np.random.default_rng(5).normal(1.0, 1e-3, (30, 2))
    shift, scale = column_statistics(X)
    for j in range(2):
        values = [Fraction(x) for x in X[:, j]]
        mean = sum(values) / len(values)
        variance = sum((value - mean) ** 2 for value in values) / len(values)
        assert abs(shift[j] - float(mean)) <= 4e-16
        assert scale[j] == pytest.approx(float(variance) ** 0.5, rel=1e-12)


def test_survives_json_exactly():
    X, y = table(6)
    original = Dataset(X, y, feature_names=list("abcde"), target_names=["price"]).preprocessing
    copy = Preprocessing.from_dict(json.loads(json.dumps(original.as_dict())))
    assert copy.as_dict() == original.as_dict()
    assert copy.transform(X).tobytes() == original.transform(X).tobytes()
    assert copy.restore(y).tobytes() == original.restore(y).tobytes()


def test_arrays_of_a_preprocessing_cannot_be_changed():
    fitted = Dataset(*table(7)).preprocessing
    with pytest.raises(ValueError, match="read-only"):
        fitted.x_shift[0] = 1.0
    with pytest.raises(AttributeError):
        fitted.scaling = "none"  # type: ignore[misc]


def test_transform_refuses_another_number_of_features():
    fitted = Dataset(*table(8)).preprocessing
    with pytest.raises(DataError, match="X has 4 features, but 5 features are expected"):
        fitted.transform(np.zeros((2, 4)))


def test_transform_never_returns_infinity():
    fitted = Dataset([[0.0], [1e-300]], [0.0, 1.0]).preprocessing
    with pytest.raises(DataError, match="overflow"):
        fitted.transform([[1e20]])
