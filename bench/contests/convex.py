"""Quadratic networks with weight decay: our solver beside CVXPY with Clarabel and SCS and L-BFGS on
the factors; and the cross-validated estimator beside polynomial features with ridge regression.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from bench.contests.contest import Contender, Contest, Outcome
from bench.quadratic_peers import convex_point
from scipy.optimize import minimize
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import globalmin as gm
from globalmin.quadratic.duality import critical_decay, matrix_objective
from globalmin.quadratic.solve import solve_quadratic

os.environ.setdefault("RAYON_NUM_THREADS", "1")  # Clarabel

SIZES = ((500, 20), (637, 50))
DECAY = 0.1  # of the least decay without neurons
FOLDS_ROWS = 1_000


def contests() -> Iterator[Contest]:
    """The solver at two sizes, the estimator on two tables."""
    for n, d in SIZES:
        yield _solvers(n, d)
    X, y = load_diabetes(return_X_y=True)
    yield _estimators("diabetes, 442 x 10", X, y)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((FOLDS_ROWS, 20))
    y = (X @ rng.standard_normal((20, 3)) / 4.0) ** 2 @ [1.0, -1.0, 1.0]
    yield _estimators(f"{FOLDS_ROWS:,} x 20, rank 3", X, y + rng.standard_normal(FOLDS_ROWS))


def _solvers(n: int, d: int) -> Contest:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    decay = DECAY * critical_decay(X, y)
    floor = solve_quadratic(X, y, weight_decay=decay).lower_estimate

    def excess(M: np.ndarray) -> Outcome:
        return Outcome(max(matrix_objective(M, X, y, c=decay / 2.0) / floor - 1.0, 0.0))

    def ours() -> Outcome:
        return Outcome(solve_quadratic(X, y, weight_decay=decay).objective / floor - 1.0)

    def factors() -> Outcome:
        return excess(factored_point(X, y, decay))

    def solver(name: str) -> Callable[[], Outcome]:
        return lambda: excess(convex_point(name, X, y, decay / 2.0))

    contenders = [
        Contender("globalmin", ours),
        Contender("L-BFGS on the factors", factors),
        Contender("CVXPY, SCS", solver("SCS")),
        Contender("CVXPY, Clarabel", solver("CLARABEL")),
    ]
    return Contest(
        "quadratic network",
        f"n = {n}, d = {d}",
        contenders,
        "excess over the floor",
        is_quick=d < 50,
    )


def factored_point(X: Any, y: Any, decay: float) -> np.ndarray:
    """M = U^T U - V^T V with d rows each, by L-BFGS of scipy from a random start."""
    d = X.shape[1]
    start = np.random.default_rng(0).standard_normal(2 * d * d) / d

    def loss_and_gradient(theta: np.ndarray) -> tuple[float, np.ndarray]:
        U, V = theta.reshape(2, d, d)
        A, B = X @ U.T, X @ V.T
        r = (A**2).sum(axis=1) - (B**2).sum(axis=1) - y
        value = 0.5 * r @ r + 0.5 * decay * theta @ theta
        R = r[:, None]
        gradient = np.stack([2.0 * (R * A).T @ X, -2.0 * (R * B).T @ X]).ravel() + decay * theta
        return float(value), gradient

    options = {"maxiter": 5_000, "ftol": 1e-14, "gtol": 1e-10}
    found = minimize(loss_and_gradient, start, jac=True, method="L-BFGS-B", options=options).x
    U, V = found.reshape(2, d, d)
    return U.T @ U - V.T @ V


def _estimators(size: str, X: Any, y: Any) -> Contest:
    test = np.arange(len(y)) % 4 == 0

    def held_out(model: Any) -> Outcome:
        return Outcome(float(model.fit(X[~test], y[~test]).score(X[test], y[test])))

    def ridge(loo: bool) -> Any:
        cross = {} if loo else {"cv": 5}
        steps = (
            StandardScaler(),
            PolynomialFeatures(2),
            RidgeCV(np.geomspace(1e-3, 1e4, 25), **cross),
        )
        return make_pipeline(*steps)

    contenders = [
        Contender("globalmin", lambda: held_out(gm.QuadraticNetworkRegressorCV(certify=False))),
        Contender("with proof and check", lambda: held_out(gm.QuadraticNetworkRegressorCV())),
        Contender("poly2 + RidgeCV, leave one out", lambda: held_out(ridge(True))),
        Contender("poly2 + RidgeCV, 5 folds", lambda: held_out(ridge(False))),
    ]
    return Contest("quadratic network, decay by cross-validation", size, contenders, "held-out R^2")
