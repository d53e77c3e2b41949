"""Least eigenvalues of limiting Gram matrices proved by the checker on 50 data sets, within 1 % of
the estimate.
"""

import numpy as np
import pytest

import globalmin as gm
from globalmin.kernels.limit_gram import limit_gram
from globalmin_check import Verdict
from globalmin_check.engine import check_bytes

ACTIVATIONS = ("relu", "softplus", "relu", "tanh", "relu", "sigmoid", "relu", "erf")
KINDS = ("unit", "gaussian", "norms", "near duplicate", "nearly parallel", "integers", "clusters")


def data_set(number: int) -> tuple[np.ndarray, str, str]:
    """Rows, their kind and an activation, all from the number."""
    rng = np.random.default_rng(number)
    kind = KINDS[number % len(KINDS)]
    n, d = int(rng.integers(2, 61)), int(rng.integers(2, 31))
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    if kind == "unit":
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    if kind == "norms":
        X *= np.exp(rng.uniform(-1.5, 1.2, (n, 1)))
    if kind == "near duplicate":
        X[-1] = X[0] + 10.0 ** -int(rng.integers(2, 7)) * rng.standard_normal(d)
    if kind == "nearly parallel":
        X[-1] = 1.5 * X[0] + 10.0 ** -int(rng.integers(2, 9)) * rng.standard_normal(d)
        X[-2] = -X[0] + 1e-3 * rng.standard_normal(d)
    if kind == "integers":
        X = np.unique(rng.integers(-3, 4, (n, d)).astype(float), axis=0)
        X = X[X.any(axis=1)] / 4.0
    if kind == "clusters":
        X = X[rng.integers(0, 4, n) % n] + 0.2 * rng.standard_normal((n, d)) / np.sqrt(d)
    return X, kind, ACTIVATIONS[number % len(ACTIVATIONS)]


def estimate(X: np.ndarray, activation: str, kernel: str) -> float:
    """Least eigenvalue in floats, from the matrices of the theory room, which the certificates do
    not use.
    """
    kind = "features" if kernel == "features" else "weights"
    return float(np.linalg.eigvalsh(limit_gram(X, activation, kernel=kind))[0])


def spread(X: np.ndarray) -> str:
    s = np.linalg.norm(X, axis=1)
    return f"n={len(X)} d={X.shape[1]} norms {s.min():.2g}..{s.max():.2g}"


@pytest.mark.parametrize("number", range(50))
def test_the_proved_bound_is_within_one_percent_of_the_estimate(number: int) -> None:
    """DU-D2.1, OS-LH.1: accepted by the checker; where doubles do not see the eigenvalue the
    certificate says so.
    """
    X, kind, activation = data_set(number)
    kernel = "features" if number % 5 == 4 else "weights"
    certificate = gm.certify_gram(X, activation, kernel)
    result = check_bytes(certificate.to_bytes())
    assert result.verdict is Verdict.ACCEPTED, result.reason
    summary = certificate.summary()
    proved, about = summary["lambda"], estimate(X, activation, kernel)
    scale = float(np.sum(X * X))
    print(
        f"{number} {kind} {activation} {kernel} {spread(X)}: proved {proved:.6g}, estimate "
        f"{about:.6g}, {summary}"
    )
    assert proved <= about + 1e-13 * scale
    if summary[
        "ill_conditioned"
    ]:  # the reason: the eigenvalue is too near the rounding of doubles, high precision is used
        assert about < 1e-8 * scale
    assert proved >= 0.99 * (summary["estimate"] if summary["ill_conditioned"] else about)


def test_duplicate_zero_and_parallel_rows_are_refused_with_the_reason() -> None:
    X = np.random.default_rng(0).standard_normal((6, 4))
    with pytest.raises(gm.errors.CannotCertify, match="rows 0 and 5 are parallel"):
        gm.certify_gram(np.vstack([X[:5], X[:1]]), "softplus")
    with pytest.raises(gm.errors.CannotCertify, match="rows 0 and 5 are parallel"):
        gm.certify_gram(np.vstack([X[:5], 2 * X[:1]]), "relu")
    with pytest.raises(gm.errors.CannotCertify, match="row 5 of the data is zero"):
        gm.certify_gram(np.vstack([X[:5], 0 * X[:1]]), "relu")
