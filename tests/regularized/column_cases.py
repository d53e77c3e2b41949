"""Problems that several tests share, and slow obvious versions of what they compare with."""

from fractions import Fraction
from itertools import pairwise

import numpy as np

from globalmin.losses import get_loss
from globalmin.regularized.objective import Penalty, RegularizedProblem

LOSSES = {
    "squared": get_loss("squared"),
    "huber": get_loss("huber", 0.75),
    "quantile": get_loss("quantile", 0.75),
    "poisson": get_loss("poisson"),
    "logistic": get_loss("logistic"),
    "hinge": get_loss("hinge"),
    "squared_hinge": get_loss("squared_hinge"),
}


def labels_for(loss, signal, rng):
    """Labels of the loss's kind that follow the signal."""
    if loss.labels == "counts":
        return rng.poisson(np.exp(0.5 * signal)).astype(float)
    if loss.labels == "signs":
        return np.where(signal + rng.standard_normal(signal.size) > 0, 1.0, -1.0)
    return signal + 0.3 * rng.standard_normal(signal.size)


def table(n, d, seed, *, ties=False):
    """Rows and a signal that depends on them, kinks included."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if ties:
        X = np.round(X, 1)
        X[:, -1] = 0.5  # a constant column
    return X, np.abs(X[:, 0]) - 1.0 + 0.5 * X[:, -1], rng


def problem_of(name, *, decay=0.5, n=60, d=3, seed=0, weighted=False, **penalty):
    """A problem with this loss."""
    X, signal, rng = table(n, d, seed, ties=True)
    weight = rng.integers(0, 4, n) / 2.0 if weighted else None
    y = labels_for(LOSSES[name], signal, rng)
    return RegularizedProblem(X, y, Penalty(decay, **penalty), LOSSES[name], sample_weight=weight)


def exact_sums(problem, u):
    """Distinct values of every column with the sums of u over each, as rationals."""
    for column in problem.X.T:
        sums: dict[Fraction, Fraction] = {}
        for x, part in zip(column.tolist(), u.tolist(), strict=True):
            sums[Fraction(x)] = sums.get(Fraction(x), Fraction(0)) + Fraction(part)
        yield sorted(sums.items())


def is_feasible_column(values, b, tau):
    """Whether |sum of U relu(w.(z, tau))| <= b|w| for all w: on every cone the quadratic form
    b^2|w|^2 - (s.w)^2 is copositive, by its three numbers (Lemma C), in rationals.
    """
    z, U = [a for a, _ in values], [part for _, part in values]
    rays = [(tau, -a) for a in reversed(z)] + [(Fraction(0), Fraction(1))]
    rays += [(-tau, a) for a in reversed(z)]
    for p, q in pairwise(rays):
        middle = p[0] + q[0], p[1] + q[1]
        active = [j for j, a in enumerate(z) if a * middle[0] + tau * middle[1] > 0]
        s = sum(U[j] * z[j] for j in active), sum(U[j] * tau for j in active)

        def form(v, w, s=s):
            dots = s[0] * v[0] + s[1] * v[1], s[0] * w[0] + s[1] * w[1]
            return b * b * (v[0] * w[0] + v[1] * w[1]) - dots[0] * dots[1]

        A, B, C = form(p, p), form(p, q), form(q, q)
        if A < 0 or C < 0 or (B < 0 and B * B > A * C):
            return False
    return True
