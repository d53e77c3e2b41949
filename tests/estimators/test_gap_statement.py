"""The gap by the same names on every estimator, in one sentence with the tolerance beside it."""

import inspect
import math
import pickle
import re
from fractions import Fraction

import numpy as np
import pytest

import globalmin as gm
from globalmin import estimators
from globalmin.estimators._gap import Gap
from globalmin.proving.rounded_text import above, below
from globalmin_check import check_file

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 3))
SMOOTH = X[:, 0] - 0.5 * X[:, 1] + 0.2 * rng.standard_normal(40)
SIGNS = X[:, 0] + 0.3 * rng.standard_normal(40) > 0
SIGNALS = rng.standard_normal((4, 12))  # fewer of them than a filter has weights
WINDOWS = np.lib.stride_tricks.sliding_window_view(SIGNALS, 7, axis=1)
PATCHED = np.maximum(WINDOWS @ np.arange(-3.0, 4.0), 0).mean(axis=1)

# every estimator that is exported, with labels that it can learn: (what it says, the tolerance)
CASES = {
    "ShallowNetworkRegressor": ({}, SMOOTH, 1e-6),
    "ShallowNetworkClassifier": ({}, SIGNS, 1e-6),
    "DeepNetworkRegressor": ({"depth": 2, "width": 40}, SMOOTH, 1e-6),
    "DeepNetworkClassifier": ({"depth": 2, "width": 40}, SIGNS, 1e-6),
    "PatchNetworkRegressor": ({"patch_size": 7}, PATCHED, 1e-6),
    "ConvolutionalFilterRegressor": ({"patch_size": 7}, PATCHED, 1e-6),
    "QuadraticNetworkRegressor": ({"weight_decay": 3.0}, SMOOTH, 1e-6),
    "QuadraticNetworkRegressorCV": ({"n_decays": 3, "bias_scales": [4.0]}, SMOOTH, 1e-6),
    "QuadraticNetworkClassifier": ({"weight_decay": 3.0, "gap": 1e-5}, SIGNS, 1e-5),
    "SquaresNetworkRegressor": ({"weight_decay": 3.0, "gap": 1e-5}, SMOOTH, 1e-5),
    "AdditiveNetworkRegressor": ({"weight_decay": 2.0, "gap": 1e-5}, SMOOTH, 1e-5),
    "AdditiveNetworkClassifier": ({"weight_decay": 1.0, "gap": 1e-5}, SIGNS, 1e-5),
    "ReluNetworkRegressor": ({"weight_decay": 15.0, "gap": 0.3, "starts": 1}, SMOOTH, 0.3),
    "ReluNetworkClassifier": ({"weight_decay": 8.0, "gap": 0.3, "starts": 1}, SIGNS, 0.3),
    "ProvedNetworkRegressor": ({"models": "additive", "weight_decay": 2.0}, SMOOTH, 1e-6),
    "ProvedNetworkClassifier": ({"models": "quadratic", "weight_decay": 3.0}, SIGNS, 1e-6),
}
NUMBERS = ("objective_", "lower_bound_", "gap_", "relative_gap_", "loss_upper_", "loss_lower_")


def _made(name, **more):
    options, y, tolerance = CASES[name]
    kind = getattr(gm, name)
    if "random_state" in inspect.signature(kind).parameters:
        more = {"random_state": 0, **more}
    rows = X if len(y) == len(X) else SIGNALS
    return kind(**{**options, **more}).fit(rows, y), tolerance


