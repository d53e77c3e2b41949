"""Additive networks: time of fit and check and the proved gap at the cross-validated decay,
held-out scores beside peers of scikit-learn, and pairs of columns.

    python -m bench.additive            # proofs, scores, pairs, chosen, shapes
    python -m bench.additive proofs     # one of the five
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from bench.peer_scores import TABLES
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_friedman1
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.model_selection import KFold, RepeatedKFold, cross_val_score, train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import globalmin as gm
from globalmin.regularized.dual import saturated
from globalmin.regularized.train import largest_decay
from globalmin_check import check_file

Table = tuple[str, str, np.ndarray, np.ndarray]


def tables() -> Iterator[Table]:
    """Name, loss, rows, labels."""
    yield "diabetes", "squared", *load_diabetes(return_X_y=True)
    yield "diabetes", "poisson", *load_diabetes(return_X_y=True)
    yield "breast cancer", "logistic", *load_breast_cancer(return_X_y=True)
    X, y = load_wine(return_X_y=True)
    yield "wine, class 1", "logistic", X, y == 1
    for n in (5_000, 10_000, 50_000):
        X, y = make_friedman1(n, noise=1.0, random_state=0)
        name = "Friedman1" if n == 5_000 else "generated"
        yield name, "squared", X, y
        signal, rng = (y - y.mean()) / y.std(), np.random.default_rng(0)
        yield name, "logistic", X, rng.random(n) < 1 / (1 + np.exp(-2 * signal))
        yield name, "poisson", X, rng.poisson(np.exp(0.5 * signal)).astype(float)


def model_for(loss: str, **options: object) -> Any:
    """The estimator with this loss."""
    kind = gm.AdditiveNetworkClassifier if loss == "logistic" else gm.AdditiveNetworkRegressor
    return kind(loss=loss, **options)


def proofs() -> None:
    """One row per table and loss; the fit at the chosen decay apart from the search for it."""
    print("table, n x d, loss, decay by CV s, fit s, prove s, check s, neurons, gap, verdict")
    warm = np.random.default_rng(0).standard_normal((50, 2))
    gm.AdditiveNetworkRegressor().fit(warm, warm[:, 0])  # compiled code is loaded once
    for name, loss, X, y in tables():
        began = time.perf_counter()
        decay = model_for(loss, certify=False).fit(X, y).weight_decay_
        searched = time.perf_counter()
        bare = model_for(loss, weight_decay=decay, certify=False).fit(X, y)
        fitted = time.perf_counter()
        run = bare.runs_[0]
        with tempfile.TemporaryDirectory() as folder:
            path = gm.certify(run.network, run.problem).save(Path(folder) / "model.gmc")
            proved = time.perf_counter()
            result = check_file(path)
            checked = time.perf_counter()
        numbers = result.claims[0].numbers or {}
        scale = float(bare.objective_) - saturated(run.problem)
        share = float(numbers.get("gap", np.inf)) / scale
        print(
            f"| {name} | {X.shape[0]:,} x {X.shape[1]} | {loss} | {searched - began:.1f} | "
            f"{fitted - searched:.2f} | {proved - fitted:.2f} | {checked - proved:.1f} | "
            f"{bare.width_} | {share:.1e} | {result.verdict.value} |",
            flush=True,
        )


def peers(is_regression: bool) -> dict[str, object]:
    """Estimators at their usual settings, inputs scaled where that matters."""
    scale = StandardScaler
    if is_regression:
        return {
            "additive": gm.AdditiveNetworkRegressor(certify=False),
            "ridge": make_pipeline(scale(), RidgeCV(np.geomspace(1e-3, 1e3, 13))),
            "MLP": make_pipeline(scale(), MLPRegressor(max_iter=1000, random_state=0)),
            "boosting": HistGradientBoostingRegressor(random_state=0),
        }
    return {
        "additive": gm.AdditiveNetworkClassifier(certify=False),
        "logistic": make_pipeline(scale(), LogisticRegressionCV(Cs=10, max_iter=2000)),
        "MLP": make_pipeline(scale(), MLPClassifier(max_iter=1000, random_state=0)),
        "boosting": HistGradientBoostingClassifier(random_state=0),
    }


def scores() -> None:
    """Mean and standard deviation of R^2 or accuracy over 5 x 5 folds (Friedman1: one round of
    five).
    """
    small = [
        ("diabetes", True, *load_diabetes(return_X_y=True)),
        ("breast cancer", False, *load_breast_cancer(return_X_y=True)),
        ("wine", False, *load_wine(return_X_y=True)),
    ]
    X, y = make_friedman1(5_000, noise=1.0, random_state=0)
    warnings.simplefilter("ignore")
    for name, is_regression, rows, labels in [*small, ("Friedman1, n = 5,000", True, X, y)]:
        folds = RepeatedKFold(n_splits=5, n_repeats=5, random_state=0)
        if len(labels) > 1_000:
            folds = KFold(5, shuffle=True, random_state=0)
        cells = []
        for peer, model in peers(is_regression).items():
            found = cross_val_score(model, rows, labels, cv=folds)
            cells.append(f"{peer} {found.mean():.3f} ± {found.std():.3f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def pairs() -> None:
    """All pairs of columns: CPU seconds of fit and of the check, apart."""
    print("table, n x d, bins, decay, fit s, certificate s, check s, neurons, gap, R^2, verdict")
    warm = np.random.default_rng(0).standard_normal((50, 3))
    gm.AdditiveNetworkRegressor(interactions="pairs").fit(warm, warm[:, 0])
    X, y = load_diabetes(return_X_y=True)
    _pairs_row("diabetes", (X, X[:0], y, y[:0]), None, 0.1, 1e-5)
    X, y = make_friedman1(5_000, noise=1.0, random_state=0)
    parts = train_test_split(X, y, test_size=0.25, random_state=0)
    for bins in (16, 32, None):
        _pairs_row("Friedman1", parts, bins, 0.005, 1e-3)


def _pairs_row(name: str, parts: Any, bins: int | None, share: float, gap: float) -> None:
    """One table at a share of the least decay without neurons."""
    X, held, y, outcome = parts
    options: dict[str, Any] = {"interactions": "pairs", "bins": bins, "certify": False}
    bare = gm.AdditiveNetworkRegressor(weight_decay=1e6, **options).fit(X, y)
    decay = share * largest_decay(bare.runs_[0].problem)
    times = [time.process_time()]
    bare = gm.AdditiveNetworkRegressor(weight_decay=decay, gap=gap, **options).fit(X, y)
    times.append(time.process_time())
    run = bare.runs_[0]
    with tempfile.TemporaryDirectory() as folder:
        claim = gm.certify(run.network, run.problem, claims=["dual-gap"], run=run)
        path = claim.save(Path(folder) / "model.gmc")
        times.append(time.process_time())
        result = check_file(path)
        times.append(time.process_time())
    share_open = float((result.claims[0].numbers or {}).get("gap", np.inf)) / bare.objective_
    score = f"{bare.score(held, outcome):.4f}" if len(held) else ""
    spent = " | ".join(f"{b - a:.2f}" for a, b in pairwise(times))
    print(
        f"| {name} | {X.shape[0]:,} x {X.shape[1]} | {bins} | {decay:.4g} | {spent} | "
        f"{bare.width_} | {share_open:.1e} | {score} | {result.verdict.value} |",
        flush=True,
    )


def chosen() -> None:
    """All pairs with the decay by cross-validation, the whole fit with its proof: Friedman1 for
    five splits, binned, and the first one also as it is.
    """
    print("table, bins, split, decay, cpu s, wall s, neurons, gap, R^2, verdict")
    warm = np.random.default_rng(0).standard_normal((600, 3))
    options: dict[str, Any] = {"interactions": "pairs", "gap": 1e-3}
    gm.AdditiveNetworkRegressor(weight_decay=50.0, **options).fit(warm, warm[:, 0])
    X, y = load_diabetes(return_X_y=True)
    _chosen_row("diabetes", (X, X[:0], y, y[:0]), "", {**options, "gap": 1e-5})
    X, y = make_friedman1(5_000, noise=1.0, random_state=0)
    for bins, seeds in ((16, range(5)), (None, range(1))):
        for seed in seeds:
            parts = train_test_split(X, y, test_size=0.25, random_state=seed)
            _chosen_row("Friedman1", parts, seed, {**options, "bins": bins})


def _chosen_row(name: str, parts: Any, seed: object, options: dict[str, Any]) -> None:
    X, held, y, outcome = parts
    began = time.process_time(), time.perf_counter()
    model = gm.AdditiveNetworkRegressor(**options).fit(X, y)
    spent = time.process_time() - began[0], time.perf_counter() - began[1]
    score = f"{model.score(held, outcome):.4f}" if len(held) else ""
    print(
        f"| {name} | {options.get('bins')} | {seed} | {model.weight_decay_:.4g} | {spent[0]:.1f} | "
        f"{spent[1]:.1f} | {model.width_} | {model.relative_gap_:.1e} | {score} | "
        f"{model.verdict_} |",
        flush=True,
    )


def shapes() -> None:
    """Held-out R^2 where the slopes are known: no rule, a rule for neurons, one for curves, and
    boosting that is told the same.
    """
    table = TABLES["monotone"]()
    slopes = list(table.monotone or ())
    X, y = table.X, table.y
    print("held-out R^2 over 5 x 5 folds: method, mean, standard deviation, CPU s a fit")
    methods: dict[str, Any] = {
        "no rule": gm.AdditiveNetworkRegressor(certify=False),
        "monotone neurons": gm.AdditiveNetworkRegressor(certify=False, monotone=slopes),
        "increasing curves": gm.AdditiveNetworkRegressor(certify=False, shapes=slopes),
        "boosting, monotonic_cst": HistGradientBoostingRegressor(
            monotonic_cst=slopes, random_state=0
        ),
        "boosting, no rule": HistGradientBoostingRegressor(random_state=0),
    }
    folds = RepeatedKFold(n_splits=5, n_repeats=5, random_state=0)
    for name, model in methods.items():
        started = time.process_time()
        found = cross_val_score(model, X, y, cv=folds)
        seconds = (time.process_time() - started) / len(found)
        print(f"| {name} | {found.mean():.3f} ± {found.std():.3f} | {seconds:.1f} |", flush=True)


def main(which: list[str]) -> None:
    """All, or those named."""
    table = {"proofs": proofs, "scores": scores, "pairs": pairs, "chosen": chosen, "shapes": shapes}
    for name, run in table.items():
        if not which or name in which:
            run()


if __name__ == "__main__":
    main(sys.argv[1:])
