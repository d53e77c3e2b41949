"""The data set itself: digest, targets, splitting, immutability."""

import hashlib
import struct

import numpy as np
import pytest

from globalmin.data import Dataset
from globalmin.errors import DataError

X = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, -1.0], [0.5, 0.25]])
Y = np.array([1.0, 2.0, 4.0, 8.0])
TWO = np.stack([Y, -3.0 * Y + 1.0], axis=1)


def test_sizes_and_attributes():
    data = Dataset(X, Y)
    assert (data.n_samples, data.n_features, data.n_targets, data.bias, data.scaling) == (
        4,
        3,
        1,
        True,
        "standardize",
    )
    assert "n_samples=4" in repr(data)
    assert Dataset(X, Y, bias=False).n_features == 2


def test_arrays_and_fields_cannot_be_changed():
    data = Dataset(X, Y)
    for array in (data.X, data.y, data.targets):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0
    with pytest.raises(AttributeError):
        data.X = X  # type: ignore[misc]


def test_later_changes_of_the_users_arrays_do_not_reach_the_data():
    mine, labels = X.copy(), Y.copy()
    data = Dataset(mine, labels, scaling="none", bias=False)
    mine[0, 0] = labels[0] = 99.0
    assert data.X[0, 0] == 1.0
    assert data.y[0] == 1.0


def test_digest_is_the_one_of_the_certificate_format():
    data = Dataset(X, Y)
    numbers = [*data.X.ravel(), *data.y]
    content = b"globalmin-data/1 4 3\n" + struct.pack(f"<{len(numbers)}d", *numbers)
    assert data.digest == hashlib.sha256(content).hexdigest()


def test_digest_sees_every_bit():
    changed = X.copy()
    changed[2, 1] = np.nextafter(changed[2, 1], 0.0)
    assert Dataset(X, Y, scaling="none").digest != Dataset(changed, Y, scaling="none").digest
    assert Dataset(X, Y, scaling="none").digest != Dataset(X, Y[::-1], scaling="none").digest


def test_several_targets_are_one_data_set_each():
    data = Dataset(X, TWO, target_names=["a", "b"])
    assert data.targets.shape == (4, 2)
    for j, name in enumerate("ab"):
        alone = Dataset(X, TWO[:, j])
        assert data.for_target(j).digest == alone.digest == data.for_target(name).digest
        assert data.for_target(j).target_names == (name,)
        np.testing.assert_allclose(
            data.for_target(j).preprocessing.restore(data.for_target(j).y), TWO[:, j], atol=1e-14
        )


@pytest.mark.parametrize("attribute", ["y", "preprocessing", "digest"])
def test_ambiguous_attributes_name_for_target(attribute):
    with pytest.raises(DataError, match=r"for_target\(j\)"):
        getattr(Dataset(X, TWO), attribute)


@pytest.mark.parametrize("target", [2, -1, "c"])
def test_a_target_that_does_not_exist_is_refused(target):
    with pytest.raises(DataError, match="target"):
        Dataset(X, TWO, target_names=["a", "b"]).for_target(target)


def test_degeneracy_with_several_targets_asks_for_one():
    data = Dataset(X, TWO)
    assert data.degeneracy.equal_rows == ()
    with pytest.raises(DataError, match="for_target"):
        data.degeneracy.loss_floor("relu")
    assert data.degeneracy.loss_floor("relu", TWO[:, 0]).floor == 0


def test_from_raw_reuses_a_fitted_preprocessing():
    data = Dataset(X, Y)
    again = Dataset.from_raw(X, Y, data.preprocessing)
    assert again.digest == data.digest
    other = Dataset.from_raw(X[:2], Y[:2], data.preprocessing)
    assert other.X.tobytes() == data.X[:2].tobytes()
    several = Dataset(X, TWO)
    assert (
        Dataset.from_raw(X, TWO, several.preprocessings).targets.tobytes()
        == several.targets.tobytes()
    )


def test_from_raw_refuses_what_does_not_fit():
    fitted = Dataset(X, Y).preprocessing
    with pytest.raises(DataError, match="2 target"):
        Dataset.from_raw(X, TWO, fitted)
    with pytest.raises(DataError, match="1 features, but 2 features are expected"):
        Dataset.from_raw(X[:, :1], Y, fitted)


