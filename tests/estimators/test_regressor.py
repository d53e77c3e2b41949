"""The regressor: what it fits, in which units it answers, and what it refuses."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import PolynomialFeatures

import globalmin as gm
from globalmin.estimators import ShallowNetworkRegressor

RNG = np.random.default_rng(7)
X = RNG.standard_normal((40, 6)) * [1.0, 10.0, 0.1, 3.0, 1.0, 1.0] + [
    0.0,
    5.0,
    0.0,
    -2.0,
    0.0,
    100.0,
]
Y = np.column_stack([1000.0 + 50.0 * RNG.standard_normal(40), 1e-3 * RNG.standard_normal(40)])


@pytest.fixture(scope="module")
def fitted():
    return ShallowNetworkRegressor(random_state=0).fit(X, Y[:, 0])


def test_random_labels_are_interpolated_in_the_units_of_the_user(fitted):
    assert np.abs(fitted.predict(X) - Y[:, 0]).max() <= 1e-10 * np.abs(Y[:, 0]).max()
    assert fitted.score(X, Y[:, 0]) == pytest.approx(1.0, abs=1e-15)


def test_prediction_is_the_formula_written_out(fitted):
    raw = np.random.default_rng(1).standard_normal((5, 6)) * 10
    steps, W, v = fitted.preprocessing_, fitted.network_.W, fitted.network_.v
    by_hand = []
    for row in raw:
        x = np.append((row - X.mean(axis=0)) / X.std(axis=0), 1.0)
        by_hand.append(
            sum(v[k] * np.logaddexp(0.0, W[k] @ x) for k in range(len(v))) * Y[:, 0].std()
            + Y[:, 0].mean()
        )
    assert steps.y_scale == pytest.approx(Y[:, 0].std(), rel=1e-14)
    np.testing.assert_allclose(fitted.predict(raw), by_hand, rtol=1e-11)


def test_fitted_attributes_describe_the_run(fitted):
    assert fitted.n_features_in_ == 6
    assert fitted.width_ == fitted.network_.width == len(fitted.network_.v)
    assert fitted.n_iter_ == fitted.trajectory_.iteration[-1] >= 1
    np.testing.assert_array_equal(fitted.loss_curve_, fitted.trajectory_.loss)
    assert fitted.loss_curve_[-1] < 1e-20 < fitted.loss_curve_[0]


def test_several_targets_are_fitted_by_one_network_each():
    both = ShallowNetworkRegressor(random_state=0).fit(X, Y)
    assert len(both.networks_) == 2
    assert both.predict(X).shape == Y.shape
    np.testing.assert_allclose(both.predict(X), Y, rtol=1e-10, atol=0)
    for name in (
        "certificate_",
        "verdict_",
        "loss_upper_",
        "loss_lower_",
        "trajectory_",
        "loss_curve_",
        "n_iter_",
        "width_",
    ):
        assert len(getattr(both, name)) == 2
    with pytest.raises(AttributeError, match="networks_"):
        _ = both.network_


def test_a_column_of_labels_gives_a_column_of_predictions(fitted):
    column = ShallowNetworkRegressor(random_state=0).fit(X, Y[:, :1])
    assert column.predict(X).shape == (40, 1)
    np.testing.assert_array_equal(column.predict(X)[:, 0], fitted.predict(X))
    assert column.verdict_ == fitted.verdict_


def test_linear_networks_reach_the_least_squares_fit():
    y = X @ np.arange(6.0) + np.random.default_rng(1).standard_normal(40)
    with pytest.warns(
        UserWarning, match="no certificate"
    ):  # training knows that least squares is the end; no claim does
        linear = ShallowNetworkRegressor(activation="linear", width=2, random_state=0).fit(X, y)
    np.testing.assert_allclose(
        linear.predict(X), LinearRegression().fit(X, y).predict(X), rtol=0, atol=1e-6
    )


def test_quadratic_networks_of_enough_width_recover_a_quadratic_polynomial():
    rng = np.random.default_rng(1)
    points = rng.standard_normal((60, 3))
    teacher = lambda Z: (Z @ [1.0, 2.0, 0.0]) ** 2 - (Z @ [0.0, 1.0, -1.0]) ** 2 + Z[:, 0] + 1.0  # noqa: E731
    fresh = rng.standard_normal((50, 3))
    quadratic = ShallowNetworkRegressor(activation="quadratic", width=10, random_state=0).fit(
        points, teacher(points)
    )
    # the Jacobian of a quadratic network has at most rank 10 here: no zero loss, but a gap
    assert quadratic.verdict_ == "ACCEPTED"
    assert quadratic.loss_upper_ < 1e-20
    reference = LinearRegression().fit(PolynomialFeatures(2).fit_transform(points), teacher(points))
    np.testing.assert_allclose(quadratic.predict(fresh), teacher(fresh), rtol=0, atol=1e-8)
    np.testing.assert_allclose(
        quadratic.predict(fresh),
        reference.predict(PolynomialFeatures(2).fit_transform(fresh)),
        atol=1e-8,
    )


@pytest.mark.parametrize("scaling", ["standardize", "rows", "none"])
@pytest.mark.parametrize("bias", [True, False])
def test_every_scaling_is_undone_by_predict(scaling, bias):
    rng = np.random.default_rng(2)
    inputs, y = rng.standard_normal((25, 6)), rng.standard_normal(25)
    model = ShallowNetworkRegressor(scaling=scaling, bias=bias, random_state=0, certify=False).fit(
        inputs, y
    )
    np.testing.assert_allclose(model.predict(inputs), y, rtol=0, atol=1e-10)


@pytest.mark.parametrize("activation", ["tanh", "relu", "softplus(4)", "gelu"])
def test_other_activations_interpolate_too(activation):
    rng = np.random.default_rng(2)
    inputs, y = rng.standard_normal((30, 6)), rng.standard_normal(30)
    model = ShallowNetworkRegressor(activation=activation, random_state=0, certify=False).fit(
        inputs, y
    )
    np.testing.assert_allclose(model.predict(inputs), y, rtol=0, atol=1e-9)


def test_both_layers_can_be_trained():
    model = ShallowNetworkRegressor(trained="vW", random_state=0).fit(X, Y[:, 0])
    assert model.verdict_ == "ACCEPTED"
    assert len(set(np.abs(model.network_.v))) > 2  # the head of equal sizes has moved


def test_data_frames_keep_their_names_and_a_wrong_order_is_refused(fitted):
    import pandas as pd

    frame = pd.DataFrame(X, columns=list("abcdef"), index=range(100, 140))
    model = ShallowNetworkRegressor(random_state=0).fit(
        frame, pd.Series(Y[:, 0], index=frame.index)
    )
    assert list(model.feature_names_in_) == list("abcdef")
    np.testing.assert_array_equal(model.predict(frame), fitted.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("bacdef")])


def test_the_same_random_state_gives_the_same_bits_and_another_gives_others():
    first, again, other = (
        ShallowNetworkRegressor(random_state=s, certify=False).fit(X, Y[:, 0]) for s in (3, 3, 4)
    )
    np.testing.assert_array_equal(first.network_.W, again.network_.W)
    assert not np.array_equal(first.network_.W, other.network_.W)


def test_one_sample_and_constant_labels_are_legal():
    assert ShallowNetworkRegressor(random_state=0).fit([[1.0, 2.0]], [3.0]).predict(
        [[1.0, 2.0]]
    ) == pytest.approx([3.0])
    flat = ShallowNetworkRegressor(random_state=0).fit(X, np.full(40, 5.0))
    np.testing.assert_allclose(flat.predict(X), 5.0, atol=1e-12)
    assert flat.verdict_ == "ACCEPTED"


def test_integers_that_float64_would_round_are_refused():
    with pytest.raises(ValueError, match=r"2\^53"):
        ShallowNetworkRegressor().fit(np.array([[2**53 + 1], [3]]), [1.0, 2.0])


def test_predicting_before_fitting_is_refused_in_the_words_of_scikit_learn():
    with pytest.raises(NotFittedError):
        ShallowNetworkRegressor().predict(X)
    assert not hasattr(ShallowNetworkRegressor(), "network_")


def test_gradient_descent_until_proved_has_a_certificate_about_its_own_start(tmp_path):
    """OS-T2.1 for the random start of the fit: the file says trajectory first."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((6, 4)), rng.standard_normal(6)
    options = {"method": "gradient_descent", "until": "proved", "width": 30, "scaling": "rows"}
    model = ShallowNetworkRegressor(activation="tanh", random_state=0, **options).fit(X, y)
    assert model.verdict_ == "ACCEPTED"
    result = gm.check(model.save_certificate(tmp_path / "run.gmc"))
    assert [claim.kind for claim in result.claims] == ["trajectory", "interpolation"]
    assert float(result.claims[0].numbers["steps"]) == model.n_iter_
    twice = np.vstack([X, X[:1]]), np.append(y, y[0])
    with pytest.warns(UserWarning, match="not say all that was asked for: trajectory: rows repeat"):
        model.fit(*twice)
    assert model.verdict_ == "ACCEPTED"
