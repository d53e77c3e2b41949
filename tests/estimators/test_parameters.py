"""Parameters: warm start, warnings, memory, validation."""

import inspect
import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from globalmin.activations import get_activation
from globalmin.errors import DataError, MemoryRefused
from globalmin.estimators import ShallowNetworkClassifier, ShallowNetworkRegressor

RNG = np.random.default_rng(3)
X = RNG.standard_normal((30, 5))
Y = RNG.standard_normal(30)


@pytest.mark.parametrize("estimator", [ShallowNetworkRegressor, ShallowNetworkClassifier])
def test_parameters_survive_get_set_and_clone_unchanged(estimator):
    values = {
        "width": 12,
        "activation": get_activation("softplus(2)"),
        "method": "gradient_descent",
        "trained": "vW",
        "bias": False,
        "scaling": "rows",
        "max_iter": 17,
        "tol": 1e-5,
        "step_size": 0.25,
        "until": "descent",
        "warm_start": True,
        "certify": False,
        "memory_limit": 10**9,
        "verbose": 1,
        "random_state": 5,
    }
    model = estimator(**values)
    assert model.get_params() == values
    assert clone(model).get_params() == values
    assert estimator().set_params(**values).get_params() == values
    assert set(values) == set(estimator._parameter_constraints)


@pytest.mark.parametrize("estimator", [ShallowNetworkRegressor, ShallowNetworkClassifier])
def test_every_parameter_and_fitted_attribute_is_documented(estimator):
    model = estimator(random_state=0).fit(X, np.arange(30) % 2)
    documented = inspect.getdoc(estimator)
    for name in [*model.get_params(), *(name for name in vars(model) if name.endswith("_"))]:
        assert name in documented


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("width", 0),
        ("width", "wide"),
        ("activation", 3),
        ("method", "newton"),
        ("trained", "both"),
        ("bias", "yes"),
        ("scaling", "minmax"),
        ("max_iter", 0),
        ("tol", 0.0),
        ("step_size", -1.0),
        ("memory_limit", 0),
        ("random_state", "x"),
    ],
)
def test_a_bad_parameter_is_refused_by_name_when_fitting(name, value):
    with pytest.raises(ValueError, match=name):
        ShallowNetworkRegressor(**{name: value}).fit(X, Y)


def test_unknown_activations_and_useless_step_sizes_are_refused():
    with pytest.raises(DataError, match="softmax"):
        ShallowNetworkRegressor(activation="softmax").fit(X, Y)
    with pytest.raises(DataError, match="step_size"):
        ShallowNetworkRegressor(step_size=0.1).fit(X, Y)


def test_one_iteration_warns_of_convergence_and_points_at_the_caller():
    with pytest.warns(ConvergenceWarning, match="max_iter") as caught:
        model = ShallowNetworkRegressor(max_iter=1, width=8, random_state=0).fit(X, Y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert model.n_iter_ == 1
    assert model.certificate_ is None
    assert np.isfinite(model.predict(X)).all()


def test_a_fit_without_theorem_warns_once_that_nothing_is_proved():
    with pytest.warns(UserWarning, match="no certificate") as caught:
        model = ShallowNetworkRegressor(activation="gelu", random_state=0).fit(X, Y)
    assert len(caught) == 1
    assert not issubclass(caught[0].category, ConvergenceWarning)
    assert (model.certificate_, model.verdict_) == (None, None)


def test_the_warning_names_the_target():
    with pytest.warns(ConvergenceWarning, match=r"target 0 \(2 of 2 targets\)"):
        ShallowNetworkRegressor(max_iter=1, width=8, random_state=0).fit(
            X, np.column_stack([Y, -Y])
        )


def test_conflicting_data_with_a_proved_floor_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ShallowNetworkRegressor(random_state=0).fit(
            np.vstack([X, X[:1]]), np.append(Y, Y[0] + 1)
        )
    assert model.loss_lower_ > 0


def test_warm_start_continues_from_the_earlier_weights():
    model = ShallowNetworkRegressor(
        method="lbfgs", width=10, max_iter=3, warm_start=True, random_state=0, certify=False
    )
    losses = []
    for _ in range(4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, Y)
        losses.append(model.loss_curve_)
    for before, after in pairwise(losses):
        assert after[0] == pytest.approx(before.min(), rel=1e-12)
    assert losses[-1][-1] < 0.5 * losses[0][-1]


def test_warm_start_from_a_finished_fit_needs_fewer_steps():
    cold = ShallowNetworkRegressor(random_state=0, certify=False).fit(X, Y)
    warm = ShallowNetworkRegressor(random_state=0, certify=False, warm_start=True).fit(X, Y)
    warm.fit(X, Y + 1e-6 * np.random.default_rng(1).standard_normal(30))
    assert warm.n_iter_ < cold.n_iter_


@pytest.mark.parametrize("change", [{"width": 14}, {"activation": "tanh"}, {"bias": False}])
def test_warm_start_begins_anew_where_shapes_or_activation_differ(change):
    model = ShallowNetworkRegressor(width=10, warm_start=True, random_state=0, certify=False).fit(
        X, Y
    )
    model.set_params(**change).fit(X, Y)
    fresh = ShallowNetworkRegressor(
        **{"width": 10, "random_state": 0, "certify": False, **change}
    ).fit(X, Y)
    np.testing.assert_array_equal(model.network_.W, fresh.network_.W)


def test_work_that_does_not_fit_in_memory_is_refused_with_the_figure():
    n = 1000
    data = np.random.default_rng(0).standard_normal((n, 3))
    with pytest.raises(MemoryRefused, match=r"0\.0 GiB may be used") as refused:
        ShallowNetworkRegressor(memory_limit=10**6).fit(data, data[:, 0])
    assert isinstance(refused.value, MemoryError)


def test_a_million_samples_are_refused_before_anything_is_computed():
    data = np.zeros((1_000_000, 1))
    with pytest.raises(MemoryRefused, match=r"1000000 samples .* needs 22\d{3}\.\d GiB"):
        ShallowNetworkClassifier().fit(data, np.arange(1_000_000) % 2)


def test_verbose_fits_are_silent_where_no_terminal_looks(capfd):
    ShallowNetworkRegressor(verbose=1, random_state=0, certify=False).fit(X, Y)
    assert capfd.readouterr().out == ""
