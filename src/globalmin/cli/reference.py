"""Ridge regression beside the network: what a plain linear model scores on the same rows."""

from __future__ import annotations

import warnings

import numpy as np

from globalmin._types import Array

FEWEST_ROWS = 3


def ridge_outputs(X: Array, y: Array, X_held_out: Array) -> tuple[Array, Array] | None:
    """Outputs of cross-validated ridge regression on training and held-out rows; None for fewer
    than three rows.
    """
    if len(y) < FEWEST_ROWS or not len(X_held_out):
        return None
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # near-singular tables: the penalties that suffer from it lose the cross-validation
        model = make_pipeline(StandardScaler(), RidgeCV(alphas=np.logspace(-4, 6, 41))).fit(X, y)
    return model.predict(X), model.predict(X_held_out)
