"""The smallest objective that local searches from many starts find in a tiny class: an upper bound
of the infimum, in floats.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from scipy.optimize import minimize
from tests.checker.regularized_cases import Case

Array = np.ndarray
WIDTH = 4


def _loss(case: Case, f: Array) -> float:
    y, name = case.y, case.loss["name"]
    a = float(Fraction(case.loss.get("parameter", 0)))
    r, m = f - y, y * f
    lack = np.maximum(0, 1 - m)
    values = {
        "squared": lambda: r**2 / 2,
        "huber": lambda: np.where(abs(r) <= a, r**2 / 2, a * abs(r) - a * a / 2),
        "quantile": lambda: np.maximum(-a * r, (1 - a) * r),
        "hinge": lambda: lack,
        "squared_hinge": lambda: lack**2 / 2,
        "logistic": lambda: np.logaddexp(0, -m),
        "poisson": lambda: np.exp(np.minimum(f, 500)) - y * f,
    }[name]()
    return float(values.sum() if case.om is None else case.om @ values)


def _masks(case: Case, rng: np.random.Generator) -> Array:
    """Which weights a neuron may have: the columns of one random group each."""
    d, groups = case.X.shape[1], case.form()["groups"]
    if groups == "columns":
        groups = [[j] for j in range(d)]
    elif isinstance(groups, str):
        groups = [list(range(d))]  # two columns at most, so that pairs are all columns
    masks = np.zeros((WIDTH, d))
    for row in masks:
        row[groups[int(rng.integers(len(groups)))]] = 1.0
    return masks


def _objective(case: Case, masks: Array) -> Callable[[Array], float]:
    form, d = case.form(), case.X.shape[1]
    quadratic, rule = form["neurons"] == "quadratic", form["hidden_bias"]
    b, tau = float(Fraction(form["b"])), float(Fraction(form.get("tau", "1")))
    k0, k1 = (float(Fraction(form.get(name, "0"))) for name in ("k0", "k1"))
    v_max = float(Fraction(form.get("v_max", "0")))
    signs = np.array(form.get("monotone", [0] * d))

    def value(p: Array) -> float:
        W, rest = p[: WIDTH * d].reshape(WIDTH, d) * masks, p[WIDTH * d :]
        v, beta, c0, theta = rest[:WIDTH], rest[WIDTH : 2 * WIDTH], rest[2 * WIDTH], rest[-d:]
        v = np.abs(v) if form["heads"] == "nonnegative" else v
        v = v_max * np.tanh(v) if quadratic else v
        beta = beta if rule != "none" else 0 * beta
        c0 = 0.0 if form["intercept"] == "none" else c0
        theta = 0 * theta if form["linear"] == "none" else theta
        wrong = np.sign(W) * np.sign(v)[:, None] * signs < 0
        W = np.where(wrong, -W, W)
        z = case.X @ W.T + tau * beta
        f = c0 + case.X @ theta + (z**2 if quadratic else np.maximum(z, 0)) @ v
        size = np.sum(W**2) + (0 if quadratic else v @ v)
        size += beta @ beta if rule == "penalized" else 0.0
        return _loss(case, f) + b / 2 * size + k0 / 2 * c0**2 + k1 / 2 * theta @ theta

    return value


def lowest_objective(case: Case, rng: np.random.Generator, starts: int = 6) -> float:
    """The best of several local searches with up to four neurons."""
    best, d = np.inf, case.X.shape[1]
    for start in range(starts):
        value = _objective(case, _masks(case, rng))
        p = rng.standard_normal(WIDTH * (d + 2) + 1 + d) * (1.0 if start else 0.0)
        with np.errstate(all="ignore"):
            found = minimize(value, p, method="BFGS", options={"maxiter": 200})
            found = minimize(value, found.x, method="Nelder-Mead", options={"maxiter": 400})
        best = min(best, float(found.fun))
    return best