def test_from_preprocessed_keeps_every_bit():
    data = Dataset(X, Y)
    assert Dataset.from_preprocessed(data.X, data.y, data.preprocessing).digest == data.digest
    plain = Dataset.from_preprocessed(X, Y)
    assert plain.X.tobytes() == X.tobytes()
    assert plain.bias is False
    with_bias = Dataset.from_preprocessed(data.X, data.y, bias=True)
    assert with_bias.bias is True
    assert with_bias.preprocessing.n_features_in == 2
    assert Dataset.from_preprocessed(data.X, TWO, bias=True).n_targets == 2


def test_from_preprocessed_refuses_contradictions():
    data = Dataset(X, Y)
    with pytest.raises(DataError, match="last column of X is not the constant 1"):
        Dataset.from_preprocessed(X, Y, bias=True)
    with pytest.raises(DataError, match="2 columns but the preprocessing makes 3"):
        Dataset.from_preprocessed(X, Y, data.preprocessing)
    with pytest.raises(DataError, match="2 target"):
        Dataset.from_preprocessed(data.X, TWO, data.preprocessing)


def test_split_fits_the_preprocessing_on_the_training_part_only():
    rng = np.random.default_rng(0)
    inputs, labels = rng.normal(5.0, 2.0, (50, 3)), rng.normal(size=50)
    train, test = Dataset(inputs, labels).split(0.3, seed=3)
    assert (train.n_samples, len(test.X), test.y.shape) == (35, 15, (15,))
    assert train.raw is not None
    together = np.concatenate([train.raw.X, test.X])
    assert sorted(map(tuple, together)) == sorted(map(tuple, inputs))
    np.testing.assert_allclose(train.X[:, :-1].mean(axis=0), 0.0, atol=1e-12)
    assert train.digest == Dataset(train.raw.X, train.raw.y).digest


def test_split_is_a_function_of_its_seed_and_keeps_options():
    data = Dataset(
        np.random.default_rng(1).normal(size=(20, 2)),
        np.arange(20.0),
        bias=False,
        scaling="rows",
        feature_names=["a", "b"],
    )
    first, again, other = (data.split(5, seed=seed) for seed in (0, 0, 1))
    assert first[0].digest == again[0].digest != other[0].digest
    assert (first[0].bias, first[0].scaling, first[0].feature_names) == (False, "rows", ("a", "b"))
    assert len(first[1].X) == 5


def test_split_of_several_targets():
    train, test = Dataset(X, TWO, target_names=["a", "b"]).split(1)
    assert train.target_names == ("a", "b")
    assert test.y.shape == (1, 2)


@pytest.mark.parametrize(
    "test_size", [0, 0.0, 1.0, 4, 5, -1, -0.5, 1.5, np.nan, np.inf, "half", None, True]
)
def test_impossible_test_sizes_are_refused(test_size):
    with pytest.raises(DataError, match="test_size"):
        Dataset(X, Y).split(test_size)


def test_one_sample_cannot_be_split():
    with pytest.raises(DataError, match="both parts need at least one"):
        Dataset(X[:1], Y[:1]).split(0.5)


def test_preprocessed_data_cannot_be_split():
    with pytest.raises(DataError, match="no raw samples"):
        Dataset.from_preprocessed(X, Y).split(1)


@pytest.mark.parametrize("rows", [[], [4], [-1]])
def test_rows_that_do_not_exist_cannot_be_taken(rows):
    with pytest.raises(DataError, match="rows must be"):
        Dataset(X, Y).take(rows)


def test_taken_rows_keep_their_order():
    part = Dataset(X, Y, scaling="none", bias=False).take([3, 0])
    assert part.X.tolist() == X[[0, 3]].tolist()


@pytest.mark.parametrize("n", [2, 7, 24, 61])
def test_library_and_command_line_hold_out_the_same_rows(n):
    from globalmin.data.preprocessing import split_rows

    rng = np.random.default_rng(n)
    data = Dataset(rng.standard_normal((n, 3)), rng.standard_normal(n))
    train, test = split_rows(data, 0.25, 3)
    part, held = data.split(0.25, seed=3)
    assert len(test) == -(-n // 4)
    assert np.array_equal(held.X, data.raw_rows(test).X)
    assert np.array_equal(part.raw.X, data.raw_rows(train).X)
