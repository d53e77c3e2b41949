"""The choice without scikit-learn: the same network, proof, and table of candidates as that of
`ProvedNetworkRegressor`, from a process that never imports scikit-learn.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from globalmin.estimators import (
    AdditiveNetworkRegressor,
    ProvedNetworkRegressor,
    ReluNetworkRegressor,
    SquaresNetworkRegressor,
)
from globalmin.estimators._ridge import RidgeLine, r_squared
from globalmin.estimators._without_sklearn import (
    PlainAdditive,
    PlainChoice,
    PlainRelu,
    PlainSquares,
)
from globalmin.regularized.folds import random_state_of, shuffled_folds

PAIRS = [
    (PlainAdditive, AdditiveNetworkRegressor),
    (PlainSquares, SquaresNetworkRegressor),
    (PlainRelu, ReluNetworkRegressor),
    (PlainChoice, ProvedNetworkRegressor),
]
# what `globalmin fit` always gives
GIVEN = {"loss", "weight_decay", "scaling", "gap", "random_state", "interactions", "bins",
         "loss_parameter", "models"}  # fmt: skip


@pytest.mark.parametrize(("plain", "full"), PAIRS)
def test_defaults_are_those_of_the_estimator(plain: type, full: type):
    asked = inspect.signature(full.__init__).parameters.values()
    theirs = {p.name: p.default for p in asked if p.name != "self"}
    ours: dict = dict(plain.defaults)  # pyright: ignore[reportAttributeAccessIssue]
    assert ours == {name: theirs[name] for name in ours}
    assert set(theirs) - set(ours) <= GIVEN


@pytest.mark.parametrize("seed", [None, 0, 7, np.random.RandomState(3)])
@pytest.mark.parametrize(("n", "count"), [(2, 2), (7, 5), (10, 5), (23, 4), (11, 11)])
def test_folds_are_those_of_scikit_learn(n: int, count: int, seed):
    state = np.random.mtrand._rand if seed is None else check_random_state(seed)  # pyright: ignore
    kept = state.get_state()
    theirs = list(KFold(count, shuffle=True, random_state=seed).split(np.zeros(n)))
    state.set_state(kept)
    ours = shuffled_folds(n, count, seed)
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert [x.tolist() for x in mine] == [x.tolist() for x in other]
    assert random_state_of(seed).__class__ is check_random_state(seed).__class__


@pytest.mark.parametrize(("n", "d"), [(40, 3), (8, 20), (5, 5)])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("scales", [False, True])
def test_ridge_line_is_that_of_scikit_learn(n: int, d: int, is_weighted: bool, scales: bool):
    rng = np.random.default_rng([n, d, is_weighted, scales])
    X, y = rng.standard_normal((n, d)) * rng.uniform(0.1, 9.0, d) + 3.0, rng.standard_normal(n)
    X[:, 0] = 0.1  # a constant column, not a double
    weight = rng.integers(0, 4, n).astype(float) if is_weighted else None
    ours = RidgeLine(0.3, scales=scales).fit(X, y, weight)
    steps = [StandardScaler(), Ridge(alpha=0.3)] if scales else [Ridge(alpha=0.3)]
    theirs = make_pipeline(*steps).fit(X, y, ridge__sample_weight=weight)
    at = rng.standard_normal((9, d)) + 3.0
    # both solve a system of condition below 1e4 in doubles
    np.testing.assert_allclose(ours.predict(at), theirs.predict(at), rtol=1e-9, atol=1e-10)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("y", [[1.0, 2.0, 4.0], [2.0, 2.0, 2.0]])
@pytest.mark.parametrize("outputs", [[2.0, 2.0, 2.0], [1.0, 3.0, 4.0]])
def test_score_is_that_of_scikit_learn(y: list[float], outputs: list[float]):
    assert r_squared(np.array(y), np.array(outputs)) == pytest.approx(r2_score(y, outputs))


@pytest.mark.parametrize(("models", "loss", "d"), [
    ("auto", "squared", 3), ("quadratic", "huber", 3), ("additive", "poisson", 2),
    ("relu", "squared", 2),
])  # fmt: skip
def test_choice_is_that_of_the_estimator(models: str, loss: str, d: int, tmp_path: Path):
    rng = np.random.default_rng(d)
    X = rng.standard_normal((40, d))
    y = np.abs(X[:, 0]) + 0.1 * rng.standard_normal(40)
    if loss == "poisson":
        y = np.array([float(round(abs(value))) for value in y])
    options = {"models": models, "loss": loss, "interactions": "none", "bins": None, "gap": None}
    decay = 5.0 if models == "relu" else "cv"
    options |= {"weight_decay": decay, "scaling": "standardize", "random_state": 0}
    weight = rng.uniform(0.5, 2.0, 40) if models == "quadratic" else None
    plain = PlainChoice(**options).fit(X, y, weight)
    full = ProvedNetworkRegressor(**options).fit(X, y, weight)
    assert plain.model_ == full.model_
    assert plain.best_estimator_.certificate_ == full.best_estimator_.certificate_
    assert plain.choice_statement() == full.choice_statement()
    assert plain.gap_statement() == full.gap_statement()
    for mine, other in zip(plain.candidates_, full.candidates_, strict=True):
        assert (mine.name, mine.losses, mine.note) == (other.name, other.losses, other.note)
    np.testing.assert_array_equal(plain.predict(X), full.predict(X))
    assert plain.score(X, y) == pytest.approx(full.score(X, y), rel=1e-12)
    assert plain.baseline_.score(X, y) == pytest.approx(full.baseline_.score(X, y), rel=1e-9)
    files = [tmp_path / "plain.safetensors", tmp_path / "full.safetensors"]
    plain.save(files[0])
    full.save(files[1])
    assert files[0].read_bytes() == files[1].read_bytes()


def test_fit_of_a_small_table_does_not_import_scikit_learn(tmp_path: Path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    rows = np.c_[X, X[:, 0] ** 2 + X[:, 1]]
    np.savetxt(tmp_path / "t.csv", rows, "%.6f", ",", header="a,b,c,y", comments="")
    command = (
        "import sys; from globalmin.cli.application import run\n"
        f"code = run(['fit', {str(tmp_path / 't.csv')!r}, '--target', 'y', '--quiet',"
        f" '--out', {str(tmp_path / 'fit')!r}])\n"
        "print(code, *[m for m in ('sklearn', 'pandas', 'numba', 'torch', 'jax', 'scipy.stats')"
        " if m in sys.modules], sep=',', file=sys.stderr)"
    )
    made = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert made.stderr.splitlines()[-1] == "0", made.stderr
    assert (tmp_path / "fit" / "report.html").exists()