def test_the_table_has_every_estimator():
    exported = {n for n in estimators.__all__ if n.endswith(("Regressor", "Classifier", "CV"))}
    assert exported == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_proved_fit_says_its_gap_by_the_common_names(name, tmp_path):
    model, tolerance = _made(name)
    objective, floor, gap, share, upper, lower = (float(getattr(model, n)) for n in NUMBERS)
    assert model.verdict_ == "ACCEPTED"
    assert model.optimal_ is True
    assert lower == floor
    # the objective in floats and the proved bounds: rounding of sums of about 40 terms
    slack = 1e-9 * (1.0 + abs(objective))
    assert floor - slack <= objective <= upper + slack
    assert objective - floor <= gap + slack
    assert 0 <= share <= tolerance
    said = model.gap_statement()
    assert re.fullmatch(
        r"No .+ has an? (objective|loss) more than \S+ below the \S+ of this one: \S+ of .+, where "
        r"\S+ was asked for \(.*file ACCEPTED\)\.",
        said,
    ), said
    printed = re.search(r"more than (\S+) below .*?: (\S+) of", said)
    assert printed is not None
    assert Fraction(printed[1]) >= Fraction(gap)  # a bound that is printed must be true
    assert Fraction(printed[2]) >= Fraction(share)
    assert f"where {tolerance:g} was asked for" in said
    assert model.gap_statement(0) == said
    path = model.save_certificate(tmp_path / "file.gmc")
    assert check_file(path).verdict.value == "ACCEPTED"
    assert pickle.loads(pickle.dumps(model)).gap_statement() == said  # noqa: S301 (our own)


@pytest.mark.parametrize("name", CASES)
def test_without_a_proof_nothing_is_said_to_be_proved(name):
    model, _ = _made(name, certify=False)
    assert model.certificate_ is None
    assert model.verdict_ is None
    assert model.gap_ == math.inf
    assert model.relative_gap_ == math.inf
    assert model.optimal_ is False
    assert "is not proved" in model.gap_statement()
    with pytest.raises(gm.DataError, match="no accepted certificate"):
        model.save_certificate("nowhere.gmc")


def test_several_classes_have_a_sentence_each():
    labels = np.digitize(X[:, 0], [-0.5, 0.5])
    model = gm.AdditiveNetworkClassifier(loss="logistic", weight_decay=2.0).fit(X, labels)
    lines = model.gap_statement().split("\n")
    assert len(lines) == 3
    assert [model.gap_statement(j) for j in range(3)] == lines


def test_where_the_minimum_is_not_zero_the_share_is_one_of_the_loss():
    rows, y = np.repeat(X[:20], 2, axis=0), rng.standard_normal(40)  # equal rows, other labels
    model = gm.ShallowNetworkRegressor(random_state=0).fit(rows, y)
    assert model.lower_bound_ > 0
    assert model.relative_gap_ == pytest.approx(model.gap_ / model.objective_)
    assert " of it, where 1e-06" in model.gap_statement()


def test_a_head_that_is_trained_alone_is_compared_with_heads():
    model = gm.ShallowNetworkRegressor(trained="v", width=4, random_state=0).fit(X, SMOOTH)
    assert model.gap_statement().startswith("No head for these hidden weights has a loss more")


def test_the_share_of_an_interpolation_is_one_of_half_the_squared_labels():
    model, _ = _made("ShallowNetworkRegressor")
    # standardized labels: their squares add up to the number of rows
    assert model.relative_gap_ == pytest.approx(model.gap_ / (0.5 * len(X)), rel=1e-9, abs=0.0)


def test_bounds_are_printed_rounded_up():
    assert above(1.201e-7) == "1.3e-07"
    assert above(1.2e-7) in ("1.2e-07", "1.3e-07")
    assert Fraction(above(1.2e-7)) >= Fraction(1.2e-7)
    assert above(math.inf) == "inf"
    assert (above(-1.239, 3), below(-1.231, 3), below(1.2399, 3)) == ("-1.23", "-1.24", "1.23")
    assert above(99.91, 3) == "100"
    said = str(Gap(3.0, 1.01e-3, 3.31e-4, 1e-3, "network", "ACCEPTED", notes=("n",)))
    assert "more than 0.0011 below the 3 of this one: 0.00034 of it" in said


def test_the_share_of_a_poisson_gap_is_one_of_what_can_be_gained():
    counts = np.round(np.exp(SMOOTH - SMOOTH.min()))
    model = gm.AdditiveNetworkRegressor(loss="poisson", weight_decay=2.0).fit(X, counts)
    least = counts[counts > 0] @ (1.0 - np.log(counts[counts > 0]))
    share = model.gap_ / (model.objective_ - least)
    assert model.relative_gap_ == pytest.approx(share, rel=1e-6)
    assert f"{above(model.relative_gap_)} of what it is above the least" in model.gap_statement()
    plain = gm.AdditiveNetworkRegressor(weight_decay=2.0).fit(X, SMOOTH)
    assert f"{above(plain.relative_gap_)} of it, where" in plain.gap_statement()
