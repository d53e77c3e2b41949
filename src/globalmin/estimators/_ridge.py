"""Ridge regression, the linear model beside every regression: in closed form, without scikit-learn,
whose import takes longer than the fit of a small table.
"""

from __future__ import annotations

import numpy as np

from globalmin._types import Array

_EPSILON = float(np.finfo(np.float64).eps)


class RidgeLine:
    r"""The minimum of $\sum_i w_i (y_i - c - \beta\cdot x_i)^2 + \alpha|\beta|^2$ over $c$ and
    $\beta$, of columns as they are or standardized.
    """

    def __init__(self, alpha: float, *, scales: bool = False) -> None:
        self.alpha, self.scales = alpha, scales

    def fit(self, X: Array, y: Array, sample_weight: Array | None = None) -> RidgeLine:
        """Solve for the coefficients: in the columns, or in the rows if these are fewer."""
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        spread = _spreads(X) if self.scales else np.ones(X.shape[1])
        total = weight.sum()
        center, middle = weight @ X / total, float(weight @ y / total)
        root = np.sqrt(weight)
        A, b = root[:, None] * ((X - center) / spread), root * (y - middle)
        n, d = A.shape
        if d <= n:
            beta = np.linalg.solve(A.T @ A + self.alpha * np.eye(d), A.T @ b)
        else:
            beta = A.T @ np.linalg.solve(A @ A.T + self.alpha * np.eye(n), b)
        self.coef_ = beta / spread
        self.intercept_ = middle - float(center @ self.coef_)
        return self

    def predict(self, X: Array) -> Array:
        """Outputs at rows."""
        return X @ self.coef_ + self.intercept_

    def score(self, X: Array, y: Array) -> float:
        """R^2 of the outputs."""
        return r_squared(y, self.predict(X))


def _spreads(X: Array) -> Array:
    """Standard deviations; 1 for columns that are constant up to rounding."""
    mean, variance, n = X.mean(axis=0), X.var(axis=0), len(X)
    is_constant = variance <= n * _EPSILON * variance + np.square(n * mean * _EPSILON)
    return np.where(is_constant, 1.0, np.sqrt(variance))


def r_squared(y: Array, outputs: Array) -> float:
    """1 minus the squared errors over those of the mean, as scikit-learn scores: of labels that
    are all the same 1 for no error and else 0.
    """
    errors = float(np.square(y - outputs).sum())
    around = float(np.square(y - y.mean()).sum())
    if around == 0.0:
        return 1.0 if errors == 0.0 else 0.0
    return 1.0 - errors / around
