"""Estimators as a user calls them, with their defaults, on Friedman's function: held-out R^2 and
CPU seconds, ours with and without proof.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from bench.contests.contest import Contender, Contest, Outcome
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import globalmin as gm

SIZES = ((2_000, 20), (10_000, 10))


def contests() -> Iterator[Contest]:
    """Interpolating and additive networks at 2,000 rows, additive ones at 10,000."""
    for n, d in SIZES:
        X, y = make_friedman1(n + n // 4, d, noise=1.0, random_state=0)
        train = np.arange(len(y)) < n
        yield _contest(X, y, train, is_small=n <= 2_000)


def _contest(X: Any, y: Any, train: Any, *, is_small: bool) -> Contest:
    def held_out(model: Any) -> Outcome:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X[train], y[train])
        return Outcome(float(model.score(X[~train], y[~train])))

    def scaled(model: Any) -> Any:
        return make_pipeline(StandardScaler(), model)

    builders = {
        "additive network": lambda: gm.AdditiveNetworkRegressor(certify=False),
        "additive network with proof": gm.AdditiveNetworkRegressor,
        "HistGradientBoosting": lambda: HistGradientBoostingRegressor(random_state=0),
        "RidgeCV": lambda: scaled(RidgeCV(np.geomspace(1e-3, 1e3, 13))),
        "MLPRegressor": lambda: scaled(MLPRegressor(random_state=0, max_iter=1_000)),
    }
    if is_small:
        builders |= {
            "ShallowNetworkRegressor": lambda: gm.ShallowNetworkRegressor(certify=False),
            "ShallowNetworkRegressor with proof": gm.ShallowNetworkRegressor,
        }
    contenders = [
        Contender(name, lambda build=build: held_out(build())) for name, build in builders.items()
    ]
    size = f"Friedman1, {train.sum():,} x {X.shape[1]}"
    return Contest("estimators at their defaults", size, contenders, "held-out R^2", is_quick=False)
