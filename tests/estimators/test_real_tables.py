"""Held-out scores on tables that scikit-learn ships, beside ridge regression: nested
cross-validation over several shuffles.

In every table but diabetes a measurement is predicted from the others; it is the first column, so
that nobody chose it. On wine and on iris the first column is nearly linear in the others and ridge
regression is a little better: the test says by how much at most. Linnerud (20 rows, three targets)
is predicted by no model.
"""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_linnerud, load_wine
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from globalmin.estimators import QuadraticNetworkRegressorCV

ALPHAS = np.logspace(-4, 6, 41)


def first_from_others(load):
    table = load().data
    return table[:, 1:], table[:, 0]


TABLES = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "wine, alcohol": lambda: first_from_others(load_wine),
    "iris, sepal length": lambda: first_from_others(load_iris),
    "breast cancer, mean radius": lambda: first_from_others(load_breast_cancer),
    "linnerud, three targets": lambda: load_linnerud(return_X_y=True),
}


def ridge_score(X, y, train, test, cv):
    """RidgeCV with 41 penalties, by leave-one-out (cv=None, its default) or in folds; targets of
    their own penalty each.
    """
    scores = []
    for labels in np.reshape(y, (len(y), -1)).T:
        model = make_pipeline(StandardScaler(), RidgeCV(alphas=ALPHAS, cv=cv)).fit(
            X[train], labels[train]
        )
        scores.append(r2_score(labels[test], model.predict(X[test])))
    return np.mean(scores)


def nested_scores(X, y, seeds, **options):
    """Means over 5 outer folds, one row per shuffle: ours, ridge (leave-one-out), ridge (5 folds);
    and the largest relative gap.
    """
    rows, gaps = [], []
    for seed in seeds:
        folds = list(KFold(5, shuffle=True, random_state=seed).split(X))
        scores = []
        for train, test in folds:
            model = QuadraticNetworkRegressorCV(**options).fit(X[train], y[train])
            assert np.all(np.atleast_1d(model.verdict_) == "ACCEPTED")
            gaps.append(np.max(np.atleast_1d(model.gap_) / np.atleast_1d(model.loss_upper_)))
            scores.append(
                [
                    model.score(X[test], y[test]),
                    *(ridge_score(X, y, train, test, cv) for cv in (None, 5)),
                ]
            )
        rows.append(np.mean(scores, axis=0))
    return np.array(rows), max(gaps)


def report(name, rows, gap):
    margin = rows[:, 0] - rows[:, 1:].max(axis=1)
    error = margin.std(ddof=1) / np.sqrt(len(margin)) if len(margin) > 1 else float("nan")
    means = rows.mean(axis=0)
    print(
        f"| {name} | {means[0]:.4f} | {means[1]:.4f} / {means[2]:.4f} | {margin.mean():+.4f} +- "
        f"{error:.4f} | {int((margin > 0).sum())} of {len(margin)} | {gap:.1e} |"
    )
    return means


def test_diabetes_is_predicted_at_least_as_well_as_by_ridge_with_every_fold_proved():
    """SJL-T2.2k: nested, so that neither model sees the rows it is scored on; no allowance. The
    full grid is in the campaign.
    """
    rows, gap = nested_scores(
        *TABLES["diabetes"](), seeds=(100, 101), bias_scales=[4.0, 16.0], n_decays=10, ratio=1e-3
    )
    ours, *ridge = report("diabetes, small grid", rows, gap)
    assert ours >= max(ridge)
    assert gap <= 1e-8


def test_sepal_width_has_squares_that_a_linear_model_misses():
    """Chosen as an example of a curved relation, unlike the first columns of the campaign."""
    table = load_iris().data
    rows, gap = nested_scores(
        np.delete(table, 1, axis=1), table[:, 1], seeds=(100,), bias_scales=[1.0, 4.0], n_decays=8
    )
    ours, *ridge = report("iris, sepal width, small grid", rows, gap)
    assert ours >= max(ridge) + 0.05
    assert gap <= 1e-8


@pytest.mark.campaign
@pytest.mark.parametrize("name", ["diabetes", "breast cancer, mean radius"])
def test_ten_shuffles_are_predicted_at_least_as_well_as_by_ridge_on_the_mean(name):
    rows, gap = nested_scores(*TABLES[name](), seeds=range(100, 110))
    ours, *ridge = report(name, rows, gap)
    assert ours >= max(ridge)
    assert gap <= 1e-8


@pytest.mark.campaign
@pytest.mark.parametrize("name", ["wine, alcohol", "iris, sepal length"])
def test_where_ridge_is_better_it_is_by_less_than_two_hundredths(name):
    """Not a success: the target of at least the score of ridge is missed here, and the figure is
    printed.
    """
    rows, gap = nested_scores(*TABLES[name](), seeds=range(100, 110))
    ours, *ridge = report(name, rows, gap)
    assert ours >= max(ridge) - 0.02
    assert gap <= 1e-8


@pytest.mark.campaign
def test_twenty_rows_of_linnerud_are_proved_and_predicted_by_no_model():
    """The figure is printed for the record: both models do worse than the mean of the training
    rows.
    """
    rows, gap = nested_scores(*TABLES["linnerud, three targets"](), seeds=range(100, 110))
    report("linnerud, three targets", rows, gap)
    assert (rows.mean(axis=0) < 0).all()
    assert gap <= 1e-8
