"""The patch-network regressor: the scikit-learn contract, shapes of samples, warnings."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_sample_image
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.estimators.contract import require_passed

from globalmin.estimators import ConvolutionalFilterRegressor, PatchNetworkRegressor
from globalmin.patches.inputs import gabor_filter
from globalmin.patches.layout import patch_layout
from globalmin.patches.network import PatchNetwork
from globalmin.proving.producer import check


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        PatchNetworkRegressor(max_iter=30, restarts=0),
        PatchNetworkRegressor(2, 1, 2, "trained", bias=True, max_iter=20, restarts=0),
    ]
)
def test_estimator_check_passes_and_is_not_skipped(estimator, check, monkeypatch):
    require_passed(estimator, check, monkeypatch)


def test_images_channels_and_rows_are_the_same_samples():
    """(n, h, w, c), and flattened rows with image_shape: the same network, bit for bit."""
    X = np.random.default_rng(0).standard_normal((120, 6, 5, 2))
    layout = patch_layout((6, 5, 2), 3, 2, padding="same")
    truth = PatchNetwork(
        np.random.default_rng(1).standard_normal((1, 18)), np.full((1, 9), 1 / 9), layout
    )
    y = truth.predict(X)
    model = PatchNetworkRegressor(3, 2, padding="same", random_state=0).fit(X, y)
    assert model.status_ == "converged"
    assert model.filters_.shape == (1, 3, 3, 2)
    np.testing.assert_allclose(model.network_.filters, truth.filters, atol=1e-8)
    rows = clone(model).set_params(image_shape=(6, 5, 2)).fit(X.reshape(120, -1), y)
    assert rows.network_ == model.network_
    np.testing.assert_array_equal(model.predict(X), model.predict(X.reshape(120, -1)))
    with pytest.raises(ValueError, match="fit saw"):
        model.predict(X.transpose(0, 2, 1, 3))
    with pytest.raises(ValueError, match="image_shape"):
        clone(model).set_params(image_shape=(6, 6)).fit(X.reshape(120, -1), y)


def test_photograph_crops_give_back_a_gabor_filter():
    """DU-F6.3cd on a photograph: 200 crops of 16 x 16, a 7 x 7 filter, stride 3 (overlapping)."""
    gray = load_sample_image("china.jpg").mean(axis=2) / 255.0
    rng = np.random.default_rng(2)
    tops, lefts = rng.integers(0, gray.shape[0] - 16, 200), rng.integers(0, gray.shape[1] - 16, 200)
    X = np.stack([gray[t : t + 16, s : s + 16] for t, s in zip(tops, lefts, strict=True)])
    layout = patch_layout((16, 16), 7, 3)
    y = PatchNetwork(gabor_filter(7)[None], np.full((1, 16), 1 / 16), layout).predict(X)
    for scale in (0.01, 100.0):
        model = PatchNetworkRegressor(7, 3, random_state=0).fit(scale * X, y)
        assert model.status_ == "converged"
        np.testing.assert_allclose(scale * model.network_.filters[0], gabor_filter(7), atol=1e-6)


def test_more_filters_with_trained_weights_fit_the_digits_better():
    """Labels 0 to 9 of 8 x 8 digits: one averaged filter against four with output weights, on
    images held out.
    """
    digits = load_digits()
    X, y = digits.images / 16.0, digits.target.astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one = PatchNetworkRegressor(3, restarts=0, max_iter=40, random_state=0)
        four = PatchNetworkRegressor(
            3, 1, 4, "trained", bias=True, restarts=0, max_iter=40, random_state=0
        )
        scores = [model.fit(X[:900], y[:900]).score(X[900:], y[900:]) for model in (one, four)]
    assert 0.2 < scores[0] < 0.4  # .31 here
    assert scores[1] > scores[0] + 0.2  # .6 and more


def test_runs_that_fall_short_warn_and_say_why():
    X = np.random.default_rng(3).standard_normal((60, 12))
    with pytest.warns(ConvergenceWarning, match=r"iteration limit.*raise max_iter"):
        PatchNetworkRegressor(3, restarts=0, max_iter=1, random_state=0).fit(X, X[:, 0])
    with pytest.warns(ConvergenceWarning, match="no patch is active"):
        model = PatchNetworkRegressor(3, restarts=0, random_state=0).fit(
            np.zeros((9, 6)), np.ones(9)
        )
    assert model.status_ == "dead"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = np.maximum(X[:, :3], 0).sum(axis=1)
        whole = PatchNetworkRegressor(1, filters=1, head="trained", random_state=0).fit(X, y)
    assert whole.status_ == "converged"


def test_the_older_filter_regressor_is_the_average_head_with_one_filter():
    """DU-M6: both find the same filter."""
    X = np.random.default_rng(4).standard_normal((200, 12))
    windows = np.lib.stride_tricks.sliding_window_view(X, 4, axis=1)
    y = np.maximum(windows @ [1.0, -2.0, 1.0, 0.5], 0).mean(axis=1)
    old = ConvolutionalFilterRegressor(4, random_state=0).fit(X, y)
    new = PatchNetworkRegressor(4, random_state=0).fit(X, y)
    np.testing.assert_allclose(old.coef_, new.network_.filters[0], atol=1e-8)


def test_the_older_filter_regressor_warns_where_it_stalls():
    """Its docstring promises a warning whenever the tolerance is not reached."""
    X, rng = np.random.default_rng(5).standard_normal((100, 12)), np.random.default_rng(6)
    y = np.maximum(X[:, :3] @ [1.0, -2.0, 1.0], 0) + 0.05 * rng.standard_normal(100)
    with pytest.warns(ConvergenceWarning, match="no further decrease"):
        model = ConvolutionalFilterRegressor(3, 12, random_state=0, restarts=0).fit(X, y)
    assert model.status_ == "stalled"


def test_the_regressor_asks_fresh_data_whether_it_is_in_the_trap():
    """DU-L5.1: a teacher whose trap exists; the fit with all flips is on the true side."""
    rng = np.random.default_rng(7)
    X = 5.0 * rng.standard_normal((900, 20))
    layout = patch_layout((20,), 5, 5)
    truth = PatchNetwork(np.eye(5)[:1], np.array([[1.0, -0.6, 0.4, -0.5]]), layout)
    y = truth.predict(X) + 0.1 * rng.standard_normal(900)
    model = PatchNetworkRegressor(5, 5, head="trained", random_state=0).fit(X[:500], y[:500])
    assert model.trap_verdict(X[500:], y[500:]).side == "true side"
    trapped = clone(model).fit(X[:500], y[:500])
    trapped.network_ = PatchNetwork(-truth.filters, -truth.head, layout)
    assert trapped.trap_verdict(X[500:], y[500:]).side == "trap"
    with pytest.raises(ValueError, match="one filter with trained"):
        PatchNetworkRegressor(5, 5, random_state=0).fit(X, np.abs(y)).trap_verdict(X, y)


def test_the_regressor_proves_its_zero_loss(tmp_path):
    """OS-T3.2: more output weights than samples; the certificate is a file that checks again."""
    digits = load_digits()
    X, y = digits.images[:30] / 16.0, digits.target[:30].astype(float)
    model = PatchNetworkRegressor(3, 1, 2, "trained", bias=True, random_state=0).fit(X, y)
    assert model.status_ == "converged"
    proof = model.prove(X, y, path=tmp_path / "digits.gmc")
    assert proof.verdict == "ACCEPTED"
    assert proof.reaches_minimum
    assert check(tmp_path / "digits.gmc").verdict == "ACCEPTED"


def test_fixed_output_weights_are_proved_by_shared_filters():
    """DU-M6: eight filters, every other subtracted; one filter cannot fit, and says why."""
    digits = load_digits()
    X, y = digits.images[:30] / 16.0, digits.target[:30].astype(float)
    signed = PatchNetworkRegressor(3, 2, 8, "signed", bias=True, random_state=0).fit(X, y)
    proof = signed.prove(X, y)
    assert proof.verdict == "ACCEPTED"
    assert proof.reaches_minimum
    assert proof.claims[0].kind == "patch-interpolation"
    average = PatchNetworkRegressor(3, random_state=0).fit(X, y)
    proof = average.prove(X, y)
    assert proof.verdict == "NOT PROVED"
    assert "9 independent slopes" in proof.why
